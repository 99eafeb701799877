//! Graphs with too many edges for layers: nodes in two columns, edges in the room between them, where
//! no box is.

use super::routes::{Piece, Route};
use super::{Drawing, Place, Size, length};

const GAP: i32 = 12;
const ROOM: i32 = 900;

/// Places nodes, given by their sizes, in their order: down the left column, then down the right one.
pub(super) fn columns(sizes: &[Size], edges: &[(usize, usize)]) -> Drawing {
    let rows = sizes.len().div_ceil(2);
    let widest = sizes.iter().map(|size| size.width).max().unwrap_or(0);
    let highest = sizes.iter().map(|size| size.height).max().unwrap_or(0);
    let right = widest + ROOM;
    let boxes: Vec<Place> = sizes
        .iter()
        .enumerate()
        .map(|(node, size)| {
            let is_left = node < rows;
            let row = length(if is_left { node } else { node - rows });
            Place {
                x: if is_left { widest - size.width } else { right },
                y: row * (highest + GAP),
                width: size.width,
                height: size.height,
            }
        })
        .collect();
    let port = |node: usize| {
        let place = boxes[node];
        let x = if node < rows { widest } else { right };
        (x, place.y + place.height / 2)
    };
    let routes = edges.iter().map(|&(from, to)| {
        let (start, end) = (port(from), port(to));
        let reach = match (from < rows) == (to < rows) {
            true => (ROOM / 2).min(40 + (end.1 - start.1).abs() / 3),
            false => ROOM / 2,
        };
        let inwards = |(x, y): (i32, i32)| match x == right {
            true => (x - reach, y),
            false => (x + reach, y),
        };
        Route {
            start,
            pieces: vec![Piece::Curve(inwards(start), inwards(end), end)],
        }
    });
    Drawing {
        routes: routes.collect(),
        size: Size {
            width: right + widest,
            height: length(rows) * (highest + GAP) - GAP,
        },
        boxes,
    }
}
