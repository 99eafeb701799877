//! The scores of discrete tables by name. The one place that knows all of them: a further one is a
//! file with its terms and a line in [`Family::of`].

use super::bdeu::Bdeu;
use super::counted::{Counted, CountedTerms};
use super::k2::K2;
use super::likelihood::Likelihood;
use super::local::{LocalScore, Scratch, Toggles};
use super::log_score::LogScore;
use super::spec::{ScoreName, ScoreSpec};
use crate::data::{CountIndex, Table};
use crate::ids::NodeIdx;
use std::sync::Arc;

/// Computes local scores of one table under one score.
///
/// The bits of a local score depend on (node, set of parents) alone.
#[derive(Debug)]
pub struct Scorer {
    table: Arc<Table>,
    score: Box<dyn LocalScore>,
}

/// How the scores of one family are made, and how many bytes their terms take at most.
struct Family {
    make: fn(Arc<Table>, ScoreSpec) -> Box<dyn LocalScore>,
    term_bytes: fn(&Table) -> usize,
}

impl Family {
    fn of(name: ScoreName) -> Self {
        match name {
            ScoreName::LogLik | ScoreName::Bic | ScoreName::Aic => Self::counted::<Likelihood>(),
            ScoreName::Bdeu => Self::counted::<Bdeu>(),
            ScoreName::K2 => Self::counted::<K2>(),
        }
    }

    fn counted<T: CountedTerms>() -> Self {
        Self {
            make: |table, spec| Box::new(Counted::<T>::new(table, spec)),
            term_bytes: T::bytes_for,
        }
    }
}

impl Scorer {
    /// Prepares a table for scoring.
    #[must_use]
    pub fn new(table: Arc<Table>, spec: ScoreSpec) -> Self {
        Self {
            score: (Family::of(spec.name()).make)(Arc::clone(&table), spec),
            table,
        }
    }

    /// Returns how many bytes a scorer takes at most, without the table itself.
    #[must_use]
    pub fn bytes_for(table: &Table, spec: ScoreSpec) -> usize {
        (Family::of(spec.name()).term_bytes)(table) + CountIndex::bytes_for(table)
    }

    /// Returns the table.
    #[must_use]
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }
}

impl LocalScore for Scorer {
    fn nodes(&self) -> usize {
        self.score.nodes()
    }

    fn spec(&self) -> &ScoreSpec {
        self.score.spec()
    }

    fn data_fingerprint(&self) -> [u8; 32] {
        self.score.data_fingerprint()
    }

    fn local(&self, node: NodeIdx, parents: &[NodeIdx], scratch: &mut Scratch) -> LogScore {
        self.score.local(node, parents, scratch)
    }

    fn ceiling(&self, node: NodeIdx, parents: &[NodeIdx]) -> f64 {
        self.score.ceiling(node, parents)
    }

    fn with_each(
        &self,
        node: NodeIdx,
        parents: &[NodeIdx],
        request: Toggles<'_>,
        scratch: &mut Scratch,
        found: &mut dyn FnMut(NodeIdx, Option<f64>),
    ) -> LogScore {
        self.score.with_each(node, parents, request, scratch, found)
    }

    fn pairs(
        &self,
        lines: &[NodeIdx],
        columns: &[NodeIdx],
        skip_hopeless: bool,
        scratch: &mut Scratch,
        found: &mut dyn FnMut(NodeIdx, NodeIdx, Option<f64>),
    ) {
        self.score
            .pairs(lines, columns, skip_hopeless, scratch, found);
    }
}

#[cfg(test)]
mod tests;
