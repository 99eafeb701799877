//! Makes chains: new ones, and those that continue from a stored state.

use crate::machine::resident_bytes;
use rlbayes_common::exchange::WorkerStatistics;
use rlbayes_common::ids::{ChainId, Seed};
use rlbayes_common::search::{Chain, Problem, SavedChain, SearchSpec, Seeds};
use std::sync::Arc;

/// What chains are made from.
#[derive(Clone, Debug)]
pub struct ChainMaker {
    /// The table, the score, the constraints.
    pub problem: Arc<Problem>,
    /// The search.
    pub spec: SearchSpec,
    /// What all draws come from.
    pub seed: Seed,
    /// How many rungs the ladder of temperatures has.
    pub ladder: u32,
}

impl ChainMaker {
    /// Starts a chain.
    #[must_use]
    pub fn start(&self, id: ChainId, seeds: Option<Seeds>) -> Box<dyn Chain> {
        let mut chain = self.spec.start(&self.problem, id, self.ladder, self.seed);
        if let Some(seeds) = seeds {
            chain.give_seeds(seeds);
        }
        chain
    }

    /// Resumes a stored chain; one that does not fit starts anew.
    #[must_use]
    pub fn resume(&self, id: ChainId, saved: &SavedChain, seeds: Option<Seeds>) -> Box<dyn Chain> {
        match self.spec.resume(&self.problem, id, self.ladder, saved) {
            Ok(mut chain) => {
                if let Some(seeds) = seeds {
                    chain.give_seeds(seeds);
                }
                chain
            }
            Err(error) => {
                tracing::warn!(chain = %id, %error, "the chain starts anew");
                self.start(id, seeds)
            }
        }
    }

    /// Returns how the shared caches are doing.
    #[must_use]
    pub fn statistics(&self) -> WorkerStatistics {
        let mut sum = WorkerStatistics::default();
        for cache in self.problem.cache_statistics() {
            sum.cache_hits += cache.hits;
            sum.cache_misses += cache.misses;
            sum.cache_bytes += cache.bytes as u64;
        }
        sum.memory_bytes = resident_bytes();
        sum
    }
}
