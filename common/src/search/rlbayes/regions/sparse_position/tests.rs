use super::*;
use crate::ids::Seed;
use crate::search::Position;
use crate::search::test_tables::{dependent_table, problem, random_constraints};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn a_climb_over_all_candidates_ends_where_no_operation_gains(seed in any::<u64>()) {
        let mut random = Random::new(Seed(seed));
        let table = dependent_table(9, 80, seed % 11);
        let named = random_constraints(&table, &mut random);
        let problem = problem(&table, &named);
        let mut evaluator = Evaluator::new(Arc::clone(&problem)).skipping_hopeless();
        let start = problem.start().clone();
        let mut position = SparsePosition::new(start, &mut evaluator).unwrap();
        evaluator.complete_partners().unwrap();
        // Widening finds what has no signal of its own; with that, every node has been looked at.
        loop {
            while position.climb(3, &mut evaluator, &mut random).unwrap() {
                let row = position.row();
                prop_assert_eq!(evaluator.structure(position.dag()).unwrap(), row.score);
            }
            let nodes = NodeIdx::all(problem.nodes());
            let grew = nodes.map(|node| position.widen(node, &mut evaluator).unwrap());
            if !grew.fold(false, |any, grew| any | grew) {
                break;
            }
        }
        prop_assert!(problem.constraints().hold_for(position.dag()));
        let mut full = Position::new(position.dag().clone(), &mut evaluator).unwrap();
        prop_assert_eq!(full.score(), position.row().score);
        for number in 0..Operation::count(problem.nodes()) {
            let operation = Operation::from_number(number, problem.nodes());
            let gain = full.legal_gain(operation);
            prop_assert!(gain.is_none_or(|gain| gain <= LogScore::MIN_GAIN), "{operation:?} {gain:?}");
        }
    }
}

#[test]
fn found_candidates_are_bounded_and_known_once() {
    let table = dependent_table(5, 40, 1);
    let problem = problem(&table, &Default::default());
    let mut evaluator = Evaluator::new(Arc::clone(&problem));
    let mut position = SparsePosition::new(problem.start().clone(), &mut evaluator).unwrap();
    let node = NodeIdx::new(0);
    let many = (0..2 * SparsePosition::MOST_FOUND).map(NodeIdx::new);
    position.note_candidates(node, many.clone());
    position.note_candidates(node, many);
    let found = &position.found()[0];
    assert_eq!(found.len(), SparsePosition::MOST_FOUND);
    assert!(found.is_sorted_by(|a, b| a < b));
}
