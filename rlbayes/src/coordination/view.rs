//! The status of a search: a value made from the state, which status, metrics and JSON show.

use super::State;
use crate::bootstrap::Replicate;
use rlbayes_common::elite::EliteRow;
use rlbayes_common::exchange::{ChainCounters, WorkerStatistics};
use rlbayes_common::ids::{Incarnation, Round, WorkerId};
use rlbayes_common::score::LogScore;
use rlbayes_common::search::StoppedBy;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What is shown of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Whether the search is waiting, running or finished.
    pub stage: Stage,
    /// The best row.
    pub best: Option<EliteRow>,
    /// How long ago it was found, in time spent searching.
    pub best_age: Duration,
    /// When it was found, in time spent searching.
    pub best_at: Duration,
    /// Time spent searching.
    pub elapsed: Duration,
    /// Processor time spent searching, as far as it is known.
    pub cpu_time: Option<Duration>,
    /// What all chains have done.
    pub counters: ChainCounters,
    /// How many chains there are.
    pub chains: usize,
    /// Rows of the pool.
    pub pool_size: usize,
    /// How different they are.
    pub diversity: f64,
    /// Rows sent to chains.
    pub seeds_sent: u64,
    /// Exchanges taken.
    pub exchanges: u64,
    /// Rows from workers that were refused.
    pub refused_rows: u64,
    /// Why the search ends, once it does.
    pub stopped_by: Option<StoppedBy>,
    /// How long it may still take, as far as that is known.
    pub time_left: Option<Duration>,
    /// How many evaluations are left, where they are limited.
    pub evaluations_left: Option<u64>,
    /// How many iterations are left, where they are limited.
    pub iterations_left: Option<u64>,
    /// The lockstep round under way.
    pub round: Round,
    /// The workers.
    pub workers: Vec<WorkerView>,
    /// The best score over time.
    pub curve: Vec<CurvePoint>,
    /// The replicates, where there are to be some.
    pub replicates: Option<ReplicateView>,
}

/// What is shown of replicates.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicateView {
    /// How many there are to be.
    pub of: u32,
    /// Those that are done.
    pub done: BTreeMap<u32, Arc<Replicate>>,
}

/// A point of the curve: a best score, and when it was reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Time spent searching.
    pub at: Duration,
    /// Evaluations made by all chains.
    pub evaluations: u64,
    /// The best score.
    pub score: LogScore,
}

/// Whether a search is waiting, running or finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// There are no workers.
    Waiting,
    /// Workers search.
    Running,
    /// The search is over.
    Finished,
}

/// What is shown of a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerView {
    /// Its number.
    pub id: WorkerId,
    /// Its process: known to the worker and its coordinator alone.
    pub incarnation: Incarnation,
    /// Where it runs.
    pub host: String,
    /// Its threads.
    pub threads: u32,
    /// Its chains.
    pub chains: usize,
    /// Recent evaluations per second.
    pub rate: f64,
    /// How long ago its last exchange was.
    pub last_exchange: Duration,
    /// Whether it is a member: it has joined, and was neither lost nor has it left.
    pub is_alive: bool,
    /// Its caches and memory.
    pub statistics: WorkerStatistics,
    /// Its program's version.
    pub program_version: String,
}

impl View {
    /// Returns whether a worker process is a member that runs chains; none: no such worker is known.
    #[must_use]
    pub fn runs_chains(&self, id: WorkerId, incarnation: Incarnation) -> Option<bool> {
        let at = self.workers.binary_search_by_key(&id, |worker| worker.id);
        let worker = self.workers.get(at.ok()?)?;
        let is_it = worker.is_alive && worker.incarnation == incarnation;
        Some(is_it && worker.chains > 0)
    }
}

impl Stage {
    /// Returns the name that scripts rely on.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Finished => "finished",
        }
    }
}

impl View {
    /// Returns recent evaluations per second of all workers.
    #[must_use]
    pub fn rate(&self) -> f64 {
        // Not `sum`: that of nothing is minus zero.
        let rates = self.workers.iter().map(|worker| worker.rate);
        rates.fold(0.0, |sum, rate| sum + rate)
    }
}

impl State {
    /// Returns the status. Computing the diversity takes long; frequent callers pass in the last one.
    #[must_use]
    pub fn view(&self, now: Duration, diversity: Option<f64>) -> View {
        let spent = self.spent(now);
        let best_at = self.record.as_ref().map_or(Duration::ZERO, |r| r.at);
        let mut held: BTreeMap<WorkerId, usize> = BTreeMap::new();
        for by in self.chains.values().filter_map(|chain| chain.held.as_ref()) {
            *held.entry(by.by).or_default() += 1;
        }
        View {
            stage: if self.is_finished() {
                Stage::Finished
            } else if self.members.alive().next().is_some() {
                Stage::Running
            } else {
                Stage::Waiting
            },
            best: self.best().cloned(),
            best_age: spent.time.saturating_sub(best_at),
            best_at,
            elapsed: spent.time,
            cpu_time: spent.cpu_time,
            counters: self.total,
            chains: self.doing.search_chains().unwrap_or(self.chains.len()),
            pool_size: self.pool.len(),
            diversity: diversity.unwrap_or_else(|| self.pool.diversity()),
            seeds_sent: self.seeds_sent,
            exchanges: self.exchanges,
            refused_rows: self.refused_rows,
            stopped_by: self.stopped_by(),
            time_left: self.plan.budget.time_left(&spent),
            evaluations_left: self.plan.budget.evaluations_left(&spent),
            iterations_left: self.plan.budget.iterations_left(&spent),
            round: self.rounds.round(),
            workers: self
                .members
                .all()
                .map(|(id, worker)| WorkerView {
                    id,
                    incarnation: worker.incarnation,
                    host: worker.host.clone(),
                    threads: worker.threads,
                    chains: held.get(&id).copied().unwrap_or(0),
                    rate: worker.rate(),
                    last_exchange: now.saturating_sub(worker.last_exchange),
                    is_alive: worker.is_alive,
                    statistics: worker.statistics,
                    program_version: worker.program_version.clone(),
                })
                .collect(),
            curve: self.curve.points(),
            replicates: self.replicate_view(),
        }
    }
}

/// Points of the curve that are kept; older ones are thinned out.
const CURVE_POINTS: usize = 512;

/// The best score over time, bounded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Curve(Vec<CurvePoint>);

impl Curve {
    pub(super) fn add(&mut self, point: CurvePoint) {
        if self.0.len() >= CURVE_POINTS {
            let mut number = 0;
            let last = self.0.len();
            self.0.retain(|_| {
                number += 1;
                number % 2 == 1 || number == last
            });
        }
        self.0.push(point);
    }

    pub(super) fn points(&self) -> Vec<CurvePoint> {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_ends_and_its_limit() {
        let mut curve = Curve::default();
        for at in 0..10_000u32 {
            curve.add(CurvePoint {
                at: Duration::from_secs(u64::from(at)),
                evaluations: 2 * u64::from(at),
                score: LogScore::new(f64::from(at)),
            });
        }
        let points = curve.points();
        assert!(points.len() <= CURVE_POINTS);
        assert_eq!(points[0].at, Duration::ZERO);
        let last = points[points.len() - 1];
        assert_eq!(last.at, Duration::from_secs(9999));
        assert_eq!(last.evaluations, 2 * 9999);
        assert!(points.is_sorted_by_key(|point| point.at));
    }
}
