//! The coordinator's decisions as a state machine: `apply(now, event) -> commands`. It does no IO
//! and reads no clock; `learn` drives it in one process, the cluster over gRPC.

mod command;
mod event;
mod rounds;
#[cfg(test)]
mod tests;

pub use command::Command;
pub use event::Event;

use rlbayes_common::elite::{EliteRow, Keying, Pool, reseed};
use rlbayes_common::exchange::{Answer, ChainCounters, ChainReport, Standing};
use rlbayes_common::ids::{ChainId, Round, Seed};
use rlbayes_common::score::LogScore;
use rlbayes_common::search::{Budget, MIN_GAIN, SavedChain, SeedCounts, Spent, StoppedBy};
use rounds::Rounds;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a search is to its coordinator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchPlan {
    /// How many chains run; they belong to the search, not to a worker.
    pub chains: u32,
    /// What all draws come from.
    pub seed: Seed,
    /// When it is over.
    pub budget: Budget,
    /// Whether chains wait for each other.
    pub pace: Pace,
    /// What makes two rows of the pool one.
    pub keying: Keying,
    /// Whether stalled chains get rows of others.
    pub cooperation: Cooperation,
    /// How often chains are asked for their state.
    pub checkpoint_every: Option<Duration>,
}

/// Whether chains wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Rounds: every chain reports, all are merged, every chain is answered.
    Lockstep,
    /// Each report is answered at once.
    Free,
}

/// Whether stalled chains get rows of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cooperation {
    /// They do.
    On,
    /// Chains are on their own: what cooperation is measured against.
    Off,
}

/// Nats a node by which a chain may be behind the pool's best before it is sent rows to catch up.
/// On large networks chains improve different regions, and recombining early adds their gains up;
/// near the end chains differ by less, and are left alone to stay different.
const LAG_PER_NODE: f64 = 0.5;

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

#[derive(Clone, Debug)]
struct ChainState {
    counters: ChainCounters,
    standing: Standing,
    reseeds: u64,
}

/// The state of one search.
#[derive(Debug)]
pub struct State {
    plan: SearchPlan,
    pool: Pool,
    chains: BTreeMap<ChainId, ChainState>,
    rounds: Rounds,
    record: Option<Record>,
    seeds_sent: u64,
    last_checkpoint: Duration,
    stopped: Option<StoppedBy>,
    finished: bool,
}

impl State {
    /// Starts a search.
    #[must_use]
    pub fn new(plan: SearchPlan) -> Self {
        let fresh = ChainState {
            counters: ChainCounters::default(),
            standing: Standing::Running,
            reseeds: 0,
        };
        Self {
            plan,
            pool: Pool::new(plan.keying),
            chains: (0..plan.chains)
                .map(|chain| (ChainId(chain), fresh.clone()))
                .collect(),
            rounds: Rounds::default(),
            record: None,
            seeds_sent: 0,
            last_checkpoint: Duration::ZERO,
            stopped: None,
            finished: false,
        }
    }

    /// Goes on with a search from what was stored of it.
    #[must_use]
    pub fn recovered(plan: SearchPlan, pool: Pool, record: Option<Record>, now: Duration) -> Self {
        Self {
            pool,
            record,
            last_checkpoint: now,
            ..Self::new(plan)
        }
    }

    /// Takes the counters of stored chains over, where they are not run again.
    pub fn restore_counters(&mut self, chains: &BTreeMap<ChainId, SavedChain>) {
        for (id, saved) in chains {
            if let Some(chain) = self.chains.get_mut(id) {
                chain.counters = chain.counters.max(ChainCounters {
                    iterations: saved.iterations,
                    evaluations: saved.evaluations,
                    computed: saved.computed,
                    seeds: saved.seeds,
                });
            }
        }
    }

    /// Takes an event at a time of the search's own clock, and returns what to do.
    pub fn apply(&mut self, now: Duration, event: Event) -> Vec<Command> {
        let mut commands = Vec::new();
        match event {
            Event::Report(report) => match self.plan.pace {
                Pace::Free => self.take_reports(now, vec![*report], &mut commands),
                Pace::Lockstep => {
                    self.rounds.add(*report);
                    let running = self.running();
                    if let Some(reports) = self.rounds.complete(running.into_iter()) {
                        self.take_reports(now, reports, &mut commands);
                    }
                }
            },
            Event::Tick => {
                if self.stopped.is_none()
                    && let Some(StoppedBy::Time | StoppedBy::Stagnation) =
                        self.plan.budget.reached(&self.spent(now))
                {
                    self.stopped = self.plan.budget.reached(&self.spent(now));
                    commands.push(Command::Halt);
                }
            }
            Event::Stop(reason) => {
                if self.stopped.is_none() {
                    self.stopped = Some(reason);
                    if self.plan.pace == Pace::Free {
                        commands.push(Command::Halt);
                    }
                }
            }
        }
        commands
    }

    fn take_reports(
        &mut self,
        now: Duration,
        reports: Vec<ChainReport>,
        commands: &mut Vec<Command>,
    ) {
        let mut wanting = Vec::with_capacity(reports.len());
        for report in reports {
            if let Some(chain) = self.chains.get_mut(&report.chain) {
                chain.counters = chain.counters.max(report.counters);
                chain.standing = report.standing;
                wanting.push((report.chain, report.wants_seeds));
                self.merge(now, report, commands);
            }
        }
        if self.stopped.is_none() {
            self.stopped = self
                .plan
                .budget
                .reached(&self.spent(now))
                .or_else(|| self.all_done());
        }
        let snapshot = self.plan.checkpoint_every.is_some_and(|every| {
            let due = now.saturating_sub(self.last_checkpoint) >= every;
            if due {
                self.last_checkpoint = now;
            }
            due
        });
        for (chain, wants_seeds) in wanting {
            let answer =
                if self.stopped.is_some() || self.chains[&chain].standing != Standing::Running {
                    Answer::Stop
                } else {
                    let seeds = if wants_seeds || self.lags(chain) {
                        self.seeds_for(chain)
                    } else {
                        None
                    };
                    let snapshot = snapshot
                        || self.plan.pace == Pace::Free && self.plan.checkpoint_every.is_some();
                    Answer::Continue { seeds, snapshot }
                };
            commands.push(Command::Answer(chain, answer));
        }
        if let Some(reason) = self.stopped
            && !self.finished
        {
            self.finished = true;
            commands.push(Command::Halt);
            commands.push(Command::Finished(reason));
        }
    }

    fn merge(&mut self, now: Duration, report: ChainReport, commands: &mut Vec<Command>) {
        let chain = report.chain;
        let before = self.best_score();
        let mut changed = Vec::new();
        for (found, row) in report.finds {
            if self.pool.merge(chain, found, &row) {
                changed.push((chain, found, row));
            }
        }
        if !changed.is_empty() {
            commands.push(Command::Journal(changed));
        }
        if let Some(snapshot) = report.snapshot {
            commands.push(Command::SaveChain(chain, snapshot));
        }
        if let Some(best) = self.pool.best()
            && before.is_none_or(|before| best.score.value() > before.value() + MIN_GAIN)
        {
            commands.push(Command::Record(best.clone()));
            let evaluations = self.evaluations();
            self.record = Some(Record {
                score: best.score,
                at: now,
                evaluations,
            });
        }
    }

    fn seeds_for(&mut self, chain: ChainId) -> Option<rlbayes_common::search::Seeds> {
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
        if self
            .chains
            .values()
            .any(|chain| chain.standing == Standing::Running)
        {
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

    fn running(&self) -> Vec<ChainId> {
        self.chains
            .iter()
            .filter(|(_, chain)| chain.standing == Standing::Running)
            .map(|(&id, _)| id)
            .collect()
    }

    /// Returns how many evaluations a chain may make in all, so that all together keep the budget.
    #[must_use]
    pub fn evaluation_share(&self, chain: ChainId) -> u64 {
        share(self.plan.budget.evaluations, self.plan.chains, chain)
    }

    /// Returns how many steps a chain may make in all, so that all together keep the budget.
    #[must_use]
    pub fn iteration_share(&self, chain: ChainId) -> u64 {
        share(self.plan.budget.iterations, self.plan.chains, chain)
    }

    /// Returns how far the search has come.
    #[must_use]
    pub fn spent(&self, now: Duration) -> Spent {
        Spent {
            time: now,
            iterations: self
                .chains
                .values()
                .map(|chain| chain.counters.iterations)
                .sum(),
            evaluations: self.evaluations(),
            best: self
                .record
                .as_ref()
                .map(|record| (record.score, record.at, record.evaluations)),
        }
    }

    fn evaluations(&self) -> u64 {
        self.chains
            .values()
            .map(|chain| chain.counters.evaluations)
            .sum()
    }

    /// Returns how many local scores were counted from the data.
    #[must_use]
    pub fn computed(&self) -> u64 {
        self.chains
            .values()
            .map(|chain| chain.counters.computed)
            .sum()
    }

    /// Returns what became of seeds: how many were sent, and the chains' own counts.
    #[must_use]
    pub fn seed_counts(&self) -> (u64, SeedCounts) {
        let mut sum = SeedCounts::default();
        for chain in self.chains.values() {
            sum.received += chain.counters.seeds.received;
            sum.entered += chain.counters.seeds.entered;
            sum.made_current += chain.counters.seeds.made_current;
        }
        (self.seeds_sent, sum)
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
        self.stopped
    }

    /// Returns the lockstep round under way.
    #[must_use]
    pub fn round(&self) -> Round {
        self.rounds.round()
    }

    /// Merges what chains still had when they were stopped in the middle of a round.
    pub fn merge_late(&mut self, now: Duration, report: ChainReport) -> Vec<Command> {
        let mut commands = Vec::new();
        if let Some(chain) = self.chains.get_mut(&report.chain) {
            chain.counters = chain.counters.max(report.counters);
        }
        for early in self.rounds.close() {
            self.merge(now, early, &mut commands);
        }
        self.merge(now, report, &mut commands);
        commands
    }

    fn best_score(&self) -> Option<LogScore> {
        self.pool.best().map(|row| row.score)
    }
}

/// Divides a budget among chains; the first ones get what does not divide evenly.
fn share(budget: Option<u64>, chains: u32, chain: ChainId) -> u64 {
    let Some(budget) = budget else {
        return u64::MAX;
    };
    let chains = u64::from(chains.max(1));
    budget / chains + u64::from(u64::from(chain.0) < budget % chains)
}
