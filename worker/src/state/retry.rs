//! Retry state of the calls to the coordinator: since when they fail, when the next one is due, and
//! when to give up.

use super::backoff;
use super::settings::{SessionError, SessionSettings};
use crate::link::LinkError;
use rlbayes_common::ids::Seed;
use rlbayes_common::random::Random;
use std::time::Duration;

/// Failed calls since the last success.
#[derive(Debug)]
pub(super) struct RetryPolicy {
    attempt: u32,
    since: Option<Duration>,
    give_up_after: Option<Duration>,
    random: Random,
}

/// What to do about a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Retry {
    /// When to try again.
    pub(super) at: Duration,
    /// Whether it is the first failure since the last success.
    pub(super) is_first: bool,
}

impl RetryPolicy {
    /// Begins without a failure; delays are drawn from the incarnation.
    pub(super) fn new(settings: &SessionSettings) -> Self {
        Self {
            attempt: 0,
            since: None,
            give_up_after: settings.give_up_after,
            random: Random::new(Seed(settings.incarnation.0)),
        }
    }

    /// Notes that a call has succeeded; returns whether one before it had failed.
    pub(super) fn succeeded(&mut self) -> bool {
        self.attempt = 0;
        self.since.take().is_some()
    }

    /// Notes that a call has failed, and returns when to try again.
    ///
    /// # Errors
    /// If another try is of no use, or calls have failed for too long.
    pub(super) fn failed(
        &mut self,
        now: Duration,
        error: &LinkError,
    ) -> Result<Retry, SessionError> {
        match error {
            LinkError::Refused(why) => return Err(SessionError::Refused(why.clone())),
            LinkError::Protocol(why) => return Err(SessionError::Protocol(why.clone())),
            LinkError::Unreachable(_) | LinkError::JoinAgain(_) | LinkError::Nonsense(_) => {}
        }
        let since = *self.since.get_or_insert(now);
        let limit = self.give_up_after;
        if limit.is_some_and(|limit| now.saturating_sub(since) >= limit) {
            return Err(SessionError::GaveUp(error.to_string()));
        }
        let retry = Retry {
            at: now + backoff::delay(self.attempt, self.random.bits()),
            is_first: self.attempt == 0,
        };
        self.attempt = self.attempt.saturating_add(1);
        Ok(retry)
    }
}
