//! The terms that scores sum over counts, as fixed-point integers: x ln x and ln Gamma.
//!
//! Sums of integers do not depend on the order of summation, so a local score has the same bits
//! whichever way it was counted. The unit is a power of two chosen so that the score of any
//! structure of the table is a whole number of units below 2^53: sums and differences of scores
//! as `f64` are then exact, and equivalent networks have equal bits.

use crate::data::Table;
use crate::ids::NodeIdx;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The size of one unit of the fixed-point numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    nats: f64,
    per_nat: f64,
}

impl Unit {
    /// Chooses the unit for a table: the finest one in which the largest likelihood is exact.
    pub(crate) fn for_table(table: &Table) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "rows are below 2^53")]
        let rows = table.rows() as f64;
        let entropy: f64 = NodeIdx::all(table.nodes())
            .map(|node| libm::log(f64::from(narrow(table.arity(node).max(2)))))
            .sum();
        // Twice the bound leaves room for penalties.
        let bound = 2.0 * rows * entropy;
        let bits = (53.0 - libm::ceil(libm::log2(bound))).clamp(4.0, 40.0);
        let per_nat = libm::exp2(bits);
        Self {
            nats: 1.0 / per_nat,
            per_nat,
        }
    }

    /// Rounds nats to units.
    pub(crate) fn round(self, nats: f64) -> i64 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "saturates, far outside the range"
        )]
        let units = libm::rint(nats * self.per_nat) as i64;
        units
    }

    /// Rounds nats to units, for factors of large numbers.
    pub(crate) fn round_f64(self, nats: f64) -> f64 {
        libm::rint(nats * self.per_nat)
    }

    /// Returns units as nats.
    #[inline]
    pub(crate) fn nats(self, units: f64) -> f64 {
        units * self.nats
    }
}

/// `x ln x` for counts `0..=rows`.
pub(crate) fn x_ln_x(rows: usize, unit: Unit) -> Vec<i64> {
    let mut terms = vec![0];
    terms.extend((1..=narrow(rows)).map(|x| {
        let x = f64::from(x);
        unit.round(x * libm::log(x))
    }));
    terms
}

/// `ln Gamma(x)` for whole numbers `1..=last`, with an unused entry for 0.
pub(crate) fn ln_gamma_whole(last: usize, unit: Unit) -> Vec<i64> {
    let mut terms = vec![0];
    terms.extend((1..=narrow(last)).map(|x| unit.round(libm::lgamma(f64::from(x)))));
    terms
}

/// `ln Gamma(count + alpha) - ln Gamma(alpha)` with `alpha = ess / cells`.
pub(crate) fn dirichlet_term(count: u32, cells: f64, ess: f64, unit: Unit) -> i64 {
    if count == 0 {
        return 0;
    }
    let alpha = (ess / cells).max(f64::MIN_POSITIVE);
    unit.round(libm::lgamma(f64::from(count) + alpha) - libm::lgamma(alpha))
}

/// Tables of [`dirichlet_term`], one for each number of cells that came up; past the limit, or
/// for many rows, terms are computed one by one.
#[derive(Debug)]
pub(crate) struct DirichletTables {
    rows: usize,
    ess: f64,
    unit: Unit,
    by_cells: Mutex<BTreeMap<u64, Arc<[i64]>>>,
}

impl DirichletTables {
    const MOST_BYTES: usize = 64 << 20;
    const MOST_ROWS: usize = 1 << 17;

    pub(crate) fn new(rows: usize, ess: f64, unit: Unit) -> Self {
        Self {
            rows,
            ess,
            unit,
            by_cells: Mutex::new(BTreeMap::new()),
        }
    }

    /// Returns how many bytes the tables for the families of a table take at most: one for each
    /// number of cells, a product of numbers of states.
    pub(crate) fn bytes_for(table: &Table) -> usize {
        let rows = table.rows();
        if rows > Self::MOST_ROWS {
            return 0;
        }
        let mut variables = BTreeMap::new();
        for node in NodeIdx::all(table.nodes()) {
            *variables.entry(table.arity(node)).or_insert(1_usize) += 1;
        }
        variables
            .values()
            .fold((rows + 1) * 8, |bytes, &exponents| {
                bytes.saturating_mul(exponents)
            })
            .min(Self::MOST_BYTES)
    }

    /// Returns the table for a number of cells, if one may be kept.
    pub(crate) fn get(&self, cells: f64) -> Option<Arc<[i64]>> {
        if self.rows > Self::MOST_ROWS {
            return None;
        }
        let mut by_cells = self.by_cells.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = by_cells.get(&cells.to_bits()) {
            return Some(Arc::clone(table));
        }
        if (by_cells.len() + 1) * self.rows * 8 > Self::MOST_BYTES {
            return None;
        }
        let table: Arc<[i64]> = (0..=narrow(self.rows))
            .map(|count| dirichlet_term(count, cells, self.ess, self.unit))
            .collect();
        by_cells.insert(cells.to_bits(), Arc::clone(&table));
        Some(table)
    }

    /// Returns one term without a table.
    pub(crate) fn term(&self, count: u32, cells: f64) -> i64 {
        dirichlet_term(count, cells, self.ess, self.unit)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "at most Table::MAX_ROWS or MAX_STATES"
)]
fn narrow(number: usize) -> u32 {
    number as u32
}
