//! The coordinator's decisions as a state machine: `apply(now, event) -> commands`, and questions
//! about the state that its replies are made of. It does no IO and reads no clock; `learn` drives
//! it in one process, the cluster over gRPC, tests and benchmarks by hand.

mod assignment;
mod chains;
mod command;
mod credit;
mod event;
mod membership;
mod plan;
mod recovery;
mod replicates;
mod replies;
mod reports;
mod rounds;
mod shares;
mod silence;
mod standing;
#[cfg(test)]
mod tests;
mod view;

pub use command::{Command, WorkerChange};
pub use event::Event;
pub use membership::{MAX_CHAINS, MAX_WORKERS};
pub use plan::{ChainCount, ChainMemory, Cooperation, SearchPlan, Snapshots};
pub use replicates::MAX_CLUSTER_REPLICATES;
pub use rlbayes_common::exchange::Pace;
pub use view::{CurvePoint, ReplicateView, Stage, View, WorkerView};

use crate::bootstrap::Replicate;
use chains::ChainState;
use credit::Credits;
use membership::Membership;
use replicates::Doing;
use rlbayes_common::elite::{EliteRow, Pool};
use rlbayes_common::exchange::{ChainCounters, StoredChain};
use rlbayes_common::ids::{ChainId, Incarnation, Round, WorkerId};
use rlbayes_common::score::LogScore;
use rlbayes_common::search::{SeedCounts, Spent, StoppedBy};
use rounds::Rounds;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use view::Curve;

/// How long workers have to send their last reports once the search is to end.
const LAST_REPORTS: Duration = Duration::from_secs(10);

/// How long workers that lost contact may take to reconnect: their longest pause between two
/// attempts, plus a connection and a call.
const RECONNECT_WINDOW: Duration = Duration::from_secs(20);

/// How often the progress is stored while nothing else is.
const STORE_PROGRESS_EVERY: Duration = Duration::from_secs(2);

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

/// What was stored of a search: enough to resume it.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The pool.
    pub pool: Pool,
    /// How far the search had come.
    pub progress: Progress,
    /// Lockstep chains as they stood at the last barrier.
    pub chains: BTreeMap<ChainId, StoredChain>,
    /// Replicates of a bootstrap that are done.
    pub replicates: BTreeMap<u32, Arc<Replicate>>,
}

/// How far a search has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Time spent searching.
    pub elapsed: Duration,
    /// Processor time spent searching, as far as it is known.
    pub cpu_time: Option<Duration>,
    /// When the best row was found.
    pub record: Option<Record>,
    /// The lockstep round under way.
    pub round: Round,
    /// What all chains have done.
    pub counters: ChainCounters,
    /// Free-running: the part of it done by worker processes that may report again. A process counts
    /// from where it took its chain, across restarts of the coordinator.
    pub incarnations: Vec<(ChainId, Incarnation, ChainCounters)>,
    /// Processes before these: their counters are part of the sum, and not kept separately.
    pub retired: Vec<(ChainId, Incarnation)>,
    /// Free-running: what of their counters does not count yet, by chain.
    pub waiting: Vec<(ChainId, ChainCounters)>,
    /// Rows sent to chains.
    pub seeds_sent: u64,
    /// Exchanges taken.
    pub exchanges: u64,
    /// Rows from workers that were refused.
    pub refused_rows: u64,
    /// The limits that the search had, on evaluations and on iterations: a chain that has used up its
    /// share continues only where they were raised since.
    pub limits: [Option<u64>; 2],
    /// Why the search ended, if it did.
    pub stopped_by: Option<StoppedBy>,
}

/// Why a report can't be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There are too many workers.
    #[error("there are {MAX_WORKERS} workers already")]
    TooManyWorkers,
    /// The worker is not a member (any more): it should join again. Its rows were taken.
    #[error("the worker is not a member; it should join again")]
    UnknownWorker,
    /// There is no such chain.
    #[error("there is no chain {0}")]
    UnknownChain(ChainId),
    /// Another worker runs the chain.
    #[error("another worker runs chain {0}")]
    NotItsChain(ChainId),
}

/// Where a search is between its start and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Chains run, or wait for workers to run them.
    Running,
    /// The search is to end; workers send their last reports.
    Stopping {
        reason: StoppedBy,
        /// Since when only the last reports are missing.
        since: Duration,
        /// Whether a lockstep round is under way: it is finished first.
        in_round: bool,
    },
    /// The search is over and no worker runs its chains any more.
    Finished {
        reason: StoppedBy,
        /// Since when only the last reports were missing.
        since: Duration,
    },
}

impl Phase {
    /// Returns why the search ends, once it does.
    fn reason(self) -> Option<StoppedBy> {
        match self {
            Self::Running => None,
            Self::Stopping { reason, .. } | Self::Finished { reason, .. } => Some(reason),
        }
    }
}

/// The state of one search.
#[derive(Debug)]
pub struct State {
    plan: SearchPlan,
    pool: Pool,
    chains: BTreeMap<ChainId, ChainState>,
    members: Membership,
    /// The time of the event that is applied.
    now: Duration,
    /// Orders that a worker has not reported on yet; they are repeated until it does.
    pending_orders: BTreeSet<(WorkerId, ChainId)>,
    /// Chains that were reported on since a time, and that time.
    reported: BTreeSet<ChainId>,
    reported_since: Duration,
    rounds: Rounds,
    record: Option<Record>,
    curve: Curve,
    /// Work done before a restart, and the sum of all work.
    before: ChainCounters,
    total: ChainCounters,
    /// What of the claims of workers counts, and what waits.
    credits: Credits,
    seeds_sent: u64,
    exchanges: u64,
    /// Rows from workers that were refused: whoever checks them tells.
    refused_rows: u64,
    /// Search time until the clock was last stopped, and when it was started again.
    searched: Duration,
    searching_since: Option<Duration>,
    /// Processor time spent searching, as far as it was told.
    cpu_time: Option<Duration>,
    snapshots_at: Duration,
    /// Lockstep: when the round under way began.
    round_since: Duration,
    progress_at: Duration,
    /// What the chains of the moment are.
    doing: Doing,
    /// The replicates that are done.
    replicates: BTreeMap<u32, Arc<Replicate>>,
    phase: Phase,
    /// After a restart: deadline for workers to rejoin.
    rejoin_deadline: Duration,
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
            now: Duration::ZERO,
            pending_orders: BTreeSet::new(),
            reported: BTreeSet::new(),
            reported_since: Duration::ZERO,
            rounds: Rounds::default(),
            record: None,
            curve: Curve::default(),
            before: ChainCounters::default(),
            total: ChainCounters::default(),
            credits: Credits::default(),
            seeds_sent: 0,
            exchanges: 0,
            refused_rows: 0,
            searched: Duration::ZERO,
            searching_since: None,
            cpu_time: None,
            snapshots_at: Duration::ZERO,
            round_since: Duration::ZERO,
            progress_at: Duration::ZERO,
            doing: Doing::Search,
            replicates: BTreeMap::new(),
            phase: Phase::Running,
            rejoin_deadline: Duration::ZERO,
        }
    }

    /// Applies an event at a time of the coordinator's own clock, and returns what to do.
    pub fn apply(&mut self, now: Duration, event: Event) -> Vec<Command> {
        let mut commands = Vec::new();
        self.now = now;
        match event {
            Event::Join(hello) => self.join(now, hello, &mut commands),
            Event::Exchange(exchange) | Event::Leave(exchange)
                if exchange.work != self.doing.work() =>
            {
                self.take_late(now, exchange, &mut commands);
            }
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
            Event::CpuTime(spent) => self.cpu_time = Some(spent),
            Event::RefusedRows(rows) => self.refused_rows = rows.max(self.refused_rows),
            Event::Row(row) => {
                self.merge_rows_overall(now, vec![row], &mut commands);
                self.check_budget(now, &mut commands);
            }
            Event::Stop(reason) => self.stop(now, reason, &mut commands),
        }
        self.finish(now, &mut commands);
        commands
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
            cpu_time: self.cpu_time,
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

    /// Returns how many exchanges were taken.
    #[must_use]
    pub fn exchanges(&self) -> u64 {
        self.exchanges
    }

    /// Returns how many rows from workers were refused.
    #[must_use]
    pub fn refused_rows(&self) -> u64 {
        self.refused_rows
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
        self.phase.reason()
    }

    /// Returns whether nothing has ended the search.
    fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Returns whether chains are still to be run: until the end, and in lockstep until the end of
    /// the round that it came in.
    fn has_work(&self) -> bool {
        match self.phase {
            Phase::Running => true,
            Phase::Stopping { in_round, .. } => in_round,
            Phase::Finished { .. } => false,
        }
    }

    /// Returns whether the search is over and no worker runs its chains any more.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Finished { .. })
    }

    /// Returns whether the search is over and all workers were informed, or had enough time to ask.
    #[must_use]
    pub fn all_workers_informed(&self, now: Duration) -> bool {
        let Phase::Finished { since, .. } = self.phase else {
            return false;
        };
        let all_informed = !self.members.awaits_any() && now >= self.rejoin_deadline;
        all_informed || now.saturating_sub(since) >= RECONNECT_WINDOW
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
}
