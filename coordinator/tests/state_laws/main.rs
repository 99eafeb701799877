//! The coordinator's state machine and the worker's against each other, over a network that drops,
//! repeats, reorders and delays: workers join, leave and are killed, clocks jump and stand still,
//! the coordinator restarts from what its commands stored. Only the chains are a model.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot continue has failed"
)]

mod chain;
mod journal;
mod replicates;
mod worker;
mod world;

use proptest::prelude::*;
use rlbayes::coordination::Pace;
use rlbayes_common::elite::EliteRow;
use rlbayes_common::search::StoppedBy;
use rlbayes_worker::state::End;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use world::{CHAINS, Op, WORKERS, World};

/// Rounds of which the right pool is known.
const ROUNDS: u64 = 100;

/// What happens, and now and then a worker that lies.
fn op_or_lie() -> impl Strategy<Value = Op> {
    prop_oneof![50 => op(), 1 => (0..WORKERS).prop_map(Op::Lie)]
}

fn op() -> impl Strategy<Value = Op> {
    let which = 0..1000usize;
    let worker = 0..WORKERS;
    prop_oneof![
        8 => (worker.clone(), any::<u64>()).prop_map(|(worker, draw)| Op::Work(worker, draw)),
        8 => worker.clone().prop_map(Op::Call),
        1 => worker.clone().prop_map(Op::Nudge),
        1 => worker.clone().prop_map(Op::Shutdown),
        1 => worker.clone().prop_map(Op::Kill),
        12 => which.clone().prop_map(Op::Deliver),
        2 => which.clone().prop_map(Op::Repeat),
        2 => which.clone().prop_map(Op::Drop),
        3 => (0..4000u64).prop_map(Op::Pass),
        1 => (0..1_000_000_000u64).prop_map(Op::Pass),
        1 => (worker, 0..30_000u64).prop_map(|(worker, millis)| Op::Freeze(worker, millis)),
        1 => Just(Op::Clear),
        1 => Just(Op::RestartCoordinator),
        1 => which.prop_map(Op::DieApplying),
    ]
}

/// The evaluations and digests of the pool (what chains hold, what all hold) at the beginning of a
/// round.
type RoundStarts = BTreeMap<u64, (u64, u64, u64)>;

fn digest(value: &impl std::fmt::Debug) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{value:?}").hash(&mut hasher);
    hasher.finish()
}

fn note(world: &World, starts: &mut RoundStarts) {
    let pool = world.state.pool();
    let start = (
        world.state.counters().evaluations,
        digest(&pool.rows_by_chain().collect::<Vec<_>>()),
        digest(&pool.overall().collect::<Vec<_>>()),
    );
    let round = world.state.round().0;
    let known = *starts.entry(round).or_insert(start);
    assert_eq!(known, start, "round {round} began with another pool");
}

/// What every round begins with where one worker runs all chains and nothing goes wrong.
fn undisturbed() -> RoundStarts {
    let mut world = World::new(Pace::Lockstep);
    let mut starts = RoundStarts::new();
    while world.state.round().0 <= ROUNDS {
        note(&world, &mut starts);
        for draw in 0..u64::from(CHAINS) {
            world.run(Op::Work(0, draw));
        }
        world.run(Op::Call(0));
        world.deliver_all();
    }
    starts
}

/// The search is stopped in the middle of whatever is under way, a worker is killed or drained, and
/// the sessions of all others end because the search is over.
fn end(world: &mut World, lost: usize) {
    world.stop();
    let at = lost % WORKERS;
    match lost.is_multiple_of(2) {
        // Its process is gone; nobody tells the coordinator.
        true => world.workers[at].end = Some(End::Drained),
        false => world.run(Op::Shutdown(at)),
    }
    world.calm_down();
    let mut turns = 0;
    while world.workers.iter().any(|worker| worker.end.is_none()) {
        assert!(turns < 20, "a session does not end");
        turns += 1;
        world.calm_turn();
    }
    for (number, worker) in world.workers.iter().enumerate() {
        let over = Some(End::Finished(StoppedBy::Stop));
        assert!(number == at || worker.end == over, "{:?}", worker.end);
    }
    // The lease of the one that is lost, and the time for last reports.
    for _ in 0..5 {
        world.calm_turn();
    }
    assert!(world.state.is_finished());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn free_running_searches_keep_the_laws(
        ops in prop::collection::vec(op_or_lie(), 1..200),
        lost in 0..2 * WORKERS,
    ) {
        let mut world = World::new(Pace::Free);
        for op in ops {
            world.run(op);
        }
        world.calm_down();
        for _ in 0..3 {
            world.calm_turn();
        }
        for _ in 0..3 {
            world.quiet_turn();
        }
        for at in 0..WORKERS {
            let waiting = world.workers[at].session.waiting_reports();
            prop_assert_eq!(waiting, 0, "reports of worker {} are not acknowledged", at);
            world.check_reported(at);
        }
        end(&mut world, lost);
    }

    #[test]
    fn lockstep_rounds_are_the_same_whatever_happens(
        ops in prop::collection::vec(op_or_lie(), 1..200),
        lost in 0..2 * WORKERS,
        half_a_round in 0..u64::from(CHAINS),
    ) {
        thread_local! {
            static UNDISTURBED: RoundStarts = undisturbed();
        }
        let mut starts = UNDISTURBED.with(Clone::clone);
        let mut world = World::new(Pace::Lockstep);
        for op in ops {
            world.run(op);
            note(&world, &mut starts);
        }
        let before = world.state.round().0;
        world.calm_down();
        for _ in 0..12 {
            world.calm_turn();
            note(&world, &mut starts);
        }
        prop_assert!(world.state.round().0 >= before + 2, "stuck in round {}", before);
        prop_assert!(world.state.round().0 <= ROUNDS);
        for draw in 0..half_a_round {
            for at in 0..WORKERS {
                world.run(Op::Work(at, draw));
            }
        }
        let under_way = world.state.round().0;
        end(&mut world, lost);
        prop_assert_eq!(world.state.round().0, under_way + 1, "the round was not finished");
        note(&world, &mut starts);
    }

    #[test]
    fn a_coordinator_that_lost_its_disk_gets_the_best_row_of_every_chain_again(
        ops in prop::collection::vec(op(), 1..100),
    ) {
        let mut world = World::new(Pace::Free);
        for op in ops {
            world.run(op);
        }
        world.calm_down();
        for _ in 0..4 {
            world.calm_turn();
        }
        world.lose_disk();
        for _ in 0..4 {
            world.quiet_turn();
        }
        // A report of each chain, which brings at most one row that is better.
        world.calm_turn();
        world.quiet_turn();
        let chains = world.workers.iter().flat_map(|worker| worker.chains.values());
        let bests: Vec<EliteRow> = chains.filter_map(|chain| chain.best.clone()).collect();
        prop_assert!(!bests.is_empty(), "nobody searches");
        prop_assert_eq!(world.missing(bests.iter()), 0);
    }
}
