//! Replicates on a cluster: once the search is over, its place is taken by chains each of which is
//! one search on a resampled table. Workers join again for them; a replicate is done with its first
//! report, whoever brings it, and what a lost worker was to do is given to another.
//!
//! Their number is the chain's number, and their outcome depends on that alone. So it does not matter
//! who runs one, or that two workers do.

use super::chains::{Answered, ChainState};
use super::command::Command;
use super::plan::{ChainCount, Cooperation, Snapshots};
use super::view::ReplicateView;
use super::{MAX_CHAINS, Phase, State};
use crate::bootstrap::Replicate;
use rlbayes_common::elite::EliteRow;
use rlbayes_common::exchange::{Answer, ChainReport, ChainStatus, Exchange, Origin, Pace, Work};
use rlbayes_common::ids::{ChainId, Incarnation, WorkerId};
use rlbayes_common::search::{Budget, StoppedBy};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The most replicates of a cluster.
pub const MAX_CLUSTER_REPLICATES: u32 = MAX_CHAINS;

/// How many replicates a thread of a worker is given ahead of what it has done: short ones would
/// otherwise wait for exchanges.
const AHEAD: usize = 16;

/// What the chains of the moment are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Chains of the search.
    Search,
    /// Replicates.
    Replicates {
        /// Why the search had ended.
        ended_by: StoppedBy,
        /// How many chains it had.
        chains: usize,
        /// Whether they waited for each other.
        pace: Pace,
    },
}

impl Doing {
    pub(super) fn work(self) -> Work {
        match self {
            Self::Search => Work::Search,
            Self::Replicates { .. } => Work::Replicates,
        }
    }

    /// Returns why the search had ended before the replicates.
    pub(super) fn search_ended_by(self) -> Option<StoppedBy> {
        match self {
            Self::Search => None,
            Self::Replicates { ended_by, .. } => Some(ended_by),
        }
    }

    /// Returns how many chains the search had before the replicates.
    pub(super) fn search_chains(self) -> Option<usize> {
        match self {
            Self::Search => None,
            Self::Replicates { chains, .. } => Some(chains),
        }
    }
}

impl State {
    /// Returns the replicates that are done, by number.
    #[must_use]
    pub fn replicates(&self) -> &BTreeMap<u32, Arc<Replicate>> {
        &self.replicates
    }

    /// Returns whether replicates follow a search that ends for a reason. Who stops a search wants no
    /// more work on it.
    pub(super) fn owes_replicates(&self, reason: StoppedBy) -> bool {
        let is_wanted = !matches!(reason, StoppedBy::Stop | StoppedBy::Interrupt);
        let mut wanted = 0..self.plan.replicates;
        self.doing == Doing::Search
            && is_wanted
            && wanted.any(|number| !self.replicates.contains_key(&number))
    }

    /// Returns whether workers get other work once this is over.
    pub(super) fn more_work(&self) -> bool {
        self.stopped_by()
            .is_some_and(|reason| self.owes_replicates(reason))
    }

    /// Puts replicates in the place of the search's chains. Whoever still runs those is not a member
    /// any more, and joins again.
    pub(super) fn begin_replicates(
        &mut self,
        now: Duration,
        reason: StoppedBy,
        commands: &mut Vec<Command>,
    ) {
        self.pause_clock(now);
        let late: Vec<WorkerId> = self.members.alive().map(|(id, _)| id).collect();
        for worker in late {
            self.members.end(worker);
        }
        self.doing = Doing::Replicates {
            ended_by: reason,
            chains: self.chains.len(),
            pace: self.plan.pace,
        };
        self.before = self.total;
        self.chains = (0..self.plan.replicates)
            .map(|number| {
                let status = match self.replicates.contains_key(&number) {
                    true => ChainStatus::Exhausted,
                    false => ChainStatus::Running,
                };
                let chain = ChainState {
                    status,
                    ..ChainState::new()
                };
                (ChainId(number), chain)
            })
            .collect();
        self.pending_orders.clear();
        self.reported.clear();
        self.plan.chains = ChainCount::Fixed(self.plan.replicates);
        self.plan.pace = Pace::Free;
        self.plan.budget = Budget::default();
        self.plan.cooperation = Cooperation::Off;
        self.plan.snapshots = Snapshots::Never;
        self.phase = Phase::Running;
        commands.push(Command::StoreProgress);
        commands.push(Command::Replicates(reason));
    }

    /// Takes what belongs to other work than that of the moment: rows of a search that is over are
    /// worth the same. Its sender is not a member, and joins again.
    pub(super) fn take_late(
        &mut self,
        now: Duration,
        exchange: Exchange,
        commands: &mut Vec<Command>,
    ) {
        self.exchanges += 1;
        // A lockstep search has all rows of its rounds, and takes no others.
        let takes_rows = matches!(
            self.doing,
            Doing::Replicates {
                pace: Pace::Free,
                ..
            }
        );
        if exchange.work != Work::Search || !takes_rows {
            return;
        }
        for report in exchange.reports {
            self.merge_overall(now, report, commands);
        }
    }

    /// Takes the report of a replicate that is done.
    pub(super) fn take_replicate(
        &mut self,
        now: Duration,
        worker: Option<WorkerId>,
        incarnation: Incarnation,
        report: ChainReport,
        commands: &mut Vec<Command>,
    ) {
        let id = report.chain;
        let Some(chain) = self.chains.get_mut(&id) else {
            return;
        };
        let row = report.finds.into_iter().next().map(|(_, row)| row);
        // The result of a replicate depends on its number alone, whoever brings it; what it took is
        // believed of those that it was given to.
        let by_holder = worker.is_some_and(|worker| chain.is_held_by(worker));
        let counts = by_holder || chain.was_held_by(incarnation);
        if chain.status == ChainStatus::Running
            && report.status != ChainStatus::Running
            && let Some(EliteRow { structure, score }) = row
        {
            chain.status = ChainStatus::Exhausted;
            let finished = report.status != ChainStatus::OutOfEvaluations;
            let replicate = Arc::new(Replicate {
                structure,
                score,
                finished,
            });
            self.replicates.insert(id.0, Arc::clone(&replicate));
            if counts {
                let peer = self.peer_behind(worker, incarnation, id);
                let holder = worker.filter(|_| by_holder);
                self.claim(now, (holder, peer), id, report.counters);
            }
            commands.push(Command::StoreReplicate(id.0, replicate));
            commands.push(Command::StoreProgress);
        }
        let Some(chain) = self.chains.get_mut(&id) else {
            return;
        };
        let is_done = chain.status != ChainStatus::Running;
        if let Some(worker) = worker.filter(|_| by_holder) {
            chain.took = chain.held.as_ref().map(|held| {
                let begun = self
                    .members
                    .get(worker)
                    .map_or(held.since, |it| it.last_report);
                now.saturating_sub(begun.max(held.since))
            });
            self.members.note_report(now, worker);
            if is_done && let Some(worker) = self.members.get_mut(worker) {
                worker.standing.grow();
            }
        }
        if (is_done || by_holder)
            && let Some(held) = chain.held.take()
        {
            // Without a row that could be taken, it is given away again.
            self.pending_orders.remove(&(held.by, id));
        }
        chain.answered = Some(Answered {
            incarnation: Some(incarnation),
            sequence: report.sequence,
            answer: match is_done {
                true => Answer::Stop,
                false => Answer::Revoke,
            },
        });
        if self.is_running()
            && let Some(reason) = self.all_done()
        {
            self.stop(now, reason, commands);
        }
        self.rebalance(&[]);
    }

    /// Gives replicates that nobody runs to workers that have few, those that `wanted` names for a
    /// worker first. A worker without any takes over what others have waiting.
    pub(super) fn assign_replicates(&mut self, wanted: &[(WorkerId, ChainId)]) {
        let mut held: BTreeMap<WorkerId, usize> = BTreeMap::new();
        let mut free = VecDeque::new();
        let mut left = 0;
        for (&id, chain) in &self.chains {
            if chain.status == ChainStatus::Running {
                left += 1;
                match &chain.held {
                    Some(by) => *held.entry(by.by).or_default() += 1,
                    None => free.push_back(id),
                }
            }
        }
        for &(worker, chain) in wanted {
            if let Some(at) = free.iter().position(|&id| id == chain) {
                free.remove(at);
                self.give(chain, worker, Origin::Start);
                *held.entry(worker).or_default() += 1;
            }
        }
        let workers: Vec<(WorkerId, usize)> = self
            .members
            .alive()
            .map(|(id, worker)| (id, worker.believed()))
            .filter(|&(_, threads)| threads > 0)
            .collect();
        let threads: usize = workers.iter().map(|(_, threads)| threads).sum();
        for &(worker, own) in &workers {
            let fair = (left * own).div_ceil(threads.max(1));
            let has = held.entry(worker).or_default();
            while *has < fair.min(own.saturating_mul(AHEAD))
                && let Some(chain) = free.pop_front()
            {
                self.give(chain, worker, Origin::Start);
                *has += 1;
            }
        }
        for &(idle, _) in &workers {
            if held.get(&idle) != Some(&0) {
                continue;
            }
            let waiting =
                |(id, own): &&(WorkerId, usize)| held.get(id).is_some_and(|has| has > own);
            let Some(&(from, _)) = workers
                .iter()
                .filter(waiting)
                .max_by_key(|(id, _)| held.get(id))
            else {
                return;
            };
            let last =
                self.chains.iter().rev().find(|(_, chain)| {
                    chain.status == ChainStatus::Running && chain.is_held_by(from)
                });
            if let Some((&chain, _)) = last {
                self.give(chain, idle, Origin::Start);
                *held.entry(from).or_default() -= 1;
                *held.entry(idle).or_default() += 1;
            }
        }
    }

    /// Returns what is shown of the replicates; none: there are to be none.
    pub(super) fn replicate_view(&self) -> Option<ReplicateView> {
        let of = self.plan.replicates;
        let wanted = self.replicates.range(..of);
        (of > 0).then(|| ReplicateView {
            of,
            done: wanted
                .map(|(&number, it)| (number, Arc::clone(it)))
                .collect(),
        })
    }
}
