use super::*;
use crate::graph::Reach;
use crate::ids::ChainId;
use crate::search::test_tables::{dependent_table, problem, random_constraints};
use crate::search::{NamedConstraints, Operation, SearchSpec};
use proptest::prelude::*;
use std::sync::Arc;

/// A network made of random legal operations.
fn random_row(evaluator: &mut Evaluator, random: &mut Random) -> EliteRow {
    let mut dag = evaluator.problem().start().clone();
    let mut reach = Reach::default();
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
        ChainRank { number: 1, of: 2 },
    )
}

fn run_until_stalled(chain: &mut RlBayes) {
    for _ in 0..5_000 {
        if chain.wants_seeds() {
            return;
        }
        chain.step();
    }
    panic!("the chain never stalls");
}

#[test]
fn a_stalled_chain_starts_its_next_run_from_a_seed() {
    let mut chain = chain(50);
    run_until_stalled(&mut chain);
    let best = chain.core().best().cloned().unwrap();
    let mate = chain.run_best.clone().unwrap();
    chain.give_seeds(Seeds {
        rows: vec![best.clone(), mate],
        draw: Seed(1),
    });
    chain.step();
    assert!(!chain.wants_seeds(), "a new run has begun");
    assert_eq!(chain.core().seeds.made_current, 1);
    assert_eq!(chain.core().seeds.received, 2);
    assert!(
        chain.core().best().unwrap().score >= best.score,
        "the best never goes down"
    );
    let finds = chain.core_mut().take_finds();
    assert!(finds.iter().any(|(found, _)| *found == Found::Stalled));
}

#[test]
fn a_stalled_chain_without_seeds_transfers_to_its_own_table() {
    let mut chain = chain(20);
    for _ in 0..3_000 {
        chain.step();
    }
    assert!(chain.table.rows().len() > 1, "runs ended on several optima");
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
    let traces: Vec<_> = (0..4)
        .map(|number| {
            let mut chain = spec.start(&problem, ChainId(number), 4, Seed(1));
            for _ in 0..100 {
                chain.step();
            }
            chain.save().random
        })
        .collect();
    assert!((1..4).all(|number| traces[number] != traces[0]));
}
