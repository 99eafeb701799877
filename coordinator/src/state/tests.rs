use super::*;
use rlbayes_common::elite::{Found, Structure};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::NodeIdx;

const NODES: usize = 6;

fn row(edge: (usize, usize), score: f64) -> EliteRow {
    let dag = Dag::from_edges(NODES, [(NodeIdx::new(edge.0), NodeIdx::new(edge.1))]).unwrap();
    EliteRow {
        structure: Structure::of(&dag),
        score: LogScore::new(score),
    }
}

fn plan(pace: Pace, budget: Budget) -> SearchPlan {
    SearchPlan {
        chains: 3,
        seed: Seed(1),
        budget,
        pace,
        keying: Keying::ByClass,
        cooperation: Cooperation::On,
        checkpoint_every: None,
    }
}

fn report(chain: u32, evaluations: u64, rows: &[(Found, EliteRow)]) -> ChainReport {
    ChainReport {
        chain: ChainId(chain),
        finds: rows.to_vec(),
        counters: ChainCounters {
            evaluations,
            iterations: evaluations / 10,
            ..Default::default()
        },
        wants_seeds: true,
        standing: Standing::Running,
        snapshot: None,
    }
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn answered(commands: &[Command]) -> Vec<u32> {
    commands
        .iter()
        .filter_map(|command| match command {
            Command::Answer(chain, Answer::Continue { .. }) => Some(chain.0),
            _ => None,
        })
        .collect()
}

#[test]
fn in_lockstep_nobody_is_answered_before_all_have_reported() {
    let mut state = State::new(plan(Pace::Lockstep, Budget::default()));
    let find = |score| vec![(Found::Best, row((0, 1), score))];
    assert!(
        state
            .apply(
                seconds(1),
                Event::Report(Box::new(report(2, 10, &find(-5.0))))
            )
            .is_empty()
    );
    assert!(
        state
            .apply(
                seconds(1),
                Event::Report(Box::new(report(0, 10, &find(-6.0))))
            )
            .is_empty()
    );
    assert!(
        state.best().is_none(),
        "nothing is merged before the round is complete"
    );
    let commands = state.apply(
        seconds(1),
        Event::Report(Box::new(report(1, 10, &find(-7.0)))),
    );
    assert_eq!(answered(&commands), [0, 1, 2]);
    assert_eq!(state.round(), Round(1));
}

#[test]
fn the_order_of_reports_in_a_round_changes_nothing() {
    let outcome = |order: [u32; 3]| {
        let mut state = State::new(plan(Pace::Lockstep, Budget::default()));
        let mut all = Vec::new();
        for round in 1..5u64 {
            for chain in order {
                let score = -10.0 * f64::from(chain + 1) + f64::from(u32::try_from(round).unwrap());
                let edge = (
                    chain as usize,
                    chain as usize + usize::try_from(round % 2).unwrap() + 1,
                );
                let finds = [(Found::Stalled, row(edge, score))];
                let report = report(chain, round * 100, &finds);
                let commands = state.apply(seconds(round), Event::Report(Box::new(report)));
                all.push(format!("{commands:?}"));
            }
        }
        all.retain(|commands| commands != "[]");
        (all, format!("{:?}", state.pool()))
    };
    let expected = outcome([0, 1, 2]);
    assert_eq!(outcome([2, 1, 0]), expected);
    assert_eq!(outcome([1, 2, 0]), expected);
}

#[test]
fn free_running_chains_are_answered_at_once_and_rows_are_stored_first() {
    let mut state = State::new(plan(Pace::Free, Budget::default()));
    let finds = [(Found::Best, row((0, 1), -5.0))];
    let commands = state.apply(seconds(1), Event::Report(Box::new(report(1, 10, &finds))));
    assert!(
        matches!(commands[0], Command::Journal(_)),
        "stored before it is acknowledged"
    );
    assert!(matches!(commands[1], Command::Record(_)));
    assert_eq!(answered(&commands), [1]);
}

#[test]
fn a_repeated_or_late_report_changes_nothing() {
    let mut state = State::new(plan(Pace::Free, Budget::default()));
    let newer = report(1, 500, &[(Found::Best, row((0, 1), -5.0))]);
    let older = report(1, 100, &[(Found::Best, row((0, 1), -5.0))]);
    state.apply(seconds(1), Event::Report(Box::new(newer.clone())));
    let pool = state.pool().clone();
    for late in [older, newer] {
        let commands = state.apply(seconds(2), Event::Report(Box::new(late)));
        let stored = commands
            .iter()
            .any(|command| matches!(command, Command::Journal(_)));
        assert!(!stored, "nothing new to store");
    }
    assert_eq!(*state.pool(), pool);
    assert_eq!(state.spent(seconds(2)).evaluations, 500);
}

#[test]
fn only_a_chain_that_wants_seeds_gets_them_and_lonely_ones_never_do() {
    for (cooperation, wants, gets) in [
        (Cooperation::On, true, true),
        (Cooperation::On, false, false),
        (Cooperation::Off, true, false),
    ] {
        let plan = SearchPlan {
            cooperation,
            ..plan(Pace::Free, Budget::default())
        };
        let mut state = State::new(plan);
        let mut report = report(1, 10, &[(Found::Best, row((0, 1), -5.0))]);
        report.wants_seeds = wants;
        let commands = state.apply(seconds(1), Event::Report(Box::new(report)));
        let seeded = commands.iter().any(|command| {
            matches!(
                command,
                Command::Answer(_, Answer::Continue { seeds: Some(_), .. })
            )
        });
        assert_eq!(seeded, gets);
    }
}

#[test]
fn a_budget_ends_the_search_for_every_chain() {
    let budget = Budget {
        target: Some(LogScore::new(-5.0)),
        ..Budget::default()
    };
    let mut state = State::new(plan(Pace::Lockstep, budget));
    let find = |score| vec![(Found::Best, row((0, 1), score))];
    state.apply(
        seconds(1),
        Event::Report(Box::new(report(0, 10, &find(-9.0)))),
    );
    state.apply(
        seconds(1),
        Event::Report(Box::new(report(1, 10, &find(-4.0)))),
    );
    let commands = state.apply(
        seconds(1),
        Event::Report(Box::new(report(2, 10, &find(-8.0)))),
    );
    let stops = commands
        .iter()
        .filter(|command| matches!(command, Command::Answer(_, Answer::Stop)))
        .count();
    assert_eq!(stops, 3);
    assert!(matches!(
        commands.last(),
        Some(Command::Finished(StoppedBy::Target))
    ));
}

#[test]
fn time_is_up_in_the_middle_of_a_round() {
    let budget = Budget {
        time: Some(seconds(5)),
        ..Budget::default()
    };
    let mut state = State::new(plan(Pace::Lockstep, budget));
    assert!(state.apply(seconds(4), Event::Tick).is_empty());
    assert!(matches!(
        state.apply(seconds(5), Event::Tick)[..],
        [Command::Halt]
    ));
    for chain in 0..2 {
        assert!(
            state
                .apply(seconds(5), Event::Report(Box::new(report(chain, 10, &[]))))
                .is_empty()
        );
    }
    let commands = state.apply(seconds(6), Event::Report(Box::new(report(2, 10, &[]))));
    assert!(matches!(
        commands.last(),
        Some(Command::Finished(StoppedBy::Time))
    ));
}

#[test]
fn shares_add_up_to_the_budget() {
    for budget in [0, 1, 2, 3, 100, 101, 1_000_003] {
        let limits = Budget {
            evaluations: Some(budget),
            ..Budget::default()
        };
        let state = State::new(plan(Pace::Free, limits));
        let sum: u64 = (0..3)
            .map(|chain| state.evaluation_share(ChainId(chain)))
            .sum();
        assert_eq!(sum, budget);
    }
}

#[test]
fn a_search_whose_chains_have_nothing_left_is_exhausted() {
    let mut state = State::new(plan(Pace::Lockstep, Budget::default()));
    let done = |chain| ChainReport {
        standing: Standing::Exhausted,
        ..report(chain, 10, &[])
    };
    state.apply(seconds(1), Event::Report(Box::new(done(0))));
    state.apply(seconds(1), Event::Report(Box::new(done(1))));
    let commands = state.apply(seconds(1), Event::Report(Box::new(done(2))));
    assert!(matches!(
        commands.last(),
        Some(Command::Finished(StoppedBy::Exhausted))
    ));
}

#[test]
fn the_best_never_goes_down() {
    let mut state = State::new(plan(Pace::Free, Budget::default()));
    let mut shown = f64::NEG_INFINITY;
    for step in 0..200u32 {
        let score = -f64::from(step.wrapping_mul(2_654_435_761) % 1000);
        let edge = ((step % 5) as usize, (step % 5) as usize + 1);
        let finds = [(Found::Best, row(edge, score))];
        state.apply(
            seconds(1),
            Event::Report(Box::new(report(step % 3, 10, &finds))),
        );
        let best = state.best().unwrap().score.value();
        assert!(best >= shown);
        shown = best;
    }
}
