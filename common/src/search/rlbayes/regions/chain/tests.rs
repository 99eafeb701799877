use super::*;
use crate::search::test_tables::{dependent_table, problem, random_constraints};
use crate::search::{NamedConstraints, Problem};
use proptest::prelude::*;

const RANK: ChainRank = ChainRank {
    number: 0,
    of: 1,
    chain: 0,
};

fn chain(problem: &Arc<Problem>, seed: u64) -> RegionChain {
    let evaluator = Evaluator::new(Arc::clone(problem)).skipping_hopeless();
    let start = problem.start().clone();
    let mut chain = RegionChain::new(evaluator, start, Seed(seed), RlBayesParams::default(), RANK);
    chain.sizes = (3, 5);
    chain
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_row_is_legal_has_its_score_and_is_no_worse_than_the_one_before(seed in any::<u64>()) {
        let mut random = Random::new(Seed(seed));
        let table = dependent_table(14, 60, seed % 5);
        let named = random_constraints(&table, &mut random);
        let problem = problem(&table, &named);
        let mut chain = chain(&problem, seed);
        let mut check = Evaluator::new(Arc::clone(&problem));
        let mut before = None;
        for _ in 0..20 {
            prop_assert_eq!(chain.step(), StepOutcome::Ran);
            let row = chain.core().best().unwrap();
            let dag = row.structure.to_dag().unwrap();
            prop_assert!(problem.constraints().hold_for(&dag));
            prop_assert_eq!(check.structure(&dag).unwrap(), row.score);
            prop_assert!(before.is_none_or(|before| row.score >= before));
            before = Some(row.score);
        }
        prop_assert!(chain.core().iterations > 0, "regions were searched");
    }

    #[test]
    fn a_stored_chain_continues_as_if_it_had_never_stopped(seed in any::<u64>(), stop in 0usize..20) {
        let table = dependent_table(14, 60, seed % 5);
        let problem = problem(&table, &NamedConstraints::default());
        let mut whole = chain(&problem, seed);
        for _ in 0..stop {
            whole.step();
        }
        let saved = whole.save();
        let evaluator = Evaluator::new(Arc::clone(&problem)).skipping_hopeless();
        let start = problem.start().clone();
        let params = RlBayesParams::default();
        let mut resumed = RegionChain::resume(evaluator, start, params, RANK, &saved).unwrap();
        resumed.sizes = (3, 5);
        for _ in 0..12 {
            whole.step();
            resumed.step();
        }
        prop_assert_eq!(resumed.core().best(), whole.core().best());
        // What is counted from the data depends on what the caches hold, and nothing else does.
        let state = |chain: &RegionChain| SavedChain {
            computed: 0,
            ..chain.save()
        };
        prop_assert_eq!(state(&resumed), state(&whole));
    }
}

#[test]
fn a_budget_that_ends_anywhere_leaves_a_row_with_its_own_score() {
    let table = dependent_table(14, 60, 3);
    let problem = problem(&table, &NamedConstraints::default());
    for limit in (1..40_000).step_by(997) {
        let mut chain = chain(&problem, 5);
        chain.core_mut().evaluator.set_limit(limit);
        while chain.step() == StepOutcome::Ran {}
        assert!(chain.core().evaluator.evaluations() <= limit, "{limit}");
        if let Some(row) = chain.core().best() {
            let dag = row.structure.to_dag().unwrap();
            let mut check = Evaluator::new(Arc::clone(&problem));
            assert_eq!(check.structure(&dag).unwrap(), row.score);
        }
    }
}

#[test]
fn chains_take_different_regions_of_one_order() {
    let order = |chain| sweep_order(7, 100, ChainRank { chain, ..RANK });
    // However many they are: each begins in one of the largest gaps that those before it left.
    for (chain, place) in [(1, 50), (2, 25), (3, 75), (4, 12), (5, 62), (64, 0)] {
        assert_eq!(order(0)[place], order(chain)[0]);
    }
    let mut all = order(2);
    all.sort_unstable();
    assert_eq!(all, NodeIdx::all(100).collect::<Vec<_>>());
}

#[test]
fn what_another_chain_gained_is_added() {
    let table = dependent_table(14, 120, 2);
    let problem = problem(&table, &NamedConstraints::default());
    let run = |seed| {
        let mut chain = chain(&problem, seed);
        for _ in 0..6 {
            chain.step();
        }
        chain
    };
    let (mut one, other) = (run(1), run(2));
    let mate = other.core().best().unwrap().clone();
    let own = one.core().best().unwrap().score;
    one.give_seeds(Seeds {
        best: None,
        mate: mate.clone(),
    });
    one.step();
    assert!(one.core().best().unwrap().score >= own.max(mate.score));
}

#[test]
fn a_chain_stored_while_it_pairs_nodes_finds_all_partners_in_another_process() {
    let table = dependent_table(70, 60, 3);
    let shared = || problem(&table, &NamedConstraints::default());
    let mut whole = chain(&shared(), 1);
    while !matches!(whole.stage, Stage::Pairing(known) if known > 0) {
        whole.step();
    }
    let saved = whole.save();
    let problem = shared();
    let evaluator = Evaluator::new(Arc::clone(&problem)).skipping_hopeless();
    let start = problem.start().clone();
    let params = RlBayesParams::default();
    let mut resumed = RegionChain::resume(evaluator, start, params, RANK, &saved).unwrap();
    for chain in [&mut whole, &mut resumed] {
        while !chain.has_climbed() {
            assert_eq!(chain.step(), StepOutcome::Ran);
        }
    }
    for node in NodeIdx::all(70) {
        let expected = whole.core.evaluator.problem().partners(node);
        assert_eq!(problem.partners(node), expected);
    }
    // The chain had paired the first of the nodes when it was stored.
    assert!(NodeIdx::all(32).any(|node| !problem.partners(node).is_empty()));
    assert_eq!(resumed.core().best(), whole.core().best());
    let evaluations = |chain: &RegionChain| chain.core().evaluator.evaluations();
    assert_eq!(evaluations(&resumed), evaluations(&whole));
}
