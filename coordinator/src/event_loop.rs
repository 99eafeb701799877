//! The one task that owns the state: takes requests, applies them as events, stores what must be
//! stored, and only then replies. Requests that arrive while the disk is busy form the next batch,
//! so one write acknowledges many (group commit).
//!
//! When the disk fails, no request is acknowledged: workers keep their rows and send them again, and
//! the next batch stores everything.

use crate::blocking::Blocking;
use rlbayes::coordination::{Command, Event, Pace, Refusal, State, View};
use rlbayes::effects::{Effects, drop_stale_rows, everything, log_record};
use rlbayes::journal::{Batch, Journal};
use rlbayes_common::elite::EliteRow;
use rlbayes_common::exchange::{ChainCounters, Exchange, Hello, Reply, Snapshot, Welcome};
use rlbayes_common::failpoint;
use rlbayes_common::ids::{ChainId, Incarnation, WorkerId};
use rlbayes_common::search::StoppedBy;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tracing::{Instrument, Span};

/// Maximum length of the request queue; further callers wait for a place.
pub const WAITING_REQUESTS: usize = 1024;
/// Maximum number of requests in one batch.
const BATCH: usize = 256;
/// How often the clock is checked.
const TICK: Duration = Duration::from_millis(50);
/// How long a lockstep exchange waits for its round's end before the worker has to ask again.
const HOLD: Duration = Duration::from_secs(2);
/// How often the view is updated while nothing but time changes, and its diversity.
const VIEW_EVERY: Duration = Duration::from_millis(200);
const DIVERSITY_EVERY: Duration = Duration::from_secs(1);
/// How often rows that the pool has dropped are removed from the journal.
const CLEAR_EVERY: Duration = Duration::from_secs(10);

/// A request to the coordinator.
#[derive(Debug)]
enum Request {
    Join(Hello, oneshot::Sender<Result<Welcome, AskError>>),
    Exchange(Exchange, oneshot::Sender<Result<Reply, AskError>>),
    Leave(Exchange, oneshot::Sender<Result<(), AskError>>),
    CheckHolder(
        (WorkerId, Incarnation),
        ChainId,
        oneshot::Sender<Result<(), AskError>>,
    ),
    FetchChain(ChainId, oneshot::Sender<Option<Snapshot>>),
    Stop(StoppedBy, oneshot::Sender<Result<(), AskError>>),
}

/// Why a request was not answered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AskError {
    /// The state refused it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Its content could not be stored: the caller should retry.
    #[error("the journal cannot be written: {0}")]
    NotStored(String),
    /// The coordinator is ending.
    #[error("the coordinator is ending")]
    Ending,
}

/// Sends requests to the event loop.
#[derive(Clone, Debug)]
pub struct Handle {
    requests: mpsc::Sender<Request>,
    refused_rows: Arc<AtomicU64>,
}

impl Handle {
    /// Enters a worker.
    ///
    /// # Errors
    /// If there are too many, or the coordinator is ending.
    pub async fn join(&self, hello: Hello) -> Result<Welcome, AskError> {
        self.ask(|reply| Request::Join(hello, reply)).await?
    }

    /// Takes reports; in lockstep the reply may wait for the round's end.
    ///
    /// # Errors
    /// If the worker does not take part, or what it brought could not be stored.
    pub async fn exchange(&self, exchange: Exchange) -> Result<Reply, AskError> {
        self.ask(|reply| Request::Exchange(exchange, reply)).await?
    }

    /// Takes the last reports of a worker.
    ///
    /// # Errors
    /// If what it brought could not be stored.
    pub async fn leave(&self, exchange: Exchange) -> Result<(), AskError> {
        self.ask(|reply| Request::Leave(exchange, reply)).await?
    }

    /// Checks whether a worker runs a chain.
    ///
    /// # Errors
    /// If it does not, or the coordinator is ending.
    pub async fn check_holder(
        &self,
        worker: (WorkerId, Incarnation),
        chain: ChainId,
    ) -> Result<(), AskError> {
        self.ask(|reply| Request::CheckHolder(worker, chain, reply))
            .await?
    }

    /// Returns a lockstep chain's stored state.
    ///
    /// # Errors
    /// If the coordinator is ending.
    pub async fn fetch_chain(&self, chain: ChainId) -> Result<Option<Snapshot>, AskError> {
        self.ask(|reply| Request::FetchChain(chain, reply)).await
    }

    /// Ends the search.
    ///
    /// # Errors
    /// If the coordinator is ending, or the end could not be stored: a restart would forget it.
    pub async fn stop(&self, reason: StoppedBy) -> Result<(), AskError> {
        self.ask(|reply| Request::Stop(reason, reply)).await?
    }

    /// Counts rows that were refused.
    pub(crate) fn count_refused(&self, rows: u32) {
        self.refused_rows.fetch_add(u64::from(rows), Relaxed);
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> Request,
    ) -> Result<T, AskError> {
        let (reply, answer) = oneshot::channel();
        self.requests
            .send(request(reply))
            .await
            .map_err(|_| AskError::Ending)?;
        answer.await.map_err(|_| AskError::Ending)
    }
}

/// Observes a search.
pub trait Observer {
    /// The best row improved, and is stored.
    fn record(&mut self, _state: &State, _row: &EliteRow, _elapsed: Duration) {}
    /// Time has passed.
    fn tick(&mut self, _state: &State, _elapsed: Duration) {}
    /// An event is about to be applied.
    fn event(&mut self, _now: Duration, _event: &Event) {}
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// What is published while the search runs.
#[derive(Clone, Debug)]
pub struct Published {
    /// The view as of the last stored batch.
    pub view: Arc<View>,
    /// The last error of the journal's disk, while it cannot be written.
    pub trouble: Option<String>,
}

/// The event loop, ready to run.
pub struct EventLoop<'a> {
    state: State,
    journal: Option<Journal>,
    /// Where the journal is written.
    writing: Blocking,
    observer: &'a mut dyn Observer,
    requests: mpsc::Receiver<Request>,
    /// As whoever checks rows has counted them.
    refused_rows: Arc<AtomicU64>,
    publish: watch::Sender<Published>,
    begun: Instant,
    waiting: Vec<Waiting>,
    /// Whether something that happened is not on disk.
    unsaved: bool,
    /// The figures that are on disk.
    stored: Figures,
    trouble: Option<String>,
    viewed_at: Duration,
    stop_published: bool,
    diversity: (Duration, f64),
    cleared_at: Duration,
}

/// What people are shown of the work done: it never goes back, so it is stored before.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figures {
    counters: ChainCounters,
    seeds_sent: u64,
    exchanges: u64,
    refused_rows: u64,
    elapsed: Duration,
}

impl Figures {
    fn of(state: &State, now: Duration) -> Self {
        Self {
            counters: state.counters(),
            seeds_sent: state.seed_counts().0,
            exchanges: state.exchanges(),
            refused_rows: state.refused_rows(),
            elapsed: state.elapsed(now),
        }
    }

    /// Returns whether they tell of more work: time goes by without it, workers exchange without it,
    /// and what is refused is none.
    fn tell_more_than(self, stored: Self) -> bool {
        (self.counters, self.seeds_sent) != (stored.counters, stored.seeds_sent)
    }
}

/// An exchange whose round is not over.
struct Waiting {
    worker: WorkerId,
    incarnation: Incarnation,
    asked: Vec<(ChainId, u64)>,
    until: Duration,
    reply: oneshot::Sender<Result<Reply, AskError>>,
}

/// A reply that goes out once its batch is stored.
enum Due {
    Join(Incarnation, oneshot::Sender<Result<Welcome, AskError>>),
    Exchange(Waiting),
    Refused(Refusal, oneshot::Sender<Result<Reply, AskError>>),
    Done(oneshot::Sender<Result<(), AskError>>),
    /// Rows were taken, counters were not.
    NotCounted(oneshot::Sender<Result<(), AskError>>),
}

/// How the loop ended.
#[derive(Debug)]
pub struct Ended {
    /// The state.
    pub state: State,
    /// Time spent searching.
    pub elapsed: Duration,
}

/// When the loop ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When it is finished and all workers were informed, or had enough time to ask.
    WorkersInformed,
    /// Only at shutdown: until then the result is served.
    Shutdown,
}

impl<'a> EventLoop<'a> {
    /// Prepares the loop, its handle, and what it publishes.
    #[must_use]
    pub fn new(
        state: State,
        journal: Option<Journal>,
        writing: Blocking,
        observer: &'a mut dyn Observer,
    ) -> (Self, Handle, watch::Receiver<Published>) {
        let (sender, requests) = mpsc::channel(WAITING_REQUESTS);
        let diversity = state.pool().diversity();
        let first = Published {
            view: Arc::new(state.view(Duration::ZERO, Some(diversity))),
            trouble: None,
        };
        let (publish, published) = watch::channel(first);
        let stored = Figures::of(&state, Duration::ZERO);
        let refused_rows = Arc::new(AtomicU64::new(state.refused_rows()));
        let handle = Handle {
            requests: sender,
            refused_rows: Arc::clone(&refused_rows),
        };
        let event_loop = Self {
            state,
            journal,
            writing,
            observer,
            requests,
            refused_rows,
            publish,
            begun: Instant::now(),
            waiting: Vec::new(),
            unsaved: false,
            stored,
            trouble: None,
            viewed_at: Duration::ZERO,
            stop_published: false,
            diversity: (Duration::ZERO, diversity),
            cleared_at: Duration::ZERO,
        };
        (event_loop, handle, published)
    }

    /// Runs until `shutdown` resolves, or until what `until` says.
    pub async fn run(mut self, until: Until, shutdown: impl Future<Output = ()>) -> Ended {
        let mut shutdown = pin!(shutdown);
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let first = tokio::select! {
                biased;
                () = &mut shutdown => break,
                request = self.requests.recv() => request,
                _ = ticks.tick() => None,
            };
            let mut batch: Vec<Request> = first.into_iter().collect();
            while batch.len() < BATCH
                && let Ok(request) = self.requests.try_recv()
            {
                batch.push(request);
            }
            let span = match self.state.plan().pace {
                Pace::Lockstep => tracing::info_span!("round", round = self.state.round().0),
                Pace::Free => Span::none(),
            };
            self.take(batch).instrument(span).await;
            let is_over = match until {
                Until::WorkersInformed => self.state.all_workers_informed(self.now()),
                Until::Shutdown => false,
            };
            if is_over && !self.unsaved {
                break;
            }
        }
        // Requests still in the queue are not answered; what was answered is stored.
        let now = self.now();
        let batch = Batch {
            progress: Some(self.state.progress(now)),
            ..Batch::default()
        };
        self.store(batch).await;
        self.publish_view(now);
        Ended {
            elapsed: self.state.elapsed(now),
            state: self.state,
        }
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    async fn take(&mut self, requests: Vec<Request>) {
        let now = self.now();
        let mut due = Vec::with_capacity(requests.len());
        let mut commands = self.apply(now, Event::Tick);
        let refused = self.refused_rows.load(Relaxed);
        if refused != self.state.refused_rows() {
            commands.extend(self.apply(now, Event::RefusedRows(refused)));
        }
        for request in requests {
            match request {
                Request::Join(hello, reply) => {
                    let incarnation = hello.incarnation;
                    commands.extend(self.apply(now, Event::Join(hello)));
                    due.push(Due::Join(incarnation, reply));
                }
                Request::Exchange(exchange, reply) => {
                    if let Err(refusal) = self.state.check(&exchange) {
                        due.push(Due::Refused(refusal, reply));
                        continue;
                    }
                    due.push(Due::Exchange(Waiting {
                        worker: exchange.worker,
                        incarnation: exchange.incarnation,
                        asked: exchange
                            .reports
                            .iter()
                            .map(|report| (report.chain, report.sequence))
                            .collect(),
                        // A worker that waits here must not lose its lease.
                        until: now + HOLD.min(self.state.plan().lease / 3),
                        reply,
                    }));
                    commands.extend(self.apply(now, Event::Exchange(exchange)));
                }
                Request::Leave(exchange, reply) => {
                    let counts = self.state.counts(&exchange);
                    commands.extend(self.apply(now, Event::Leave(exchange)));
                    due.push(match counts {
                        true => Due::Done(reply),
                        false => Due::NotCounted(reply),
                    });
                }
                Request::CheckHolder((worker, incarnation), chain, reply) => {
                    let checked = self.state.check_holder(worker, incarnation, chain);
                    let _ = reply.send(checked.map_err(AskError::Refused));
                }
                Request::FetchChain(chain, reply) => {
                    // A caller that is gone needs no answer.
                    let _ = reply.send(self.state.snapshot(chain).cloned());
                }
                Request::Stop(reason, reply) => {
                    commands.extend(self.apply(now, Event::Stop(reason)));
                    due.push(Due::Done(reply));
                }
            }
        }
        let Effects {
            mut batch, records, ..
        } = self.dispatch(now, commands);
        let figures = Figures::of(&self.state, now);
        // Whoever is answered and then asks for the status sees what was acknowledged.
        let is_news = !batch.is_empty() || self.unsaved || figures.tell_more_than(self.stored);
        let shows = is_news || self.is_view_due(now);
        if batch.progress.is_none() && shows && figures != self.stored {
            batch.progress = Some(self.state.progress(now));
        }
        let has_progress = batch.progress.is_some() || self.unsaved;
        self.store(batch).await;
        if has_progress && !self.unsaved {
            self.stored = figures;
        }
        failpoint::pass("coordinator-before-reply");
        if shows {
            self.publish_view(now);
        }
        self.reply(now, due);
        if !self.unsaved {
            for row in records {
                log_record(&self.state, now, &row);
                self.observer
                    .record(&self.state, &row, self.state.elapsed(now));
            }
        }
        self.observer.tick(&self.state, self.state.elapsed(now));
    }

    fn apply(&mut self, now: Duration, event: Event) -> Vec<Command> {
        self.observer.event(now, &event);
        self.state.apply(now, event)
    }

    /// Collects what to store and which records to report; logs the rest.
    fn dispatch(&mut self, now: Duration, commands: Vec<Command>) -> Effects {
        let mut effects = Effects::of(&self.state, now, commands);
        if effects.batch.progress.is_some() && now.saturating_sub(self.cleared_at) >= CLEAR_EVERY {
            self.cleared_at = now;
            drop_stale_rows(&self.state, &mut effects.batch);
            let pool = self.state.pool().len();
            tracing::info!(pool, diversity = self.diversity.1, "checkpoint");
        }
        effects
    }

    /// Stores a batch; after a failed write, everything there is.
    async fn store(&mut self, mut batch: Batch) {
        let Some(mut journal) = self.journal.take() else {
            return;
        };
        if self.unsaved {
            batch = everything(&self.state, self.now());
        }
        if batch.is_empty() {
            self.journal = Some(journal);
            return;
        }
        let keying = self.state.plan().keying;
        let write = move || {
            let written = journal.write(keying, &batch);
            (journal, written)
        };
        let (journal, written) = match self.writing {
            Blocking::Inline => write(),
            Blocking::Thread => match tokio::task::spawn_blocking(write).await {
                Ok(done) => done,
                Err(error) => {
                    tracing::error!(%error, "the journal's thread has failed");
                    self.unsaved = true;
                    return;
                }
            },
        };
        self.journal = Some(journal);
        match written {
            Ok(()) => {
                if self.unsaved {
                    tracing::info!("the journal can be written again");
                }
                self.unsaved = false;
                self.trouble = None;
            }
            Err(error) => {
                if !self.unsaved {
                    tracing::warn!(%error, "the state cannot be saved; the search continues");
                }
                self.unsaved = true;
                self.trouble = Some(error.to_string());
            }
        }
    }

    /// Sends the replies of a batch, and those of earlier batches whose round is over by now. Callers
    /// that are gone are ignored.
    fn reply(&mut self, now: Duration, due: Vec<Due>) {
        let refused = self
            .unsaved
            .then(|| AskError::NotStored(self.trouble.clone().unwrap_or_else(|| "unknown".into())));
        for due in due {
            match (due, &refused) {
                // The end is not stored: after a restart the search would continue.
                (Due::Join(_, reply), Some(error)) if self.state.stopped_by().is_some() => {
                    let _ = reply.send(Err(error.clone()));
                }
                (Due::Join(incarnation, reply), _) => {
                    let welcome = self.state.welcome(incarnation);
                    let _ = reply.send(welcome.map_err(AskError::Refused));
                }
                (Due::Refused(refusal, reply), _) => {
                    let _ = reply.send(Err(AskError::Refused(refusal)));
                }
                (Due::Done(reply), refused) => {
                    let _ = reply.send(refused.clone().map_or(Ok(()), Err));
                }
                (Due::NotCounted(reply), refused) => {
                    let unknown = AskError::Refused(Refusal::UnknownWorker);
                    let _ = reply.send(Err(refused.clone().unwrap_or(unknown)));
                }
                (Due::Exchange(waiting), None) => self.waiting.push(waiting),
                (Due::Exchange(waiting), Some(error)) => {
                    let _ = waiting.reply.send(Err(error.clone()));
                }
            }
        }
        if refused.is_some() {
            return;
        }
        let state = &self.state;
        for waiting in std::mem::take(&mut self.waiting) {
            let answered = state.is_answered(waiting.worker, &waiting.asked);
            // At the end every call is answered, or workers would ask for ever.
            if answered || waiting.until <= now || state.is_finished() {
                let reply = state.reply(waiting.worker, waiting.incarnation, &waiting.asked);
                let _ = waiting.reply.send(reply.map_err(AskError::Refused));
            } else if !waiting.reply.is_closed() {
                self.waiting.push(waiting);
            }
        }
    }

    /// Returns whether nobody was shown yet that the search is to end.
    fn stop_is_news(&self) -> bool {
        self.state.stopped_by().is_some() && !self.stop_published
    }

    fn is_view_due(&self, now: Duration) -> bool {
        self.stop_is_news() || now.saturating_sub(self.viewed_at) >= VIEW_EVERY
    }

    /// Publishes the view: never more than is on disk.
    fn publish_view(&mut self, now: Duration) {
        let stops = self.stop_is_news();
        self.viewed_at = now;
        if self.unsaved {
            let trouble = self.trouble.clone();
            self.publish
                .send_modify(|published| published.trouble = trouble);
            return;
        }
        self.stop_published |= stops;
        let is_over = self.state.is_finished();
        if is_over || now.saturating_sub(self.diversity.0) >= DIVERSITY_EVERY {
            self.diversity = (now, self.state.pool().diversity());
        }
        let view = Arc::new(self.state.view(now, Some(self.diversity.1)));
        self.publish.send_replace(Published {
            view,
            trouble: None,
        });
    }
}

#[cfg(test)]
mod tests;
