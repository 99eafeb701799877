//! The benefit of every toggle of one node's parents: what a row of the Q-table knows about that
//! node. It depends on (node, parents) alone, so rows that share a family share the vector.

use crate::ids::{NodeIdx, Seed};
use crate::score::LogScore;
use std::sync::Arc;

/// Gains of adding each absent parent to, and removing each present one from, one family.
#[derive(Debug)]
pub struct Benefits {
    node: NodeIdx,
    parents: Arc<[NodeIdx]>,
    score: f64,
    /// By node: the gain of toggling it; minus infinity where constraints forbid it or it can't gain.
    gains: Box<[f64]>,
    /// Toggles that gain, best first.
    gaining: Box<[NodeIdx]>,
    /// The same, a bit for each node.
    gaining_bits: Box<[u64]>,
}

impl Benefits {
    pub(crate) fn new(
        node: NodeIdx,
        parents: Arc<[NodeIdx]>,
        score: f64,
        gains: Box<[f64]>,
    ) -> Self {
        let mut gaining: Vec<NodeIdx> = NodeIdx::all(gains.len())
            .filter(|other| gains[other.index()] > LogScore::MIN_GAIN)
            .collect();
        gaining.sort_by(|a, b| gains[b.index()].total_cmp(&gains[a.index()]).then(a.cmp(b)));
        let mut gaining_bits = vec![0; gains.len().div_ceil(64)].into_boxed_slice();
        for other in &gaining {
            gaining_bits[other.index() / 64] |= 1 << (other.index() % 64);
        }
        Self {
            node,
            parents,
            score,
            gains,
            gaining: gaining.into_boxed_slice(),
            gaining_bits,
        }
    }

    /// Returns the node.
    #[must_use]
    pub fn node(&self) -> NodeIdx {
        self.node
    }

    /// Returns the parents that the gains refer to.
    #[must_use]
    pub fn parents(&self) -> &Arc<[NodeIdx]> {
        &self.parents
    }

    /// Returns the local score of the family as it is.
    #[must_use]
    pub fn score(&self) -> LogScore {
        LogScore::new(self.score)
    }

    #[inline]
    pub(crate) fn score_value(&self) -> f64 {
        self.score
    }

    /// Returns the gain of adding `other`, or of removing it where it is a parent.
    #[must_use]
    #[inline]
    pub fn gain(&self, other: NodeIdx) -> f64 {
        self.gains[other.index()]
    }

    /// Returns the toggles that gain, best first.
    #[must_use]
    #[inline]
    pub fn gaining(&self) -> &[NodeIdx] {
        &self.gaining
    }

    /// Returns whether a toggle gains whose node is not among `others`, a bit for each node.
    #[inline]
    pub(crate) fn gains_outside(&self, others: &[u64]) -> bool {
        let mut words = self.gaining_bits.iter().zip(others);
        words.any(|(&gaining, &others)| gaining & !others != 0)
    }

    /// Returns how many bytes the vector of a family takes at most.
    #[must_use]
    pub fn bytes_for(nodes: usize, parents: usize, gaining: usize) -> usize {
        size_of::<Self>()
            + 48
            + nodes * size_of::<f64>()
            + (parents + gaining) * size_of::<NodeIdx>()
            + nodes.div_ceil(64) * size_of::<u64>()
    }

    pub(crate) fn bytes(&self) -> usize {
        Self::bytes_for(self.gains.len(), self.parents.len(), self.gaining.len())
    }
}

/// The toggles of one family that gain, among some candidates: what a search of thousands of nodes
/// keeps of a family, where a vector of all gains would be too long.
#[derive(Clone, Debug)]
pub struct GainingToggles {
    score: f64,
    /// In the order of the parents: what removing each gains.
    removals: Box<[f64]>,
    /// What further parents gain, best first.
    pub(crate) additions: Box<[(f64, NodeIdx)]>,
}

impl GainingToggles {
    /// Keeps of toggles, given by the score that the family would have, the removals of parents and
    /// those additions that gain. Parents without a toggle are required.
    pub(crate) fn new(score: f64, parents: &[NodeIdx], toggled: Vec<(f64, NodeIdx)>) -> Self {
        let mut removals = vec![f64::NEG_INFINITY; parents.len()].into_boxed_slice();
        let mut additions = Vec::new();
        for (with, other) in toggled {
            let gain = with - score;
            match parents.binary_search(&other) {
                Ok(at) => removals[at] = gain,
                Err(_) if gain > LogScore::MIN_GAIN => additions.push((gain, other)),
                Err(_) => {}
            }
        }
        additions.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        Self {
            score,
            removals,
            additions: additions.into_boxed_slice(),
        }
    }

    /// Returns the local score of the family as it is.
    #[must_use]
    pub fn score(&self) -> f64 {
        self.score
    }

    /// Returns what removing each parent gains, in their order.
    #[must_use]
    pub fn removals(&self) -> &[f64] {
        &self.removals
    }

    /// Returns what further parents gain, best first; those that lose are left out.
    #[must_use]
    pub fn additions(&self) -> &[(f64, NodeIdx)] {
        &self.additions
    }

    /// Returns what adding a parent gains, if it gains.
    #[must_use]
    pub fn addition(&self, other: NodeIdx) -> Option<f64> {
        self.additions
            .iter()
            .find(|&&(_, candidate)| candidate == other)
            .map(|&(gain, _)| gain)
    }
}

/// Returns a hash of (node, parents) that is the same on every machine.
pub(crate) fn family_hash(node: NodeIdx, parents: &[NodeIdx]) -> u64 {
    parents
        .iter()
        .fold(Seed(node.index() as u64).mix(0x5EED), |hash, parent| {
            hash.mix(parent.index() as u64)
        })
        .0
}
