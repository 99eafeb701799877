//! The barrier of lockstep: a round is merged in chain order once all its chains have reported, so
//! that the number and speed of threads and workers cannot change a result.

use super::State;
use rlbayes_common::exchange::{ChainCounters, ChainReport};
use rlbayes_common::ids::{ChainId, Round};
use std::collections::BTreeMap;
use std::time::Duration;

/// The reports of the round under way.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    round: Round,
    waiting: BTreeMap<ChainId, ChainReport>,
}

impl Rounds {
    /// Resumes in a round.
    pub(super) fn at(round: Round) -> Self {
        Self {
            round,
            waiting: BTreeMap::new(),
        }
    }

    /// Takes a report of the round under way; a repeated one has the same content and is dropped.
    pub(super) fn add(&mut self, report: ChainReport) {
        if report.sequence == self.round.0 {
            self.waiting.entry(report.chain).or_insert(report);
        }
    }

    /// Returns the reports in chain order if every one of the `expected` chains has reported; the
    /// next round begins.
    pub(super) fn complete(
        &mut self,
        mut expected: impl Iterator<Item = ChainId>,
    ) -> Option<Vec<ChainReport>> {
        if self.waiting.is_empty() || !expected.all(|chain| self.waiting.contains_key(&chain)) {
            return None;
        }
        self.round.0 += 1;
        Some(std::mem::take(&mut self.waiting).into_values().collect())
    }

    /// Returns whether a chain has reported in the round under way.
    pub(super) fn has(&self, chain: ChainId) -> bool {
        self.waiting.contains_key(&chain)
    }

    /// Returns the round under way.
    pub(super) fn round(&self) -> Round {
        self.round
    }
}

impl State {
    /// Returns whether the lockstep round under way can be cut and replayed later: every chain is
    /// stored as it stood at the last barrier, or there was none yet.
    #[must_use]
    pub fn can_replay_round(&self) -> bool {
        let at_start = self.total == ChainCounters::default();
        at_start || self.chains.values().all(|chain| chain.snapshot.is_some())
    }

    /// Adds what chains had found and done when their round was cut, to be shown and not stored: a
    /// search that is resumed replays the round.
    pub fn show_cut_round(&mut self, now: Duration, reports: Vec<ChainReport>) {
        let mut not_stored = Vec::new();
        for report in reports {
            self.count_own(now, None, report.chain, report.counters);
            self.merge(now, report, &mut not_stored);
        }
    }
}
