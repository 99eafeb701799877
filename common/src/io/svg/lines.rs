//! The curves of a layered drawing, for layers from top to bottom.
//!
//! Boxes stand in bands, one per layer. A line goes straight through a band, at a place where no box
//! is, and bends between two bands only, so that it never runs behind a box.

use super::layout::Place;
use std::collections::BTreeSet;

/// Where an edge passes layers between its nodes, in the order of the layers.
#[derive(Clone, Debug, Default)]
pub(super) struct Bends {
    pub(super) points: Vec<(f64, f64)>,
    /// The edge points against the layers.
    pub(super) upwards: bool,
}

/// How far before a band a line is straight again, so that its head points down.
const STUB: f64 = 11.0;

/// Returns the points of each edge: straight pieces through bands, and curves between them.
pub(super) fn lines(
    boxes: &[Place],
    edges: &[(usize, usize)],
    bends: &[Bends],
) -> Vec<Vec<(f64, f64)>> {
    let ends: Vec<(usize, usize)> = edges
        .iter()
        .zip(bends)
        .map(|(&(from, to), bends)| {
            if bends.upwards {
                (to, from)
            } else {
                (from, to)
            }
        })
        .collect();
    let next = |edge: usize| {
        bends[edge]
            .points
            .first()
            .map_or(middle(boxes[ends[edge].1]).0, |p| p.0)
    };
    let before = |edge: usize| {
        bends[edge]
            .points
            .last()
            .map_or(middle(boxes[ends[edge].0]).0, |p| p.0)
    };
    let leave = ports(
        boxes,
        &ends.iter().map(|&(upper, _)| upper).collect::<Vec<_>>(),
        next,
    );
    let enter = ports(
        boxes,
        &ends.iter().map(|&(_, lower)| lower).collect::<Vec<_>>(),
        before,
    );
    let linked: BTreeSet<usize> = edges.iter().flat_map(|&(from, to)| [from, to]).collect();
    let linked: Vec<Place> = linked.into_iter().map(|node| boxes[node]).collect();
    let mut layers: Vec<f64> = linked.iter().map(|place| middle(*place).1).collect();
    layers.sort_by(f64::total_cmp);
    layers.dedup_by(|a, b| (*a - *b).abs() < 1.0);
    // Half of the thickness of the layer at a height.
    let half_band = |y: f64| {
        let layer = boxes
            .iter()
            .filter(|place| (middle(**place).1 - y).abs() < 1.0);
        layer.map(|place| place.height / 2.0).fold(1.0, f64::max)
    };
    ends.iter()
        .zip(bends)
        .enumerate()
        .map(|(edge, (&(upper, lower), bends))| {
            let (upper, lower) = (boxes[upper], boxes[lower]);
            let (upper_y, lower_y) = (middle(upper).1, middle(lower).1);
            let mut points = vec![
                (leave[edge], upper.y + upper.height),
                (leave[edge], upper_y + half_band(upper_y) + STUB),
            ];
            // layout-rs moves some bends along their edge, out of their layer: put them back.
            let between = layers
                .iter()
                .filter(|&&y| upper_y + 1.0 < y && y < lower_y - 1.0);
            let between: Vec<f64> = between.copied().collect();
            let in_layers = between.len() == bends.points.len();
            for (at, &(x, y)) in bends.points.iter().enumerate() {
                let y = if in_layers { between[at] } else { y };
                let half = half_band(y);
                points.extend([(x, y - half), (x, y + half)]);
            }
            points.extend([
                (enter[edge], lower_y - half_band(lower_y) - STUB),
                (enter[edge], lower.y),
            ]);
            if bends.upwards {
                points.reverse();
            }
            points
        })
        .collect()
}

fn middle(place: Place) -> (f64, f64) {
    (place.x + place.width / 2.0, place.y + place.height / 2.0)
}

/// Spreads the edges of one side of each box along it, in the order of where they lead.
fn ports(boxes: &[Place], nodes: &[usize], leads_to: impl Fn(usize) -> f64) -> Vec<f64> {
    const WIDEST_GAP: f64 = 14.0;
    let mut at_node: Vec<Vec<usize>> = vec![Vec::new(); boxes.len()];
    for (edge, &node) in nodes.iter().enumerate() {
        at_node[node].push(edge);
    }
    let mut ports = vec![0.0; nodes.len()];
    for (place, edges) in boxes.iter().zip(&mut at_node) {
        edges.sort_by(|&a, &b| leads_to(a).total_cmp(&leads_to(b)));
        let gaps = u32::try_from(edges.len()).map_or(1.0, f64::from) - 1.0;
        let gap = if gaps > 0.0 {
            (0.7 * place.width / gaps).min(WIDEST_GAP)
        } else {
            0.0
        };
        let mut x = middle(*place).0 - gap * gaps / 2.0;
        for &edge in edges.iter() {
            ports[edge] = x;
            x += gap;
        }
    }
    ports
}

/// Writes an SVG path: straight, curved, straight and so on; `turned` for layers to the right.
pub(super) fn curve(points: &[(f64, f64)], turned: bool) -> String {
    /// How much of the way a curve keeps the direction it starts and ends with.
    const STIFFNESS: f64 = 0.35;
    let show = |(x, y): (f64, f64)| {
        let (x, y) = if turned { (y, x) } else { (x, y) };
        format!("{x:.1} {y:.1}")
    };
    let mut path = String::new();
    let mut before = None;
    for (at, &(x, y)) in points.iter().enumerate() {
        path += &match before {
            Some((before_x, before_y)) if at % 2 == 0 => {
                let reach = STIFFNESS * (y - before_y);
                let (one, two) = (show((before_x, before_y + reach)), show((x, y - reach)));
                format!(" C{one} {two} {}", show((x, y)))
            }
            Some(_) => format!(" L{}", show((x, y))),
            None => format!("M{}", show((x, y))),
        };
        before = Some((x, y));
    }
    path
}
