//! Laws that hold for every search.

use super::baseline::HillClimbingParams;
use super::test_tables::*;
use super::*;
use crate::ids::{ChainId, NodeIdx, Seed};
use crate::score::LogScore;
use std::sync::Arc;

fn specs() -> [SearchSpec; 9] {
    [
        SearchSpec::RlBayes(rlbayes::RlBayesParams {
            stall: 30,
            ..Default::default()
        }),
        SearchSpec::Paper(paper::PaperParams {
            table_rows: 20,
            ..Default::default()
        }),
        SearchSpec::HillClimbing(HillClimbingParams {
            restarts: 50,
            perturb: 3,
        }),
        SearchSpec::Tabu(baseline::TabuParams::default()),
        SearchSpec::Annealing(baseline::AnnealingParams::default()),
        SearchSpec::Genetic(baseline::GeneticParams {
            population: 12,
            ..Default::default()
        }),
        SearchSpec::Weeds(baseline::WeedsParams {
            initial: 5,
            maximum: 10,
            ..Default::default()
        }),
        SearchSpec::Football(baseline::FootballParams {
            population: 8,
            ..Default::default()
        }),
        SearchSpec::Particles(baseline::ParticlesParams {
            swarm: 10,
            ..Default::default()
        }),
    ]
}

fn run(chain: &mut dyn Chain, steps: usize) {
    for _ in 0..steps {
        if chain.step() != StepOutcome::Ran {
            break;
        }
    }
}

#[test]
fn constraints_hold_in_every_search_for_every_reported_row() {
    let table = dependent_table(7, 120, 3);
    let mut random = Random::new(Seed(11));
    for set in 0..200 {
        let named = random_constraints(&table, &mut random);
        let problem = problem(&table, &named);
        for spec in specs() {
            let mut chain = spec.start(&problem, ChainId(0), 2, Seed(set));
            run(chain.as_mut(), 60);
            let finds = chain.core_mut().take_finds();
            assert!(!finds.is_empty());
            for (_, row) in finds {
                let dag = row.structure.to_dag().unwrap();
                assert!(
                    problem.constraints().hold_for(&dag),
                    "{} {named:?}",
                    spec.name()
                );
            }
        }
    }
}

#[test]
fn every_search_reaches_the_exhaustive_optimum_on_four_nodes() {
    for seed in 0..6 {
        let table = dependent_table(4, 80, seed);
        let problem = problem(&table, &NamedConstraints::default());
        let optimum = exhaustive_optimum(&problem);
        let populations = [
            // With fewer mutations a population that is all alike stays where it is: see there.
            SearchSpec::Genetic(baseline::GeneticParams {
                mutation: 0.5,
                ..Default::default()
            }),
            SearchSpec::Weeds(baseline::WeedsParams::default()),
            SearchSpec::Football(baseline::FootballParams::default()),
            SearchSpec::Particles(baseline::ParticlesParams::default()),
        ];
        for spec in specs()[..5].iter().chain(&populations) {
            let mut chain = spec.start(&problem, ChainId(0), 1, Seed(seed));
            run(chain.as_mut(), 20_000);
            let best = chain.core().best().unwrap().score;
            assert_eq!(best, optimum, "{} on table {seed}", spec.name());
        }
    }
}

#[test]
fn reported_scores_are_those_of_the_definition() {
    let table = dependent_table(8, 150, 5);
    let problem = problem(&table, &NamedConstraints::default());
    for spec in specs() {
        let mut chain = spec.start(&problem, ChainId(1), 2, Seed(9));
        run(chain.as_mut(), 500);
        for (_, row) in chain.core_mut().take_finds() {
            let dag = row.structure.to_dag().unwrap();
            let slow =
                crate::score::by_definition::structure(&table, problem.scorer().spec(), &dag);
            let fast = problem
                .scorer()
                .structure(&dag, &mut crate::score::Scratch::default());
            assert_eq!(row.score, fast, "{}", spec.name());
            assert!((row.score.value() - slow.value()).abs() < 1e-6);
        }
    }
}

#[test]
fn a_stored_chain_resumes_as_if_it_had_never_stopped() {
    let table = dependent_table(8, 150, 6);
    let problem = problem(&table, &NamedConstraints::default());
    for spec in specs() {
        for stop_after in [1, 3, 40, 150] {
            let mut whole = spec.start(&problem, ChainId(1), 3, Seed(4));
            run(whole.as_mut(), stop_after);
            let bytes = crate::snapshot::encode_chain(&whole.save());
            let saved = crate::snapshot::decode_chain(&bytes, 8).unwrap();
            let mut resumed = spec.resume(&problem, ChainId(1), 3, &saved).unwrap();
            run(whole.as_mut(), 100);
            run(resumed.as_mut(), 100);
            let (mut a, mut b) = (whole.save(), resumed.save());
            // Counting from data depends on what the shared cache held.
            (a.computed, b.computed) = (0, 0);
            assert_eq!(a, b, "{} stopped after {stop_after}", spec.name());
        }
    }
}

#[test]
fn a_cache_too_small_for_anything_changes_no_result() {
    let table = dependent_table(8, 150, 7);
    let none = NamedConstraints::default();
    for spec in specs() {
        let mut ends = [1 << 26, 20_000, 0].map(|bytes| {
            let problem = problem_with(&table, &none, bytes);
            let mut chain = spec.start(&problem, ChainId(0), 2, Seed(8));
            run(chain.as_mut(), 300);
            let mut end = chain.save();
            end.computed = 0;
            end
        });
        ends.sort_by_key(|end| end.evaluations);
        assert_eq!(ends[0], ends[2], "{}", spec.name());
        assert_eq!(ends[0], ends[1], "{}", spec.name());
    }
}

#[test]
fn no_search_goes_past_its_evaluation_budget() {
    let table = dependent_table(9, 100, 8);
    for limit in [0, 5, 30, 100, 777, 5000] {
        for spec in specs() {
            let problem = problem(&table, &NamedConstraints::default());
            let mut chain = spec.start(&problem, ChainId(0), 1, Seed(2));
            chain.core_mut().evaluator.set_limit(limit);
            run(chain.as_mut(), 100_000);
            assert!(
                chain.core().evaluator.evaluations() <= limit,
                "{}",
                spec.name()
            );
            // More budget, and it continues.
            chain.core_mut().evaluator.set_limit(limit + 10_000);
            run(chain.as_mut(), 100);
            assert!(chain.core().best().is_some(), "{}", spec.name());
        }
    }
}

#[test]
fn different_seeds_differ_and_the_same_seed_does_not() {
    let table = dependent_table(9, 100, 9);
    let problem = problem(&table, &NamedConstraints::default());
    for spec in specs() {
        let trace = |seed| {
            let mut chain = spec.start(&problem, ChainId(0), 2, Seed(seed));
            let mut end_of_step = || {
                run(chain.as_mut(), 1);
                let mut end = chain.save();
                end.computed = 0;
                end
            };
            (0..30).map(|_| end_of_step()).collect::<Vec<_>>()
        };
        assert_eq!(trace(1), trace(1), "{}", spec.name());
        // The generators' states differ anyway; so must the networks that they lead to.
        let networks = |seed| {
            let ends = trace(seed).into_iter();
            ends.map(|end| (end.best, end.own.rows)).collect::<Vec<_>>()
        };
        assert!(
            (2..6).any(|seed| networks(seed) != networks(1)),
            "{}",
            spec.name()
        );
    }
}

#[test]
fn incremental_positions_equal_a_fresh_one_after_any_operations() {
    let table = dependent_table(10, 120, 10);
    let problem = problem(&table, &NamedConstraints::default());
    let mut evaluator = Evaluator::new(Arc::clone(&problem));
    let mut random = Random::new(Seed(3));
    let mut position = Position::new(problem.start().clone(), &mut evaluator).unwrap();
    let mut marked = position.row();
    position.mark();
    for step in 0..400 {
        let number = random.below(Operation::count(10));
        position.apply(Operation::from_number(number, 10), &evaluator);
        if step % 3 == 0 {
            position.refresh(&mut evaluator).unwrap();
            let fresh = Position::new(position.dag().clone(), &mut evaluator).unwrap();
            assert_eq!(position.score(), fresh.score());
            assert_eq!(position.row(), fresh.row());
        }
        if step % 17 == 0 {
            position.back_to_mark();
            assert_eq!(position.row(), marked);
            position.climb(&mut evaluator, &mut random).unwrap();
            let mut legal = Vec::new();
            for number in 0..Operation::count(10) {
                let operation = Operation::from_number(number, 10);
                let gain = position.legal_gain(operation);
                assert!(
                    gain.is_none_or(|gain| gain <= LogScore::MIN_GAIN),
                    "a local optimum"
                );
                legal.extend(gain.map(|gain| (operation, gain)));
            }
            let (mut listed, mut of_node) = (Vec::new(), Vec::new());
            for node in NodeIdx::all(10) {
                position.list_operations(node, &mut of_node);
                listed.extend(of_node.iter().map(|&(gain, operation)| (operation, gain)));
            }
            legal.sort_by_key(|&(operation, _)| operation);
            listed.sort_by_key(|&(operation, _)| operation);
            assert_eq!(listed, legal);
            position.mark();
            marked = position.row();
        }
    }
}
