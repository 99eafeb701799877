//! The phases of a session, and the way from one to the next.

use super::action::{Action, LogEvent};
use super::event::{Event, OpenError};
use super::leaving::{Leaving, Progress};
use super::outbox::Outbox;
use super::retry::RetryPolicy;
use super::settings::{End, Held, SessionError, SessionSettings};
use super::working::{Call, Next, Working};
use crate::link::{Joined, LinkError};
use rlbayes_common::exchange::{ChainReport, Pace};
use rlbayes_common::ids::ChainId;
use rlbayes_common::search::SavedChain;
use std::collections::BTreeMap;
use std::time::Duration;

/// The state of one session, from the first call to join to the last report.
#[derive(Debug)]
pub struct SessionState {
    settings: SessionSettings,
    least_pause: Duration,
    held: Held,
    retry: RetryPolicy,
    /// Whether a nudge came before there was anything to exchange.
    nudged: bool,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Joining(Wait),
    /// The host gets ready for the search.
    Opening(Box<Joined>, Wait),
    Working(Box<Working>),
    /// The chains were told to end.
    Ending(Box<Working>, Then),
    Leaving(Box<Leaving>),
    Over,
}

/// What a phase waits for.
#[derive(Clone, Copy, Debug)]
enum Wait {
    /// The answer to a call.
    Answer,
    /// The time of the next one.
    Until(Duration),
}

/// What follows the end of the chains.
#[derive(Debug)]
enum Then {
    Leave(End),
    /// The coordinator has another search.
    Join,
    Fail(SessionError),
}

impl SessionState {
    /// Begins a session of a worker that holds checkpoints. After an exchange the next one may
    /// follow after `least_pause`.
    #[must_use]
    pub fn new(settings: SessionSettings, least_pause: Duration, held: Held) -> Self {
        Self {
            retry: RetryPolicy::new(&settings),
            settings,
            least_pause,
            held,
            nudged: false,
            phase: Phase::Joining(Wait::Until(Duration::ZERO)),
        }
    }

    /// Takes an event at a time of the worker's own clock, and returns what to do. An event that
    /// the session does not wait for changes nothing.
    pub fn apply(&mut self, now: Duration, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        let phase = std::mem::replace(&mut self.phase, Phase::Over);
        self.phase = match phase {
            Phase::Joining(wait) => self.joining(now, wait, event, &mut actions),
            Phase::Opening(joined, wait) => self.opening(now, joined, wait, event, &mut actions),
            Phase::Working(working) => self.working(now, working, event, &mut actions),
            Phase::Ending(working, then) => self.ending(now, working, then, event, &mut actions),
            Phase::Leaving(leaving) => Self::leaving(now, leaving, event, &mut actions),
            Phase::Over => Phase::Over,
        };
        actions
    }

    /// Returns when the next [`Event::Tick`] is due; none while only other events matter.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Joining(Wait::Until(at)) | Phase::Opening(_, Wait::Until(at)) => Some(*at),
            Phase::Joining(Wait::Answer) | Phase::Opening(_, Wait::Answer) => None,
            Phase::Working(working) => working.next_due(),
            Phase::Leaving(leaving) => Some(leaving.next_due()),
            Phase::Ending(..) | Phase::Over => None,
        }
    }

    /// Returns whether the session is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Returns how many reports wait for an acknowledgement.
    #[must_use]
    pub fn waiting_reports(&self) -> usize {
        match &self.phase {
            Phase::Working(working) | Phase::Ending(working, _) => working.outbox.len(),
            Phase::Leaving(leaving) => leaving.waiting(),
            Phase::Joining(_) | Phase::Opening(..) | Phase::Over => 0,
        }
    }

    fn joining(
        &mut self,
        now: Duration,
        wait: Wait,
        event: Event,
        actions: &mut Vec<Action>,
    ) -> Phase {
        match (event, wait) {
            (Event::Shutdown, _) => {
                wait.cancel(actions);
                finish(Ok(End::Drained), actions)
            }
            (Event::Tick, Wait::Until(at)) if now >= at => {
                actions.push(Action::Join(self.settings.hello(self.held.clone())));
                Phase::Joining(Wait::Answer)
            }
            (Event::Joined(Ok(joined)), Wait::Answer) => {
                self.succeeded(LogEvent::Reached, actions);
                match joined.welcome.stopped_by {
                    Some(_) if joined.welcome.more_work => finish(Ok(End::MoreWork), actions),
                    Some(reason) => finish(Ok(End::Finished(reason)), actions),
                    None => {
                        actions.push(Action::Open(joined.clone()));
                        Phase::Opening(joined, Wait::Answer)
                    }
                }
            }
            (Event::Joined(Err(error)), Wait::Answer) => {
                match self.failed(now, error, LogEvent::Waiting, actions) {
                    Ok(at) => Phase::Joining(Wait::Until(at)),
                    Err(error) => finish(Err(error), actions),
                }
            }
            (Event::Nudge, _) => {
                self.nudged = true;
                Phase::Joining(wait)
            }
            _ => Phase::Joining(wait),
        }
    }

    fn opening(
        &mut self,
        now: Duration,
        joined: Box<Joined>,
        wait: Wait,
        event: Event,
        actions: &mut Vec<Action>,
    ) -> Phase {
        match (event, wait) {
            (Event::Shutdown, _) => {
                wait.cancel(actions);
                Phase::Leaving(Box::new(Leaving::begin(
                    now,
                    self.settings.exchange(joined.welcome.worker, Vec::new()),
                    joined.search.pace,
                    Outbox::default(),
                    End::Drained,
                    actions,
                )))
            }
            (Event::Tick, Wait::Until(at)) if now >= at => {
                actions.push(Action::Open(joined.clone()));
                Phase::Opening(joined, Wait::Answer)
            }
            (Event::Opened(Ok(checkpoints)), Wait::Answer) => {
                self.begin_work(now, *joined, checkpoints, actions)
            }
            // The coordinator has other data by now.
            (Event::Opened(Err(OpenError::Link(LinkError::JoinAgain(_)))), Wait::Answer) => {
                Phase::Joining(Wait::Until(now))
            }
            (Event::Opened(Err(OpenError::Link(error))), Wait::Answer) => {
                actions.push(Action::Log(LogEvent::TableNotFetched(error.clone())));
                match self.retry.failed(now, &error) {
                    Ok(retry) => Phase::Opening(joined, Wait::Until(retry.at)),
                    Err(error) => finish(Err(error), actions),
                }
            }
            (Event::Opened(Err(OpenError::Host(why))), Wait::Answer) => {
                finish(Err(SessionError::Host(why)), actions)
            }
            (Event::Nudge, _) => {
                self.nudged = true;
                Phase::Opening(joined, wait)
            }
            _ => Phase::Opening(joined, wait),
        }
    }

    fn begin_work(
        &mut self,
        now: Duration,
        joined: Joined,
        checkpoints: BTreeMap<ChainId, SavedChain>,
        actions: &mut Vec<Action>,
    ) -> Phase {
        self.succeeded(LogEvent::Reached, actions);
        let mut working = Working::begin(
            now,
            &self.settings,
            self.least_pause,
            joined,
            checkpoints,
            actions,
        );
        if std::mem::take(&mut self.nudged) {
            working.hurry();
        }
        Phase::Working(Box::new(working))
    }

    fn working(
        &mut self,
        now: Duration,
        mut working: Box<Working>,
        event: Event,
        actions: &mut Vec<Action>,
    ) -> Phase {
        match (event, working.call.take()) {
            (Event::Replied(replied), Some(Call::Exchange)) => {
                let next = match replied {
                    Ok(reply) => {
                        self.succeeded(LogEvent::Back, actions);
                        working.take_reply(reply, actions)
                    }
                    Err(LinkError::JoinAgain(_)) => {
                        working.is_unknown();
                        return Phase::Working(working);
                    }
                    Err(error) => return self.call_failed(now, working, error, actions),
                };
                Self::answered(working, next, actions)
            }
            (Event::Joined(joined), Some(Call::Join)) => match joined {
                Ok(joined) => {
                    self.succeeded(LogEvent::Back, actions);
                    let next = working.take_welcome(*joined, actions);
                    Self::answered(working, next, actions)
                }
                Err(error) => self.call_failed(now, working, error, actions),
            },
            (Event::ChainFetched(fetched), Some(Call::FetchChain(order))) => {
                match working.take_state(order, fetched, actions) {
                    Ok(()) => Phase::Working(working),
                    Err(error) => end_chains(working, Then::Fail(error), actions),
                }
            }
            (Event::StateUnfit(chain, why), call) => {
                if call.is_some() {
                    actions.push(Action::CancelCall);
                }
                let error = SessionError::State(chain, why.to_string());
                end_chains(working, Then::Fail(error), actions)
            }
            (Event::Shutdown, call) => {
                if call.is_some() {
                    actions.push(Action::CancelCall);
                }
                end_chains(working, Then::Leave(End::Drained), actions)
            }
            (event, call) => {
                working.call = call;
                match event {
                    Event::Tick => working.tick(now, &self.settings, actions),
                    Event::Report(report) => working.take_report(report, actions),
                    Event::ChainsEnded => working.chains_ended(),
                    Event::Nudge => working.hurry(),
                    _ => {}
                }
                Phase::Working(working)
            }
        }
    }

    /// The coordinator has answered a call.
    fn answered(mut working: Box<Working>, next: Next, actions: &mut Vec<Action>) -> Phase {
        match next {
            Next::Over(end) => end_chains(working, Then::Leave(end), actions),
            Next::AnotherSearch => end_chains(working, Then::Join, actions),
            Next::Orders(_) if working.has_asked_why() => {
                let why = SessionError::Host("the chains have ended".into());
                finish(Err(why), actions)
            }
            Next::Orders(orders) => {
                working.take_orders(orders, actions);
                Phase::Working(working)
            }
        }
    }

    fn call_failed(
        &mut self,
        now: Duration,
        mut working: Box<Working>,
        error: LinkError,
        actions: &mut Vec<Action>,
    ) -> Phase {
        let pace = working.pace;
        let away = |error| LogEvent::Away(error, pace);
        match self.failed(now, error, away, actions) {
            Ok(at) => {
                working.pause_until(at);
                Phase::Working(working)
            }
            Err(error) => end_chains(working, Then::Fail(error), actions),
        }
    }

    fn ending(
        &mut self,
        now: Duration,
        working: Box<Working>,
        then: Then,
        event: Event,
        actions: &mut Vec<Action>,
    ) -> Phase {
        match event {
            Event::LastReports(reports) => self.chains_ended(now, *working, then, reports, actions),
            _ => Phase::Ending(working, then),
        }
    }

    fn chains_ended(
        &mut self,
        now: Duration,
        mut working: Working,
        then: Then,
        reports: Vec<ChainReport>,
        actions: &mut Vec<Action>,
    ) -> Phase {
        match then {
            Then::Leave(end) => {
                if working.pace == Pace::Lockstep {
                    working.outbox.clear();
                }
                // A lockstep round that was cut short is replayed by another worker.
                if working.pace == Pace::Free || end != End::Drained {
                    working.take_last_reports(reports, actions);
                }
                Phase::Leaving(Box::new(Leaving::begin(
                    now,
                    self.settings.exchange(working.worker, Vec::new()),
                    working.pace,
                    working.outbox,
                    end,
                    actions,
                )))
            }
            Then::Join => {
                self.held = working.held();
                Phase::Joining(Wait::Until(now))
            }
            Then::Fail(error) => {
                for report in reports {
                    if let Some(snapshot) = report.snapshot
                        && working.pace == Pace::Free
                    {
                        actions.push(Action::KeepCheckpoint(report.chain, snapshot));
                    }
                }
                finish(Err(error), actions)
            }
        }
    }

    fn leaving(
        now: Duration,
        mut leaving: Box<Leaving>,
        event: Event,
        actions: &mut Vec<Action>,
    ) -> Phase {
        let progress = match event {
            Event::Tick => leaving.tick(now, actions),
            Event::Left(left) => leaving.sent(now, left, actions),
            Event::Replied(replied) => leaving.sent(now, replied.map(|_| ()), actions),
            _ => Progress::Leaving,
        };
        match progress {
            Progress::Leaving => Phase::Leaving(leaving),
            Progress::Done => finish(Ok(leaving.end), actions),
        }
    }

    fn succeeded(&mut self, again: LogEvent, actions: &mut Vec<Action>) {
        if self.retry.succeeded() {
            actions.push(Action::Log(again));
        }
    }

    /// Returns when to try again; the first failure is logged.
    fn failed(
        &mut self,
        now: Duration,
        error: LinkError,
        first: impl FnOnce(LinkError) -> LogEvent,
        actions: &mut Vec<Action>,
    ) -> Result<Duration, SessionError> {
        let retry = self.retry.failed(now, &error)?;
        if retry.is_first {
            actions.push(Action::Log(first(error)));
        }
        Ok(retry.at)
    }
}

impl Wait {
    /// Drops the call under way, if there is one.
    fn cancel(self, actions: &mut Vec<Action>) {
        if let Self::Answer = self {
            actions.push(Action::CancelCall);
        }
    }
}

fn end_chains(working: Box<Working>, then: Then, actions: &mut Vec<Action>) -> Phase {
    actions.push(Action::EndChains);
    Phase::Ending(working, then)
}

fn finish(result: Result<End, SessionError>, actions: &mut Vec<Action>) -> Phase {
    actions.push(Action::Finish(result));
    Phase::Over
}
