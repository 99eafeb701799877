//! How much to smooth: the number added to every count, chosen by the log-likelihood of rows held out.

use crate::folds::Folds;
use crate::network::{Fit, Network, NetworkUseError};
use crate::table::Table;

/// The numbers that are tried, smallest first.
pub const ALPHAS: [f64; 9] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

impl Network {
    /// Returns the number of [`ALPHAS`] that, added to every count, gives rows held out the highest
    /// log-likelihood in a cross-validation with ten folds (fewer if there are fewer rows), the
    /// smallest of equals.
    ///
    /// # Errors
    /// If the network has a node that the table lacks, a table of probabilities would be too large, or
    /// there is only one row.
    pub fn choose_alpha(&self, table: &Table, seed: u64) -> Result<f64, NetworkUseError> {
        let folds = Folds::new(table.rows(), table.rows().min(10), seed)?;
        let mut totals = [0.0; ALPHAS.len()];
        for fold in 0..folds.count() {
            let Some((train, test)) = folds.split(table, fold) else {
                continue;
            };
            for (total, alpha) in totals.iter_mut().zip(ALPHAS) {
                let network = self.fit(&train, Fit::Smoothed(alpha))?;
                *total += network.log_likelihood(&test)?.total();
            }
        }
        let mut best = 0;
        for (at, total) in totals.iter().enumerate() {
            if *total > totals[best] {
                best = at;
            }
        }
        Ok(ALPHAS[best])
    }
}
