//! The order of points in their layers, such that few segments cross: sweeps that put each point at
//! the mean place of its neighbours, and swaps of neighbours in a layer. The best order seen is kept.

use super::layers::Layers;

/// Orders the layers.
pub(super) fn reduce_crossings(layers: &mut Layers) {
    const WORK: usize = 1_500_000;
    const PATIENCE: usize = 6;
    let segments: usize = layers.below.iter().map(Vec::len).sum();
    let sweeps = (WORK / (segments + layers.below.len() + 1)).clamp(2, 40);
    let mut best = layers.layers.clone();
    let mut fewest = crossings(layers);
    let mut since = 0;
    for sweep in 0..sweeps {
        if fewest == 0 || since >= PATIENCE {
            break;
        }
        let ties_to_the_right = sweep % 4 >= 2;
        if sweep % 2 == 0 {
            for layer in 1..layers.layers.len() {
                by_mean(layers, layer, Side::Above, ties_to_the_right);
            }
        } else {
            for layer in (0..layers.layers.len() - 1).rev() {
                by_mean(layers, layer, Side::Below, ties_to_the_right);
            }
        }
        swap_neighbours(layers);
        let now = crossings(layers);
        since += 1;
        if now < fewest {
            fewest = now;
            best.clone_from(&layers.layers);
            since = 0;
        }
    }
    layers.layers = best;
}

#[derive(Clone, Copy)]
enum Side {
    Above,
    Below,
}

/// Sorts a layer by the mean place of the neighbours on one side; points without any stay where
/// they are.
fn by_mean(layers: &mut Layers, layer: usize, side: Side, ties_to_the_right: bool) {
    const UNIT: usize = 1 << 16;
    let (other, neighbours) = match side {
        Side::Above => (layer - 1, &layers.above),
        Side::Below => (layer + 1, &layers.below),
    };
    let mut places = vec![0usize; layers.below.len()];
    for (at, &point) in layers.layers[other].iter().enumerate() {
        places[point] = at;
    }
    let mean = |point: usize| -> Option<usize> {
        let near = &neighbours[point];
        let sum: usize = near.iter().map(|&other| places[other]).sum();
        (sum * UNIT).checked_div(near.len())
    };
    let points = &layers.layers[layer];
    let mut moving: Vec<(usize, usize)> = points
        .iter()
        .filter_map(|&point| mean(point).map(|mean| (mean, point)))
        .collect();
    if ties_to_the_right {
        moving.reverse();
    }
    moving.sort_by_key(|&(mean, _)| mean);
    let mut moving = moving.into_iter().map(|(_, point)| point);
    let ordered: Vec<usize> = points
        .iter()
        .map(|&point| match neighbours[point].is_empty() {
            true => point,
            false => moving.next().unwrap_or(point),
        })
        .collect();
    layers.layers[layer] = ordered;
}

/// Swaps points that stand beside each other while that removes crossings.
fn swap_neighbours(layers: &mut Layers) {
    const PASSES: usize = 4;
    const MOST_NEIGHBOURS: usize = 400;
    let mut places = layers.positions();
    for _ in 0..PASSES {
        let mut better = false;
        for layer in 0..layers.layers.len() {
            for at in 1..layers.layers[layer].len() {
                let (left, right) = (layers.layers[layer][at - 1], layers.layers[layer][at]);
                let mut gain = 0i64;
                for side in [&layers.above, &layers.below] {
                    if side[left].len() * side[right].len() <= MOST_NEIGHBOURS {
                        gain += gain_of_swap(&side[left], &side[right], &places);
                    }
                }
                if gain > 0 {
                    layers.layers[layer].swap(at - 1, at);
                    places.swap(left, right);
                    better = true;
                }
            }
        }
        if !better {
            return;
        }
    }
}

/// Returns how many crossings fewer there are if the left point's segments go to the right.
fn gain_of_swap(left: &[usize], right: &[usize], places: &[usize]) -> i64 {
    let mut gain = 0;
    for &a in left {
        for &b in right {
            gain += match places[a].cmp(&places[b]) {
                std::cmp::Ordering::Greater => 1,
                std::cmp::Ordering::Equal => 0,
                std::cmp::Ordering::Less => -1,
            };
        }
    }
    gain
}

/// Counts the pairs of segments that cross.
pub(super) fn crossings(layers: &Layers) -> u64 {
    let places = layers.positions();
    let mut crossings = 0;
    for (upper, lower) in layers.layers.iter().zip(layers.layers.iter().skip(1)) {
        // Ends of segments in the order of their starts: every inversion is a crossing.
        let mut counts = Fenwick(vec![0; lower.len() + 1]);
        let mut seen = 0u64;
        for &point in upper {
            let mut ends: Vec<usize> = layers.below[point].iter().map(|&end| places[end]).collect();
            ends.sort_unstable();
            for &end in &ends {
                crossings += seen - counts.up_to(end);
            }
            for end in ends {
                counts.add(end);
                seen += 1;
            }
        }
    }
    crossings
}

/// Counts of places, summed in logarithmic time.
struct Fenwick(Vec<u64>);

impl Fenwick {
    fn add(&mut self, place: usize) {
        let mut at = place + 1;
        while let Some(count) = self.0.get_mut(at) {
            *count += 1;
            at += at & at.wrapping_neg();
        }
    }

    /// Returns how many were added at this place or before it.
    fn up_to(&self, place: usize) -> u64 {
        let mut at = place + 1;
        let mut sum = 0;
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }
}
