//! How often it was tried in vain to reach the coordinator, since when, and when to give up.

use crate::backoff;
use crate::link::LinkError;
use crate::session::{SessionError, SessionSettings};
use rlbayes_common::ids::Seed;
use rlbayes_common::random::Random;
use std::time::Duration;
use tokio::time::Instant;

/// RetryPolicy in vain since the last success.
#[derive(Debug)]
pub struct RetryPolicy {
    attempt: u32,
    since: Option<Instant>,
    give_up_after: Option<Duration>,
    random: Random,
}

impl RetryPolicy {
    /// Begins: nothing was in vain so far.
    #[must_use]
    pub fn new(settings: &SessionSettings) -> Self {
        Self {
            attempt: 0,
            since: None,
            give_up_after: settings.give_up_after,
            random: Random::new(Seed(settings.incarnation.0)),
        }
    }

    /// A call has succeeded.
    pub fn succeeded(&mut self) {
        if self.since.take().is_some() {
            tracing::info!("the coordinator is back");
        }
        self.attempt = 0;
    }

    /// Returns how long to wait before the next try.
    ///
    /// # Errors
    /// If another try is of no use, or it was tried for too long.
    pub fn failed(&mut self, error: LinkError) -> Result<Duration, SessionError> {
        match error {
            LinkError::Refused(why) => return Err(SessionError::Refused(why)),
            LinkError::Protocol(why) => return Err(SessionError::Protocol(why)),
            LinkError::Unreachable(_) | LinkError::JoinAgain(_) | LinkError::Nonsense(_) => {}
        }
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        if self.attempt == 0 {
            tracing::warn!(%error, "the search goes on alone");
        }
        if self
            .give_up_after
            .is_some_and(|limit| now.duration_since(since) >= limit)
        {
            return Err(SessionError::GaveUp(error.to_string()));
        }
        let delay = backoff::delay(self.attempt, self.random.bits());
        self.attempt = self.attempt.saturating_add(1);
        Ok(delay)
    }
}
