//! The lines of edges: from the side of a box, through the gaps of the layers between, to the side of
//! the other box.

use super::layers::Layers;
use super::{Place, length};

/// The way of an edge from its first node to its second, as an SVG path draws it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Where it begins.
    pub start: (i32, i32),
    /// Its pieces, one behind the other.
    pub pieces: Vec<Piece>,
}

/// A piece of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A straight line to a point.
    Line((i32, i32)),
    /// A cubic curve: two control points and its end.
    Curve((i32, i32), (i32, i32), (i32, i32)),
}

impl Piece {
    /// Returns where the piece ends.
    #[must_use]
    pub fn end(self) -> (i32, i32) {
        match self {
            Self::Line(end) | Self::Curve(_, _, end) => end,
        }
    }
}

impl Route {
    /// Writes the route as SVG's `d`.
    #[must_use]
    pub fn path(&self) -> String {
        let mut path = format!("M{} {}", self.start.0, self.start.1);
        for piece in &self.pieces {
            path += &match piece {
                Piece::Line((x, y)) => format!(" L{x} {y}"),
                Piece::Curve((ax, ay), (bx, by), (x, y)) => {
                    format!(" C{ax} {ay} {bx} {by} {x} {y}")
                }
            };
        }
        path
    }

    /// Returns places for a label, the best first: on the curves, which lead from layer to layer, so
    /// that no box is there. The first is in the middle of the middle curve.
    #[must_use]
    pub fn label_places(&self) -> Vec<(i32, i32)> {
        /// Sixteenths of a curve, its middle first.
        const WHERE: [i64; 9] = [8, 6, 10, 5, 11, 4, 12, 3, 13];
        let mut before = self.start;
        let mut curves = Vec::new();
        for &piece in &self.pieces {
            if let Piece::Curve(a, b, end) = piece {
                curves.push([before, a, b, end]);
            }
            before = piece.end();
        }
        let middle = curves.len() / 2;
        curves.rotate_left(middle);
        let mut places: Vec<(i32, i32)> = curves
            .iter()
            .flat_map(|curve| WHERE.map(|at| on_curve(curve, at)))
            .collect();
        if places.is_empty() {
            places.push(self.start);
        }
        places
    }

    /// Returns the same way from its end to its start.
    pub(super) fn reversed(&self) -> Self {
        let mut ends: Vec<(i32, i32)> = vec![self.start];
        ends.extend(self.pieces.iter().map(|piece| piece.end()));
        let pieces = self.pieces.iter().zip(&ends).rev();
        Self {
            start: ends[ends.len() - 1],
            pieces: pieces
                .map(|(piece, &before)| match *piece {
                    Piece::Line(_) => Piece::Line(before),
                    Piece::Curve(a, b, _) => Piece::Curve(b, a, before),
                })
                .collect(),
        }
    }

    /// Moves the route, and mirrors it if layers lead to the right.
    pub(super) fn moved(&self, (dx, dy): (i32, i32), sideways: bool) -> Self {
        let at = |(x, y): (i32, i32)| match sideways {
            true => (y + dx, x + dy),
            false => (x + dx, y + dy),
        };
        let pieces = self.pieces.iter().map(|piece| match *piece {
            Piece::Line(end) => Piece::Line(at(end)),
            Piece::Curve(a, b, end) => Piece::Curve(at(a), at(b), at(end)),
        });
        Self {
            start: at(self.start),
            pieces: pieces.collect(),
        }
    }
}

/// Where layers stand: the upper side of each band and how thick it is.
#[derive(Clone, Debug)]
pub(super) struct Bands {
    pub(super) tops: Vec<i32>,
    pub(super) heights: Vec<i32>,
}

/// How far from a box a line is straight, so that its head points at the box.
const STUB: i32 = 11;

/// Stacks the layers; the further lines lead to the side between two, the more room they get.
pub(super) fn bands(layers: &Layers, x: &[i32], heights: &[i32]) -> Bands {
    const LEAST_GAP: i32 = 46;
    const MOST_GAP: i32 = 150;
    let mut bands = Bands {
        tops: Vec::new(),
        heights: Vec::new(),
    };
    let mut top = 0;
    for layer in &layers.layers {
        let height = layer.iter().filter_map(|&point| heights.get(point)).max();
        let height = height.copied().unwrap_or(0);
        bands.tops.push(top);
        bands.heights.push(height);
        let segments = layer.iter().flat_map(|&point| {
            let ends = layers.below[point].iter();
            ends.map(move |&end| x[end].abs_diff(x[point]))
        });
        let widest = i32::try_from(segments.max().unwrap_or(0)).unwrap_or(0);
        let gap = (LEAST_GAP + widest / 7).min(MOST_GAP);
        top += height + gap;
    }
    bands
}

/// Returns the routes of the edges, downwards.
pub(super) fn routes(layers: &Layers, x: &[i32], boxes: &[Place], bands: &Bands) -> Vec<Route> {
    let ranks = ranks(layers);
    let leave = ports(layers, boxes, |chain| (chain[0], x[chain[1]]));
    let enter = ports(layers, boxes, |chain| {
        (chain[chain.len() - 1], x[chain[chain.len() - 2]])
    });
    let chains = layers.chains.iter().enumerate();
    chains
        .map(|(edge, chain)| {
            let (upper, lower) = (chain[0], chain[chain.len() - 1]);
            let bottom = |point: usize| bands.tops[ranks[point]] + bands.heights[ranks[point]];
            let mut route = Route {
                start: (leave[edge], boxes[upper].y + boxes[upper].height),
                pieces: vec![Piece::Line((leave[edge], bottom(upper) + STUB))],
            };
            for &bend in &chain[1..chain.len() - 1] {
                let top = bands.tops[ranks[bend]];
                curve_to(&mut route, (x[bend], top));
                route.pieces.push(Piece::Line((x[bend], bottom(bend))));
            }
            curve_to(&mut route, (enter[edge], bands.tops[ranks[lower]] - STUB));
            route
                .pieces
                .push(Piece::Line((enter[edge], boxes[lower].y)));
            route
        })
        .collect()
}

fn ranks(layers: &Layers) -> Vec<usize> {
    let mut ranks = vec![0; layers.below.len()];
    for (rank, layer) in layers.layers.iter().enumerate() {
        for &point in layer {
            ranks[point] = rank;
        }
    }
    ranks
}

/// Adds a curve that starts and ends straight down.
fn curve_to(route: &mut Route, end: (i32, i32)) {
    let start = route.pieces.last().map_or(route.start, |piece| piece.end());
    let reach = (end.1 - start.1) * 2 / 5;
    let (a, b) = ((start.0, start.1 + reach), (end.0, end.1 - reach));
    route.pieces.push(Piece::Curve(a, b, end));
}

/// Spreads the edges of one side of each box along it, in the order of where they lead.
fn ports(layers: &Layers, boxes: &[Place], end: impl Fn(&[usize]) -> (usize, i32)) -> Vec<i32> {
    const WIDEST_GAP: i32 = 14;
    let mut at_node: Vec<Vec<(i32, usize)>> = vec![Vec::new(); boxes.len()];
    for (edge, chain) in layers.chains.iter().enumerate() {
        let (node, leads_to) = end(chain);
        at_node[node].push((leads_to, edge));
    }
    let mut ports = vec![0; layers.chains.len()];
    for (place, edges) in boxes.iter().zip(&mut at_node) {
        edges.sort_unstable();
        // Edges that run together leave together.
        let mut different: Vec<i32> = edges.iter().map(|&(leads_to, _)| leads_to).collect();
        different.dedup();
        let gaps = length(different.len()) - 1;
        let spread = (place.width * 7 / 10).min(WIDEST_GAP * gaps);
        let left = place.x + place.width / 2 - spread / 2;
        for &(leads_to, edge) in edges.iter() {
            let at = length(different.partition_point(|&other| other < leads_to));
            ports[edge] = left + (spread * at).checked_div(gaps).unwrap_or(0);
        }
    }
    ports
}
/// Returns the place at some sixteenths of a curve.
fn on_curve(curve: &[(i32, i32); 4], at: i64) -> (i32, i32) {
    let left = 16 - at;
    let weights = [
        left.pow(3),
        3 * left * left * at,
        3 * left * at * at,
        at.pow(3),
    ];
    let mean = |of: &dyn Fn(&(i32, i32)) -> i32| {
        let sum: i64 = curve
            .iter()
            .zip(weights)
            .map(|(place, weight)| i64::from(of(place)) * weight)
            .sum();
        i32::try_from(sum.div_euclid(16i64.pow(3))).unwrap_or(i32::MAX)
    };
    (mean(&|place| place.0), mean(&|place| place.1))
}
