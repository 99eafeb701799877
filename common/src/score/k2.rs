//! K2 (Cooper and Herskovits 1992): a Dirichlet prior with all alpha = 1.
//!
//! sum over cells of ln Γ(N + 1) - sum over parent configurations of ln Γ(N + r) - ln Γ(r), r the
//! states of the node.

use super::counted::{CountedTerms, FamilySize};
use super::spec::ScoreSpec;
use super::terms::{Unit, ln_gamma_whole};
use crate::data::{Table, Variable};
use crate::ids::NodeIdx;

/// `ln Γ(x)` for whole x.
#[derive(Debug)]
pub(super) struct K2(Vec<i64>);

impl CountedTerms for K2 {
    /// The states of the node.
    type Prepared<'a> = usize;

    const FIT_IS_NEVER_POSITIVE: bool = false;

    fn new(table: &Table, _: &ScoreSpec, unit: Unit) -> Self {
        let arities = NodeIdx::all(table.nodes()).map(|node| table.arity(node));
        let most_states = arities.max().unwrap_or(1);
        Self(ln_gamma_whole(table.rows() + most_states + 1, unit))
    }

    fn bytes_for(table: &Table) -> usize {
        (table.rows() + Variable::MAX_STATES + 2) * size_of::<i64>()
    }

    fn penalty(_: &Table, _: &ScoreSpec) -> f64 {
        0.0
    }

    #[inline]
    fn prepare(&self, size: FamilySize) -> usize {
        size.states
    }

    #[inline]
    fn cell(&self, _: &usize, count: u32) -> i64 {
        self.0[count as usize + 1]
    }

    #[inline]
    fn configuration(&self, &states: &usize, count: u32) -> i64 {
        self.0[count as usize + states] - self.0[states]
    }
}
