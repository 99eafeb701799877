//! Probabilities for a structure: from counts in a table to a [`Network`].

use crate::data::Table;
use crate::graph::Dag;
use crate::ids::NodeIdx;
use crate::network::{Cpt, Network, NetworkError};
use thiserror::Error;

/// Why a structure can't be fitted.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FitError {
    /// The structure has another number of nodes than the table has columns.
    #[error("cannot fit a structure of {nodes} nodes to a table of {columns} columns")]
    Nodes {
        /// Nodes of the structure.
        nodes: usize,
        /// Columns of the table.
        columns: usize,
    },
    /// The smoothing weight is negative or not a number.
    #[error("cannot fit with alpha {0}: expected a finite number that is at least 0")]
    Alpha(f64),
    /// A node has so many parents that its table would not fit.
    #[error(
        "cannot fit the node {node:?}: with {parents} parents its table would have more than {max} entries; limit the number of parents",
        max = Cpt::MAX_ENTRIES
    )]
    TableTooLarge {
        /// The node.
        node: String,
        /// How many parents it has.
        parents: usize,
    },
    /// All tables together would not fit.
    #[error(
        "cannot fit: the tables of all nodes together would have {entries} entries (expected at most {max}); limit the number of parents",
        max = Cpt::MAX_ENTRIES
    )]
    TooLarge {
        /// How many entries there would be.
        entries: usize,
    },
    /// The fitted parts do not make a network.
    #[error("cannot fit: {0}")]
    Network(#[from] NetworkError),
}

/// Estimates the probabilities: `(count + alpha) / (total + alpha * states)` for each state given
/// each parent configuration. With `alpha` 0 this is maximum likelihood; a configuration that the
/// table does not hold then gets the uniform distribution.
///
/// ```
/// use rlbayes_common::data::{Schema, Table, Variable};
/// use rlbayes_common::{fit::fit, graph::Dag, ids::NodeIdx};
/// let coin = Variable::new("coin", vec!["heads".into(), "tails".into()]).unwrap();
/// let table = Table::new(Schema::new(vec![coin]).unwrap(), vec![vec![0, 1, 1, 1]]).unwrap();
/// let network = fit(&table, &Dag::empty(1), 0.0).unwrap();
/// assert_eq!(network.cpt(NodeIdx::new(0)).probabilities, [0.25, 0.75]);
/// ```
///
/// # Errors
/// If the structure does not fit the table, `alpha` is not a valid weight, or a node's table would have
/// more than [`Cpt::MAX_ENTRIES`] entries.
pub fn fit(table: &Table, dag: &Dag, alpha: f64) -> Result<Network, FitError> {
    if dag.nodes() != table.nodes() {
        return Err(FitError::Nodes {
            nodes: dag.nodes(),
            columns: table.nodes(),
        });
    }
    if !alpha.is_finite() || alpha < 0.0 {
        return Err(FitError::Alpha(alpha));
    }
    let entries = entries(table, dag);
    if entries > Cpt::MAX_ENTRIES
        && let Some(node) = NodeIdx::all(dag.nodes())
            .find(|&node| node_entries(table, node, dag.parents(node)) > Cpt::MAX_ENTRIES)
    {
        return Err(FitError::TableTooLarge {
            node: table.schema().variable(node).name().to_owned(),
            parents: dag.parents(node).len(),
        });
    }
    if entries > Cpt::MAX_ENTRIES {
        return Err(FitError::TooLarge { entries });
    }
    let cpts = NodeIdx::all(dag.nodes())
        .map(|node| fit_node(table, node, dag.parents(node), alpha))
        .collect();
    Ok(Network::new(table.schema().clone(), dag.clone(), cpts)?)
}

/// Returns how many probabilities a structure has, over all nodes.
#[must_use]
pub fn entries(table: &Table, dag: &Dag) -> usize {
    NodeIdx::all(dag.nodes()).fold(0, |sum, node| {
        sum.saturating_add(node_entries(table, node, dag.parents(node)))
    })
}

fn node_entries(table: &Table, node: NodeIdx, parents: &[NodeIdx]) -> usize {
    parents.iter().fold(table.arity(node), |entries, &parent| {
        entries.saturating_mul(table.arity(parent))
    })
}

fn fit_node(table: &Table, node: NodeIdx, parents: &[NodeIdx], alpha: f64) -> Cpt {
    let arity = table.arity(node);
    let entries = node_entries(table, node, parents);
    let mut counts = vec![0u32; entries];
    let parents: Vec<(&[u8], usize)> = parents
        .iter()
        .map(|&parent| (table.column(parent), table.arity(parent)))
        .collect();
    for (row, &state) in table.column(node).iter().enumerate() {
        let configuration = parents.iter().fold(0, |number, &(column, arity)| {
            number * arity + usize::from(column[row])
        });
        counts[configuration * arity + usize::from(state)] += 1;
    }
    let states = u32::try_from(arity).map_or(f64::INFINITY, f64::from);
    let mut probabilities = Vec::with_capacity(entries);
    for row in counts.chunks(arity) {
        let seen: f64 = row.iter().copied().map(f64::from).sum();
        let total = alpha.mul_add(states, seen);
        let estimate = |count: u32| (f64::from(count) + alpha) / total;
        // A weight so small or large that the sum is lost in rounding says nothing, like none.
        let usable = total > 0.0 && total.is_finite();
        probabilities.extend(row.iter().map(|&count| {
            if usable {
                estimate(count)
            } else {
                1.0 / states
            }
        }));
    }
    Cpt { probabilities }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::test_tables::numbered_table;
    use std::sync::Arc;

    fn table(columns: Vec<Vec<u8>>, arity: usize) -> Arc<Table> {
        numbered_table(&vec![arity; columns.len()], columns)
    }

    fn pair() -> (Arc<Table>, Dag) {
        let (a, b) = (NodeIdx::new(0), NodeIdx::new(1));
        let table = table(vec![vec![0, 0, 0, 1], vec![0, 1, 1, 2]], 3);
        (table, Dag::from_edges(2, [(a, b)]).unwrap())
    }

    #[test]
    fn frequencies_and_uniform_rows_for_what_is_unseen() {
        let (table, dag) = pair();
        let network = fit(&table, &dag, 0.0).unwrap();
        assert_eq!(
            network.cpt(NodeIdx::new(0)).probabilities,
            [0.75, 0.25, 0.0]
        );
        let third = 1.0 / 3.0;
        let expected = [third, 2.0 / 3.0, 0.0, 0.0, 0.0, 1.0, third, third, third];
        assert_eq!(network.cpt(NodeIdx::new(1)).probabilities, expected);
    }

    #[test]
    fn alpha_smooths_every_cell() {
        let (table, dag) = pair();
        let network = fit(&table, &dag, 1.0).unwrap();
        let expected = [4.0 / 7.0, 2.0 / 7.0, 1.0 / 7.0];
        assert_eq!(network.cpt(NodeIdx::new(0)).probabilities, expected);
        for alpha in [f64::MIN_POSITIVE, f64::MAX] {
            assert!(fit(&table, &dag, alpha).is_ok(), "{alpha}");
        }
        for alpha in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(fit(&table, &dag, alpha), Err(FitError::Alpha(_))));
        }
    }

    #[test]
    fn the_last_parent_runs_fastest() {
        let [a, b, c] = [0, 1, 2].map(NodeIdx::new);
        let table = table(vec![vec![0, 1], vec![1, 0], vec![0, 1]], 2);
        let dag = Dag::from_edges(3, [(a, c), (b, c)]).unwrap();
        let network = fit(&table, &dag, 0.0).unwrap();
        let expected = [0.5, 0.5, 1.0, 0.0, 0.0, 1.0, 0.5, 0.5];
        assert_eq!(network.cpt(c).probabilities, expected);
    }

    #[test]
    fn too_many_parents_are_an_error() {
        let table = table(vec![vec![0]; 30], 2);
        let edges = (0..29).map(|at| (NodeIdx::new(at), NodeIdx::new(29)));
        let dag = Dag::from_edges(30, edges).unwrap();
        let error = fit(&table, &dag, 0.0).unwrap_err();
        assert_eq!(
            error,
            FitError::TableTooLarge {
                node: "v029".into(),
                parents: 29
            }
        );
        // Two that fit, and together do not.
        let edges = |node: usize| (0..25).map(move |at| (NodeIdx::new(at), NodeIdx::new(node)));
        let dag = Dag::from_edges(30, edges(28).chain(edges(29))).unwrap();
        let expected = (2 << 26) + 28 * 2;
        assert_eq!(entries(&table, &dag), expected);
        let error = fit(&table, &dag, 0.0).unwrap_err();
        assert_eq!(error, FitError::TooLarge { entries: expected });
        assert!(matches!(
            fit(&table, &Dag::empty(3), 0.0),
            Err(FitError::Nodes { .. })
        ));
    }
}
