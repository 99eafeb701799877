//! The session of a worker: joins, runs the chains that it is ordered, exchanges, re-joins, drains.
//! Chains go on searching while the coordinator is away; what they find is kept and sent later.

use crate::backoff;
use crate::chains::Chains;
use crate::host::WorkerHost;
use crate::link::{Joined, Link, LinkError};
use crate::outbox::Outbox;
use crate::retry::RetryPolicy;
use rlbayes::chains::ChainMaker;
use rlbayes_common::exchange::{
    Answer, ChainOrder, ChainReport, Exchange, Hello, Origin, Pace, Reply, RunSequence,
    SearchDescription, Welcome,
};
use rlbayes_common::failpoint;
use rlbayes_common::ids::{ChainId, Incarnation, WorkerId};
use rlbayes_common::search::StoppedBy;
use rlbayes_common::snapshot::decode_chain;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;
use thiserror::Error;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::Instrument;

/// How a worker behaves.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// Drawn afresh for this process, never 0.
    pub incarnation: Incarnation,
    /// What the same worker was before a restart.
    pub replaces: Option<Incarnation>,
    /// Where it runs.
    pub host: String,
    /// How many threads it has.
    pub threads: u32,
    /// The program's version.
    pub program_version: String,
    /// How long it tries to reach the coordinator in vain; none: for ever.
    pub give_up_after: Option<Duration>,
    /// How often free-running chains are checkpointed.
    pub checkpoint_every: Duration,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The search is over.
    Finished(StoppedBy),
    /// The worker was told to go.
    Drained,
}

/// Why a session could not go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SessionError {
    /// The coordinator was out of reach for too long.
    #[error("gave up: {0}")]
    GaveUp(String),
    /// Token or certificate were refused.
    #[error("{0}")]
    Refused(String),
    /// The protocols differ.
    #[error("{0}")]
    Protocol(String),
    /// The search can't be run here.
    #[error("{0}")]
    Host(String),
}

/// How long the last report may take.
const LAST_CALL: Duration = Duration::from_secs(5);

/// Runs a worker until the search is over or `shutdown` comes.
///
/// # Errors
/// If the coordinator is out of reach for too long, refuses the worker, or speaks another protocol.
pub async fn run<L: Link, W: WorkerHost>(
    settings: &SessionSettings,
    link: &L,
    host: &mut W,
    shutdown: impl Future<Output = ()>,
) -> Result<End, SessionError> {
    let mut shutdown = pin!(shutdown);
    let mut tries = RetryPolicy::new(settings);
    loop {
        let (chains, search) = host.holds();
        let hello = hello(settings, chains, search);
        failpoint::pass("worker-before-join");
        let joined = tokio::select! {
            biased;
            () = &mut shutdown => return Ok(End::Drained),
            joined = join(link, &hello, &mut tries) => joined?,
        };
        if let Some(reason) = joined.welcome.stopped_by {
            return Ok(End::Finished(reason));
        }
        failpoint::pass("worker-after-join");
        let opened = tokio::select! {
            biased;
            () = &mut shutdown => {
                let _ = timeout(LAST_CALL, link.leave(&joined.search, empty(settings, joined.welcome.worker))).await;
                return Ok(End::Drained);
            }
            opened = host.open(link, &joined, &mut tries) => opened?,
        };
        let Some((maker, chains)) = opened else {
            continue;
        };
        failpoint::pass("worker-after-fetch");
        let mut session = Session {
            settings,
            link,
            host: &mut *host,
            search: joined.search,
            maker,
            chains,
            worker: joined.welcome.worker,
            lease: joined.welcome.lease,
            running: BTreeMap::new(),
            outbox: Outbox::default(),
            tries: &mut tries,
            last_exchange: Instant::now(),
            last_checkpoint: Instant::now(),
            in_a_hurry: false,
            is_unknown: false,
            chains_ended: false,
            runs: BTreeMap::new(),
        };
        let span =
            tracing::info_span!("session", search = %session.search.id, worker = %session.worker);
        session.give_up_others(&joined.chains);
        let work = session.work(joined.welcome.orders, shutdown.as_mut());
        if let Some(end) = work.instrument(span).await? {
            return Ok(end);
        }
    }
}

fn hello(
    settings: &SessionSettings,
    chains: Vec<ChainId>,
    search: Option<rlbayes_common::ids::SearchId>,
) -> Hello {
    Hello {
        incarnation: settings.incarnation,
        replaces: settings.replaces,
        host: settings.host.clone(),
        threads: settings.threads,
        program_version: settings.program_version.clone(),
        chains,
        search,
    }
}

fn empty(settings: &SessionSettings, worker: WorkerId) -> Exchange {
    Exchange {
        worker,
        incarnation: settings.incarnation,
        reports: Vec::new(),
        statistics: Default::default(),
    }
}

/// Joins, for as long as it takes.
async fn join<L: Link>(
    link: &L,
    hello: &Hello,
    tries: &mut RetryPolicy,
) -> Result<Joined, SessionError> {
    loop {
        match link.join(hello).await {
            Ok(joined) => {
                tries.succeeded();
                return Ok(joined);
            }
            Err(error) => sleep(tries.failed(error)?).await,
        }
    }
}

struct Session<'a, L: Link, W: WorkerHost> {
    settings: &'a SessionSettings,
    link: &'a L,
    host: &'a mut W,
    search: SearchDescription,
    maker: ChainMaker,
    chains: W::Chains,
    worker: WorkerId,
    lease: Duration,
    /// The chains that run here.
    running: BTreeMap<ChainId, Run>,
    outbox: Outbox,
    tries: &'a mut RetryPolicy,
    last_exchange: Instant,
    last_checkpoint: Instant,
    /// Whether the next exchange should not wait.
    in_a_hurry: bool,
    /// Whether the coordinator does not know the worker, which joins again before it exchanges.
    is_unknown: bool,
    chains_ended: bool,
    /// How many runs each chain has had in this process.
    runs: BTreeMap<ChainId, u64>,
}

/// A chain that runs here.
struct Run {
    /// Lockstep: the round that it is in.
    round: u64,
    /// Whether it was told to stop.
    stopped: bool,
}

/// What a call to the coordinator has brought.
enum Heard {
    Reply(Reply),
    Joined(Box<Joined>),
}

type Call<'a> = Pin<Box<dyn Future<Output = Result<Heard, LinkError>> + 'a>>;

impl<L: Link, W: WorkerHost> Session<'_, L, W> {
    /// Works until the end; none if the coordinator has another search by now.
    async fn work(
        &mut self,
        mut orders: Vec<ChainOrder>,
        mut shutdown: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<Option<End>, SessionError> {
        let (link, search) = (self.link, self.search.clone());
        let mut call: Option<Call<'_>> = None;
        let mut not_before = Instant::now();
        let mut nudge = pin!(link.nudged());
        let mut nudged = false;
        loop {
            // States may have to be fetched for them.
            tokio::select! {
                biased;
                () = &mut shutdown => {
                    self.drain(&search).await;
                    return Ok(Some(End::Drained));
                }
                () = self.take_orders(std::mem::take(&mut orders)) => {}
            }
            let due = self.exchange_due().max(not_before);
            let checkpoint_due = self.last_checkpoint + self.settings.checkpoint_every;
            tokio::select! {
                biased;
                () = &mut shutdown => {
                    drop(call);
                    self.drain(&search).await;
                    return Ok(Some(End::Drained));
                }
                heard = async { match call.as_mut() { Some(call) => call.await, None => std::future::pending().await } } => {
                    call = None;
                    let is_told = heard.is_ok();
                    let next = match heard {
                        Ok(heard) => {
                            self.tries.succeeded();
                            match heard {
                                Heard::Reply(reply) => self.take_reply(reply),
                                Heard::Joined(joined) => self.take_welcome(*joined),
                            }
                        }
                        Err(LinkError::JoinAgain(_)) => {
                            self.is_unknown = true;
                            self.in_a_hurry = true;
                            Next::Orders(Vec::new())
                        }
                        Err(error) => match self.tries.failed(error) {
                            Ok(delay) => {
                                not_before = Instant::now() + delay;
                                Next::Orders(Vec::new())
                            }
                            Err(error) => {
                                self.checkpoint_all().await;
                                return Err(error);
                            }
                        },
                    };
                    match next {
                        Next::Orders(ordered) => orders = ordered,
                        Next::AnotherSearch => {
                            self.chains.end().await;
                            return Ok(None);
                        }
                        Next::Over(reason) => {
                            self.finish(&search).await;
                            return Ok(Some(End::Finished(reason)));
                        }
                    }
                    if self.chains_ended && is_told {
                        return Err(SessionError::Host("the chains have ended".into()));
                    }
                }
                report = self.chains.next_report(), if !self.chains_ended => match report {
                    Some(report) => self.note(report),
                    // They were halted: the coordinator knows why.
                    None => {
                        self.chains_ended = true;
                        self.in_a_hurry = true;
                    }
                },
                () = &mut nudge, if !nudged => {
                    nudged = true;
                    self.in_a_hurry = true;
                }
                () = sleep_until(due), if call.is_none() => {
                    self.last_exchange = Instant::now();
                    self.in_a_hurry = false;
                    let search = &search;
                    call = Some(if self.is_unknown {
                        let running = self.running.keys().copied().collect();
                        let hello = hello(self.settings, running, Some(search.id));
                        Box::pin(async move {
                            let joined = link.join(&hello).await?;
                            Ok(Heard::Joined(Box::new(joined)))
                        })
                    } else {
                        let exchange = self.make_exchange();
                        Box::pin(async move {
                            failpoint::pass("worker-before-exchange");
                            link.store_chain(search, &exchange).await?;
                            failpoint::pass("worker-after-store-chain");
                            let reply = link.exchange(search, exchange).await;
                            failpoint::pass("worker-after-exchange");
                            Ok(Heard::Reply(reply?))
                        })
                    });
                }
                () = sleep_until(checkpoint_due), if self.search.pace == Pace::Free => {
                    self.last_checkpoint = Instant::now();
                    self.chains.want_snapshots();
                }
            }
        }
    }

    /// Returns when the next exchange should begin.
    fn exchange_due(&self) -> Instant {
        if self.in_a_hurry {
            return self.last_exchange;
        }
        let sign_of_life = self.last_exchange + self.lease / 3;
        if self.search.pace == Pace::Lockstep {
            // One exchange a round: it waits for the others, so all reports should be in it.
            let complete = self
                .running
                .iter()
                .all(|(&chain, run)| run.stopped || self.outbox.has(chain));
            return if complete && !self.outbox.is_empty() {
                self.last_exchange
            } else {
                sign_of_life
            };
        }
        let pause = if self.outbox.has_news() {
            self.link.least_pause()
        } else {
            self.search.exchange_every
        };
        sign_of_life.min(self.last_exchange + pause)
    }

    /// Keeps a report until it is acknowledged.
    fn note(&mut self, mut report: ChainReport) {
        if self.search.pace == Pace::Lockstep && !self.running.contains_key(&report.chain) {
            // Another worker replays the round.
            return;
        }
        if self.search.pace == Pace::Free
            && let Some(snapshot) = report.snapshot.take()
            && self.running.contains_key(&report.chain)
        {
            self.host.keep(report.chain, &snapshot);
        }
        self.outbox.put(report);
    }

    fn make_exchange(&mut self) -> Exchange {
        let reports = self.outbox.fill_message();
        self.exchange_of(reports)
    }

    fn exchange_of(&self, reports: Vec<ChainReport>) -> Exchange {
        Exchange {
            worker: self.worker,
            incarnation: self.settings.incarnation,
            reports,
            statistics: self.chains.statistics(),
        }
    }

    fn take_reply(&mut self, reply: Reply) -> Next {
        self.lease = reply.lease.max(Duration::from_millis(1));
        for (chain, sequence, answer) in reply.answers {
            if !self.outbox.acknowledge(chain, sequence) && self.search.pace == Pace::Lockstep {
                // An answer to a report that was answered before.
                continue;
            }
            match &answer {
                Answer::Revoke => {
                    self.running.remove(&chain);
                    self.host.give_up(chain);
                    // What the chain had to say since is still sent: its rows are worth the same.
                    if self.search.pace == Pace::Lockstep {
                        self.outbox.drop_chain(chain);
                    }
                }
                Answer::Continue { .. } => {
                    if let Some(run) = self.running.get_mut(&chain) {
                        run.round = sequence + 1;
                    }
                }
                Answer::Stop => {
                    if let Some(run) = self.running.get_mut(&chain) {
                        run.stopped = true;
                    }
                }
            }
            self.chains.answer(chain, answer);
        }
        if let Some(reason) = reply.stopped_by {
            // In lockstep the round that others wait for is finished first.
            let in_a_round =
                self.search.pace == Pace::Lockstep && self.running.values().any(|run| !run.stopped);
            if !in_a_round {
                return Next::Over(reason);
            }
        }
        Next::Orders(reply.orders)
    }

    /// Runs chains as ordered; those that run already go on, unless they are in another round.
    async fn take_orders(&mut self, orders: Vec<ChainOrder>) {
        for mut order in orders {
            let runs = self.running.get(&order.chain);
            // One that was told to stop is begun anew: the coordinator has forgotten its end.
            let goes_on = runs.is_some_and(|run| {
                !run.stopped && (self.search.pace == Pace::Free || run.round == order.sequence)
            });
            if goes_on {
                continue;
            }
            let chain = match &order.origin {
                Origin::Stored { digest, seeds } => {
                    let fetched = self
                        .link
                        .fetch_chain(&self.search, order.chain, *digest)
                        .await;
                    failpoint::pass("worker-after-fetch-chain");
                    let nodes = self.maker.problem.nodes();
                    match fetched.map(|snapshot| decode_chain(snapshot.bytes(), nodes)) {
                        Ok(Ok(saved)) => self.maker.resume(order.chain, &saved, seeds.clone()),
                        Ok(Err(error)) => {
                            tracing::warn!(chain = %order.chain, %error, "the state cannot be read");
                            continue;
                        }
                        // The order comes again with the next reply.
                        Err(error) => {
                            tracing::warn!(chain = %order.chain, %error, "the state cannot be fetched");
                            continue;
                        }
                    }
                }
                Origin::Start | Origin::Pool(_) => match self.host.checkpointed(order.chain) {
                    Some(saved) => {
                        tracing::info!(chain = %order.chain, "a chain goes on from its checkpoint");
                        self.maker.resume(order.chain, &saved, None)
                    }
                    None => {
                        let seeds = match &order.origin {
                            Origin::Pool(seeds) => Some(seeds.clone()),
                            _ => None,
                        };
                        self.maker.start(order.chain, seeds)
                    }
                },
            };
            if self.search.pace == Pace::Lockstep {
                self.outbox.drop_chain(order.chain);
            } else {
                let runs = self.runs.entry(order.chain).or_default();
                order.sequence = RunSequence::first(*runs);
                *runs += 1;
            }
            let round = order.sequence;
            self.running.insert(
                order.chain,
                Run {
                    round,
                    stopped: false,
                },
            );
            self.chains.run(chain, &order);
        }
    }

    /// Gives up the chains of before a restart that others run by now.
    fn give_up_others(&mut self, ordered: &[ChainId]) {
        let (kept, _) = self.host.holds();
        for chain in kept {
            if !ordered.contains(&chain) {
                self.host.give_up(chain);
            }
        }
    }

    /// Takes part again under the same incarnation: the chains that run here become those that are
    /// ordered, and each tells its best row again. A coordinator that has lost its state has no
    /// other way to it.
    fn take_welcome(&mut self, joined: Joined) -> Next {
        let Joined {
            welcome,
            chains,
            search,
        } = joined;
        if let Some(reason) = welcome.stopped_by {
            return Next::Over(reason);
        }
        if search.id != self.search.id {
            tracing::info!(search = %search.id, "the coordinator has another search");
            return Next::AnotherSearch;
        }
        let Welcome {
            worker,
            lease,
            orders,
            ..
        } = welcome;
        tracing::info!(%worker, "joined again");
        self.is_unknown = false;
        self.worker = worker;
        self.lease = lease.max(Duration::from_millis(1));
        let gone: Vec<ChainId> = self
            .running
            .keys()
            .filter(|chain| !chains.contains(chain))
            .copied()
            .collect();
        for chain in gone {
            self.running.remove(&chain);
            self.host.give_up(chain);
            // What it had to say is still sent: it is worth the same, whoever runs the chain.
            if self.search.pace == Pace::Lockstep {
                self.outbox.drop_chain(chain);
            }
            self.chains.answer(chain, Answer::Revoke);
        }
        self.chains.tell_bests_again();
        Next::Orders(orders)
    }

    /// The worker goes before the search is over.
    async fn drain(&mut self, search: &SearchDescription) {
        let last = self.chains.end().await;
        if self.search.pace == Pace::Lockstep {
            // A round that was cut short is replayed by another worker.
            self.outbox.clear();
        } else {
            last.into_iter().for_each(|report| self.note(report));
        }
        self.leave(search).await;
    }

    /// The search is over.
    async fn finish(&mut self, search: &SearchDescription) {
        let last = self.chains.end().await;
        if self.search.pace == Pace::Lockstep {
            self.outbox.clear();
        }
        last.into_iter().for_each(|report| self.note(report));
        self.leave(search).await;
    }

    /// Gives all chains back with the last reports; where they don't fit one message, exchanges
    /// bring the first of them.
    async fn leave(&mut self, search: &SearchDescription) {
        loop {
            // In lockstep the states of the end, which are no reports of a round.
            let exchange = match self.search.pace == Pace::Lockstep {
                true => self.exchange_of(self.outbox.reports().cloned().collect()),
                false => self.make_exchange(),
            };
            let is_last = exchange.reports.len() == self.outbox.len();
            let last_call = async {
                let mut attempt = 0;
                loop {
                    let sent = match is_last {
                        true => self.link.leave(search, exchange.clone()).await,
                        false => {
                            let reply = self.link.exchange(search, exchange.clone()).await;
                            reply.map(|_| ())
                        }
                    };
                    match sent {
                        Ok(()) => return,
                        // A coordinator that was started again; it has taken the rows.
                        Err(LinkError::JoinAgain(_)) if !is_last => return,
                        Err(error) => {
                            tracing::debug!(%error, "the last report did not arrive");
                            sleep(backoff::delay(attempt, 0)).await;
                            attempt += 1;
                        }
                    }
                }
            };
            if timeout(LAST_CALL, last_call).await.is_err() {
                tracing::warn!("the coordinator did not take the last report");
                return;
            }
            if is_last {
                return;
            }
            for report in exchange.reports {
                self.outbox.drop_chain(report.chain);
            }
        }
    }

    /// Keeps all chains where nothing else can be done.
    async fn checkpoint_all(&mut self) {
        for report in self.chains.end().await {
            if let Some(snapshot) = &report.snapshot
                && self.search.pace == Pace::Free
            {
                self.host.keep(report.chain, snapshot);
            }
        }
    }
}

/// What the coordinator's words have led to.
enum Next {
    Orders(Vec<ChainOrder>),
    AnotherSearch,
    Over(StoppedBy),
}

#[cfg(test)]
mod tests;
