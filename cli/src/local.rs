//! A search in one process: the coordinator's event loop and a worker's session, joined by a
//! channel. The only place that sees both worker and coordinator.

use crate::failure::Failure;
use rlbayes::chains::ChainFolder;
use rlbayes::chains::ChainMaker;
use rlbayes::chains::{SlicePace, SliceSettings};
use rlbayes::coordination::{SearchPlan, State};
use rlbayes::journal::Journal;
use rlbayes_common::exchange::{Exchange, Hello, Reply, SearchDescription, Snapshot, Welcome};
use rlbayes_common::ids::{ChainId, Incarnation, SearchId};
use rlbayes_common::search::{Problem, SavedChain, StoppedBy};
use rlbayes_coordinator::blocking::Blocking;
use rlbayes_coordinator::event_loop::{AskError, EventLoop, Handle, Observer, Published, Until};
use rlbayes_worker::host::WorkerHost;
use rlbayes_worker::link::{Joined, Link, LinkError};
use rlbayes_worker::retry::RetryPolicy;
use rlbayes_worker::session::{self, SessionError, SessionSettings};
use rlbayes_worker::thread_chains::ThreadChains;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::watch;

/// What is to be searched, and with what.
pub(crate) struct Job {
    /// The table, score and constraints.
    pub(crate) problem: Arc<Problem>,
    /// What the session is told of the search.
    pub(crate) description: SearchDescription,
    /// Chains, seed, budget, pace.
    pub(crate) plan: SearchPlan,
    /// How many threads run the chains.
    pub(crate) threads: u32,
}

/// What an earlier run left, and where this one keeps its own.
#[derive(Default)]
pub(crate) struct Kept {
    /// The coordinator's state.
    pub(crate) state: Option<State>,
    /// Free-running chains that were checkpointed.
    pub(crate) chains: BTreeMap<ChainId, SavedChain>,
    /// Where rows and progress go.
    pub(crate) journal: Option<Journal>,
    /// Where chains go.
    pub(crate) folder: Option<ChainFolder>,
}

/// A search that has ended.
pub(crate) struct Outcome {
    /// The coordinator's state.
    pub(crate) state: State,
    /// Time spent searching.
    pub(crate) elapsed: Duration,
    /// Why it ended.
    pub(crate) stopped_by: StoppedBy,
}

/// How often a free-running chain reports without a record.
pub(crate) const EXCHANGE_EVERY: Duration = Duration::from_secs(2);
/// How often chains are checkpointed: a kill loses at most this.
pub(crate) const CHECKPOINT_EVERY: Duration = Duration::from_secs(2);
/// A free-running slice is this part of a round, so that records travel soon.
const SLICES_A_ROUND: u64 = 4;
/// How often the interrupt flag is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Returns how slices go in a search.
pub(crate) fn slice_settings(search: &SearchDescription) -> SliceSettings {
    let (pace, slice_evaluations) = if search.lockstep {
        (SlicePace::Lockstep, search.round_evaluations)
    } else {
        let every = search.exchange_every;
        let evaluations = (search.round_evaluations / SLICES_A_ROUND).max(1);
        (SlicePace::Free { every }, evaluations)
    };
    SliceSettings {
        pace,
        slice_evaluations,
        target: search.target,
    }
}

/// Runs a search until its budget is reached or `interrupt` is set.
pub(crate) fn run(
    job: &Job,
    kept: Kept,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Outcome, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| Failure::input(format!("cannot start the runtime: {error}")))?;
    let Kept {
        state,
        chains,
        journal,
        folder,
    } = kept;
    let state = state.unwrap_or_else(|| State::new(job.plan));
    // Chains count up from where this process takes them: to the coordinator it is a new one.
    let incarnation = Incarnation(1 + state.counters().evaluations);
    runtime.block_on(async {
        let halt = Arc::new(AtomicBool::new(false));
        let (event_loop, handle, published) = EventLoop::new(
            state,
            journal,
            Blocking::Thread,
            Arc::clone(&halt),
            observer,
        );
        let link = LocalLink {
            handle: handle.clone(),
            published,
            description: job.description.clone(),
        };
        let mut host = LocalHost {
            maker: ChainMaker {
                problem: Arc::clone(&job.problem),
                spec: job.description.spec,
                seed: job.description.seed,
                ladder: job.description.ladder,
            },
            threads: job.threads,
            halt,
            chains,
            folder,
            refused: false,
        };
        let settings = SessionSettings {
            incarnation,
            replaces: None,
            host: "here".to_owned(),
            threads: job.threads,
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            give_up_after: None,
            checkpoint_every: CHECKPOINT_EVERY,
        };
        let work = async {
            let done = session::run(&settings, &link, &mut host, std::future::pending()).await;
            if done.is_err() {
                // The loop has nobody to wait for; its answer changes nothing.
                let _ = handle.stop(StoppedBy::Interrupt).await;
            }
            done
        };
        let both = async {
            tokio::join!(
                event_loop.run(Until::Finished, std::future::pending()),
                work
            )
        };
        let interrupted = async {
            while !interrupt.load(Relaxed) {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            // An event loop that has just ended needs no word.
            let _ = handle.stop(StoppedBy::Interrupt).await;
            std::future::pending::<()>().await;
        };
        let (ended, done) = tokio::select! {
            both = both => both,
            () = interrupted => return Err(Failure::Bug("an interrupt has ended".into())),
        };
        done.map_err(|error| Failure::input(error.to_string()))?;
        let stopped_by = ended
            .state
            .stopped_by()
            .ok_or_else(|| Failure::Bug("the search ended without a reason".into()))?;
        Ok(Outcome {
            elapsed: ended.elapsed,
            stopped_by,
            state: ended.state,
        })
    })
}

/// The link inside a process.
struct LocalLink {
    handle: Handle,
    published: watch::Receiver<Published>,
    description: SearchDescription,
}

fn asked(error: AskError) -> LinkError {
    match error {
        AskError::Refused(refusal) => LinkError::JoinAgain(refusal.to_string()),
        error @ (AskError::NotStored(_) | AskError::Ending) => {
            LinkError::Unreachable(error.to_string())
        }
    }
}

impl Link for LocalLink {
    async fn join(&self, hello: &Hello) -> Result<Joined, LinkError> {
        let welcome: Welcome = self.handle.join(hello.clone()).await.map_err(asked)?;
        Ok(Joined {
            chains: welcome.orders.iter().map(|order| order.chain).collect(),
            welcome,
            search: self.description.clone(),
        })
    }

    async fn fetch_data(&self, _search: &SearchDescription) -> Result<Vec<u8>, LinkError> {
        Err(LinkError::Nonsense("the table is here".into()))
    }

    async fn store_chain(
        &self,
        _search: &SearchDescription,
        _exchange: &Exchange,
    ) -> Result<(), LinkError> {
        Ok(())
    }

    async fn fetch_chain(
        &self,
        _search: &SearchDescription,
        chain: ChainId,
        _digest: [u8; 32],
    ) -> Result<Snapshot, LinkError> {
        let stored = self.handle.fetch_chain(chain).await.map_err(asked)?;
        stored.ok_or_else(|| LinkError::Nonsense("the state is not stored".into()))
    }

    async fn exchange(
        &self,
        _search: &SearchDescription,
        exchange: Exchange,
    ) -> Result<Reply, LinkError> {
        self.handle.exchange(exchange).await.map_err(asked)
    }

    async fn leave(
        &self,
        _search: &SearchDescription,
        exchange: Exchange,
    ) -> Result<(), LinkError> {
        self.handle.leave(exchange).await.map_err(asked)
    }

    async fn nudged(&self) {
        let mut published = self.published.clone();
        let stopped = published.wait_for(|published| published.view.stopped_by.is_some());
        if stopped.await.is_err() {
            // The loop has ended; so will the session.
            std::future::pending().await
        }
    }

    fn least_pause(&self) -> Duration {
        Duration::ZERO
    }
}

/// Chains on the threads of this process.
struct LocalHost {
    maker: ChainMaker,
    threads: u32,
    halt: Arc<AtomicBool>,
    chains: BTreeMap<ChainId, SavedChain>,
    folder: Option<ChainFolder>,
    /// Whether the last write failed: said once, not at every checkpoint.
    refused: bool,
}

impl WorkerHost for LocalHost {
    type Chains = ThreadChains;

    async fn open(
        &mut self,
        _link: &impl Link,
        joined: &Joined,
        _tries: &mut RetryPolicy,
    ) -> Result<Option<(ChainMaker, ThreadChains)>, SessionError> {
        let settings = slice_settings(&joined.search);
        let threads = ThreadChains::start(
            self.threads,
            self.maker.clone(),
            settings,
            Arc::clone(&self.halt),
        )
        .map_err(|error| SessionError::Host(format!("cannot start a thread: {error}")))?;
        Ok(Some((self.maker.clone(), threads)))
    }

    fn checkpointed(&mut self, chain: ChainId) -> Option<SavedChain> {
        self.chains.remove(&chain)
    }

    fn holds(&self) -> (Vec<ChainId>, Option<SearchId>) {
        (Vec::new(), None)
    }

    fn keep(&mut self, chain: ChainId, snapshot: &Snapshot) {
        if let Some(folder) = &self.folder {
            keep_chain(folder, chain, snapshot, &mut self.refused);
        }
    }

    /// There are no others in this process.
    fn give_up(&mut self, _chain: ChainId) {}
}

/// Writes a chain; a disk that refuses is said once.
pub(crate) fn keep_chain(
    folder: &ChainFolder,
    chain: ChainId,
    snapshot: &Snapshot,
    refused: &mut bool,
) {
    match folder.write(chain, snapshot) {
        Ok(()) => *refused = false,
        Err(error) => {
            if !std::mem::replace(refused, true) {
                tracing::warn!(%error, "the state cannot be saved; the search goes on");
            }
        }
    }
}
