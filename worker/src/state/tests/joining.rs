//! Until chains run: join, fetch the table, retry, give up.

use super::*;
use rlbayes_common::search::StoppedBy;

#[test]
fn a_worker_that_never_joined_waits_and_gives_up_after_its_time() {
    let mut driven = Driven::new(SessionSettings {
        give_up_after: Some(60 * SECOND),
        ..settings()
    });
    let mut waited = Vec::new();
    let end = loop {
        let begun = driven.now;
        assert!(matches!(&driven.tick()[..], [Action::Join(_)]));
        waited.push(driven.now - begun);
        let actions = driven.apply(Event::Joined(Err(away())));
        // It is said once, and nobody searches yet.
        let first = waited.len() == 1;
        let expected = [&LogEvent::Waiting(away())];
        assert_eq!(logged(&actions), expected[..usize::from(first)]);
        if driven.state.is_over() {
            break finished(&actions);
        }
    };
    assert!(matches!(end, Err(SessionError::GaveUp(_))), "{end:?}");
    assert!(driven.now >= 60 * SECOND && driven.now < 75 * SECOND);
    assert!(waited.iter().all(|&pause| pause <= 10 * SECOND));
}

#[test]
fn a_coordinator_that_comes_late_is_joined() {
    let mut driven = Driven::new(settings());
    driven.tick();
    driven.apply(Event::Joined(Err(away())));
    driven.tick();
    let actions = driven.apply(Event::Joined(Ok(joined(Pace::Free, Vec::new()))));
    assert_eq!(logged(&actions), [&LogEvent::Reached]);
    assert!(matches!(actions.last(), Some(Action::Open(_))));
}

#[test]
fn a_worker_that_is_refused_does_not_try_again() {
    type Made = fn(String) -> SessionError;
    let refusals: [(LinkError, Made); 2] = [
        (LinkError::Refused("no".into()), SessionError::Refused),
        (LinkError::Protocol("no".into()), SessionError::Protocol),
    ];
    for (error, made) in refusals {
        let mut driven = Driven::new(settings());
        driven.tick();
        let actions = driven.apply(Event::Joined(Err(error)));
        assert_eq!(finished(&actions), Err(made("no".into())));
        assert_eq!(driven.state.next_due(), None);
    }
}

#[test]
fn who_joins_a_finished_search_is_done() {
    let mut driven = Driven::new(settings());
    driven.tick();
    let mut joined = joined(Pace::Free, Vec::new());
    joined.welcome.stopped_by = Some(StoppedBy::Target);
    let actions = driven.apply(Event::Joined(Ok(joined)));
    assert_eq!(finished(&actions), Ok(End::Finished(StoppedBy::Target)));
}

#[test]
fn a_worker_that_has_not_joined_drains_at_once() {
    let mut driven = Driven::new(settings());
    let actions = driven.apply(Event::Shutdown);
    assert_eq!(finished(&actions), Ok(End::Drained));

    let mut driven = Driven::new(settings());
    driven.tick();
    let actions = driven.apply(Event::Shutdown);
    assert!(matches!(actions[0], Action::CancelCall));
    assert_eq!(finished(&actions), Ok(End::Drained));
}

#[test]
fn a_worker_that_fetches_the_table_gives_its_chains_back_when_it_drains() {
    let mut driven = Driven::new(settings());
    driven.tick();
    let orders = vec![order(0, Origin::Start)];
    driven.apply(Event::Joined(Ok(joined(Pace::Free, orders))));
    let actions = driven.apply(Event::Shutdown);
    assert!(
        matches!(&actions[..], [Action::CancelCall, Action::Leave(exchange)]
            if exchange.worker == WorkerId(1) && exchange.reports.is_empty())
    );
    let actions = driven.apply(Event::Left(Ok(())));
    assert_eq!(finished(&actions), Ok(End::Drained));
}

fn opening(give_up_after: Option<Duration>) -> Driven {
    let mut driven = Driven::new(SessionSettings {
        give_up_after,
        ..settings()
    });
    driven.tick();
    driven.apply(Event::Joined(Ok(joined(Pace::Free, Vec::new()))));
    driven
}

#[test]
fn a_table_that_cannot_be_fetched_is_tried_again_and_given_up_after_a_while() {
    let mut driven = opening(Some(SECOND / 4));
    let end = loop {
        let actions = driven.apply(Event::Opened(Err(away().into())));
        assert_eq!(logged(&actions), [&LogEvent::TableNotFetched(away())]);
        if driven.state.is_over() {
            break finished(&actions);
        }
        assert!(matches!(&driven.tick()[..], [Action::Open(_)]));
    };
    assert!(matches!(end, Err(SessionError::GaveUp(_))));

    let refused = LinkError::Refused("no".into());
    let actions = opening(None).apply(Event::Opened(Err(refused.into())));
    assert_eq!(finished(&actions), Err(SessionError::Refused("no".into())));
}

#[test]
fn other_data_by_now_is_a_reason_to_join_again() {
    let mut driven = opening(None);
    let actions = driven.apply(Event::Opened(Err(unknown().into())));
    assert!(actions.is_empty());
    assert!(matches!(&driven.tick()[..], [Action::Join(_)]));
}

#[test]
fn a_search_that_cannot_be_run_here_ends_the_session() {
    let broken = OpenError::Host("this is not the coordinator's table".into());
    let actions = opening(None).apply(Event::Opened(Err(broken)));
    assert!(matches!(finished(&actions), Err(SessionError::Host(_))));
}

#[test]
fn a_nudge_before_chains_run_is_not_forgotten() {
    let mut driven = opening(None);
    driven.apply(Event::Nudge);
    driven.apply(Event::Opened(Ok(BTreeMap::new())));
    assert_eq!(driven.state.next_due(), Some(driven.now));
}

#[test]
fn a_worker_tells_which_checkpoints_it_holds() {
    let held = Held {
        chains: vec![ChainId(3), ChainId(5)],
        search: Some(SearchId([7; 16])),
    };
    let mut state = SessionState::new(settings(), Duration::ZERO, held.clone());
    let actions = state.apply(Duration::ZERO, Event::Tick);
    let [Action::Join(hello)] = &actions[..] else {
        panic!("{actions:?}");
    };
    assert_eq!((&hello.chains, hello.search), (&held.chains, held.search));
    assert_eq!(hello.incarnation, settings().incarnation);
}
