//! The geometry of drawings: no line through a box, no box over another, nothing outside.

use super::routes::Piece;
use super::*;
use crate::io::read_network;
use proptest::prelude::*;
use std::path::Path;

/// Points along a route, close to each other.
fn points(route: &Route) -> Vec<(f64, f64)> {
    let float = |(x, y): (i32, i32)| (f64::from(x), f64::from(y));
    let mut before = float(route.start);
    let mut points = vec![before];
    for piece in &route.pieces {
        let (a, b, end) = match *piece {
            Piece::Line(end) => (before, float(end), float(end)),
            Piece::Curve(a, b, end) => (float(a), float(b), float(end)),
        };
        for step in 1..=24 {
            let t = f64::from(step) / 24.0;
            let u = 1.0 - t;
            let mix = |p: f64, q: f64, r: f64, s: f64| {
                u * u * u * p + 3.0 * u * u * t * q + 3.0 * u * t * t * r + t * t * t * s
            };
            points.push((
                mix(before.0, a.0, b.0, end.0),
                mix(before.1, a.1, b.1, end.1),
            ));
        }
        before = end;
    }
    points
}

fn is_inside(place: &Place, (x, y): (f64, f64)) -> bool {
    const TOUCH: f64 = 0.01;
    f64::from(place.x) + TOUCH < x
        && x < f64::from(place.x + place.width) - TOUCH
        && f64::from(place.y) + TOUCH < y
        && y < f64::from(place.y + place.height) - TOUCH
}

fn overlap(a: &Place, b: &Place) -> bool {
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

/// Returns what is wrong with a drawing.
fn fault(drawing: &Drawing, sizes: &[Size], edges: &[(usize, usize)]) -> Option<String> {
    let Size { width, height } = drawing.size;
    for (node, (place, size)) in drawing.boxes.iter().zip(sizes).enumerate() {
        if (place.width, place.height) != (size.width, size.height) {
            return Some(format!("box {node} has another size"));
        }
        if place.x < 0
            || place.y < 0
            || place.x + place.width > width
            || place.y + place.height > height
        {
            return Some(format!(
                "box {node} is outside: {place:?} of {width} x {height}"
            ));
        }
        if let Some(other) = drawing.boxes[..node]
            .iter()
            .position(|other| overlap(place, other))
        {
            return Some(format!("boxes {other} and {node} overlap"));
        }
    }
    for (route, &(from, to)) in drawing.routes.iter().zip(edges) {
        let points = points(route);
        let touches = |node: usize, (x, y): (f64, f64)| {
            let place = drawing.boxes[node];
            x >= f64::from(place.x)
                && x <= f64::from(place.x + place.width)
                && y >= f64::from(place.y)
                && y <= f64::from(place.y + place.height)
        };
        if !touches(from, points[0]) || !touches(to, points[points.len() - 1]) {
            return Some(format!("{from} -> {to} does not join its boxes"));
        }
        for &point in &points {
            if point.0 < 0.0
                || point.1 < 0.0
                || point.0 > f64::from(width)
                || point.1 > f64::from(height)
            {
                return Some(format!("{from} -> {to} leaves the picture"));
            }
            if let Some(node) = drawing
                .boxes
                .iter()
                .position(|place| is_inside(place, point))
            {
                return Some(format!(
                    "{from} -> {to} runs through box {node} at {point:?}"
                ));
            }
        }
    }
    (drawing.routes.len() != edges.len()).then(|| "an edge has no line".into())
}

fn check(names: &[String], edges: &[(usize, usize)]) -> Drawing {
    let labels = labels(names);
    for label in &labels {
        assert!(label.lines.len() <= 3, "{label:?}");
        for line in &label.lines {
            assert!(
                text_width(line, FONT_SIZE) + 10 <= label.size.width,
                "{label:?}"
            );
        }
        let text = i32::try_from(label.lines.len()).unwrap() * LINE_HEIGHT;
        assert!(text < label.size.height, "{label:?}");
    }
    let sizes: Vec<Size> = labels.iter().map(|label| label.size).collect();
    let drawing = place(&sizes, edges);
    assert_eq!(fault(&drawing, &sizes, edges), None);
    assert_eq!(drawing, place(&sizes, edges));
    drawing
}

#[test]
fn bundled_networks_have_no_line_through_a_box() {
    for name in [
        "asia",
        "child",
        "alarm",
        "hailfinder",
        "win95pts",
        "andes",
        "pigs",
        "link",
    ] {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../data/networks/{name}.bif"));
        let network = read_network(path).unwrap().named_dag();
        let edges = network
            .dag()
            .edges()
            .map(|(from, to)| (from.index(), to.index()));
        let edges: Vec<(usize, usize)> = edges.collect();
        let Size { width, height } = check(network.names(), &edges).size;
        // No strips: all of it is seen on a page, and what is on it is not lost there.
        let (short, long) = (width.min(height), width.max(height));
        assert!(long <= 5 * short / 2, "{name}: {width} x {height}");
        let boxes: i32 = labels(network.names())
            .iter()
            .map(|label| label.size.width * label.size.height)
            .sum();
        assert!(
            width * height < 30 * boxes,
            "{name}: {width} x {height} for {boxes}"
        );
    }
}

#[test]
fn long_questions_are_wrapped_and_told_apart() {
    let names: Vec<String> = (0..12)
        .map(|number| {
            format!("To what extent do you agree or disagree with the following statement, number {number}: the services of my town are easy to reach from where I live at any time of the day")
        })
        .collect();
    check(&names, &[(0, 1), (1, 2), (0, 5), (5, 7), (7, 11), (2, 11)]);
    let labels = labels(&names);
    for (at, label) in labels.iter().enumerate() {
        assert!(!labels[..at].contains(label), "{label:?}");
        assert!(label.lines[0].starts_with("To what"), "{label:?}");
    }
    let short = super::labels(&["Do you own a house?".into()]);
    assert_eq!(short[0].lines, ["Do you own a house?"]);
    let wrapped = super::labels(&["How often do you travel by train to work?".into()]);
    assert_eq!(
        wrapped[0].lines,
        ["How often do you", "travel by train to work?"]
    );
    let cut = super::labels(&[
        "How satisfied are you with the opening hours of the library on weekdays?".into(),
    ]);
    assert_eq!(
        cut[0].lines.concat(),
        "How satisfied are youwith the…hours of thelibrary on weekdays?"
    );
    // Scripts without spaces are wrapped, too.
    let chinese = super::labels(&["您对图书馆平日的开放时间满意吗？".into()]);
    assert_eq!(
        chinese[0].lines.concat(),
        "您对图书馆平日的开放时间满意吗？"
    );
    assert!(chinese[0].lines.len() == 2 && !chinese[0].lines[1].starts_with('？'));
    let one_word = super::labels(&["x".repeat(90)]);
    assert!(one_word[0].lines.len() <= 2 && one_word[0].lines[0].contains('…'));
}

#[test]
fn dense_graphs_are_drawn_without_lines_through_boxes() {
    for n in [12, 60, 150] {
        let names: Vec<String> = (0..n).map(|at| format!("node{at:04}")).collect();
        let edges: Vec<(usize, usize)> = (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        check(&names, &edges);
    }
    let sizes = vec![
        Size {
            width: 40,
            height: 30
        };
        9
    ];
    let edges: Vec<(usize, usize)> = (0..9).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
    assert_eq!(
        fault(&columns::columns(&sizes, &edges), &sizes, &edges),
        None
    );
}

#[test]
fn a_star_is_not_one_long_row() {
    let sizes = vec![
        Size {
            width: 90,
            height: 30
        };
        400
    ];
    let edges: Vec<(usize, usize)> = (1..400).map(|leaf| (0, leaf)).collect();
    let drawing = place(&sizes, &edges);
    assert_eq!(fault(&drawing, &sizes, &edges), None);
    assert!(
        drawing.size.width < 8000 && drawing.size.height < 8000,
        "{:?}",
        drawing.size
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn random_graphs_have_no_line_through_a_box(
        sizes in prop::collection::vec((18i32..100, 15i32..35), 1..40),
        pairs in prop::collection::vec((0usize..40, 0usize..40), 0..90),
    ) {
        let sizes: Vec<Size> = sizes
            .iter()
            .map(|&(width, height)| Size { width: 2 * width, height: 2 * height })
            .collect();
        let mut edges: Vec<(usize, usize)> = pairs
            .into_iter()
            .filter(|&(a, b)| a != b && a < sizes.len() && b < sizes.len())
            .collect();
        edges.sort_unstable();
        edges.sort_by_key(|&(a, b)| (a.min(b), a.max(b)));
        edges.dedup_by_key(|&mut (a, b)| (a.min(b), a.max(b)));
        let drawing = place(&sizes, &edges);
        prop_assert_eq!(fault(&drawing, &sizes, &edges), None);
    }
}
