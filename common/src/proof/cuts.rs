//! What every network satisfies, as linear inequalities over families, and the bound that
//! multipliers on them give.
//!
//! - A *cluster* C: some variable of C has no parent in C (Jaakkola, Sontag, Globerson and Meila
//!   2010). Else there would be a cycle inside C.
//! - A *packing* P: at most one variable of P has all the others among its parents.
//!
//! For multipliers l on clusters and m on packings, all at least 0, every network costs at least
//! sum over variables of the cheapest (cost - l of clusters that the family satisfies + m of packings
//! that it uses) + sum of l - sum of m. This is computed in whole units, so that it is exact.

use super::model::{Alive, Model, has, members};
use crate::ids::NodeIdx;
use std::sync::Arc;

/// An inequality that every network satisfies.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cut {
    /// What it says about its variables.
    pub kind: CutKind,
    /// The variables, as bits.
    bits: Vec<u64>,
}

/// The kinds of cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CutKind {
    /// Some variable has no parent inside.
    Cluster,
    /// At most one variable has all others as parents.
    Packing,
}

/// Cuts with their multipliers in whole units, each above 0.
pub type Multipliers = Arc<[(Arc<Cut>, i64)]>;

/// A bound on the cost of networks over the families left.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    /// No network costs less.
    pub(super) cost: i64,
    /// What a network costs more at least if it uses the family, by family.
    pub(super) reduced: Vec<i64>,
}

impl Cut {
    /// Makes a cut over some variables; `words` is the length of a bit set over all.
    #[must_use]
    pub fn new(kind: CutKind, words: usize, members: impl IntoIterator<Item = NodeIdx>) -> Self {
        let mut bits = vec![0; words];
        for member in members {
            bits[member.index() / 64] |= 1 << (member.index() % 64);
        }
        Self { kind, bits }
    }

    /// Lists the variables in order.
    pub fn members(&self) -> impl Iterator<Item = NodeIdx> + '_ {
        members(&self.bits)
    }

    /// Tells whether a family of one of its variables counts in the inequality.
    #[inline]
    pub(super) fn counts(&self, model: &Model, family: usize) -> bool {
        let parents = model.parents(family);
        let child = model.child(family);
        if !has(&self.bits, child) {
            return false;
        }
        let mut words = self.bits.iter().zip(parents);
        match self.kind {
            CutKind::Cluster => words.all(|(cut, parents)| cut & parents == 0),
            CutKind::Packing => {
                let (at, bit) = (child.index() / 64, 1_u64 << (child.index() % 64));
                words.enumerate().all(|(word, (cut, parents))| {
                    let others = if word == at { cut & !bit } else { *cut };
                    others & !parents == 0
                })
            }
        }
    }
}

/// Computes the bound that multipliers give. At least one family of each variable must be left.
pub(super) fn bound(model: &Model, alive: &Alive, multipliers: &[(Arc<Cut>, i64)]) -> Bound {
    let mut reduced: Vec<i64> = (0..model.len()).map(|family| model.cost(family)).collect();
    let mut cost = 0_i64;
    for (cut, multiplier) in multipliers {
        let signed = match cut.kind {
            CutKind::Cluster => *multiplier,
            CutKind::Packing => -multiplier,
        };
        cost = cost.saturating_add(signed);
        for child in cut.members() {
            for family in model.of(child) {
                if cut.counts(model, family) {
                    reduced[family] = reduced[family].saturating_sub(signed);
                }
            }
        }
    }
    for child in NodeIdx::all(model.nodes()) {
        let least = alive.of(model, child).map(|family| reduced[family]).min();
        let least = least.unwrap_or(i64::MAX / 4);
        cost = cost.saturating_add(least);
        for family in model.of(child) {
            reduced[family] = reduced[family].saturating_sub(least);
        }
    }
    Bound { cost, reduced }
}
