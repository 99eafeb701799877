//! Which chains run, where they begin, and how they are checkpointed.

use super::*;
use rlbayes_common::exchange::RunSequence;
use rlbayes_common::search::{StoppedBy, UnfitState};

fn stored(snapshot: &Snapshot) -> Origin {
    Origin::Stored {
        digest: snapshot.digest(),
        seeds: None,
    }
}

fn orders(orders: Vec<ChainOrder>) -> Reply {
    Reply {
        orders,
        lease: LEASE,
        ..Reply::default()
    }
}

/// The reports and counters of a chain that comes back are not those of its first run here.
#[test]
fn a_chain_that_comes_back_has_another_run() {
    let mut driven = Driven::working(Pace::Free, 0);
    driven.exchange();
    let actions = driven.reply(orders(vec![order(0, Origin::Start)]));
    assert_eq!(runs(&actions)[0].0.sequence, RunSequence::first(0));
    driven.report(report(0, RunSequence::first(0), &[-9.0], &small()));
    let exchange = driven.exchange();
    driven.reply(answer_all(&exchange, &Answer::Revoke));
    // Rows that were not acknowledged survive the new run.
    driven.report(report(0, RunSequence::first(0) + 1, &[-8.0], &small()));
    driven.exchange();
    let actions = driven.reply(orders(vec![order(0, Origin::Start)]));
    let second = RunSequence::first(1);
    assert_eq!(runs(&actions)[0].0.sequence, second);
    driven.report(report(0, second, &[-7.0], &small()));
    let sent = driven.exchange();
    assert_eq!(sent.reports[0].sequence, second);
    assert_eq!(rows(&sent), 2);
}

#[test]
fn an_order_that_is_repeated_runs_its_chain_once() {
    for pace in [Pace::Free, Pace::Lockstep] {
        let mut driven = Driven::working(pace, 1);
        driven.exchange();
        let actions = driven.reply(orders(vec![order(0, Origin::Start)]));
        assert!(actions.is_empty(), "{actions:?}");
    }
}

#[test]
fn a_chain_that_was_told_to_stop_is_begun_anew_when_it_is_ordered() {
    let mut driven = Driven::working(Pace::Free, 1);
    driven.report(report(0, 0, &[], &small()));
    let exchange = driven.exchange();
    driven.reply(answer_all(&exchange, &Answer::Stop));
    driven.exchange();
    let actions = driven.reply(orders(vec![order(0, Origin::Start)]));
    assert_eq!(runs(&actions).len(), 1);
}

#[test]
fn states_are_fetched_one_after_the_other_and_nothing_else_is_called_meanwhile() {
    let mut driven = Driven::working(Pace::Lockstep, 0);
    driven.exchange();
    let states = [state_of(1), state_of(2)];
    let ordered = vec![
        order(0, stored(&states[0])),
        order(1, Origin::Start),
        order(2, stored(&states[1])),
    ];
    let actions = driven.reply(orders(ordered));
    assert!(matches!(&actions[..], [Action::FetchChain(ChainId(0), _)]));
    assert_eq!(driven.state.next_due(), None);
    let actions = driven.apply(Event::ChainFetched(Ok(states[0].clone())));
    let begun = runs(&actions);
    assert_eq!(begun.len(), 2);
    assert!(matches!(begun[0].1, Begin::Resume(saved, None) if saved.iterations == 1));
    assert!(matches!(begun[1].1, Begin::Start(None)));
    assert!(matches!(
        actions.last(),
        Some(Action::FetchChain(ChainId(2), _))
    ));
    let actions = driven.apply(Event::ChainFetched(Ok(states[1].clone())));
    assert_eq!(runs(&actions).len(), 1);
    assert!(driven.state.next_due().is_some());
}

#[test]
fn a_state_that_cannot_be_fetched_waits_for_its_order_to_come_again() {
    let mut driven = Driven::working(Pace::Lockstep, 0);
    let state = state_of(1);
    let fetched = [Err(away()), Ok(state.clone())];
    for (number, fetched) in fetched.into_iter().enumerate() {
        driven.exchange();
        let actions = driven.reply(orders(vec![order(0, stored(&state))]));
        assert!(matches!(&actions[..], [Action::FetchChain(..)]));
        let actions = driven.apply(Event::ChainFetched(fetched));
        match number {
            0 => assert!(matches!(
                logged(&actions)[..],
                [LogEvent::StateNotFetched(ChainId(0), _)]
            )),
            _ => assert_eq!(runs(&actions).len(), 1),
        }
    }
}

#[test]
fn a_lockstep_worker_stops_at_a_state_that_cannot_be_continued() {
    let state = state_of(1);
    let unreadable = Snapshot::new(b"something else".as_slice());
    let unfit = Event::StateUnfit(ChainId(0), UnfitState::Field("places"));
    for (fetched, then) in [(unreadable, None), (state.clone(), Some(unfit))] {
        let mut driven = Driven::working(Pace::Lockstep, 0);
        driven.exchange();
        driven.reply(orders(vec![order(0, stored(&state))]));
        let mut actions = driven.apply(Event::ChainFetched(Ok(fetched)));
        if let Some(unfit) = then {
            assert_eq!(runs(&actions).len(), 1);
            actions = driven.apply(unfit);
        }
        assert!(
            matches!(actions.last(), Some(Action::EndChains)),
            "{actions:?}"
        );
        let actions = driven.apply(Event::LastReports(Vec::new()));
        let end = finished(&actions);
        assert!(
            matches!(end, Err(SessionError::State(ChainId(0), _))),
            "{end:?}"
        );
    }
}

#[test]
fn a_worker_that_fetches_a_state_drains_when_it_is_told_to() {
    let mut driven = Driven::working(Pace::Lockstep, 0);
    driven.exchange();
    driven.reply(orders(vec![order(0, stored(&state_of(1)))]));
    let actions = driven.apply(Event::Shutdown);
    assert!(matches!(
        &actions[..],
        [Action::CancelCall, Action::EndChains]
    ));
    let actions = driven.apply(Event::LastReports(Vec::new()));
    assert!(matches!(&actions[..], [Action::Leave(_)]));
}

#[test]
fn a_lockstep_chain_in_another_round_is_replaced_and_what_it_reported_is_dropped() {
    let mut driven = Driven::working(Pace::Lockstep, 1);
    driven.report(report(0, 0, &[-9.0], &small()));
    driven.exchange();
    let state = state_of(1);
    let mut later = order(0, stored(&state));
    later.sequence = 5;
    driven.reply(orders(vec![later]));
    let actions = driven.apply(Event::ChainFetched(Ok(state)));
    assert_eq!(runs(&actions)[0].0.sequence, 5);
    assert_eq!(driven.state.waiting_reports(), 0);
    driven.report(report(0, 5, &[-8.0], &small()));
    assert_eq!(driven.state.waiting_reports(), 1);
}

#[test]
fn chains_resume_from_their_checkpoints_and_those_of_others_are_dropped() {
    let mut driven = Driven::new(settings());
    driven.tick();
    let ordered = vec![order(0, Origin::Start), order(1, Origin::Start)];
    driven.apply(Event::Joined(Ok(joined(Pace::Free, ordered))));
    let checkpoints = [1, 2].map(|chain| (ChainId(chain), SavedChain::default()));
    let actions = driven.apply(Event::Opened(Ok(checkpoints.into())));
    assert!(matches!(actions[0], Action::DropCheckpoint(ChainId(2))));
    let begun = runs(&actions);
    assert!(matches!(begun[0].1, Begin::Start(None)));
    assert!(matches!(begun[1].1, Begin::Resume(_, None)));
    assert_eq!(
        logged(&actions),
        [&LogEvent::ResumedFromCheckpoint(ChainId(1))]
    );
}

#[test]
fn free_running_chains_are_checkpointed_and_only_while_they_run_here() {
    let mut driven = Driven::working(Pace::Free, 1);
    let every = settings().checkpoint_every;
    while driven.now < every {
        let actions = driven.tick();
        if let Some(Action::Exchange(exchange)) = actions.first() {
            let reply = answer_all(exchange, &next_slice());
            driven.reply(reply);
        }
        let asked = actions.iter().any(|a| matches!(a, Action::WantSnapshots));
        assert_eq!(asked, driven.now >= every);
    }
    let mut with_state = report(0, 0, &[], &small());
    with_state.snapshot = Some(state_of(1));
    let kept = driven.apply(Event::Report(with_state.clone()));
    assert!(matches!(&kept[..], [Action::KeepCheckpoint(ChainId(0), _)]));
    with_state.chain = ChainId(8);
    assert!(driven.apply(Event::Report(with_state)).is_empty());
    let exchange = driven.exchange();
    assert!(exchange.reports.iter().all(|one| one.snapshot.is_none()));
}

#[test]
fn lockstep_chains_bring_their_states_and_are_not_checkpointed() {
    let mut driven = Driven::working(Pace::Lockstep, 1);
    let mut with_state = report(0, 0, &[], &small());
    with_state.snapshot = Some(state_of(1));
    driven.report(with_state);
    assert!(driven.exchange().reports[0].snapshot.is_some());
}

#[test]
fn chains_that_were_halted_make_the_worker_ask_why() {
    // The exchange under way when they ended does not know why yet.
    let mut driven = Driven::working(Pace::Free, 1);
    driven.exchange();
    driven.apply(Event::ChainsEnded);
    assert!(driven.reply(orders(Vec::new())).is_empty());
    let begun = driven.now;
    driven.exchange();
    assert_eq!(driven.now, begun, "at once");
    let over = Reply {
        stopped_by: Some(StoppedBy::Time),
        ..orders(Vec::new())
    };
    let actions = driven.reply(over);
    assert!(matches!(&actions[..], [Action::EndChains]));

    let mut driven = Driven::working(Pace::Free, 1);
    driven.apply(Event::ChainsEnded);
    driven.exchange();
    let actions = driven.reply(orders(Vec::new()));
    assert!(matches!(finished(&actions), Err(SessionError::Host(_))));
}
