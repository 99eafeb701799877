//! Chains that a session's own task steps: the same chains as on threads, in simulated time. And
//! what a worker keeps over a restart.

use crate::search;
use crate::simulated_replicates::{SimulatedReplicates, SimulatedWork};
use rlbayes::BootstrapRequest;
use rlbayes::chains::ChainMaker;
use rlbayes::chains::{RunningChain, SliceSettings};
use rlbayes_common::exchange::{Answer, ChainOrder, ChainReport, Pace, Snapshot, WorkerStatistics};
use rlbayes_common::ids::{ChainId, SearchId, Seed};
use rlbayes_common::random::Random;
use rlbayes_common::search::{Problem, UnfitState};
use rlbayes_common::snapshot::decode_chain;
use rlbayes_worker::chains::Chains;
use rlbayes_worker::data_store::DataStore;
use rlbayes_worker::host::{Opened, WorkerHost};
use rlbayes_worker::link::{Joined, Link};
use rlbayes_worker::state::{Begin, Held, OpenError};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Memory of a worker for the search on a resampled table.
const REPLICATE_MEMORY: usize = 64 << 20;

/// Chains that the session's task runs, a slice at a time.
pub(crate) struct SimulatedChains {
    maker: ChainMaker,
    chains: BTreeMap<ChainId, (Instant, RunningChain)>,
    settings: SliceSettings,
    begun: Instant,
    random: Random,
}

impl SimulatedChains {
    /// How long the next slice takes.
    fn slice_time(&mut self) -> Duration {
        let most = match self.settings.pace {
            Pace::Lockstep => 1000,
            Pace::Free => 1500,
        };
        Duration::from_millis(100 + self.random.below(most) as u64)
    }
}

impl Chains for SimulatedChains {
    fn run(&mut self, order: &ChainOrder, begin: Begin) -> Result<(), UnfitState> {
        let due = Instant::now() + self.slice_time();
        let chain = begin.chain(&self.maker, order.chain, self.settings.pace)?;
        let running = RunningChain::new(chain, order, self.settings);
        self.chains.insert(order.chain, (due, running));
        Ok(())
    }

    fn answer(&mut self, id: ChainId, answer: Answer) {
        let due = Instant::now() + self.slice_time();
        if let Some((next, chain)) = self.chains.get_mut(&id) {
            if self.settings.pace == Pace::Lockstep {
                *next = due;
            }
            if !chain.take(answer) {
                self.chains.remove(&id);
            }
        }
    }

    fn want_snapshots(&mut self) {
        for (_, chain) in self.chains.values_mut() {
            chain.want_snapshot();
        }
    }

    fn tell_bests_again(&mut self) {
        for (_, chain) in self.chains.values_mut() {
            chain.tell_best_again();
        }
    }

    async fn next_report(&mut self) -> Option<ChainReport> {
        let halt = AtomicBool::new(false);
        loop {
            let next = self
                .chains
                .values()
                .filter(|(_, chain)| chain.is_ready())
                .map(|&(due, _)| due)
                .min();
            match next {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
            let pause = self.slice_time();
            let now = Instant::now();
            let since = now.duration_since(self.begun);
            let ready = self
                .chains
                .values_mut()
                .find(|(due, chain)| chain.is_ready() && *due <= now);
            if let Some((due, chain)) = ready {
                *due = now + pause;
                chain.run_slice(&halt, || false);
                if chain.is_report_due(since) {
                    return Some(chain.report(since));
                }
            }
        }
    }

    async fn end(&mut self) -> Vec<ChainReport> {
        self.chains
            .values_mut()
            .map(|(_, chain)| chain.last_report())
            .collect()
    }

    fn statistics(&self) -> WorkerStatistics {
        // Those of the real process would differ from run to run.
        WorkerStatistics::default()
    }
}

/// What a worker has on its disk.
#[derive(Default)]
pub(crate) struct Kept {
    /// How often it was started.
    pub(crate) starts: u64,
    search: Option<SearchId>,
    chains: BTreeMap<ChainId, Snapshot>,
}

/// Where the chains of one worker are made.
pub(crate) struct SimulatedHost {
    pub(crate) kept: Rc<RefCell<Kept>>,
    /// Whether the worker has a state folder.
    pub(crate) keeps: bool,
    /// The problem of all workers on the host: a process shares its caches.
    pub(crate) problem: Rc<RefCell<Option<Arc<Problem>>>>,
    pub(crate) draws: Seed,
}

impl WorkerHost for SimulatedHost {
    type Chains = SimulatedWork;

    async fn open(
        &mut self,
        link: &impl Link,
        joined: &Joined,
    ) -> Result<Opened<SimulatedWork>, OpenError> {
        let description = &joined.search;
        let data = DataStore::open(None).unwrap();
        let table = Arc::new(data.fetch(link, description).await?);
        if let Some(replicates) = &description.replicates {
            let table = rlbayes::Table::from_data("", table);
            let request =
                BootstrapRequest::assigned(&table, description, replicates, 1, REPLICATE_MEMORY);
            let replicates = SimulatedReplicates::new(request.unwrap(), self.draws);
            return Ok(Opened {
                chains: SimulatedWork::Replicates(Box::new(replicates)),
                checkpoints: BTreeMap::new(),
            });
        }
        self.kept.borrow_mut().search = Some(description.id);
        let mut checkpoints = BTreeMap::new();
        if description.pace == Pace::Free {
            let kept = self.kept.borrow();
            let read = |(&chain, snapshot): (&ChainId, &Snapshot)| {
                let saved = decode_chain(snapshot.bytes(), table.nodes());
                (chain, saved.expect("a checkpoint is whole"))
            };
            checkpoints = kept.chains.iter().map(read).collect();
        }
        let problem = Arc::clone(
            self.problem
                .borrow_mut()
                .get_or_insert_with(|| search::problem(&table)),
        );
        let maker = ChainMaker {
            problem,
            spec: description.spec,
            seed: description.seed,
            ladder: description.ladder,
        };
        let chains = SimulatedChains {
            maker,
            chains: BTreeMap::new(),
            settings: SliceSettings {
                pace: description.pace,
                exchange_every: description.exchange_every,
                slice_evaluations: description.round_evaluations,
                target: description.target,
            },
            begun: Instant::now(),
            random: Random::new(self.draws),
        };
        Ok(Opened {
            chains: SimulatedWork::Search(Box::new(chains)),
            checkpoints,
        })
    }

    fn held(&self) -> Held {
        let kept = self.kept.borrow();
        Held {
            chains: kept.chains.keys().copied().collect(),
            search: kept.search,
        }
    }

    fn keep_checkpoint(&mut self, chain: ChainId, snapshot: &Snapshot) {
        if self.keeps {
            let chains = &mut self.kept.borrow_mut().chains;
            chains.insert(chain, snapshot.clone());
        }
    }

    fn drop_checkpoint(&mut self, chain: ChainId) {
        self.kept.borrow_mut().chains.remove(&chain);
    }
}
