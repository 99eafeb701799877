//! Pictures of odd, large and compared networks.

use super::*;

fn svg(drawn: Result<Canvas, WriteError>) -> String {
    drawn.unwrap().to_svg()
}

fn numbered(n: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> NamedDag {
    let names: Vec<String> = (0..n).map(|at| format!("node{at:04}")).collect();
    let edges: Vec<(String, String)> = edges
        .into_iter()
        .map(|(a, b)| (names[a].clone(), names[b].clone()))
        .collect();
    NamedDag::new(names, edges).unwrap()
}

#[test]
fn empty_single_and_lone_nodes_are_drawn() {
    for n in [1, 2, 40] {
        let text = svg(draw(&numbered(n, []), None, None, None));
        assert_eq!(text.matches("<title>").count(), n);
    }
    let empty = NamedDag::new(Vec::new(), Vec::<(&str, &str)>::new()).unwrap();
    assert!(svg(draw(&empty, None, None, None)).starts_with("<svg"));
}

#[test]
fn a_very_large_network_is_refused_and_a_part_of_it_drawn() {
    let n = MAX_DRAWN_NODES + 1;
    let network = numbered(n, (1..n).map(|at| (at - 1, at)));
    let error = draw(&network, None, None, None).unwrap_err();
    assert_eq!(error, WriteError::TooLarge { nodes: n });
    assert!(error.to_string().contains("the neighbourhood of a node"));
    let text = svg(draw(&network, Some(Around::node("node0100")), None, None));
    assert_eq!(text.matches("<title>").count(), 5);
    let star = numbered(400, (1..400).map(|at| (0, at)));
    let text = svg(draw(&star, Some(Around::node("node0000")), None, None));
    assert_eq!(text.matches("<title>").count(), 150);
    assert!(text.contains("250 more nodes"));
    let error = draw(&star, Some(Around::node("nobody")), None, None).unwrap_err();
    assert_eq!(error, WriteError::UnknownNode("nobody".into()));
}

#[test]
fn edges_are_coloured_by_the_truth() {
    // 4 -> 5 is only turned within its class; the truth compels 0 -> 1 <- 2.
    let learned = numbered(6, [(0, 1), (1, 2), (0, 3), (4, 5)]);
    let truth = numbered(6, [(0, 1), (2, 1), (2, 3), (5, 4)]);
    let text = svg(draw(&learned, None, Some(&truth), None));
    for verdict in Verdict::ALL {
        let head = format!("url(#head-{})", &verdict.colour().to_string()[1..]);
        let uses = text.matches(&head).count();
        let edges = if verdict == Verdict::Turned { 2 } else { 1 };
        assert_eq!(uses, edges + 1, "{verdict:?}: edges and the legend");
    }
    let other = numbered(7, []);
    assert!(draw(&learned, None, Some(&other), None).is_err());
}

#[test]
fn edges_that_may_point_either_way_have_no_head() {
    let network = numbered(5, [(0, 2), (1, 2), (3, 4)]);
    let class = Cpdag::of(network.dag());
    let heads = |class| {
        let text = svg(draw(&network, None, None, class));
        text.matches("marker-end").count()
    };
    assert_eq!((heads(None), heads(Some(&class))), (3, 2));
}
