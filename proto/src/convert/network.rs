//! Networks with names, states and probabilities: the result of a search.

use super::rows::{edges_from_wire, edges_to_wire};
use super::{WireError, at_most};
use crate::{MAX_RESULT_BYTES, v1};
use prost::Message;
use rlbayes_common::data::{Schema, Variable};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::network::{Cpt, NamedDag, Network, NetworkFile};

const MOST_NAME_BYTES: usize = 65_536;

/// Writes a network.
#[must_use]
pub fn network_to_wire(network: &NetworkFile) -> v1::Network {
    match network {
        NetworkFile::Structure(named) => v1::Network {
            variables: named
                .names()
                .iter()
                .map(|name| v1::Variable {
                    name: name.clone(),
                    states: Vec::new(),
                })
                .collect(),
            edges: edges_to_wire(named.dag().edges()),
            tables: Vec::new(),
        },
        NetworkFile::Parametrised(network) => v1::Network {
            variables: network
                .schema()
                .variables()
                .iter()
                .map(|variable| v1::Variable {
                    name: variable.name().to_owned(),
                    states: variable.states().to_vec(),
                })
                .collect(),
            edges: edges_to_wire(network.dag().edges()),
            tables: NodeIdx::all(network.dag().nodes())
                .map(|node| v1::ProbabilityTable {
                    probabilities: network.cpt(node).probabilities.clone(),
                })
                .collect(),
        },
    }
}

/// Checks that a network can be sent.
///
/// # Errors
/// If it is larger than a result may be, or a name is too long.
pub fn check_network(network: &v1::Network) -> Result<(), WireError> {
    let found = network.encoded_len();
    if found > MAX_RESULT_BYTES {
        return Err(WireError::TooLarge {
            name: "the network",
            found,
            most: MAX_RESULT_BYTES,
        });
    }
    at_most("variables", network.variables.len(), NodeIdx::MAX_NODES)?;
    for variable in &network.variables {
        at_most("states", variable.states.len(), Variable::MAX_STATES)?;
        for text in std::iter::once(&variable.name).chain(&variable.states) {
            if text.len() > MOST_NAME_BYTES {
                return Err(WireError::Length {
                    name: "a name",
                    found: text.len(),
                    expected: "at most 65536",
                });
            }
        }
    }
    Ok(())
}

/// Reads a network.
///
/// # Errors
/// If a limit is broken, names or states are not in order or are there twice, the edges hold a cycle,
/// or a table of probabilities does not fit its variable.
pub fn network_from_wire(network: v1::Network) -> Result<NetworkFile, WireError> {
    check_network(&network)?;
    let nodes = network.variables.len();
    if nodes == 0 {
        return Err(WireError::Missing("variables"));
    }
    let names = network.variables.iter().map(|variable| &variable.name);
    if !names.clone().is_sorted_by(|a, b| a < b) {
        return Err(WireError::Order);
    }
    let edges = edges_from_wire(&network.edges, nodes)?;
    let dag = Dag::from_edges(nodes, edges).map_err(|_| WireError::Cycle)?;
    let wrong = |error: &dyn std::fmt::Display| WireError::Network(error.to_string());
    if network.tables.is_empty() {
        let name = |node: NodeIdx| network.variables[node.index()].name.as_str();
        let edges = dag.edges().map(|(from, to)| (name(from), name(to)));
        let named = NamedDag::new(names.cloned().collect(), edges);
        return named
            .map(NetworkFile::Structure)
            .map_err(|error| wrong(&error));
    }
    let mut variables = Vec::with_capacity(nodes);
    for variable in network.variables {
        let states = variable.states;
        let variable =
            Variable::new(variable.name, states.clone()).map_err(|error| wrong(&error))?;
        if variable.states() != states {
            return Err(WireError::Order);
        }
        variables.push(variable);
    }
    let schema = Schema::new(variables).map_err(|error| wrong(&error))?;
    let tables = network.tables.into_iter();
    let cpts = tables.map(|table| Cpt {
        probabilities: table.probabilities,
    });
    let network = Network::new(schema, dag, cpts.collect()).map_err(|error| wrong(&error))?;
    Ok(NetworkFile::Parametrised(network))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 5] = ["Do you smoke?", "a, b", "ne\nw", "x | y", "\u{e9}\"{}()"];

    /// Networks of two to five variables with names that BIF cannot hold.
    fn networks() -> impl Strategy<Value = NetworkFile> {
        let arities = proptest::collection::vec(1usize..4, 2..=NAMES.len());
        (arities, any::<u32>(), any::<bool>()).prop_map(|(arities, edges, fitted)| {
            let mut names = NAMES[..arities.len()].to_vec();
            names.sort_unstable();
            let variables = names.iter().zip(&arities).map(|(name, &arity)| {
                let states = (0..arity).map(|state| format!("New York; {state}"));
                Variable::new(*name, states.collect()).unwrap()
            });
            let schema = Schema::new(variables.collect()).unwrap();
            let pairs = (0..names.len()).flat_map(|to| (0..to).map(move |from| (from, to)));
            let chosen = pairs
                .enumerate()
                .filter(|(bit, _)| edges >> bit & 1 == 1)
                .map(|(_, (from, to))| (NodeIdx::new(from), NodeIdx::new(to)));
            let dag = Dag::from_edges(names.len(), chosen).unwrap();
            if !fitted {
                return NetworkFile::Structure(NamedDag::of(&schema, dag));
            }
            let cpts = NodeIdx::all(names.len()).map(|node| {
                let arity = arities[node.index()];
                let parents = dag.parents(node).iter();
                let rows: usize = parents.map(|parent| arities[parent.index()]).product();
                let mut row = vec![0.0; arity];
                row[0] = 0.25;
                row[arity - 1] += 0.75;
                let probabilities = row.repeat(rows);
                Cpt { probabilities }
            });
            let cpts = cpts.collect();
            NetworkFile::Parametrised(Network::new(schema, dag, cpts).unwrap())
        })
    }

    proptest! {
        #[test]
        fn any_network_travels_unchanged(network in networks()) {
            let sent = network_to_wire(&network).encode_to_vec();
            let received = v1::Network::decode(&*sent).unwrap();
            prop_assert_eq!(network_from_wire(received).unwrap(), network);
        }

        #[test]
        fn a_changed_byte_is_refused_or_another_network(
            network in networks(),
            at in any::<prop::sample::Index>(),
            bit in 0..8u8,
        ) {
            let mut sent = network_to_wire(&network).encode_to_vec();
            let at = at.index(sent.len());
            sent[at] ^= 1u8 << bit;
            if let Ok(received) = v1::Network::decode(&*sent) {
                let _ = network_from_wire(received);
            }
        }
    }

    fn pair() -> v1::Network {
        let variable = |name: &str| v1::Variable {
            name: name.to_owned(),
            states: vec!["no".into(), "yes".into()],
        };
        let table = |probabilities: &[f64]| v1::ProbabilityTable {
            probabilities: probabilities.to_vec(),
        };
        v1::Network {
            variables: vec![variable("a"), variable("b")],
            edges: vec![1, 0, 0, 0].into(),
            tables: vec![table(&[0.5, 0.5]), table(&[0.5, 0.5, 1.0, 0.0])],
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        assert!(network_from_wire(pair()).is_ok());
        let broken = |change: fn(&mut v1::Network)| {
            let mut network = pair();
            change(&mut network);
            network_from_wire(network).unwrap_err().to_string()
        };
        for (change, expected) in [
            (
                (|n| n.variables.swap(0, 1)) as fn(&mut v1::Network),
                "not in order",
            ),
            (|n| n.variables[1].name = "a".into(), "not in order"),
            (|n| n.variables[0].states.swap(0, 1), "not in order"),
            (|n| n.variables[0].states.clear(), "no states"),
            (|n| n.variables.clear(), "variables"),
            (|n| n.variables[1].name = "z".repeat(70_000), "a name has"),
            (|n| n.edges = vec![7, 0, 0, 0].into(), "variable 7 of 2"),
            (|n| n.edges = vec![1, 0, 0].into(), "multiple of 4"),
            (|n| n.edges = vec![0, 0, 1, 0, 1, 0, 0, 0].into(), "a cycle"),
            (|n| n.tables.truncate(1), "1 probability tables"),
            (
                |n| n.tables[0].probabilities[0] = f64::NAN,
                "not a distribution",
            ),
            (|n| n.tables[1].probabilities.truncate(2), "2 entries"),
            (
                |n| n.variables[0].states = vec![String::new(); 300],
                "expected at most 256",
            ),
        ] {
            let message = broken(change);
            assert!(message.contains(expected), "{message} lacks {expected}");
        }
    }
}
