//! How runs are made: many over a few threads, each the same whatever the threads; single climbs;
//! and the clock that they are measured by.

use indicatif::ProgressBar;
use rlbayes::{SearchRequest, SearchSettings, machine};
use rlbayes_common::ids::{ChainId, Seed};
use rlbayes_common::search::baseline::HillClimbingParams;
use rlbayes_common::search::{SearchSpec, StepOutcome};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

/// Runs each item and returns the results in the items' order; what Ctrl-C left out is none.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    threads: u32,
    interrupt: &AtomicBool,
    bar: &ProgressBar,
    run: impl Fn(&T) -> Option<R> + Sync,
) -> Vec<Option<R>> {
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((item, place)) = {
            let at = next.fetch_add(1, Relaxed);
            items.get(at).zip(results.get(at))
        } {
            if interrupt.load(Relaxed) {
                return;
            }
            let result = run(item);
            if let Ok(mut place) = place.lock() {
                *place = result;
            }
            bar.inc(1);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    results
        .into_iter()
        .map(|result| result.into_inner().unwrap_or_default())
        .collect()
}

/// Reads a number of chains.
pub(crate) fn at_least_one() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

/// Returns the settings of one chain of hill climbing.
pub(crate) fn hill_climbing() -> SearchSettings {
    SearchSettings {
        algorithm: SearchSpec::HillClimbing(HillClimbingParams::default()),
        threads: Some(1),
        ..SearchSettings::default()
    }
}

/// What one climb from the network without edges took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Climb {
    /// Processor seconds; those of the clock where the system does not tell.
    pub(crate) seconds: f64,
    /// Local scores asked for.
    pub(crate) evaluations: u64,
    /// Local scores counted from the data.
    pub(crate) computed: u64,
    /// Edges of the network that it ended at.
    pub(crate) edges: usize,
}

/// Climbs to the first local optimum with empty caches; none if interrupted.
pub(crate) fn climb(request: &SearchRequest, interrupt: &AtomicBool) -> Option<Climb> {
    let problem = request.problem();
    let clock = ThreadClock::started();
    let seed = Seed(request.seed());
    let mut chain = request.algorithm().start(&problem, ChainId(0), 1, seed);
    while !chain.has_climbed() && chain.step() == StepOutcome::Ran {
        if interrupt.load(Relaxed) {
            return None;
        }
    }
    let seconds = clock.seconds();
    let core = chain.core();
    Some(Climb {
        seconds,
        evaluations: core.evaluator.evaluations(),
        computed: core.evaluator.computed(),
        edges: core.best().map_or(0, |row| row.structure.edges().count()),
    })
}

/// Counts the processor seconds of its thread, so that equal time is equal on a busy machine too;
/// those of the clock where the system does not tell.
pub(crate) struct ThreadClock {
    begun: Instant,
    processor: Option<f64>,
}

impl ThreadClock {
    /// Starts counting.
    pub(crate) fn started() -> Self {
        Self {
            begun: Instant::now(),
            processor: machine::thread_cpu_seconds(),
        }
    }

    /// Returns the seconds since the start.
    pub(crate) fn seconds(&self) -> f64 {
        let now = machine::thread_cpu_seconds();
        match self.processor.zip(now) {
            Some((begun, now)) => now - begun,
            None => self.begun.elapsed().as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<u64> = (0..50).collect();
        let bar = ProgressBar::hidden();
        let never = AtomicBool::new(false);
        let squares = in_parallel(&items, 4, &never, &bar, |&item| Some(item * item));
        assert!(
            squares
                .iter()
                .enumerate()
                .all(|(at, &square)| square == Some((at * at) as u64))
        );
        never.store(true, Relaxed);
        let none = in_parallel(&items, 2, &never, &bar, |&item| Some(item));
        assert!(none.iter().all(Option::is_none));
    }
}
