use super::*;
use crate::graph::ReachScratch;
use crate::ids::ChainId;
use crate::score::LogScore;
use crate::search::test_tables::{dependent_table, problem, random_constraints};
use crate::search::{NamedConstraints, Operation, SearchSpec};
use proptest::prelude::*;
use std::sync::Arc;

/// A network made of random legal operations.
fn random_row(evaluator: &mut Evaluator, random: &mut Random) -> EliteRow {
    let mut dag = evaluator.problem().start().clone();
    let mut reach = ReachScratch::default();
    for _ in 0..random.below(25) {
        let constraints = evaluator.constraints();
        if let Some(op) = Operation::draw_legal(&dag, constraints, random, &mut reach) {
            op.apply(&mut dag, &mut reach);
        }
    }
    let mut position = Position::new(dag, evaluator).unwrap();
    if random.chance(0.5) {
        position.climb(evaluator, random).unwrap();
    }
    position.row()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn a_child_is_legal_and_at_least_as_good_as_the_better_parent(seed in any::<u64>()) {
        let mut random = Random::new(Seed(seed));
        let table = dependent_table(8, 60, seed % 7);
        let named = random_constraints(&table, &mut random);
        let problem = problem(&table, &named);
        let mut evaluator = Evaluator::new(Arc::clone(&problem));
        let a = random_row(&mut evaluator, &mut random);
        let b = random_row(&mut evaluator, &mut random);
        let child = recombine(&a, &b, &mut evaluator).unwrap();
        let dag = child.structure.to_dag().unwrap();
        prop_assert!(problem.constraints().hold_for(&dag));
        prop_assert!(child.score >= a.score.max(b.score));
        prop_assert_eq!(evaluator.structure(&dag).unwrap(), child.score);
        // The other way round it is the same.
        prop_assert_eq!(recombine(&b, &a, &mut evaluator).unwrap().score, child.score);
    }
}

#[test]
fn gains_of_two_regions_add_up() {
    // Two independent halves; each parent has solved one of them.
    let left = dependent_table(5, 200, 1);
    let none = NamedConstraints::default();
    let problem = problem(&left, &none);
    let mut evaluator = Evaluator::new(Arc::clone(&problem));
    let mut random = Random::new(Seed(1));
    let mut position = Position::new(problem.start().clone(), &mut evaluator).unwrap();
    position.climb(&mut evaluator, &mut random).unwrap();
    let best = position.row();
    // Give each parent every other family of the optimum, in topological halves.
    let dag = best.structure.to_dag().unwrap();
    let order = dag.topological_order().to_vec();
    let half = |keep: &dyn Fn(usize) -> bool| {
        let mut families: Vec<std::sync::Arc<[NodeIdx]>> = vec![[].into(); 5];
        for (at, &node) in order.iter().enumerate() {
            if keep(at) {
                families[node.index()] = dag.parents(node).into();
            }
        }
        let structure = crate::elite::Structure::from_families(families);
        let score = problem
            .scorer()
            .structure(&structure.to_dag().unwrap(), &mut Default::default());
        EliteRow { structure, score }
    };
    let (a, b) = (half(&|at| at < 3), half(&|at| at >= 3));
    assert_eq!(recombine(&a, &b, &mut evaluator).unwrap().score, best.score);
}

fn chain(stall: u64) -> RlBayes {
    let table = dependent_table(9, 120, 2);
    let problem = problem(&table, &NamedConstraints::default());
    let evaluator = Evaluator::new(Arc::clone(&problem));
    let params = RlBayesParams {
        stall,
        ..Default::default()
    };
    RlBayes::new(
        evaluator,
        problem.start().clone(),
        Seed(5),
        params,
        ChainRank {
            number: 1,
            of: 2,
            chain: 1,
        },
    )
}

fn run_until(chain: &mut RlBayes, done: impl Fn(&RlBayes) -> bool) {
    for _ in 0..20_000 {
        if done(chain) {
            return;
        }
        chain.step();
    }
    panic!("it never happens");
}

fn seeds(best: &EliteRow, mate: &EliteRow) -> Seeds {
    Seeds {
        best: Some(best.clone()),
        mate: mate.clone(),
    }
}

#[test]
fn a_run_starts_from_the_row_that_earlier_ones_were_credited_to() {
    let mut chain = chain(10_000);
    run_until(&mut chain, |chain| chain.table.explored().is_some());
    for _ in 0..5 {
        let before = chain.table.explored().cloned().unwrap();
        chain.since_best = chain.patience();
        let outcome = chain.run_best.clone().unwrap();
        chain.step();
        let after = chain.table.explored().cloned().unwrap();
        assert!(after.score >= before.score.max(outcome.score));
        assert_eq!(chain.since_best, 0, "the next run has begun");
        run_until(&mut chain, |chain| chain.since_best > 20);
    }
}

#[test]
fn without_learning_a_run_starts_from_the_better_of_row_and_outcome() {
    let mut chain = chain(10_000);
    run_until(&mut chain, |chain| chain.table.explored().is_some());
    let mut random = Random::new(Seed(3));
    let mut optimum = |chain: &mut RlBayes| {
        let evaluator = &mut chain.core.evaluator;
        let dag = random_row(evaluator, &mut random).structure.to_dag();
        let mut position = Position::new(dag.unwrap(), evaluator).unwrap();
        position.climb(evaluator, &mut random).unwrap();
        position.row()
    };
    let mut learned = 0;
    for _ in 0..200 {
        let (row, outcome) = (optimum(&mut chain), optimum(&mut chain));
        let mut ends_on = |learning| {
            chain.params.learning = learning;
            chain.table.explore(row.clone());
            chain.run_best = Some(outcome.clone());
            chain.end_run().unwrap();
            chain.table.explored().cloned().unwrap()
        };
        let better = row.score.max(outcome.score);
        assert_eq!(ends_on(Learning::Off).score, better);
        let credited = ends_on(Learning::On).score;
        assert!(credited >= better);
        learned += u32::from(credited > better);
    }
    assert!(learned > 0, "nothing was ever credited in parts");
}

fn is_stalled_on_a_row(chain: &RlBayes) -> bool {
    chain.is_stalled() && chain.table.explored().is_some()
}

#[test]
fn a_stalled_chain_takes_over_what_is_better_and_starts_a_run_from_there() {
    let mut chain = chain(400);
    run_until(&mut chain, is_stalled_on_a_row);
    assert!(chain.wants_seeds());
    let best = chain.core().best().cloned().unwrap();
    let mate = random_row(&mut chain.core.evaluator, &mut Random::new(Seed(3)));
    chain.give_seeds(seeds(&best, &mate));
    chain.step();
    assert!(!chain.wants_seeds(), "a new run has begun");
    assert_eq!(chain.core().seeds.received, 2);
    let row = chain.table.explored().unwrap();
    assert!(row.score >= best.score.max(mate.score));
    let finds = chain.core_mut().take_finds();
    assert!(finds.iter().any(|(found, _)| *found == Found::Stalled));
}

#[test]
fn only_a_row_that_another_has_changed_counts_as_made_current() {
    let mut chain = chain(400);
    run_until(&mut chain, is_stalled_on_a_row);
    let own = chain.table.explored().cloned().unwrap();
    chain.continue_from(own.clone());
    assert_eq!(chain.core().seeds.made_current, 0);
    let mut random = Random::new(Seed(3));
    let child = loop {
        let row = random_row(&mut chain.core.evaluator, &mut random);
        if row.structure != own.structure {
            break row;
        }
    };
    chain.continue_from(child.clone());
    assert_eq!(chain.core().seeds.made_current, 1);
    assert_eq!(chain.table.explored(), Some(&child));
}

#[test]
fn a_meeting_brings_a_child_only_where_it_is_better_than_both() {
    let mut chain = chain(10_000);
    run_until(&mut chain, |chain| chain.table.explored().is_some());
    let mut random = Random::new(Seed(4));
    let (mut taken, mut left) = (0, 0);
    for _ in 0..50 {
        let a = random_row(&mut chain.core.evaluator, &mut random);
        let b = random_row(&mut chain.core.evaluator, &mut random);
        let (own, worse) = if a.score >= b.score { (a, b) } else { (b, a) };
        let child = recombine(&own, &worse, &mut chain.core.evaluator).unwrap();
        chain.table.explore(own.clone());
        chain.meet(&worse).unwrap();
        let now = chain.table.explored().unwrap();
        if child.score.beats(own.score) {
            assert_eq!(now, &child);
            taken += 1;
        } else {
            assert_eq!(now, &own);
            left += 1;
        }
    }
    assert!(taken > 0 && left > 0, "{taken} taken, {left} left");
}

#[test]
fn a_chain_that_lags_far_behind_takes_over_a_better_row_that_brings_nothing_new() {
    let mut chain = chain(10_000);
    run_until(&mut chain, |chain| chain.table.explored().is_some());
    let own = chain.table.explored().cloned().unwrap();
    let mut lost = random_row(&mut chain.core.evaluator, &mut Random::new(Seed(4)));
    lost.score = LogScore::new(own.score.value() - 100.0);
    chain.table.explore(lost);
    chain.meet(&own).unwrap();
    assert!(chain.table.explored().unwrap().score >= own.score);
}

#[test]
fn every_other_chain_makes_its_first_run_alone() {
    let mut loner = chain(10_000);
    run_until(&mut loner, |chain| chain.table.explored().is_some());
    assert!(loner.since_meeting > LEAST_BETWEEN_MEETINGS);
    assert!(loner.wants_seeds(), "as soon as the run has ended");
    loner.table = QTable::new(3);
    assert!(!loner.wants_seeds());
    loner.starts_alone = false;
    assert!(loner.wants_seeds());
}

#[test]
fn chains_ask_for_rows_of_others_every_so_often() {
    let mut chain = chain(10_000);
    run_until(&mut chain, Chain::wants_seeds);
    assert!(!chain.is_stalled());
    let own = chain.core().best().cloned().unwrap();
    chain.give_seeds(seeds(&own, &own));
    chain.step();
    assert!(!chain.wants_seeds());
    run_until(&mut chain, Chain::wants_seeds);
}

#[test]
fn a_stalled_chain_without_seeds_transfers_to_its_own_table() {
    let mut chain = chain(20);
    let mut transfers = 0;
    for _ in 0..3_000 {
        let before = chain.table.clone();
        let outcome = chain.run_best.clone();
        chain.step();
        let (Some(left), Some(now)) = (before.explored(), chain.table.explored()) else {
            continue;
        };
        // A run only ever leaves a row for a better one.
        if now.structure != left.structure && !before.is_better(now) {
            let known = before.rows().contains(now) || outcome.as_ref() == Some(now);
            assert!(
                known,
                "a row of its table, or what the run has just put there"
            );
            assert!(chain.table.rows().contains(left), "it can go back");
            transfers += 1;
        }
    }
    assert!(transfers > 0, "it never went to another row");
    assert_eq!(chain.core().seeds.received, 0);
    assert!(chain.table.rows().len() <= RlBayesParams::default().table_rows);
}

#[test]
fn a_walk_inside_the_class_keeps_score_and_class() {
    let table = dependent_table(9, 120, 4);
    let problem = problem(&table, &NamedConstraints::default());
    let mut evaluator = Evaluator::new(Arc::clone(&problem));
    let mut random = Random::new(Seed(6));
    let mut position = Position::new(problem.start().clone(), &mut evaluator).unwrap();
    position.climb(&mut evaluator, &mut random).unwrap();
    let before = position.row();
    let key = |row: &EliteRow| crate::graph::StructureKey::of_class(row.structure.families());
    let mut moved = false;
    for _ in 0..50 {
        walk_in_class(10, &mut position, &evaluator, &mut random);
        position.refresh(&mut evaluator).unwrap();
        let row = position.row();
        assert_eq!(row.score, before.score);
        assert_eq!(key(&row), key(&before));
        moved |= row.structure != before.structure;
    }
    assert!(moved);
}

#[test]
fn chains_of_one_search_differ() {
    let table = dependent_table(9, 120, 5);
    let problem = problem(&table, &NamedConstraints::default());
    let spec = SearchSpec::RlBayes(RlBayesParams::default());
    // The last one has the temperature of the first: only what it draws is different.
    let traces: Vec<Vec<Option<EliteRow>>> = (0..5)
        .map(|number| {
            let mut chain = spec.start(&problem, ChainId(number), 4, Seed(1));
            let mut where_it_stands = || {
                chain.step();
                chain.save_own().row("current").unwrap().cloned()
            };
            (0..100).map(|_| where_it_stands()).collect()
        })
        .collect();
    for (number, trace) in traces.iter().enumerate() {
        let same = traces[..number].iter().position(|other| other == trace);
        assert_eq!(same, None, "chain {number} goes the way of another");
    }
}
