//! Small tables and problems for the tests of searches.

use super::{Constraints, NamedConstraints, Problem, Random};
use crate::data::{Schema, Table, Variable};
use crate::graph::all_dags;
use crate::ids::Seed;
use crate::score::{LogScore, ScoreSpec, Scorer};
use std::sync::Arc;

/// A table with dependencies: each column is a noisy function of some earlier ones.
pub(crate) fn dependent_table(nodes: usize, rows: usize, seed: u64) -> Arc<Table> {
    let mut random = Random::new(Seed(seed));
    let arities: Vec<usize> = (0..nodes).map(|_| 2 + random.below(2)).collect();
    let mut columns: Vec<Vec<u8>> = Vec::new();
    for (node, &arity) in arities.iter().enumerate() {
        let parents: Vec<usize> = (0..node).filter(|_| random.chance(0.4)).collect();
        let shift = random.below(5);
        let column = (0..rows)
            .map(|row| {
                let state = if random.chance(0.3) {
                    random.below(arity)
                } else {
                    let sum: usize = parents
                        .iter()
                        .map(|&parent| usize::from(columns[parent][row]))
                        .sum();
                    (sum + shift) % arity
                };
                u8::try_from(state).unwrap()
            })
            .collect();
        columns.push(column);
    }
    numbered_table(&arities, columns)
}

/// A table of numbered variables with numbered states.
pub(crate) fn numbered_table(arities: &[usize], columns: Vec<Vec<u8>>) -> Arc<Table> {
    let variable = |(at, &arity): (usize, &usize)| {
        let states = (0..arity).map(|state| format!("s{state:03}")).collect();
        Variable::new(format!("v{at:03}"), states).unwrap()
    };
    let variables = arities.iter().enumerate().map(variable).collect();
    Arc::new(Table::new(Schema::new(variables).unwrap(), columns).unwrap())
}

/// A problem over a table under BIC.
pub(crate) fn problem(table: &Arc<Table>, named: &NamedConstraints) -> Arc<Problem> {
    problem_with(table, named, 64 << 20)
}

/// A problem whose caches have a given size.
pub(crate) fn problem_with(
    table: &Arc<Table>,
    named: &NamedConstraints,
    cache_bytes: usize,
) -> Arc<Problem> {
    let constraints = Constraints::new(table, named).unwrap();
    let start = constraints.required().clone();
    let scorer = Scorer::new(Arc::clone(table), ScoreSpec::BIC);
    Arc::new(Problem::new(scorer, constraints, start, cache_bytes))
}

/// The best score of all networks that keep the constraints, by trying every one (few nodes).
pub(crate) fn exhaustive_optimum(problem: &Problem) -> LogScore {
    let mut scratch = crate::score::Scratch::default();
    all_dags(problem.nodes())
        .filter(|dag| problem.constraints().hold_for(dag))
        .map(|dag| problem.scorer().structure(&dag, &mut scratch))
        .max()
        .unwrap()
}

/// Constraints drawn at random that do not contradict each other.
pub(crate) fn random_constraints(table: &Table, random: &mut Random) -> NamedConstraints {
    loop {
        let names: Vec<String> = table.schema().names().map(str::to_owned).collect();
        let n = names.len();
        let pair = |random: &mut Random| {
            let from = random.below(n);
            let to = (from + 1 + random.below(n - 1)) % n;
            (names[from].clone(), names[to].clone())
        };
        let mut named = NamedConstraints::default();
        for _ in 0..random.below(4) {
            named.required.push(pair(random));
        }
        for _ in 0..random.below(8) {
            named.forbidden.push(pair(random));
        }
        if random.chance(0.4) {
            let mut shuffled = names.clone();
            random.shuffle(&mut shuffled);
            named.tiers = shuffled
                .chunks(n.div_ceil(3))
                .map(<[String]>::to_vec)
                .collect();
        }
        if random.chance(0.5) {
            named.max_parents = Some(1 + random.below(3));
        }
        if Constraints::new(table, &named).is_ok() {
            return named;
        }
    }
}
