//! What chains and their coordinator tell each other, as plain values: the same whether they share
//! a process or a network lies between.

use crate::elite::{EliteRow, Found};
use crate::ids::ChainId;
use crate::search::{SavedChain, SeedCounts, Seeds};

/// What a chain tells after a slice.
#[derive(Clone, Debug)]
pub struct ChainReport {
    /// Which chain.
    pub chain: ChainId,
    /// Rows worth sharing since the last report.
    pub finds: Vec<(Found, EliteRow)>,
    /// What the chain has done so far, in all.
    pub counters: ChainCounters,
    /// Whether it would take seeds.
    pub wants_seeds: bool,
    /// Whether it can go on.
    pub standing: Standing,
    /// Its state, where the last answer asked for it.
    pub snapshot: Option<SavedChain>,
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

/// Whether a chain can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It can.
    Running,
    /// Its share of the evaluations is used up.
    OutOfEvaluations,
    /// Its share of the iterations is used up.
    OutOfIterations,
    /// It has nothing left to try.
    Exhausted,
}

/// How a chain goes on.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It runs another slice.
    Continue {
        /// Rows of others, where it wants some.
        seeds: Option<Seeds>,
        /// Whether the next report should bring the chain's state.
        snapshot: bool,
    },
    /// It stops.
    Stop,
}

impl ChainCounters {
    /// Keeps the larger of each: counters only grow, so late and repeated reports can't hurt.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            iterations: self.iterations.max(other.iterations),
            evaluations: self.evaluations.max(other.evaluations),
            computed: self.computed.max(other.computed),
            seeds: SeedCounts {
                received: self.seeds.received.max(other.seeds.received),
                entered: self.seeds.entered.max(other.seeds.entered),
                made_current: self.seeds.made_current.max(other.seeds.made_current),
            },
        }
    }
}
