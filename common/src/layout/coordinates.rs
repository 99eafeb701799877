//! How far to the right each point stands (Brandes and Köpf 2002): points are joined to straight
//! blocks with a median neighbour, blocks are pushed together, and of the four ways to do that (from
//! above or below, to the left or to the right) the mean of the two in the middle is taken. Every way
//! keeps the distances within a layer, and so does that mean.

use super::layers::Layers;
use std::collections::BTreeSet;

/// The room between two boxes, between a box and a line, and between two lines.
const BOXES: i32 = 26;
const BOX_AND_LINE: i32 = 18;
const LINES: i32 = 12;

/// Returns how far apart the middles of two neighbours in a layer are at least; `widths` has those of
/// the nodes.
pub(super) fn distances(layers: &Layers, widths: &[i32]) -> impl Fn(usize, usize) -> i32 {
    |left: usize, right: usize| {
        let half = |point: usize| widths.get(point).map_or(0, |width| width / 2);
        let room = match (layers.is_bend(left), layers.is_bend(right)) {
            (false, false) => BOXES,
            (true, true) => LINES,
            _ => BOX_AND_LINE,
        };
        half(left) + half(right) + room
    }
}

/// Returns the middles of the points.
pub(super) fn coordinates(layers: &Layers, distance: &dyn Fn(usize, usize) -> i32) -> Vec<i32> {
    let conflicts = conflicts(layers);
    let mut ways: Vec<Vec<i32>> = Vec::new();
    for from_above in [true, false] {
        for to_the_left in [true, false] {
            let mut ordered = layers.layers.clone();
            if !from_above {
                ordered.reverse();
            }
            if !to_the_left {
                ordered.iter_mut().for_each(|layer| layer.reverse());
            }
            let before = if from_above {
                &layers.above
            } else {
                &layers.below
            };
            let blocks = blocks(&ordered, before, &conflicts);
            let mut x = pushed_together(&ordered, &blocks, distance);
            if !to_the_left {
                x.iter_mut().for_each(|x| *x = -*x);
            }
            ways.push(x);
        }
    }
    mean_of_the_middle(&mut ways)
}

/// Returns the segments that cross one between two bends: long edges stay straight, short ones give
/// way.
fn conflicts(layers: &Layers) -> BTreeSet<(usize, usize)> {
    let places = layers.positions();
    let mut conflicts = BTreeSet::new();
    for upper in layers.layers.iter().rev().skip(1) {
        // For each place above: where the straight segments left and right of it end.
        let inner = |point: usize| {
            layers.below[point]
                .iter()
                .filter(move |&&end| layers.is_bend(point) && layers.is_bend(end))
        };
        let mut left_end = vec![None; upper.len()];
        let mut furthest: Option<usize> = None;
        for (at, &point) in upper.iter().enumerate() {
            left_end[at] = furthest;
            let own = inner(point).map(|&end| places[end]).max();
            furthest = furthest.max(own);
        }
        let mut right_end = vec![None; upper.len()];
        let mut nearest: Option<usize> = None;
        for (at, &point) in upper.iter().enumerate().rev() {
            right_end[at] = nearest;
            let own = inner(point).map(|&end| places[end]).min();
            nearest = match (nearest, own) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        for (at, &point) in upper.iter().enumerate() {
            for &end in &layers.below[point] {
                if layers.is_bend(point) && layers.is_bend(end) {
                    continue;
                }
                let place = places[end];
                let crosses = left_end[at].is_some_and(|other| other > place)
                    || right_end[at].is_some_and(|other| other < place);
                if crosses {
                    conflicts.insert((point.min(end), point.max(end)));
                }
            }
        }
    }
    conflicts
}

/// Returns for each point the first point of its block.
fn blocks(
    layers: &[Vec<usize>],
    before: &[Vec<usize>],
    conflicts: &BTreeSet<(usize, usize)>,
) -> Vec<usize> {
    let mut places = vec![0usize; before.len()];
    for layer in layers {
        for (at, &point) in layer.iter().enumerate() {
            places[point] = at;
        }
    }
    let mut first: Vec<usize> = (0..before.len()).collect();
    let mut is_joined = vec![false; before.len()];
    for layer in layers {
        // Places up to this one are behind a join already.
        let mut free_from = 0;
        for &point in layer {
            let mut near = before[point].clone();
            near.sort_by_key(|&other| places[other]);
            let Some(last) = near.len().checked_sub(1) else {
                continue;
            };
            for middle in [last / 2, near.len() / 2] {
                let other = near[middle];
                let conflict = conflicts.contains(&(point.min(other), point.max(other)));
                if !conflict && places[other] >= free_from && !is_joined[other] {
                    is_joined[other] = true;
                    first[point] = first[other];
                    free_from = places[other] + 1;
                    break;
                }
            }
        }
    }
    first
}

/// Returns coordinates where no block can go further to the left, and then as far to the right as
/// its neighbours leave it.
fn pushed_together(
    layers: &[Vec<usize>],
    first: &[usize],
    distance: &dyn Fn(usize, usize) -> i32,
) -> Vec<i32> {
    let points = first.len();
    let mut after: Vec<Vec<(usize, i32)>> = vec![Vec::new(); points];
    let mut waiting = vec![0usize; points];
    for layer in layers {
        for pair in layer.windows(2) {
            if let &[left, right] = pair {
                after[first[left]].push((first[right], distance(left, right)));
                waiting[first[right]] += 1;
            }
        }
    }
    let mut order: Vec<usize> = (0..points)
        .filter(|&point| first[point] == point && waiting[point] == 0)
        .collect();
    let mut x = vec![0i32; points];
    let mut at = 0;
    while let Some(&block) = order.get(at) {
        at += 1;
        for &(next, room) in &after[block] {
            x[next] = x[next].max(x[block] + room);
            waiting[next] -= 1;
            if waiting[next] == 0 {
                order.push(next);
            }
        }
    }
    for &block in order.iter().rev() {
        let room = after[block].iter().map(|&(next, room)| x[next] - room);
        if let Some(room) = room.min() {
            x[block] = x[block].max(room);
        }
    }
    (0..points).map(|point| x[first[point]]).collect()
}

/// Lays the four ways over the narrowest and takes the middle of each point.
fn mean_of_the_middle(ways: &mut [Vec<i32>]) -> Vec<i32> {
    let ends = |way: &[i32]| {
        let least = way.iter().copied().min().unwrap_or(0);
        (least, way.iter().copied().max().unwrap_or(0))
    };
    let narrowest = ways
        .iter()
        .map(|way| ends(way))
        .min_by_key(|(least, most)| most - least);
    let (least, most) = narrowest.unwrap_or_default();
    for (number, way) in ways.iter_mut().enumerate() {
        let (own_least, own_most) = ends(way);
        // The ways are in pairs: to the left, to the right.
        let shift = match number % 2 {
            0 => least - own_least,
            _ => most - own_most,
        };
        way.iter_mut().for_each(|x| *x += shift);
    }
    let points = ways.first().map_or(0, Vec::len);
    (0..points)
        .map(|point| {
            let mut values: Vec<i32> = ways.iter().map(|way| way[point]).collect();
            values.sort_unstable();
            let middle = values.len() / 2;
            (values[middle - 1] + values[middle]).div_euclid(2)
        })
        .collect()
}
