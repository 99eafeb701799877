//! Replicates follow a search, each is done once, and none is lost.

use super::*;

const REPLICATES: u32 = 40;

fn plan_with_replicates() -> SearchPlan {
    let budget = Budget {
        evaluations: Some(300),
        ..Budget::default()
    };
    SearchPlan {
        replicates: REPLICATES,
        ..plan(Pace::Free, budget)
    }
}

/// Lets a worker search until the budget is used up, and leave.
fn searched(driven: &mut Driven) {
    let first = driven.join(0, 1);
    let reports = first.orders.iter().map(|order| {
        let rows = best((0, 1), -10.0);
        report(order.chain.0, 0, 100, &rows)
    });
    let reply = driven.exchange(1, &first, 1, reports.collect()).unwrap();
    assert_eq!(reply.stopped_by, Some(StoppedBy::Evaluations));
    assert!(reply.more_work, "the worker is told to join again");
    driven.apply(1, Event::Leave(exchange(first.worker, 1, Vec::new())));
    assert!(!driven.state.is_finished());
}

fn done(number: ChainId) -> ChainReport {
    let score = -100.0 - f64::from(number.0);
    ChainReport {
        status: ChainStatus::Exhausted,
        snapshot: None,
        ..report(number.0, 0, 10, &best((1, 2), score))
    }
}

fn replicate_exchange(worker: WorkerId, by: u64, reports: Vec<ChainReport>) -> Exchange {
    Exchange {
        work: Work::Replicates,
        ..exchange(worker, by, reports)
    }
}

/// Brings the replicates that a worker has, and returns those that it is given.
fn bring(driven: &mut Driven, now: u64, worker: WorkerId, by: u64, has: &[ChainId]) -> Reply {
    let reports: Vec<ChainReport> = has.iter().map(|&chain| done(chain)).collect();
    let asked: Vec<(ChainId, u64)> = has.iter().map(|&chain| (chain, 0)).collect();
    driven.apply(
        now,
        Event::Exchange(replicate_exchange(worker, by, reports)),
    );
    let reply = driven.state.reply(worker, Incarnation(by), &asked).unwrap();
    assert_eq!(reply.answers.len(), asked.len(), "each is acknowledged");
    reply
}

fn ordered(orders: &[ChainOrder]) -> Vec<ChainId> {
    orders.iter().map(|order| order.chain).collect()
}

#[test]
fn replicates_follow_the_search_and_end_with_its_reason() {
    let mut driven = Driven::new(plan_with_replicates());
    searched(&mut driven);
    let elapsed = driven.state.elapsed(seconds(1));
    let second = driven.join(2, 2);
    assert_eq!(second.work, Work::Replicates);
    let mut has = ordered(&second.orders);
    let mut rounds = 0;
    while driven.state.replicates().len() < REPLICATES as usize {
        let reply = bring(&mut driven, 3, second.worker, 2, &has);
        has = ordered(&reply.orders);
        rounds += 1;
        assert!(rounds < 100, "nothing is given away");
    }
    assert_eq!(driven.state.stopped_by(), Some(StoppedBy::Evaluations));
    assert_eq!(
        driven.state.elapsed(seconds(9)),
        elapsed,
        "they are not search time"
    );
    assert_eq!(driven.state.best().unwrap().score, LogScore::new(-10.0));
    driven.apply(
        4,
        Event::Leave(replicate_exchange(second.worker, 2, Vec::new())),
    );
    assert!(driven.state.is_finished());
    let view = driven.state.view(seconds(9), None);
    assert_eq!(view.replicates.unwrap().done.len(), REPLICATES as usize);
    assert_eq!(view.chains, 3, "those of the search");
}

#[test]
fn what_a_lost_worker_had_is_given_to_another_and_what_it_brings_late_changes_nothing() {
    let mut driven = Driven::new(plan_with_replicates());
    searched(&mut driven);
    let (lost, other) = (driven.join(2, 2), driven.join(2, 3));
    let had = ordered(&lost.orders);
    assert!(!had.is_empty());
    let mut has = ordered(&other.orders);
    let mut seen = has.clone();
    // The lost worker's lease runs out; the other one keeps its own.
    for now in (4..).step_by(4).take(40) {
        driven.apply(now, Event::Tick);
        let reply = bring(&mut driven, now, other.worker, 3, &has);
        has = ordered(&reply.orders);
        seen.extend(&has);
    }
    assert!(
        had.iter().all(|chain| seen.contains(chain)),
        "{had:?} {seen:?}"
    );
    assert_eq!(driven.state.replicates().len(), REPLICATES as usize);
    let before = driven.state.replicates().clone();
    let counters = driven.state.counters();
    let mut late = done(had[0]);
    late.finds = best((3, 4), -1.0);
    driven.apply(
        200,
        Event::Exchange(replicate_exchange(lost.worker, 2, vec![late])),
    );
    assert_eq!(driven.state.replicates(), &before);
    assert_eq!(driven.state.counters(), counters);
}

#[test]
fn an_idle_worker_takes_over_what_another_has_waiting() {
    let mut driven = Driven::new(plan_with_replicates());
    searched(&mut driven);
    let slow = driven.join(2, 2);
    let fast = driven.join(2, 3);
    let (of_slow, mut has) = (ordered(&slow.orders), ordered(&fast.orders));
    for _ in 0..REPLICATES {
        let reply = bring(&mut driven, 3, fast.worker, 3, &has);
        has = ordered(&reply.orders);
    }
    let left = REPLICATES as usize - driven.state.replicates().len();
    assert_eq!(left, 1, "only what the slow worker is at: {of_slow:?}");
    let reply = bring(&mut driven, 4, slow.worker, 2, &of_slow);
    assert!(reply.stopped_by.is_some() && !reply.more_work);
}

#[test]
fn a_result_that_was_refused_is_asked_for_again() {
    let mut driven = Driven::new(plan_with_replicates());
    searched(&mut driven);
    let worker = driven.join(2, 2);
    let first = ordered(&worker.orders)[0];
    let refused = ChainReport {
        finds: Vec::new(),
        ..done(first)
    };
    let event = Event::Exchange(replicate_exchange(worker.worker, 2, vec![refused]));
    driven.apply(3, event);
    assert!(!driven.state.replicates().contains_key(&first.0));
    let reply = driven
        .state
        .reply(worker.worker, Incarnation(2), &[])
        .unwrap();
    assert!(ordered(&reply.orders).contains(&first));
}

#[test]
fn reports_of_the_search_that_come_late_are_rows_and_not_replicates() {
    let mut driven = Driven::new(plan_with_replicates());
    searched(&mut driven);
    let late = report(0, 1, 10_000, &best((2, 3), -5.0));
    let from = exchange(WorkerId(1), 1, vec![late]);
    assert!(driven.state.check(&from).is_ok());
    let counters = driven.state.counters();
    driven.apply(2, Event::Exchange(from));
    assert_eq!(driven.state.best().unwrap().score, LogScore::new(-5.0));
    assert!(driven.state.replicates().is_empty());
    assert_eq!(driven.state.counters(), counters);
    let reply = driven
        .state
        .reply(WorkerId(1), Incarnation(1), &[(ChainId(0), 1)]);
    assert_eq!(reply, Err(Refusal::UnknownWorker), "it joins again");
}

#[test]
fn a_restart_keeps_what_is_done_and_more_replicates_continue() {
    let mut driven = Driven::new(plan_with_replicates());
    searched(&mut driven);
    let worker = driven.join(2, 2);
    let has = ordered(&worker.orders);
    bring(&mut driven, 3, worker.worker, 2, &has[..3]);
    let stored = |state: &State| Stored {
        pool: state.pool().clone(),
        progress: state.progress(seconds(3)),
        chains: BTreeMap::new(),
        replicates: state.replicates().clone(),
    };
    let counters = driven.state.counters();
    let recovered = State::recovered(plan_with_replicates(), stored(&driven.state));
    assert_eq!(recovered.replicates(), driven.state.replicates());
    assert_eq!(recovered.counters(), counters);
    assert!(!recovered.is_finished() && recovered.stopped_by().is_none());
    let mut driven = Driven {
        state: recovered,
        commands: Vec::new(),
    };
    // A worker that ran some comes back with them.
    let mut back = hello(2);
    back.chains = has[3..5].to_vec();
    back.work = Work::Replicates;
    driven.apply(4, Event::Join(back));
    let welcome = driven.state.welcome(Incarnation(2)).unwrap();
    let orders = ordered(&welcome.orders);
    assert!(has[3..5].iter().all(|chain| orders.contains(chain)));
    assert!(
        has[..3].iter().all(|chain| !orders.contains(chain)),
        "those are done"
    );
    let mut has = orders;
    for _ in 0..REPLICATES {
        let reply = bring(&mut driven, 5, welcome.worker, 2, &has);
        has = ordered(&reply.orders);
    }
    let finished = State::recovered(plan_with_replicates(), stored(&driven.state));
    assert!(finished.is_finished());
    let more = SearchPlan {
        replicates: 2 * REPLICATES,
        ..plan_with_replicates()
    };
    let continued = State::recovered(more, stored(&driven.state));
    assert!(!continued.is_finished());
    assert_eq!(continued.replicates().len(), REPLICATES as usize);
}

#[test]
fn who_stops_the_search_gets_no_replicates() {
    let mut driven = Driven::new(plan_with_replicates());
    let worker = driven.join(0, 1);
    driven.apply(1, Event::Stop(StoppedBy::Stop));
    let reply = driven.exchange(1, &worker, 1, Vec::new()).unwrap();
    assert!(reply.stopped_by.is_some() && !reply.more_work);
    driven.apply(2, Event::Leave(exchange(worker.worker, 1, Vec::new())));
    assert!(driven.state.is_finished());
}

#[test]
fn a_worker_that_was_restarted_when_the_search_ended_gets_replicates() {
    let mut driven = Driven::new(plan_with_replicates());
    let first = driven.join(0, 1);
    let reports = first.orders.iter().map(|order| {
        let rows = best((0, 1), -10.0);
        report(order.chain.0, 0, 100, &rows)
    });
    let reply = driven.exchange(1, &first, 1, reports.collect()).unwrap();
    assert!(reply.stopped_by.is_some() && reply.more_work);
    // It is killed before it has left; everybody waits for it alone.
    let mut again = hello(2);
    again.replaces = Some(Incarnation(1));
    again.chains = vec![ChainId(0)];
    driven.apply(2, Event::Join(again));
    let welcome = driven.state.welcome(Incarnation(2)).unwrap();
    assert_eq!(welcome.work, Work::Replicates);
    assert!(!welcome.orders.is_empty());
}
