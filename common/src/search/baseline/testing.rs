//! Small tables, constraints and graphs for the tests of the searches.

use crate::data::Table;
use crate::graph::Dag;
use crate::ids::{NodeIdx, Seed};
use crate::score::{ScoreSpec, Scorer};
use crate::search::test_tables::numbered_table;
use crate::search::{Constraints, Evaluator, NamedConstraints, Problem, Random};
use std::sync::Arc;

/// Returns a table of 200 rows whose columns depend on one or two of those before them.
pub(super) fn table_of(nodes: usize, seed: u64) -> Arc<Table> {
    let mut random = Random::new(Seed(seed));
    let mut columns: Vec<Vec<u8>> = Vec::new();
    for node in 0..nodes {
        let parents = [random.below(node.max(1)), random.below(node.max(1))];
        let column = (0..200).map(|row| {
            let pull: u8 = if node == 0 {
                0
            } else {
                parents.iter().map(|&parent| columns[parent][row]).sum()
            };
            if random.chance(0.75) {
                pull % 2
            } else {
                u8::try_from(random.below(2)).unwrap()
            }
        });
        let column = column.collect();
        columns.push(column);
    }
    table(columns)
}

/// Returns the table of 4 nodes on which every search looks for the optimum: 0 and 1 are free, 2
/// depends on both as an exclusive or with a bias, 3 on 2.
pub(super) fn strong_table() -> Arc<Table> {
    let mut random = Random::new(Seed(11));
    let mut columns = vec![Vec::new(); 4];
    for _ in 0..300 {
        let (a, b) = (random.below(2), random.below(2));
        let c = if random.chance(0.85) {
            (a ^ b) | (a & usize::from(random.chance(0.3)))
        } else {
            0
        };
        let d = if random.chance(0.8) {
            c
        } else {
            random.below(2)
        };
        for (column, value) in columns.iter_mut().zip([a, b, c, d]) {
            column.push(u8::try_from(value).unwrap());
        }
    }
    table(columns)
}

fn table(columns: Vec<Vec<u8>>) -> Arc<Table> {
    numbered_table(&vec![2; columns.len()], columns)
}

/// Returns an evaluator of a table's BIC without constraints.
pub(super) fn evaluator(table: &Arc<Table>) -> Evaluator {
    constrained(table, Constraints::none(table.nodes()))
}

/// Returns an evaluator of a table's BIC under constraints.
pub(super) fn constrained(table: &Arc<Table>, constraints: Constraints) -> Evaluator {
    let scorer = Scorer::new(Arc::clone(table), ScoreSpec::BIC);
    let start = constraints.required().clone();
    Evaluator::new(Arc::new(Problem::new(scorer, constraints, start, 1 << 20)))
}

/// Returns a graph of numbered edges.
pub(super) fn dag(nodes: usize, edges: &[(usize, usize)]) -> Dag {
    let edges = edges
        .iter()
        .map(|&(from, to)| (NodeIdx::new(from), NodeIdx::new(to)));
    Dag::from_edges(nodes, edges).unwrap()
}

/// Draws constraints of all kinds that don't contradict each other.
pub(super) fn random_constraints(table: &Table, random: &mut Random) -> Constraints {
    loop {
        if let Ok(constraints) = Constraints::new(table, &random_named(table, random)) {
            return constraints;
        }
    }
}

fn random_named(table: &Table, random: &mut Random) -> NamedConstraints {
    let mut names: Vec<String> = table.schema().names().map(str::to_owned).collect();
    let required = random_edges(&names, 3, random);
    let forbidden = random_edges(&names, 8, random);
    let max_parents = random.chance(0.6).then(|| random.below(4));
    random.shuffle(&mut names);
    let mut tiers = Vec::new();
    if random.chance(0.5) {
        let cut = 1 + random.below(names.len() - 1);
        tiers = vec![names[..cut].to_vec(), names[cut..].to_vec()];
        tiers[1].truncate(1 + random.below(names.len() - cut));
    }
    NamedConstraints {
        required,
        forbidden,
        tiers,
        max_parents,
    }
}

fn random_edges(names: &[String], most: usize, random: &mut Random) -> Vec<(String, String)> {
    let mut edges = Vec::new();
    for _ in 0..random.below(most + 1) {
        let (from, to) = (random.below(names.len()), random.below(names.len()));
        if from != to {
            edges.push((names[from].clone(), names[to].clone()));
        }
    }
    edges
}
