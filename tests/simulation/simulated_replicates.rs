//! Replicates that a session's own task runs: the same searches as on threads, in simulated time.

use crate::simulated_chains::SimulatedChains;
use rlbayes::{BootstrapRequest, StopHandle};
use rlbayes_common::exchange::{Answer, ChainOrder, ChainReport, WorkerStatistics};
use rlbayes_common::ids::{ChainId, Seed};
use rlbayes_common::random::Random;
use rlbayes_common::search::UnfitState;
use rlbayes_worker::chains::Chains;
use rlbayes_worker::replicate_chains::report;
use rlbayes_worker::state::Begin;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// What a simulated worker runs.
pub(crate) enum SimulatedWork {
    Search(Box<SimulatedChains>),
    Replicates(Box<SimulatedReplicates>),
}

/// Replicates of one worker, one at a time.
pub(crate) struct SimulatedReplicates {
    request: BootstrapRequest,
    waiting: VecDeque<(ChainId, u64)>,
    /// The one that runs, and when it is done.
    running: Option<(Instant, ChainId, u64)>,
    random: Random,
}

impl SimulatedReplicates {
    pub(crate) fn new(request: BootstrapRequest, draws: Seed) -> Self {
        Self {
            request,
            waiting: VecDeque::new(),
            running: None,
            random: Random::new(draws),
        }
    }

    /// Returns when the next one is done; none if there is none to do.
    fn due(&mut self) -> Option<Instant> {
        if self.running.is_none() {
            let (chain, sequence) = self.waiting.pop_front()?;
            let takes = Duration::from_millis(500 + self.random.below(5_500) as u64);
            self.running = Some((Instant::now() + takes, chain, sequence));
        }
        self.running.map(|(due, ..)| due)
    }
}

impl Chains for SimulatedReplicates {
    fn run(&mut self, order: &ChainOrder, _begin: Begin) -> Result<(), UnfitState> {
        self.waiting.push_back((order.chain, order.sequence));
        Ok(())
    }

    fn answer(&mut self, chain: ChainId, answer: Answer) {
        if !matches!(answer, Answer::Continue { .. }) {
            self.waiting.retain(|&(id, _)| id != chain);
        }
    }

    fn want_snapshots(&mut self) {}

    fn tell_bests_again(&mut self) {}

    async fn next_report(&mut self) -> Option<ChainReport> {
        match self.due() {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
        let (_, chain, sequence) = self.running.take()?;
        let never = StopHandle::default();
        let (replicate, counters) = self.request.counted_replicate(chain.0, &never)?;
        Some(report(chain, sequence, replicate, counters))
    }

    async fn end(&mut self) -> Vec<ChainReport> {
        Vec::new()
    }

    fn statistics(&self) -> WorkerStatistics {
        WorkerStatistics::default()
    }
}

impl Chains for SimulatedWork {
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
