//! How a search is doing, for a caller that watches it, and how it is stopped from outside.

use crate::coordination::State;
use rlbayes_common::search::{Problem, Spent};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How a search is doing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Time spent searching, earlier runs of the same state folder included.
    pub elapsed: Duration,
    /// Of that, the time that earlier runs of the same state folder spent.
    pub earlier: Duration,
    /// The best score so far; none before the first network is scored.
    pub best_score: Option<f64>,
    /// When it was found, in time spent searching.
    pub best_at: Duration,
    /// Whether the best has improved since the last call.
    pub improved: bool,
    /// Local scores that were asked for, cached or not.
    pub evaluations: u64,
    /// Steps over all chains: episodes of the default algorithm.
    pub iterations: u64,
    /// How long the search may still take at most, as far as that is known.
    pub time_left: Option<Duration>,
    /// Networks in the elite pool.
    pub pool_size: usize,
    /// Share of the families that were found in the cache.
    pub cache_hit_rate: f64,
}

impl Progress {
    pub(crate) fn of(
        state: &State,
        problem: &Problem,
        (now, earlier): (Duration, Duration),
        improved: bool,
    ) -> Self {
        let spent: Spent = state.spent(now);
        let best_at = spent.best.map_or(Duration::ZERO, |(_, at, _)| at);
        let [_, vectors] = problem.cache_statistics();
        let lookups = vectors.hits + vectors.misses;
        #[expect(clippy::cast_precision_loss, reason = "a share for people's eyes")]
        let cache_hit_rate = vectors.hits as f64 / lookups.max(1) as f64;
        Self {
            elapsed: spent.time,
            earlier,
            best_score: spent.best.map(|(score, _, _)| score.value()),
            best_at,
            improved,
            evaluations: spent.evaluations,
            iterations: spent.iterations,
            time_left: state.plan().budget.time_left(&spent),
            pool_size: state.pool().len(),
            cache_hit_rate,
        }
    }
}

/// Stops a search from another thread. Clones stop the same search.
///
/// ```
/// let stop = rlbayes::StopHandle::default();
/// let elsewhere = stop.clone();
/// std::thread::spawn(move || elsewhere.stop()).join().unwrap();
/// assert!(stop.is_stopped());
/// ```
#[derive(Clone, Debug, Default)]
pub struct StopHandle(Arc<AtomicBool>);

impl StopHandle {
    /// Ends the search soon: everything is saved, and the outcome says that it was interrupted. A
    /// long round is cut, and replayed when the search is resumed.
    pub fn stop(&self) {
        self.0.store(true, Relaxed);
    }

    /// Returns whether the search was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.load(Relaxed)
    }
}

impl StopHandle {
    /// Returns the flag, for chains that end in the middle of a step.
    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }
}

impl From<Arc<AtomicBool>> for StopHandle {
    /// A flag that a signal handler sets.
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}
