//! Points moved towards their neighbours, for large drawings: straight long edges as `coordinates`
//! draws them push boxes far apart there. The weighted sum of squares of how far segments lead to the
//! side becomes smaller with every layer that is moved (Gansner et al. 1993 take absolute values).

use super::layers::Layers;

/// How often all layers are moved, down and up again.
const SWEEPS: usize = 16;

/// Returns the middles of the points: every layer begins in the middle with its points side by side, and
/// is then moved. The order within a layer stays, and so do the least distances between neighbours.
pub(super) fn relaxed(layers: &Layers, distance: &dyn Fn(usize, usize) -> i32) -> Vec<i32> {
    let mut x = vec![0.0; layers.below.len()];
    for layer in &layers.layers {
        let offsets = side_by_side(layer, distance);
        let middle = offsets.last().copied().unwrap_or(0.0) / 2.0;
        for (&point, offset) in layer.iter().zip(offsets) {
            x[point] = offset - middle;
        }
    }
    for _ in 0..SWEEPS {
        for layer in layers.layers.iter().chain(layers.layers.iter().rev()) {
            move_layer(layers, layer, &mut x, distance);
        }
    }
    // Rounding keeps the order of numbers, but two that are apart by a whole number and a bit less can
    // come closer by one: layers are pushed apart again.
    let mut whole: Vec<i32> = x.iter().map(|&x| rounded(x)).collect();
    for layer in &layers.layers {
        for pair in layer.windows(2) {
            if let &[left, right] = pair {
                whole[right] = whole[right].max(whole[left] + distance(left, right));
            }
        }
    }
    whole
}

/// Moves the points of a layer as near to the means of their neighbours as their distances allow.
fn move_layer(
    layers: &Layers,
    layer: &[usize],
    x: &mut [f64],
    distance: &dyn Fn(usize, usize) -> i32,
) {
    // Points that stand side by side at their least distances move as one.
    struct Run {
        first: usize,
        weight: f64,
        /// The sum of where its points would be, less their distance from its first one.
        sum: f64,
    }
    let mut runs: Vec<Run> = Vec::new();
    let offsets = side_by_side(layer, distance);
    for (at, (&point, offset)) in layer.iter().zip(&offsets).enumerate() {
        let (wanted, weight) = wish(layers, point, x);
        let mut run = Run {
            first: at,
            weight,
            sum: weight * (wanted - offset),
        };
        while let Some(last) = runs.last() {
            if last.sum / last.weight < run.sum / run.weight {
                break;
            }
            run = Run {
                first: last.first,
                weight: last.weight + run.weight,
                sum: last.sum + run.sum,
            };
            runs.pop();
        }
        runs.push(run);
    }
    let ends = runs.iter().skip(1).map(|run| run.first);
    for (run, end) in runs.iter().zip(ends.chain([layer.len()])) {
        for at in run.first..end {
            x[layer[at]] = run.sum / run.weight + offsets[at];
        }
    }
}

/// Returns how far each point is from the first of its layer, if all stand side by side.
fn side_by_side(layer: &[usize], distance: &dyn Fn(usize, usize) -> i32) -> Vec<f64> {
    let mut offset = 0.0;
    let mut offsets = Vec::with_capacity(layer.len());
    for (at, &point) in layer.iter().enumerate() {
        if let Some(before) = at.checked_sub(1) {
            offset += f64::from(distance(layer[before], point));
        }
        offsets.push(offset);
    }
    offsets
}

/// Returns where a point would be best, and how much that matters. Long edges are kept straight first.
fn wish(layers: &Layers, point: usize, x: &[f64]) -> (f64, f64) {
    let mut weight = 0.0;
    let mut sum = 0.0;
    for &other in layers.above[point].iter().chain(&layers.below[point]) {
        let own = match (layers.is_bend(point), layers.is_bend(other)) {
            (true, true) => 8.0,
            (false, false) => 1.0,
            _ => 2.0,
        };
        weight += own;
        sum += own * x[other];
    }
    match weight > 0.0 {
        true => (sum / weight, weight),
        false => (x[point], 0.1),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "pixels of a picture")]
fn rounded(x: f64) -> i32 {
    x.round() as i32
}
