//! What an exchange holds, when it begins, and what becomes of it.

use super::*;
use rlbayes_common::exchange::RunSequence;
use rlbayes_common::search::StoppedBy;
use rlbayes_proto::{MAX_FINDS, MAX_REPORTS};
use std::collections::BTreeSet;

pub(super) const CHAINS: u32 = 40;
pub(super) const ROWS: usize = 64;

/// After a cut every chain has as many rows to report as are kept: eleven megabytes.
pub(super) fn report_many(driven: &mut Driven, sequence: u64) {
    let structure = large();
    for chain in 0..CHAINS {
        let best = if chain == 23 { 1.0 } else { 0.0 };
        let mut scores = vec![-1.0; ROWS - 1];
        scores.push(best);
        driven.report(report(chain, sequence, &scores, &structure));
    }
}

#[test]
fn an_exchange_is_filled_up_to_its_limit_with_the_best_row_first_and_the_rest_follows() {
    let mut driven = Driven::working(Pace::Free, CHAINS);
    report_many(&mut driven, 3);
    let (mut sent, mut exchanges) = (0, 0);
    while driven.state.waiting_reports() > 0 {
        let exchange = driven.exchange();
        assert_fits(&exchange);
        if exchanges == 0 {
            assert_eq!(exchange.reports[0].chain, ChainId(23));
        }
        sent += rows(&exchange);
        exchanges += 1;
        driven.reply(answer_all(&exchange, &next_slice()));
    }
    assert_eq!(sent, CHAINS as usize * ROWS);
    assert!((11..=14).contains(&exchanges), "{exchanges}");
}

#[test]
fn lockstep_reports_that_are_not_answered_take_turns() {
    let mut driven = Driven::working(Pace::Lockstep, CHAINS);
    report_many(&mut driven, 0);
    let mut sent = BTreeSet::new();
    for _ in 0..20 {
        let exchange = driven.exchange();
        assert_fits(&exchange);
        sent.extend(exchange.reports.iter().map(|report| report.chain));
        driven.reply(Reply {
            lease: LEASE,
            ..Reply::default()
        });
    }
    assert_eq!(sent.len(), CHAINS as usize);
    assert_eq!(driven.state.waiting_reports(), CHAINS as usize);
}

#[test]
fn more_reports_than_an_exchange_may_have_are_sent_in_parts() {
    let mut driven = Driven::working(Pace::Free, 5000);
    for chain in 0..5000 {
        driven.report(report(chain, 0, &[], &small()));
    }
    assert_eq!(driven.exchange().reports.len(), MAX_REPORTS);
}

#[test]
fn rows_that_are_too_large_for_a_report_leave_room_for_the_newest() {
    let mut driven = Driven::working(Pace::Free, 1);
    let structure = large();
    // 500 rows of 4.5 KB in reports that pile up.
    for sequence in 0..50u32 {
        let scores: Vec<f64> = (0..10).map(|at| f64::from(sequence * 10 + at)).collect();
        driven.report(report(0, sequence.into(), &scores, &structure));
    }
    let exchange = driven.exchange();
    assert_fits(&exchange);
    let finds = &exchange.reports[0].finds;
    assert_eq!(finds.len(), MAX_FINDS);
    assert_eq!(finds[MAX_FINDS - 1].1.score, LogScore::new(499.0));
}

/// A chain that left its best row for others stalls on many of them while nobody listens.
#[test]
fn the_best_row_is_sent_however_many_come_after_it() {
    let mut driven = Driven::working(Pace::Free, 1);
    driven.report(report(0, 0, &[-1.0], &small()));
    for sequence in 1..200 {
        driven.report(report(0, sequence, &[-9.0], &small()));
    }
    let exchange = driven.exchange();
    let scores = scores(&exchange.reports[0]);
    assert_eq!(scores.len(), MAX_FINDS);
    assert!(scores.contains(&-1.0));
}

#[test]
fn an_exchange_whose_answer_is_lost_is_sent_again_with_what_came_since() {
    let mut driven = Driven::working(Pace::Free, 1);
    driven.report(report(0, 0, &[-9.0], &small()));
    let lost = driven.exchange();
    assert_eq!(scores(&lost.reports[0]), [-9.0]);
    driven.report(report(0, 1, &[-8.0], &small()));
    let failed_at = driven.now;
    let actions = driven.apply(Event::Replied(Err(away())));
    assert_eq!(logged(&actions), [&LogEvent::Away(away(), Pace::Free)]);
    let again = driven.exchange();
    assert!(driven.now > failed_at, "not before a pause");
    assert_eq!(again.reports[0].sequence, 1);
    assert_eq!(scores(&again.reports[0]), [-9.0, -8.0]);
    // Said once, though it fails again.
    assert!(driven.apply(Event::Replied(Err(away()))).is_empty());
    let again = driven.exchange();
    let actions = driven.reply(answer_all(&again, &next_slice()));
    assert_eq!(logged(&actions), [&LogEvent::Back]);
    assert_eq!(driven.state.waiting_reports(), 0);
}

#[test]
fn a_report_that_comes_while_an_exchange_is_under_way_is_not_acknowledged_with_it() {
    let mut driven = Driven::working(Pace::Free, 1);
    driven.report(report(0, 0, &[-9.0], &small()));
    let first = driven.exchange();
    driven.report(report(0, 1, &[-8.0], &small()));
    driven.reply(answer_all(&first, &next_slice()));
    assert_eq!(driven.state.waiting_reports(), 1);
    assert_eq!(driven.exchange().reports[0].sequence, 1);
}

#[test]
fn rows_that_a_chain_found_before_it_was_revoked_are_still_sent() {
    let mut driven = Driven::working(Pace::Free, 1);
    driven.report(report(0, 0, &[-9.0], &small()));
    let first = driven.exchange();
    driven.report(report(0, 1, &[-8.0], &small()));
    let actions = driven.reply(answer_all(&first, &Answer::Revoke));
    assert!(matches!(
        &actions[..],
        [
            Action::DropCheckpoint(ChainId(0)),
            Action::Answer(ChainId(0), Answer::Revoke)
        ]
    ));
    // The last report of its thread.
    driven.report(report(0, 2, &[-7.0], &small()));
    let second = driven.exchange();
    assert_eq!(scores(&second.reports[0]), [-9.0, -8.0, -7.0]);
    driven.reply(answer_all(&second, &Answer::Revoke));
    assert_eq!(driven.state.waiting_reports(), 0);
}

#[test]
fn a_lockstep_round_is_one_exchange_and_a_sign_of_life_comes_before_the_lease_ends() {
    let mut driven = Driven::working(Pace::Lockstep, 2);
    driven.report(report(0, 0, &[-9.0], &small()));
    assert_eq!(driven.state.next_due(), Some(driven.now + LEASE / 3));
    driven.report(report(1, 0, &[-8.0], &small()));
    assert_eq!(driven.state.next_due(), Some(driven.now));
    let round = driven.exchange();
    assert_eq!(round.reports.len(), 2);
    let actions = driven.reply(answer_all(&round, &next_slice()));
    assert_eq!(actions.len(), 2, "each chain has its answer: {actions:?}");
    assert_eq!(driven.exchange().reports, [], "a heartbeat");
    assert_eq!(driven.now, LEASE / 3);
}

#[test]
fn a_lockstep_answer_that_comes_twice_is_handed_to_the_chain_once() {
    let mut driven = Driven::working(Pace::Lockstep, 1);
    driven.report(report(0, 0, &[-9.0], &small()));
    let round = driven.exchange();
    let reply = answer_all(&round, &next_slice());
    assert_eq!(driven.reply(reply.clone()).len(), 1);
    driven.report(report(0, 1, &[-8.0], &small()));
    driven.exchange();
    assert!(driven.reply(reply).is_empty());
    assert_eq!(driven.state.waiting_reports(), 1);
}

#[test]
fn a_lockstep_report_of_another_round_is_not_sent() {
    let mut driven = Driven::working(Pace::Lockstep, 1);
    driven.report(report(0, 7, &[-9.0], &small()));
    driven.report(report(4, 0, &[-9.0], &small()));
    assert_eq!(driven.state.waiting_reports(), 0);
}

#[test]
fn news_does_not_wait_and_a_nudge_even_less() {
    let mut state = SessionState::new(settings(), SECOND / 2, Held::default());
    let orders = vec![order(0, Origin::Start)];
    state.apply(Duration::ZERO, Event::Tick);
    state.apply(
        Duration::ZERO,
        Event::Joined(Ok(joined(Pace::Free, orders))),
    );
    state.apply(Duration::ZERO, Event::Opened(Ok(BTreeMap::new())));
    let every = description().exchange_every;
    assert_eq!(state.next_due(), Some(every));
    let first = report(0, RunSequence::first(0), &[], &small());
    state.apply(Duration::ZERO, Event::Report(first));
    assert_eq!(state.next_due(), Some(SECOND / 2));
    state.apply(Duration::ZERO, Event::Nudge);
    assert_eq!(state.next_due(), Some(Duration::ZERO));
}

#[test]
fn a_worker_that_is_unknown_joins_again_and_its_chains_report_their_best_again() {
    let mut driven = Driven::working(Pace::Free, 2);
    driven.report(report(0, 0, &[-9.0], &small()));
    driven.report(report(1, 0, &[-8.0], &small()));
    driven.exchange();
    assert!(driven.apply(Event::Replied(Err(unknown()))).is_empty());
    let begun = driven.now;
    let actions = driven.tick();
    assert_eq!(driven.now, begun, "at once");
    let [Action::Join(hello)] = &actions[..] else {
        panic!("{actions:?}");
    };
    assert_eq!(hello.incarnation, settings().incarnation);
    assert_eq!(hello.chains, [ChainId(0), ChainId(1)]);
    assert_eq!(hello.search, Some(description().id));
    // One of them was given to another worker meanwhile.
    let mut welcome = joined(Pace::Free, vec![order(1, Origin::Start)]);
    welcome.welcome.worker = WorkerId(9);
    let actions = driven.apply(Event::Joined(Ok(welcome)));
    assert!(
        matches!(
            &actions[..],
            [
                Action::Log(LogEvent::JoinedAgain(WorkerId(9))),
                Action::DropCheckpoint(ChainId(0)),
                Action::Answer(ChainId(0), Answer::Revoke),
                Action::TellBestsAgain,
            ]
        ),
        "the other one runs already: {actions:?}"
    );
    let exchange = driven.exchange();
    assert_eq!(exchange.worker, WorkerId(9));
    assert_eq!(rows(&exchange), 2, "what was not acknowledged is sent");
}

#[test]
fn a_coordinator_that_refuses_to_join_again_is_not_called_all_the_time() {
    let mut driven = Driven::working(Pace::Free, 1);
    driven.exchange();
    driven.apply(Event::Replied(Err(unknown())));
    driven.tick();
    let begun = driven.now;
    driven.apply(Event::Joined(Err(unknown())));
    assert!(matches!(&driven.tick()[..], [Action::Join(_)]));
    assert!(driven.now > begun);
}

#[test]
fn a_worker_that_hears_of_the_end_when_it_joins_again_ends() {
    let mut driven = Driven::working(Pace::Free, 1);
    driven.exchange();
    driven.apply(Event::Replied(Err(unknown())));
    driven.tick();
    let mut over = joined(Pace::Free, Vec::new());
    over.welcome.stopped_by = Some(StoppedBy::Time);
    let actions = driven.apply(Event::Joined(Ok(over)));
    assert!(matches!(&actions[..], [Action::EndChains]));
}

#[test]
fn another_search_ends_the_chains_and_is_joined_from_the_start() {
    let mut driven = Driven::working(Pace::Free, 1);
    driven.exchange();
    driven.apply(Event::Replied(Err(unknown())));
    driven.tick();
    let mut other = joined(Pace::Free, vec![order(0, Origin::Start)]);
    other.search.id = SearchId([9; 16]);
    let actions = driven.apply(Event::Joined(Ok(other.clone())));
    assert!(matches!(
        &actions[..],
        [
            Action::Log(LogEvent::AnotherSearch(SearchId([9, ..]))),
            Action::EndChains
        ]
    ));
    let mut last = report(0, 0, &[-1.0], &small());
    last.snapshot = Some(state_of(1));
    assert!(driven.apply(Event::LastReports(vec![last])).is_empty());
    assert!(matches!(&driven.tick()[..], [Action::Join(_)]));
    let actions = driven.apply(Event::Joined(Ok(other)));
    assert!(matches!(&actions[..], [Action::Open(_)]));
    let actions = driven.apply(Event::Opened(Ok(BTreeMap::new())));
    assert_eq!(runs(&actions).len(), 1);
    let exchange = driven.exchange();
    assert_eq!(exchange.reports, [], "rows of the other search are gone");
}

#[test]
fn an_answer_that_nobody_waits_for_changes_nothing() {
    let mut driven = Driven::working(Pace::Free, 1);
    driven.report(report(0, 0, &[-9.0], &small()));
    let stray = Reply {
        answers: vec![(ChainId(0), 0, Answer::Revoke)],
        stopped_by: Some(StoppedBy::Stop),
        ..Reply::default()
    };
    assert!(driven.reply(stray).is_empty());
    let welcome = joined(Pace::Free, Vec::new());
    assert!(driven.apply(Event::Joined(Ok(welcome))).is_empty());
    assert!(driven.apply(Event::Left(Ok(()))).is_empty());
    assert!(driven.apply(Event::LastReports(Vec::new())).is_empty());
    assert_eq!(driven.exchange().reports.len(), 1);
}
