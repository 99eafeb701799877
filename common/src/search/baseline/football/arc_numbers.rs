//! A network as a vector: a number in [0, 1] for each ordered pair of nodes, an arc above 1/2.

use crate::ids::NodeIdx;
use crate::search::baseline::population::Individual;
use crate::search::{Constraints, Random};
use std::sync::Arc;

/// Returns the number of ordered pairs.
pub(super) fn dimensions(nodes: usize) -> usize {
    nodes * nodes.saturating_sub(1)
}

/// Returns the pair of a dimension.
pub(super) fn pair(dimension: usize, nodes: usize) -> (NodeIdx, NodeIdx) {
    let (from, rest) = (dimension / (nodes - 1), dimension % (nodes - 1));
    let to = if rest < from { rest } else { rest + 1 };
    (NodeIdx::new(from), NodeIdx::new(to))
}

/// Draws a vector that stands for a network: its arcs get numbers in (1/2, 1], all other pairs
/// numbers below `absent`.
pub(super) fn encoded(network: &Individual, absent: f64, random: &mut Random) -> Vec<f64> {
    let n = network.nodes();
    (0..dimensions(n))
        .map(|dimension| {
            let (from, to) = pair(dimension, n);
            let unit = random.unit();
            if network.has_edge(from, to) {
                1.0 - unit / 2.0
            } else {
                unit * absent
            }
        })
        .collect()
}

/// Returns the families of the network that a vector stands for: first the required arcs, then
/// those above 1/2 in falling order, the earlier pair of equals first, where constraints and
/// acyclicity allow them.
pub(super) fn decoded(vector: &[f64], constraints: &Constraints) -> Vec<Arc<[NodeIdx]>> {
    let n = constraints.nodes();
    let mut families: Vec<Vec<NodeIdx>> = vec![Vec::new(); n];
    let mut below = Descendants::none(n);
    for (from, to) in constraints.required().edges() {
        below.add(from, to);
        families[to.index()].push(from);
    }
    let mut falling: Vec<usize> = (0..vector.len()).filter(|&at| vector[at] > 0.5).collect();
    falling.sort_by(|&a, &b| vector[b].total_cmp(&vector[a]).then(a.cmp(&b)));
    for dimension in falling {
        let (from, to) = pair(dimension, n);
        let room = families[to.index()].len() < constraints.max_parents();
        let wanted = constraints.is_allowed(from, to) && !constraints.is_required(from, to);
        if room && wanted && !below.has(to, from) {
            below.add(from, to);
            families[to.index()].push(from);
        }
    }
    families
        .into_iter()
        .map(|mut family| {
            family.sort_unstable();
            family.into()
        })
        .collect()
}

/// Who is below whom in a graph that only grows: decoding may add most of n^2 / 2 arcs, and asks
/// before each.
struct Descendants {
    words: usize,
    bits: Vec<u64>,
}

impl Descendants {
    fn none(nodes: usize) -> Self {
        let words = nodes.div_ceil(64);
        Self {
            words,
            bits: vec![0; nodes * words],
        }
    }

    fn has(&self, above: NodeIdx, below: NodeIdx) -> bool {
        let below = below.index();
        self.bits[above.index() * self.words + below / 64] >> (below % 64) & 1 == 1
    }

    fn add(&mut self, from: NodeIdx, to: NodeIdx) {
        if self.has(from, to) {
            return;
        }
        let mut more = self.bits[to.index() * self.words..][..self.words].to_vec();
        more[to.index() / 64] |= 1 << (to.index() % 64);
        let (word, bit) = (from.index() / 64, from.index() % 64);
        for (node, known) in self.bits.chunks_mut(self.words).enumerate() {
            if node == from.index() || known[word] >> bit & 1 == 1 {
                for (known, more) in known.iter_mut().zip(&more) {
                    *known |= more;
                }
            }
        }
    }
}
