//! What people see while a search runs and when it ends. All of it goes to stderr.

use crate::units::{show_count, show_time};
use indicatif::{ProgressBar, ProgressStyle};
use rlbayes::coordination::State;
use rlbayes_common::search::{Problem, Spent};
use rlbayes_coordinator::event_loop::Observer;
use std::sync::Arc;
use std::time::Duration;

/// A line that shows how the search goes; nothing where stderr is not a terminal or --quiet is on.
pub(crate) struct SearchBar {
    bar: ProgressBar,
    problem: Arc<Problem>,
    last: (Duration, u64),
    rate: f64,
    shown: Duration,
}

/// How often the line changes.
const EVERY: Duration = Duration::from_millis(250);

impl SearchBar {
    /// Shows the line.
    pub(crate) fn new(problem: Arc<Problem>, visible: bool, start: Duration) -> Self {
        let bar = if visible {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::hidden()
        };
        bar.set_style(
            ProgressStyle::with_template("{spinner} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        Self {
            bar,
            problem,
            last: (start, 0),
            rate: 0.0,
            shown: start,
        }
    }

    fn renew(&mut self, state: &State, now: Duration) {
        if now.saturating_sub(self.shown) < EVERY {
            return;
        }
        self.shown = now;
        let spent = spent_at(state, now);
        let (before, evaluations) = self.last;
        let seconds = now.saturating_sub(before).as_secs_f64();
        if seconds >= 1.0 {
            #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
            let done = spent.evaluations.saturating_sub(evaluations) as f64;
            self.rate = done / seconds;
            self.last = (now, spent.evaluations);
        }
        self.bar.set_message(self.line(state, now));
        self.bar.tick();
    }

    fn line(&self, state: &State, now: Duration) -> String {
        let spent = spent_at(state, now);
        let best = match spent.best {
            Some((score, at, _)) => {
                format!(
                    "best {score:.3} ({} ago)",
                    show_time(now.saturating_sub(at))
                )
            }
            None => "climbing".to_owned(),
        };
        let [_, vectors] = self.problem.cache_statistics();
        let asked = vectors.hits + vectors.misses;
        #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
        let hits = 100.0 * vectors.hits as f64 / asked.max(1) as f64;
        let left = match state.plan().budget.time_left(&spent) {
            Some(left) => format!("at most {} left", show_time(left)),
            None => format!("{} so far", show_time(now)),
        };
        let rate = show_count(self.rate);
        format!("{best} · {rate} evaluations/s · cache {hits:.1} % · {left}")
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Returns how far the search has come after a time spent searching.
fn spent_at(state: &State, elapsed: Duration) -> Spent {
    Spent {
        time: elapsed,
        ..state.spent(Duration::ZERO)
    }
}

impl Observer for SearchBar {
    fn tick(&mut self, state: &State, elapsed: Duration) {
        self.renew(state, elapsed);
    }
}

/// A bar over a number of runs of something.
pub(crate) fn bar_over(count: usize, visible: bool) -> ProgressBar {
    let bar = if visible {
        ProgressBar::new(count as u64)
    } else {
        ProgressBar::hidden()
    };
    bar.set_style(
        ProgressStyle::with_template("{bar:24} {pos}/{len} · {elapsed} · {eta} left · {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
