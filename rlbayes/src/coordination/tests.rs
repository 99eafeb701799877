use super::*;
use rlbayes_common::elite::{Found, Keying, Structure};
use rlbayes_common::exchange::{
    Answer, ChainOrder, ChainReport, ChainStatus, Exchange, Hello, Origin, Reply, RunSequence,
    Snapshot, Welcome, Work, WorkerStatistics,
};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::{NodeIdx, Seed, WorkerId};
use rlbayes_common::search::{Budget, Fields, SavedChain, Stagnation};
use rlbayes_common::snapshot::encode_chain;

mod claims;
mod members;
mod replicates;

const NODES: usize = 6;
const LEASE: Duration = Duration::from_secs(10);

fn row(edge: (usize, usize), score: f64) -> EliteRow {
    let dag = Dag::from_edges(NODES, [(NodeIdx::new(edge.0), NodeIdx::new(edge.1))]).unwrap();
    EliteRow {
        structure: Structure::of(&dag),
        score: LogScore::new(score),
    }
}

fn plan(pace: Pace, budget: Budget) -> SearchPlan {
    SearchPlan {
        chains: ChainCount::Fixed(3),
        seed: Seed(1),
        budget,
        pace,
        keying: Keying::ByClass,
        cooperation: Cooperation::On,
        snapshots: match pace {
            Pace::Lockstep => Snapshots::EveryRound,
            Pace::Free => Snapshots::Never,
        },
        lease: LEASE,
        replicates: 0,
        chain_memory: ChainMemory::default(),
        most_per_round: u64::MAX,
    }
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn hello(incarnation: u64) -> Hello {
    Hello {
        incarnation: Incarnation(incarnation),
        replaces: None,
        host: "here".into(),
        threads: 1,
        memory: None,
        program_version: "1".into(),
        chains: Vec::new(),
        search: None,
        work: Work::Search,
        peer: None,
    }
}

/// A state and what a worker of it would do.
struct Driven {
    state: State,
    commands: Vec<Command>,
}

impl Driven {
    fn new(plan: SearchPlan) -> Self {
        Self {
            state: State::new(plan),
            commands: Vec::new(),
        }
    }

    fn apply(&mut self, now: u64, event: Event) -> &[Command] {
        self.commands = self.state.apply(seconds(now), event);
        &self.commands
    }

    fn join(&mut self, now: u64, incarnation: u64) -> Welcome {
        self.apply(now, Event::Join(hello(incarnation)));
        self.state.welcome(Incarnation(incarnation)).unwrap()
    }

    fn exchange(
        &mut self,
        now: u64,
        welcome: &Welcome,
        by: u64,
        reports: Vec<ChainReport>,
    ) -> Result<Reply, Refusal> {
        let asked: Vec<(ChainId, u64)> = reports
            .iter()
            .map(|report| (report.chain, report.sequence))
            .collect();
        let exchange = exchange(welcome.worker, by, reports);
        self.apply(now, Event::Exchange(exchange));
        self.state.reply(welcome.worker, Incarnation(by), &asked)
    }
}

fn exchange(worker: WorkerId, by: u64, reports: Vec<ChainReport>) -> Exchange {
    Exchange {
        worker,
        incarnation: Incarnation(by),
        work: Work::Search,
        reports,
        statistics: WorkerStatistics::default(),
    }
}

fn report(chain: u32, sequence: u64, evaluations: u64, rows: &[(Found, EliteRow)]) -> ChainReport {
    let saved = SavedChain {
        iterations: sequence,
        own: Fields::default().with_integer("chain", u64::from(chain)),
        ..SavedChain::default()
    };
    ChainReport {
        chain: ChainId(chain),
        sequence,
        finds: rows.to_vec(),
        counters: ChainCounters {
            evaluations,
            iterations: evaluations / 10,
            ..Default::default()
        },
        wants_seeds: true,
        status: ChainStatus::Running,
        snapshot: Some(Snapshot::new(encode_chain(&saved))),
    }
}

fn best(edge: (usize, usize), score: f64) -> Vec<(Found, EliteRow)> {
    vec![(Found::Best, row(edge, score))]
}

fn chains_of(orders: &[ChainOrder]) -> Vec<u32> {
    orders.iter().map(|order| order.chain.0).collect()
}

fn answered(reply: &Reply) -> Vec<u32> {
    reply.answers.iter().map(|(chain, _, _)| chain.0).collect()
}

#[test]
fn a_worker_that_joins_twice_is_one_worker() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    let first = driven.join(0, 7);
    assert_eq!(chains_of(&first.orders), [0, 1, 2]);
    assert_eq!(driven.join(1, 7), first);
    assert_eq!(driven.state.view(seconds(1), None).workers.len(), 1);
}

#[test]
fn the_curve_has_time_and_evaluations_of_every_record() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    let worker = driven.join(0, 1);
    for (now, score) in [(1, -5.0), (2, -6.0), (3, -4.0)] {
        let reports = vec![report(0, now, 10 * now, &best((0, 1), score))];
        driven.exchange(now, &worker, 1, reports).unwrap();
    }
    let point = |at, evaluations, score| CurvePoint {
        at: seconds(at),
        evaluations,
        score: LogScore::new(score),
    };
    let curve = driven.state.view(seconds(3), None).curve;
    assert_eq!(curve, [point(1, 10, -5.0), point(3, 30, -4.0)]);
}

#[test]
fn in_lockstep_nobody_is_answered_before_all_have_reported() {
    let mut driven = Driven::new(plan(Pace::Lockstep, Budget::default()));
    let worker = driven.join(0, 1);
    for chain in [2, 0] {
        let reply = driven.exchange(
            1,
            &worker,
            1,
            vec![report(chain, 0, 10, &best((0, 1), -5.0))],
        );
        assert!(answered(&reply.unwrap()).is_empty());
    }
    assert!(
        driven.state.best().is_none(),
        "nothing is merged before the round is complete"
    );
    let all: Vec<ChainReport> = (0..3)
        .map(|chain| report(chain, 0, 10, &best((0, 1), -5.0)))
        .collect();
    let reply = driven.exchange(1, &worker, 1, all).unwrap();
    assert_eq!(answered(&reply), [0, 1, 2]);
    assert_eq!(driven.state.round(), Round(1));
    let stored = driven
        .commands
        .iter()
        .filter(|c| matches!(c, Command::StoreChain(..)));
    assert_eq!(
        stored.count(),
        3,
        "every chain's state is stored with the round"
    );
}

#[test]
fn a_lockstep_report_without_a_state_does_not_count() {
    let mut driven = Driven::new(plan(Pace::Lockstep, Budget::default()));
    let worker = driven.join(0, 1);
    let bare = |chain| ChainReport {
        snapshot: None,
        ..report(chain, 0, 10, &[])
    };
    let reply = driven
        .exchange(1, &worker, 1, (0..3).map(bare).collect())
        .unwrap();
    assert!(answered(&reply).is_empty());
    assert_eq!(driven.state.round(), Round(0));
}

/// Returns which of the first workers holds a chain.
fn holder(driven: &Driven, chain: u32, workers: usize) -> usize {
    let holds = |at: &usize| {
        let welcome = driven.state.welcome(Incarnation(*at as u64 + 1)).unwrap();
        chains_of(&welcome.orders).contains(&chain)
    };
    (0..workers).find(holds).unwrap()
}

#[test]
fn the_order_of_reports_and_who_sends_them_change_nothing() {
    let outcome = |order: [u32; 3], workers: usize| {
        let mut driven = Driven::new(plan(Pace::Lockstep, Budget::default()));
        let joined: Vec<Welcome> = (1..=workers as u64)
            .map(|incarnation| driven.join(0, incarnation))
            .collect();
        let mut commands = Vec::new();
        for round in 0..5u64 {
            for (at, chain) in order.into_iter().enumerate() {
                let score = -10.0 * f64::from(chain + 1) + f64::from(u32::try_from(round).unwrap());
                let edge = (
                    chain as usize,
                    chain as usize + usize::try_from(round % 2).unwrap() + 1,
                );
                let finds = [(Found::Stalled, row(edge, score))];
                let by = holder(&driven, chain, workers);
                let other = &joined[at % workers];
                let report = report(chain, round, round * 100, &finds);
                if other.worker != joined[by].worker {
                    // Whoever does not hold the chain changes nothing.
                    let by = (at % workers) as u64 + 1;
                    let wrong = ChainReport {
                        counters: ChainCounters::default(),
                        ..report.clone()
                    };
                    let _ = driven.exchange(round, other, by, vec![wrong]);
                }
                let _ = driven.exchange(round, &joined[by], by as u64 + 1, vec![report]);
                let stored = driven.commands.iter().filter(|command| {
                    matches!(
                        command,
                        Command::StoreRows(_) | Command::StoreChain(..) | Command::Record(_)
                    )
                });
                commands.extend(stored.map(|command| format!("{command:?}")));
            }
        }
        (commands, format!("{:?}", driven.state.pool()))
    };
    let expected = outcome([0, 1, 2], 1);
    assert!(expected.0.len() > 20);
    assert_eq!(outcome([2, 1, 0], 1), expected);
    assert_eq!(outcome([1, 2, 0], 2), expected);
    assert_eq!(outcome([0, 2, 1], 3), expected);
}

#[test]
fn a_lost_workers_lockstep_chains_are_replayed_by_another() {
    let mut driven = Driven::new(plan(Pace::Lockstep, Budget::default()));
    let first = driven.join(0, 1);
    let reports = (0..3)
        .map(|chain| report(chain, 0, 10, &best((0, 1), -5.0)))
        .collect();
    driven.exchange(1, &first, 1, reports).unwrap();
    let second = driven.join(2, 2);
    assert_eq!(
        chains_of(&second.orders),
        [2],
        "three chains on two threads: two and one"
    );
    // The first worker never reports again.
    driven.exchange(9, &second, 2, vec![]).unwrap();
    driven.apply(12, Event::Tick);
    let reply = driven.exchange(13, &second, 2, vec![]).unwrap();
    assert_eq!(chains_of(&reply.orders), [0, 1, 2]);
    for order in &reply.orders {
        assert_eq!(order.sequence, 1);
        let Origin::Stored { digest, seeds } = &order.origin else {
            panic!("{order:?}");
        };
        assert_eq!(
            driven.state.snapshot(order.chain).unwrap().digest(),
            *digest
        );
        assert!(seeds.is_some(), "the seeds of the round come along");
    }
    // Told again until it is reported on.
    let again = driven.exchange(14, &second, 2, vec![]).unwrap();
    assert_eq!(again.orders, reply.orders);
}

#[test]
fn a_repeated_lockstep_report_gets_the_same_answer() {
    let mut driven = Driven::new(plan(Pace::Lockstep, Budget::default()));
    let worker = driven.join(0, 1);
    let reports: Vec<ChainReport> = (0..3)
        .map(|chain| report(chain, 0, 10, &best((0, 1), -5.0)))
        .collect();
    let reply = driven.exchange(1, &worker, 1, reports.clone()).unwrap();
    let again = driven.exchange(2, &worker, 1, reports).unwrap();
    assert_eq!(again.answers, reply.answers);
    assert_eq!(driven.state.round(), Round(1));
}

/// What a restart of the coordinator leaves.
fn restarted(driven: &Driven) -> Driven {
    restarted_at(1, driven)
}

fn restarted_at(now: u64, driven: &Driven) -> Driven {
    let stored = Stored {
        pool: driven.state.pool().clone(),
        progress: driven.state.progress(seconds(now)),
        chains: driven.state.stored_chains().collect(),
        replicates: BTreeMap::new(),
    };
    Driven {
        state: State::recovered(*driven.state.plan(), stored),
        commands: Vec::new(),
    }
}

#[test]
fn an_end_outlives_a_restart_before_the_workers_have_left() {
    let budget = Budget {
        target: Some(LogScore::new(-5.0)),
        ..Budget::default()
    };
    for pace in [Pace::Free, Pace::Lockstep] {
        let mut driven = Driven::new(plan(pace, budget));
        let worker = driven.join(0, 1);
        let all = (0..3).map(|chain| report(chain, 0, 10, &best((0, 1), -5.0)));
        let reply = driven.exchange(1, &worker, 1, all.collect()).unwrap();
        assert_eq!(reply.stopped_by, Some(StoppedBy::Target));
        assert!(!driven.state.is_finished());
        let again = restarted(&driven);
        assert_eq!(again.state.stopped_by(), Some(StoppedBy::Target));
    }
}

/// Workers keep searching until they know of the end; what they find until then is taken.
#[test]
fn an_end_by_stagnation_outlives_a_record_that_came_after_it() {
    let budget = Budget {
        stagnation: Some(Stagnation::Time(seconds(5))),
        ..Budget::default()
    };
    let mut driven = Driven::new(plan(Pace::Free, budget));
    let worker = driven.join(0, 1);
    let first = report(0, 0, 10, &best((0, 1), -5.0));
    driven.exchange(1, &worker, 1, vec![first]).unwrap();
    driven.apply(7, Event::Tick);
    assert_eq!(driven.state.stopped_by(), Some(StoppedBy::Stagnation));
    let late = report(0, 1, 20, &best((0, 2), -4.0));
    driven.exchange(8, &worker, 1, vec![late]).unwrap();
    let again = restarted_at(8, &driven);
    assert_eq!(again.state.stopped_by(), Some(StoppedBy::Stagnation));
    let best = again.state.best().unwrap();
    assert_eq!(best.score, LogScore::new(-4.0));
}

#[test]
fn a_lockstep_chain_that_moved_is_reported_by_its_new_worker() {
    let mut driven = Driven::new(plan(Pace::Lockstep, Budget::default()));
    let first = driven.join(0, 1);
    let second = driven.join(0, 2);
    assert_eq!(chains_of(&second.orders), [2]);
    // The first worker does not know yet that a chain has moved.
    let all = (0..3).map(|chain| report(chain, 0, 10, &[])).collect();
    let reply = driven.exchange(1, &first, 1, all).unwrap();
    let revoked = (ChainId(2), 0, Answer::Revoke);
    assert_eq!(reply.answers, [revoked]);
    assert_eq!(driven.state.round(), Round(0));
    let reply = driven.exchange(1, &second, 2, Vec::new()).unwrap();
    assert_eq!(chains_of(&reply.orders), [2]);
    let reports = vec![report(2, 0, 10, &[])];
    driven.exchange(2, &second, 2, reports).unwrap();
    assert_eq!(driven.state.round(), Round(1));
}

#[test]
fn work_that_is_reported_again_after_a_restart_counts_once() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    let worker = driven.join(0, 7);
    let reports = vec![report(0, 0, 100, &[])];
    driven.exchange(1, &worker, 7, reports).unwrap();
    let mut driven = restarted(&driven);
    assert_eq!(driven.state.counters().evaluations, 100);
    let worker = driven.join(0, 7);
    let reports = vec![report(0, 1, 150, &[])];
    driven.exchange(1, &worker, 7, reports).unwrap();
    assert_eq!(driven.state.counters().evaluations, 150);
}

#[test]
fn a_recovered_lockstep_search_goes_on_in_the_same_round_with_the_same_seeds() {
    let mut driven = Driven::new(plan(Pace::Lockstep, Budget::default()));
    let worker = driven.join(0, 1);
    let reports = (0..3)
        .map(|chain| {
            report(
                chain,
                0,
                10,
                &best((chain as usize, 4), -5.0 - f64::from(chain)),
            )
        })
        .collect();
    let reply = driven.exchange(1, &worker, 1, reports).unwrap();
    let stored = Stored {
        pool: driven.state.pool().clone(),
        progress: driven.state.progress(seconds(1)),
        chains: driven.state.stored_chains().collect(),
        replicates: BTreeMap::new(),
    };
    let mut driven = Driven {
        state: State::recovered(plan(Pace::Lockstep, Budget::default()), stored),
        commands: Vec::new(),
    };
    let again = driven.join(0, 9);
    assert_eq!(driven.state.round(), Round(1));
    for (order, (chain, _, answer)) in again.orders.iter().zip(&reply.answers) {
        assert_eq!(order.chain, *chain);
        let Answer::Continue { seeds: before, .. } = answer else {
            panic!()
        };
        let Origin::Stored { seeds, .. } = &order.origin else {
            panic!()
        };
        assert_eq!(seeds, before);
    }
    assert_eq!(driven.state.counters().evaluations, 30);
}

#[test]
fn free_running_chains_are_answered_at_once_and_rows_are_stored() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    let worker = driven.join(0, 1);
    let reply = driven
        .exchange(1, &worker, 1, vec![report(1, 0, 10, &best((0, 1), -5.0))])
        .unwrap();
    assert_eq!(answered(&reply), [1]);
    assert!(matches!(driven.commands[0], Command::StoreRows(_)));
    assert!(
        driven
            .commands
            .iter()
            .any(|command| matches!(command, Command::Record(_)))
    );
}

#[test]
fn a_repeated_or_late_report_changes_nothing() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    let worker = driven.join(0, 1);
    let newer = report(1, 5, 500, &best((0, 1), -5.0));
    let older = report(1, 2, 100, &best((0, 1), -5.0));
    let reply = driven.exchange(1, &worker, 1, vec![newer.clone()]).unwrap();
    let pool = driven.state.pool().clone();
    for late in [older, newer.clone()] {
        driven.exchange(2, &worker, 1, vec![late]).unwrap();
        assert!(
            !driven
                .commands
                .iter()
                .any(|command| matches!(command, Command::StoreRows(_))),
            "nothing new to store"
        );
    }
    assert_eq!(*driven.state.pool(), pool);
    assert_eq!(driven.state.counters().evaluations, 500);
    // Answered twice in a row, the same seeds come back.
    driven.exchange(3, &worker, 1, vec![newer.clone()]).unwrap();
    let again = driven.exchange(3, &worker, 1, vec![newer]).unwrap();
    assert_eq!(again.answers[0].0, reply.answers[0].0);
}

#[test]
fn a_late_report_of_a_lost_worker_merges_like_any_other() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    let worker = driven.join(0, 1);
    driven.apply(30, Event::Tick);
    assert!(!driven.state.view(seconds(30), None).workers[0].is_alive);
    let refused = driven.exchange(31, &worker, 1, vec![report(0, 4, 10, &best((0, 1), -5.0))]);
    assert_eq!(refused, Err(Refusal::UnknownWorker));
    assert_eq!(driven.state.best().unwrap().score, LogScore::new(-5.0));
    let back = driven.join(32, 1);
    assert_eq!(chains_of(&back.orders), [0, 1, 2]);
}

#[test]
fn the_end_waits_for_workers_that_lost_touch_but_not_for_ever() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    let [first, second, third] = [1, 2, 3].map(|worker| driven.join(0, worker));
    driven.apply(60, Event::Tick);
    // All are lost. One is back, one is started again, and the last stays silent.
    driven.join(61, 1);
    let mut again = hello(4);
    again.replaces = Some(Incarnation(2));
    driven.apply(61, Event::Join(again));
    driven.apply(62, Event::Stop(StoppedBy::Stop));
    for (worker, by) in [(first.worker, 1), (WorkerId(second.worker.0 + 2), 4)] {
        driven.apply(63, Event::Leave(exchange(worker, by, vec![])));
    }
    assert!(driven.state.is_finished());
    assert!(!driven.state.all_workers_informed(seconds(63)));
    assert!(
        driven
            .state
            .all_workers_informed(seconds(62) + RECONNECT_WINDOW)
    );
    assert_eq!(driven.join(64, 3).stopped_by, Some(StoppedBy::Stop));
    assert!(
        !driven.state.all_workers_informed(seconds(64)),
        "its rows are to come"
    );
    let last = vec![report(0, 1, 10, &best((0, 1), -5.0))];
    driven.apply(65, Event::Leave(exchange(third.worker, 3, last)));
    assert!(driven.state.all_workers_informed(seconds(65)));
    assert_eq!(driven.state.best().unwrap().score, LogScore::new(-5.0));
}

#[test]
fn after_a_restart_the_end_waits_for_workers_that_nobody_knows_of() {
    let plan = plan(Pace::Free, Budget::default());
    let stored = Stored {
        pool: Pool::new(plan.keying),
        progress: State::new(plan).progress(Duration::ZERO),
        chains: BTreeMap::new(),
        replicates: BTreeMap::new(),
    };
    let mut state = State::recovered(plan, stored);
    state.apply(seconds(1), Event::Stop(StoppedBy::Stop));
    assert!(state.is_finished() && !state.all_workers_informed(seconds(1)));
    assert!(state.all_workers_informed(RECONNECT_WINDOW));
}

#[test]
fn counters_of_two_worker_processes_add_up() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    let first = driven.join(0, 1);
    driven
        .exchange(1, &first, 1, vec![report(0, 0, 700, &[])])
        .unwrap();
    let mut second = hello(2);
    second.replaces = Some(Incarnation(1));
    driven.apply(2, Event::Join(second));
    let second = driven.state.welcome(Incarnation(2)).unwrap();
    assert_eq!(
        chains_of(&second.orders),
        [0, 1, 2],
        "what it was before is over at once"
    );
    driven
        .exchange(3, &second, 2, vec![report(0, 0, 50, &[])])
        .unwrap();
    let _ = driven.exchange(4, &first, 1, vec![report(0, 1, 720, &[])]);
    assert_eq!(driven.state.counters().evaluations, 770);
}

/// A chain that left a worker and comes back to the same process is counted from 0 there again.
#[test]
fn reports_of_two_runs_in_one_worker_process_are_answered_and_their_counters_add_up() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    let worker = driven.join(0, 1);
    let mut tell = |now, run, number, evaluations| {
        let sequence = RunSequence::first(run) + number;
        let reports = vec![report(0, sequence, evaluations, &[])];
        let reply = driven.exchange(now, &worker, 1, reports).unwrap();
        assert_eq!(answered(&reply), [0], "run {run}");
        driven.state.counters().evaluations
    };
    assert_eq!(tell(1, 0, 0, 700), 700);
    assert_eq!(tell(2, 1, 0, 50), 750);
    assert_eq!(tell(3, 1, 1, 60), 760);
    // Late and repeated ones of both.
    assert_eq!(tell(4, 0, 1, 720), 780);
    assert_eq!(tell(5, 1, 0, 50), 780);
}

/// A late report of an earlier run looks like one of the run that was ordered and never begun.
#[test]
fn the_order_of_a_chain_that_is_silent_for_long_is_repeated() {
    for pace in [Pace::Lockstep, Pace::Free] {
        let mut driven = Driven::new(plan(pace, Budget::default()));
        let worker = driven.join(0, 1);
        let reports = |number| move |chain| report(chain, number, 10 * (number + 1), &[]);
        let all = (0..3).map(reports(0)).collect();
        let reply = driven.exchange(1, &worker, 1, all).unwrap();
        assert_eq!(chains_of(&reply.orders), [] as [u32; 0]);
        let mut repeated = Vec::new();
        for now in (2..).step_by(2).take(15) {
            driven.apply(now, Event::Tick);
            let others = (1..3).map(reports(1)).collect();
            let reply = driven.exchange(now, &worker, 1, others).unwrap();
            repeated.extend(chains_of(&reply.orders));
        }
        assert!(!repeated.is_empty(), "{pace:?}");
        assert!(repeated.iter().all(|&chain| chain == 0), "{pace:?}");
        let back = vec![reports(1)(0)];
        let reply = driven.exchange(33, &worker, 1, back).unwrap();
        assert_eq!(chains_of(&reply.orders), [] as [u32; 0], "{pace:?}");
    }
}

/// Without an answer its worker would send the report again and again, and the chain get no seeds.
#[test]
fn a_chain_that_came_back_to_a_worker_process_is_answered() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    let worker = driven.join(0, 1);
    for sequence in [0, RunSequence::first(1), RunSequence::first(1) + 1] {
        let reports = vec![report(0, sequence, 10, &[])];
        let first = driven.exchange(1, &worker, 1, reports.clone()).unwrap();
        assert_eq!(answered(&first), [0], "report {sequence}");
        let again = driven.exchange(2, &worker, 1, reports).unwrap();
        assert_eq!(again.answers, first.answers, "the same answer again");
    }
}

#[test]
fn only_a_chain_that_wants_seeds_gets_them_and_lonely_ones_never_do() {
    for (cooperation, finder, wants, gets) in [
        (Cooperation::On, 0, true, true),
        (Cooperation::On, 0, false, false),
        (Cooperation::On, 1, true, false),
        (Cooperation::Off, 0, true, false),
    ] {
        let mut driven = Driven::new(SearchPlan {
            cooperation,
            ..plan(Pace::Free, Budget::default())
        });
        let worker = driven.join(0, 1);
        let found = report(finder, 0, 10, &best((0, 1), -5.0));
        driven.exchange(1, &worker, 1, vec![found]).unwrap();
        let mut asks = report(1, 1, 10, &[]);
        asks.wants_seeds = wants;
        let reply = driven.exchange(2, &worker, 1, vec![asks]).unwrap();
        let seeded = matches!(&reply.answers[0].2, Answer::Continue { seeds: Some(_), .. });
        assert_eq!(seeded, gets, "{cooperation:?}, found by {finder}");
    }
}

#[test]
fn a_budget_ends_the_search_for_every_chain_and_waits_for_the_workers() {
    let budget = Budget {
        target: Some(LogScore::new(-5.0)),
        ..Budget::default()
    };
    let mut driven = Driven::new(plan(Pace::Lockstep, budget));
    let worker = driven.join(0, 1);
    let reports = vec![
        report(0, 0, 10, &best((0, 1), -9.0)),
        report(1, 0, 10, &best((0, 1), -4.0)),
        report(2, 0, 10, &best((0, 1), -8.0)),
    ];
    let reply = driven.exchange(1, &worker, 1, reports).unwrap();
    assert_eq!(reply.stopped_by, Some(StoppedBy::Target));
    assert!(
        reply
            .answers
            .iter()
            .all(|(_, _, answer)| *answer == Answer::Stop)
    );
    assert!(!driven.state.is_finished());
    driven.apply(2, Event::Leave(exchange(worker.worker, 1, vec![])));
    assert!(matches!(
        driven.commands.last(),
        Some(Command::Finished(StoppedBy::Target))
    ));
    // A worker that joins now learns of the end.
    assert_eq!(driven.join(3, 5).stopped_by, Some(StoppedBy::Target));
    assert_eq!(driven.state.view(seconds(3), None).stage, Stage::Finished);
}

#[test]
fn a_search_ends_without_workers_that_do_not_answer() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    driven.join(0, 1);
    driven.apply(1, Event::Stop(StoppedBy::Stop));
    assert!(!driven.state.is_finished());
    driven.apply(12, Event::Tick);
    assert!(driven.state.is_finished());
}

#[test]
fn time_is_counted_only_while_somebody_searches() {
    let budget = Budget {
        time: Some(seconds(5)),
        ..Budget::default()
    };
    let mut driven = Driven::new(plan(Pace::Free, budget));
    driven.apply(100, Event::Tick);
    assert_eq!(driven.state.stopped_by(), None);
    let worker = driven.join(100, 1);
    driven.apply(103, Event::Leave(exchange(worker.worker, 1, vec![])));
    driven.apply(200, Event::Tick);
    assert_eq!(driven.state.elapsed(seconds(200)), seconds(3));
    driven.join(200, 2);
    driven.apply(201, Event::Tick);
    assert_eq!(driven.state.stopped_by(), None);
    driven.apply(202, Event::Tick);
    assert_eq!(driven.state.stopped_by(), Some(StoppedBy::Time));
}

#[test]
fn processor_time_ends_a_search_and_is_kept_over_a_restart() {
    let limited = |limit: u64| {
        let budget = Budget {
            cpu_time: Some(seconds(limit)),
            ..Budget::default()
        };
        plan(Pace::Free, budget)
    };
    let mut driven = Driven::new(limited(5));
    driven.join(0, 1);
    driven.apply(100, Event::Tick);
    assert_eq!(driven.state.stopped_by(), None, "nobody told how much");
    driven.apply(100, Event::CpuTime(seconds(4)));
    driven.apply(100, Event::Tick);
    assert_eq!(driven.state.stopped_by(), None);
    driven.apply(101, Event::CpuTime(seconds(5)));
    let halts = driven.apply(101, Event::Tick).contains(&Command::Halt);
    assert!(halts, "chains end at their next step");
    assert_eq!(driven.state.stopped_by(), Some(StoppedBy::CpuTime));
    for (limit, ended) in [(5, Some(StoppedBy::CpuTime)), (6, None)] {
        let stored = Stored {
            pool: Pool::new(Keying::ByClass),
            progress: driven.state.progress(seconds(101)),
            chains: BTreeMap::new(),
            replicates: BTreeMap::new(),
        };
        let resumed = State::recovered(limited(limit), stored);
        assert_eq!(resumed.spent(Duration::ZERO).cpu_time, Some(seconds(5)));
        assert_eq!(resumed.stopped_by(), ended, "a limit of {limit} s");
    }
}

#[test]
fn shares_add_up_to_the_budget() {
    for budget in [0, 1, 2, 3, 100, 101, 1_000_003] {
        let limits = Budget {
            evaluations: Some(budget),
            ..Budget::default()
        };
        let mut driven = Driven::new(plan(Pace::Free, limits));
        let welcome = driven.join(0, 1);
        let sum: u64 = welcome
            .orders
            .iter()
            .filter_map(|order| order.evaluations)
            .sum();
        assert_eq!(sum, budget);
        assert!(
            welcome
                .orders
                .iter()
                .all(|order| order.iterations.is_none())
        );
    }
}

#[test]
fn a_search_whose_chains_have_nothing_left_is_exhausted() {
    for pace in [Pace::Lockstep, Pace::Free] {
        let mut driven = Driven::new(plan(pace, Budget::default()));
        let worker = driven.join(0, 1);
        let done = |chain| ChainReport {
            status: ChainStatus::Exhausted,
            ..report(chain, 0, 10, &[])
        };
        let reply = driven
            .exchange(1, &worker, 1, (0..3).map(done).collect())
            .unwrap();
        assert_eq!(reply.stopped_by, Some(StoppedBy::Exhausted), "{pace:?}");
    }
}

#[test]
fn chains_that_can_not_be_are_refused() {
    let driven = Driven::new(plan(Pace::Free, Budget::default()));
    let wrong = exchange(WorkerId(1), 1, vec![report(3, 0, 10, &[])]);
    assert_eq!(
        driven.state.check(&wrong),
        Err(Refusal::UnknownChain(ChainId(3)))
    );
    let open = SearchPlan {
        chains: ChainCount::PerThread(2),
        ..plan(Pace::Free, Budget::default())
    };
    let driven = Driven::new(open);
    let far = exchange(WorkerId(1), 1, vec![report(MAX_CHAINS, 0, 10, &[])]);
    assert!(driven.state.check(&far).is_err());
}

#[test]
fn after_the_loss_of_the_disk_workers_bring_their_chains_and_rows() {
    let open = SearchPlan {
        chains: ChainCount::PerThread(2),
        ..plan(Pace::Free, Budget::default())
    };
    let mut driven = Driven::new(open);
    let stranger = Welcome {
        worker: WorkerId(9),
        lease: LEASE,
        orders: vec![],
        stopped_by: None,
        work: Work::Search,
        more_work: false,
    };
    let refused = driven.exchange(
        1,
        &stranger,
        9,
        vec![report(40, 3, 10, &best((0, 1), -5.0))],
    );
    assert_eq!(refused, Err(Refusal::UnknownWorker));
    assert_eq!(driven.state.best().unwrap().score, LogScore::new(-5.0));
    let mut back = hello(9);
    back.chains = vec![ChainId(40), ChainId(41)];
    driven.apply(2, Event::Join(back));
    let welcome = driven.state.welcome(Incarnation(9)).unwrap();
    assert_eq!(chains_of(&welcome.orders), [40, 41]);
}

#[test]
fn the_best_never_goes_down() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    let worker = driven.join(0, 1);
    let mut shown = f64::NEG_INFINITY;
    for step in 0..200u32 {
        let score = -f64::from(step.wrapping_mul(2_654_435_761) % 1000);
        let edge = ((step % 5) as usize, (step % 5) as usize + 1);
        let report = report(step % 3, u64::from(step), 10, &best(edge, score));
        driven.exchange(1, &worker, 1, vec![report]).unwrap();
        let best = driven.state.best().unwrap().score.value();
        assert!(best >= shown);
        shown = best;
    }
}

/// How a worker goes in the middle of a round.
#[derive(Clone, Copy, Debug)]
enum Goes {
    /// It stays silent.
    Lost,
    /// It leaves with a last message.
    Drained,
    /// It is started again.
    Replaced,
}

#[test]
fn a_lockstep_round_that_a_stop_came_in_is_finished_by_those_who_are_left() {
    for goes in [Goes::Lost, Goes::Drained, Goes::Replaced] {
        let mut driven = Driven::new(plan(Pace::Lockstep, Budget::default()));
        let first = driven.join(0, 1);
        let all = (0..3).map(|chain| report(chain, 0, 10, &[])).collect();
        driven.exchange(1, &first, 1, all).unwrap();
        let second = driven.join(1, 2);
        assert_eq!(chains_of(&second.orders), [2]);
        driven.apply(2, Event::Stop(StoppedBy::Stop));
        driven
            .exchange(9, &first, 1, vec![report(0, 1, 20, &[])])
            .unwrap();
        match goes {
            Goes::Lost => driven.apply(12, Event::Tick),
            Goes::Drained => driven.apply(12, Event::Leave(exchange(second.worker, 2, vec![]))),
            Goes::Replaced => {
                let mut again = hello(3);
                again.replaces = Some(Incarnation(2));
                driven.apply(12, Event::Join(again))
            }
        };
        let reply = driven.exchange(13, &first, 1, vec![]).unwrap();
        assert_eq!(
            reply.stopped_by, None,
            "it is needed until the round is over"
        );
        assert!(chains_of(&reply.orders).contains(&2), "{goes:?}: {reply:?}");
        let rest = vec![report(1, 1, 20, &[]), report(2, 1, 20, &[])];
        let reply = driven.exchange(40, &first, 1, rest).unwrap();
        assert_eq!(reply.stopped_by, Some(StoppedBy::Stop));
        assert!(
            reply
                .answers
                .iter()
                .all(|(.., answer)| *answer == Answer::Stop),
            "{goes:?}: {reply:?}"
        );
        assert_eq!(answered(&reply), [1, 2], "{goes:?}");
        assert_eq!(driven.state.round(), Round(2));
        assert!(
            !driven.state.is_finished(),
            "the last reports have their time from the round's end on"
        );
        driven.apply(41, Event::Leave(exchange(first.worker, 1, vec![])));
        assert!(driven.state.is_finished(), "{goes:?}");
    }
}

#[test]
fn an_order_that_a_stop_overtook_is_told_all_the_same() {
    let mut driven = Driven::new(plan(Pace::Lockstep, Budget::default()));
    let first = driven.join(0, 1);
    let second = driven.join(0, 2);
    driven.apply(1, Event::Leave(exchange(first.worker, 1, vec![])));
    driven.apply(1, Event::Stop(StoppedBy::Time));
    let reply = driven.exchange(2, &second, 2, vec![]).unwrap();
    assert_eq!(chains_of(&reply.orders), [0, 1, 2]);
}

#[test]
fn a_round_that_nobody_finished_is_no_part_of_a_finished_search() {
    let mut driven = Driven::new(plan(Pace::Lockstep, Budget::default()));
    let worker = driven.join(0, 1);
    driven.apply(1, Event::Stop(StoppedBy::Stop));
    driven.apply(20, Event::Tick);
    assert!(driven.state.is_finished());
    let late = (0..3).map(|chain| report(chain, 0, 10, &best((0, 1), -5.0)));
    let refused = driven.exchange(21, &worker, 1, late.collect());
    assert_eq!(refused, Err(Refusal::UnknownWorker));
    assert_eq!(driven.state.round(), Round(0));
    assert!(driven.state.best().is_none());
}

#[test]
fn a_record_that_is_newer_than_the_stored_chains_does_not_end_the_search() {
    let budget = Budget {
        stagnation: Some(Stagnation::Evaluations(40)),
        ..Budget::default()
    };
    let plan = SearchPlan {
        snapshots: Snapshots::Every(seconds(100)),
        ..plan(Pace::Lockstep, budget)
    };
    let mut driven = Driven::new(plan);
    let worker = driven.join(0, 1);
    let round = |round: u64, score: f64| {
        let finds = best((0, 1), score);
        let reports = (0..3).map(|chain| report(chain, round, 10 * (round + 1), &finds));
        reports.collect::<Vec<_>>()
    };
    driven.exchange(101, &worker, 1, round(0, -9.0)).unwrap();
    let chains = driven.state.stored_chains().collect();
    driven.exchange(102, &worker, 1, round(1, -5.0)).unwrap();
    assert!(driven.state.record().unwrap().evaluations > 30);
    let stored = Stored {
        pool: driven.state.pool().clone(),
        progress: driven.state.progress(seconds(102)),
        chains,
        replicates: BTreeMap::new(),
    };
    let mut state = State::recovered(plan, stored);
    assert_eq!(state.counters().evaluations, 30);
    assert_eq!(state.record().unwrap().evaluations, 30);
    assert_eq!(state.view(Duration::ZERO, None).curve[0].evaluations, 30);
    state.apply(seconds(0), Event::Tick);
    assert_eq!(state.stopped_by(), None);
}

#[test]
fn chains_that_somebody_made_up_take_no_places_and_are_not_stored() {
    let open = SearchPlan {
        chains: ChainCount::PerThread(2),
        ..plan(Pace::Free, Budget::default())
    };
    let mut driven = Driven::new(open);
    let first = driven.join(0, 1);
    assert_eq!(chains_of(&first.orders), [0, 1]);
    let made_up = vec![report(MAX_CHAINS - 1, 0, 10, &best((0, 1), -5.0))];
    let reply = driven.exchange(1, &first, 1, made_up).unwrap();
    assert_eq!(reply.answers[0].2, Answer::Revoke, "it must drop the chain");
    assert_eq!(driven.state.chain_count(), 2);
    assert_eq!(driven.state.counters().evaluations, 0);
    let stored = driven.commands.iter();
    assert_eq!(
        stored
            .filter(|command| matches!(command, Command::StoreOverall(rows) if rows.len() == 1))
            .count(),
        1,
        "its row is as good as any other"
    );
    assert_eq!(driven.state.best().unwrap().score, LogScore::new(-5.0));

    let mut second = hello(2);
    second.chains = (0..1000).map(|at| ChainId(MAX_CHAINS - 1 - at)).collect();
    driven.apply(2, Event::Join(second));
    assert_eq!(driven.state.chain_count(), 4, "no more than it can run");
    let third = driven.join(3, 3);
    assert_eq!(chains_of(&third.orders), [2, 3]);
    assert!(restarted(&driven).state.chain_count() <= 6);
}

#[test]
fn a_restart_knows_the_chains_that_have_done_something() {
    let open = SearchPlan {
        chains: ChainCount::PerThread(2),
        ..plan(Pace::Free, Budget::default())
    };
    let mut driven = Driven::new(open);
    let mut back = hello(9);
    back.chains = vec![ChainId(40), ChainId(41)];
    driven.apply(0, Event::Join(back));
    let worker = driven.state.welcome(Incarnation(9)).unwrap();
    let reports = vec![
        report(40, 0, 10, &best((0, 1), -5.0)),
        report(41, 0, 20, &[]),
    ];
    driven.exchange(1, &worker, 9, reports).unwrap();
    let mut again = restarted(&driven);
    assert_eq!(again.state.counters().evaluations, 30);
    let other = again.join(1, 10);
    assert_eq!(chains_of(&other.orders), [40, 41]);
}

#[test]
fn a_late_report_of_a_process_of_long_ago_counts_once_also_after_a_restart() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    for incarnation in 1..=30 {
        let mut next = hello(incarnation);
        next.replaces = (incarnation > 1).then(|| Incarnation(incarnation - 1));
        driven.apply(incarnation, Event::Join(next));
        let worker = driven.state.welcome(Incarnation(incarnation)).unwrap();
        let reports = vec![report(0, 0, 100, &[])];
        driven
            .exchange(incarnation, &worker, incarnation, reports)
            .unwrap();
    }
    assert_eq!(driven.state.counters().evaluations, 3000);
    for _ in 0..2 {
        for incarnation in 1..=30 {
            let late = exchange(
                WorkerId(incarnation),
                incarnation,
                vec![report(0, 0, 100, &[])],
            );
            driven.apply(31, Event::Exchange(late));
        }
        assert_eq!(driven.state.counters().evaluations, 3000);
        driven = restarted(&driven);
    }
}

#[test]
fn a_lost_workers_chains_are_run_by_one_whose_own_are_done() {
    let open = SearchPlan {
        chains: ChainCount::PerThread(2),
        ..plan(Pace::Free, Budget::default())
    };
    let mut driven = Driven::new(open);
    let first = driven.join(0, 1);
    let second = driven.join(0, 2);
    let reports = [2, 3].map(|chain| report(chain, 0, 10, &best((0, 1), -5.0)));
    driven.exchange(0, &second, 2, reports.to_vec()).unwrap();
    driven.exchange(9, &first, 1, vec![]).unwrap();
    driven.apply(11, Event::Tick);
    let done = |chain| ChainReport {
        status: ChainStatus::Exhausted,
        ..report(chain, 0, 10, &[])
    };
    let reply = driven.exchange(12, &first, 1, vec![done(0)]).unwrap();
    assert_eq!(chains_of(&reply.orders), [1, 2]);
    let reply = driven.exchange(13, &first, 1, vec![done(1)]).unwrap();
    assert_eq!(chains_of(&reply.orders), [2, 3]);
    let reply = driven.exchange(14, &first, 1, vec![done(2)]).unwrap();
    assert_eq!(reply.stopped_by, None);
    assert_eq!(driven.state.chain_count(), 4, "no new chains");
    let reply = driven.exchange(15, &first, 1, vec![done(3)]).unwrap();
    assert_eq!(reply.stopped_by, Some(StoppedBy::Exhausted));
}

#[test]
fn the_view_says_what_is_left_of_counted_budgets() {
    let limits = Budget {
        evaluations: Some(100),
        iterations: Some(50),
        ..Budget::default()
    };
    let mut driven = Driven::new(plan(Pace::Free, limits));
    let worker = driven.join(0, 1);
    let reports = vec![report(0, 0, 30, &[])];
    driven.exchange(1, &worker, 1, reports).unwrap();
    let view = driven.state.view(seconds(1), None);
    assert_eq!(view.evaluations_left, Some(70));
    assert_eq!(view.iterations_left, Some(47));
    let open = State::new(plan(Pace::Free, Budget::default()));
    let view = open.view(seconds(1), None);
    assert_eq!((view.evaluations_left, view.iterations_left), (None, None));
}

#[test]
fn counters_of_strangers_do_not_count_but_their_rows_do() {
    let budget = Budget {
        evaluations: Some(1000),
        ..Budget::default()
    };
    let mut driven = Driven::new(plan(Pace::Free, budget));
    let welcome = driven.join(0, 1);
    let forged = exchange(
        WorkerId(77),
        9,
        vec![report(0, 1, u64::MAX, &best((0, 1), -5.0))],
    );
    for event in [Event::Exchange(forged.clone()), Event::Leave(forged)] {
        driven.apply(1, event);
        assert_eq!(driven.state.counters().evaluations, 0);
        assert_eq!(driven.state.stopped_by(), None);
        assert_eq!(driven.state.best().unwrap().score, LogScore::new(-5.0));
    }
    // A member that was lost is known: what it did still counts.
    driven
        .exchange(2, &welcome, 1, vec![report(0, 1, 100, &[])])
        .unwrap();
    driven.apply(60, Event::Tick);
    let late = exchange(welcome.worker, 1, vec![report(0, 2, 150, &[])]);
    driven.apply(61, Event::Leave(late));
    assert_eq!(driven.state.counters().evaluations, 150);
}
