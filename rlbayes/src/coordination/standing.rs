//! What a member has shown of the threads that it says it has. Nobody is believed at once: a new
//! member is on trial, and gets chains as it shows that it runs them.

use std::time::Duration;

/// The most threads that any worker is believed to have.
const MOST_THREADS: u32 = 1024;
/// By how much a member's allowance grows each time that it has reported on all its chains.
const GROWTH: u32 = 4;
/// After how many failed trials the pause before the next one grows no longer.
const MOST_DOUBLINGS: u32 = 6;

/// The trials of all members together. A chain on trial may stand still until it is taken back, and in
/// lockstep all chains wait for it; so after a trial that failed there are none for a while, longer
/// each time, however many members come to be tried.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trials {
    failures: u32,
    paused_until: Option<Duration>,
}

impl Trials {
    /// Returns whether nobody is to be tried for the moment.
    pub(super) fn are_paused(self) -> bool {
        self.paused_until.is_some()
    }

    /// A member on trial did not report on its chain.
    pub(super) fn fail(&mut self, now: Duration, patience: Duration) {
        let pause = patience * (1 << self.failures.min(MOST_DOUBLINGS));
        self.paused_until = Some(now + pause);
        self.failures += 1;
    }

    /// A member on trial has shown that it runs its chains.
    pub(super) fn succeed(&mut self) {
        *self = Self::default();
    }

    /// Ends the pause if it is over; returns whether it was.
    pub(super) fn end_pause(&mut self, now: Duration) -> bool {
        let is_over = self.paused_until.is_some_and(|until| until <= now);
        if is_over {
            self.paused_until = None;
        }
        is_over
    }
}

/// What a member has shown so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// How many of its threads it is given chains for.
    allowance: u32,
    /// Whether it has reported on all chains that it was given.
    is_shown: bool,
    /// Whether it has reported on any chain that it held.
    pub(super) has_reported: bool,
    /// How often it kept a chain without a report.
    pub(super) failures: u32,
    /// Until when it is given no more chains, after that.
    waits_until: Option<Duration>,
    /// When the trial under way has begun: with its first chain. A restart goes on with it.
    tried_since: Option<Duration>,
}

impl Standing {
    /// That of a new member.
    pub(super) const ON_TRIAL: Self = Self {
        allowance: 1,
        is_shown: false,
        has_reported: false,
        failures: 0,
        waits_until: None,
        tried_since: None,
    };

    /// Returns whether it is not on trial.
    pub(super) fn is_shown(self) -> bool {
        self.is_shown
    }

    /// Returns whether it is to be given nothing for the moment.
    pub(super) fn waits(self) -> bool {
        self.waits_until.is_some()
    }

    /// Returns how many of the threads that it says it has are believed.
    pub(super) fn believed(self, threads: u32) -> u32 {
        self.allowance.min(threads).min(MOST_THREADS)
    }

    /// Returns whether more can be believed of it.
    pub(super) fn may_grow(self, threads: u32) -> bool {
        !self.is_shown || self.believed(threads) < threads.min(MOST_THREADS)
    }

    /// It is given a chain.
    pub(super) fn note_chain(&mut self, now: Duration) {
        if !self.is_shown {
            self.tried_since.get_or_insert(now);
        }
    }

    /// Returns since when it owes a report on a chain that it has held since then.
    pub(super) fn owes_since(self, held_since: Duration) -> Duration {
        let tried = self.tried_since.filter(|_| !self.is_shown);
        tried.map_or(held_since, |tried| tried.min(held_since))
    }

    /// It has reported on all chains that it was given.
    pub(super) fn grow(&mut self) {
        self.tried_since = None;
        self.is_shown = true;
        self.failures = 0;
        self.allowance = self.allowance.saturating_mul(GROWTH).min(MOST_THREADS);
    }

    /// It is known to have run chains on so many threads.
    pub(super) fn vouch(&mut self, threads: u32) {
        self.is_shown |= threads > 0;
        self.allowance = self.allowance.max(threads.min(MOST_THREADS));
    }

    /// It had a chain for too long without a report: it is on trial again, after a pause.
    pub(super) fn fail(&mut self, now: Duration, patience: Duration) {
        let pause = patience * (1 << self.failures.min(MOST_DOUBLINGS));
        self.waits_until = Some(now + pause);
        self.failures += 1;
        self.allowance = 1;
        self.is_shown = false;
        self.tried_since = None;
    }

    /// Ends its pause if that is over; returns whether it was.
    pub(super) fn end_wait(&mut self, now: Duration) -> bool {
        let is_over = self.waits_until.is_some_and(|until| until <= now);
        if is_over {
            self.waits_until = None;
        }
        is_over
    }
}
