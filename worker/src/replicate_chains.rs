//! The replicates of a worker on OS threads, as its session sees them: a replicate is a chain that
//! reports once, when it is done. Each thread holds one resampled table at a time.

use crate::chains::Chains;
use crate::state::Begin;
use rlbayes::machine::resident_bytes;
use rlbayes::{BootstrapRequest, Replicate, StopHandle};
use rlbayes_common::elite::{EliteRow, Found};
use rlbayes_common::exchange::{
    Answer, ChainCounters, ChainOrder, ChainReport, ChainStatus, WorkerStatistics,
};
use rlbayes_common::ids::ChainId;
use rlbayes_common::search::UnfitState;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use tokio::sync::mpsc;

/// Reports that wait for the session at most; threads wait for room.
const MAILBOX: usize = 64;

/// Replicates on threads, and the mailbox that their reports wait in.
#[derive(Debug)]
pub struct ReplicateChains {
    queue: Arc<Queue>,
    stop: StopHandle,
    threads: Vec<JoinHandle<()>>,
    reports: mpsc::Receiver<ChainReport>,
}

/// Replicates that no thread has begun. Bounded: a coordinator gives a thread few ahead.
#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The numbers of replicates and of their reports.
    orders: VecDeque<(ChainId, u64)>,
    is_over: bool,
}

impl ReplicateChains {
    /// Starts threads without replicates.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn start(request: BootstrapRequest) -> io::Result<Self> {
        let (sender, reports) = mpsc::channel(MAILBOX);
        let request = Arc::new(request);
        let mut chains = Self {
            queue: Arc::default(),
            stop: StopHandle::default(),
            threads: Vec::new(),
            reports,
        };
        for at in 0..request.threads() {
            let (request, queue) = (Arc::clone(&request), Arc::clone(&chains.queue));
            let (stop, sender) = (chains.stop.clone(), sender.clone());
            let work = move || work(&request, &queue, &stop, &sender);
            let thread = thread::Builder::new().name(format!("replicate-{at}"));
            chains.threads.push(thread.spawn(work)?);
        }
        Ok(chains)
    }

    fn stop(&self) {
        self.stop.stop();
        self.queue.lock().is_over = true;
        self.queue.changed.notify_all();
    }
}

impl Drop for ReplicateChains {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs replicates until it is told to end.
fn work(
    request: &BootstrapRequest,
    queue: &Queue,
    stop: &StopHandle,
    sender: &mpsc::Sender<ChainReport>,
) {
    while let Some((chain, sequence)) = queue.next() {
        let Some((replicate, counters)) = request.counted_replicate(chain.0, stop) else {
            return;
        };
        if sender
            .blocking_send(report(chain, sequence, replicate, counters))
            .is_err()
        {
            return;
        }
    }
}

/// Returns what a replicate that is done reports.
#[must_use]
pub fn report(
    chain: ChainId,
    sequence: u64,
    replicate: Replicate,
    counters: ChainCounters,
) -> ChainReport {
    let row = EliteRow {
        structure: replicate.structure,
        score: replicate.score,
    };
    ChainReport {
        chain,
        sequence,
        finds: vec![(Found::Best, row)],
        counters,
        wants_seeds: false,
        status: match replicate.finished {
            true => ChainStatus::Exhausted,
            false => ChainStatus::OutOfEvaluations,
        },
        snapshot: None,
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next replicate; none once it is over.
    fn next(&self) -> Option<(ChainId, u64)> {
        let mut waiting = self.lock();
        loop {
            if waiting.is_over {
                return None;
            }
            if let Some(order) = waiting.orders.pop_front() {
                return Some(order);
            }
            let woken = self.changed.wait(waiting);
            waiting = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Chains for ReplicateChains {
    fn run(&mut self, order: &ChainOrder, _begin: Begin) -> Result<(), UnfitState> {
        self.queue
            .lock()
            .orders
            .push_back((order.chain, order.sequence));
        self.queue.changed.notify_one();
        Ok(())
    }

    fn answer(&mut self, chain: ChainId, answer: Answer) {
        if !matches!(answer, Answer::Continue { .. }) {
            // Others do it, or have done it. One that runs is finished: its report is taken too.
            self.queue.lock().orders.retain(|&(id, _)| id != chain);
        }
    }

    fn want_snapshots(&mut self) {}

    fn tell_bests_again(&mut self) {}

    async fn next_report(&mut self) -> Option<ChainReport> {
        self.reports.recv().await
    }

    async fn end(&mut self) -> Vec<ChainReport> {
        self.stop();
        self.reports.close();
        let mut waiting = Vec::new();
        while let Some(report) = self.reports.recv().await {
            waiting.push(report);
        }
        let threads = std::mem::take(&mut self.threads);
        let joined = tokio::task::spawn_blocking(move || {
            for thread in threads {
                // One that has failed has nothing to report.
                let _ = thread.join();
            }
        });
        let _ = joined.await;
        waiting
    }

    fn statistics(&self) -> WorkerStatistics {
        WorkerStatistics {
            memory_bytes: resident_bytes(),
            ..WorkerStatistics::default()
        }
    }
}
