//! What is to be proven: that no network over a table scores higher under a score and constraints.

use super::candidates::{Candidates, Coverage, Effort, Family, candidates};
use super::listing::Listing;
use super::subsets::{self, BestOfAll};
use crate::data::Table;
use crate::graph::Dag;
use crate::ids::NodeIdx;
use crate::score::{FamilyTerms, LocalScore, LogScore, ScoreSpec, Scorer, Scratch};
use crate::search::Constraints;
use std::sync::Arc;

/// A table, a score and constraints, prepared for proofs. All methods may be called from several
/// threads at once.
#[derive(Debug)]
pub struct Prover {
    scorer: Scorer,
    terms: FamilyTerms,
    constraints: Constraints,
}

impl Prover {
    /// Prepares.
    #[must_use]
    pub fn new(table: &Arc<Table>, spec: ScoreSpec, constraints: &Constraints) -> Self {
        Self {
            terms: FamilyTerms::new(table, &spec),
            scorer: Scorer::new(Arc::clone(table), spec),
            constraints: constraints.clone(),
        }
    }

    /// Returns the table.
    #[must_use]
    pub fn table(&self) -> &Arc<Table> {
        self.scorer.table()
    }

    /// Returns the score.
    #[must_use]
    pub fn spec(&self) -> &ScoreSpec {
        self.scorer.spec()
    }

    /// Returns the constraints.
    #[must_use]
    pub fn constraints(&self) -> &Constraints {
        &self.constraints
    }

    /// Finds the candidate parent sets of a variable. `go_on` is asked now and then; where it says
    /// no, or the effort is used up, what is complete so far is returned.
    pub fn candidates(
        &self,
        child: NodeIdx,
        effort: Effort,
        go_on: &dyn Fn() -> bool,
    ) -> Candidates {
        candidates(
            self.table(),
            &self.terms,
            &self.constraints,
            child,
            effort,
            go_on,
        )
    }

    /// Begins to list the candidate parent sets of all variables at once; none if the score is not a
    /// likelihood with a penalty, whose bounds it needs.
    pub fn listing(&self, go_on: &dyn Fn() -> bool) -> Option<Listing<'_>> {
        let can = self.terms.is_likelihood();
        can.then(|| Listing::new(self.table(), &self.terms, &self.constraints, go_on))
    }

    /// Returns the candidate parent sets of a variable with up to so many parents (none: any number);
    /// `None` if they can't all be listed.
    pub(super) fn candidates_up_to(
        &self,
        child: NodeIdx,
        most: Option<usize>,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Vec<Family>> {
        let limited = match most {
            Some(most) => self.constraints.with_max_parents(most),
            None => self.constraints.clone(),
        };
        let found = candidates(
            self.table(),
            &self.terms,
            &limited,
            child,
            Effort::ANY,
            go_on,
        );
        (found.coverage == Coverage::All).then_some(found.families)
    }

    /// Returns whether the constraints allow a parent set.
    pub(super) fn allows(&self, child: NodeIdx, parents: &[NodeIdx]) -> bool {
        let required = self.constraints.required().parents(child);
        parents.len() <= self.constraints.max_parents()
            && parents
                .iter()
                .all(|&parent| self.constraints.is_allowed(parent, child))
            && required.iter().all(|parent| parents.contains(parent))
    }

    /// Returns the score of a family in whole units, as the search counts it.
    pub(super) fn family_units(&self, child: NodeIdx, parents: &[NodeIdx]) -> i64 {
        let score = self.scorer.local(child, parents, &mut Scratch::default());
        self.terms.units(score.value())
    }

    /// Returns how many bytes [`Self::best_of_all`] takes, if the table has few enough variables.
    #[must_use]
    pub fn bytes_for_all(&self) -> Option<usize> {
        subsets::bytes_for(self.table())
    }

    /// Returns how many rows [`Self::best_of_all`] looks at, about.
    #[must_use]
    pub fn work_for_all(&self) -> Option<u64> {
        subsets::work_for(self.table())
    }

    /// Finds a best network by scoring every family; `None` if there are too many variables or `go_on`
    /// says no.
    pub fn best_of_all(&self, go_on: &dyn Fn() -> bool) -> Option<BestOfAll> {
        subsets::best_of_all(self.table(), &self.terms, &self.constraints, go_on)
    }

    /// Returns the local scores of a network in whole units.
    #[must_use]
    pub fn units_of(&self, dag: &Dag) -> Vec<i64> {
        let mut scratch = Scratch::default();
        NodeIdx::all(dag.nodes())
            .map(|node| {
                let score = self.scorer.local(node, dag.parents(node), &mut scratch);
                self.terms.units(score.value())
            })
            .collect()
    }

    /// Returns units as a score.
    #[must_use]
    pub fn score(&self, units: i64) -> LogScore {
        LogScore::new(self.terms.nats(units))
    }

    /// Returns how many units a nat has.
    #[must_use]
    pub fn units_per_nat(&self) -> f64 {
        1.0 / self.terms.nats(1)
    }
}
