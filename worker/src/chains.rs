//! The chains of a worker as its session sees them: they report, and take orders and answers. Real
//! ones run on threads ([`crate::threads`]); a simulation steps them in a task.

use rlbayes_common::exchange::{Answer, ChainOrder, ChainReport, WorkerStatistics};
use rlbayes_common::ids::ChainId;
use rlbayes_common::ids::Seed;
use rlbayes_common::search::{Chain, Problem, SavedChain, SearchSpec, Seeds};
use std::future::Future;
use std::sync::Arc;

/// The chains of a worker.
pub trait Chains {
    /// Runs a chain.
    fn run(&mut self, chain: Box<dyn Chain>, order: &ChainOrder);

    /// Hands an answer to a chain.
    fn answer(&mut self, chain: ChainId, answer: Answer);

    /// Asks every chain for its state with its next report.
    fn want_snapshots(&mut self);

    /// Has every chain tell its best row again with its next report.
    fn tell_bests_again(&mut self);

    /// Waits for the next report. Must be safe to drop and call again.
    fn next_report(&mut self) -> impl Future<Output = Option<ChainReport>>;

    /// Ends all chains and returns their last reports, with their states.
    fn end(&mut self) -> impl Future<Output = Vec<ChainReport>>;

    /// Returns how the worker is doing.
    fn statistics(&self) -> WorkerStatistics;
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

    /// Goes on with a stored chain; one that does not fit starts anew.
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

/// Returns how much memory the process holds, where the system tells; else 0.
fn resident_bytes() -> u64 {
    const PAGE: u64 = 4096;
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let resident = pages.and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok());
    resident.unwrap_or(0) * PAGE
}
