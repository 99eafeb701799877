//! The witness that sees all hosts at once: the history of what was acknowledged and shown, whose laws
//! are checked at the end, the events in their order, how sessions and the search ended.

use rlbayes::Replicate;
use rlbayes::coordination::{Event, State};
use rlbayes_common::elite::{EliteRow, Found};
use rlbayes_common::exchange::{
    ChainReport, Exchange, Hello, Pace, Reply, SearchDescription, Snapshot,
};
use rlbayes_common::ids::ChainId;
use rlbayes_common::score::LogScore;
use rlbayes_common::search::StoppedBy;
use rlbayes_coordinator::event_loop::Observer;
use rlbayes_tests::history::{Asked, Figures, Held, History, Outcome as Answered, Work};
use rlbayes_worker::grpc_link::GrpcLink;
use rlbayes_worker::link::{Joined, Link, LinkError};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What was seen so far; clones see the same.
#[derive(Clone, Default)]
pub(crate) struct Witness(Rc<RefCell<Seen>>);

#[derive(Default)]
struct Seen {
    broken: Vec<String>,
    history: History,
    stopped: bool,
    burden: Burden,
    trace: Vec<String>,
    sessions: BTreeMap<usize, StoppedBy>,
    outcome: Option<Outcome>,
    incarnations: u32,
}

/// What a search has cost its coordinator and its honest workers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Burden {
    /// The longest that an honest worker waited for the answer to an exchange, in simulated time.
    pub(crate) slowest: Duration,
    /// How often one was told that it does not take part any more.
    pub(crate) leases_lost: usize,
    /// The most chains that there were.
    pub(crate) chains: usize,
    /// The most bytes of the journal.
    pub(crate) journal_bytes: usize,
    /// By how much the memory of the whole simulation has grown: the coordinator, the network, all
    /// workers and peers.
    pub(crate) grown_bytes: u64,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) stopped_by: StoppedBy,
    pub(crate) rows: Vec<(ChainId, Found, EliteRow)>,
    pub(crate) overall: Vec<EliteRow>,
    pub(crate) round: u64,
    pub(crate) evaluations: u64,
    pub(crate) iterations: u64,
    pub(crate) replicates: BTreeMap<u32, Arc<Replicate>>,
}

impl Outcome {
    fn of(state: &State, stopped_by: StoppedBy) -> Self {
        let pool = state.pool();
        Self {
            stopped_by,
            rows: pool
                .rows_by_chain()
                .map(|(chain, found, row)| (chain, found, row.clone()))
                .collect(),
            overall: pool.overall().cloned().collect(),
            round: state.round().0,
            evaluations: state.counters().evaluations,
            iterations: state.counters().iterations,
            replicates: state.replicates().clone(),
        }
    }

    /// Returns what differs in another; none if they are the same.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let figures = |run: &Self| {
            format!(
                "{} in round {}, {} evaluations, {} iterations, {} rows",
                run.stopped_by,
                run.round,
                run.evaluations,
                run.iterations,
                run.rows.len()
            )
        };
        let mut rows = self.rows.iter().zip(&other.rows);
        let row = rows.find(|(one, other)| one != other);
        (self != other).then(|| format!("{}; {}; {row:?}", figures(self), figures(other)))
    }

    /// Returns whether a restart has left it as it was; free-running, late reports may have come.
    pub(crate) fn is_kept_in(&self, other: &Self) -> bool {
        (self.stopped_by, self.round) == (other.stopped_by, other.round)
            && other.best() >= self.best()
            && other.replicates == self.replicates
    }

    pub(crate) fn best(&self) -> Option<LogScore> {
        self.overall.iter().map(|row| row.score).max()
    }
}

impl Witness {
    /// Notes that a law was broken.
    pub(crate) fn broken(&self, law: impl Into<String>) {
        self.0.borrow_mut().broken.push(law.into());
    }

    /// Returns the laws that were broken.
    pub(crate) fn all_broken(&self) -> Vec<String> {
        self.0.borrow().broken.clone()
    }

    /// Returns where everybody records what was acknowledged and shown.
    pub(crate) fn history(&self) -> History {
        self.0.borrow().history.clone()
    }

    /// Changes what is known of the cost.
    pub(crate) fn weigh(&self, change: impl FnOnce(&mut Burden)) {
        change(&mut self.0.borrow_mut().burden);
    }

    pub(crate) fn burden(&self) -> Burden {
        self.0.borrow().burden
    }

    /// Somebody was shown that the search stops.
    pub(crate) fn shown_stop(&self) {
        self.0.borrow_mut().stopped = true;
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.0.borrow().stopped
    }

    /// A coordinator has what it has, after a restart or at the end.
    pub(crate) fn holds(&self, when: &str, state: &State) {
        let replicates = state.replicates().iter();
        let held = Held {
            figures: Figures::of_state(state),
            pool: state.pool().clone(),
            replicates: replicates
                .map(|(&number, it)| (number, it.structure.own_key()))
                .collect(),
        };
        self.history().note(when, Answered::Held(Box::new(held)));
    }

    /// A coordinator process has begun.
    pub(crate) fn coordinator_started(&self) {
        self.0.borrow_mut().incarnations += 1;
    }

    pub(crate) fn coordinator_incarnations(&self) -> u32 {
        self.0.borrow().incarnations
    }

    /// A worker process has begun.
    pub(crate) fn session_started(&self, worker: usize) {
        self.0.borrow_mut().sessions.remove(&worker);
    }

    /// A worker got the answer that the search is over.
    pub(crate) fn session_ended(&self, worker: usize, reason: StoppedBy) {
        self.0.borrow_mut().sessions.insert(worker, reason);
    }

    /// Returns how many workers know that the search is over.
    pub(crate) fn sessions_ended(&self) -> usize {
        self.0.borrow().sessions.len()
    }

    /// Returns how the search ended, and forgets it.
    pub(crate) fn take_outcome(&self) -> Option<Outcome> {
        self.0.borrow_mut().outcome.take()
    }

    pub(crate) fn has_outcome(&self) -> bool {
        self.0.borrow().outcome.is_some()
    }

    /// Returns each event that was applied, in order.
    pub(crate) fn trace(&self) -> Vec<String> {
        self.0.borrow().trace.clone()
    }
}

impl Observer for Witness {
    fn tick(&mut self, state: &State, _elapsed: Duration) {
        self.weigh(|burden| burden.chains = burden.chains.max(state.chain_count()));
        if state.is_finished()
            && !self.has_outcome()
            && let Some(reason) = state.stopped_by()
        {
            self.0.borrow_mut().outcome = Some(Outcome::of(state, reason));
        }
    }

    fn event(&mut self, now: Duration, event: &Event) {
        let event = match event {
            Event::Exchange(exchange) => format!("exchange {}", summary(exchange)),
            Event::Leave(exchange) => format!("leave {}", summary(exchange)),
            other => format!("{other:?}"),
        };
        let incarnations = self.coordinator_incarnations();
        let line = format!("incarnation {incarnations} at {now:?}: {event}");
        self.0.borrow_mut().trace.push(line);
    }
}

/// Returns all that an exchange brings, rows and states by their digests.
fn summary(exchange: &Exchange) -> String {
    let mut text = format!("{} {}", exchange.worker, exchange.incarnation);
    for report in &exchange.reports {
        let ChainReport {
            chain,
            sequence,
            finds,
            counters,
            wants_seeds,
            status,
            snapshot,
        } = report;
        let mut hasher = DefaultHasher::new();
        snapshot.as_ref().map(Snapshot::digest).hash(&mut hasher);
        for (found, row) in finds {
            (*found == Found::Best).hash(&mut hasher);
            row.score.value().to_bits().hash(&mut hasher);
            row.structure.own_key().0.hash(&mut hasher);
        }
        text += &format!(
            " [{chain} {sequence} {counters:?} {wants_seeds} {status:?} {:016x}]",
            hasher.finish()
        );
    }
    text
}

/// The link over gRPC, with a witness to what is acknowledged.
pub(crate) struct WitnessedLink {
    pub(crate) link: GrpcLink,
    pub(crate) witness: Witness,
}

fn work_of(search: &SearchDescription, exchange: &Exchange) -> Vec<Work> {
    Work::of(exchange, search.pace, search.replicates.is_some())
}

impl WitnessedLink {
    fn record(&self, what: &str, exchange: &Exchange, sent: Vec<Work>) -> Asked {
        let by = format!("{} {what} as {}", exchange.worker, exchange.incarnation);
        self.witness.history().send(by, sent)
    }
}

impl Link for WitnessedLink {
    async fn join(&self, hello: &Hello) -> Result<Joined, LinkError> {
        let asked = self.witness.history().ask(format!("{} joins", hello.host));
        let joined = self.link.join(hello).await?;
        asked.answered(Answered::Nothing);
        Ok(joined)
    }

    async fn fetch_data(&self, search: &SearchDescription) -> Result<Vec<u8>, LinkError> {
        self.link.fetch_data(search).await
    }

    async fn store_chain(
        &self,
        search: &SearchDescription,
        exchange: &Exchange,
    ) -> Result<(), LinkError> {
        self.link.store_chain(search, exchange).await
    }

    async fn fetch_chain(
        &self,
        search: &SearchDescription,
        chain: ChainId,
        digest: [u8; 32],
    ) -> Result<Snapshot, LinkError> {
        self.link.fetch_chain(search, chain, digest).await
    }

    async fn exchange(
        &self,
        search: &SearchDescription,
        exchange: Exchange,
    ) -> Result<Reply, LinkError> {
        let (pace, sent) = (search.pace, work_of(search, &exchange));
        let numbers: Vec<u64> = exchange.reports.iter().map(|it| it.sequence).collect();
        let asked = self.record("reports", &exchange, sent.clone());
        let begun = Instant::now();
        let reply = self.link.exchange(search, exchange).await;
        let (took, is_lost) = (
            begun.elapsed(),
            matches!(reply, Err(LinkError::JoinAgain(_))),
        );
        self.witness.weigh(|burden| {
            burden.slowest = burden.slowest.max(took);
            burden.leases_lost += usize::from(is_lost);
        });
        let reply = reply?;
        let taken = sent.into_iter().zip(numbers).filter_map(|(work, number)| {
            let mut answers = reply.answers.iter();
            let answer = answers.find(|it| (it.0, it.1) == (work.number(), number));
            work.acknowledged_by(answer.map(|(_, _, answer)| answer), pace)
        });
        asked.answered(Answered::Acknowledged(taken.collect()));
        Ok(reply)
    }

    async fn leave(&self, search: &SearchDescription, exchange: Exchange) -> Result<(), LinkError> {
        let sent = work_of(search, &exchange);
        let asked = self.record("leaves", &exchange, sent.clone());
        self.link.leave(search, exchange).await?;
        // In lockstep these are states of the end, no reports.
        let taken = match search.pace {
            Pace::Free => sent,
            Pace::Lockstep => Vec::new(),
        };
        asked.answered(Answered::Acknowledged(taken));
        Ok(())
    }

    async fn nudged(&self) {
        self.link.nudged().await;
    }

    fn least_pause(&self) -> Duration {
        self.link.least_pause()
    }
}
