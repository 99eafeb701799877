//! A search in one process: chain threads and the coordinator's state machine, driven by the calling
//! thread. No async runtime, no sockets: reports come over a channel, answers go back over another.

use crate::chains::{ChainFolder, ChainMaker, ChainThreads};
use crate::coordination::{Command, Event, State};
use crate::effects::{Effects, drop_stale_rows, everything, log_record};
use crate::journal::{Batch, Journal};
use crate::machine;
use crate::outcome::Outcome;
use crate::progress::{Progress, StopHandle};
use crate::proof::Proof;
use crate::request::{CHECKPOINT_EVERY, SearchRequest};
use crate::side_proof::SideProof;
use crate::state_folder::{self, StateFolderError};
use rlbayes_common::exchange::{Answer, ChainOrder, ChainReport, Exchange, Hello, Origin, Work};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::{ChainId, Incarnation, WorkerId};
use rlbayes_common::search::{SavedChain, StoppedBy};
use rlbayes_common::snapshot::decode_chain;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Why a search could not be run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The state folder can't be used.
    #[error(transparent)]
    StateFolder(#[from] StateFolderError),
    /// The operating system refuses a thread.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

/// Reports that wait at most: a free-running chain keeps its rows when there is no room, a lockstep
/// chain waits.
const MAILBOX: usize = 256;
/// How often time and the stop handle are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How often progress is shown if there is no new best.
const SHOW_EVERY: Duration = Duration::from_millis(100);
/// How often the journal is cleared of rows that the pool has dropped.
const CLEAR_EVERY: Duration = Duration::from_secs(10);

/// What goes with a run.
pub(crate) struct RunOptions<'a> {
    /// Where the search is kept, and resumed from.
    pub(crate) state: Option<&'a Path>,
    /// How it is stopped from outside.
    pub(crate) stop: StopHandle,
    /// Is called with the progress.
    pub(crate) watch: &'a mut dyn FnMut(&Progress),
    /// Is called for files that were set aside.
    pub(crate) warn: &'a mut dyn FnMut(String),
}

/// Runs a search until its budget is reached or it is stopped.
pub(crate) fn run(request: &SearchRequest, options: RunOptions<'_>) -> Result<Outcome, RunError> {
    let problem = request.problem();
    let plan = request.plan(options.state.is_some());
    let mut kept = match options.state {
        Some(folder) => state_folder::open(folder, request, options.warn)?,
        None => state_folder::Kept::default(),
    };
    let state = match kept.stored.take() {
        Some(stored) => State::recovered(plan, stored),
        None => State::new(plan),
    };
    if state.is_finished() {
        return Ok(Outcome::new(request, &problem, state, true));
    }
    let halt = Arc::new(AtomicBool::new(false));
    let (sender, reports) = sync_channel(MAILBOX);
    let maker = request.chain_maker(Arc::clone(&problem));
    let threads = ChainThreads::start(
        request.threads(),
        maker.clone(),
        request.slices(),
        Arc::clone(&halt),
        sender,
    )
    .map_err(RunError::Thread)?;
    let run = Run {
        request,
        earlier: state.spent(Duration::ZERO).time,
        earlier_cpu: state.spent(Duration::ZERO).cpu_time.unwrap_or_default(),
        // To the state machine this process is a new one: its chains count up from here.
        incarnation: Incarnation(1 + state.counters().evaluations),
        worker: WorkerId::default(),
        state,
        journal: kept.journal,
        folder: kept.folder,
        checkpoints: kept.chains,
        maker,
        threads,
        reports,
        halt,
        pending: Vec::new(),
        running: BTreeMap::new(),
        round_is_cut: false,
        unsaved: false,
        chain_unsaved: false,
        begun: Instant::now(),
        cpu_begun: machine::cpu_seconds(),
        cleared_at: Duration::ZERO,
        checkpoint_at: Duration::ZERO,
        shown_at: Duration::ZERO,
        prover: None,
        proof: None,
    };
    let (state, proof) = run.until_the_end(&options.stop, options.watch);
    Ok(Outcome::new(request, &problem, state, false).with_proof(proof))
}

/// A run under way.
struct Run<'a> {
    request: &'a SearchRequest,
    /// Time that earlier runs of the same state folder spent.
    earlier: Duration,
    /// Processor time that they spent.
    earlier_cpu: Duration,
    incarnation: Incarnation,
    worker: WorkerId,
    state: State,
    journal: Option<Journal>,
    folder: Option<ChainFolder>,
    /// Free-running chains as an earlier run left them.
    checkpoints: BTreeMap<ChainId, SavedChain>,
    maker: ChainMaker,
    threads: ChainThreads,
    reports: Receiver<ChainReport>,
    halt: Arc<AtomicBool>,
    /// Reports that were not handed to the state machine yet.
    pending: Vec<ChainReport>,
    /// The chains that run, and whether each was told to stop.
    running: BTreeMap<ChainId, bool>,
    /// Whether an interrupt has cut a lockstep round that is replayed when the search is resumed.
    round_is_cut: bool,
    /// Whether the last batch, or the last checkpoint, could not be written: logged once.
    unsaved: bool,
    chain_unsaved: bool,
    begun: Instant,
    /// Processor seconds of the process when the run began, where the system reports them.
    cpu_begun: Option<f64>,
    cleared_at: Duration,
    checkpoint_at: Duration,
    shown_at: Duration,
    /// The prover beside the chains, and what it has shown.
    prover: Option<SideProof>,
    proof: Option<Proof>,
}

impl Run<'_> {
    fn until_the_end(
        mut self,
        stop: &StopHandle,
        watch: &mut dyn FnMut(&Progress),
    ) -> (State, Option<Proof>) {
        if !self.earlier.is_zero() {
            watch(&self.progress(Duration::ZERO, false));
        }
        self.join();
        self.start_prover();
        let mut interrupted = false;
        loop {
            let is_open = self.wait_for_reports();
            let now = self.begun.elapsed();
            let mut commands = self.count_cpu_time(now);
            commands.extend(self.state.apply(now, Event::Tick));
            if stop.is_stopped() && !interrupted {
                interrupted = true;
                let is_replayed = self.request.is_deterministic() && self.journal.is_some();
                // A short round is finished; nothing resumes a search without a journal.
                if !is_replayed || self.state.can_replay_round() {
                    self.round_is_cut = is_replayed;
                    self.halt.store(true, Relaxed);
                }
                commands.extend(self.state.apply(now, Event::Stop(StoppedBy::Interrupt)));
                if self.round_is_cut {
                    self.carry_out(now, commands);
                    break;
                }
            }
            if self.is_proven() {
                // What is proven is the prover's network, which chains may not have found.
                commands.extend(self.take_from_prover(now));
                commands.extend(self.state.apply(now, Event::Stop(StoppedBy::Proven)));
            }
            let reported = self
                .is_exchange_due()
                .then(|| std::mem::take(&mut self.pending));
            let mut answered = Vec::new();
            if let Some(reports) = reported {
                answered = reports
                    .iter()
                    .map(|report| (report.chain, report.sequence))
                    .collect();
                let exchange = self.exchange(reports);
                commands.extend(self.state.apply(now, Event::Exchange(exchange)));
            }
            let improved = self.carry_out(now, commands);
            if improved && let (Some(prover), Some(best)) = (&self.prover, self.best_dag()) {
                prover.improved(best);
            }
            self.answer(&answered);
            if improved || now.saturating_sub(self.shown_at) >= SHOW_EVERY {
                self.shown_at = now;
                watch(&self.progress(now, improved));
            }
            if !is_open || self.is_over() {
                break;
            }
            self.ask_for_checkpoints(now);
        }
        if let Some(prover) = self.prover.take() {
            self.proof = prover.end();
        }
        self.leave();
        let now = self.begun.elapsed();
        watch(&self.progress(now, false));
        (self.state, self.proof)
    }

    /// Tells the state machine how much processor time the search has taken.
    fn count_cpu_time(&mut self, now: Duration) -> Vec<Command> {
        let (Some(begun), Some(seconds)) = (self.cpu_begun, machine::cpu_seconds()) else {
            return Vec::new();
        };
        let here = Duration::try_from_secs_f64(seconds - begun).unwrap_or_default();
        self.state
            .apply(now, Event::CpuTime(self.earlier_cpu + here))
    }

    fn progress(&self, now: Duration, improved: bool) -> Progress {
        let times = (now, self.earlier);
        Progress::of(&self.state, &self.maker.problem, times, improved)
    }

    /// Starts the prover where the search is to have one. A search can do without.
    fn start_prover(&mut self) {
        let start = self.best_dag();
        let start = start.unwrap_or_else(|| self.maker.problem.start().clone());
        match SideProof::start(self.request, &start) {
            Ok(prover) => self.prover = prover,
            Err(error) => tracing::warn!(%error, "there is no thread for the prover"),
        }
    }

    fn best_dag(&self) -> Option<Dag> {
        self.state
            .best()
            .and_then(|row| row.structure.to_dag().ok())
    }

    /// Returns whether the prover has just shown that no better network is possible.
    fn is_proven(&mut self) -> bool {
        let Some(proof) = self.prover.as_mut().and_then(SideProof::finished) else {
            return false;
        };
        self.prover = None;
        let is_proven = proof.is_proven();
        self.proof = Some(proof);
        is_proven
    }

    /// Hands over the prover's network where it is better than the one that it was given.
    fn take_from_prover(&mut self, now: Duration) -> Vec<Command> {
        match self.proof.as_ref().and_then(Proof::better_row) {
            Some(row) => self.state.apply(now, Event::Row(row)),
            None => Vec::new(),
        }
    }

    /// Enters this process as the one worker, and starts its chains.
    fn join(&mut self) {
        let hello = Hello {
            incarnation: self.incarnation,
            replaces: None,
            host: "here".to_owned(),
            threads: self.request.threads(),
            memory: None,
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            chains: Vec::new(),
            search: None,
            work: Work::Search,
            peer: None,
        };
        let commands = self.state.apply(Duration::ZERO, Event::Join(hello));
        self.carry_out(Duration::ZERO, commands);
        if let Ok(welcome) = self.state.welcome(self.incarnation) {
            self.worker = welcome.worker;
            self.start_chains(&welcome.orders);
        }
    }

    /// Waits a moment for reports; returns whether chain threads are still there.
    fn wait_for_reports(&mut self) -> bool {
        match self.reports.recv_timeout(LOOK_EVERY) {
            Ok(report) => self.note(report),
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        while let Ok(report) = self.reports.try_recv() {
            self.note(report);
        }
        true
    }

    /// Takes a report; the state of a free-running chain goes to disk.
    fn note(&mut self, mut report: ChainReport) {
        if !self.request.is_deterministic()
            && let Some(snapshot) = report.snapshot.take()
            && let Some(folder) = &self.folder
        {
            folder.keep(report.chain, &snapshot, &mut self.chain_unsaved);
        }
        self.pending.push(report);
    }

    /// In rounds, all chains' reports are handed over together.
    fn is_exchange_due(&self) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        let waited_for = self.running.values().filter(|&&stopped| !stopped).count();
        !self.request.is_deterministic() || self.pending.len() >= waited_for
    }

    fn exchange(&self, reports: Vec<ChainReport>) -> Exchange {
        Exchange {
            worker: self.worker,
            incarnation: self.incarnation,
            work: Work::Search,
            reports,
            statistics: self.threads.statistics(),
        }
    }

    /// Hands the state machine's answers to the chains.
    fn answer(&mut self, answered: &[(ChainId, u64)]) {
        if answered.is_empty() {
            return;
        }
        let reply = self.state.reply(self.worker, self.incarnation, answered);
        let Ok(reply) = reply else { return };
        for (chain, _, answer) in reply.answers {
            match &answer {
                Answer::Stop => {
                    self.running.insert(chain, true);
                }
                Answer::Revoke => {
                    self.running.remove(&chain);
                }
                Answer::Continue { .. } => {}
            }
            self.threads.answer(chain, answer);
        }
        self.start_chains(&reply.orders);
    }

    fn start_chains(&mut self, orders: &[ChainOrder]) {
        for order in orders {
            if self.running.contains_key(&order.chain) {
                continue;
            }
            let chain = match &order.origin {
                Origin::Stored { seeds, .. } => {
                    let nodes = self.maker.problem.nodes();
                    let stored = self.state.snapshot(order.chain);
                    match stored.map(|snapshot| decode_chain(snapshot.bytes(), nodes)) {
                        Some(Ok(saved)) => {
                            self.maker
                                .resume_or_start(order.chain, &saved, seeds.clone())
                        }
                        Some(Err(error)) => {
                            tracing::warn!(chain = %order.chain, %error, "the chain starts anew");
                            self.maker.start(order.chain, seeds.clone())
                        }
                        None => self.maker.start(order.chain, seeds.clone()),
                    }
                }
                Origin::Start | Origin::Pool(_) => match self.checkpoints.remove(&order.chain) {
                    Some(saved) => self.maker.resume_or_start(order.chain, &saved, None),
                    None => {
                        let seeds = match &order.origin {
                            Origin::Pool(seeds) => Some(seeds.clone()),
                            _ => None,
                        };
                        self.maker.start(order.chain, seeds)
                    }
                },
            };
            self.running.insert(order.chain, false);
            self.threads.run(chain, order);
        }
    }

    /// Stores what is to be stored and returns whether the best has improved.
    fn carry_out(&mut self, now: Duration, commands: Vec<Command>) -> bool {
        let mut effects = Effects::of(&self.state, now, commands);
        if effects.halt {
            self.halt.store(true, Relaxed);
        }
        if effects.batch.progress.is_some() && now.saturating_sub(self.cleared_at) >= CLEAR_EVERY {
            self.cleared_at = now;
            drop_stale_rows(&self.state, &mut effects.batch);
            tracing::info!(pool = self.state.pool().len(), "checkpoint");
        }
        self.store(now, effects.batch);
        for row in &effects.records {
            log_record(&self.state, now, row);
        }
        !effects.records.is_empty()
    }

    /// Writes a batch; one that follows a failed write is everything there is. A disk that refuses
    /// is logged once, and the search continues.
    fn store(&mut self, now: Duration, mut batch: Batch) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        if self.unsaved {
            batch = everything(&self.state, now);
        }
        match journal.write(self.state.plan().keying, &batch) {
            Ok(()) => {
                if std::mem::replace(&mut self.unsaved, false) {
                    tracing::info!("the journal can be written again");
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut self.unsaved, true) {
                    tracing::warn!(%error, "the state cannot be saved; the search continues");
                }
            }
        }
    }

    fn ask_for_checkpoints(&mut self, now: Duration) {
        if self.folder.is_some()
            && !self.request.is_deterministic()
            && now.saturating_sub(self.checkpoint_at) >= CHECKPOINT_EVERY
        {
            self.checkpoint_at = now;
            self.threads.want_snapshots();
        }
    }

    /// Returns whether chains have nothing left to do: the search is to end, and in rounds the round
    /// that the end came in is over.
    fn is_over(&self) -> bool {
        let all_stopped = self.running.values().all(|&stopped| stopped);
        self.state.stopped_by().is_some() && (!self.request.is_deterministic() || all_stopped)
    }

    /// Ends the chains and hands over their last reports.
    fn leave(&mut self) {
        let ended = self.threads.end();
        // Threads may still post; the channel closes with the last of them.
        while let Ok(report) = self.reports.recv() {
            self.note(report);
        }
        let mut last = std::mem::take(&mut self.pending);
        let mut cut = Vec::new();
        if self.round_is_cut {
            cut = std::mem::take(&mut last);
            cut.extend(ended.last_reports());
        } else if self.request.is_deterministic() {
            // Not reports of a round: the chains as they stand, for a run that continues later.
            last = ended.last_reports();
        } else {
            for report in ended.last_reports() {
                self.note(report);
            }
            last.append(&mut self.pending);
        }
        let now = self.begun.elapsed();
        let mut commands = self.count_cpu_time(now);
        commands.extend(self.take_from_prover(now));
        let exchange = self.exchange(last);
        commands.extend(self.state.apply(now, Event::Leave(exchange)));
        if self.state.stopped_by().is_none() {
            // Chain threads ended by themselves, which only a broken one does.
            commands.extend(self.state.apply(now, Event::Stop(StoppedBy::Interrupt)));
        }
        self.carry_out(now, commands);
        let batch = Batch {
            progress: Some(self.state.progress(now)),
            ..Batch::default()
        };
        self.store(now, batch);
        self.state.show_cut_round(now, cut);
    }
}
