//! The last reports of a worker that leaves. Where they don't fit one message, exchanges bring the
//! first of them; each message has a deadline, and is sent again until then.

use super::action::{Action, LogEvent};
use super::backoff;
use super::outbox::Outbox;
use super::settings::End;
use crate::link::LinkError;
use rlbayes_common::exchange::{Exchange, Pace};
use std::time::Duration;

/// How long each message may take.
const LAST_CALL: Duration = Duration::from_secs(5);

/// A worker that leaves.
#[derive(Debug)]
pub(super) struct Leaving {
    outbox: Outbox,
    pace: Pace,
    /// How the session ends.
    pub(super) end: End,
    message: Exchange,
    /// Whether nothing follows the message.
    is_last: bool,
    attempt: u32,
    /// When the message is sent again; none while it is under way.
    retry_at: Option<Duration>,
    deadline: Duration,
}

/// Whether a session that leaves is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Leaving,
    Done,
}

impl Leaving {
    /// Begins with a message that has no reports yet; the first one is sent.
    pub(super) fn begin(
        now: Duration,
        message: Exchange,
        pace: Pace,
        outbox: Outbox,
        end: End,
        actions: &mut Vec<Action>,
    ) -> Self {
        let mut leaving = Self {
            outbox,
            pace,
            end,
            message,
            is_last: false,
            attempt: 0,
            retry_at: None,
            deadline: now,
        };
        leaving.send_next(now, actions);
        leaving
    }

    fn send_next(&mut self, now: Duration, actions: &mut Vec<Action>) {
        self.message.reports = match self.pace {
            // The states of the end, which are not reports of a round.
            Pace::Lockstep => self.outbox.reports().cloned().collect(),
            Pace::Free => self.outbox.fill_message(),
        };
        self.is_last = self.message.reports.len() == self.outbox.len();
        self.attempt = 0;
        self.deadline = now + LAST_CALL;
        self.send(actions);
    }

    fn send(&mut self, actions: &mut Vec<Action>) {
        self.retry_at = None;
        let message = self.message.clone();
        actions.push(match self.is_last {
            true => Action::Leave(message),
            false => Action::Exchange(message),
        });
    }

    /// Returns when time matters next.
    pub(super) fn next_due(&self) -> Duration {
        let retry_at = self.retry_at.unwrap_or(self.deadline);
        retry_at.min(self.deadline)
    }

    /// Sends the message again, or gives up.
    pub(super) fn tick(&mut self, now: Duration, actions: &mut Vec<Action>) -> Progress {
        if now >= self.deadline {
            if self.retry_at.is_none() {
                actions.push(Action::CancelCall);
            }
            actions.push(Action::Log(LogEvent::LastReportsLost));
            return Progress::Done;
        }
        if self.retry_at.is_some_and(|at| now >= at) {
            self.send(actions);
        }
        Progress::Leaving
    }

    /// The message's call has returned.
    pub(super) fn sent(
        &mut self,
        now: Duration,
        sent: Result<(), LinkError>,
        actions: &mut Vec<Action>,
    ) -> Progress {
        if self.retry_at.is_some() {
            return Progress::Leaving;
        }
        match sent {
            Ok(()) if self.is_last => return Progress::Done,
            Ok(()) => {}
            // A coordinator that was started again; it has taken the rows.
            Err(LinkError::JoinAgain(_)) if !self.is_last => {}
            Err(error @ LinkError::JoinAgain(_)) => {
                actions.push(Action::Log(LogEvent::LastReportFailed(error)));
                return Progress::Done;
            }
            Err(error) => {
                actions.push(Action::Log(LogEvent::LastReportFailed(error)));
                self.retry_at = Some(now + backoff::delay(self.attempt, 0));
                self.attempt += 1;
                return Progress::Leaving;
            }
        }
        for report in std::mem::take(&mut self.message.reports) {
            self.outbox.drop_chain(report.chain);
        }
        self.send_next(now, actions);
        Progress::Leaving
    }

    /// Returns how many reports wait for an acknowledgement.
    pub(super) fn waiting(&self) -> usize {
        self.outbox.len()
    }
}
