//! BDeu (Heckerman, Geiger and Chickering 1995): a Dirichlet prior that spreads an equivalent sample
//! size e evenly over the cells of a family.
//!
//! sum over cells of ln Γ(N + e/cells) - ln Γ(e/cells), minus the same over parent configurations
//! with e/configurations.

use super::counted::{CountedTerms, FamilySize};
use super::spec::ScoreSpec;
use super::terms::{DirichletTables, Unit};
use crate::data::Table;
use std::sync::Arc;

/// Tables of terms, one for each number of cells that came up.
#[derive(Debug)]
pub(super) struct Bdeu(DirichletTables);

/// The two term tables of a family, or the numbers to compute terms from.
pub(super) struct Pair {
    size: FamilySize,
    cells: Option<Arc<[i64]>>,
    configurations: Option<Arc<[i64]>>,
}

impl CountedTerms for Bdeu {
    type Prepared<'a> = Pair;

    const FIT_IS_NEVER_POSITIVE: bool = false;

    fn new(table: &Table, spec: &ScoreSpec, unit: Unit) -> Self {
        Self(DirichletTables::new(table.rows(), spec.ess(), unit))
    }

    fn bytes_for(table: &Table) -> usize {
        DirichletTables::bytes_for(table)
    }

    fn penalty(_: &Table, _: &ScoreSpec) -> f64 {
        0.0
    }

    fn prepare(&self, size: FamilySize) -> Pair {
        Pair {
            size,
            cells: self.0.get(size.cells()),
            configurations: self.0.get(size.configurations),
        }
    }

    #[inline]
    fn cell(&self, pair: &Pair, count: u32) -> i64 {
        match &pair.cells {
            Some(terms) => terms[count as usize],
            None => self.0.term(count, pair.size.cells()),
        }
    }

    #[inline]
    fn configuration(&self, pair: &Pair, count: u32) -> i64 {
        match &pair.configurations {
            Some(terms) => terms[count as usize],
            None => self.0.term(count, pair.size.configurations),
        }
    }
}
