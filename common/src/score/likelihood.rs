//! The log-likelihood, plain or with a penalty for each free parameter: loglik, AIC and BIC.
//!
//! sum over cells of N ln N - sum over parent configurations of N ln N - penalty x parameters, with
//! a penalty of 0, 1 and ln(rows) / 2.

use super::counted::{CountedTerms, FamilySize};
use super::spec::{ScoreName, ScoreSpec};
use super::terms::{Unit, x_ln_x};
use crate::data::Table;

/// `N ln N` by count.
#[derive(Debug)]
pub(super) struct Likelihood(Vec<i64>);

impl CountedTerms for Likelihood {
    type Prepared<'a> = &'a [i64];

    const FIT_IS_NEVER_POSITIVE: bool = true;

    fn new(table: &Table, _: &ScoreSpec, unit: Unit) -> Self {
        Self(x_ln_x(table.rows(), unit))
    }

    fn bytes_for(table: &Table) -> usize {
        (table.rows() + 1) * size_of::<i64>()
    }

    fn penalty(table: &Table, spec: &ScoreSpec) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "rows are below 2^53")]
        let rows = table.rows() as f64;
        let usual = match spec.name() {
            ScoreName::Bic => libm::log(rows) / 2.0,
            ScoreName::Aic => 1.0,
            _ => 0.0,
        };
        usual * spec.penalty_scale()
    }

    #[inline]
    fn prepare(&self, _: FamilySize) -> &[i64] {
        &self.0
    }

    #[inline]
    fn cell(&self, terms: &&[i64], count: u32) -> i64 {
        terms[count as usize]
    }

    #[inline]
    fn configuration(&self, terms: &&[i64], count: u32) -> i64 {
        terms[count as usize]
    }
}
