//! What must hold, and the witness that sees all hosts at once: the best that was ever shown, the
//! rows that were ever acknowledged, the events in their order, how sessions and the search ended.

use rlbayes::Replicate;
use rlbayes::coordination::{Event, State, View};
use rlbayes_common::elite::{EliteRow, Found, Pool};
use rlbayes_common::exchange::{
    Answer, ChainCounters, ChainReport, Exchange, Hello, Pace, Reply, SearchDescription, Snapshot,
};
use rlbayes_common::ids::ChainId;
use rlbayes_common::score::LogScore;
use rlbayes_common::search::StoppedBy;
use rlbayes_coordinator::event_loop::Observer;
use rlbayes_tests::AcknowledgedRows;
use rlbayes_worker::grpc_link::GrpcLink;
use rlbayes_worker::link::{Joined, Link, LinkError};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// What was seen so far; clones see the same.
#[derive(Clone, Default)]
pub(crate) struct Witness(Rc<RefCell<Seen>>);

#[derive(Default)]
struct Seen {
    broken: Vec<String>,
    shown: Option<LogScore>,
    figures: Figures,
    stopped: bool,
    told_to_stop: bool,
    acknowledged: AcknowledgedRows,
    acknowledged_replicates: BTreeMap<u32, EliteRow>,
    trace: Vec<String>,
    sessions: BTreeMap<usize, StoppedBy>,
    outcome: Option<Outcome>,
    incarnations: u32,
}

/// The figures of a search that never go back, whatever is killed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    counters: ChainCounters,
    seeds_sent: u64,
    elapsed: Duration,
    replicates: usize,
}

impl Figures {
    pub(crate) fn shown_in(view: &View) -> Self {
        Self {
            counters: view.counters,
            seeds_sent: view.seeds_sent,
            elapsed: view.elapsed,
            replicates: view.replicates.as_ref().map_or(0, |shown| shown.done.len()),
        }
    }

    fn of(state: &State) -> Self {
        Self {
            counters: state.counters(),
            seeds_sent: state.seed_counts().0,
            elapsed: state.elapsed(Duration::ZERO),
            replicates: state.replicates().len(),
        }
    }

    fn all(self) -> impl Iterator<Item = u128> {
        let counters = self.counters.to_figures().into_iter().map(u128::from);
        counters.chain([
            u128::from(self.seeds_sent),
            self.elapsed.as_nanos(),
            self.replicates as u128,
        ])
    }

    /// Returns whether none of them is below one that was shown before.
    fn keeps(self, before: Self) -> bool {
        self.all().zip(before.all()).all(|(now, then)| now >= then)
    }
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

    /// Somebody was shown a best score: it never goes down.
    pub(crate) fn shown(&self, best: Option<LogScore>) {
        let before = self.0.borrow().shown;
        if best < before {
            self.broken(format!("the best went down from {before:?} to {best:?}"));
        }
        self.0.borrow_mut().shown = best.max(before);
    }

    /// Somebody was shown figures: none of them ever goes down.
    pub(crate) fn shown_figures(&self, figures: Figures) {
        self.check_figures("a status", figures);
        self.0.borrow_mut().figures = figures;
    }

    fn check_figures(&self, when: &str, figures: Figures) {
        let before = self.0.borrow().figures;
        if !figures.keeps(before) {
            self.broken(format!("{when}: {figures:?} after {before:?} was shown"));
        }
    }

    /// Somebody was shown that the search stops.
    pub(crate) fn shown_stop(&self) {
        self.0.borrow_mut().stopped = true;
    }

    /// A person got the answer that the search is stopped: no restart may forget it.
    pub(crate) fn told_to_stop(&self) {
        self.0.borrow_mut().told_to_stop = true;
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.0.borrow().stopped
    }

    /// Rows were acknowledged to a worker.
    fn acknowledged<'a>(&self, rows: impl Iterator<Item = &'a EliteRow>) {
        let known = &mut self.0.borrow_mut().acknowledged;
        rows.for_each(|row| known.add(row));
    }

    /// Work was acknowledged to a worker: rows of a search, or replicates.
    fn acknowledged_reports<'a>(
        &self,
        search: &SearchDescription,
        reports: impl Iterator<Item = &'a ChainReport>,
    ) {
        for report in reports {
            let rows = report.finds.iter().map(|(_, row)| row);
            match &search.replicates {
                None => self.acknowledged(rows),
                Some(_) => {
                    let known = &mut self.0.borrow_mut().acknowledged_replicates;
                    known.extend(rows.map(|row| (report.chain.0, row.clone())));
                }
            }
        }
    }

    /// The coordinator has what it had stored.
    pub(crate) fn check_restart(&self, state: &State) {
        if self.0.borrow().told_to_stop && state.stopped_by().is_none() {
            self.broken("a search that was stopped continues after a restart");
        }
        self.check_figures("after a restart", Figures::of(state));
        self.check_pool("after a restart", state.pool());
        let acknowledged = self.0.borrow().acknowledged_replicates.clone();
        for (number, row) in &acknowledged {
            let kept = state.replicates().get(number);
            if kept.is_none_or(|kept| kept.structure != row.structure) {
                self.broken(format!("after a restart replicate {number} is missing"));
            }
        }
    }

    /// The coordinator has a pool, after a restart or at the end: what was acknowledged and shown
    /// is in it, unless it is full of better rows.
    fn check_pool(&self, when: &str, pool: &Pool) {
        let best = pool.best().map(|row| row.score);
        let shown = self.0.borrow().shown;
        if best < shown {
            self.broken(format!("{when} the best is {best:?}, shown was {shown:?}"));
        }
        let missing = self.0.borrow().acknowledged.missing_from(pool).len();
        if missing > 0 {
            self.broken(format!("{when} {missing} acknowledged rows are missing"));
        }
    }

    pub(crate) fn acknowledged_rows(&self) -> usize {
        self.0.borrow().acknowledged.len()
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
        if state.is_finished()
            && !self.has_outcome()
            && let Some(reason) = state.stopped_by()
        {
            self.0.borrow_mut().outcome = Some(Outcome::of(state, reason));
            self.check_pool("at the end", state.pool());
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

impl Link for WitnessedLink {
    async fn join(&self, hello: &Hello) -> Result<Joined, LinkError> {
        self.link.join(hello).await
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
        let reports = exchange.reports.clone();
        let reply = self.link.exchange(search, exchange).await?;
        let taken = reports.iter().filter(|report| {
            // A lockstep report that is not of the round is dropped; the round is run again.
            search.pace == Pace::Free
                || reply.answers.iter().any(|(chain, sequence, answer)| {
                    (*chain, *sequence) == (report.chain, report.sequence)
                        && *answer != Answer::Revoke
                })
        });
        self.witness.acknowledged_reports(search, taken);
        Ok(reply)
    }

    async fn leave(&self, search: &SearchDescription, exchange: Exchange) -> Result<(), LinkError> {
        let reports = exchange.reports.clone();
        self.link.leave(search, exchange).await?;
        if search.pace == Pace::Free {
            self.witness.acknowledged_reports(search, reports.iter());
        }
        Ok(())
    }

    async fn nudged(&self) {
        self.link.nudged().await;
    }

    fn least_pause(&self) -> Duration {
        self.link.least_pause()
    }
}
