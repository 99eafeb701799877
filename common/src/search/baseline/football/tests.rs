use super::super::testing::{dag, evaluator, random_constraints, strong_table, table_of};
use super::arc_numbers::pair;
use super::*;
use crate::data::Table;
use crate::graph::Dag;
use crate::ids::{NodeIdx, Seed};
use crate::search::{Chain, Constraints, NamedConstraints, StepOutcome};
use std::sync::Arc;

fn families_of(graph: &Dag) -> Vec<Arc<[NodeIdx]>> {
    NodeIdx::all(graph.nodes())
        .map(|node| graph.parents(node).into())
        .collect()
}

/// A vector of 3 nodes by pair; others are 0.
fn vector(numbers: &[((usize, usize), f64)]) -> Vec<f64> {
    let mut vector = vec![0.0; 6];
    for &((from, to), number) in numbers {
        let at = (0..6).find(|&at| pair(at, 3) == (NodeIdx::new(from), NodeIdx::new(to)));
        vector[at.unwrap()] = number;
    }
    vector
}

#[test]
fn every_ordered_pair_has_one_dimension() {
    let pairs: std::collections::BTreeSet<_> = (0..20).map(|at| pair(at, 5)).collect();
    assert_eq!(pairs.len(), 20);
    assert!(pairs.iter().all(|(from, to)| from != to));
}

#[test]
fn arcs_above_a_half_are_added_in_falling_order_where_acyclic() {
    let free = Constraints::none(3);
    let cyclic = [((0, 1), 0.6), ((1, 2), 0.9), ((2, 0), 0.7), ((0, 2), 0.5)];
    assert_eq!(
        decoded(&vector(&cyclic), &free),
        families_of(&dag(3, &[(1, 2), (2, 0)]))
    );
    let other = [((0, 1), 0.8), ((1, 2), 0.9), ((2, 0), 0.7)];
    assert_eq!(
        decoded(&vector(&other), &free),
        families_of(&dag(3, &[(0, 1), (1, 2)]))
    );
    assert_eq!(decoded(&[0.5; 6], &free), families_of(&Dag::empty(3)));
}

fn named(table: &Table, required: &[(usize, usize)], max_parents: usize) -> Constraints {
    let name = |index: usize| {
        table
            .schema()
            .variable(NodeIdx::new(index))
            .name()
            .to_owned()
    };
    let required = required
        .iter()
        .map(|&(from, to)| (name(from), name(to)))
        .collect();
    let max_parents = Some(max_parents);
    let forbidden = vec![(name(1), name(2))];
    let named = NamedConstraints {
        required,
        forbidden,
        max_parents,
        ..Default::default()
    };
    Constraints::new(table, &named).unwrap()
}

#[test]
fn required_arcs_come_first_and_limits_hold_in_decoding() {
    let table = table_of(3, 1);
    let constraints = named(&table, &[(1, 0)], 1);
    let numbers = [((0, 1), 1.0), ((2, 0), 0.9), ((1, 2), 0.8), ((0, 2), 0.7)];
    let expected = families_of(&dag(3, &[(1, 0), (0, 2)]));
    assert_eq!(decoded(&vector(&numbers), &constraints), expected);
}

#[test]
fn decoding_undoes_encoding_and_any_vector_decodes_to_a_legal_network() {
    let table = table_of(6, 2);
    let mut random = Random::new(Seed(1));
    for _ in 0..200 {
        let constraints = random_constraints(&table, &mut random);
        let start = Individual::of(constraints.required());
        let network = Individual::scattered(&start, &constraints, &mut random);
        let vector = encoded(&network, 0.5, &mut random);
        assert!(vector.iter().all(|number| (0.0..=1.0).contains(number)));
        assert_eq!(
            decoded(&vector, &constraints),
            families_of(&network.to_dag())
        );
        let noise: Vec<f64> = (0..30).map(|_| random.unit()).collect();
        let graph = Individual::from_families(decoded(&noise, &constraints), []).to_dag();
        assert!(constraints.hold_for(&graph));
    }
}

#[test]
fn roles_move_as_their_formulas_say() {
    // The same draws, by hand.
    let mut random = Random::new(Seed(2));
    let (own, best, worst) = (0.3, 0.9, 0.1);
    for role in Role::ALL {
        let mut copy = random.clone();
        let moved = role.train(own, [best, worst], 5.0, &mut random);
        let expected = match role {
            Role::Follower => own + copy.unit() * (best - own),
            Role::Discoverer => {
                let toward = copy.unit() * (best - own);
                own + toward - copy.unit() * (worst - own)
            }
            Role::Thinker => own + copy.unit() * (best - worst),
            Role::Volatile => own * (1.0 + copy.student_t(5.0)),
        };
        assert!((moved - expected).abs() < 1e-12, "{role:?}");
        assert_eq!(copy, random, "{role:?}");
    }
    for _ in 0..1000 {
        let follower = Role::Follower.train(own, [best, worst], 1.0, &mut random);
        assert!((own..best).contains(&follower));
        let discoverer = Role::Discoverer.train(own, [best, worst], 1.0, &mut random);
        assert!((own..best + own - worst).contains(&discoverer));
        let thinker = Role::Thinker.train(own, [best, worst], 1.0, &mut random);
        assert!((own..own + best - worst).contains(&thinker));
    }
}

#[test]
fn individual_training_goes_from_cauchy_to_gauss() {
    let mut random = Random::new(Seed(3));
    let mut copy = random.clone();
    copy.normal();
    let first = alone(0.4, 1.0, &mut random);
    assert!((first - 0.4 * (1.0 + copy.cauchy())).abs() < 1e-12);
    let gauss = copy.normal();
    let late = alone(0.4, 0.0, &mut random);
    assert!((late - 0.4 * (1.0 + gauss)).abs() < 1e-12);
    let gauss = random.clone().normal();
    let mut after = random.clone();
    after.normal();
    let mixed = alone(0.4, 0.25, &mut random);
    assert!((mixed - 0.4 * (1.0 + 0.75 * gauss + 0.25 * after.cauchy())).abs() < 1e-12);
}

#[test]
fn group_training_copies_the_best_and_members_as_often_as_told() {
    let (own, best, member) = (vec![0.1; 20_000], vec![0.9; 20_000], vec![0.4; 20_000]);
    let group = Group {
        best: &best,
        others: vec![&member],
    };
    let mut random = Random::new(Seed(4));
    let close = |count: usize, share: f64| (count as f64 / 20_000.0 - share).abs() < 0.01;
    let count = |vector: &[f64], number: f64| {
        vector
            .iter()
            .filter(|&&it| (it - number).abs() < 1e-12)
            .count()
    };
    let quiet = FootballParams {
        communicate: 0.0,
        error: 0.0,
        ..FootballParams::default()
    };
    let trained = group.train(&own, &quiet, &mut random);
    assert!(close(count(&trained, 0.9), 0.2));
    assert!(close(count(&trained, 0.4), 0.8 * 0.2));
    assert!(close(count(&trained, 0.1), 0.8 * 0.8));
    let talking = FootballParams {
        study: 0.0,
        error: 0.0,
        ..quiet
    };
    let trained = group.train(
        &own,
        &FootballParams {
            communicate: 0.2,
            ..talking
        },
        &mut random,
    );
    assert!(close(count(&trained, 0.1), 0.8));
    let below = trained
        .iter()
        .filter(|&&number| number < 0.4 && (number - 0.1).abs() > 1e-12);
    assert!(
        close(below.count(), 0.1),
        "a normal factor falls below 1 half of the time"
    );
    let error = FootballParams {
        error: 0.001,
        ..talking
    };
    let trained = group.train(&own, &error, &mut random);
    assert!((5..40).contains(&count(&trained, 0.4)));
}

#[test]
fn a_session_trains_everybody_twice_and_the_best_once_and_scores_never_fall() {
    let params = FootballParams {
        population: 6,
        ..FootballParams::default()
    };
    let mut chain = Football::new(evaluator(&strong_table()), Dag::empty(4), Seed(5), params);
    for _ in 0..6 {
        assert_eq!(chain.step(), StepOutcome::Ran);
    }
    for session in 1..20 {
        assert_eq!((chain.search.session, chain.search.turn), (session, 0));
        let before: Vec<_> = chain.members.iter().map(Individual::score).collect();
        for _ in 0..13 {
            assert_eq!(chain.step(), StepOutcome::Ran);
        }
        assert!(
            before
                .iter()
                .zip(&chain.members)
                .all(|(old, player)| player.score() >= *old)
        );
        let mut sizes = [0; 4];
        chain
            .search
            .groups
            .iter()
            .for_each(|&group| sizes[group] += 1);
        assert_eq!(sizes, [2, 2, 1, 1]);
        for (player, vector) in chain.members.iter().zip(&chain.search.vectors) {
            assert_eq!(
                decoded(vector, &Constraints::none(4)),
                families_of(&player.to_dag())
            );
        }
    }
}

#[test]
fn a_team_of_empty_vectors_comes_to_an_end() {
    let params = FootballParams {
        population: 2,
        ..FootballParams::default()
    };
    let mut chain = Football::new(evaluator(&strong_table()), Dag::empty(4), Seed(6), params);
    for _ in 0..2 {
        assert_eq!(chain.step(), StepOutcome::Ran);
    }
    chain.members[1] = chain.members[0].clone();
    chain.search.vectors = vec![vec![0.0; 12]; 2];
    let steps = (0..MOST_IDLE + 10)
        .take_while(|_| chain.step() == StepOutcome::Ran)
        .count();
    assert_eq!(steps as u64, MOST_IDLE);
}

#[test]
fn the_bytes_of_a_team_are_told() {
    assert_eq!(FootballParams::default().bytes(724), 31 * 724 * 723 * 8);
}
