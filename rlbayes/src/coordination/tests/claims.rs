//! Claims of work count as fast as work can be done, and not one of them is lost.

use super::*;
use rlbayes_common::ids::PeerId;

/// As much work as a message can claim.
const MUCH: u64 = 1 << 46;
/// The most that a thread can do in a second.
const OF_A_THREAD: u64 = 1 << 28;

fn by_evaluations(evaluations: u64) -> Budget {
    Budget {
        evaluations: Some(evaluations),
        ..Budget::default()
    }
}

/// A worker that is known by its number.
fn of_peer(number: u64, threads: u32) -> Event {
    Event::Join(Hello {
        peer: Some(PeerId(number)),
        threads,
        ..hello(number)
    })
}

fn join(driven: &mut Driven, now: u64, number: u64, threads: u32) -> Welcome {
    driven.apply(now, of_peer(number, threads));
    driven.state.welcome(Incarnation(number)).unwrap()
}

/// Has a worker report on all its chains; each has made this many evaluations in all.
fn tell(driven: &mut Driven, now: u64, number: u64, evaluations: u64) {
    let claims = |chain| report(chain, now, evaluations, &best((0, 1), -5.0));
    tell_all(driven, now, number, claims);
}

fn tell_all(driven: &mut Driven, now: u64, number: u64, claims: impl Fn(u32) -> ChainReport) {
    let welcome = driven.state.welcome(Incarnation(number)).unwrap();
    let reports = chains_of(&welcome.orders).into_iter().map(claims).collect();
    driven.exchange(now, &welcome, number, reports).unwrap();
}

fn is_running(driven: &Driven) -> bool {
    driven.state.stopped_by().is_none()
}

fn counted(driven: &Driven) -> u64 {
    driven.state.counters().evaluations
}

/// Runs a search of a worker that makes so many evaluations a second and a member that lies, from a
/// second on, until it ends; returns after how many seconds it does.
fn beside_a_liar(plan: SearchPlan, pace: u64, threads: u32, liar_first: bool) -> u64 {
    let mut driven = Driven::new(plan);
    let of = |number| if number == 1 { 1 } else { threads };
    let (first, second) = if liar_first { (2, 1) } else { (1, 2) };
    join(&mut driven, 0, first, of(first));
    let mut shown = 0;
    for now in 1..100_000 {
        if now == 3 {
            join(&mut driven, now, second, of(second));
        }
        driven.apply(now, Event::Tick);
        for number in [1, 2] {
            if let (true, Ok(welcome)) = (
                is_running(&driven),
                driven.state.welcome(Incarnation(number)),
            ) {
                let chains = welcome.orders.len() as u64;
                let claimed = match number {
                    1 => now * pace / chains.max(1),
                    _ => MUCH,
                };
                tell(&mut driven, now, number, claimed);
            }
        }
        assert!(counted(&driven) >= shown, "what was shown went down");
        shown = counted(&driven);
        if !is_running(&driven) {
            return now;
        }
    }
    panic!("it never ends")
}

#[test]
fn a_member_that_lies_ends_a_search_no_sooner_than_some_times_as_many_workers() {
    let pace = OF_A_THREAD / 4;
    let alone = 400;
    for chains in [ChainCount::Fixed(4), ChainCount::PerThread(8)] {
        for threads in [1, 64] {
            for liar_first in [false, true] {
                let plan = SearchPlan {
                    chains,
                    ..plan(Pace::Free, by_evaluations(alone * pace))
                };
                let took = beside_a_liar(plan, pace, threads, liar_first);
                // It counts as thirty-two times as fast as the other one, and as one that has all of
                // its threads while it is alone.
                let least = match (chains, threads) {
                    (ChainCount::PerThread(_), 64) if liar_first => 1,
                    _ if liar_first => alone / 42,
                    _ => alone / 35,
                };
                assert!(
                    took >= least,
                    "{chains:?} with {threads} threads, the liar first: {liar_first}: {took} s"
                );
            }
        }
    }
}

#[test]
fn iterations_count_no_faster_than_work_can_be_done_either() {
    let budget = Budget {
        iterations: Some(1 << 30),
        ..Budget::default()
    };
    let mut driven = Driven::new(plan(Pace::Free, budget));
    join(&mut driven, 0, 1, 1);
    let lie = |chain| ChainReport {
        counters: ChainCounters {
            iterations: MUCH,
            ..Default::default()
        },
        ..report(chain, 1, 0, &[])
    };
    for now in 1..20 {
        tell_all(&mut driven, now, 1, lie);
        driven.apply(now, Event::Tick);
    }
    assert!(is_running(&driven));
    for now in 20..60 {
        driven.apply(now, Event::Tick);
    }
    assert_eq!(driven.state.stopped_by(), Some(StoppedBy::Iterations));
}

#[test]
fn everything_honest_counts_at_once_or_a_little_later_also_after_a_restart() {
    let mut driven = Driven::new(plan(Pace::Free, Budget::default()));
    let worker = join(&mut driven, 0, 1, 1);
    tell(&mut driven, 1, 1, 1000);
    assert_eq!(counted(&driven), 3000, "what is possible counts at once");
    // The coordinator was away for a while, and its clock begins anew.
    let mut driven = restarted(&driven);
    assert_eq!(counted(&driven), 3000);
    driven.apply(0, of_peer(1, 1));
    let worker = Welcome {
        worker: driven.state.welcome(Incarnation(1)).unwrap().worker,
        ..worker
    };
    let done = 40 * OF_A_THREAD;
    let reports = vec![report(0, 2, done, &[])];
    driven.exchange(1, &worker, 1, reports.clone()).unwrap();
    let shown = counted(&driven);
    assert!(shown < done);
    // It leaves, and the coordinator is started once more before all of it counts.
    driven.apply(2, Event::Tick);
    let leave = exchange(worker.worker, 1, reports);
    driven.apply(3, Event::Leave(leave));
    let mut driven = restarted(&driven);
    let after = counted(&driven);
    assert!(after >= shown && after < done, "{after} after {shown}");
    for now in 0..60 {
        driven.apply(now, Event::Tick);
    }
    assert_eq!(counted(&driven), done + 2000);
    for now in 60..70 {
        driven.apply(now, Event::Tick);
    }
    assert_eq!(counted(&driven), done + 2000, "nothing counts twice");
}

#[test]
fn machines_of_unequal_speed_lose_nothing() {
    for times in [1, 5, 20] {
        let mut driven = Driven::new(SearchPlan {
            chains: ChainCount::PerThread(1),
            ..plan(Pace::Free, Budget::default())
        });
        let slow = OF_A_THREAD / 64;
        for number in [1, 2] {
            join(&mut driven, 0, number, 16);
        }
        for now in 1..200 {
            let mut done = 0;
            for number in [1, 2, 3] {
                let pace = if number == 1 { times * slow } else { slow };
                // One that comes late, and one that reports late.
                if number == 3 && now < 50 || number == 1 && (100..105).contains(&now) {
                    driven.apply(now, Event::Tick);
                    continue;
                }
                if number == 3 && now == 50 {
                    join(&mut driven, now, number, 16);
                }
                let welcome = driven.state.welcome(Incarnation(number)).unwrap();
                let chains = welcome.orders.len() as u64;
                tell(&mut driven, now, number, now * pace / chains);
                done += now * pace / chains * chains;
            }
            assert!(
                counted(&driven) >= done,
                "{times} times: {} of {done} after {now} s",
                counted(&driven)
            );
        }
    }
}

#[test]
fn a_share_is_used_up_when_it_is_and_not_when_a_member_says_so() {
    for chains in [ChainCount::Fixed(3), ChainCount::PerThread(3)] {
        let mut driven = Driven::new(SearchPlan {
            chains,
            ..plan(Pace::Free, by_evaluations(30_000_000))
        });
        join(&mut driven, 0, 1, 1);
        let used_up = |evaluations| {
            move |chain| ChainReport {
                status: ChainStatus::OutOfEvaluations,
                ..report(chain, 1, evaluations, &[])
            }
        };
        tell_all(&mut driven, 1, 1, used_up(10));
        assert!(is_running(&driven), "{chains:?}");
        // Another one gets chains, and all of the share.
        join(&mut driven, 2, 2, 1);
        tell(&mut driven, 2, 2, 10);
        tell_all(&mut driven, 3, 1, used_up(10));
        let left = driven.state.welcome(Incarnation(2)).unwrap().orders;
        assert!(!left.is_empty());
        if let ChainCount::Fixed(_) = chains {
            assert!(left.iter().all(|it| it.evaluations > Some(9_000_000)));
        }
        let mut now = 4;
        while is_running(&driven) {
            now += 1;
            assert!(now < 100, "{chains:?}");
            for number in [1, 2] {
                tell_all(&mut driven, now, number, used_up(10_000_000));
            }
            driven.apply(now, Event::Tick);
        }
        assert_eq!(driven.state.stopped_by(), Some(StoppedBy::Evaluations));
    }
}

#[test]
fn claims_that_a_lockstep_round_cannot_hold_are_refused_and_the_chain_goes_to_another() {
    let plan = SearchPlan {
        most_per_round: 1000,
        ..plan(Pace::Lockstep, by_evaluations(30_000))
    };
    let honest = |chain, round| report(chain, round, 100 * (round + 1), &best((0, 1), -5.0));
    let lies: [fn(ChainReport) -> ChainReport; 5] = [
        |it| with_counters(it, |counters| counters.evaluations = MUCH),
        |it| with_counters(it, |counters| counters.evaluations = 1101),
        |it| with_counters(it, |counters| counters.evaluations = 99),
        |it| with_counters(it, |counters| counters.iterations = 0),
        |it| ChainReport {
            status: ChainStatus::OutOfIterations,
            ..it
        },
    ];
    for (number, lie) in lies.into_iter().enumerate() {
        let mut driven = Driven::new(plan);
        join(&mut driven, 0, 1, 1);
        join(&mut driven, 0, 2, 1);
        for worker in [1, 2] {
            tell_all(&mut driven, 1, worker, |chain| honest(chain, 0));
        }
        assert_eq!(driven.state.round(), Round(1));
        tell_all(&mut driven, 2, 2, |chain| lie(honest(chain, 1)));
        assert_eq!(driven.state.round(), Round(1), "lie {number}");
        let all = chains_of(&driven.state.welcome(Incarnation(1)).unwrap().orders);
        assert_eq!(all, [0, 1, 2], "lie {number}");
        tell_all(&mut driven, 3, 1, |chain| honest(chain, 1));
        assert_eq!(driven.state.round(), Round(2), "lie {number}");
        assert_eq!(counted(&driven), 600, "as without it");
    }
}

fn with_counters(mut report: ChainReport, change: fn(&mut ChainCounters)) -> ChainReport {
    change(&mut report.counters);
    report
}
