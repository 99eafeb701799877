//! Workers join, leave and are lost, chains are reassigned, and a search ends.

use super::chains::{ChainState, Held};
use super::command::{Command, WorkerChange};
use super::membership::{Entered, Move};
use super::plan::{ChainCount, SearchPlan, Snapshots};
use super::replicates::Doing;
use super::standing::Standing;
use super::{LAST_REPORTS, MAX_CHAINS, Phase, STORE_PROGRESS_EVERY, State};
use rlbayes_common::exchange::{ChainReport, ChainStatus, Exchange, Hello, Origin, Pace};
use rlbayes_common::ids::{ChainId, WorkerId};
use rlbayes_common::search::StoppedBy;
use std::collections::BTreeMap;
use std::time::Duration;

impl State {
    pub(super) fn join(&mut self, now: Duration, mut hello: Hello, commands: &mut Vec<Command>) {
        let mut standing = self.standing_of(&hello);
        if let Some(before) = hello
            .replaces
            .and_then(|incarnation| self.members.find(incarnation))
        {
            if let Some(before) = self.members.get(before) {
                standing = before.standing;
            }
            self.end_worker(now, before, WorkerChange::Replaced, commands);
        }
        if let Some(before) = hello.replaces {
            self.members.stop_awaiting(before);
        }
        // The one that it replaces may have been the last that the end of the search waited for.
        self.finish(now, commands);
        if hello.work != self.doing.work() {
            hello.chains.clear();
        }
        let hello = &hello;
        if !self.is_running() {
            // There is nothing left to do for this worker; the reply says so. Chains that it ran in a
            // round that is not over are reassigned.
            self.rebalance(&[]);
            return;
        }
        self.members.stop_awaiting(hello.incarnation);
        if self.members.is_full()
            && self.members.find(hello.incarnation).is_none()
            && let Some(idle) = self.members.most_idle()
        {
            self.end_worker(now, idle, WorkerChange::Displaced, commands);
        }
        let SearchPlan {
            lease,
            chain_memory,
            ..
        } = self.plan;
        let entered = self
            .members
            .enter(now, lease, hello, chain_memory, standing);
        let Some((worker, entered)) = entered else {
            return;
        };
        let change = match entered {
            Entered::New => WorkerChange::Joined,
            Entered::Again => WorkerChange::Returned,
        };
        commands.push(Command::Worker(worker, change));
        if self.searching_since.is_none() && self.doing == Doing::Search {
            self.searching_since = Some(now);
        }
        if let ChainCount::PerThread(each) = self.plan.chains {
            // After the loss of the coordinator's disk, workers know chains that it does not; accept
            // no more than it would be given now.
            let most = self.members.get(worker).map_or(0, |worker| {
                let usual = worker.believed().saturating_mul(each as usize);
                usual.min(worker.most_chains)
            });
            for &chain in hello.chains.iter().take(most) {
                if chain.0 < MAX_CHAINS {
                    self.chains.entry(chain).or_insert_with(|| ChainState {
                        started: true,
                        ..ChainState::new()
                    });
                }
            }
        }
        let wanted: Vec<(WorkerId, ChainId)> =
            hello.chains.iter().map(|&chain| (worker, chain)).collect();
        self.rebalance(&wanted);
        self.drop_empty_chains();
        self.look_at_claims(now, commands);
    }

    /// Returns what a process that joins has shown before: it comes back with chains that it has
    /// counted for.
    fn standing_of(&self, hello: &Hello) -> Standing {
        let processes = || std::iter::once(hello.incarnation).chain(hello.replaces);
        let known = |chain: &&ChainId| {
            let counted = self.chains.get(*chain).map(|chain| &chain.counted);
            counted.is_some_and(|counted| processes().any(|process| counted.knows_any_run(process)))
        };
        let known = hello.chains.iter().filter(known).count();
        let each = match self.plan.chains {
            ChainCount::Fixed(_) => 1,
            ChainCount::PerThread(each) => each.max(1) as usize,
        };
        let mut standing = Standing::ON_TRIAL;
        standing.vouch(u32::try_from(known.div_ceil(each)).unwrap_or(u32::MAX));
        standing
    }

    pub(super) fn leave(&mut self, now: Duration, exchange: Exchange, commands: &mut Vec<Command>) {
        self.exchanges += 1;
        let worker = exchange.worker;
        self.members.stop_awaiting(exchange.incarnation);
        let takes_part = self.members.renew(
            now,
            self.plan.lease,
            worker,
            exchange.incarnation,
            exchange.statistics,
        );
        if self.plan.pace == Pace::Lockstep {
            // Not a report of the round: the chains' present states, for resuming the search.
            for report in exchange.reports {
                if takes_part && self.holds(worker, report.chain) {
                    self.keep_last_state(report, commands);
                }
            }
        } else {
            let known = takes_part.then_some(worker);
            self.take_reports(now, known, exchange, commands);
        }
        if takes_part {
            self.end_worker(now, worker, WorkerChange::Left, commands);
            self.drop_empty_chains();
            self.rebalance(&[]);
        }
    }

    /// Keeps the state that a lockstep chain was left in, once the search is to end and if the chain
    /// has not moved since the last barrier.
    fn keep_last_state(&mut self, report: ChainReport, commands: &mut Vec<Command>) {
        let round = self.rounds.round().0;
        if self.is_running() {
            return;
        }
        let Some(chain) = self.chains.get_mut(&report.chain) else {
            return;
        };
        let untouched = report.sequence == round && chain.counted.sum() == report.counters;
        if untouched
            && self.plan.snapshots != Snapshots::Never
            && let Some(snapshot) = report.snapshot
        {
            chain.snapshot = Some(snapshot);
            if let Some(stored) = chain.to_store() {
                commands.push(Command::StoreChain(report.chain, stored));
            }
        }
    }

    pub(super) fn tick(&mut self, now: Duration, commands: &mut Vec<Command>) {
        let overdue = self.members.overdue(now);
        for &worker in &overdue {
            self.end_worker(now, worker, WorkerChange::Lost, commands);
        }
        if !overdue.is_empty() {
            self.drop_empty_chains();
            self.rebalance(&[]);
        }
        if now.saturating_sub(self.reported_since) >= self.plan.lease {
            self.reported_since = now;
            self.repeat_orders();
            self.take_from_silent(now);
        }
        self.look_at_claims(now, commands);
        if self.is_running()
            && let Some(reason @ (StoppedBy::Time | StoppedBy::CpuTime | StoppedBy::Stagnation)) =
                self.plan.budget.reached(&self.spent(now))
        {
            self.stop(now, reason, commands);
            commands.push(Command::Halt);
        }
        if now.saturating_sub(self.progress_at) >= STORE_PROGRESS_EVERY {
            self.progress_at = now;
            commands.push(Command::StoreProgress);
        }
    }

    pub(super) fn stop(&mut self, now: Duration, reason: StoppedBy, commands: &mut Vec<Command>) {
        if !self.is_running() {
            return;
        }
        self.phase = Phase::Stopping {
            reason,
            since: now,
            in_round: self.plan.pace == Pace::Lockstep,
        };
        commands.push(Command::StoreProgress);
        if self.plan.pace == Pace::Free {
            commands.push(Command::Halt);
        }
    }

    /// Finishes a search that is to end, once no worker is left or they have taken too long.
    pub(super) fn finish(&mut self, now: Duration, commands: &mut Vec<Command>) {
        let Phase::Stopping {
            reason,
            since,
            in_round,
        } = self.phase
        else {
            return;
        };
        // A lockstep round is finished, however long it takes, as long as there are workers.
        let overdue = !in_round && now.saturating_sub(since) >= LAST_REPORTS;
        if self.members.alive().next().is_none() || overdue {
            if self.owes_replicates(reason) {
                self.begin_replicates(now, reason, commands);
                return;
            }
            self.phase = Phase::Finished { reason, since };
            self.pause_clock(now);
            commands.push(Command::StoreProgress);
            commands.push(Command::Halt);
            commands.push(Command::Finished(reason));
        }
    }

    pub(super) fn end_worker(
        &mut self,
        now: Duration,
        worker: WorkerId,
        change: WorkerChange,
        commands: &mut Vec<Command>,
    ) {
        if change == WorkerChange::Lost {
            self.members.note_lost(worker);
        }
        // The same worker after a restart goes on with its trial.
        if change != WorkerChange::Replaced {
            self.note_end_of_trial(now, worker);
        }
        self.members.end(worker);
        // That a free-running chain is done is what its worker says: who runs it next finds out soon.
        let is_open = self.is_running() && self.plan.pace == Pace::Free;
        let is_open = is_open && self.doing == Doing::Search;
        for chain in self.chains.values_mut() {
            if chain.is_held_by(worker) {
                chain.held = None;
                if is_open {
                    chain.status = ChainStatus::Running;
                }
            }
        }
        self.pending_orders.retain(|&(by, _)| by != worker);
        commands.push(Command::Worker(worker, change));
        if self.members.alive().next().is_none() {
            self.pause_clock(now);
            commands.push(Command::StoreProgress);
        }
    }

    pub(super) fn pause_clock(&mut self, now: Duration) {
        if let Some(since) = self.searching_since.take() {
            self.searched += now.saturating_sub(since);
        }
    }

    /// After a chain is done: its worker has time for a chain that no worker runs.
    pub(super) fn rebalance_lost(&mut self) {
        let is_lost =
            |chain: &ChainState| chain.held.is_none() && chain.status == ChainStatus::Running;
        if self.chains.values().any(is_lost) {
            self.rebalance(&[]);
        }
    }

    /// Assigns chains that no worker runs, and balances the number of chains per worker.
    pub(super) fn rebalance(&mut self, wanted: &[(WorkerId, ChainId)]) {
        if !self.has_work() {
            return;
        }
        if self.doing != Doing::Search {
            self.assign_replicates(wanted);
            return;
        }
        // A lockstep chain that has reported stays with its worker until the round is over: the
        // answer goes to the worker that waits for it.
        let holders: BTreeMap<ChainId, Option<WorkerId>> = self
            .chains
            .iter()
            .filter(|(_, chain)| chain.status == ChainStatus::Running)
            .map(|(&id, chain)| (id, chain.held.as_ref().map(|held| held.by)))
            .collect();
        let mut done: BTreeMap<WorkerId, usize> = BTreeMap::new();
        for chain in self.chains.values() {
            if let (Some(held), true) = (&chain.held, chain.status != ChainStatus::Running) {
                *done.entry(held.by).or_default() += 1;
            }
        }
        let numbers = match self.plan.chains {
            ChainCount::Fixed(_) => 0..0,
            ChainCount::PerThread(_) => 0..MAX_CHAINS,
        };
        let mut new = numbers
            .map(ChainId)
            .filter(|id| !self.chains.contains_key(id));
        let moves = self
            .members
            .rebalance(self.plan.chains, &holders, &done, wanted, || new.next());
        for Move { chain, to } in moves {
            let is_new = !self.chains.contains_key(&chain);
            if is_new {
                self.chains.insert(chain, ChainState::new());
            }
            let origin = self.draw_origin(chain);
            self.give(chain, to, origin);
        }
    }

    /// Makes a worker the holder of a chain.
    pub(super) fn give(&mut self, chain: ChainId, to: WorkerId, origin: Origin) {
        let (Some(state), Some(worker)) = (self.chains.get_mut(&chain), self.members.get(to))
        else {
            return;
        };
        let held = Held {
            by: to,
            origin,
            since: self.now,
            has_reported: false,
        };
        state.started = true;
        state.note_holder(worker.incarnation, worker.peer);
        if let Some(worker) = self.members.get_mut(to) {
            worker.standing.note_chain(self.now);
        }
        if let Some(before) = state.held.replace(held) {
            self.pending_orders.remove(&(before.by, chain));
        }
        self.pending_orders.insert((to, chain));
    }

    /// Repeats the orders of chains that their workers have not reported on for long. A late report
    /// of an earlier run may have been taken for the confirmation of an order that was lost; a worker
    /// that does run the chain ignores its order.
    fn repeat_orders(&mut self) {
        let reported = std::mem::take(&mut self.reported);
        for (&id, chain) in &self.chains {
            if let Some(held) = &chain.held
                && chain.status == ChainStatus::Running
                && !reported.contains(&id)
                && !self.rounds.has(id)
            {
                self.pending_orders.insert((held.by, id));
            }
        }
    }

    /// Decides where a chain begins that is given to a worker. Rows of the pool, for a chain whose
    /// state was lost, are drawn anew each time and counted as sent.
    fn draw_origin(&mut self, chain: ChainId) -> Origin {
        let state = self.chains.get(&chain);
        let origin = match self.plan.pace {
            Pace::Lockstep => state.and_then(ChainState::barrier),
            Pace::Free if state.is_some_and(|state| state.started) => {
                self.seeds_for_lost(chain).map(Origin::Pool)
            }
            Pace::Free => None,
        };
        origin.unwrap_or(Origin::Start)
    }
}
