//! Large networks made of copies of a small one: each tile has fresh names, and some of its roots
//! depend on a node of an earlier tile.

use crate::failure::Failure;
use rlbayes_common::data::{Schema, Variable};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::{NodeIdx, Seed};
use rlbayes_common::io::read_network;
use rlbayes_common::network::{Cpt, Network, NetworkFile};
use rlbayes_common::search::Random;
use std::path::Path;

/// The chance of a root to depend on an earlier tile.
const CONNECTED: f64 = 0.5;

/// Reads a network that copies are made of.
pub(crate) fn read_pattern(path: &Path) -> Result<Network, Failure> {
    match read_network(path).map_err(Failure::input)? {
        NetworkFile::Parametrised(network) => Ok(network),
        NetworkFile::Structure(_) => Err(Failure::file(
            path,
            "the file has no probabilities to sample from",
        )),
    }
}

/// Lays copies of a network side by side until there are `nodes` nodes; the last copy is cut to
/// nodes whose parents are in it.
pub(crate) fn tile(pattern: &Network, nodes: usize, seed: Seed) -> Result<Network, Failure> {
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
            variables.push(Variable::new(name, original.states().to_vec()).map_err(unmade)?);
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
    let dag = Dag::from_edges(nodes, edges).map_err(unmade)?;
    let schema = Schema::new(variables).map_err(unmade)?;
    Network::new(schema, dag, cpts).map_err(unmade)
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

fn unmade(error: impl std::fmt::Display) -> Failure {
    Failure::Bug(format!("tiles do not make a network: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_have_the_size_asked_for_and_are_connected() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/networks/asia.bif");
        let asia = read_pattern(Path::new(path)).unwrap();
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
