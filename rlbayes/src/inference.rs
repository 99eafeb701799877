//! Questions to a fitted network: a variable given others, and a column predicted from the rest.

use crate::mapping::MappedRows;
use crate::network::{Network, NetworkUseError};
use crate::table::Table;
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::inference::{Evidence, InferenceError, posterior};
use rlbayes_common::network::Network as Parametrised;

/// What a network says about a variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The states, in order, each with its probability given the evidence.
    pub states: Vec<(String, f64)>,
    /// The natural logarithm of the probability of the evidence.
    pub log_evidence: f64,
}

/// A column predicted from the others, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    /// The states of the column, in order.
    pub states: Vec<String>,
    /// The probability of each state, for each row.
    pub probabilities: Vec<Vec<f64>>,
    /// The number of the state that each row has, if the table has the column.
    pub actual: Option<Vec<usize>>,
}

impl Predictions {
    /// Returns the number of the likeliest state of a row, the first of equals.
    #[must_use]
    pub fn likeliest(&self, row: usize) -> usize {
        let mut best = 0;
        for (state, probability) in self.probabilities[row].iter().enumerate() {
            if *probability > self.probabilities[row][best] {
                best = state;
            }
        }
        best
    }

    /// Returns the rows, from 1, whose state the network gives the probability 0; none if the table
    /// lacks the column.
    pub fn excluded_rows(&self) -> impl Iterator<Item = usize> {
        let rows = self.probabilities.iter().zip(self.actual.iter().flatten());
        let rows = rows.zip(1..);
        rows.filter(|&((row, &state), _)| row[state] == 0.0)
            .map(|(_, number)| number)
    }

    /// Returns the share of rows whose likeliest state is the one they have.
    #[must_use]
    pub fn accuracy(&self) -> Option<f64> {
        let actual = self.actual.as_ref()?;
        let right = (0..actual.len()).filter(|&row| self.likeliest(row) == actual[row]);
        Some(mean(right.count(), actual.len()))
    }

    /// Returns the mean of -ln P(the state a row has); infinite if one has the probability 0.
    #[must_use]
    pub fn log_loss(&self) -> Option<f64> {
        let actual = self.actual.as_ref()?;
        let rows = self.probabilities.iter().zip(actual);
        let losses: f64 = rows.map(|(row, &state)| -row[state].ln()).sum();
        Some(losses / mean(actual.len(), 1))
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most 2^28 rows")]
fn mean(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

impl Network {
    /// Returns the distribution of a variable, given the states of others.
    ///
    /// ```
    /// use rlbayes::{Fit, Network, Table};
    /// let text = "rain,wet\nno,no\nno,no\nno,yes\nyes,yes\n";
    /// let table = Table::parse("lawn", text.as_bytes(), &Default::default())?;
    /// let lawn = Network::from_edges(["rain", "wet"], [("rain", "wet")])?;
    /// let answer = lawn.fit(&table, Fit::MaximumLikelihood)?.query("rain", &[("wet", "yes")])?;
    /// assert!((answer.states[1].1 - 0.5).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the network has no probabilities or not these names, the evidence is impossible, or an exact
    /// answer would take too much memory.
    pub fn query(
        &self,
        target: &str,
        evidence: &[(&str, &str)],
    ) -> Result<Answer, NetworkUseError> {
        let network = self.parameters()?;
        let find = |name: &str| {
            let found = network.schema().find(name);
            found.ok_or_else(|| NetworkUseError::NoSuchNode(name.to_owned()))
        };
        let target = find(target)?;
        let mut known = Evidence::new();
        for &(name, state) in evidence {
            let node = find(name)?;
            let variable = network.schema().variable(node);
            let number =
                variable
                    .state_index(state)
                    .ok_or_else(|| NetworkUseError::NoSuchState {
                        node: name.to_owned(),
                        state: state.to_owned(),
                        known: variable.states().join(", "),
                    })?;
            if known
                .insert(node, number)
                .is_some_and(|before| before != number)
            {
                return Err(InferenceError::Impossible.into());
            }
        }
        let answer = posterior(network, target, &known)?;
        let states = network.schema().variable(target).states().iter().cloned();
        Ok(Answer {
            states: states.zip(answer.probabilities).collect(),
            log_evidence: answer.log_evidence,
        })
    }

    /// Predicts a variable in every row from the other columns of the table; those that the table
    /// lacks are unknown.
    ///
    /// # Errors
    /// If the network has no probabilities or not this node, a cell holds a state that it does not
    /// have, a row is impossible, or an exact answer would take too much memory.
    pub fn predict(&self, table: &Table, target: &str) -> Result<Predictions, NetworkUseError> {
        let network = self.parameters()?;
        let schema = network.schema();
        let node = schema.find(target);
        let node = node.ok_or_else(|| NetworkUseError::NoSuchNode(target.to_owned()))?;
        let rows = MappedRows::new(table, schema)?;
        let actual: Option<Vec<usize>> =
            (0..rows.rows()).map(|row| rows.state(row, node)).collect();
        let mut probabilities = Vec::with_capacity(rows.rows());
        for row in 0..rows.rows() {
            let answer = match from_blanket(network, &rows, row, node) {
                Some(answer) => answer,
                None => posterior(network, node, &evidence_of(network, &rows, row, node))
                    .map(|answer| answer.probabilities),
            };
            probabilities.push(answer.map_err(|error| match error {
                InferenceError::Impossible => NetworkUseError::ImpossibleRow(row + 1),
                error => error.into(),
            })?);
        }
        Ok(Predictions {
            states: schema.variable(node).states().to_vec(),
            probabilities,
            actual,
        })
    }
}

/// Returns everything that a row says about nodes other than the target.
fn evidence_of(network: &Parametrised, rows: &MappedRows, row: usize, target: NodeIdx) -> Evidence {
    let nodes = NodeIdx::all(network.schema().len()).filter(|&node| node != target);
    let known = nodes.filter_map(|node| Some((node, rows.state(row, node)?)));
    known.collect()
}

/// The short way where the Markov blanket is known: the node's own table times those of its
/// children. None if something in the blanket is not known, or if no state is possible (whatever else
/// the row holds may then be the reason).
fn from_blanket(
    network: &Parametrised,
    rows: &MappedRows,
    row: usize,
    target: NodeIdx,
) -> Option<Result<Vec<f64>, InferenceError>> {
    let arity = |node: NodeIdx| network.schema().variable(node).arity();
    let mut weights = vec![0.0; arity(target)];
    for (state, weight) in weights.iter_mut().enumerate() {
        let state_of = |node: NodeIdx| match node == target {
            true => Some(state),
            false => rows.state(row, node),
        };
        let entry = |node: NodeIdx| {
            let mut configuration = 0;
            for &parent in network.dag().parents(node) {
                configuration = configuration * arity(parent) + state_of(parent)?;
            }
            let place = configuration * arity(node) + state_of(node)?;
            Some(network.cpt(node).probabilities[place].ln())
        };
        *weight = entry(target)?;
        for &child in network.dag().children(target) {
            *weight += entry(child)?;
        }
    }
    let largest = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return None;
    }
    let weights: Vec<f64> = weights
        .iter()
        .map(|weight| (weight - largest).exp())
        .collect();
    let sum: f64 = weights.iter().sum();
    Some(Ok(weights.iter().map(|weight| weight / sum).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_gives_what_elimination_gives() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/networks/child.bif");
        let child = Network::read(path).unwrap();
        let network = child.parameters().unwrap();
        let table = child.sample(40, 3).unwrap();
        let rows = MappedRows::new(&table, network.schema()).unwrap();
        let mut compared = 0;
        for row in 0..rows.rows() {
            for node in NodeIdx::all(network.schema().len()) {
                let short = from_blanket(network, &rows, row, node).unwrap().unwrap();
                let evidence = evidence_of(network, &rows, row, node);
                let long = posterior(network, node, &evidence).unwrap();
                for (a, b) in short.iter().zip(&long.probabilities) {
                    assert!((a - b).abs() < 1e-12, "{short:?} {long:?}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 1000);
    }
}
