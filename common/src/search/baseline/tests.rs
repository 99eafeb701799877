//! What holds for every search here: it reaches the optimum of a small table, keeps constraints,
//! its budget and its trace, whenever it is stopped.

use super::testing::{constrained, evaluator, random_constraints, strong_table, table_of};
use super::*;
use crate::data::Table;
use crate::graph::Dag;
use crate::ids::{ChainId, NodeIdx, Seed};
use crate::search::{Chain, Constraints, Evaluator, Random, SavedChain, SearchSpec};
use crate::search::{StepOutcome, UnfitState};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    HillClimbing,
    Tabu,
    Annealing,
    Genetic,
    Weeds,
    Football,
    Particles,
}

const ALL: [Kind; 7] = [
    Kind::HillClimbing,
    Kind::Tabu,
    Kind::Annealing,
    Kind::Genetic,
    Kind::Weeds,
    Kind::Football,
    Kind::Particles,
];

/// The searches that can stop in the middle of a step; hill climbing and tabu search charge for a
/// whole family's benefits or for nothing.
const NEW: [Kind; 5] = [
    Kind::Annealing,
    Kind::Genetic,
    Kind::Weeds,
    Kind::Football,
    Kind::Particles,
];

#[derive(Clone, Copy)]
enum Size {
    /// The settings that people get.
    Usual,
    /// A genetic algorithm that mutates every second child: with the usual one in ten, a population
    /// that has become all alike stays where it is (see there).
    Lively,
    /// Small populations, so that few steps see every part of a search.
    Small,
}

/// Makes a search, or resumes a stored one.
fn make(
    kind: Kind,
    size: Size,
    evaluator: Evaluator,
    start: Dag,
    from: Result<Seed, &SavedChain>,
) -> Box<dyn Chain> {
    macro_rules! search {
        ($search:ident, $params:expr) => {
            match from {
                Ok(seed) => Box::new($search::new(evaluator, start, seed, $params)),
                Err(saved) => Box::new($search::resume(evaluator, start, $params, saved).unwrap()),
            }
        };
    }
    let small = matches!(size, Size::Small);
    match kind {
        Kind::HillClimbing => {
            search!(
                HillClimbing,
                HillClimbingParams {
                    restarts: 50,
                    perturb: 3
                }
            )
        }
        Kind::Tabu => search!(Tabu, TabuParams::default()),
        Kind::Annealing => search!(Annealing, AnnealingParams::default()),
        Kind::Genetic => {
            let usual = GeneticParams::default();
            let population = if small { 6 } else { usual.population };
            let lively = matches!(size, Size::Lively);
            let mutation = if lively { 0.5 } else { usual.mutation };
            search!(
                Genetic,
                GeneticParams {
                    population,
                    mutation,
                    ..usual
                }
            )
        }
        Kind::Weeds => {
            let initial = if small { 3 } else { 20 };
            let maximum = if small { 5 } else { 50 };
            search!(
                Weeds,
                WeedsParams {
                    initial,
                    maximum,
                    ..WeedsParams::default()
                }
            )
        }
        Kind::Football => {
            let population = if small { 5 } else { 30 };
            search!(
                Football,
                FootballParams {
                    population,
                    ..FootballParams::default()
                }
            )
        }
        Kind::Particles => {
            let swarm = if small { 5 } else { 100 };
            search!(
                Particles,
                ParticlesParams {
                    swarm,
                    ..ParticlesParams::default()
                }
            )
        }
    }
}

/// All graphs of 4 nodes: each pair has no arc, or one of two.
fn all_dags() -> Vec<Dag> {
    let node = NodeIdx::new;
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    (0..729usize)
        .filter_map(|code| {
            let arcs = pairs.iter().enumerate().filter_map(|(place, &(a, b))| {
                match code / 3usize.pow(u32::try_from(place).unwrap()) % 3 {
                    0 => None,
                    1 => Some((node(a), node(b))),
                    _ => Some((node(b), node(a))),
                }
            });
            Dag::from_edges(4, arcs).ok()
        })
        .collect()
}

/// Returns the best score of all networks of a table of 4 nodes.
fn optimum(table: &Arc<Table>) -> f64 {
    let dags = all_dags();
    assert_eq!(dags.len(), 543);
    let mut judge = evaluator(table);
    let scores = dags.iter().map(|dag| judge.structure(dag).unwrap().value());
    scores.fold(f64::NEG_INFINITY, f64::max)
}

/// Runs a search until it stands at the optimum; it must get there within its evaluations.
fn reaches_the_optimum(kind: Kind, size: Size, table: &Arc<Table>, seed: u64) {
    let optimum = optimum(table);
    let mut judge = evaluator(table);
    let start = Dag::empty(4);
    let mut chain = make(kind, size, evaluator(table), start, Ok(Seed(seed)));
    chain.core_mut().evaluator.set_limit(60_000);
    let mut best = f64::NEG_INFINITY;
    while best < optimum - 1e-9 && chain.step() == StepOutcome::Ran {
        best = chain.core().best().unwrap().score.value();
    }
    assert!(
        best > optimum - 1e-9,
        "{kind:?} from seed {seed}: {best} {optimum}"
    );
    let row = chain.core().best().unwrap();
    let score = judge.structure(&row.structure.to_dag().unwrap()).unwrap();
    assert_eq!(row.score, score, "{kind:?}");
}

#[test]
fn every_search_reaches_the_exhaustive_optimum_of_a_deceptive_table() {
    let table = strong_table();
    let empty = evaluator(&table).structure(&Dag::empty(4)).unwrap().value();
    assert!(optimum(&table) > empty + 10.0, "there is something to find");
    // Tabu search leaves no optimum that is more than one losing operation away from all others.
    for kind in ALL.into_iter().filter(|&kind| kind != Kind::Tabu) {
        for seed in 0..10 {
            reaches_the_optimum(kind, Size::Lively, &table, seed);
        }
    }
}

#[test]
fn every_search_reaches_the_exhaustive_optimum_with_its_usual_settings() {
    for (table, seeds) in [(0, 0..10), (1, 0..10), (2, 0..10), (5, 0..10)] {
        let table = crate::search::test_tables::dependent_table(4, 80, table);
        for kind in ALL {
            for seed in seeds.clone() {
                reaches_the_optimum(kind, Size::Usual, &table, seed);
            }
        }
    }
}

#[test]
fn no_reported_row_breaks_a_constraint() {
    let table = table_of(6, 7);
    let mut random = Random::new(Seed(8));
    for set in 0..200 {
        let constraints = random_constraints(&table, &mut random);
        let mut start = constraints.required().clone();
        if random.chance(0.5) {
            let mut reach = crate::graph::ReachScratch::default();
            for _ in 0..4 {
                let drawn = crate::search::Operation::draw_legal(
                    &start,
                    &constraints,
                    &mut random,
                    &mut reach,
                );
                drawn
                    .into_iter()
                    .for_each(|operation| operation.apply(&mut start, &mut reach));
            }
        }
        for kind in ALL {
            let evaluator = constrained(&table, constraints.clone());
            let mut chain = make(kind, Size::Small, evaluator, start.clone(), Ok(Seed(set)));
            for _ in 0..40 {
                let outcome = chain.step();
                let rows = chain
                    .core_mut()
                    .take_finds()
                    .into_iter()
                    .map(|(_, row)| row);
                let stored = chain.save_own().rows.into_values().flatten();
                for row in rows.chain(stored) {
                    let dag = row.structure.to_dag().unwrap();
                    assert!(constraints.hold_for(&dag), "{kind:?}, set {set}");
                }
                if outcome != StepOutcome::Ran {
                    break;
                }
            }
            assert!(chain.core().best().is_some(), "{kind:?}, set {set}");
        }
    }
}

/// What must agree for two chains to be at the same place of the same trace.
fn place(chain: &dyn Chain) -> SavedChain {
    SavedChain {
        computed: 0,
        ..chain.save()
    }
}

fn run(chain: &mut dyn Chain, steps: usize) {
    for _ in 0..steps {
        if chain.step() != StepOutcome::Ran {
            break;
        }
    }
}

#[test]
fn a_stored_chain_resumes_as_if_it_had_never_stopped() {
    let table = table_of(6, 9);
    for kind in NEW {
        for before in [0, 1, 3, 7, 20, 55, 130] {
            let fresh = || evaluator(&table);
            let mut whole = make(kind, Size::Small, fresh(), Dag::empty(6), Ok(Seed(1)));
            run(&mut *whole, before);
            let saved = whole.save();
            let mut resumed = make(kind, Size::Small, fresh(), Dag::empty(6), Err(&saved));
            assert_eq!(resumed.save(), saved, "{kind:?}");
            run(&mut *whole, 60);
            run(&mut *resumed, 60);
            assert_eq!(place(&*resumed), place(&*whole), "{kind:?} after {before}");
            assert_eq!(resumed.core().best(), whole.core().best());
        }
    }
}

#[test]
fn budgets_are_kept_to_the_evaluation_and_do_not_change_the_trace() {
    let table = table_of(6, 10);
    for kind in NEW {
        let fresh = || evaluator(&table);
        let mut whole = make(kind, Size::Small, fresh(), Dag::empty(6), Ok(Seed(2)));
        run(&mut *whole, 150);
        let mut sliced = make(kind, Size::Small, fresh(), Dag::empty(6), Ok(Seed(2)));
        let mut limit = 0;
        while sliced.core().iterations < 150 {
            sliced.core_mut().evaluator.set_limit(limit);
            if sliced.step() == StepOutcome::OutOfBudget {
                assert_eq!(sliced.core().evaluator.evaluations(), limit, "{kind:?}");
                // A stop in the middle of a step is as good as any other.
                let saved = sliced.save();
                sliced = make(kind, Size::Small, fresh(), Dag::empty(6), Err(&saved));
                assert_eq!(sliced.save(), saved, "{kind:?}");
                limit += 3;
            }
        }
        assert_eq!(place(&*sliced), place(&*whole), "{kind:?}");
    }
}

#[test]
fn a_budget_that_ends_in_the_middle_of_a_sweep_does_not_change_the_trace() {
    let table = table_of(6, 10);
    for kind in [Kind::HillClimbing, Kind::Tabu] {
        let fresh = || evaluator(&table);
        let mut whole = make(kind, Size::Small, fresh(), Dag::empty(6), Ok(Seed(2)));
        run(&mut *whole, 40);
        let mut sliced = make(kind, Size::Small, fresh(), Dag::empty(6), Ok(Seed(2)));
        // The first sweep is charged whole or anew.
        let mut limit = 36;
        let mut cut = 0;
        while sliced.core().iterations < 40 {
            sliced.core_mut().evaluator.set_limit(limit);
            match sliced.step() {
                StepOutcome::Ran => {}
                StepOutcome::OutOfBudget => {
                    assert!(sliced.core().evaluator.evaluations() <= limit, "{kind:?}");
                    cut += 1;
                    limit += 7;
                }
                StepOutcome::Exhausted => break,
            }
        }
        assert!(cut > 10, "{kind:?}");
        // A way back to the best network that the budget cut is asked for anew.
        let place = |chain: &dyn Chain| SavedChain {
            evaluations: 0,
            ..place(chain)
        };
        assert_eq!(place(&*sliced), place(&*whole), "{kind:?}");
    }
}

#[test]
fn counters_agree_with_the_scorer() {
    let table = table_of(6, 14);
    for kind in NEW {
        let mut chain = make(
            kind,
            Size::Small,
            evaluator(&table),
            Dag::empty(6),
            Ok(Seed(3)),
        );
        run(&mut *chain, 400);
        let asked = &chain.core().evaluator;
        let [scores, vectors] = asked.problem().cache_statistics();
        assert_eq!(asked.evaluations(), scores.hits + scores.misses, "{kind:?}");
        assert_eq!(asked.computed(), scores.misses, "{kind:?}");
        assert_eq!(vectors.hits + vectors.misses, 0, "{kind:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another() {
    let table = table_of(6, 11);
    for kind in NEW {
        let trace = |seed| {
            let mut chain = make(
                kind,
                Size::Small,
                evaluator(&table),
                Dag::empty(6),
                Ok(Seed(seed)),
            );
            run(&mut *chain, 100);
            chain.save()
        };
        assert_eq!(trace(1), trace(1), "{kind:?}");
        assert_ne!(trace(1), trace(2), "{kind:?}");
    }
}

#[test]
fn where_nothing_may_change_the_start_is_scored_and_that_is_all() {
    let table = table_of(3, 12);
    let none = crate::search::NamedConstraints {
        max_parents: Some(0),
        ..Default::default()
    };
    let constraints = Constraints::new(&table, &none).unwrap();
    for kind in NEW {
        let evaluator = constrained(&table, constraints.clone());
        let mut chain = make(kind, Size::Usual, evaluator, Dag::empty(3), Ok(Seed(1)));
        let outcomes: Vec<_> = (0..3).map(|_| chain.step()).collect();
        assert_eq!(outcomes.last(), Some(&StepOutcome::Exhausted), "{kind:?}");
        assert_eq!(chain.core().evaluator.evaluations(), 3, "{kind:?}");
        assert!(chain.core().best().is_some(), "{kind:?}");
    }
}

#[test]
fn a_state_of_another_search_is_refused() {
    let table = table_of(5, 13);
    let problem = Arc::clone(evaluator(&table).problem());
    for writer in SearchSpec::defaults() {
        let mut chain = writer.start(&problem, ChainId(0), 1, Seed(1));
        chain.step();
        let saved = chain.save();
        for reader in SearchSpec::defaults() {
            let resumed = reader.resume(&problem, ChainId(0), 1, &saved);
            assert_eq!(resumed.is_ok(), reader == writer, "{reader:?}");
        }
        let newer = SavedChain {
            version: saved.version + 1,
            ..saved
        };
        let refused = writer.resume(&problem, ChainId(0), 1, &newer).err();
        assert!(matches!(refused, Some(UnfitState::Newer { .. })));
    }
}
