//! What a search is to its coordinator.

use rlbayes_common::elite::Keying;
use rlbayes_common::exchange::Pace;
use rlbayes_common::ids::Seed;
use rlbayes_common::search::Budget;
use std::time::Duration;

/// What a search is to its coordinator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchPlan {
    /// How many chains run.
    pub chains: ChainCount,
    /// What all draws come from.
    pub seed: Seed,
    /// When it is over.
    pub budget: Budget,
    /// Whether chains wait for each other.
    pub pace: Pace,
    /// What makes two rows of the pool one.
    pub keying: Keying,
    /// Whether chains get networks of other chains.
    pub cooperation: Cooperation,
    /// How often lockstep chains send their state to be stored.
    pub snapshots: Snapshots,
    /// How long a worker counts as alive without an exchange.
    pub lease: Duration,
    /// How many replicates follow the search.
    pub replicates: u32,
    /// What its chains take of a worker's memory.
    pub chain_memory: ChainMemory,
    /// How many evaluations a chain can make in a lockstep round at most: whoever reports more lies.
    pub most_per_round: u64,
}

/// What the chains of a search take of the memory of the process that runs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainMemory {
    /// Bytes of the process, whatever the number of its chains: the program and the table.
    pub fixed: u64,
    /// Bytes of caches that are of use. A single chain does with less.
    pub caches: u64,
    /// Bytes of each chain.
    pub per_chain: u64,
}

impl ChainMemory {
    /// Returns how many chains fit into a memory.
    #[must_use]
    pub fn most_chains(&self, memory: u64) -> u32 {
        let left = memory.saturating_sub(self.fixed + self.caches);
        let beside_caches = u32::try_from(left / self.per_chain.max(1)).unwrap_or(u32::MAX);
        beside_caches.max(u32::from(memory >= self.least()))
    }

    /// Returns the least memory of a process with one chain.
    #[must_use]
    pub fn least(&self) -> u64 {
        self.fixed + self.per_chain
    }
}

/// How many chains a search has; they belong to the search, never to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainCount {
    /// This many, however many workers there are.
    Fixed(u32),
    /// This many for each thread of each worker.
    PerThread(u32),
}

/// Whether chains get networks of other chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cooperation {
    /// They do.
    On,
    /// Each is on its own, to measure what cooperation brings.
    Off,
}

/// How often lockstep chains send their state to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshots {
    /// Never: nothing is stored.
    Never,
    /// In every round, so that any worker can replay the next one.
    EveryRound,
    /// In the first round after this time, so that a run can be resumed.
    Every(Duration),
}

impl ChainCount {
    /// Returns how many rungs the ladder of temperatures has.
    #[must_use]
    pub fn ladder(self) -> u32 {
        match self {
            Self::Fixed(chains) | Self::PerThread(chains) => chains.max(1),
        }
    }
}
