//! The barrier of lockstep: a round is merged in chain order once all its chains have reported, so
//! that neither threads nor workers nor their pace can change a result.

use rlbayes_common::exchange::ChainReport;
use rlbayes_common::ids::{ChainId, Round};
use std::collections::BTreeMap;

/// The reports of the round under way.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    round: Round,
    waiting: BTreeMap<ChainId, ChainReport>,
}

impl Rounds {
    /// Takes a report; a repeated one replaces the earlier.
    pub(super) fn add(&mut self, report: ChainReport) {
        self.waiting.insert(report.chain, report);
    }

    /// Returns the reports in chain order if every one of the `expected` chains has reported; the
    /// next round begins.
    pub(super) fn complete(
        &mut self,
        mut expected: impl Iterator<Item = ChainId>,
    ) -> Option<Vec<ChainReport>> {
        if !expected.all(|chain| self.waiting.contains_key(&chain)) {
            return None;
        }
        Some(self.close())
    }

    /// Returns what there is, complete or not; the next round begins.
    pub(super) fn close(&mut self) -> Vec<ChainReport> {
        self.round.0 += 1;
        std::mem::take(&mut self.waiting).into_values().collect()
    }

    /// Returns the round under way.
    pub(super) fn round(&self) -> Round {
        self.round
    }
}
