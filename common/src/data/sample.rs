//! Rows drawn from a known network, for fixtures and benchmarks.

use super::table::{Table, TableError};
use crate::ids::{NodeIdx, Seed};
use crate::network::Network;
use crate::random::Random;

/// Draws rows by ancestral sampling: each node after its parents. Each node has a generator of its
/// own, mixed from the seed and the node's position, so that no other order can reach the result.
///
/// # Errors
/// If the network has no node, or `rows` is 0 or more than a table may have.
pub fn sample(network: &Network, rows: usize, seed: Seed) -> Result<Table, TableError> {
    match rows {
        0 => return Err(TableError::NoRows),
        _ if rows > Table::MAX_ROWS => return Err(TableError::TooManyRows(rows)),
        _ => {}
    }
    let nodes = network.dag().nodes();
    let mut columns: Vec<Vec<u8>> = vec![Vec::new(); nodes];
    for &node in network.dag().topological_order() {
        columns[node.index()] = sample_node(network, node, &columns, rows, seed);
    }
    Table::new(network.schema().clone(), columns)
}

fn sample_node(
    network: &Network,
    node: NodeIdx,
    columns: &[Vec<u8>],
    rows: usize,
    seed: Seed,
) -> Vec<u8> {
    let schema = network.schema();
    let arity = schema.variable(node).arity();
    // Rows of files sum to 1 only nearly: a draw is scaled to the sum it is compared with.
    let mut cumulative = network.cpt(node).probabilities.clone();
    for row in cumulative.chunks_mut(arity) {
        let mut sum = 0.0;
        for entry in row {
            sum += *entry;
            *entry = sum;
        }
    }
    let parents: Vec<(&[u8], usize)> = network
        .dag()
        .parents(node)
        .iter()
        .map(|&parent| {
            (
                columns[parent.index()].as_slice(),
                schema.variable(parent).arity(),
            )
        })
        .collect();
    let mut generator = Random::new(seed.mix(node.index() as u64));
    (0..rows)
        .map(|row| {
            let configuration = parents.iter().fold(0, |number, &(column, arity)| {
                number * arity + usize::from(column[row])
            });
            let cumulative = &cumulative[configuration * arity..][..arity];
            draw(cumulative, generator.unit())
        })
        .collect()
}

/// Returns the first state whose cumulative probability is beyond the draw; one that can't occur
/// adds nothing to the sum before it and is never the first.
fn draw(cumulative: &[f64], unit: f64) -> u8 {
    let total = cumulative.last().copied().unwrap_or(1.0);
    let at = cumulative.partition_point(|&sum| sum <= unit * total);
    // Rounding may lift the draw to the sum itself: then it is the last state that can occur.
    let last = cumulative.partition_point(|&sum| sum < total);
    u8::try_from(at.min(last)).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Schema, Variable};
    use crate::fit::fit;
    use crate::graph::Dag;
    use crate::network::Cpt;

    fn network(edges: &[(usize, usize)]) -> Network {
        let variable = |name: &str| Variable::new(name, vec!["n".into(), "y".into()]).unwrap();
        let schema = Schema::new(["a", "b", "c"].map(variable).into()).unwrap();
        let edges = edges
            .iter()
            .map(|&(a, b)| (NodeIdx::new(a), NodeIdx::new(b)));
        let dag = Dag::from_edges(3, edges).unwrap();
        let cpts = NodeIdx::all(3)
            .map(|node| match dag.parents(node).len() {
                0 => vec![0.2, 0.8],
                1 => vec![0.9, 0.1, 0.05, 0.95],
                _ => vec![0.5, 0.5, 0.3, 0.7, 1.0, 0.0, 0.6, 0.4],
            })
            .map(|probabilities| Cpt { probabilities })
            .collect();
        Network::new(schema, dag, cpts).unwrap()
    }

    #[test]
    fn the_same_seed_gives_the_same_rows_whatever_the_order_of_edges() {
        let one = network(&[(0, 2), (1, 2), (1, 0)]);
        let other = network(&[(1, 0), (1, 2), (0, 2)]);
        let rows = sample(&one, 500, Seed(7)).unwrap();
        assert_eq!(rows, sample(&other, 500, Seed(7)).unwrap());
        assert_ne!(rows, sample(&one, 500, Seed(8)).unwrap());
        // More rows begin with the same rows.
        let more = sample(&one, 600, Seed(7)).unwrap();
        assert_eq!(
            more.column(NodeIdx::new(2))[..500],
            *rows.column(NodeIdx::new(2))
        );
    }

    #[test]
    fn frequencies_approach_the_probabilities() {
        let network = network(&[(0, 2), (1, 2), (1, 0)]);
        let table = sample(&network, 100_000, Seed(1)).unwrap();
        let fitted = fit(&table, network.dag(), 0.0).unwrap();
        for node in NodeIdx::all(3) {
            let (found, wanted) = (fitted.cpt(node), network.cpt(node));
            for (found, wanted) in found.probabilities.iter().zip(&wanted.probabilities) {
                assert!((found - wanted).abs() < 0.02, "{node}: {found} {wanted}");
            }
        }
    }

    #[test]
    fn the_first_draws_stay_the_same() {
        let table = sample(&network(&[(0, 1)]), 16, Seed(42)).unwrap();
        let drawn: Vec<&[u8]> = NodeIdx::all(3).map(|node| table.column(node)).collect();
        assert_eq!(drawn, FIRST_DRAWS);
    }

    /// Checked against a second implementation of SplitMix64 and xoshiro256++.
    const FIRST_DRAWS: [[u8; 16]; 3] = [
        [1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0],
        [1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1],
    ];

    #[test]
    fn impossible_states_are_never_drawn() {
        for unit in [0.0, 0.5, 1.0 - f64::EPSILON / 2.0, 1.0] {
            assert_eq!(draw(&[0.0, 0.999, 0.999], unit), 1);
        }
        assert_eq!(draw(&[0.25, 0.25, 1.0], 0.25), 2);
    }

    #[test]
    fn no_rows_or_too_many_are_an_error() {
        let network = network(&[]);
        assert_eq!(sample(&network, 0, Seed(1)), Err(TableError::NoRows));
        let many = Table::MAX_ROWS + 1;
        assert_eq!(
            sample(&network, many, Seed(1)),
            Err(TableError::TooManyRows(many))
        );
    }
}
