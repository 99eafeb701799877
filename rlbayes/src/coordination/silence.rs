//! Members are believed as they report, chains are taken from those that keep them without a report,
//! and chains that nobody has done anything on are dropped.

use super::State;
use super::plan::ChainCount;
use super::replicates::Doing;
use rlbayes_common::exchange::{ChainStatus, Pace};
use rlbayes_common::ids::{ChainId, WorkerId};
use std::collections::BTreeSet;
use std::time::Duration;

/// How many leases a member may keep a chain without a report on it.
const LEASES: u32 = 2;
/// Or how many times as long as reports usually take, where that is longer.
const USUAL_TIMES: u32 = 4;
/// After how many failures the time of a member on trial grows no longer.
const MOST_DOUBLINGS: u32 = 16;

impl State {
    /// Notes that the holder of a chain has reported on it. Returns whether it may now have more
    /// chains: it has reported on all that it was given.
    pub(super) fn note_report(&mut self, now: Duration, worker: WorkerId, id: ChainId) -> bool {
        self.pending_orders.remove(&(worker, id));
        self.reported.insert(id);
        self.members.note_report(now, worker);
        let Some(chain) = self.chains.get_mut(&id) else {
            return false;
        };
        let Some(held) = &mut chain.held else {
            return false;
        };
        let is_first = !std::mem::replace(&mut held.has_reported, true);
        chain.took = Some(now.saturating_sub(held.since));
        held.since = now;
        let may_grow =
            |member: &super::membership::Worker| member.standing.may_grow(member.threads);
        if !is_first || !self.members.get(worker).is_some_and(may_grow) {
            return false;
        }
        let mut held = self.chains.values().filter_map(|chain| chain.held.as_ref());
        if held.any(|held| held.by == worker && !held.has_reported) {
            return false;
        }
        if let Some(member) = self.members.get_mut(worker) {
            let was_on_trial = !member.standing.is_shown();
            member.standing.grow();
            if was_on_trial {
                self.members.trials.succeed();
            }
        }
        true
    }

    /// Notes that a member is gone for good: if it was on trial with a chain, it has failed.
    pub(super) fn note_end_of_trial(&mut self, now: Duration, worker: WorkerId) {
        let reported = |worker: &super::membership::Worker| worker.standing.has_reported;
        let is_new = !self.members.get(worker).is_some_and(reported);
        if is_new && self.chains.values().any(|chain| chain.is_held_by(worker)) {
            let patience = self.patience();
            self.members.trials.fail(now, patience);
        }
    }

    /// Takes chains from members that have kept them for too long without a report, if there is
    /// somebody else who runs chains, or who could be tried where nobody has shown anything. Members
    /// whose pause after that is over are tried again.
    pub(super) fn take_from_silent(&mut self, now: Duration) {
        let tries_again = self.members.end_waits(now);
        let patience = self.patience();
        let mut silent = self.silent(now, patience);
        let holders: BTreeSet<WorkerId> = silent.iter().map(|&(_, holder, _)| holder).collect();
        let others = |(id, worker): (WorkerId, &super::membership::Worker)| {
            worker.standing.is_shown() && !holders.contains(&id)
        };
        if !self.members.alive().any(others) {
            self.keep_unless_others_wait(&mut silent);
        }
        let is_taken = !silent.is_empty() && self.has_work();
        if is_taken {
            let silent: Vec<(ChainId, WorkerId)> = silent
                .into_iter()
                .map(|(id, holder, _)| (id, holder))
                .collect();
            let holders: BTreeSet<WorkerId> = silent.iter().map(|&(_, holder)| holder).collect();
            self.members.trials.fail(now, patience);
            for &holder in &holders {
                if let Some(worker) = self.members.get_mut(holder) {
                    worker.standing.fail(now, patience);
                }
            }
            for &(id, holder) in &silent {
                self.pending_orders.remove(&(holder, id));
                if let Some(chain) = self.chains.get_mut(&id) {
                    chain.held = None;
                }
            }
            self.drop_empty_chains();
        }
        if is_taken || tries_again {
            self.rebalance(&[]);
        }
    }

    /// Returns which chains are kept for too long without a report, by whom, and for how long now.
    fn silent(&self, now: Duration, patience: Duration) -> Vec<(ChainId, WorkerId, Duration)> {
        self.chains
            .iter()
            .filter(|(id, chain)| chain.status == ChainStatus::Running && !self.rounds.has(**id))
            .filter_map(|(&id, chain)| Some((id, chain.held.as_ref()?)))
            .map(|(id, held)| {
                let since = match (self.doing, self.members.get(held.by)) {
                    // They are done one after the other.
                    (Doing::Replicates { .. }, Some(worker)) => held.since.max(worker.last_report),
                    (_, Some(worker)) => worker.standing.owes_since(held.since),
                    (_, None) => held.since,
                };
                (id, held.by, now.saturating_sub(since))
            })
            .filter(|&(.., silent_for)| silent_for > patience)
            .collect()
    }

    /// While nobody has shown that it runs chains, leaves them to those that have them, unless these
    /// are on trial and somebody else waits for one. Who has failed before has twice as long each time:
    /// where reports take long, somebody comes to them.
    fn keep_unless_others_wait(&self, silent: &mut Vec<(ChainId, WorkerId, Duration)>) {
        let patience = self.patience();
        let holders: BTreeSet<WorkerId> = self
            .chains
            .values()
            .filter_map(|chain| Some(chain.held.as_ref()?.by))
            .collect();
        let waits_for_one = |(id, worker): (WorkerId, &super::membership::Worker)| {
            !holders.contains(&id) && !worker.standing.waits() && worker.most_chains > 0
        };
        let is_fixed = matches!(self.plan.chains, ChainCount::Fixed(_));
        let is_open = is_fixed && self.doing == Doing::Search;
        let has_others = is_open && self.members.alive().any(waits_for_one);
        silent.retain(|&(_, holder, silent_for)| {
            let is_late = self.members.get(holder).is_none_or(|worker| {
                let longer = 1u32 << worker.standing.failures.min(MOST_DOUBLINGS);
                !worker.standing.is_shown() && silent_for > patience.saturating_mul(longer)
            });
            has_others && is_late
        });
    }

    /// Returns how long a member may keep a chain without a report. Where reports take long, the
    /// half of the chains that report soonest decides: one slow member can't make others wait.
    fn patience(&self) -> Duration {
        let mut took: Vec<Duration> = self.chains.values().filter_map(|it| it.took).collect();
        took.sort_unstable();
        let usual = took.get(took.len() / 2).copied().unwrap_or_default();
        (self.plan.lease * LEASES).max(usual * USUAL_TIMES)
    }

    /// Drops chains that nobody runs and that have no rows, where their number is open. What they have
    /// counted stays counted.
    pub(super) fn drop_empty_chains(&mut self) {
        let is_open = matches!(self.plan.chains, ChainCount::PerThread(_));
        if !is_open || self.plan.pace != Pace::Free {
            return;
        }
        let pool = &self.pool;
        self.chains.retain(|&id, chain| {
            chain.held.is_some()
                || chain.status != ChainStatus::Running
                || chain.snapshot.is_some()
                || pool.best_of(id).is_some()
        });
    }
}
