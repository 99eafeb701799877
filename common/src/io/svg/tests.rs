//! Pictures of odd, large and compared networks.

use super::layout::{Place, place};
use super::*;
use proptest::prelude::*;

fn numbered(n: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> NamedDag {
    let names: Vec<String> = (0..n).map(|at| format!("node{at:04}")).collect();
    let edges: Vec<(String, String)> = edges
        .into_iter()
        .map(|(a, b)| (names[a].clone(), names[b].clone()))
        .collect();
    NamedDag::new(names, edges).unwrap()
}

fn overlap(a: &Place, b: &Place) -> bool {
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

#[test]
fn empty_single_and_lone_nodes_are_drawn() {
    for n in [1, 2, 40] {
        let text = write(&numbered(n, []), None, None, None).unwrap();
        assert_eq!(text.matches("<title>").count(), n);
    }
    let empty = NamedDag::new(Vec::new(), Vec::<(&str, &str)>::new()).unwrap();
    assert!(write(&empty, None, None, None).unwrap().starts_with("<svg"));
}

#[test]
fn a_large_network_is_refused_and_a_part_of_it_drawn() {
    let network = numbered(300, (1..300).map(|at| (at - 1, at)));
    let error = write(&network, None, None, None).unwrap_err();
    assert_eq!(error, WriteError::TooLarge { nodes: 300 });
    assert!(error.to_string().contains("the neighbourhood of a node"));
    let text = write(&network, Some(Around::node("node0100")), None, None).unwrap();
    assert_eq!(text.matches("<title>").count(), 5);
    let star = numbered(400, (1..400).map(|at| (0, at)));
    let text = write(&star, Some(Around::node("node0000")), None, None).unwrap();
    assert_eq!(text.matches("<title>").count(), MAX_DRAWN_NODES);
    assert!(text.contains("250 more nodes"));
    let error = write(&star, Some(Around::node("nobody")), None, None).unwrap_err();
    assert_eq!(error, WriteError::UnknownNode("nobody".into()));
}

#[test]
fn edges_are_coloured_by_the_truth() {
    // 4 -> 5 is only turned within its class; the truth compels 0 -> 1 <- 2.
    let learned = numbered(6, [(0, 1), (1, 2), (0, 3), (4, 5)]);
    let truth = numbered(6, [(0, 1), (2, 1), (2, 3), (5, 4)]);
    let text = write(&learned, None, Some(&truth), None).unwrap();
    for verdict in Verdict::ALL {
        let uses = text.matches(&format!("url(#{})", verdict.marker())).count();
        let edges = if verdict == Verdict::Turned { 2 } else { 1 };
        assert_eq!(uses, edges + 1, "{verdict:?}: edges and the legend");
    }
    let other = numbered(7, []);
    assert!(write(&learned, None, Some(&other), None).is_err());
}

#[test]
fn lines_never_run_behind_boxes() {
    let names = include_str!("../fixtures/child.bif");
    let network = crate::io::parse_network(None, names.as_bytes())
        .unwrap()
        .named_dag();
    let part = Part::of(&network, None, None, None).unwrap();
    let drawing = place(&part.labels, &part.edges);
    for (path, &(from, to)) in drawing.paths.iter().zip(&part.edges) {
        let points = path
            .split(['M', 'L', 'C', ' '])
            .filter_map(|word| word.parse::<f64>().ok());
        let points: Vec<f64> = points.collect();
        for point in points.chunks(2) {
            let inside = |b: &Place| {
                b.x < point[0]
                    && point[0] < b.x + b.width
                    && b.y < point[1]
                    && point[1] < b.y + b.height
            };
            let hit = drawing.boxes.iter().position(inside);
            assert!(
                hit.is_none_or(|at| at == from || at == to),
                "{from} -> {to} hits {hit:?}"
            );
        }
    }
}

#[test]
fn dense_networks_are_drawn_without_delay() {
    let n = MAX_DRAWN_NODES;
    let network = numbered(n, (0..n).flat_map(|b| (0..b).map(move |a| (a, b))));
    let text = write(&network, None, None, None).unwrap();
    assert_eq!(text.matches("<title>").count(), n);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn boxes_never_overlap(
        lengths in prop::collection::vec(1usize..33, 1..25),
        pairs in prop::collection::vec((0usize..25, 0usize..25), 0..40),
    ) {
        let labels: Vec<String> = lengths.iter().map(|&length| "n".repeat(length)).collect();
        let mut edges: Vec<(usize, usize)> = pairs
            .into_iter()
            .filter(|&(a, b)| a != b && a < labels.len() && b < labels.len())
            .collect();
        edges.sort_unstable();
        edges.dedup_by_key(|&mut (a, b)| (a.min(b), a.max(b)));
        let drawing = place(&labels, &edges);
        prop_assert_eq!(drawing.paths.len(), edges.len());
        prop_assert!(drawing.paths.iter().all(|path| path.starts_with('M')));
        for (at, a) in drawing.boxes.iter().enumerate() {
            prop_assert!(a.x > -1.0 && a.y > -1.0 && a.x + a.width <= drawing.width + 1.0);
            for b in &drawing.boxes[at + 1..] {
                prop_assert!(!overlap(a, b), "{:?} {:?}", a, b);
            }
        }
    }
}

#[test]
fn edges_that_may_point_either_way_have_no_head() {
    let network = numbered(5, [(0, 2), (1, 2), (3, 4)]);
    let class = Cpdag::of(network.dag());
    let heads = |class| {
        let text = write(&network, None, None, class).unwrap();
        text.matches("marker-end").count()
    };
    assert_eq!((heads(None), heads(Some(&class))), (3, 2));
}
