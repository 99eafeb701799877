//! What a worker's chains are: those of a search, or replicates.

use crate::chains::Chains;
use crate::replicate_chains::ReplicateChains;
use crate::state::Begin;
use crate::thread_chains::ThreadChains;
use rlbayes_common::exchange::{Answer, ChainOrder, ChainReport, WorkerStatistics};
use rlbayes_common::ids::ChainId;
use rlbayes_common::search::UnfitState;

/// The chains of a worker, whatever its work is.
#[derive(Debug)]
pub enum WorkerChains {
    /// Chains of a search.
    Search(Box<ThreadChains>),
    /// Replicates.
    Replicates(ReplicateChains),
}

impl Chains for WorkerChains {
    fn run(&mut self, order: &ChainOrder, begin: Begin) -> Result<(), UnfitState> {
        match self {
            Self::Search(chains) => chains.run(order, begin),
            Self::Replicates(chains) => chains.run(order, begin),
        }
    }

    fn answer(&mut self, chain: ChainId, answer: Answer) {
        match self {
            Self::Search(chains) => chains.answer(chain, answer),
            Self::Replicates(chains) => chains.answer(chain, answer),
        }
    }

    fn want_snapshots(&mut self) {
        match self {
            Self::Search(chains) => chains.want_snapshots(),
            Self::Replicates(chains) => chains.want_snapshots(),
        }
    }

    fn tell_bests_again(&mut self) {
        match self {
            Self::Search(chains) => chains.tell_bests_again(),
            Self::Replicates(chains) => chains.tell_bests_again(),
        }
    }

    async fn next_report(&mut self) -> Option<ChainReport> {
        match self {
            Self::Search(chains) => chains.next_report().await,
            Self::Replicates(chains) => chains.next_report().await,
        }
    }

    async fn end(&mut self) -> Vec<ChainReport> {
        match self {
            Self::Search(chains) => chains.end().await,
            Self::Replicates(chains) => chains.end().await,
        }
    }

    fn statistics(&self) -> WorkerStatistics {
        match self {
            Self::Search(chains) => chains.statistics(),
            Self::Replicates(chains) => chains.statistics(),
        }
    }
}
