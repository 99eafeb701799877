//! The parts of a graph that no edge joins, each drawn by itself and then packed on a page. Layers
//! lead downwards or to the right, whichever fits a page better.

use super::columns::columns;
use super::coordinates::{coordinates, distances};
use super::crossings::reduce_crossings;
use super::layers::Layers;
use super::ranks::{downwards, ranks};
use super::relaxed::relaxed;
use super::routes::{bands, routes};
use super::{Drawing, Place, Route, Size};

/// The room between two parts.
const GAP: i32 = 30;
/// The height of a picture that any screen shows whole, and of one that needs other layers.
const SMALL_PAGE: i32 = 760;
const LARGE_PAGE: i32 = 3000;
/// How many nodes a layer may have, in tenths of the square root of their number.
const USUAL: usize = 16;
const SPARSE: usize = 10;

/// Places nodes, given by their sizes, and edges between two different nodes, at most one for a pair.
/// They may hold cycles.
#[must_use]
pub fn place(sizes: &[Size], edges: &[(usize, usize)]) -> Drawing {
    let parts = parts(sizes.len(), edges);
    let mut best: Option<Drawing> = None;
    for fullness in [USUAL, SPARSE] {
        for sideways in [false, true] {
            let drawings: Option<Vec<Drawing>> = parts
                .iter()
                .map(|part| drawn(part, sizes, edges, fullness, sideways))
                .collect();
            let Some(drawings) = drawings else {
                break;
            };
            let drawing = packed(sizes, edges.len(), &parts, &drawings);
            let page = page(&drawing);
            // Downwards and with the usual layers, unless another way is clearly smaller.
            if best
                .as_ref()
                .is_none_or(|best| page + page / 8 < self::page(best))
            {
                best = Some(drawing);
            }
            if best
                .as_ref()
                .is_some_and(|best| self::page(best) <= SMALL_PAGE)
            {
                break;
            }
        }
        if best
            .as_ref()
            .is_some_and(|best| self::page(best) <= LARGE_PAGE)
        {
            break;
        }
    }
    best.unwrap_or_else(|| columns(sizes, edges))
}

/// Returns how high a page has to be that is a half wider than high.
fn page(drawing: &Drawing) -> i32 {
    drawing.size.height.max(drawing.size.width * 2 / 3)
}

/// A part of the graph: its nodes and its edges, in their order.
#[derive(Clone, Debug, Default)]
struct Part {
    nodes: Vec<usize>,
    edges: Vec<usize>,
}

/// Returns the parts, ordered by their first nodes.
fn parts(nodes: usize, edges: &[(usize, usize)]) -> Vec<Part> {
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for &(from, to) in edges {
        near[from].push(to);
        near[to].push(from);
    }
    let mut part_of = vec![usize::MAX; nodes];
    let mut parts: Vec<Part> = Vec::new();
    for start in 0..nodes {
        if part_of[start] != usize::MAX {
            continue;
        }
        let number = parts.len();
        part_of[start] = number;
        let mut found = vec![start];
        let mut at = 0;
        while let Some(&node) = found.get(at) {
            at += 1;
            for &other in &near[node] {
                if part_of[other] == usize::MAX {
                    part_of[other] = number;
                    found.push(other);
                }
            }
        }
        found.sort_unstable();
        parts.push(Part {
            nodes: found,
            edges: Vec::new(),
        });
    }
    for (edge, &(from, _)) in edges.iter().enumerate() {
        parts[part_of[from]].edges.push(edge);
    }
    parts
}

/// Draws a part at the upper left corner; none if there are too many points. Long edges are straight,
/// unless the drawing is much smaller with bent ones.
fn drawn(
    part: &Part,
    sizes: &[Size],
    edges: &[(usize, usize)],
    fullness: usize,
    sideways: bool,
) -> Option<Drawing> {
    let ordered = Ordered::new(part, edges, fullness)?;
    let own: Vec<Size> = part
        .nodes
        .iter()
        .map(|&node| turned(sizes[node], sideways))
        .collect();
    let widths: Vec<i32> = own.iter().map(|size| size.width).collect();
    let distance = distances(&ordered.layers, &widths);
    let straight = ordered.drawing(&own, coordinates(&ordered.layers, &distance), sideways);
    let bent = ordered.drawing(&own, relaxed(&ordered.layers, &distance), sideways);
    let area = |drawing: &Drawing| i64::from(drawing.size.width) * i64::from(drawing.size.height);
    Some(match area(&bent) * 5 < area(&straight) * 3 {
        true => bent,
        false => straight,
    })
}

/// Returns a size as layers that lead to the right see it.
fn turned(Size { width, height }: Size, sideways: bool) -> Size {
    match sideways {
        false => Size { width, height },
        true => Size {
            width: height,
            height: width,
        },
    }
}

/// A part with the order of its layers.
struct Ordered {
    layers: Layers,
    turned: Vec<bool>,
}

impl Ordered {
    /// Chooses layers and orders them; none if there are too many points.
    fn new(part: &Part, edges: &[(usize, usize)], fullness: usize) -> Option<Self> {
        let inside = |node: usize| part.nodes.partition_point(|&other| other < node);
        let own: Vec<(usize, usize)> = part
            .edges
            .iter()
            .map(|&edge| (inside(edges[edge].0), inside(edges[edge].1)))
            .collect();
        let nodes = part.nodes.len();
        let down = downwards(nodes, &own);
        let widest = (nodes.isqrt() * fullness / 10).max(8);
        let ranks = ranks(nodes, &down, widest);
        let mut layers = Layers::new(&ranks, &down)?;
        reduce_crossings(&mut layers);
        Some(Self {
            layers,
            turned: down.iter().map(|&(_, _, turned)| turned).collect(),
        })
    }

    /// Draws boxes of these sizes, given the middles of the points.
    fn drawing(&self, own: &[Size], mut x: Vec<i32>, sideways: bool) -> Drawing {
        let half = |point: usize| own.get(point).map_or(0, |size| size.width / 2);
        let left = (0..x.len()).map(|point| x[point] - half(point)).min();
        let left = left.unwrap_or(0);
        x.iter_mut().for_each(|x| *x -= left);
        let heights: Vec<i32> = own.iter().map(|size| size.height).collect();
        let bands = bands(&self.layers, &x, &heights);
        let mut boxes = vec![Place::default(); own.len()];
        for (rank, layer) in self.layers.layers.iter().enumerate() {
            for &node in layer.iter().filter(|&&point| !self.layers.is_bend(point)) {
                let Size { width, height } = own[node];
                boxes[node] = Place {
                    x: x[node] - width / 2,
                    y: bands.tops[rank] + (bands.heights[rank] - height) / 2,
                    width,
                    height,
                };
            }
        }
        let routes = routes(&self.layers, &x, &boxes, &bands);
        let width = boxes.iter().map(|place| place.x + place.width).max();
        let width = width.max(x.iter().map(|x| x + 2).max()).unwrap_or(0);
        let height = boxes.iter().map(|place| place.y + place.height).max();
        let size = Size {
            width,
            height: height.unwrap_or(0),
        };
        let routes = routes.iter().zip(&self.turned).map(|(route, &turned)| {
            let route = route.moved((0, 0), sideways);
            if turned { route.reversed() } else { route }
        });
        let boxes = boxes.iter().map(|place| match sideways {
            false => *place,
            true => Place {
                x: place.y,
                y: place.x,
                width: place.height,
                height: place.width,
            },
        });
        Drawing {
            routes: routes.collect(),
            boxes: boxes.collect(),
            size: turned(size, sideways),
        }
    }
}

/// Puts the parts in rows, the highest first.
fn packed(sizes: &[Size], edges: usize, parts: &[Part], drawings: &[Drawing]) -> Drawing {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&part| (std::cmp::Reverse(drawings[part].size.height), part));
    let widest = drawings.iter().map(|drawing| drawing.size.width).max();
    let area: i64 = drawings
        .iter()
        .map(|drawing| i64::from(drawing.size.width + GAP) * i64::from(drawing.size.height + GAP))
        .sum();
    let square = i32::try_from((area * 3 / 2).isqrt()).unwrap_or(i32::MAX / 4);
    let page = widest.unwrap_or(0).max(square);
    let mut all = Drawing {
        boxes: vec![Place::default(); sizes.len()],
        routes: vec![Route::default(); edges],
        size: Size::default(),
    };
    let (mut x, mut y, mut row) = (0, 0, 0);
    for part in order {
        let drawing = &drawings[part];
        if x > 0 && x + drawing.size.width > page {
            x = 0;
            y += row + GAP;
            row = 0;
        }
        for (place, &node) in drawing.boxes.iter().zip(&parts[part].nodes) {
            all.boxes[node] = Place {
                x: place.x + x,
                y: place.y + y,
                ..*place
            };
        }
        for (route, &edge) in drawing.routes.iter().zip(&parts[part].edges) {
            all.routes[edge] = route.moved((x, y), false);
        }
        all.size.width = all.size.width.max(x + drawing.size.width);
        all.size.height = all.size.height.max(y + drawing.size.height);
        row = row.max(drawing.size.height);
        x += drawing.size.width + GAP;
    }
    all
}
