//! How well a network's own probabilities fit rows that it has not seen.

use crate::mapping::MappedRows;
use crate::network::{Network, NetworkUseError};
use crate::table::Table;
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::network::Network as Parametrised;

/// The log-likelihood of rows under a network, in nats.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLikelihood {
    /// Of each row; minus infinity for one that the network gives the probability 0.
    pub by_row: Vec<f64>,
    /// The first row of probability 0 (counted from 1), and the node and state that the network
    /// excludes there.
    pub first_impossible: Option<(usize, String, String)>,
}

impl LogLikelihood {
    /// Returns the sum over all rows; minus infinity if one has the probability 0.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.by_row.iter().sum()
    }

    /// Returns the sum over the rows that the network does not exclude.
    #[must_use]
    pub fn of_possible_rows(&self) -> f64 {
        self.by_row.iter().filter(|row| row.is_finite()).sum()
    }

    /// Returns how many rows have the probability 0.
    #[must_use]
    pub fn impossible_rows(&self) -> usize {
        self.by_row.iter().filter(|row| !row.is_finite()).count()
    }
}

impl Network {
    /// Returns the log-likelihood of a table's rows under the network's own probabilities. Columns
    /// that the network lacks do not count.
    ///
    /// # Errors
    /// If the network has no probabilities, the table lacks one of its nodes, or a cell holds a state
    /// that it does not have.
    pub fn log_likelihood(&self, table: &Table) -> Result<LogLikelihood, NetworkUseError> {
        let network = self.parameters()?;
        let rows = MappedRows::new(table, network.schema())?.complete(network.schema())?;
        let mut by_row = Vec::with_capacity(rows.rows());
        let mut first_impossible = None;
        for row in 0..rows.rows() {
            let mut sum = 0.0;
            for node in NodeIdx::all(network.schema().len()) {
                let Some(probability) = probability(network, &rows, row, node) else {
                    continue;
                };
                if probability <= 0.0 && first_impossible.is_none() {
                    let variable = network.schema().variable(node);
                    let state = rows.state(row, node).unwrap_or_default();
                    let state = variable.states()[state].clone();
                    first_impossible = Some((row + 1, variable.name().to_owned(), state));
                }
                sum += probability.ln();
            }
            by_row.push(sum);
        }
        Ok(LogLikelihood {
            by_row,
            first_impossible,
        })
    }
}

/// Returns the probability of a node's state in a row given its parents', if all are known.
pub(crate) fn probability(
    network: &Parametrised,
    rows: &MappedRows,
    row: usize,
    node: NodeIdx,
) -> Option<f64> {
    let arity = |node: NodeIdx| network.schema().variable(node).arity();
    let mut configuration = 0;
    for &parent in network.dag().parents(node) {
        configuration = configuration * arity(parent) + rows.state(row, parent)?;
    }
    let place = configuration * arity(node) + rows.state(row, node)?;
    Some(network.cpt(node).probabilities[place])
}
