//! The options of the printed walk: what the paper leaves open.

use super::walk::PaperWalk;
use crate::search::params::{check, made_by};
use crate::search::{ParamError, SearchParams, SettingsError, Visitor};

/// The options of the walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperParams {
    /// Probability of the random branch.
    pub epsilon: f64,
    /// Probability of jumping to the best row, in every iteration.
    pub theta: f64,
    /// MAX_LENGTH: how many rows the table has at most (at least 2).
    pub table_rows: usize,
    /// What the random branch draws from.
    pub explore: Explore,
    /// Which row goes when the table is full.
    pub evict: Evict,
}

/// What the random branch draws from: the text says "operations with value 0", Algorithm 1 "all".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explore {
    /// Untried cells; when none is left, all cells that are not minus infinity.
    Untried,
    /// All cells that are not minus infinity.
    All,
}

/// Which row goes when the table is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evict {
    /// The worst row except the current one.
    Protect,
    /// The worst row even if current; the walk then moves to the best row.
    Best,
}

impl Default for PaperParams {
    fn default() -> Self {
        Self {
            epsilon: 0.5,
            theta: 0.3,
            table_rows: 1000,
            explore: Explore::Untried,
            evict: Evict::Protect,
        }
    }
}

impl SearchParams for PaperParams {
    made_by!(PaperWalk);

    fn check(&self) -> Result<(), ParamError> {
        check::probability("epsilon", self.epsilon)?;
        check::probability("theta", self.theta)?;
        check::table_rows(self.table_rows)
    }

    fn visit(&mut self, with: &mut dyn Visitor) -> Result<(), SettingsError> {
        let Self {
            epsilon,
            theta,
            table_rows,
            explore,
            evict,
        } = self;
        with.number("epsilon", epsilon)?;
        with.number("theta", theta)?;
        with.size("table_rows", table_rows)?;
        with.choice("explore", explore, [Explore::Untried, Explore::All])?;
        with.choice("evict", evict, [Evict::Protect, Evict::Best])
    }

    fn bytes_per_chain(&self, nodes: usize) -> usize {
        self.table_rows * nodes * 64
    }

    fn takes_seeds(&self) -> bool {
        true
    }
}
