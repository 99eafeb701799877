//! A search in one process: the coordinator's state machine and chain threads, joined by channels.
//! The only place that sees both worker and coordinator.

use crate::failure::Failure;
use rlbayes_common::elite::EliteRow;
use rlbayes_common::exchange::Answer;
use rlbayes_common::ids::{ChainId, Seed};
use rlbayes_common::search::{Chain, Problem, SavedChain, SearchSpec, StoppedBy};
use rlbayes_coordinator::state::{Command, Event, Pace, SearchPlan, State};
use rlbayes_worker::chain_thread::{self, Assignment, Mailbox, ThreadPace, ThreadSettings};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// What is to be searched, and with what.
pub(crate) struct Job {
    /// The table, score and constraints.
    pub(crate) problem: Arc<Problem>,
    /// The search.
    pub(crate) spec: SearchSpec,
    /// Chains, seed, budget, pace.
    pub(crate) plan: SearchPlan,
    /// How many threads run the chains.
    pub(crate) threads: u32,
    /// Evaluations of a chain in one round.
    pub(crate) round_evaluations: u64,
}

/// Where an earlier run ended.
pub(crate) struct Resumed {
    /// The coordinator's state.
    pub(crate) state: State,
    /// The chains that were stored.
    pub(crate) chains: BTreeMap<ChainId, SavedChain>,
    /// Time spent searching before.
    pub(crate) elapsed: Duration,
}

/// Who watches the search and keeps what it finds.
pub(crate) trait Observer {
    /// Rows changed the pool: they are kept before the chains hear of it.
    fn keep_rows(&mut self, _state: &State, _rows: &Command) {}
    /// A chain's state came in.
    fn keep_chain(&mut self, _chain: ChainId, _saved: &SavedChain) {}
    /// The best row improved.
    fn record(&mut self, _state: &State, _row: &EliteRow, _now: Duration) {}
    /// Time has passed.
    fn tick(&mut self, _state: &State, _now: Duration) {}
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

/// How often time is looked at.
const TICK: Duration = Duration::from_millis(50);
/// How often a free-running chain reports without a record.
const EXCHANGE_EVERY: Duration = Duration::from_secs(2);
/// A free-running slice is this part of a round, so that records travel soon.
const SLICES_A_ROUND: u64 = 4;

/// Runs a search until its budget is reached or `interrupt` is set.
pub(crate) fn run(
    job: &Job,
    resumed: Option<Resumed>,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Outcome, Failure> {
    let Resumed {
        state,
        chains,
        elapsed,
    } = resumed.unwrap_or_else(|| Resumed {
        state: State::new(job.plan),
        chains: BTreeMap::new(),
        elapsed: Duration::ZERO,
    });
    let begun = Instant::now();
    let clock = || elapsed + begun.elapsed();
    let halt = Arc::new(AtomicBool::new(false));
    let settings = thread_settings(job, &halt);
    let mut assignments = assign(job, &state, &chains);
    thread::scope(|scope| {
        let (reports_in, reports) = sync_channel(job.plan.chains as usize + 1);
        let mut post = Post::default();
        let mut threads = Vec::new();
        for (number, assignments) in assignments.drain(..).enumerate() {
            let (answers_in, answers) = sync_channel(2 * assignments.len() + 2);
            post.add(
                number,
                assignments.iter().map(|assignment| assignment.id),
                answers_in,
            );
            let mailbox = Mailbox {
                reports: reports_in.clone(),
                answers,
            };
            let settings = settings.clone();
            let spawned = thread::Builder::new()
                .name(format!("chains-{number}"))
                .spawn_scoped(scope, move || {
                    chain_thread::run(assignments, &settings, &mailbox)
                });
            match spawned {
                Ok(handle) => threads.push(handle),
                Err(error) => {
                    halt.store(true, Relaxed);
                    return Err(Failure::input(format!("cannot start a thread: {error}")));
                }
            }
        }
        drop(reports_in);
        let mut driver = Driver {
            state,
            post,
            halt: &halt,
            observer,
            finished: None,
        };
        driver.drive(&reports, interrupt, &clock);
        // Threads end with their mailboxes; what they still had is merged.
        drop(std::mem::take(&mut driver.post));
        drop(reports);
        for handle in threads {
            let last = handle
                .join()
                .map_err(|_| Failure::Bug("a chain panicked".into()))?;
            for (report, saved) in last {
                let chain = report.chain;
                let commands = driver.state.merge_late(clock(), report);
                driver.carry_out(commands, clock());
                driver.observer.keep_chain(chain, &saved);
            }
        }
        let stopped_by = driver
            .finished
            .or(driver.state.stopped_by())
            .ok_or_else(|| Failure::Bug("the search ended without a reason".into()))?;
        Ok(Outcome {
            state: driver.state,
            elapsed: clock(),
            stopped_by,
        })
    })
}

fn thread_settings(job: &Job, halt: &Arc<AtomicBool>) -> ThreadSettings {
    let (pace, slice_evaluations) = match job.plan.pace {
        Pace::Lockstep => (ThreadPace::Lockstep, job.round_evaluations),
        Pace::Free => (
            ThreadPace::Free {
                every: EXCHANGE_EVERY,
            },
            (job.round_evaluations / SLICES_A_ROUND).max(1),
        ),
    };
    let target = job.plan.budget.target;
    ThreadSettings {
        pace,
        slice_evaluations,
        target,
        halt: Arc::clone(halt),
    }
}

/// Prepares the chains and deals them out to the threads in turn.
fn assign(
    job: &Job,
    state: &State,
    stored: &BTreeMap<ChainId, SavedChain>,
) -> Vec<Vec<Assignment>> {
    let threads = job.threads.clamp(1, job.plan.chains) as usize;
    let mut dealt: Vec<Vec<Assignment>> = (0..threads).map(|_| Vec::new()).collect();
    for number in 0..job.plan.chains {
        let id = ChainId(number);
        let chain = prepare(job, id, stored.get(&id));
        let evaluations = state.evaluation_share(id);
        let iterations = state.iteration_share(id);
        dealt[number as usize % threads].push(Assignment {
            id,
            chain,
            evaluations,
            iterations,
        });
    }
    dealt
}

fn prepare(job: &Job, id: ChainId, stored: Option<&SavedChain>) -> Box<dyn Chain> {
    let chains = job.plan.chains;
    if let Some(saved) = stored {
        match job.spec.resume(&job.problem, id, chains, saved) {
            Ok(chain) => return chain,
            Err(error) => tracing::warn!(chain = %id, %error, "the chain starts anew"),
        }
    }
    let Seed(seed) = job.plan.seed;
    job.spec.start(&job.problem, id, chains, Seed(seed))
}

/// The ways back to the chain threads.
#[derive(Default)]
struct Post {
    thread_of: BTreeMap<ChainId, usize>,
    threads: Vec<SyncSender<(ChainId, Answer)>>,
}

impl Post {
    fn add(
        &mut self,
        thread: usize,
        chains: impl Iterator<Item = ChainId>,
        answers: SyncSender<(ChainId, Answer)>,
    ) {
        self.thread_of.extend(chains.map(|chain| (chain, thread)));
        self.threads.push(answers);
    }

    /// Sends an answer. A thread takes its answers between slices and each chain has one report
    /// out at a time, so there is room; a thread that has ended needs none.
    fn send(&self, chain: ChainId, answer: Answer) {
        if let Some(answers) = self
            .thread_of
            .get(&chain)
            .and_then(|&at| self.threads.get(at))
        {
            let _ = answers.send((chain, answer));
        }
    }
}

struct Driver<'a> {
    state: State,
    post: Post,
    halt: &'a AtomicBool,
    observer: &'a mut dyn Observer,
    finished: Option<StoppedBy>,
}

impl Driver<'_> {
    /// Feeds events to the state machine until the search is over.
    fn drive(
        &mut self,
        reports: &Receiver<rlbayes_common::exchange::ChainReport>,
        interrupt: &AtomicBool,
        clock: &dyn Fn() -> Duration,
    ) {
        let mut next_tick = clock();
        while self.finished.is_none() {
            let event = match reports.recv_timeout(TICK) {
                Ok(report) => Event::Report(Box::new(report)),
                Err(RecvTimeoutError::Timeout) => Event::Tick,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let now = clock();
            let commands = self.state.apply(now, event);
            self.carry_out(commands, now);
            if interrupt.load(Relaxed) {
                let commands = self.state.apply(now, Event::Stop(StoppedBy::Interrupt));
                self.carry_out(commands, now);
            }
            if now >= next_tick {
                next_tick = now + TICK;
                let commands = self.state.apply(now, Event::Tick);
                self.carry_out(commands, now);
                self.observer.tick(&self.state, now);
            }
        }
    }

    fn carry_out(&mut self, commands: Vec<Command>, now: Duration) {
        for command in commands {
            match command {
                Command::Journal(_) => self.observer.keep_rows(&self.state, &command),
                Command::SaveChain(chain, saved) => self.observer.keep_chain(chain, &saved),
                Command::Answer(chain, answer) => self.post.send(chain, answer),
                Command::Record(row) => {
                    tracing::info!(score = row.score.value(), at = now.as_secs_f64(), "record");
                    self.observer.record(&self.state, &row, now);
                }
                Command::Halt => self.halt.store(true, Relaxed),
                Command::Finished(reason) => self.finished = Some(reason),
            }
        }
    }
}
