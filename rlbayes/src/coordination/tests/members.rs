//! Only members count, and only for what they hold.

use super::*;

fn state_of(driven: &Driven) -> String {
    let state = &driven.state;
    let chains: Vec<_> = state.stored_chains().collect();
    format!(
        "{:?} {:?} {:?} {chains:?}",
        state.counters(),
        state.pool(),
        state.round()
    )
}

#[test]
fn in_lockstep_nobody_but_the_holder_reports_on_a_chain() {
    let mut driven = Driven::new(plan(Pace::Lockstep, Budget::default()));
    let first = driven.join(0, 1);
    let second = driven.join(0, 2);
    let kept = chains_of(&driven.state.welcome(Incarnation(1)).unwrap().orders);
    assert_eq!(
        (kept.as_slice(), &*chains_of(&second.orders)),
        (&[0, 1][..], &[2][..])
    );
    let before = state_of(&driven);
    let forged = |chain| report(chain, 0, 1 << 40, &best((0, 1), -1.0));
    let all: Vec<ChainReport> = (0..3).map(forged).collect();
    // Never joined.
    for event in [
        Event::Exchange(exchange(WorkerId(77), 9, all.clone())),
        Event::Leave(exchange(WorkerId(77), 9, all)),
    ] {
        driven.apply(1, event);
        let reply = driven.state.reply(WorkerId(77), Incarnation(9), &[]);
        assert_eq!(reply, Err(Refusal::UnknownWorker));
    }
    // A member, with the chains of another one.
    let reply = driven.exchange(1, &second, 2, vec![forged(0), forged(1)]);
    let answers = reply.unwrap().answers;
    let revoked = [0, 1].map(|chain| (ChainId(chain), 0, Answer::Revoke));
    assert_eq!(answers, revoked);
    assert_eq!(state_of(&driven), before);
    // Had one of these been taken, the round would now have begun with it.
    let own = |chain| report(chain, 0, 10, &best((0, 1), -5.0));
    driven.exchange(2, &first, 1, vec![own(0), own(1)]).unwrap();
    driven.exchange(2, &second, 2, vec![own(2)]).unwrap();
    assert_eq!(driven.state.round(), Round(1));
    assert_eq!(driven.state.counters().evaluations, 30);
    assert_eq!(driven.state.best().unwrap().score, LogScore::new(-5.0));
}

#[test]
fn a_last_state_is_kept_from_the_holder_only() {
    let kept = SearchPlan {
        snapshots: Snapshots::Every(seconds(100)),
        ..plan(Pace::Lockstep, Budget::default())
    };
    let mut driven = Driven::new(kept);
    let worker = driven.join(0, 1);
    let round = (0..3).map(|chain| report(chain, 0, 10, &[]));
    driven.exchange(1, &worker, 1, round.collect()).unwrap();
    driven.apply(1, Event::Stop(StoppedBy::Interrupt));
    let round = (0..3).map(|chain| report(chain, 1, 20, &[]));
    driven.exchange(1, &worker, 1, round.collect()).unwrap();
    let before = state_of(&driven);
    let mut left = report(0, 2, 20, &[]);
    left.snapshot = report(2, 9, 0, &[]).snapshot;
    let stranger = exchange(WorkerId(77), 9, vec![left.clone()]);
    driven.apply(2, Event::Leave(stranger));
    assert_eq!(state_of(&driven), before);
    driven.apply(2, Event::Leave(exchange(worker.worker, 1, vec![left])));
    assert_ne!(state_of(&driven), before, "its holder may leave it so");
}

#[test]
fn rows_that_come_after_a_lockstep_search_change_nothing() {
    let budget = Budget {
        evaluations: Some(30),
        ..Budget::default()
    };
    let mut driven = Driven::new(SearchPlan {
        replicates: 3,
        ..plan(Pace::Lockstep, budget)
    });
    let worker = driven.join(0, 1);
    let round = (0..3).map(|chain| report(chain, 0, 10, &best((0, 1), -5.0)));
    let reply = driven.exchange(1, &worker, 1, round.collect()).unwrap();
    assert!(reply.more_work);
    driven.apply(1, Event::Leave(exchange(worker.worker, 1, Vec::new())));
    assert_eq!(driven.join(2, 2).work, Work::Replicates);
    let late = exchange(WorkerId(1), 1, vec![report(0, 1, 10, &best((2, 3), -1.0))]);
    driven.apply(3, Event::Exchange(late));
    assert_eq!(driven.state.best().unwrap().score, LogScore::new(-5.0));
}

#[test]
fn a_member_counts_for_the_chains_that_it_holds_or_held() {
    let budget = Budget {
        evaluations: Some(1000),
        ..Budget::default()
    };
    let mut driven = Driven::new(plan(Pace::Free, budget));
    let first = driven.join(0, 1);
    let second = driven.join(0, 2);
    let of_first = chains_of(&driven.state.welcome(Incarnation(1)).unwrap().orders);
    let of_second = chains_of(&second.orders);
    assert_eq!(
        (of_first.as_slice(), of_second.as_slice()),
        (&[0, 1][..], &[2][..])
    );
    let forged = ChainReport {
        status: ChainStatus::Exhausted,
        ..report(0, 0, 1 << 40, &best((0, 1), -5.0))
    };
    let reply = driven.exchange(1, &second, 2, vec![forged]).unwrap();
    assert_eq!(reply.answers, [(ChainId(0), 0, Answer::Revoke)]);
    assert_eq!(driven.state.counters().evaluations, 0);
    assert_eq!(driven.state.stopped_by(), None);
    let still = chains_of(&driven.state.welcome(Incarnation(1)).unwrap().orders);
    assert_eq!(still, [0, 1], "its holder runs it");
    assert_eq!(
        driven.state.best().unwrap().score,
        LogScore::new(-5.0),
        "rows are checked, whoever brings them"
    );
    // The first worker ran chain 2 before it was given to the second.
    let reply = driven.exchange(2, &first, 1, vec![report(2, 0, 70, &[])]);
    assert_eq!(reply.unwrap().answers, [(ChainId(2), 0, Answer::Revoke)]);
    assert_eq!(driven.state.counters().evaluations, 70);
}

#[test]
fn counters_of_a_replicate_come_from_those_that_it_was_given_to() {
    let budget = Budget {
        evaluations: Some(30),
        ..Budget::default()
    };
    let mut driven = Driven::new(SearchPlan {
        replicates: 3,
        ..plan(Pace::Free, budget)
    });
    let worker = driven.join(0, 1);
    let all = (0..3).map(|chain| report(chain, 0, 10, &best((0, 1), -5.0)));
    driven.exchange(1, &worker, 1, all.collect()).unwrap();
    driven.apply(1, Event::Leave(exchange(worker.worker, 1, Vec::new())));
    let second = driven.join(2, 2);
    let done = |chain: u32| ChainReport {
        status: ChainStatus::Exhausted,
        ..report(chain, 0, 1000, &best((1, 2), -9.0))
    };
    let stranger = Exchange {
        work: Work::Replicates,
        ..exchange(WorkerId(77), 9, vec![done(0)])
    };
    driven.apply(3, Event::Exchange(stranger));
    assert!(driven.state.replicates().contains_key(&0));
    assert_eq!(driven.state.counters().evaluations, 30);
    let own = Exchange {
        work: Work::Replicates,
        ..exchange(second.worker, 2, vec![done(1)])
    };
    driven.apply(3, Event::Exchange(own));
    assert_eq!(driven.state.counters().evaluations, 1030);
}

fn chains_held(driven: &Driven, incarnation: u64) -> Vec<u32> {
    chains_of(
        &driven
            .state
            .welcome(Incarnation(incarnation))
            .unwrap()
            .orders,
    )
}

fn greedy(incarnation: u64) -> Event {
    Event::Join(Hello {
        threads: 65_536,
        ..hello(incarnation)
    })
}

/// Lets a worker report on the chains that it holds.
fn tell(driven: &mut Driven, now: u64, incarnation: u64) {
    let welcome = driven.state.welcome(Incarnation(incarnation)).unwrap();
    let round = driven.state.round().0;
    let of = |order: &ChainOrder| match driven.state.plan().pace {
        Pace::Lockstep => report(order.chain.0, round, 10 * (round + 1), &[]),
        Pace::Free => report(order.chain.0, now, 10 * now, &best((0, 1), -5.0)),
    };
    let reports = welcome.orders.iter().map(of).collect();
    driven
        .exchange(now, &welcome, incarnation, reports)
        .unwrap();
}

fn eight(pace: Pace) -> SearchPlan {
    SearchPlan {
        chains: ChainCount::Fixed(8),
        ..plan(pace, Budget::default())
    }
}

fn open() -> SearchPlan {
    SearchPlan {
        chains: ChainCount::PerThread(2),
        ..plan(Pace::Free, Budget::default())
    }
}

fn with_threads(incarnation: u64, threads: u32) -> Event {
    Event::Join(Hello {
        threads,
        ..hello(incarnation)
    })
}

#[test]
fn threads_are_believed_as_chains_are_run() {
    for pace in [Pace::Free, Pace::Lockstep] {
        let mut driven = Driven::new(eight(pace));
        driven.apply(0, with_threads(1, 2));
        assert_eq!(chains_held(&driven, 1).len(), 8, "there is nobody else");
        tell(&mut driven, 1, 1);
        driven.apply(2, greedy(2));
        assert_eq!(chains_held(&driven, 2).len(), 1, "{pace:?}");
        assert_eq!(chains_held(&driven, 1).len(), 7, "{pace:?}");
        // It does run what it has: it gets more, and never what the other one's threads run.
        for now in 2..8 {
            tell(&mut driven, now, 1);
            tell(&mut driven, now, 2);
        }
        assert_eq!(chains_held(&driven, 1).len(), 2, "{pace:?}");
        assert_eq!(chains_held(&driven, 2).len(), 6, "{pace:?}");
    }
}

#[test]
fn many_members_on_trial_leave_most_chains_to_others() {
    let mut driven = Driven::new(eight(Pace::Free));
    driven.apply(0, with_threads(1, 2));
    tell(&mut driven, 1, 1);
    for incarnation in 2..100 {
        driven.apply(1, greedy(incarnation));
    }
    assert_eq!(chains_held(&driven, 1).len(), 6);
}

#[test]
fn a_worker_of_ordinary_size_has_its_share_after_two_reports() {
    let mut driven = Driven::new(open());
    driven.apply(0, with_threads(1, 8));
    assert_eq!(chains_held(&driven, 1).len(), 2, "one thread's worth");
    tell(&mut driven, 1, 1);
    assert_eq!(chains_held(&driven, 1).len(), 8);
    tell(&mut driven, 2, 1);
    assert_eq!(chains_held(&driven, 1).len(), 16);
    tell(&mut driven, 3, 1);
    // A coordinator that is started again knows who ran them.
    let mut driven = restarted_at(3, &driven);
    let mut back = hello(1);
    back.threads = 8;
    back.chains = (0..16).map(ChainId).collect();
    driven.apply(4, Event::Join(back));
    assert_eq!(chains_held(&driven, 1).len(), 16);
}

#[test]
fn who_keeps_a_chain_without_a_report_loses_it() {
    for pace in [Pace::Free, Pace::Lockstep] {
        let mut driven = Driven::new(eight(pace));
        driven.apply(0, with_threads(1, 2));
        tell(&mut driven, 1, 1);
        driven.apply(2, greedy(2));
        let silent = driven.state.welcome(Incarnation(2)).unwrap();
        assert_eq!(silent.orders.len(), 1);
        for now in (4..34).step_by(2) {
            driven.apply(now, Event::Tick);
            tell(&mut driven, now, 1);
            // It keeps its lease.
            driven.exchange(now, &silent, 2, Vec::new()).unwrap();
        }
        assert_eq!(chains_held(&driven, 1).len(), 8, "{pace:?}");
        // It is tried again, after a pause that gets longer each time.
        let mut held = Vec::new();
        for now in (34..400).step_by(2) {
            driven.apply(now, Event::Tick);
            tell(&mut driven, now, 1);
            driven.exchange(now, &silent, 2, Vec::new()).unwrap();
            held.push(chains_held(&driven, 2).len());
        }
        assert!(held.contains(&1), "{pace:?}");
        let stalled = held.iter().filter(|&&chains| chains > 0).count();
        assert!(
            3 * stalled < held.len(),
            "{pace:?}: {stalled} of {}",
            held.len()
        );
    }
}

#[test]
fn members_that_came_first_and_only_live_do_not_keep_all_chains() {
    for pace in [Pace::Free, Pace::Lockstep] {
        let mut driven = Driven::new(SearchPlan {
            chains: ChainCount::Fixed(2),
            ..plan(pace, Budget::default())
        });
        let silent = [1, 2].map(|incarnation| driven.join(0, incarnation));
        driven.join(0, 3);
        let held = |driven: &Driven| [1, 2, 3].map(|worker| chains_held(driven, worker).len());
        assert_eq!(held(&driven), [1, 1, 0]);
        let mut worked = 0;
        for now in (2..600).step_by(2) {
            driven.apply(now, Event::Tick);
            for (incarnation, welcome) in (1..).zip(&silent) {
                driven
                    .exchange(now, welcome, incarnation, Vec::new())
                    .unwrap();
            }
            tell(&mut driven, now, 3);
            worked += u32::from(held(&driven)[2] > 0);
        }
        // They are tried again, ever more seldom.
        assert!(worked > 250, "{pace:?}: {worked} of 299");
        let done = driven.state.counters().evaluations;
        assert!(done > 1000, "{pace:?}: {done}");
    }
}

#[test]
fn who_has_shown_nothing_keeps_its_chain_long_enough_for_slow_reports() {
    let mut driven = Driven::new(SearchPlan {
        chains: ChainCount::Fixed(2),
        ..plan(Pace::Lockstep, Budget::default())
    });
    // Three honest workers, of which two can have a chain, and rounds of twenty leases.
    let workers = [1, 2, 3].map(|incarnation| driven.join(0, incarnation));
    // Since when each of them has each chain.
    let mut begun = [[None; 2]; 3];
    for now in (2..10_000).step_by(2) {
        driven.apply(now, Event::Tick);
        for ((incarnation, welcome), begun) in (1..).zip(&workers).zip(&mut begun) {
            driven
                .exchange(now, welcome, incarnation, Vec::new())
                .unwrap();
            let held = chains_held(&driven, incarnation);
            for (chain, begun) in (0..).zip(begun) {
                *begun = held.contains(&chain).then(|| begun.unwrap_or(now));
                if begun.is_some_and(|begun| now - begun > 200) {
                    let round = driven.state.round().0;
                    let told = report(chain, round, 10 * (round + 1), &[]);
                    driven
                        .exchange(now, welcome, incarnation, vec![told])
                        .unwrap();
                }
            }
        }
        if driven.state.round() > Round(2) {
            return;
        }
    }
    panic!("no round was finished");
}

#[test]
fn newcomers_that_never_report_stall_a_lockstep_search_ever_more_seldom() {
    let mut driven = Driven::new(eight(Pace::Lockstep));
    driven.apply(0, with_threads(1, 2));
    tell(&mut driven, 1, 1);
    let mut stalled = 0;
    for now in (2..1000).step_by(2) {
        // A new one each time, so that none of them has a record.
        driven.apply(now, greedy(1000 + now));
        driven.apply(now, Event::Tick);
        tell(&mut driven, now, 1);
        stalled += u32::from(chains_held(&driven, 1).len() < 8);
    }
    assert!(stalled > 0, "nobody was tried");
    assert!(5 * stalled < 499, "{stalled} of 499");
}

#[test]
fn slow_reports_of_all_are_waited_for() {
    let mut driven = Driven::new(eight(Pace::Lockstep));
    driven.apply(0, with_threads(1, 4));
    driven.apply(0, with_threads(2, 4));
    let both = [1, 2].map(|worker| driven.state.welcome(Incarnation(worker)).unwrap());
    let held = |driven: &Driven| [1, 2].map(|worker| chains_held(driven, worker).len());
    assert_eq!(held(&driven), [4, 4]);
    // A round takes ten leases, and one worker is done a little before the other.
    let mut now = 0;
    for round in 0..3 {
        for _ in 0..50 {
            now += 2;
            driven.apply(now, Event::Tick);
            for (worker, welcome) in (1..).zip(&both) {
                driven.exchange(now, welcome, worker, Vec::new()).unwrap();
            }
            assert_eq!(held(&driven), [4, 4], "at {now}");
        }
        tell(&mut driven, now, 1);
        tell(&mut driven, now + 1, 2);
        assert_eq!(driven.state.round(), Round(round + 1));
    }
}

#[test]
fn joins_leave_nothing_behind() {
    let mut driven = Driven::new(open());
    let first = driven.join(0, 1);
    tell(&mut driven, 1, 1);
    let mut now = 1;
    for incarnation in 2..3070 {
        if incarnation % 100 == 0 {
            now += 9;
            driven.apply(now, Event::Tick);
            driven.exchange(now, &first, 1, Vec::new()).unwrap();
        }
        driven.apply(now, greedy(incarnation));
    }
    for _ in 0..3 {
        now += 9;
        driven.apply(now, Event::Tick);
        driven.exchange(now, &first, 1, Vec::new()).unwrap();
    }
    assert_eq!(driven.state.chain_count(), 2);
    assert_eq!(chains_held(&driven, 1), [0, 1]);
}

#[test]
fn a_newcomer_takes_the_place_of_the_member_that_was_silent_longest() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    driven.join(0, 1);
    tell(&mut driven, 0, 1);
    for incarnation in 2..=MAX_WORKERS as u64 {
        driven.join(if incarnation == 5 { 0 } else { 1 }, incarnation);
    }
    let newcomer = driven.join(2, 100_000);
    assert!(newcomer.worker.0 > 0);
    let members = driven.state.view(seconds(2), Some(0.0)).workers;
    let gone: Vec<WorkerId> = members
        .iter()
        .filter(|it| !it.is_alive)
        .map(|it| it.id)
        .collect();
    assert_eq!(gone, [WorkerId(5)]);
}

#[test]
fn a_member_that_calls_its_chains_done_takes_none_with_it_when_it_goes() {
    for status in [ChainStatus::Exhausted, ChainStatus::OutOfEvaluations] {
        let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
        driven.join(0, 1);
        tell(&mut driven, 1, 1);
        let forger = driven.join(1, 2);
        let held = chains_held(&driven, 2);
        assert!(!held.is_empty());
        let forged = |&chain: &u32| ChainReport {
            status,
            ..report(chain, 0, 10, &[])
        };
        let reports = held.iter().map(forged).collect();
        driven.exchange(2, &forger, 2, reports).unwrap();
        driven.apply(3, Event::Leave(exchange(forger.worker, 2, Vec::new())));
        assert_eq!(chains_held(&driven, 1), [0, 1, 2], "{status:?}");
    }
}

#[test]
fn chains_that_nobody_runs_and_that_have_no_rows_are_dropped_and_stay_counted() {
    let mut driven = Driven::new(open());
    driven.join(0, 1);
    tell(&mut driven, 1, 1);
    let forger = driven.join(1, 2);
    let forged = |chain: &u32| report(*chain, 0, 1000, &[]);
    let reports = chains_held(&driven, 2).iter().map(forged).collect();
    driven.exchange(2, &forger, 2, reports).unwrap();
    assert!(driven.state.chain_count() > 2);
    let counted = driven.state.counters();
    assert!(counted.evaluations >= 2000);
    driven.apply(3, Event::Leave(exchange(forger.worker, 2, Vec::new())));
    assert_eq!(driven.state.chain_count(), 2);
    assert_eq!(driven.state.counters(), counted);
    // Also by a coordinator that is started again.
    let stored = Stored {
        pool: driven.state.pool().clone(),
        progress: driven.state.progress(seconds(4)),
        chains: Default::default(),
        replicates: Default::default(),
    };
    let again = State::recovered(open(), stored);
    assert_eq!(again.counters(), counted);
}

#[test]
fn a_lockstep_chain_that_is_done_counts_no_more() {
    let budget = Budget {
        evaluations: Some(1000),
        ..Budget::default()
    };
    let mut driven = Driven::new(plan(Pace::Lockstep, budget));
    let first = driven.join(0, 1);
    let done = |sequence, evaluations| ChainReport {
        status: ChainStatus::OutOfEvaluations,
        ..report(0, sequence, evaluations, &[])
    };
    let others = |sequence, evaluations| {
        [1, 2].map(|chain| report(chain, sequence, evaluations, &best((0, 1), -5.0)))
    };
    let mut round = others(0, 10).to_vec();
    round.push(done(0, 10));
    driven.exchange(1, &first, 1, round).unwrap();
    assert_eq!(driven.state.round(), Round(1));
    let reply = driven.exchange(2, &first, 1, vec![done(1, 500)]).unwrap();
    assert_eq!(reply.answers, [(ChainId(0), 1, Answer::Revoke)]);
    driven
        .exchange(3, &first, 1, others(1, 20).to_vec())
        .unwrap();
    assert_eq!(driven.state.round(), Round(2));
    assert_eq!(driven.state.counters().evaluations, 10 + 20 + 20);
    // Nor after a restart of the coordinator with the same limits: it is still done.
    let stored = Stored {
        pool: driven.state.pool().clone(),
        progress: driven.state.progress(seconds(4)),
        chains: driven.state.stored_chains().collect(),
        replicates: Default::default(),
    };
    let state = State::recovered(plan(Pace::Lockstep, budget), stored);
    let mut again = Driven {
        state,
        commands: Vec::new(),
    };
    assert_eq!(chains_of(&again.join(5, 2).orders), [1, 2]);
}
