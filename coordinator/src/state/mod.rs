//! The coordinator's decisions as a state machine: `apply(now, event) -> commands`, and questions
//! about the state that its replies are made of. It does no IO and reads no clock; `learn` drives
//! it in one process, the cluster over gRPC, tests and benchmarks by hand.

mod chains;
mod command;
mod event;
mod membership;
mod plan;
mod rounds;
#[cfg(test)]
mod tests;
mod view;

pub use command::{Command, WorkerChange};
pub use event::Event;
pub use membership::{MAX_CHAINS, MAX_WORKERS};
pub use plan::{ChainCount, Cooperation, Pace, SearchPlan, Snapshots};
pub use view::{Stage, View, WorkerView};

use chains::{Answered, ChainState, Held};
use membership::{Entered, Membership, Move};
use rlbayes_common::elite::{EliteRow, Pool, reseed};
use rlbayes_common::exchange::{
    Answer, ChainCounters, ChainOrder, ChainReport, Exchange, Hello, Origin, Reply, Snapshot,
    Standing, StoredChain, Welcome,
};
use rlbayes_common::ids::{ChainId, Incarnation, Round, WorkerId};
use rlbayes_common::score::LogScore;
use rlbayes_common::search::{MIN_GAIN, SeedCounts, Seeds, Spent, StoppedBy};
use rounds::Rounds;
use std::collections::BTreeMap;
use std::time::Duration;
use view::Curve;

/// Nats a node by which a chain may be behind the pool's best before it is sent rows to catch up.
/// On large networks chains improve different regions, and recombining early adds their gains up;
/// near the end chains differ by less, and are left alone to stay different.
const LAG_PER_NODE: f64 = 0.5;

/// How long workers have to bring their last reports once the search is over.
const LAST_REPORTS: Duration = Duration::from_secs(10);

/// How often the progress is stored while nothing else is.
const STORE_PROGRESS_EVERY: Duration = Duration::from_secs(2);

/// In lockstep a chain's counters are its own, whoever runs it.
const WHOEVER: Incarnation = Incarnation(0);

/// When the best row was found, and by what.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The best score.
    pub score: LogScore,
    /// Time spent searching when it came.
    pub at: Duration,
    /// Evaluations made by then.
    pub evaluations: u64,
}

/// What was stored of a search: enough to go on with it.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The pool.
    pub pool: Pool,
    /// How far the search had come.
    pub progress: Progress,
    /// Lockstep chains as they stood at the last barrier.
    pub chains: BTreeMap<ChainId, StoredChain>,
}

/// How far a search has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Time spent searching.
    pub elapsed: Duration,
    /// When the best row was found.
    pub record: Option<Record>,
    /// The lockstep round under way.
    pub round: Round,
    /// What all chains have done.
    pub counters: ChainCounters,
    /// How many chains there are.
    pub chains: u32,
    /// Rows sent to chains.
    pub seeds_sent: u64,
    /// Why the search ended, if it did.
    pub stopped_by: Option<StoppedBy>,
}

/// Why a report can't be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There are too many workers.
    #[error("there are {MAX_WORKERS} workers already")]
    TooManyWorkers,
    /// The worker does not take part (any more): it should join again. Its rows were taken.
    #[error("the worker does not take part; it should join again")]
    UnknownWorker,
    /// There is no such chain.
    #[error("there is no chain {0}")]
    UnknownChain(ChainId),
}

/// The state of one search.
#[derive(Debug)]
pub struct State {
    plan: SearchPlan,
    pool: Pool,
    chains: BTreeMap<ChainId, ChainState>,
    members: Membership,
    rounds: Rounds,
    record: Option<Record>,
    curve: Curve,
    /// What was done before a restart, and the sum of everything.
    before: ChainCounters,
    total: ChainCounters,
    seeds_sent: u64,
    exchanges: u64,
    /// Time spent searching before, and since when somebody searches.
    searched: Duration,
    searching_since: Option<Duration>,
    snapshots_at: Duration,
    progress_at: Duration,
    stopped: Option<(StoppedBy, Duration)>,
    finished: bool,
}

impl State {
    /// Starts a search.
    #[must_use]
    pub fn new(plan: SearchPlan) -> Self {
        let chains = match plan.chains {
            ChainCount::Fixed(chains) => chains,
            ChainCount::PerThread(_) => 0,
        };
        Self {
            plan,
            pool: Pool::new(plan.keying),
            chains: (0..chains)
                .map(|chain| (ChainId(chain), ChainState::new()))
                .collect(),
            members: Membership::default(),
            rounds: Rounds::default(),
            record: None,
            curve: Curve::default(),
            before: ChainCounters::default(),
            total: ChainCounters::default(),
            seeds_sent: 0,
            exchanges: 0,
            searched: Duration::ZERO,
            searching_since: None,
            snapshots_at: Duration::ZERO,
            progress_at: Duration::ZERO,
            stopped: None,
            finished: false,
        }
    }

    /// Goes on with a search from what was stored of it. An end that is one under today's budget
    /// stays an end.
    #[must_use]
    pub fn recovered(plan: SearchPlan, stored: Stored) -> Self {
        let Stored {
            pool,
            progress,
            chains,
        } = stored;
        let mut state = Self::new(plan);
        if let Some(best) = pool.best() {
            let at = progress.record.as_ref().map_or(Duration::ZERO, |r| r.at);
            state.curve.add(at, best.score);
        }
        state.pool = pool;
        state.record = progress.record;
        state.searched = progress.elapsed;
        state.rounds = Rounds::at(progress.round);
        state.seeds_sent = progress.seeds_sent;
        if let ChainCount::PerThread(_) = plan.chains {
            for chain in 0..progress.chains.min(MAX_CHAINS) {
                state.chains.insert(ChainId(chain), ChainState::new());
            }
        }
        // A free-running chain that was started before goes on from the pool.
        for (&id, chain) in &mut state.chains {
            chain.started = state.pool.best_of(id).is_some();
        }
        match plan.pace {
            Pace::Free => state.before = progress.counters,
            Pace::Lockstep => {
                for (id, stored) in chains {
                    if let Some(chain) = state.chains.get_mut(&id) {
                        *chain = ChainState::stored(stored, WHOEVER);
                    }
                }
            }
        }
        let counted = state.chains.values().map(|chain| chain.counted.sum());
        state.total = counted.fold(state.before, ChainCounters::plus);
        if let Some(reason) = progress.stopped_by
            && state.is_end(reason)
        {
            state.stopped = Some((reason, Duration::ZERO));
            state.finished = true;
        } else {
            // Limits may have been raised: chains that had used theirs up go on.
            for chain in state.chains.values_mut() {
                if chain.standing != Standing::Exhausted {
                    chain.standing = Standing::Running;
                }
            }
        }
        state
    }

    /// Tells whether a stored end is one under the budget of today.
    fn is_end(&self, reason: StoppedBy) -> bool {
        let spent = self.spent(Duration::ZERO);
        match reason {
            StoppedBy::Interrupt => false,
            StoppedBy::Stop | StoppedBy::Exhausted => true,
            // The last evaluations may not have reached for a step of any chain.
            StoppedBy::Evaluations => {
                let nodes = self.best().map_or(0, |row| row.structure.nodes() as u64);
                let slack = 2 * nodes * (self.chains.len() as u64).max(1);
                let budget = self.plan.budget.evaluations;
                budget.is_some_and(|budget| spent.evaluations.saturating_add(slack) >= budget)
            }
            _ => self.plan.budget.reached(&spent).is_some(),
        }
    }

    /// Takes an event at a time of the coordinator's own clock, and returns what to do.
    pub fn apply(&mut self, now: Duration, event: Event) -> Vec<Command> {
        let mut commands = Vec::new();
        match event {
            Event::Join(hello) => self.join(now, &hello, &mut commands),
            Event::Exchange(exchange) => {
                self.exchanges += 1;
                let takes_part = self.members.renew(
                    now,
                    self.plan.lease,
                    exchange.worker,
                    exchange.incarnation,
                    exchange.statistics,
                );
                let worker = takes_part.then_some(exchange.worker);
                self.take_reports(now, worker, exchange, &mut commands);
            }
            Event::Leave(exchange) => self.leave(now, exchange, &mut commands),
            Event::Tick => self.tick(now, &mut commands),
            Event::Stop(reason) => self.stop(now, reason, &mut commands),
        }
        self.finish(now, &mut commands);
        commands
    }

    fn join(&mut self, now: Duration, hello: &Hello, commands: &mut Vec<Command>) {
        if let Some(before) = hello
            .replaces
            .and_then(|incarnation| self.members.find(incarnation))
        {
            self.end_worker(now, before, WorkerChange::Lost, commands);
        }
        if self.stopped.is_some() {
            // There is nothing left to do; the reply says so.
            return;
        }
        let Some((worker, entered)) = self.members.enter(now, self.plan.lease, hello) else {
            return;
        };
        let change = match entered {
            Entered::New => WorkerChange::Joined,
            Entered::Again => WorkerChange::Returned,
        };
        commands.push(Command::Worker(worker, change));
        if self.searching_since.is_none() {
            self.searching_since = Some(now);
        }
        if let ChainCount::PerThread(_) = self.plan.chains {
            // After the loss of the coordinator's disk, workers know chains that it does not.
            for &chain in &hello.chains {
                if chain.0 < MAX_CHAINS && self.chains.len() < MAX_CHAINS as usize {
                    self.chains.entry(chain).or_insert_with(|| ChainState {
                        started: true,
                        ..ChainState::new()
                    });
                }
            }
        }
        let wanted: Vec<(WorkerId, ChainId)> =
            hello.chains.iter().map(|&chain| (worker, chain)).collect();
        self.share_out(&wanted);
    }

    fn leave(&mut self, now: Duration, exchange: Exchange, commands: &mut Vec<Command>) {
        self.exchanges += 1;
        let worker = exchange.worker;
        let takes_part = self.members.renew(
            now,
            self.plan.lease,
            worker,
            exchange.incarnation,
            exchange.statistics,
        );
        if self.plan.pace == Pace::Lockstep {
            // Not a report of the round: the chains as they stand, for a search that goes on later.
            for report in exchange.reports {
                self.keep_last_state(report, commands);
            }
        } else {
            let known = takes_part.then_some(worker);
            self.take_reports(now, known, exchange, commands);
        }
        if takes_part {
            self.end_worker(now, worker, WorkerChange::Left, commands);
            self.share_out(&[]);
        }
    }

    fn keep_last_state(&mut self, report: ChainReport, commands: &mut Vec<Command>) {
        let round = self.rounds.round().0;
        let Some(chain) = self.chains.get_mut(&report.chain) else {
            return;
        };
        let untouched = report.sequence == round && chain.counted.sum() == report.counters;
        if self.stopped.is_some()
            && untouched
            && self.plan.snapshots != Snapshots::Never
            && let Some(snapshot) = report.snapshot
        {
            chain.snapshot = Some(snapshot);
            if let Some(stored) = chain.to_store() {
                commands.push(Command::StoreChain(report.chain, stored));
            }
        }
    }

    fn tick(&mut self, now: Duration, commands: &mut Vec<Command>) {
        let overdue = self.members.overdue(now);
        for &worker in &overdue {
            self.end_worker(now, worker, WorkerChange::Lost, commands);
        }
        if !overdue.is_empty() {
            self.share_out(&[]);
        }
        if self.stopped.is_none()
            && let Some(reason @ (StoppedBy::Time | StoppedBy::Stagnation)) =
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

    fn stop(&mut self, now: Duration, reason: StoppedBy, commands: &mut Vec<Command>) {
        if self.stopped.is_some() {
            return;
        }
        self.stopped = Some((reason, now));
        commands.push(Command::StoreProgress);
        if self.plan.pace == Pace::Free {
            commands.push(Command::Halt);
        }
    }

    /// The search is over once nobody works on it any more, or has for too long.
    fn finish(&mut self, now: Duration, commands: &mut Vec<Command>) {
        let Some((reason, since)) = self.stopped else {
            return;
        };
        let waited = now.saturating_sub(since) >= LAST_REPORTS;
        // A lockstep round is finished, however long it takes, as long as somebody works on it.
        let hopeless = waited && (self.plan.pace == Pace::Free || self.is_round_over());
        if !self.finished && (self.members.alive().next().is_none() || hopeless) {
            self.finished = true;
            self.pause_clock(now);
            commands.push(Command::StoreProgress);
            commands.push(Command::Halt);
            commands.push(Command::Finished(reason));
        }
    }

    fn is_round_over(&self) -> bool {
        !self.chains.keys().any(|&chain| self.rounds.has(chain))
            && self
                .chains
                .values()
                .all(|chain| matches!(&chain.answered, Some(last) if last.answer == Answer::Stop))
    }

    fn end_worker(
        &mut self,
        now: Duration,
        worker: WorkerId,
        change: WorkerChange,
        commands: &mut Vec<Command>,
    ) {
        self.members.end(worker);
        for chain in self.chains.values_mut() {
            if chain.is_held_by(worker) {
                chain.held = None;
            }
        }
        commands.push(Command::Worker(worker, change));
        if self.members.alive().next().is_none() {
            self.pause_clock(now);
            commands.push(Command::StoreProgress);
        }
    }

    fn pause_clock(&mut self, now: Duration) {
        if let Some(since) = self.searching_since.take() {
            self.searched += now.saturating_sub(since);
        }
    }

    /// Gives chains that nobody runs to workers, and evens out who has how many.
    fn share_out(&mut self, wanted: &[(WorkerId, ChainId)]) {
        if self.stopped.is_some() {
            return;
        }
        // A lockstep chain that has reported stays where it is until the round is over: its
        // answer goes to the worker that waits for it.
        let holders: BTreeMap<ChainId, Option<WorkerId>> = self
            .chains
            .iter()
            .filter(|(_, chain)| chain.standing == Standing::Running)
            .map(|(&id, chain)| (id, chain.held.as_ref().map(|held| held.by)))
            .collect();
        let mut next = self.chains.last_key_value().map_or(0, |(id, _)| id.0 + 1);
        let moves = self
            .members
            .share_out(self.plan.chains, &holders, wanted, || {
                let new = matches!(self.plan.chains, ChainCount::PerThread(_)) && next < MAX_CHAINS;
                next += u32::from(new);
                new.then(|| ChainId(next - 1))
            });
        for Move { chain, to } in moves {
            let is_new = !self.chains.contains_key(&chain);
            if is_new {
                self.chains.insert(chain, ChainState::new());
            }
            let origin = self.origin(chain);
            if let Some(state) = self.chains.get_mut(&chain) {
                state.started = true;
                state.held = Some(Held {
                    by: to,
                    origin,
                    confirmed: false,
                });
            }
        }
    }

    fn origin(&mut self, chain: ChainId) -> Origin {
        let Some(state) = self.chains.get(&chain) else {
            return Origin::Start;
        };
        match (self.plan.pace, &state.snapshot) {
            (Pace::Lockstep, Some(snapshot)) => Origin::Stored {
                digest: snapshot.digest(),
                seeds: state.owed.clone(),
            },
            (Pace::Free, _) if state.started => {
                self.seeds_for(chain).map_or(Origin::Start, Origin::Pool)
            }
            _ => Origin::Start,
        }
    }

    fn take_reports(
        &mut self,
        now: Duration,
        worker: Option<WorkerId>,
        exchange: Exchange,
        commands: &mut Vec<Command>,
    ) {
        let incarnation = exchange.incarnation;
        for report in exchange.reports {
            if !self.accept_chain(report.chain) {
                continue;
            }
            match self.plan.pace {
                Pace::Free => self.take_free(now, worker, incarnation, report, commands),
                Pace::Lockstep => self.take_lockstep(now, worker, report, commands),
            }
        }
    }

    /// Tells whether there is such a chain; after the loss of the coordinator's disk, workers know
    /// chains that it does not.
    fn accept_chain(&mut self, chain: ChainId) -> bool {
        if self.refuses_chain(chain) {
            return false;
        }
        self.chains.entry(chain).or_insert_with(ChainState::new);
        true
    }

    fn refuses_chain(&self, chain: ChainId) -> bool {
        !self.chains.contains_key(&chain)
            && (matches!(self.plan.chains, ChainCount::Fixed(_))
                || chain.0 >= MAX_CHAINS
                || self.chains.len() >= MAX_CHAINS as usize)
    }

    fn take_free(
        &mut self,
        now: Duration,
        worker: Option<WorkerId>,
        incarnation: Incarnation,
        report: ChainReport,
        commands: &mut Vec<Command>,
    ) {
        let id = report.chain;
        let (sequence, standing, wants_seeds) =
            (report.sequence, report.standing, report.wants_seeds);
        self.count(now, worker, incarnation, id, report.counters);
        self.merge(now, report, commands);
        self.check_budget(now, commands);
        let Some(worker) = worker else {
            return;
        };
        let Some(chain) = self.chains.get_mut(&id) else {
            return;
        };
        let is_holder = chain.is_held_by(worker);
        if is_holder {
            chain.standing = standing;
            if let Some(held) = &mut chain.held {
                held.confirmed = true;
            }
        }
        let repeated = chain
            .answered
            .as_ref()
            .is_some_and(|last| last.incarnation == incarnation && last.sequence == sequence);
        if repeated && self.stopped.is_none() {
            return;
        }
        let answer = if self.stopped.is_some() || (is_holder && standing != Standing::Running) {
            Answer::Stop
        } else if !is_holder {
            Answer::Release
        } else {
            let seeds = if wants_seeds || self.lags(id) {
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
                incarnation,
                sequence,
                answer,
            });
        }
        if self.stopped.is_none()
            && let Some(reason) = self.all_done()
        {
            self.stop(now, reason, commands);
        }
    }

    fn take_lockstep(
        &mut self,
        now: Duration,
        worker: Option<WorkerId>,
        report: ChainReport,
        commands: &mut Vec<Command>,
    ) {
        let id = report.chain;
        if report.sequence != self.rounds.round().0 {
            // The last round's answer is still there for whoever asks again.
            return;
        }
        let lacks_state = self.plan.snapshots == Snapshots::EveryRound && report.snapshot.is_none();
        if lacks_state {
            return;
        }
        if let Some(held) = self
            .chains
            .get_mut(&id)
            .and_then(|chain| chain.held.as_mut())
            && Some(held.by) == worker
        {
            held.confirmed = true;
        }
        self.rounds.add(report);
        let running: Vec<ChainId> = self
            .chains
            .iter()
            .filter(|(_, chain)| chain.standing == Standing::Running)
            .map(|(&id, _)| id)
            .collect();
        if let Some(reports) = self.rounds.complete(running.into_iter()) {
            self.close_round(now, reports, commands);
        }
    }

    /// Merges a round in chain order, decides how every chain goes on, and stores both.
    fn close_round(
        &mut self,
        now: Duration,
        reports: Vec<ChainReport>,
        commands: &mut Vec<Command>,
    ) {
        let mut wanting = Vec::with_capacity(reports.len());
        for mut report in reports {
            let id = report.chain;
            let holder = self.chains[&id].held.as_ref().map(|held| held.by);
            self.count(now, holder, WHOEVER, id, report.counters);
            if let Some(chain) = self.chains.get_mut(&id) {
                chain.standing = report.standing;
                if let Some(snapshot) = report.snapshot.take() {
                    chain.snapshot = Some(snapshot);
                } else {
                    // An older state would not fit this round's seeds.
                    chain.snapshot = None;
                }
            }
            wanting.push((id, report.sequence, report.wants_seeds));
            self.merge(now, report, commands);
        }
        self.check_budget(now, commands);
        if self.stopped.is_none()
            && let Some(reason) = self.all_done()
        {
            self.stop(now, reason, commands);
        }
        let snapshot = match self.plan.snapshots {
            Snapshots::Never => false,
            Snapshots::EveryRound => true,
            Snapshots::Every(time) => {
                let due = now.saturating_sub(self.snapshots_at) >= time;
                if due {
                    self.snapshots_at = now;
                }
                due
            }
        };
        for (id, sequence, wants_seeds) in wanting {
            // Seeds are drawn even at the end: a search that goes on later needs them.
            let running = self.chains[&id].standing == Standing::Running;
            let seeds = if running && (wants_seeds || self.lags(id)) {
                self.seeds_for(id)
            } else {
                None
            };
            let answer = if self.stopped.is_some() || !running {
                Answer::Stop
            } else {
                Answer::Continue {
                    seeds: seeds.clone(),
                    snapshot,
                }
            };
            if let Some(chain) = self.chains.get_mut(&id) {
                chain.owed = seeds;
                chain.answered = Some(Answered {
                    incarnation: WHOEVER,
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
        self.share_out(&[]);
    }

    fn count(
        &mut self,
        now: Duration,
        worker: Option<WorkerId>,
        incarnation: Incarnation,
        chain: ChainId,
        counters: ChainCounters,
    ) {
        if let Some(state) = self.chains.get_mut(&chain) {
            let added = state.counted.raise(incarnation, counters);
            self.total = self.total.plus(added);
            if let Some(worker) = worker {
                self.members.credit(now, worker, added.evaluations);
            }
        }
    }

    fn merge(&mut self, now: Duration, report: ChainReport, commands: &mut Vec<Command>) {
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
        if let Some(best) = self.pool.best()
            && before.is_none_or(|before| best.score.value() > before.value() + MIN_GAIN)
        {
            let best = best.clone();
            let record = Record {
                score: best.score,
                at: self.elapsed(now),
                evaluations: self.total.evaluations,
            };
            self.curve.add(record.at, record.score);
            self.record = Some(record);
            commands.push(Command::StoreProgress);
            commands.push(Command::Record(best));
        }
    }

    fn check_budget(&mut self, now: Duration, commands: &mut Vec<Command>) {
        if self.stopped.is_none()
            && let Some(reason) = self.plan.budget.reached(&self.spent(now))
        {
            self.stop(now, reason, commands);
        }
    }

    fn seeds_for(&mut self, chain: ChainId) -> Option<Seeds> {
        if self.plan.cooperation == Cooperation::Off {
            return None;
        }
        let state = self.chains.get_mut(&chain)?;
        let draw = self.plan.seed.mix(0xE117E).mix(state.reseeds);
        let seeds = reseed(&self.pool, chain, draw)?;
        state.reseeds += 1;
        self.seeds_sent += seeds.rows.len() as u64;
        Some(seeds)
    }

    /// Tells whether a chain is so far behind the pool's best that it should catch up.
    fn lags(&self, chain: ChainId) -> bool {
        let (Some(best), Some(own)) = (self.pool.best(), self.pool.best_of(chain)) else {
            return false;
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "at most NodeIdx::MAX_NODES nodes"
        )]
        let nodes = best.structure.nodes() as f64;
        best.score.value() - own.score.value() > LAG_PER_NODE * nodes
    }

    /// Tells why the search is over where no chain can go on.
    fn all_done(&self) -> Option<StoppedBy> {
        let mut standings = self.chains.values().map(|chain| chain.standing);
        if self.chains.is_empty() || standings.any(|standing| standing == Standing::Running) {
            return None;
        }
        let any = |standing| self.chains.values().any(|chain| chain.standing == standing);
        Some(if any(Standing::OutOfEvaluations) {
            StoppedBy::Evaluations
        } else if any(Standing::OutOfIterations) {
            StoppedBy::Iterations
        } else {
            StoppedBy::Exhausted
        })
    }

    /// Returns what a worker that has just joined is told.
    ///
    /// # Errors
    /// If it could not join.
    pub fn welcome(&self, incarnation: Incarnation) -> Result<Welcome, Refusal> {
        let worker = match self.members.find(incarnation) {
            Some(worker) => worker,
            None if self.stopped.is_some() => WorkerId(0),
            None => return Err(Refusal::TooManyWorkers),
        };
        Ok(Welcome {
            worker,
            lease: self.plan.lease,
            orders: self.orders(worker, |_| true),
            stopped_by: self.stopped_by(),
        })
    }

    /// Tells whether reports can be taken at all.
    ///
    /// # Errors
    /// If they name a chain that can't be.
    pub fn check(&self, exchange: &Exchange) -> Result<(), Refusal> {
        match exchange
            .reports
            .iter()
            .find(|report| self.refuses_chain(report.chain))
        {
            Some(report) => Err(Refusal::UnknownChain(report.chain)),
            None => Ok(()),
        }
    }

    /// Returns the reply to an exchange that was applied, with the answers that are there.
    ///
    /// # Errors
    /// If the worker does not take part.
    pub fn reply(
        &self,
        worker: WorkerId,
        incarnation: Incarnation,
        asked: &[(ChainId, u64)],
    ) -> Result<Reply, Refusal> {
        if self.members.find(incarnation) != Some(worker) {
            return Err(Refusal::UnknownWorker);
        }
        let answers = asked
            .iter()
            .filter_map(|&(id, sequence)| {
                self.answer(worker, incarnation, id, sequence)
                    .map(|answer| (id, sequence, answer))
            })
            .collect();
        Ok(Reply {
            answers,
            orders: self.orders(worker, |held| !held.confirmed),
            lease: self.plan.lease,
            stopped_by: self.stopped_by(),
        })
    }

    fn answer(
        &self,
        worker: WorkerId,
        incarnation: Incarnation,
        id: ChainId,
        sequence: u64,
    ) -> Option<Answer> {
        let chain = self.chains.get(&id)?;
        let given = chain.answered.as_ref().filter(|last| {
            last.sequence == sequence
                && (self.plan.pace == Pace::Lockstep || last.incarnation == incarnation)
        });
        match given {
            // In lockstep the answer belongs to the chain, and the chain to its holder.
            Some(last) if last.answer == Answer::Stop || chain.is_held_by(worker) => {
                Some(last.answer.clone())
            }
            Some(last) if self.plan.pace == Pace::Free => Some(last.answer.clone()),
            Some(_) => Some(Answer::Release),
            None => {
                let strayed = self.plan.pace == Pace::Lockstep && sequence != self.rounds.round().0;
                let lost = !chain.is_held_by(worker);
                (strayed || lost).then_some(Answer::Release)
            }
        }
    }

    /// Tells whether the reply to an exchange has all its answers; in lockstep it may have to wait
    /// for the round's end.
    #[must_use]
    pub fn is_answered(&self, worker: WorkerId, asked: &[(ChainId, u64)]) -> bool {
        self.plan.pace == Pace::Free
            || asked
                .iter()
                .all(|&(id, sequence)| self.answer(worker, WHOEVER, id, sequence).is_some())
    }

    fn orders(&self, worker: WorkerId, which: impl Fn(&Held) -> bool) -> Vec<ChainOrder> {
        if self.stopped.is_some() {
            return Vec::new();
        }
        let held = self.chains.iter().filter_map(|(&id, chain)| {
            let held = chain.held.as_ref()?;
            (held.by == worker && which(held)).then_some((id, held))
        });
        held.map(|(chain, held)| ChainOrder {
            chain,
            sequence: match self.plan.pace {
                Pace::Lockstep => self.rounds.round().0,
                Pace::Free => 0,
            },
            evaluations: self.left(chain, self.plan.budget.evaluations, |c| c.evaluations),
            iterations: self.left(chain, self.plan.budget.iterations, |c| c.iterations),
            origin: self.origin_now(chain, held),
        })
        .collect()
    }

    /// Returns where a chain begins. In lockstep that is the last barrier of today, not the one at
    /// which the chain was given away: a round may have ended before the order was taken up.
    fn origin_now(&self, chain: ChainId, held: &Held) -> Origin {
        let state = self.chains.get(&chain);
        match (self.plan.pace, state.and_then(|s| s.snapshot.as_ref())) {
            (Pace::Lockstep, Some(snapshot)) => Origin::Stored {
                digest: snapshot.digest(),
                seeds: state.and_then(|state| state.owed.clone()),
            },
            _ => held.origin.clone(),
        }
    }

    /// Returns how much of a budget is left for a chain, so that all together keep it.
    fn left(
        &self,
        chain: ChainId,
        budget: Option<u64>,
        figure: impl Fn(&ChainCounters) -> u64,
    ) -> u64 {
        let (Some(budget), ChainCount::Fixed(chains)) = (budget, self.plan.chains) else {
            return u64::MAX;
        };
        let left = budget.saturating_sub(figure(&self.before));
        let used = self.chains.get(&chain).map(|chain| chain.counted.sum());
        share(left, chains, chain).saturating_sub(used.as_ref().map_or(0, figure))
    }

    /// Returns a lockstep chain's stored state.
    #[must_use]
    pub fn snapshot(&self, chain: ChainId) -> Option<&Snapshot> {
        self.chains.get(&chain)?.snapshot.as_ref()
    }

    /// Returns what is stored of every lockstep chain.
    pub fn stored_chains(&self) -> impl Iterator<Item = (ChainId, StoredChain)> {
        self.chains
            .iter()
            .filter_map(|(&id, chain)| Some((id, chain.to_store()?)))
    }

    /// Returns how far the search has come, to be stored.
    #[must_use]
    pub fn progress(&self, now: Duration) -> Progress {
        Progress {
            elapsed: self.elapsed(now),
            record: self.record.clone(),
            round: self.rounds.round(),
            counters: self.total,
            chains: self.chains.last_key_value().map_or(0, |(id, _)| id.0 + 1),
            seeds_sent: self.seeds_sent,
            stopped_by: self.stopped_by().filter(|_| self.finished),
        }
    }

    /// Returns the time spent searching.
    #[must_use]
    pub fn elapsed(&self, now: Duration) -> Duration {
        let since = self.searching_since.unwrap_or(now);
        self.searched + now.saturating_sub(since)
    }

    /// Returns how far the search has come.
    #[must_use]
    pub fn spent(&self, now: Duration) -> Spent {
        Spent {
            time: self.elapsed(now),
            iterations: self.total.iterations,
            evaluations: self.total.evaluations,
            best: self
                .record
                .as_ref()
                .map(|record| (record.score, record.at, record.evaluations)),
        }
    }

    /// Returns what all chains have done.
    #[must_use]
    pub fn counters(&self) -> ChainCounters {
        self.total
    }

    /// Returns what became of seeds: how many were sent, and the chains' own counts.
    #[must_use]
    pub fn seed_counts(&self) -> (u64, SeedCounts) {
        (self.seeds_sent, self.total.seeds)
    }

    /// Returns what the search is.
    #[must_use]
    pub fn plan(&self) -> &SearchPlan {
        &self.plan
    }

    /// Returns the elite pool.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Returns the best row.
    #[must_use]
    pub fn best(&self) -> Option<&EliteRow> {
        self.pool.best()
    }

    /// Returns when the best row was found.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    /// Returns why the search ends, once it does.
    #[must_use]
    pub fn stopped_by(&self) -> Option<StoppedBy> {
        self.stopped.map(|(reason, _)| reason)
    }

    /// Tells whether the search is over and nobody works on it any more.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Returns the lockstep round under way.
    #[must_use]
    pub fn round(&self) -> Round {
        self.rounds.round()
    }

    /// Returns how many chains there are.
    #[must_use]
    pub fn chain_count(&self) -> usize {
        self.chains.len()
    }

    /// Returns what people and probes see. Its diversity is the one thing that takes long; who
    /// calls often hands in the last one.
    #[must_use]
    pub fn view(&self, now: Duration, diversity: Option<f64>) -> View {
        let spent = self.spent(now);
        let best_at = self.record.as_ref().map_or(Duration::ZERO, |r| r.at);
        let mut held: BTreeMap<WorkerId, usize> = BTreeMap::new();
        for by in self.chains.values().filter_map(|chain| chain.held.as_ref()) {
            *held.entry(by.by).or_default() += 1;
        }
        View {
            stage: if self.finished {
                Stage::Finished
            } else if self.members.alive().next().is_some() {
                Stage::Running
            } else {
                Stage::Waiting
            },
            best: self.best().cloned(),
            best_age: spent.time.saturating_sub(best_at),
            best_at,
            elapsed: spent.time,
            counters: self.total,
            chains: self.chains.len(),
            pool_size: self.pool.len(),
            diversity: diversity.unwrap_or_else(|| self.pool.diversity()),
            seeds_sent: self.seeds_sent,
            exchanges: self.exchanges,
            stopped_by: self.stopped_by(),
            time_left: self.plan.budget.time_left(&spent),
            round: self.rounds.round(),
            workers: self
                .members
                .all()
                .map(|(id, worker)| WorkerView {
                    id,
                    host: worker.host.clone(),
                    threads: worker.threads,
                    chains: held.get(&id).copied().unwrap_or(0),
                    rate: worker.rate(),
                    last_exchange: now.saturating_sub(worker.last_exchange),
                    is_alive: worker.is_alive,
                    statistics: worker.statistics,
                    program_version: worker.program_version.clone(),
                })
                .collect(),
            curve: self.curve.points(),
        }
    }
}

/// Divides a budget among chains; the first ones get what does not divide evenly.
fn share(budget: u64, chains: u32, chain: ChainId) -> u64 {
    let chains = u64::from(chains.max(1));
    budget / chains + u64::from(u64::from(chain.0) < budget % chains)
}
