//! The prover's parts against their definitions.

use super::candidates::candidates;
use super::*;
use crate::data::Table;
use crate::ids::{NodeIdx, Seed};
use crate::random::Random;
use crate::score::{FamilyTerms, LocalScore, ScoreName, ScoreSpec, Scorer, Scratch};
use crate::search::Problem;
use crate::search::test_tables::exhaustive_optimum;
use crate::search::test_tables::{dependent_table, random_constraints};
use crate::search::{Constraints, NamedConstraints};
use std::sync::Arc;

const ENOUGH: Effort = Effort::ANY;

/// Every allowed parent set that no allowed subset of it equals or beats, by trying all.
fn candidates_by_definition(
    table: &Arc<Table>,
    spec: ScoreSpec,
    constraints: &Constraints,
    child: NodeIdx,
) -> Vec<Family> {
    let scorer = Scorer::new(Arc::clone(table), spec);
    let terms = FamilyTerms::new(table, &spec);
    let mut scratch = Scratch::default();
    let required = constraints.required().parents(child);
    let mut sets: Vec<(usize, Family)> = Vec::new();
    for bits in 0..1_usize << table.nodes() {
        let parents: Vec<NodeIdx> = NodeIdx::all(table.nodes())
            .filter(|node| bits >> node.index() & 1 == 1)
            .collect();
        let allowed = parents.len() <= constraints.max_parents()
            && parents
                .iter()
                .all(|&from| constraints.is_allowed(from, child))
            && required.iter().all(|parent| parents.contains(parent));
        if allowed {
            let score = scorer.local(child, &parents, &mut scratch).value();
            let units = terms.units(score);
            assert_eq!(
                terms.nats(units).to_bits(),
                score.to_bits(),
                "units are exact"
            );
            sets.push((bits, Family { parents, units }));
        }
    }
    let mut kept: Vec<Family> = sets
        .iter()
        .filter(|(bits, family)| {
            !sets.iter().any(|(other, smaller)| {
                other != bits && other & bits == *other && smaller.units >= family.units
            })
        })
        .map(|(_, family)| family.clone())
        .collect();
    kept.sort_by(|a, b| a.parents.cmp(&b.parents));
    kept
}

fn specs() -> Vec<ScoreSpec> {
    let mut specs: Vec<ScoreSpec> = [
        ScoreName::Bic,
        ScoreName::Aic,
        ScoreName::LogLik,
        ScoreName::Bdeu,
        ScoreName::K2,
    ]
    .into_iter()
    .map(ScoreSpec::usual)
    .collect();
    specs.push(ScoreSpec::new(ScoreName::Bdeu, 10.0, 1.0).unwrap());
    specs.push(ScoreSpec::new(ScoreName::Bic, 1.0, 0.3).unwrap());
    specs
}

#[test]
fn candidates_are_the_sets_that_no_subset_beats() {
    let mut random = Random::new(Seed(5));
    for case in 0..60 {
        let nodes = 4 + case % 4;
        let rows = [5, 30, 100, 400, 2000][case % 5];
        let table = dependent_table(nodes, rows, case as u64);
        let named = match case % 2 {
            0 => NamedConstraints::default(),
            _ => random_constraints(&table, &mut random),
        };
        let constraints = Constraints::new(&table, &named).unwrap();
        for spec in specs() {
            let terms = FamilyTerms::new(&table, &spec);
            for child in NodeIdx::all(nodes) {
                let found = candidates(&table, &terms, &constraints, child, ENOUGH, &|| true);
                assert_eq!(found.coverage, Coverage::All);
                let mut families = found.families;
                families.sort_by(|a, b| a.parents.cmp(&b.parents));
                let expected = candidates_by_definition(&table, spec, &constraints, child);
                assert_eq!(families, expected, "case {case}, {spec:?}, child {child:?}");
            }
        }
    }
}

/// Closes the tree; the best cost.
fn close(tree: &mut Tree<'_>) -> i64 {
    loop {
        let wave = tree.wave();
        if wave.is_empty() {
            return tree.best_cost();
        }
        assert!(tree.nodes() < 5000, "the tree does not end");
        let processed = wave
            .into_iter()
            .map(|node| tree.process(node, &|| true))
            .collect();
        tree.settle(processed);
    }
}

#[test]
fn the_tree_ends_at_the_optimum_of_all_networks_whatever_it_starts_from() {
    let mut random = Random::new(Seed(6));
    for case in 0..40 {
        let nodes = 4 + case % 2;
        let rows = [5, 30, 100, 400, 2000][case % 5];
        let table = dependent_table(nodes, rows, 100 + case as u64);
        let named = match case % 2 {
            0 => NamedConstraints::default(),
            _ => random_constraints(&table, &mut random),
        };
        let constraints = Constraints::new(&table, &named).unwrap();
        for spec in specs() {
            let terms = FamilyTerms::new(&table, &spec);
            let lists: Vec<Candidates> = NodeIdx::all(nodes)
                .map(|child| candidates(&table, &terms, &constraints, child, ENOUGH, &|| true))
                .collect();
            let model = Model::new(lists.iter().map(|list| &list.families[..]));
            let scorer = Scorer::new(Arc::clone(&table), spec);
            let start = constraints.required().clone();
            let problem = Problem::new(scorer, constraints.clone(), start, 1 << 20);
            let optimum = terms.units(exhaustive_optimum(&problem).value());
            let units_per_nat = 1.0 / terms.nats(1);
            let tolerance = terms.units(1e-6);
            for known in [i64::MAX / 4, -optimum, -optimum + 2 * tolerance] {
                let mut tree = Tree::new(&model, units_per_nat, known, tolerance);
                let found = close(&mut tree);
                assert!(
                    found <= -optimum + tolerance,
                    "case {case}, {spec:?}, from {known}"
                );
                assert!(found >= -optimum, "case {case}, {spec:?}, from {known}");
            }
        }
    }
}

#[test]
fn all_sets_of_a_few_variables_give_the_optimum_of_all_networks() {
    let mut random = Random::new(Seed(7));
    for case in 0..30 {
        let nodes = 2 + case % 4;
        let table = dependent_table(nodes, [5, 30, 100, 400][case % 4], 200 + case as u64);
        let named = match case % 2 {
            0 => NamedConstraints::default(),
            _ => random_constraints(&table, &mut random),
        };
        let constraints = Constraints::new(&table, &named).unwrap();
        for spec in specs() {
            let prover = Prover::new(&table, spec, &constraints);
            let scorer = Scorer::new(Arc::clone(&table), spec);
            let start = constraints.required().clone();
            let problem = Problem::new(scorer, constraints.clone(), start, 1 << 20);
            let optimum = exhaustive_optimum(&problem);
            let best = prover.best_of_all(&|| true).unwrap();
            assert_eq!(prover.score(best.units), optimum, "case {case}, {spec:?}");
            let edges = NodeIdx::all(nodes)
                .zip(&best.parents)
                .flat_map(|(to, parents)| parents.iter().map(move |&from| (from, to)));
            let dag = crate::graph::Dag::from_edges(nodes, edges).unwrap();
            assert!(constraints.hold_for(&dag));
            assert_eq!(prover.units_of(&dag).iter().sum::<i64>(), best.units);
        }
    }
}

#[test]
fn ascent_never_claims_more_than_the_optimum() {
    for case in 0..20 {
        let nodes = 5;
        let table = dependent_table(nodes, [30, 100, 400, 2000][case % 4], 300 + case as u64);
        let constraints = Constraints::none(nodes);
        let prover = Prover::new(&table, ScoreSpec::BIC, &constraints);
        let lists: Vec<Candidates> = NodeIdx::all(nodes)
            .map(|child| prover.candidates(child, ENOUGH, &|| true))
            .collect();
        let model = Model::new(lists.iter().map(|list| &list.families[..]));
        let optimum = -prover.best_of_all(&|| true).unwrap().units;
        let (_, cost) = ascend(&model, i64::MAX, &|| true);
        assert!(cost <= optimum, "case {case}: {cost} {optimum}");
    }
}
