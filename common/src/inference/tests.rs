//! Answers against the definition: the joint distribution, summed.

use super::*;
use crate::data::{Schema, Variable};
use crate::graph::Dag;
use crate::ids::{NodeIdx, Seed};
use crate::network::{Cpt, Network};
use crate::random::Random;

/// Draws a network of a few nodes with two to four states; some probabilities are 0.
fn random_network(nodes: usize, random: &mut Random) -> Network {
    let variables = (0..nodes).map(|node| {
        let states = (0..2 + random.below(3)).map(|state| format!("s{state}"));
        Variable::new(format!("v{node:02}"), states.collect()).unwrap()
    });
    let schema = Schema::new(variables.collect()).unwrap();
    let mut dag = Dag::empty(nodes);
    for _ in 0..nodes * 2 {
        let (from, to) = (
            NodeIdx::new(random.below(nodes)),
            NodeIdx::new(random.below(nodes)),
        );
        if from != to && dag.parents(to).len() < 3 {
            let _ = dag.add_edge(from, to);
        }
    }
    let cpts = NodeIdx::all(nodes).map(|node| {
        let rows: usize = dag
            .parents(node)
            .iter()
            .map(|&p| schema.variable(p).arity())
            .product();
        let arity = schema.variable(node).arity();
        let mut probabilities = Vec::new();
        for _ in 0..rows {
            let mut row: Vec<f64> = (0..arity).map(|_| random.unit() + 0.01).collect();
            if random.chance(0.2) {
                row[random.below(arity)] = 0.0;
            }
            let sum: f64 = row.iter().sum();
            probabilities.extend(row.iter().map(|number| number / sum));
        }
        Cpt { probabilities }
    });
    let cpts = cpts.collect();
    Network::new(schema, dag, cpts).unwrap()
}

/// Sums the joint distribution over everything that agrees with the evidence.
fn by_definition(
    network: &Network,
    target: NodeIdx,
    evidence: &Evidence,
) -> Option<(Vec<f64>, f64)> {
    let nodes = network.dag().nodes();
    let arity = |node: NodeIdx| network.schema().variable(node).arity();
    let mut sums = vec![0.0; arity(target)];
    let cells: usize = NodeIdx::all(nodes).map(arity).product();
    for cell in 0..cells {
        let mut rest = cell;
        let states: Vec<usize> = NodeIdx::all(nodes)
            .map(|node| {
                let state = rest % arity(node);
                rest /= arity(node);
                state
            })
            .collect();
        if evidence
            .iter()
            .any(|(node, &state)| states[node.index()] != state)
        {
            continue;
        }
        let probability: f64 = NodeIdx::all(nodes)
            .map(|node| {
                let parents = network.dag().parents(node).iter();
                let row = parents.fold(0, |row, &parent| {
                    row * arity(parent) + states[parent.index()]
                });
                network.cpt(node).probabilities[row * arity(node) + states[node.index()]]
            })
            .product();
        sums[states[target.index()]] += probability;
    }
    let all: f64 = sums.iter().sum();
    (all > 0.0).then(|| (sums.iter().map(|sum| sum / all).collect(), all.ln()))
}

#[test]
fn answers_are_sums_of_the_joint_distribution() {
    let mut random = Random::new(Seed(11));
    let mut impossible = 0;
    for round in 0..300 {
        let network = random_network(2 + round % 6, &mut random);
        let nodes = network.dag().nodes();
        let target = NodeIdx::new(random.below(nodes));
        let mut evidence = Evidence::new();
        for node in NodeIdx::all(nodes) {
            if random.chance(0.35) {
                evidence.insert(node, random.below(network.schema().variable(node).arity()));
            }
        }
        match (
            posterior(&network, target, &evidence),
            by_definition(&network, target, &evidence),
        ) {
            (Ok(answer), Some((expected, log_evidence))) => {
                for (found, wanted) in answer.probabilities.iter().zip(&expected) {
                    assert!((found - wanted).abs() < 1e-12, "{answer:?} {expected:?}");
                }
                assert!((answer.log_evidence - log_evidence).abs() < 1e-9);
            }
            (Err(InferenceError::Impossible), None) => impossible += 1,
            (answer, expected) => panic!("{answer:?} {expected:?}"),
        }
    }
    assert!((1..150).contains(&impossible), "{impossible}");
}

#[test]
fn a_network_that_is_too_dense_is_refused_before_it_takes_memory() {
    // Forty parents' parents, all joined to one another by common children.
    let nodes = 40 + 40 * 39 / 2;
    let two = || vec!["no".to_owned(), "yes".to_owned()];
    let variables = (0..nodes).map(|node| Variable::new(format!("v{node:04}"), two()).unwrap());
    let schema = Schema::new(variables.collect()).unwrap();
    let mut dag = Dag::empty(nodes);
    let mut child = 40;
    for a in 0..40 {
        for b in 0..a {
            dag.add_edge(NodeIdx::new(a), NodeIdx::new(child)).unwrap();
            dag.add_edge(NodeIdx::new(b), NodeIdx::new(child)).unwrap();
            child += 1;
        }
    }
    let cpts = NodeIdx::all(nodes).map(|node| Cpt {
        probabilities: vec![0.5; 2 << dag.parents(node).len()],
    });
    let network = Network::new(schema, dag.clone(), cpts.collect()).unwrap();
    let evidence: Evidence = (40..nodes).map(|node| (NodeIdx::new(node), 1)).collect();
    let refused = posterior(&network, NodeIdx::new(0), &evidence).unwrap_err();
    assert!(
        matches!(refused, InferenceError::TooLarge { .. }),
        "{refused}"
    );
    // Without the evidence nothing is joined.
    let free = posterior(&network, NodeIdx::new(0), &Evidence::new()).unwrap();
    assert!((free.probabilities[0] - 0.5).abs() < 1e-12);
}

#[test]
fn long_chains_of_evidence_do_not_vanish() {
    // 3000 copies of a coin, each right in 60 of 100 cases: the product is far below what fits.
    let two = || vec!["no".to_owned(), "yes".to_owned()];
    let variables = (0..3000).map(|node| Variable::new(format!("v{node:04}"), two()).unwrap());
    let schema = Schema::new(variables.collect()).unwrap();
    let coin = NodeIdx::new(0);
    let edges = (1..3000).map(|node| (coin, NodeIdx::new(node)));
    let dag = Dag::from_edges(3000, edges).unwrap();
    let cpts = NodeIdx::all(3000).map(|node| Cpt {
        probabilities: match node == coin {
            true => vec![0.5, 0.5],
            false => vec![0.6, 0.4, 0.4, 0.6],
        },
    });
    let cpts = cpts.collect();
    let network = Network::new(schema, dag, cpts).unwrap();
    let evidence: Evidence = (1..3000)
        .map(|node| (NodeIdx::new(node), node % 2))
        .collect();
    let answer = posterior(&network, coin, &evidence).unwrap();
    // 1500 say yes, 1499 no.
    assert!((answer.probabilities[1] - 0.6).abs() < 1e-9, "{answer:?}");
    assert!(answer.log_evidence < -2000.0);
}
