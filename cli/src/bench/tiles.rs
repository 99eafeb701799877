//! Large networks made of copies of a small one: each tile has fresh names, and some of its roots
//! depend on a node of an earlier tile.

use rlbayes_common::data::{Schema, SchemaError, Variable};
use rlbayes_common::graph::{Dag, EdgeError};
use rlbayes_common::ids::{NodeIdx, Seed};
use rlbayes_common::network::{Cpt, Network, NetworkError};
use rlbayes_common::search::Random;

/// Why tiles do not make a network.
#[derive(Debug)]
pub(crate) enum TileError {
    Schema(SchemaError),
    Edge(EdgeError),
    Network(NetworkError),
}

/// The chance of a root to depend on an earlier tile.
const CONNECTED: f64 = 0.5;

/// Lays copies of a network side by side until there are `nodes` nodes; the last copy is cut to
/// nodes whose parents are in it.
pub(crate) fn tile(pattern: &Network, nodes: usize, seed: Seed) -> Result<Network, TileError> {
    let mut random = Random::new(seed);
    let size = pattern.dag().nodes();
    let mut variables = Vec::with_capacity(nodes);
    // Node of each (tile, node of the pattern); tiles are ordered by name and so are their nodes.
    let mut node_of: Vec<Vec<Option<NodeIdx>>> = Vec::new();
    while variables.len() < nodes {
        let kept = size.min(nodes - variables.len());
        let mut included = vec![false; size];
        for node in &pattern.dag().topological_order()[..kept] {
            included[node.index()] = true;
        }
        let number = node_of.len();
        let mut of_tile = vec![None; size];
        for node in NodeIdx::all(size).filter(|node| included[node.index()]) {
            let original = pattern.schema().variable(node);
            let name = format!("T{number:05}_{}", original.name());
            of_tile[node.index()] = Some(NodeIdx::new(variables.len()));
            variables
                .push(Variable::new(name, original.states().to_vec()).map_err(TileError::Schema)?);
        }
        node_of.push(of_tile);
    }
    let mut edges = Vec::new();
    let mut cpts = Vec::with_capacity(nodes);
    for (number, of_tile) in node_of.iter().enumerate() {
        for original in NodeIdx::all(size) {
            let Some(node) = of_tile[original.index()] else {
                continue;
            };
            let parents = pattern.dag().parents(original);
            let own = &pattern.cpt(original).probabilities;
            if parents.is_empty() && number > 0 && random.chance(CONNECTED) {
                let earlier: Vec<NodeIdx> = node_of[random.below(number)]
                    .iter()
                    .flatten()
                    .copied()
                    .collect();
                if let Some(&parent) = random.pick(&earlier) {
                    edges.push((parent, node));
                    let states = variables[parent.index()].arity();
                    let probabilities =
                        (0..states).flat_map(|_| shaken(own, &mut random)).collect();
                    cpts.push(Cpt { probabilities });
                    continue;
                }
            }
            edges.extend(
                parents
                    .iter()
                    .filter_map(|parent| Some((of_tile[parent.index()]?, node))),
            );
            cpts.push(Cpt {
                probabilities: own.clone(),
            });
        }
    }
    let dag = Dag::from_edges(nodes, edges).map_err(TileError::Edge)?;
    let schema = Schema::new(variables).map_err(TileError::Schema)?;
    Network::new(schema, dag, cpts).map_err(TileError::Network)
}

/// Returns a distribution like another, with each odds multiplied by a random factor.
fn shaken(distribution: &[f64], random: &mut Random) -> Vec<f64> {
    let weights: Vec<f64> = distribution
        .iter()
        .map(|p| p.max(0.01) * (1.5 * random.normal()).exp())
        .collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

impl std::fmt::Display for TileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Schema(error) => error.fmt(f),
            Self::Edge(error) => error.fmt(f),
            Self::Network(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlbayes_common::io::read_network;
    use rlbayes_common::network::NetworkFile;
    use std::path::Path;

    #[test]
    fn tiles_have_the_size_asked_for_and_are_connected() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/networks/asia.bif");
        let NetworkFile::Parametrised(asia) = read_network(Path::new(path)).unwrap() else {
            panic!("asia has parameters");
        };
        for nodes in [1, 8, 13, 80] {
            let network = tile(&asia, nodes, Seed(3)).unwrap();
            assert_eq!(network.dag().nodes(), nodes);
            assert_eq!(network, tile(&asia, nodes, Seed(3)).unwrap());
        }
        let network = tile(&asia, 80, Seed(3)).unwrap();
        let between = |(from, to): (NodeIdx, NodeIdx)| from.index() / 8 != to.index() / 8;
        let connecting = network.dag().edges().filter(|&edge| between(edge)).count();
        assert!((3..=18).contains(&connecting), "{connecting}");
        assert_eq!(network.dag().edge_count(), 80 + connecting);
    }
}
