//! How a session ends: last reports, deadlines, checkpoints.

use super::exchanging::{CHAINS, ROWS, report_many};
use super::*;
use rlbayes_common::search::StoppedBy;

fn over() -> Reply {
    Reply {
        lease: LEASE,
        stopped_by: Some(StoppedBy::Evaluations),
        ..Reply::default()
    }
}

#[test]
fn who_leaves_reports_everything_in_parts() {
    // A coordinator that was started again takes the rows of a worker that it does not know.
    for is_known in [true, false] {
        let mut driven = Driven::working(Pace::Free, CHAINS);
        report_many(&mut driven, 3);
        let actions = driven.apply(Event::Shutdown);
        assert!(matches!(&actions[..], [Action::EndChains]));
        let mut actions = driven.apply(Event::LastReports(Vec::new()));
        let (mut sent, mut exchanges) = (0, 0);
        let last = loop {
            match &actions[..] {
                [Action::Exchange(exchange)] => {
                    assert_fits(exchange);
                    sent += rows(exchange);
                    exchanges += 1;
                    let replied = match is_known {
                        true => Ok(Reply::default()),
                        false => Err(unknown()),
                    };
                    actions = driven.apply(Event::Replied(replied));
                }
                [Action::Leave(exchange)] => break exchange.clone(),
                other => panic!("{other:?}"),
            }
        };
        assert_fits(&last);
        assert!(exchanges >= 10, "{exchanges}");
        assert_eq!(sent + rows(&last), CHAINS as usize * ROWS);
        let actions = driven.apply(Event::Left(Ok(())));
        assert_eq!(finished(&actions), Ok(End::Drained));
    }
}

#[test]
fn the_last_rows_of_chains_go_with_the_last_report_and_their_states_are_kept() {
    let mut driven = Driven::working(Pace::Free, 1);
    driven.report(report(0, 0, &[-9.0], &small()));
    driven.exchange();
    let actions = driven.apply(Event::Shutdown);
    assert!(
        matches!(&actions[..], [Action::CancelCall, Action::EndChains]),
        "the exchange under way does not matter any more"
    );
    let mut last = report(0, 1, &[-8.0], &small());
    last.snapshot = Some(state_of(1));
    let actions = driven.apply(Event::LastReports(vec![last]));
    let [
        Action::KeepCheckpoint(ChainId(0), _),
        Action::Leave(exchange),
    ] = &actions[..]
    else {
        panic!("{actions:?}");
    };
    assert_eq!(scores(&exchange.reports[0]), [-9.0, -8.0]);
}

#[test]
fn a_lockstep_worker_that_drains_reports_no_part_of_a_round() {
    let mut driven = Driven::working(Pace::Lockstep, 2);
    driven.report(report(0, 0, &[-9.0], &small()));
    driven.apply(Event::Shutdown);
    let last = report(1, 0, &[-8.0], &small());
    let actions = driven.apply(Event::LastReports(vec![last]));
    assert!(matches!(&actions[..], [Action::Leave(exchange)] if exchange.reports.is_empty()));
}

#[test]
fn a_lockstep_worker_finishes_the_round_that_others_wait_for() {
    let mut driven = Driven::working(Pace::Lockstep, 1);
    driven.report(report(0, 0, &[-9.0], &small()));
    let round = driven.exchange();
    assert!(driven.reply(over()).is_empty(), "the round is not over");
    driven.exchange();
    let mut end = answer_all(&round, &Answer::Stop);
    end.stopped_by = Some(StoppedBy::Evaluations);
    let actions = driven.reply(end);
    assert!(matches!(
        &actions[..],
        [Action::Answer(_, Answer::Stop), Action::EndChains]
    ));
    let mut last = report(0, 1, &[], &small());
    last.snapshot = Some(state_of(1));
    let actions = driven.apply(Event::LastReports(vec![last]));
    assert!(
        matches!(&actions[..], [Action::Leave(exchange)] if exchange.reports.len() == 1),
        "the states of the end"
    );
}

#[test]
fn last_reports_are_sent_again_until_their_deadline() {
    let mut driven = Driven::working(Pace::Free, 1);
    driven.report(report(0, 0, &[-9.0], &small()));
    driven.exchange();
    driven.reply(over());
    let begun = driven.now;
    driven.apply(Event::LastReports(Vec::new()));
    let mut tries = 1;
    let actions = loop {
        let actions = driven.apply(Event::Left(Err(away())));
        assert_eq!(logged(&actions), [&LogEvent::LastReportFailed(away())]);
        let actions = driven.tick();
        match &actions[..] {
            [Action::Leave(_)] => tries += 1,
            _ => break actions,
        }
    };
    assert!(tries > 4, "{tries}");
    assert_eq!(driven.now - begun, 5 * SECOND);
    assert_eq!(logged(&actions), [&LogEvent::LastReportsLost]);
    assert_eq!(
        finished(&actions),
        Ok(End::Finished(StoppedBy::Evaluations))
    );
}

#[test]
fn a_last_report_without_an_answer_ends_at_its_deadline() {
    let mut driven = Driven::working(Pace::Free, 1);
    driven.apply(Event::Shutdown);
    driven.apply(Event::LastReports(Vec::new()));
    // A second request to shut down does not hurry it.
    assert!(driven.apply(Event::Shutdown).is_empty());
    let actions = driven.tick();
    assert!(matches!(actions[0], Action::CancelCall));
    assert_eq!(finished(&actions), Ok(End::Drained));
    assert_eq!(driven.now, 5 * SECOND);
}

#[test]
fn who_gives_up_keeps_its_chains() {
    let mut driven = Driven::new(SessionSettings {
        give_up_after: Some(SECOND),
        ..settings()
    });
    driven.tick();
    let orders = vec![order(0, Origin::Start)];
    driven.apply(Event::Joined(Ok(joined(Pace::Free, orders))));
    driven.apply(Event::Opened(Ok(BTreeMap::new())));
    let ended = loop {
        driven.exchange();
        let actions = driven.apply(Event::Replied(Err(away())));
        if matches!(actions.last(), Some(Action::EndChains)) {
            break actions;
        }
    };
    assert_eq!(ended.len(), 1);
    let mut last = report(0, 1, &[], &small());
    last.snapshot = Some(state_of(1));
    let actions = driven.apply(Event::LastReports(vec![last]));
    assert!(matches!(actions[0], Action::KeepCheckpoint(ChainId(0), _)));
    assert!(matches!(finished(&actions), Err(SessionError::GaveUp(_))));
    assert!(driven.apply(Event::Tick).is_empty(), "nothing follows");
}
