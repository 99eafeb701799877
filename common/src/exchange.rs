//! What chains, workers and their coordinator send each other, as plain values: the same whether
//! they share a process or a network lies between.

use crate::elite::{EliteRow, Found};
use crate::ids::{ChainId, Incarnation, NodeIdx, PeerId, SearchId, Seed, WorkerId};
use crate::score::{LogScore, ScoreSpec};
use crate::search::{NamedConstraints, SearchSpec, SeedCounts, Seeds, StoppedBy};
use crate::support::Resampling;
use std::sync::Arc;
use std::time::Duration;

/// What a chain reports after a slice.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainReport {
    /// Which chain.
    pub chain: ChainId,
    /// Counts the chain's reports, see [`RunSequence`]; in lockstep it is the round.
    pub sequence: u64,
    /// Rows worth sharing since the last report.
    pub finds: Vec<(Found, EliteRow)>,
    /// What the chain has done: in lockstep in all, free-running since its worker took it.
    pub counters: ChainCounters,
    /// Whether it would take seeds.
    pub wants_seeds: bool,
    /// Whether it can continue.
    pub status: ChainStatus,
    /// Its state, where the last answer asked for it.
    pub snapshot: Option<Snapshot>,
}

/// How reports of a free-running chain are numbered: a chain that comes back to a worker process
/// has another run there, whose reports and counters are not those of the run before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSequence {
    /// Which run of the chain in its worker process, from 0.
    pub run: u64,
    /// Counts the run's reports, from 0.
    pub report: u64,
}

impl RunSequence {
    const REPORT_BITS: u32 = 32;

    /// Reads a sequence.
    #[must_use]
    pub const fn of(sequence: u64) -> Self {
        Self {
            run: sequence >> Self::REPORT_BITS,
            report: sequence & ((1 << Self::REPORT_BITS) - 1),
        }
    }

    /// Returns the sequence of a run's first report.
    #[must_use]
    pub const fn first(run: u64) -> u64 {
        run << Self::REPORT_BITS
    }

    /// Returns under which name the run's work is counted: the worker process' own in the first run.
    #[must_use]
    pub const fn counted_as(self, incarnation: Incarnation) -> Incarnation {
        match self.run {
            0 => incarnation,
            run => Incarnation(Seed(incarnation.0).mix(run).0),
        }
    }
}

/// A chain's state as sealed bytes, and their BLAKE3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    digest: [u8; 32],
    bytes: Arc<[u8]>,
}

/// What a chain has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainCounters {
    /// Steps made.
    pub iterations: u64,
    /// Local scores asked for.
    pub evaluations: u64,
    /// Local scores counted from the data.
    pub computed: u64,
    /// What became of seeds.
    pub seeds: SeedCounts,
}

/// Whether a chain can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainStatus {
    /// It can.
    Running,
    /// Its share of the evaluations is used up.
    OutOfEvaluations,
    /// Its share of the iterations is used up.
    OutOfIterations,
    /// It has nothing left to try.
    Exhausted,
}

/// How a chain continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It runs another slice.
    Continue {
        /// Rows of others, where it wants some.
        seeds: Option<Seeds>,
        /// Whether the next report should bring the chain's state.
        snapshot: bool,
    },
    /// It stops: the search is over for it.
    Stop,
    /// It belongs to another worker now.
    Revoke,
}

/// A chain that a worker is to run.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainOrder {
    /// Which chain.
    pub chain: ChainId,
    /// The number of its next report.
    pub sequence: u64,
    /// How many evaluations it may still make, where they are limited.
    pub evaluations: Option<u64>,
    /// How many steps it may still make, where they are limited.
    pub iterations: Option<u64>,
    /// Where it begins.
    pub origin: Origin,
}

/// Where a chain begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// At the start network.
    Start,
    /// At the start network with rows of the pool: its state was lost.
    Pool(Seeds),
    /// At a state that the coordinator has stored, with the seeds that it is owed.
    Stored {
        /// BLAKE3 of the state.
        digest: [u8; 32],
        /// Rows of others.
        seeds: Option<Seeds>,
    },
}

/// Whether the chains of a search wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Rounds: every chain reports, all reports are merged, every chain is answered.
    Lockstep,
    /// Each report is answered at once, and no chain waits for its answer.
    Free,
}

/// What a search is: everything that a worker needs to know of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchDescription {
    /// Its name.
    pub id: SearchId,
    /// Names, states and cells of its table, whatever the file looked like.
    pub data_fingerprint: [u8; 32],
    /// BLAKE3 of the table's encoding, and its size.
    pub data_hash: [u8; 32],
    /// Bytes of the table's encoding.
    pub data_bytes: u64,
    /// How many variables it has.
    pub nodes: usize,
    /// What is maximised.
    pub score: ScoreSpec,
    /// What the network must and must not have.
    pub constraints: NamedConstraints,
    /// Edges of the network that chains start from: (from, to).
    pub start: Vec<(NodeIdx, NodeIdx)>,
    /// The search.
    pub spec: SearchSpec,
    /// What all draws come from.
    pub seed: Seed,
    /// How many rungs the ladder of temperatures has.
    pub ladder: u32,
    /// Whether chains wait for each other.
    pub pace: Pace,
    /// Evaluations of a chain in one round.
    pub round_evaluations: u64,
    /// A score at which a slice ends.
    pub target: Option<LogScore>,
    /// How often a free-running worker reports without a record.
    pub exchange_every: Duration,
    /// Set where the chains to run are replicates: each is this search on a resampled table.
    pub replicates: Option<ReplicateDescription>,
}

/// How the replicates of a bootstrap are made; a chain's number is that of a replicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicateDescription {
    /// How their rows are drawn, and how many.
    pub resampling: Resampling,
    /// Evaluations of each search.
    pub evaluations: u64,
}

/// What a coordinator has its workers do: first a search, then perhaps replicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// Chains of the search.
    #[default]
    Search,
    /// Replicates: a chain is a search on a resampled table, and reports once, at its end.
    Replicates,
}

/// How a worker introduces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Drawn afresh by each worker process.
    pub incarnation: Incarnation,
    /// What the same worker was before a restart.
    pub replaces: Option<Incarnation>,
    /// Where it runs.
    pub host: String,
    /// How many threads it has.
    pub threads: u32,
    /// How many bytes of memory it may use; none: as many as its chains take.
    pub memory: Option<u64>,
    /// The program's version.
    pub program_version: String,
    /// Chains that it runs now or has checkpoints of.
    pub chains: Vec<ChainId>,
    /// The search that they belong to.
    pub search: Option<SearchId>,
    /// What they are part of.
    pub work: Work,
    /// Who says this, as whoever took the message knows it; none: the coordinator's own process.
    pub peer: Option<PeerId>,
}

/// What a worker gets when it joins.
#[derive(Clone, Debug, PartialEq)]
pub struct Welcome {
    /// Its number.
    pub worker: WorkerId,
    /// How long it counts as alive without an exchange.
    pub lease: Duration,
    /// The chains that it is to run.
    pub orders: Vec<ChainOrder>,
    /// Set once this work is over.
    pub stopped_by: Option<StoppedBy>,
    /// What the worker is to do.
    pub work: Work,
    /// Whether other work follows once this is over: the worker joins again for it.
    pub more_work: bool,
}

/// A worker's reports, all chains that have one.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Which worker.
    pub worker: WorkerId,
    /// Which process of it.
    pub incarnation: Incarnation,
    /// What its chains are part of.
    pub work: Work,
    /// What its chains report.
    pub reports: Vec<ChainReport>,
    /// How it is doing.
    pub statistics: WorkerStatistics,
}

/// How a worker is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerStatistics {
    /// Questions that the score caches answered.
    pub cache_hits: u64,
    /// Questions that they could not answer.
    pub cache_misses: u64,
    /// Bytes that they hold.
    pub cache_bytes: u64,
    /// Bytes that the process holds.
    pub memory_bytes: u64,
}

/// What comes back from an exchange.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// How chains continue, each with the sequence that is answered; a lockstep chain whose round is
    /// not over has none.
    pub answers: Vec<(ChainId, u64, Answer)>,
    /// Chains to run besides.
    pub orders: Vec<ChainOrder>,
    /// How long the worker counts as alive without another exchange.
    pub lease: Duration,
    /// Set once this work is over.
    pub stopped_by: Option<StoppedBy>,
    /// Whether other work follows: the worker leaves, and joins again for it.
    pub more_work: bool,
}

/// A lockstep chain as it is stored at a barrier: enough to replay the next round anywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredChain {
    /// The chain's own state.
    pub snapshot: Snapshot,
    /// The seeds that it gets for the next round.
    pub seeds: Option<Seeds>,
    /// How often it was sent seeds.
    pub reseeds: u64,
    /// What it has done so far.
    pub counters: ChainCounters,
    /// Whether it can continue.
    pub status: ChainStatus,
}

impl ChainStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Running,
        Self::OutOfEvaluations,
        Self::OutOfIterations,
        Self::Exhausted,
    ];
}

impl Snapshot {
    /// Seals bytes of a chain's state.
    #[must_use]
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self {
            digest: *blake3::hash(&bytes).as_bytes(),
            bytes,
        }
    }

    /// Returns the BLAKE3 of the bytes.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Returns the bytes.
    #[must_use]
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }
}

impl ChainCounters {
    /// Keeps the larger of each: counters only grow, so late and repeated reports can't hurt.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.zip(other, u64::max)
    }

    /// Adds up.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_add)
    }

    /// Returns what was done since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        self.zip(earlier, u64::saturating_sub)
    }

    fn zip(self, other: Self, with: impl Fn(u64, u64) -> u64) -> Self {
        let (mine, others) = (self.to_figures(), other.to_figures());
        Self::from_figures(std::array::from_fn(|at| with(mine[at], others[at])))
    }

    /// Returns the figures in the order in which they are stored.
    #[must_use]
    pub fn to_figures(self) -> [u64; 6] {
        let Self {
            iterations,
            evaluations,
            computed,
            seeds:
                SeedCounts {
                    received,
                    entered,
                    made_current,
                },
        } = self;
        [
            iterations,
            evaluations,
            computed,
            received,
            entered,
            made_current,
        ]
    }

    /// Makes counters of the figures that [`to_figures`](Self::to_figures) has returned.
    #[must_use]
    pub fn from_figures(figures: [u64; 6]) -> Self {
        let [
            iterations,
            evaluations,
            computed,
            received,
            entered,
            made_current,
        ] = figures;
        Self {
            iterations,
            evaluations,
            computed,
            seeds: SeedCounts {
                received,
                entered,
                made_current,
            },
        }
    }
}
