//! The line that shows people how a search is doing, on stderr.

use crate::units::{show_count, show_time};
use indicatif::{ProgressBar, ProgressStyle};
use rlbayes::Progress;
use std::time::Duration;

/// A line that shows how the search is doing; nothing where stderr is not a terminal or --quiet is on.
pub(crate) struct SearchBar {
    bar: ProgressBar,
    /// When the rate was measured last, and the evaluations by then.
    last: Option<(Duration, u64)>,
    rate: f64,
    shown: Duration,
}

/// How often the line changes.
const EVERY: Duration = Duration::from_millis(250);

impl SearchBar {
    /// Shows the line.
    pub(crate) fn new(visible: bool) -> Self {
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
            last: None,
            rate: 0.0,
            shown: Duration::ZERO,
        }
    }

    /// Renews the line.
    pub(crate) fn show(&mut self, progress: &Progress) {
        let now = progress.elapsed;
        if now.saturating_sub(self.shown) < EVERY {
            return;
        }
        self.shown = now;
        let (before, evaluations) = *self.last.get_or_insert((now, progress.evaluations));
        let seconds = now.saturating_sub(before).as_secs_f64();
        if seconds >= 1.0 {
            #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
            let done = progress.evaluations.saturating_sub(evaluations) as f64;
            self.rate = done / seconds;
            self.last = Some((now, progress.evaluations));
        }
        self.bar.set_message(self.line(progress));
        self.bar.tick();
    }

    fn line(&self, progress: &Progress) -> String {
        let now = progress.elapsed;
        let best = match progress.best_score {
            Some(score) => {
                let age = now.saturating_sub(progress.best_at);
                format!("best {score:.3} ({} ago)", show_time(age))
            }
            None => "climbing".to_owned(),
        };
        let left = match progress.time_left {
            Some(left) => format!("at most {} left", show_time(left)),
            None => format!("{} so far", show_time(now)),
        };
        let (rate, hits) = (show_count(self.rate), 100.0 * progress.cache_hit_rate);
        format!("{best} · {rate} evaluations/s · cache {hits:.1} % · {left}")
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
