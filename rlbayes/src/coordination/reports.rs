//! Reports are counted, merged and answered: each at once, or a lockstep round when it is complete.

use super::chains::{Answered, ChainState};
use super::command::Command;
use super::plan::{ChainCount, Cooperation, Snapshots};
use super::replicates::Doing;
use super::{CurvePoint, MAX_CHAINS, Phase, Record, State};
use rlbayes_common::elite::{EliteRow, Pool, reseed, reseed_lost};
use rlbayes_common::exchange::{
    Answer, ChainCounters, ChainReport, ChainStatus, Exchange, Pace, RunSequence,
};
use rlbayes_common::ids::{ChainId, Incarnation, Seed, WorkerId};
use rlbayes_common::score::LogScore;
use rlbayes_common::search::{Seeds, StoppedBy};
use std::time::Duration;

/// A lockstep round that takes at least this long is not finished before an interrupted search ends.
const LONG_ROUND: Duration = Duration::from_millis(500);

impl State {
    pub(super) fn take_reports(
        &mut self,
        now: Duration,
        worker: Option<WorkerId>,
        exchange: Exchange,
        commands: &mut Vec<Command>,
    ) {
        let incarnation = exchange.incarnation;
        for report in exchange.reports {
            if !self.chains.contains_key(&report.chain) {
                self.take_from_unknown_chain(now, report, commands);
                continue;
            }
            match self.plan.pace {
                _ if self.doing != Doing::Search => {
                    self.take_replicate(now, worker, incarnation, report, commands);
                }
                Pace::Free => self.take_free(now, worker, incarnation, report, commands),
                Pace::Lockstep => self.take_lockstep(now, worker, report, commands),
            }
        }
    }

    /// Returns whether a member runs a chain.
    pub(super) fn holds(&self, worker: WorkerId, chain: ChainId) -> bool {
        self.chains
            .get(&chain)
            .is_some_and(|chain| chain.is_held_by(worker))
    }

    pub(super) fn refuses_chain(&self, chain: ChainId) -> bool {
        !self.chains.contains_key(&chain)
            && (matches!(self.plan.chains, ChainCount::Fixed(_)) || chain.0 >= MAX_CHAINS)
    }

    /// Takes the rows of an unknown chain: after the loss of the coordinator's disk workers have such
    /// chains, until they join with them. A report does not create a chain, since its number may be
    /// made up.
    fn take_from_unknown_chain(
        &mut self,
        now: Duration,
        report: ChainReport,
        commands: &mut Vec<Command>,
    ) {
        if self.refuses_chain(report.chain) || self.plan.pace == Pace::Lockstep {
            return;
        }
        self.merge_overall(now, report, commands);
        self.check_budget(now, commands);
    }

    /// Merges rows that no chain need have found.
    pub(super) fn merge_overall(
        &mut self,
        now: Duration,
        report: ChainReport,
        commands: &mut Vec<Command>,
    ) {
        let rows = report.finds.into_iter().map(|(_, row)| row).collect();
        self.merge_rows_overall(now, rows, commands);
    }

    pub(super) fn merge_rows_overall(
        &mut self,
        now: Duration,
        mut changed: Vec<EliteRow>,
        commands: &mut Vec<Command>,
    ) {
        let before = self.best().map(|row| row.score);
        changed.retain(|row| self.pool.merge_overall(row));
        if !changed.is_empty() {
            commands.push(Command::StoreOverall(changed));
        }
        self.note_record(now, before, commands);
    }

    /// Returns whether the counters of all these reports count. Those of a process that this
    /// coordinator has never met do not; neither do those for a search whose replicates are under way.
    #[must_use]
    pub fn counts(&self, exchange: &Exchange) -> bool {
        let is_counted = |report: &ChainReport| {
            let run = RunSequence::of(report.sequence).counted_as(exchange.incarnation);
            self.believes(exchange.incarnation, report.chain, run)
        };
        // In lockstep a chain counts for itself, at the end of its round.
        self.plan.pace == Pace::Lockstep
            || exchange.reports.is_empty()
            || (exchange.work == self.doing.work() && exchange.reports.iter().all(is_counted))
    }

    /// Rows are checked, whoever brings them. Counters are believed of those that run the chain or have
    /// run it: a worker that was paused has done what it reports late.
    fn believes(&self, incarnation: Incarnation, chain: ChainId, run: Incarnation) -> bool {
        let has_run =
            |chain: &ChainState| chain.counted.knows(run) || chain.was_held_by(incarnation);
        self.chains.get(&chain).is_some_and(has_run)
    }

    pub(super) fn take_free(
        &mut self,
        now: Duration,
        worker: Option<WorkerId>,
        incarnation: Incarnation,
        report: ChainReport,
        commands: &mut Vec<Command>,
    ) {
        let id = report.chain;
        let (sequence, wants_seeds) = (report.sequence, report.wants_seeds);
        let status = self.possible(report.status);
        let run = RunSequence::of(sequence).counted_as(incarnation);
        let holder = worker.filter(|&worker| self.holds(worker, id));
        if self.believes(incarnation, id, run)
            && let Some(chain) = self.chains.get_mut(&id)
        {
            let added = chain.counted.raise(run, report.counters);
            let peer = self.peer_behind(worker, incarnation, id);
            if !self.claim(now, (holder, peer), id, added) {
                commands.push(Command::StoreProgress);
            }
        }
        self.merge(now, report, commands);
        self.check_budget(now, commands);
        // Whoever does not hold the chain is told so by its reply.
        let Some(worker) = holder else {
            return;
        };
        let is_early = !self.has_used_its_share(id, status);
        let Some(chain) = self.chains.get_mut(&id) else {
            return;
        };
        if is_early && self.phase == Phase::Running {
            chain.answered = Some(Answered {
                incarnation: Some(incarnation),
                sequence,
                answer: Answer::Revoke,
            });
            self.give_anew(worker, id);
            return;
        }
        chain.status = status;
        if self.note_report(now, worker, id) {
            self.rebalance(&[]);
        }
        let Some(chain) = self.chains.get(&id) else {
            return;
        };
        let repeated = chain
            .answered
            .as_ref()
            .is_some_and(|last| last.incarnation == Some(incarnation) && last.sequence == sequence);
        if repeated && self.is_running() {
            return;
        }
        let answer = if !self.is_running() || status != ChainStatus::Running {
            Answer::Stop
        } else {
            let seeds = if wants_seeds {
                self.seeds_for(id)
            } else {
                None
            };
            Answer::Continue {
                seeds,
                snapshot: false,
            }
        };
        if let Some(chain) = self.chains.get_mut(&id) {
            chain.answered = Some(Answered {
                incarnation: Some(incarnation),
                sequence,
                answer,
            });
        }
        if self.is_running()
            && let Some(reason) = self.all_done()
        {
            self.stop(now, reason, commands);
        }
        if status != ChainStatus::Running {
            self.rebalance_lost();
        }
    }

    /// Returns what a worker can mean: nobody has used up a limit that its chain does not have.
    fn possible(&self, status: ChainStatus) -> ChainStatus {
        let budget = &self.plan.budget;
        let is_open = matches!(self.plan.chains, ChainCount::PerThread(_));
        match status {
            status if self.doing != Doing::Search => status,
            ChainStatus::OutOfEvaluations if is_open || budget.evaluations.is_none() => {
                ChainStatus::Running
            }
            ChainStatus::OutOfIterations if is_open || budget.iterations.is_none() => {
                ChainStatus::Running
            }
            status => status,
        }
    }

    pub(super) fn take_lockstep(
        &mut self,
        now: Duration,
        worker: Option<WorkerId>,
        report: ChainReport,
        commands: &mut Vec<Command>,
    ) {
        let id = report.chain;
        if report.sequence != self.rounds.round().0 || !self.has_work() {
            // The last round's answer is kept for reports that are repeated.
            return;
        }
        // Everything that is promised to be the same depends on a round's reports: they are those of
        // the workers that the chains were given to.
        let Some(worker) = worker.filter(|&worker| self.holds(worker, id)) else {
            return;
        };
        // A chain that is done reports in no round any more.
        let is_done = |chain: &ChainState| chain.status != ChainStatus::Running;
        if self.chains.get(&id).is_none_or(is_done) {
            return;
        }
        let lacks_state = self.plan.snapshots == Snapshots::EveryRound && report.snapshot.is_none();
        if lacks_state {
            return;
        }
        let is_of_this_process = self.members.get(worker).is_some_and(|it| it.peer.is_none());
        if !is_of_this_process && !self.fits_round(&report) {
            self.take_from_liar(now, worker, id);
            return;
        }
        // More chains come with the next round.
        self.note_report(now, worker, id);
        self.rounds.add(report);
        let running: Vec<ChainId> = self
            .chains
            .iter()
            .filter(|(_, chain)| chain.status == ChainStatus::Running)
            .map(|(&id, _)| id)
            .collect();
        if let Some(reports) = self.rounds.complete(running.into_iter()) {
            self.close_round(now, reports, commands);
        }
    }

    /// Merges a round in chain order, decides how every chain continues, and stores both.
    pub(super) fn close_round(
        &mut self,
        now: Duration,
        reports: Vec<ChainReport>,
        commands: &mut Vec<Command>,
    ) {
        let mut reported = Vec::with_capacity(reports.len());
        for mut report in reports {
            let id = report.chain;
            let Some(chain) = self.chains.get_mut(&id) else {
                // Can't happen: its report was accepted, and chains are never removed.
                continue;
            };
            chain.status = report.status;
            // None if the report has none: an older state would not fit this round's seeds.
            chain.snapshot = report.snapshot.take();
            let holder = chain.held.as_ref().map(|held| held.by);
            self.count_own(now, holder, id, report.counters);
            let running = report.status == ChainStatus::Running;
            reported.push((id, report.sequence, running, report.wants_seeds));
            self.merge(now, report, commands);
        }
        self.check_budget(now, commands);
        if self.is_running()
            && let Some(reason) = self.all_done()
        {
            self.stop(now, reason, commands);
        }
        if let Phase::Stopping {
            in_round, since, ..
        } = &mut self.phase
        {
            *in_round = false;
            *since = now;
        }
        let snapshot = match self.plan.snapshots {
            Snapshots::Never => false,
            Snapshots::EveryRound => true,
            Snapshots::Every(time) => {
                // A round that takes long is cut by an interrupt, and replayed from here.
                let is_long = now.saturating_sub(self.round_since) >= LONG_ROUND;
                let due = is_long || now.saturating_sub(self.snapshots_at) >= time;
                if due {
                    self.snapshots_at = now;
                }
                due
            }
        };
        self.round_since = now;
        for (id, sequence, running, wants_seeds) in reported {
            // Seeds are drawn even at the end: a search that is resumed needs them.
            let seeds = if running && wants_seeds {
                self.seeds_for(id)
            } else {
                None
            };
            let answer = if !self.is_running() || !running {
                Answer::Stop
            } else {
                Answer::Continue {
                    seeds: seeds.clone(),
                    snapshot,
                }
            };
            if let Some(chain) = self.chains.get_mut(&id) {
                chain.owed = seeds;
                chain.renew_origin(now);
                chain.answered = Some(Answered {
                    incarnation: None,
                    sequence,
                    answer,
                });
                if let Some(stored) = chain.to_store() {
                    commands.push(Command::StoreChain(id, stored));
                }
            }
        }
        if snapshot {
            commands.push(Command::StoreProgress);
        }
        self.rebalance(&[]);
    }

    /// Counts what a lockstep chain has done in all.
    pub(super) fn count_own(
        &mut self,
        now: Duration,
        worker: Option<WorkerId>,
        chain: ChainId,
        counters: ChainCounters,
    ) {
        if let Some(state) = self.chains.get_mut(&chain) {
            let added = state.counted.raise_own(counters);
            self.claim(now, (worker, None), chain, added);
        }
    }

    pub(super) fn merge(
        &mut self,
        now: Duration,
        report: ChainReport,
        commands: &mut Vec<Command>,
    ) {
        let chain = report.chain;
        let before = self.best().map(|row| row.score);
        let mut changed = Vec::new();
        for (found, row) in report.finds {
            if self.pool.merge(chain, found, &row) {
                changed.push((chain, found, row));
            }
        }
        if !changed.is_empty() {
            commands.push(Command::StoreRows(changed));
        }
        self.note_record(now, before, commands);
    }

    fn note_record(
        &mut self,
        now: Duration,
        before: Option<LogScore>,
        commands: &mut Vec<Command>,
    ) {
        if let Some(best) = self.pool.best()
            && before.is_none_or(|before| best.score.beats(before))
        {
            let best = best.clone();
            let stagnated = self.stopped_by() == Some(StoppedBy::Stagnation);
            let record = match &self.record {
                // A last report after the end; the search must still be at its end after a restart.
                Some(before) if stagnated => Record {
                    score: best.score,
                    ..before.clone()
                },
                _ => Record {
                    score: best.score,
                    at: self.elapsed(now),
                    evaluations: self.total.evaluations,
                },
            };
            self.curve.add(CurvePoint {
                at: record.at,
                evaluations: record.evaluations,
                score: record.score,
            });
            self.record = Some(record);
            commands.push(Command::StoreProgress);
            commands.push(Command::Record(best));
        }
    }

    pub(super) fn check_budget(&mut self, now: Duration, commands: &mut Vec<Command>) {
        if self.is_running()
            && let Some(reason) = self.plan.budget.reached(&self.spent(now))
        {
            self.stop(now, reason, commands);
        }
    }

    /// Chooses rows for a chain that runs.
    pub(super) fn seeds_for(&mut self, chain: ChainId) -> Option<Seeds> {
        self.choose_seeds(chain, reseed)
    }

    /// Chooses rows for a chain whose state was lost.
    pub(super) fn seeds_for_lost(&mut self, chain: ChainId) -> Option<Seeds> {
        self.choose_seeds(chain, reseed_lost)
    }

    fn choose_seeds(
        &mut self,
        chain: ChainId,
        choose: impl FnOnce(&Pool, ChainId, Seed) -> Option<Seeds>,
    ) -> Option<Seeds> {
        if self.plan.cooperation == Cooperation::Off {
            return None;
        }
        let state = self.chains.get_mut(&chain)?;
        let draw = self.plan.seed.mix(0xE117E).mix(state.reseeds);
        let seeds = choose(&self.pool, chain, draw)?;
        state.reseeds += 1;
        self.seeds_sent += seeds.count();
        Some(seeds)
    }

    /// Returns why the search is over if no chain can continue.
    pub(super) fn all_done(&self) -> Option<StoppedBy> {
        let mut statuses = self.chains.values().map(|chain| chain.status);
        if self.chains.is_empty() || statuses.any(|status| status == ChainStatus::Running) {
            return None;
        }
        if let Some(reason) = self.doing.search_ended_by() {
            return Some(reason);
        }
        let any = |status| self.chains.values().any(|chain| chain.status == status);
        Some(if any(ChainStatus::OutOfEvaluations) {
            StoppedBy::Evaluations
        } else if any(ChainStatus::OutOfIterations) {
            StoppedBy::Iterations
        } else {
            StoppedBy::Exhausted
        })
    }
}
