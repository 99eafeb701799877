//! Makes chains: new ones, and those that continue from a stored state.

use crate::machine::resident_bytes;
use rlbayes_common::exchange::WorkerStatistics;
use rlbayes_common::ids::{ChainId, Seed};
use rlbayes_common::search::{
    Chain, Evaluator, Problem, SavedChain, SearchSpec, Seeds, UnfitState,
};
use rlbayes_common::snapshot::{SnapshotError, decode_chain};
use std::sync::Arc;
use thiserror::Error;

/// Why a chain's state is not taken.
#[derive(Debug, Error)]
pub enum WhyNot {
    /// It can't be read.
    #[error("the state of the chain can't be read: {0}")]
    Unreadable(#[from] SnapshotError),
    /// It can't be resumed.
    #[error("the state of the chain does not fit this search: {0}")]
    Unfit(#[from] UnfitState),
}

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

    /// Resumes a stored chain.
    ///
    /// # Errors
    /// If the state does not fit this search.
    pub fn resume(
        &self,
        id: ChainId,
        saved: &SavedChain,
        seeds: Option<Seeds>,
    ) -> Result<Box<dyn Chain>, UnfitState> {
        let mut chain = self.spec.resume(&self.problem, id, self.ladder, saved)?;
        if let Some(seeds) = seeds {
            chain.give_seeds(seeds);
        }
        Ok(chain)
    }

    /// Resumes a stored chain; one that does not fit starts anew.
    #[must_use]
    pub fn resume_or_start(
        &self,
        id: ChainId,
        saved: &SavedChain,
        seeds: Option<Seeds>,
    ) -> Box<dyn Chain> {
        self.resume(id, saved, seeds.clone())
            .unwrap_or_else(|error| {
                tracing::warn!(chain = %id, %error, "the chain starts anew");
                self.start(id, seeds)
            })
    }

    /// Checks a chain's state that somebody brings as far as resuming it would: it is one of this
    /// search and this table, and its best row has the score that it says.
    ///
    /// # Errors
    /// If the state can't be read, or does not fit.
    pub fn fits(&self, id: ChainId, state: &[u8]) -> Result<(), WhyNot> {
        let saved = decode_chain(state, self.problem.nodes())?;
        self.spec.resume(&self.problem, id, self.ladder, &saved)?;
        if let Some(best) = &saved.best {
            let unfit = || UnfitState::Field("best");
            let dag = best.structure.to_dag().map_err(|_| unfit())?;
            let score = Evaluator::new(Arc::clone(&self.problem)).structure(&dag);
            if !self.problem.constraints().hold_for(&dag) || score != Ok(best.score) {
                return Err(unfit().into());
            }
        }
        Ok(())
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

#[cfg(test)]
mod tests;
