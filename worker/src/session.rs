//! Drives a session's state machine ([`crate::state`]) over a link, a host and its chains: waits for
//! whatever comes first, hands it in, does what comes out. It decides nothing.

use crate::chains::Chains;
use crate::host::{Opened, WorkerHost};
use crate::link::{Joined, Link};
use crate::session_log::log;
use crate::state::{Action, Event, SessionState};
use rlbayes_common::exchange::{ChainReport, SearchDescription, WorkerStatistics};
use rlbayes_common::failpoint;
use std::collections::VecDeque;
use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::Arc;
use tokio::time::{Instant, sleep_until};
use tracing::{Instrument, Span};

pub use crate::state::{End, SessionError, SessionSettings};

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
    let clock = Instant::now();
    let mut state = SessionState::new(settings.clone(), link.least_pause(), host.held());
    let mut shell = Shell {
        link,
        host,
        shutdown: Once(Some(pin!(shutdown))),
        nudge: Once(Some(pin!(link.nudged()))),
        call: None,
        search: None,
        opened: None,
        chains_run: false,
        span: Span::none(),
    };
    loop {
        let due = state.next_due().map(|due| clock + due);
        let mut events = VecDeque::from([shell.next_event(due).await]);
        while let Some(event) = events.pop_front() {
            for action in state.apply(clock.elapsed(), event) {
                let span = shell.span.clone();
                match action {
                    Action::Finish(end) => return end,
                    action => events.extend(shell.perform(action).instrument(span).await),
                }
            }
        }
    }
}

/// A call to the coordinator, and what it will have brought.
type Call<'a> = Pin<Box<dyn Future<Output = Event> + 'a>>;

struct Shell<'a, L: Link, W: WorkerHost, S, N> {
    link: &'a L,
    host: &'a mut W,
    shutdown: Once<S>,
    nudge: Once<N>,
    /// The call under way: there is never more than one.
    call: Option<Call<'a>>,
    /// The search that was joined last.
    search: Option<Arc<SearchDescription>>,
    opened: Option<Opened<W::Chains>>,
    /// Whether chains may report.
    chains_run: bool,
    span: Span,
}

impl<'a, L, W, S, N> Shell<'a, L, W, Pin<&mut S>, Pin<&mut N>>
where
    L: Link,
    W: WorkerHost,
    S: Future<Output = ()>,
    N: Future<Output = ()>,
{
    /// Waits for what comes first. Nothing is lost where it is dropped: calls and futures that come
    /// once stay in place, and reports stay with the chains.
    async fn next_event(&mut self, due: Option<Instant>) -> Event {
        let opened = self.opened.as_mut().filter(|_| self.chains_run);
        tokio::select! {
            biased;
            () = self.shutdown.wait() => Event::Shutdown,
            event = returned(&mut self.call) => event,
            report = next_report(opened) => match report {
                Some(report) => Event::Report(report),
                None => {
                    self.chains_run = false;
                    Event::ChainsEnded
                }
            },
            () = self.nudge.wait() => Event::Nudge,
            () = passed(due) => Event::Tick,
        }
    }

    /// Does what the state machine wants; returns what has come of it, if that is known at once.
    async fn perform(&mut self, action: Action) -> Option<Event> {
        let link = self.link;
        match action {
            Action::Join(hello) => {
                if !self.chains_run {
                    failpoint::pass("worker-before-join");
                }
                self.begin(async move { Event::Joined(link.join(&hello).await.map(Box::new)) });
            }
            Action::Open(joined) => return Some(self.open(&joined).await),
            Action::Exchange(mut exchange) => {
                let search = self.search.clone()?;
                exchange.statistics = self.statistics();
                self.begin(async move {
                    failpoint::pass("worker-before-exchange");
                    if let Err(error) = link.store_chain(&search, &exchange).await {
                        return Event::Replied(Err(error));
                    }
                    failpoint::pass("worker-after-store-chain");
                    let reply = link.exchange(&search, exchange).await;
                    failpoint::pass("worker-after-exchange");
                    Event::Replied(reply)
                });
            }
            Action::Leave(mut exchange) => {
                let search = self.search.clone()?;
                exchange.statistics = self.statistics();
                self.begin(async move { Event::Left(link.leave(&search, exchange).await) });
            }
            Action::FetchChain(chain, digest) => {
                let search = self.search.clone()?;
                self.begin(async move {
                    let fetched = link.fetch_chain(&search, chain, digest).await;
                    failpoint::pass("worker-after-fetch-chain");
                    Event::ChainFetched(fetched)
                });
            }
            Action::CancelCall => self.call = None,
            Action::Run(order, begin) => {
                let run = self.opened.as_mut()?.chains.run(&order, begin);
                return run.err().map(|why| Event::StateUnfit(order.chain, why));
            }
            Action::Answer(chain, answer) => self.opened.as_mut()?.chains.answer(chain, answer),
            Action::WantSnapshots => self.opened.as_mut()?.chains.want_snapshots(),
            Action::TellBestsAgain => self.opened.as_mut()?.chains.tell_bests_again(),
            Action::EndChains => {
                self.chains_run = false;
                let last = self.opened.as_mut()?.chains.end().await;
                return Some(Event::LastReports(last));
            }
            Action::KeepCheckpoint(chain, snapshot) => self.host.keep_checkpoint(chain, &snapshot),
            Action::DropCheckpoint(chain) => self.host.drop_checkpoint(chain),
            Action::Log(event) => log(&event),
            Action::Finish(_) => {}
        }
        None
    }

    fn begin(&mut self, call: impl Future<Output = Event> + 'a) {
        self.call = Some(Box::pin(call.instrument(self.span.clone())));
    }

    /// Gets the host ready, unless the worker is to leave.
    async fn open(&mut self, joined: &Joined) -> Event {
        failpoint::pass("worker-after-join");
        self.search = Some(Arc::new(joined.search.clone()));
        let opened = tokio::select! {
            biased;
            () = self.shutdown.wait() => return Event::Shutdown,
            opened = self.host.open(self.link, joined) => opened,
        };
        Event::Opened(opened.map(|mut opened| {
            failpoint::pass("worker-after-fetch");
            let (search, worker) = (joined.search.id, joined.welcome.worker);
            self.span = tracing::info_span!("session", %search, %worker);
            let checkpoints = std::mem::take(&mut opened.checkpoints);
            self.opened = Some(opened);
            self.chains_run = true;
            checkpoints
        }))
    }

    fn statistics(&self) -> WorkerStatistics {
        let chains = self.opened.as_ref().map(|opened| &opened.chains);
        chains.map_or_else(WorkerStatistics::default, Chains::statistics)
    }
}

/// Something that comes once.
struct Once<F>(Option<F>);

impl<F: Future<Output = ()> + Unpin> Once<F> {
    async fn wait(&mut self) {
        match &mut self.0 {
            Some(coming) => coming.await,
            None => pending().await,
        }
        self.0 = None;
    }
}

async fn returned(call: &mut Option<Call<'_>>) -> Event {
    let event = match call {
        Some(call) => call.await,
        None => pending().await,
    };
    *call = None;
    event
}

async fn next_report<C: Chains>(opened: Option<&mut Opened<C>>) -> Option<ChainReport> {
    match opened {
        Some(opened) => opened.chains.next_report().await,
        None => pending().await,
    }
}

async fn passed(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests;
