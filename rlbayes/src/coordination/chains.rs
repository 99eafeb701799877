//! What the coordinator knows of each chain: its work, the worker that runs it, its last answer.

use rlbayes_common::exchange::{
    Answer, ChainCounters, ChainStatus, Origin, RunSequence, Snapshot, StoredChain,
};
use rlbayes_common::ids::{Incarnation, PeerId, WorkerId};
use rlbayes_common::search::Seeds;
use std::collections::VecDeque;
use std::time::Duration;

/// In how many runs of a chain a worker process is looked for.
const RUNS: u64 = 16;

/// A chain of the search.
#[derive(Clone, Debug)]
pub(super) struct ChainState {
    pub(super) counted: Counted,
    pub(super) status: ChainStatus,
    /// How often it was sent seeds: each time has its own draw.
    pub(super) reseeds: u64,
    /// Whether it was ever assigned to a worker.
    pub(super) started: bool,
    pub(super) held: Option<Held>,
    /// The worker processes that it was given to last, oldest first, and who stands behind them.
    pub(super) holders: VecDeque<(Incarnation, Option<PeerId>)>,
    /// How long its worker took for its last report.
    pub(super) took: Option<Duration>,
    /// The last answer, for reports that are repeated.
    pub(super) answered: Option<Answered>,
    /// Lockstep: the state at the last barrier.
    pub(super) snapshot: Option<Snapshot>,
    /// Lockstep: the seeds for the round under way.
    pub(super) owed: Option<Seeds>,
}

/// Which worker runs a chain.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) by: WorkerId,
    /// Where the worker begins.
    pub(super) origin: Origin,
    /// When it was given the chain, last reported on it, or was last answered.
    pub(super) since: Duration,
    /// Whether it has reported on the chain.
    pub(super) has_reported: bool,
}

/// How a report was answered.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    /// The worker process that reported; none in lockstep, where the answer belongs to the chain,
    /// whichever worker runs it.
    pub(super) incarnation: Option<Incarnation>,
    pub(super) sequence: u64,
    pub(super) answer: Answer,
}

/// What a chain has done: the maximum for each run in a worker process, summed. Late and repeated
/// reports can't change the sum. In lockstep a chain counts for itself, whichever worker runs it.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    /// The chain's own counters, in lockstep; else what retired processes have done.
    ended: ChainCounters,
    incarnations: Vec<(Incarnation, ChainCounters)>,
    /// Processes whose work is part of `ended`, oldest first: it must not be added again.
    retired: VecDeque<Incarnation>,
}

impl Counted {
    /// For how many worker processes counters are kept separately, so that late reports still count.
    const INCARNATIONS: usize = 8;
    /// How many earlier processes are remembered, so that their late reports are ignored.
    const RETIRED: usize = 1024;

    /// Takes the chain's own counters and returns what they add.
    pub(super) fn raise_own(&mut self, to: ChainCounters) -> ChainCounters {
        raise(&mut self.ended, to)
    }

    /// Takes counters of a worker process and returns what they add.
    pub(super) fn raise(&mut self, by: Incarnation, to: ChainCounters) -> ChainCounters {
        if let Some((_, known)) = self
            .incarnations
            .iter_mut()
            .find(|(incarnation, _)| *incarnation == by)
        {
            return raise(known, to);
        }
        if self.retired.contains(&by) {
            return ChainCounters::default();
        }
        if self.incarnations.len() == Self::INCARNATIONS {
            let (incarnation, oldest) = self.incarnations.remove(0);
            self.ended = self.ended.plus(oldest);
            self.retire(incarnation);
        }
        self.incarnations.push((by, to));
        to
    }

    /// Returns whether a worker process has counted before.
    pub(super) fn knows(&self, incarnation: Incarnation) -> bool {
        self.incarnations
            .iter()
            .any(|(known, _)| *known == incarnation)
    }

    /// Returns whether a worker process has counted before, in one of its first runs of the chain.
    pub(super) fn knows_any_run(&self, incarnation: Incarnation) -> bool {
        let mut runs = (0..RUNS).map(RunSequence::first);
        runs.any(|first| self.knows(RunSequence::of(first).counted_as(incarnation)))
    }

    /// Notes that a worker process is part of the sum and has no counters of its own any more.
    pub(super) fn retire(&mut self, incarnation: Incarnation) {
        if self.retired.len() == Self::RETIRED {
            self.retired.pop_front();
        }
        self.retired.push_back(incarnation);
    }

    /// Returns the worker processes whose late reports still count, oldest first.
    pub(super) fn incarnations(&self) -> &[(Incarnation, ChainCounters)] {
        &self.incarnations
    }

    /// Returns the worker processes before these, oldest first.
    pub(super) fn retired(&self) -> impl Iterator<Item = Incarnation> {
        self.retired.iter().copied()
    }

    /// Returns the sum.
    pub(super) fn sum(&self) -> ChainCounters {
        self.incarnations
            .iter()
            .fold(self.ended, |sum, (_, counters)| sum.plus(*counters))
    }
}

/// Raises counters and returns what that adds.
fn raise(known: &mut ChainCounters, to: ChainCounters) -> ChainCounters {
    let before = *known;
    *known = before.max(to);
    known.since(before)
}

impl ChainState {
    /// How many worker processes that had a chain are remembered, so that their late reports count.
    const HOLDERS: usize = 8;

    /// A chain that has not been run yet.
    pub(super) fn new() -> Self {
        Self {
            counted: Counted::default(),
            status: ChainStatus::Running,
            reseeds: 0,
            started: false,
            held: None,
            holders: VecDeque::new(),
            took: None,
            answered: None,
            snapshot: None,
            owed: None,
        }
    }

    /// Resumes a chain from a barrier.
    pub(super) fn stored(stored: StoredChain) -> Self {
        let mut counted = Counted::default();
        counted.raise_own(stored.counters);
        Self {
            counted,
            status: stored.status,
            reseeds: stored.reseeds,
            started: true,
            snapshot: Some(stored.snapshot),
            owed: stored.seeds,
            ..Self::new()
        }
    }

    /// Returns what is stored of it at a barrier.
    pub(super) fn to_store(&self) -> Option<StoredChain> {
        Some(StoredChain {
            snapshot: self.snapshot.clone()?,
            seeds: self.owed.clone(),
            reseeds: self.reseeds,
            counters: self.counted.sum(),
            status: self.status,
        })
    }

    /// Makes an order that its worker may still get begin at the end of the round that is now over:
    /// another worker may have reported in its place.
    pub(super) fn renew_origin(&mut self, now: Duration) {
        let barrier = self.barrier();
        if let Some(held) = &mut self.held {
            held.since = now;
        }
        if let (Some(held), Some(barrier)) = (&mut self.held, barrier) {
            held.origin = barrier;
        }
    }

    /// Returns the last barrier as where the chain begins, if its state there is known.
    pub(super) fn barrier(&self) -> Option<Origin> {
        Some(Origin::Stored {
            digest: self.snapshot.as_ref()?.digest(),
            seeds: self.owed.clone(),
        })
    }

    /// Notes that it is given to a worker process.
    pub(super) fn note_holder(&mut self, incarnation: Incarnation, peer: Option<PeerId>) {
        self.holders.retain(|&(known, _)| known != incarnation);
        if self.holders.len() == Self::HOLDERS {
            self.holders.pop_front();
        }
        self.holders.push_back((incarnation, peer));
    }

    /// Returns whether it was given to a worker process lately.
    pub(super) fn was_held_by(&self, incarnation: Incarnation) -> bool {
        self.holders.iter().any(|&(known, _)| known == incarnation)
    }

    /// Returns whether a worker runs it.
    pub(super) fn is_held_by(&self, worker: WorkerId) -> bool {
        self.held.as_ref().is_some_and(|held| held.by == worker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn evaluations(evaluations: u64) -> ChainCounters {
        ChainCounters {
            evaluations,
            ..Default::default()
        }
    }

    proptest! {
        #[test]
        fn order_and_repetition_do_not_change_the_sum(
            reports in prop::collection::vec((0..Counted::INCARNATIONS as u64, 0u64..1000), 1..40),
            order in any::<prop::sample::Index>(),
        ) {
            let sum = |reports: &[(u64, u64)]| {
                let mut counted = Counted::default();
                let mut added = 0;
                for &(incarnation, to) in reports {
                    added += counted.raise(Incarnation(incarnation), evaluations(to)).evaluations;
                }
                prop_assert_eq!(added, counted.sum().evaluations);
                Ok(added)
            };
            let mut other = reports.clone();
            other.rotate_left(order.index(reports.len()));
            other.extend(reports.iter().rev());
            prop_assert_eq!(sum(&reports)?, sum(&other)?);
        }

        #[test]
        fn work_of_any_number_of_processes_never_counts_twice(
            reports in prop::collection::vec((0u64..60, 0u64..1000), 1..200),
        ) {
            let mut counted = Counted::default();
            let mut done: BTreeMap<u64, u64> = BTreeMap::new();
            for &(incarnation, to) in &reports {
                counted.raise(Incarnation(incarnation), evaluations(to));
                let known = done.entry(incarnation).or_default();
                *known = to.max(*known);
            }
            let sum = counted.sum().evaluations;
            prop_assert!(sum <= done.values().sum());
            for (incarnation, to) in reports {
                counted.raise(Incarnation(incarnation), evaluations(to));
            }
            prop_assert_eq!(counted.sum().evaluations, sum, "late reports add nothing");
        }
    }
}
