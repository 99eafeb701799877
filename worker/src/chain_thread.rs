//! One OS thread that runs one or more chains: a slice of each in turn, a report, an answer. It
//! never touches a network or an async runtime; mailboxes are bounded channels.

use rlbayes_common::exchange::{Answer, ChainCounters, ChainReport, Standing};
use rlbayes_common::ids::ChainId;
use rlbayes_common::score::LogScore;
use rlbayes_common::search::{Chain, SavedChain, StepOutcome};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError};
use std::time::{Duration, Instant};

/// A chain and how far it may go.
pub struct Assignment {
    /// Which chain it is.
    pub id: ChainId,
    /// The chain.
    pub chain: Box<dyn Chain>,
    /// How many evaluations it may make in all.
    pub evaluations: u64,
    /// How many steps it may make in all.
    pub iterations: u64,
}

/// What all chain threads of a process have in common.
#[derive(Clone, Debug)]
pub struct ThreadSettings {
    /// Whether a chain waits for its answer.
    pub pace: ThreadPace,
    /// How many evaluations a slice has; the step under way is finished.
    pub slice_evaluations: u64,
    /// A score at which a slice ends.
    pub target: Option<LogScore>,
    /// Set when slices should end at their next step.
    pub halt: Arc<AtomicBool>,
}

/// Whether a chain waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadPace {
    /// Each slice is reported, and the next begins when the answers are there.
    Lockstep,
    /// Chains go on; reports leave after a record or when this time has passed, answers are taken
    /// when they come.
    Free {
        /// How long a chain may go on without a report.
        every: Duration,
    },
}

/// How soon after a report a record may cause the next one: at most twice a second.
const LEAST_PAUSE: Duration = Duration::from_millis(500);

/// How long a free-running thread without a chain to run sleeps between looks at its mailbox.
const IDLE: Duration = Duration::from_millis(20);

/// The thread's ends of the mailboxes.
pub struct Mailbox {
    /// Reports go out here; when it is full, a free-running chain keeps its rows until next time.
    pub reports: SyncSender<ChainReport>,
    /// Answers come in here.
    pub answers: Receiver<(ChainId, Answer)>,
}

struct Running {
    assignment: Assignment,
    snapshot: bool,
    standing: Standing,
    last_report: Option<Instant>,
    /// A lockstep chain whose report is out, or any chain that has been told to stop.
    stopped: bool,
}

/// Runs chains until they are told to stop, and returns their last states and reports.
pub fn run(
    assignments: Vec<Assignment>,
    settings: &ThreadSettings,
    mailbox: &Mailbox,
) -> Vec<(ChainReport, SavedChain)> {
    let mut chains: Vec<Running> = assignments.into_iter().map(Running::new).collect();
    match settings.pace {
        ThreadPace::Lockstep => run_rounds(&mut chains, settings, mailbox),
        ThreadPace::Free { every } => run_freely(&mut chains, settings, every, mailbox),
    }
    chains
        .iter_mut()
        .map(|chain| (chain.report(), chain.assignment.chain.save()))
        .collect()
}

fn run_rounds(chains: &mut [Running], settings: &ThreadSettings, mailbox: &Mailbox) {
    while chains.iter().any(|chain| !chain.stopped) {
        let mut awaited = 0;
        for chain in chains.iter_mut().filter(|chain| !chain.stopped) {
            chain.run_slice(settings);
            if mailbox.reports.send(chain.report()).is_err() {
                return;
            }
            awaited += 1;
        }
        for _ in 0..awaited {
            let Ok((id, answer)) = mailbox.answers.recv() else {
                return;
            };
            take_answer(chains, id, answer);
        }
    }
}

fn run_freely(
    chains: &mut [Running],
    settings: &ThreadSettings,
    every: Duration,
    mailbox: &Mailbox,
) {
    loop {
        let mut ran = false;
        for chain in chains.iter_mut().filter(|chain| !chain.stopped) {
            if chain.standing == Standing::Running {
                chain.run_slice(settings);
                ran = true;
            }
            if chain.is_report_due(every) {
                let report = chain.report();
                match mailbox.reports.try_send(report) {
                    Ok(()) => {}
                    Err(TrySendError::Full(report)) => chain.keep(report),
                    Err(TrySendError::Disconnected(_)) => return,
                }
            }
        }
        loop {
            match mailbox.answers.try_recv() {
                Ok((id, answer)) => take_answer(chains, id, answer),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        if chains.iter().all(|chain| chain.stopped) || settings.halt.load(Relaxed) {
            return;
        }
        if !ran {
            std::thread::sleep(IDLE);
        }
    }
}

fn take_answer(chains: &mut [Running], id: ChainId, answer: Answer) {
    let Some(chain) = chains.iter_mut().find(|chain| chain.assignment.id == id) else {
        return;
    };
    match answer {
        Answer::Stop => chain.stopped = true,
        Answer::Continue { seeds, snapshot } => {
            chain.snapshot = snapshot;
            if let Some(seeds) = seeds {
                chain.assignment.chain.give_seeds(seeds);
            }
        }
    }
}

impl Running {
    fn new(mut assignment: Assignment) -> Self {
        let limit = assignment.evaluations;
        assignment.chain.core_mut().evaluator.set_limit(limit);
        Self {
            assignment,
            snapshot: false,
            standing: Standing::Running,
            last_report: None,
            stopped: false,
        }
    }

    /// Steps until the slice's evaluations are made, the target or a limit is reached, or a halt.
    fn run_slice(&mut self, settings: &ThreadSettings) {
        let Assignment {
            chain, iterations, ..
        } = &mut self.assignment;
        let end = chain
            .core()
            .evaluator
            .evaluations()
            .saturating_add(settings.slice_evaluations);
        while chain.core().evaluator.evaluations() < end && !settings.halt.load(Relaxed) {
            if chain.core().iterations >= *iterations {
                self.standing = Standing::OutOfIterations;
                return;
            }
            match chain.step() {
                StepOutcome::Ran => {}
                StepOutcome::OutOfBudget => {
                    self.standing = Standing::OutOfEvaluations;
                    return;
                }
                StepOutcome::Exhausted => {
                    self.standing = Standing::Exhausted;
                    return;
                }
            }
            if let (Some(target), Some(best)) = (settings.target, chain.core().best())
                && best.score >= target
            {
                return;
            }
        }
        if chain.core().iterations >= *iterations {
            self.standing = Standing::OutOfIterations;
        }
    }

    fn is_report_due(&self, every: Duration) -> bool {
        let Some(last) = self.last_report else {
            return true;
        };
        let since = last.elapsed();
        let news = self.assignment.chain.core().has_record()
            || self.assignment.chain.wants_seeds()
            || self.standing != Standing::Running;
        since >= every || (news && since >= LEAST_PAUSE)
    }

    fn report(&mut self) -> ChainReport {
        self.last_report = Some(Instant::now());
        let chain = &mut self.assignment.chain;
        let finds = chain.core_mut().take_finds();
        let core = chain.core();
        let counters = ChainCounters {
            iterations: core.iterations,
            evaluations: core.evaluator.evaluations(),
            computed: core.evaluator.computed(),
            seeds: core.seeds,
        };
        let snapshot = std::mem::take(&mut self.snapshot).then(|| chain.save());
        ChainReport {
            chain: self.assignment.id,
            finds,
            counters,
            wants_seeds: chain.wants_seeds(),
            standing: self.standing,
            snapshot,
        }
    }

    /// Takes back a report that found the mailbox full: its rows go with the next one.
    fn keep(&mut self, report: ChainReport) {
        self.snapshot = report.snapshot.is_some();
        for (found, row) in report.finds {
            self.assignment.chain.core_mut().note_find(found, row);
        }
    }
}
