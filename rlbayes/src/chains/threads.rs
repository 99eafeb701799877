//! Chains on OS threads: a thread runs a slice of each of its chains in turn, posts their reports
//! and takes what comes back. It never touches a network or an async runtime; mailboxes are bounded
//! channels.

use super::maker::ChainMaker;
use super::running_chain::{RunningChain, SliceSettings};
use rlbayes_common::exchange::{Answer, ChainOrder, ChainReport, Pace, WorkerStatistics};
use rlbayes_common::ids::ChainId;
use rlbayes_common::search::Chain;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, TrySendError, channel,
};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Where chain threads post their reports: a bounded channel. When it is full, a free-running chain
/// keeps its rows until the next report; a lockstep chain waits.
pub trait ReportSink: Clone + Send + 'static {
    /// Posts a report, and waits for room; returns whether anybody is there to take it.
    fn post(&self, report: ChainReport) -> bool;

    /// Posts a report if there is room.
    ///
    /// # Errors
    /// The report comes back.
    fn try_post(&self, report: ChainReport) -> Result<(), NotPosted>;
}

/// A report that could not be posted.
#[derive(Debug)]
pub enum NotPosted {
    /// There is no room now.
    Full(Box<ChainReport>),
    /// Nobody takes reports any more.
    Closed(Box<ChainReport>),
}

impl ReportSink for SyncSender<ChainReport> {
    fn post(&self, report: ChainReport) -> bool {
        self.send(report).is_ok()
    }

    fn try_post(&self, report: ChainReport) -> Result<(), NotPosted> {
        self.try_send(report).map_err(|error| match error {
            TrySendError::Full(report) => NotPosted::Full(report.into()),
            TrySendError::Disconnected(report) => NotPosted::Closed(report.into()),
        })
    }
}

/// How long a free-running thread without a chain to run waits for a message before it looks whether
/// it should end.
const IDLE: Duration = Duration::from_millis(20);

/// The threads that run the chains of a process.
#[derive(Debug)]
pub struct ChainThreads {
    maker: ChainMaker,
    settings: SliceSettings,
    /// Set when slices should end where they are.
    halt: Arc<AtomicBool>,
    threads: Vec<Thread>,
    thread_of: BTreeMap<ChainId, usize>,
}

#[derive(Debug)]
struct Thread {
    orders: Option<Sender<Message>>,
    handle: Option<JoinHandle<Vec<ChainReport>>>,
    chains: usize,
}

/// What a thread is sent. Chains have at most one report out, so what waits here is bounded by the
/// number of chains.
enum Message {
    Run(Box<RunningChain>),
    Answer(ChainId, Answer),
    WantSnapshots,
    TellBestsAgain,
}

impl ChainThreads {
    /// Starts threads without chains; they post to `reports`, and drop it when they end.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn start(
        count: u32,
        maker: ChainMaker,
        settings: SliceSettings,
        halt: Arc<AtomicBool>,
        reports: impl ReportSink,
    ) -> io::Result<Self> {
        let mut threads = Vec::new();
        for number in 0..count.max(1) {
            let (orders, messages) = channel();
            let work = Work {
                chains: Vec::new(),
                messages,
                reports: reports.clone(),
                pace: settings.pace,
                exchange_every: settings.exchange_every,
                halt: Arc::clone(&halt),
                begun: Instant::now(),
            };
            let handle = thread::Builder::new()
                .name(format!("chains-{number}"))
                .spawn(move || work.run())?;
            threads.push(Thread {
                orders: Some(orders),
                handle: Some(handle),
                chains: 0,
            });
        }
        Ok(Self {
            maker,
            settings,
            halt,
            threads,
            thread_of: BTreeMap::new(),
        })
    }

    fn tell(&self, thread: usize, message: Message) {
        if let Some(orders) = self.threads.get(thread).and_then(|t| t.orders.as_ref()) {
            // A thread that has ended needs no orders; its end is seen when it is joined.
            let _ = orders.send(message);
        }
    }

    /// Runs a chain on the thread that has the fewest.
    pub fn run(&mut self, chain: Box<dyn Chain>, order: &ChainOrder) {
        let least = (0..self.threads.len()).min_by_key(|&at| self.threads[at].chains);
        let Some(thread) = least else { return };
        if let Some(before) = self.thread_of.insert(order.chain, thread) {
            // The same chain anew: the old one is dropped where it runs.
            self.tell(before, Message::Answer(order.chain, Answer::Revoke));
            self.threads[before].chains -= 1;
        }
        self.threads[thread].chains += 1;
        let chain = RunningChain::new(chain, order, self.settings).cut_by(Arc::clone(&self.halt));
        self.tell(thread, Message::Run(Box::new(chain)));
    }

    /// Hands an answer to a chain.
    pub fn answer(&mut self, chain: ChainId, answer: Answer) {
        let Some(&thread) = self.thread_of.get(&chain) else {
            return;
        };
        if answer == Answer::Revoke {
            self.thread_of.remove(&chain);
            self.threads[thread].chains -= 1;
        }
        self.tell(thread, Message::Answer(chain, answer));
    }

    /// Asks every chain for its state with its next report.
    pub fn want_snapshots(&mut self) {
        for thread in 0..self.threads.len() {
            self.tell(thread, Message::WantSnapshots);
        }
    }

    /// Has every chain report its best row again.
    pub fn tell_bests_again(&mut self) {
        for thread in 0..self.threads.len() {
            self.tell(thread, Message::TellBestsAgain);
        }
    }

    /// Tells all chains to end where they are. Whoever takes the reports must stop taking them
    /// or drain them until the threads have ended: one may wait for room.
    pub fn end(&mut self) -> Ended {
        self.halt.store(true, Relaxed);
        let mut handles = Vec::new();
        for thread in &mut self.threads {
            thread.orders = None;
            handles.extend(thread.handle.take());
        }
        Ended(handles)
    }

    /// Returns how the process is doing.
    #[must_use]
    pub fn statistics(&self) -> WorkerStatistics {
        self.maker.statistics()
    }
}

/// Threads that were told to end.
#[derive(Debug)]
pub struct Ended(Vec<JoinHandle<Vec<ChainReport>>>);

impl Ended {
    /// Waits for the threads and returns the last reports of their chains, with their states.
    #[must_use]
    pub fn last_reports(self) -> Vec<ChainReport> {
        let ended = self.0.into_iter().map(JoinHandle::join);
        ended.flat_map(Result::unwrap_or_default).collect()
    }
}

impl Drop for ChainThreads {
    fn drop(&mut self) {
        self.halt.store(true, Relaxed);
    }
}

/// What one thread does.
struct Work<S> {
    chains: Vec<RunningChain>,
    messages: Receiver<Message>,
    reports: S,
    pace: Pace,
    exchange_every: Duration,
    halt: Arc<AtomicBool>,
    begun: Instant,
}

impl<S: ReportSink> Work<S> {
    fn run(mut self) -> Vec<ChainReport> {
        while self.take_messages() {
            let most = self.longest_slice();
            for at in 0..self.chains.len() {
                if self.chains[at].is_ready() {
                    let chain = &mut self.chains[at];
                    let _span = tracing::debug_span!("slice", chain = %chain.id()).entered();
                    let begun = Instant::now();
                    chain.run_slice(&self.halt, || begun.elapsed() >= most);
                    let evaluations = chain.evaluations();
                    tracing::debug!(evaluations, took = ?begun.elapsed(), "a slice has ended");
                }
                if self.chains[at].is_report_due(self.begun.elapsed()) && !self.post(at) {
                    return self.last_reports();
                }
            }
            if self.pace != Pace::Lockstep && self.halt.load(Relaxed) {
                break;
            }
        }
        self.last_reports()
    }

    /// Returns how long a slice may take: once round all chains no longer than a report may wait.
    fn longest_slice(&self) -> Duration {
        match self.pace {
            Pace::Free => {
                let chains = u32::try_from(self.chains.len()).unwrap_or(u32::MAX);
                self.exchange_every / chains.max(1)
            }
            Pace::Lockstep => Duration::MAX,
        }
    }

    fn last_reports(&mut self) -> Vec<ChainReport> {
        self.chains
            .iter_mut()
            .map(RunningChain::last_report)
            .collect()
    }

    /// Posts a chain's report; returns whether anybody is there to take it.
    fn post(&mut self, at: usize) -> bool {
        let report = self.chains[at].report(self.begun.elapsed());
        if self.pace == Pace::Lockstep {
            return self.reports.post(report);
        }
        match self.reports.try_post(report) {
            Ok(()) => true,
            Err(NotPosted::Full(report)) => {
                self.chains[at].keep(*report);
                true
            }
            Err(NotPosted::Closed(report)) => {
                self.chains[at].keep(*report);
                false
            }
        }
    }

    /// Takes what has come; waits where there is nothing else to do. Returns whether to continue.
    fn take_messages(&mut self) -> bool {
        if !self.chains.iter().any(RunningChain::is_ready) {
            if self.pace == Pace::Lockstep {
                match self.messages.recv() {
                    Ok(message) => self.take(message),
                    Err(_) => return false,
                }
            } else {
                match self.messages.recv_timeout(IDLE) {
                    Ok(message) => self.take(message),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return false,
                }
            }
        }
        loop {
            match self.messages.try_recv() {
                Ok(message) => self.take(message),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Run(chain) => self.chains.push(*chain),
            Message::WantSnapshots => {
                for chain in &mut self.chains {
                    chain.want_snapshot();
                }
            }
            Message::TellBestsAgain => {
                for chain in &mut self.chains {
                    chain.tell_best_again();
                }
            }
            Message::Answer(id, answer) => {
                if let Some(at) = self.chains.iter().position(|chain| chain.id() == id)
                    && !self.chains[at].take(answer)
                {
                    let mut released = self.chains.remove(at);
                    if self.pace != Pace::Lockstep {
                        // The rows of its last steps; nobody takes them when the session ends.
                        let last = released.report(self.begun.elapsed());
                        let _ = self.reports.post(last);
                    }
                }
            }
        }
    }
}
