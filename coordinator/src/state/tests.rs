use super::*;
use rlbayes_common::elite::{Found, Keying, Structure};
use rlbayes_common::exchange::{
    Answer, ChainOrder, ChainReport, Exchange, Hello, Origin, Reply, Snapshot, Standing, Welcome,
    WorkerStatistics,
};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::{NodeIdx, Seed, WorkerId};
use rlbayes_common::search::{Budget, SavedChain};
use rlbayes_common::snapshot::encode_chain;

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
    }
}

/// A budget that is never reached; none at all would end a search that stagnates.
fn endless() -> Budget {
    Budget {
        iterations: Some(u64::MAX),
        ..Budget::default()
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
        program_version: "1".into(),
        chains: Vec::new(),
        search: None,
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
        reports,
        statistics: WorkerStatistics::default(),
    }
}

fn report(chain: u32, sequence: u64, evaluations: u64, rows: &[(Found, EliteRow)]) -> ChainReport {
    let saved = SavedChain {
        iterations: sequence,
        integers: vec![u64::from(chain)],
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
        standing: Standing::Running,
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

#[test]
fn the_order_of_reports_and_who_sends_them_change_nothing() {
    let outcome = |order: [u32; 3], workers: usize| {
        let mut driven = Driven::new(plan(Pace::Lockstep, Budget::default()));
        let joined: Vec<Welcome> = (1..=workers as u64)
            .map(|incarnation| driven.join(0, incarnation))
            .collect();
        let mut told = Vec::new();
        for round in 0..5u64 {
            for (at, chain) in order.into_iter().enumerate() {
                let score = -10.0 * f64::from(chain + 1) + f64::from(u32::try_from(round).unwrap());
                let edge = (
                    chain as usize,
                    chain as usize + usize::try_from(round % 2).unwrap() + 1,
                );
                let finds = [(Found::Stalled, row(edge, score))];
                let by = at % workers;
                let report = report(chain, round, round * 100, &finds);
                let _ = driven.exchange(round, &joined[by], by as u64 + 1, vec![report]);
                let stored = driven.commands.iter().filter(|command| {
                    matches!(
                        command,
                        Command::StoreRows(_) | Command::StoreChain(..) | Command::Record(_)
                    )
                });
                told.extend(stored.map(|command| format!("{command:?}")));
            }
        }
        (told, format!("{:?}", driven.state.pool()))
    };
    let expected = outcome([0, 1, 2], 1);
    assert!(expected.0.len() > 20);
    assert_eq!(outcome([2, 1, 0], 1), expected);
    assert_eq!(outcome([1, 2, 0], 2), expected);
    assert_eq!(outcome([0, 2, 1], 3), expected);
}

#[test]
fn a_lost_workers_lockstep_chains_are_replayed_by_another() {
    let mut driven = Driven::new(plan(Pace::Lockstep, endless()));
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
    // The first worker is never heard of again.
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
    let stored = Stored {
        pool: driven.state.pool().clone(),
        progress: driven.state.progress(seconds(1)),
        chains: driven.state.stored_chains().collect(),
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

#[test]
fn a_chain_that_somebody_else_reported_begins_where_the_round_ended() {
    let mut driven = Driven::new(plan(Pace::Lockstep, endless()));
    let first = driven.join(0, 1);
    let second = driven.join(0, 2);
    assert!(!second.orders.is_empty());
    // The first worker has not heard yet that chains have moved, and finishes the round.
    let all = (0..3).map(|chain| report(chain, 0, 10, &[])).collect();
    driven.exchange(1, &first, 1, all).unwrap();
    assert_eq!(driven.state.round(), Round(1));
    let reply = driven.exchange(1, &second, 2, Vec::new()).unwrap();
    assert_eq!(chains_of(&reply.orders), chains_of(&second.orders));
    for order in &reply.orders {
        let snapshot = driven.state.snapshot(order.chain).unwrap();
        assert_eq!(order.sequence, 1);
        assert_eq!(
            order.origin,
            Origin::Stored {
                digest: snapshot.digest(),
                seeds: None
            }
        );
    }
}

#[test]
fn work_that_is_reported_again_after_a_restart_counts_once() {
    let mut driven = Driven::new(plan(Pace::Free, endless()));
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

#[test]
fn only_a_chain_that_wants_seeds_gets_them_and_lonely_ones_never_do() {
    for (cooperation, wants, gets) in [
        (Cooperation::On, true, true),
        (Cooperation::On, false, false),
        (Cooperation::Off, true, false),
    ] {
        let mut driven = Driven::new(SearchPlan {
            cooperation,
            ..plan(Pace::Free, Budget::default())
        });
        let worker = driven.join(0, 1);
        let mut report = report(1, 0, 10, &best((0, 1), -5.0));
        report.wants_seeds = wants;
        let reply = driven.exchange(1, &worker, 1, vec![report]).unwrap();
        let seeded = matches!(&reply.answers[0].2, Answer::Continue { seeds: Some(_), .. });
        assert_eq!(seeded, gets);
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
    // Whoever comes now is told.
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
fn shares_add_up_to_the_budget() {
    for budget in [0, 1, 2, 3, 100, 101, 1_000_003] {
        let limits = Budget {
            evaluations: Some(budget),
            ..Budget::default()
        };
        let mut driven = Driven::new(plan(Pace::Free, limits));
        let welcome = driven.join(0, 1);
        let sum: u64 = welcome.orders.iter().map(|order| order.evaluations).sum();
        assert_eq!(sum, budget);
        assert!(
            welcome
                .orders
                .iter()
                .all(|order| order.iterations == u64::MAX)
        );
    }
}

#[test]
fn a_search_whose_chains_have_nothing_left_is_exhausted() {
    for pace in [Pace::Lockstep, Pace::Free] {
        let mut driven = Driven::new(plan(pace, Budget::default()));
        let worker = driven.join(0, 1);
        let done = |chain| ChainReport {
            standing: Standing::Exhausted,
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
