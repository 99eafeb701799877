//! Networks for the tests of the formats: small, random, with nasty names.

use crate::data::{Schema, Variable};
use crate::graph::Dag;
use crate::ids::NodeIdx;
use crate::network::{Cpt, NamedDag, Network};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Names of letters that some format finds special.
pub(super) fn nasty_name() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        "[a-c]{1,2}",
        "[ab ,\"'|:;<>&(){}\\[\\]/\\\\.=#%$é漢\u{1F600}\u{a0}\t\n\r]{1,5}",
        Just("table".to_owned()),
        Just("from".to_owned()),
        Just("0.5".to_owned()),
        Just("1".to_owned()),
        Just("network".to_owned()),
    ]
}

/// Names that a bare BIF word can hold.
pub(super) fn bif_name() -> impl Strategy<Value = String> + Clone {
    prop_oneof!["[a-d]{1,2}", "[a-c<>=+/.'#é漢&%-]{1,4}"].prop_filter("comments", |name| {
        !name.contains("//") && !name.contains("/*")
    })
}

/// Structures over up to six nodes.
pub(super) fn structure(name: impl Strategy<Value = String>) -> impl Strategy<Value = NamedDag> {
    (prop::collection::btree_set(name, 1..7), any::<u64>()).prop_map(|(names, bits)| {
        let names: Vec<String> = names.into_iter().collect();
        let edges: Vec<(String, String)> = random_edges(names.len(), bits)
            .map(|(a, b)| (names[a].clone(), names[b].clone()))
            .collect();
        NamedDag::new(names, edges).unwrap()
    })
}

/// Pairs of positions without a cycle; which way they point depends on the bits.
fn random_edges(n: usize, bits: u64) -> impl Iterator<Item = (usize, usize)> {
    let forward = bits >> 63 == 0;
    (0..n)
        .flat_map(move |b| (0..b).map(move |a| (a, b)))
        .enumerate()
        .filter(move |(at, _)| bits >> (at % 60) & 1 == 1)
        .map(move |(_, (a, b))| if forward { (a, b) } else { (b, a) })
}

/// Networks over up to five variables of one to three states.
pub(super) fn network(
    name: impl Strategy<Value = String> + Clone,
) -> impl Strategy<Value = Network> {
    let states = prop::collection::btree_set(name.clone(), 1..4);
    let variables = prop::collection::btree_map(name, states, 1..6);
    let distinct = |names: &BTreeSet<String>| {
        let lower: BTreeSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
        lower.len() == names.len()
    };
    variables
        .prop_filter("case", move |all| distinct(&all.keys().cloned().collect()))
        .prop_flat_map(|variables| {
            let n = variables.len();
            (
                Just(variables),
                any::<u64>(),
                prop::collection::vec(0.0f64..1.0, 3 * 81 * n),
            )
        })
        .prop_map(|(variables, bits, numbers)| {
            let variables = variables
                .into_iter()
                .map(|(name, states)| Variable::new(name, states.into_iter().collect()).unwrap())
                .collect();
            let schema = Schema::new(variables).unwrap();
            let edges =
                random_edges(schema.len(), bits).map(|(a, b)| (NodeIdx::new(a), NodeIdx::new(b)));
            let dag = Dag::from_edges(schema.len(), edges).unwrap();
            let mut numbers = numbers.into_iter();
            let cpts = NodeIdx::all(schema.len())
                .map(|node| random_cpt(&schema, &dag, node, &mut numbers))
                .collect();
            Network::new(schema, dag, cpts).unwrap()
        })
}

fn random_cpt(
    schema: &Schema,
    dag: &Dag,
    node: NodeIdx,
    numbers: &mut impl Iterator<Item = f64>,
) -> Cpt {
    let arity = schema.variable(node).arity();
    let rows: usize = dag
        .parents(node)
        .iter()
        .map(|&p| schema.variable(p).arity())
        .product();
    let mut probabilities = Vec::new();
    for _ in 0..rows {
        let row: Vec<f64> = (0..arity)
            .map(|_| numbers.next().unwrap_or(0.3) + 1e-9)
            .collect();
        let sum: f64 = row.iter().sum();
        probabilities.extend(row.iter().map(|number| number / sum));
    }
    Cpt { probabilities }
}
