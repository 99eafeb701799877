//! The reports that no coordinator has acknowledged yet: one per chain, with everything that the
//! chain has reported since the last acknowledgement. Bounded: as many as chains run here, each with
//! as many rows as a report may have.

use rlbayes_common::elite::{EliteRow, Found};
use rlbayes_common::exchange::{ChainReport, ChainStatus, RunSequence};
use rlbayes_common::ids::ChainId;
use rlbayes_proto::convert::{find_bytes, report_bytes};
use rlbayes_proto::{MAX_EXCHANGE_STATES, MAX_FINDS, MAX_LIST_BYTES, MAX_REPORTS};
use std::collections::BTreeMap;

/// The reports that wait for an acknowledgement.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: BTreeMap<ChainId, Waiting>,
    /// Counts turns.
    turns: u64,
}

#[derive(Debug)]
struct Waiting {
    report: ChainReport,
    /// Who has waited longest since it came or was sent last is next.
    turn: u64,
}

impl Outbox {
    /// Keeps a report, with the rows of the chain's older one.
    pub(super) fn put(&mut self, mut report: ChainReport) {
        self.turns += 1;
        let mut turn = self.turns;
        if let Some(older) = self.waiting.remove(&report.chain) {
            let mut finds = older.report.finds;
            finds.append(&mut report.finds);
            report.finds = finds;
            turn = older.turn;
        }
        keep_best_and_newest(&mut report.finds);
        self.waiting.insert(report.chain, Waiting { report, turn });
    }

    /// Returns as many reports as the limits of one message allow: the one with the best row, then
    /// those that have waited longest. All stay until they are acknowledged.
    pub(super) fn fill_message(&mut self) -> Vec<ChainReport> {
        let best = self.waiting.iter().filter_map(|(&chain, waiting)| {
            let scores = waiting.report.finds.iter().map(|(_, row)| row.score);
            Some((scores.max()?, chain))
        });
        let best = best.max().map(|(_, chain)| chain);
        let mut order: Vec<(bool, u64, ChainId)> = self
            .waiting
            .iter()
            .map(|(&chain, waiting)| (Some(chain) != best, waiting.turn, chain))
            .collect();
        order.sort_unstable();
        let (mut bytes, mut states) = (0, 0);
        let mut reports = Vec::new();
        for (_, _, chain) in order.into_iter().take(MAX_REPORTS) {
            let Some(waiting) = self.waiting.get_mut(&chain) else {
                continue;
            };
            let state = waiting.report.snapshot.as_ref();
            states += state.map_or(0, |state| state.bytes().len());
            bytes += report_bytes(&waiting.report);
            let is_full = bytes > MAX_LIST_BYTES || states > MAX_EXCHANGE_STATES;
            if is_full && !reports.is_empty() {
                break;
            }
            self.turns += 1;
            waiting.turn = self.turns;
            reports.push(waiting.report.clone());
        }
        reports
    }

    /// Drops a report that was acknowledged; false if it is not the one that waits.
    pub(super) fn acknowledge(&mut self, chain: ChainId, sequence: u64) -> bool {
        let waits = self
            .waiting
            .get(&chain)
            .is_some_and(|waiting| waiting.report.sequence == sequence);
        if waits {
            self.waiting.remove(&chain);
        }
        waits
    }

    /// Drops the report of a chain.
    pub(super) fn drop_chain(&mut self, chain: ChainId) {
        self.waiting.remove(&chain);
    }

    /// Drops everything.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Returns all reports.
    pub(super) fn reports(&self) -> impl Iterator<Item = &ChainReport> {
        self.waiting.values().map(|waiting| &waiting.report)
    }

    /// Returns whether a report of the chain waits.
    #[must_use]
    pub(super) fn has(&self, chain: ChainId) -> bool {
        self.waiting.contains_key(&chain)
    }

    /// Returns how many reports wait.
    #[must_use]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns whether none waits.
    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns whether a report says something that the coordinator should soon know.
    #[must_use]
    pub(super) fn has_news(&self) -> bool {
        self.reports().any(|report| {
            !report.finds.is_empty()
                || report.wants_seeds
                || report.status != ChainStatus::Running
                || RunSequence::of(report.sequence).report == 0
        })
    }
}

/// Drops the oldest rows of those that are too many for a report, never the best: rows that a chain
/// stalled on may come after it.
fn keep_best_and_newest(finds: &mut Vec<(Found, EliteRow)>) {
    let scores = finds.iter().map(|(_, row)| row.score).enumerate();
    let Some((best, _)) = scores.max_by_key(|&(_, score)| score) else {
        return;
    };
    let best = finds.remove(best);
    let mut bytes = find_bytes(&best.1);
    let newest = finds
        .iter()
        .rev()
        .take(MAX_FINDS - 1)
        .take_while(|(_, row)| {
            bytes += find_bytes(row);
            bytes <= MAX_LIST_BYTES
        });
    let kept = newest.count();
    finds.drain(..finds.len() - kept);
    finds.push(best);
}
