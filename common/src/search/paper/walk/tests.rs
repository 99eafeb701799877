use super::*;
use crate::data::{Schema, Table as DataTable, Variable};
use crate::search::test_tables::{dependent_table, problem};
use crate::search::{NamedConstraints, Random};
use std::sync::Arc;

/// Two binary variables with the counts n(0,0) = 0, n(0,1) = 11, n(1,0) = 37, n(1,1) = 48, for
/// which adding 1 -> 2 gains the 3.5128 nats of the paper's Example 1.
fn example_table() -> Arc<DataTable> {
    let mut columns = vec![Vec::new(), Vec::new()];
    for (one, two, count) in [(0, 1, 11), (1, 0, 37), (1, 1, 48)] {
        for _ in 0..count {
            columns[0].push(one);
            columns[1].push(two);
        }
    }
    let variable = |name: &str| Variable::new(name, vec!["a".into(), "b".into()]).unwrap();
    let schema = Schema::new(vec![variable("1"), variable("2")]).unwrap();
    Arc::new(DataTable::new(schema, columns).unwrap())
}

fn walk_on(table: &Arc<DataTable>, params: PaperParams, seed: u64) -> PaperWalk {
    let problem = problem(table, &NamedConstraints::default());
    let evaluator = Evaluator::new(Arc::clone(&problem));
    PaperWalk::new(evaluator, problem.start().clone(), Seed(seed), params)
}

#[test]
fn the_papers_first_example_is_written_into_the_table() {
    let mut walk = walk_on(&example_table(), PaperParams::default(), 1);
    let (one, two) = (NodeIdx::new(0), NodeIdx::new(1));
    let first = walk
        .scored_row(&Structure::of(&walk.start.clone()))
        .unwrap();
    walk.current = walk.table.insert(first);
    let before = walk.current;
    walk.try_operation(Operation::Delete(one, two)).unwrap();
    assert_eq!(
        walk.cell(before, Operation::Delete(one, two)),
        Some(f64::NEG_INFINITY)
    );
    assert_eq!(
        walk.current, before,
        "an operation that fails moves nowhere"
    );
    walk.try_operation(Operation::Add(one, two)).unwrap();
    let after = walk.current;
    assert_ne!(after, before);
    let benefit = walk.cell(before, Operation::Add(one, two)).unwrap();
    let back = walk.cell(after, Operation::Delete(one, two)).unwrap();
    assert_eq!(format!("{benefit:.4}"), "3.5128");
    assert_eq!(format!("{back:.4}"), "-3.5128");
    assert_eq!(
        walk.cell(after, Operation::Add(one, two)),
        None,
        "other cells are untried"
    );
}

#[test]
fn a_gain_of_zero_is_not_the_same_as_untried() {
    let mut walk = walk_on(&example_table(), PaperParams::default(), 1);
    let (one, two) = (NodeIdx::new(0), NodeIdx::new(1));
    let first = walk
        .scored_row(&Structure::of(&walk.start.clone()))
        .unwrap();
    walk.current = walk.table.insert(first);
    walk.try_operation(Operation::Add(one, two)).unwrap();
    let here = walk.current;
    walk.try_operation(Operation::Reverse(one, two)).unwrap();
    assert_eq!(walk.cell(here, Operation::Reverse(one, two)), Some(0.0));
    assert_eq!(
        walk.cell(walk.current, Operation::Reverse(two, one)),
        Some(-0.0)
    );
}

#[test]
fn the_table_never_has_more_rows_than_its_limit_and_keeps_the_best() {
    let table = dependent_table(6, 80, 3);
    for evict in [Evict::Protect, Evict::Best] {
        for explore in [Explore::Untried, Explore::All] {
            let params = PaperParams {
                table_rows: 5,
                evict,
                explore,
                ..Default::default()
            };
            let mut walk = walk_on(&table, params, 2);
            for _ in 0..3000 {
                walk.step();
                assert!(walk.table.len() <= 5);
                let best = walk.table.row(walk.table.best()).score();
                assert_eq!(Some(best), walk.core.best().map(|row| row.score));
            }
        }
    }
}

#[test]
fn iterations_count_failed_operations_and_evaluations_do_not() {
    let mut walk = walk_on(&dependent_table(6, 80, 3), PaperParams::default(), 3);
    for _ in 0..500 {
        walk.step();
    }
    assert_eq!(walk.core().iterations, 500);
    // The start asks for 6 families; a legal operation asks for one or two.
    assert!(walk.core().evaluator.evaluations() < 6 + 2 * 500);
}

#[test]
fn a_walk_without_a_legal_operation_is_exhausted() {
    let named = NamedConstraints {
        max_parents: Some(0),
        ..Default::default()
    };
    let problem = problem(&dependent_table(3, 40, 1), &named);
    let evaluator = Evaluator::new(Arc::clone(&problem));
    let mut walk = PaperWalk::new(
        evaluator,
        problem.start().clone(),
        Seed(1),
        PaperParams::default(),
    );
    let end = (0..1000)
        .map(|_| walk.step())
        .find(|outcome| *outcome != StepOutcome::Ran);
    assert_eq!(end, Some(StepOutcome::Exhausted));
}

#[test]
fn seeds_enter_the_table_and_with_theta_one_become_current() {
    let table = dependent_table(6, 80, 3);
    let mut other = walk_on(&table, PaperParams::default(), 9);
    for _ in 0..2000 {
        other.step();
    }
    let best = other.core().best().cloned().unwrap();
    for (theta, current) in [(1.0, 1), (0.0, 0)] {
        let params = PaperParams {
            theta,
            ..Default::default()
        };
        let mut walk = walk_on(&table, params, 1);
        walk.step();
        walk.give_seeds(Seeds {
            best: None,
            mate: best.clone(),
        });
        walk.step();
        let seeds = walk.core().seeds;
        assert_eq!(
            (seeds.received, seeds.entered, seeds.made_current),
            (1, 1, current)
        );
        assert_eq!(
            walk.core().best().map(|row| row.score) == Some(best.score),
            theta > 0.5
        );
    }
}

#[test]
fn softmax_draws_follow_the_benefits() {
    let mut walk = walk_on(&example_table(), PaperParams::default(), 1);
    let row = walk
        .scored_row(&Structure::of(&walk.start.clone()))
        .unwrap();
    let id = walk.table.insert(row);
    // Six cells; all but two fail, those are 1 nat apart.
    for cell in 0..6 {
        let value = match cell {
            0 => 1.0,
            3 => 2.0,
            _ => f64::NEG_INFINITY,
        };
        walk.table.row_mut(id).write_cell(cell, value);
    }
    let mut random = Random::new(Seed(1));
    let better = Operation::from_number(3, 2);
    let draws = 20_000;
    let count = (0..draws)
        .filter(|_| walk.table.row(id).draw_by_benefit(&mut random) == Some(better))
        .count();
    // e / (1 + e) = 0.731
    assert!((14_300..14_950).contains(&count), "{count}");
    let even = (0..draws)
        .filter(|_| walk.table.row(id).draw_any(&mut random) == Some(better))
        .count();
    assert!((9_700..10_300).contains(&even), "{even}");
}
