//! The line that shows people how a search is doing, on stderr.

use crate::status_line::StatusLine;
use crate::terminal::Messages;
use crate::units::{show_count, show_time};
use rlbayes::Progress;
use std::time::Duration;

/// A line that shows how the search is doing; nothing where stderr is not a terminal or --quiet is on.
pub(crate) struct SearchBar {
    line: StatusLine,
    /// When the rate was measured last, and the evaluations by then.
    last: Option<(Duration, u64)>,
    rate: f64,
    shown: Duration,
    messages: Messages,
    /// Whether it was said that an earlier run goes on.
    announced: bool,
}

/// How often the line changes.
const EVERY: Duration = Duration::from_millis(250);

impl SearchBar {
    /// Shows the line.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            line: StatusLine::new(quiet),
            last: None,
            rate: 0.0,
            shown: Duration::ZERO,
            messages: Messages::new(quiet),
            announced: false,
        }
    }

    /// Renews the line.
    pub(crate) fn show(&mut self, progress: &Progress) {
        let now = progress.elapsed;
        if !progress.earlier.is_zero() && !std::mem::replace(&mut self.announced, true) {
            let best = progress.best_score;
            let best = best.map_or_else(
                || "nothing found yet".into(),
                |best| format!("best {best:.3}"),
            );
            let earlier = show_time(progress.earlier);
            self.messages
                .line(&format!("resumed: {earlier} searched, {best}"));
        }
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
        let best = progress.best_score.map(|score| (score, progress.best_at));
        let text = self.text(progress.elapsed, best, progress.time_left);
        self.line.show(&text);
    }

    /// Returns what matters most first, well within 80 columns.
    fn text(&self, now: Duration, best: Option<(f64, Duration)>, left: Option<Duration>) -> String {
        let mut parts = match best {
            Some((score, at)) => {
                let age = now.saturating_sub(at);
                vec![format!("{score:.3}"), format!("{} ago", show_time(age))]
            }
            None => vec!["climbing".to_owned()],
        };
        parts.push(match left {
            Some(left) => format!("{} left", show_time(left)),
            None => format!("{} so far", show_time(now)),
        });
        if self.rate > 0.0 {
            parts.push(format!("{}/s", show_count(self.rate)));
        }
        parts.join(" · ")
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits_80_columns() {
        let mut bar = SearchBar::new(true);
        bar.rate = 123_456_789.0;
        let show = |score| line_of(&bar, score, Some(Duration::from_secs(359_999)));
        assert_eq!(show(None), "climbing · 99 h 59 min left · 123.5 M/s");
        let long = show(Some(-1_234_567_890.123));
        assert!(long.starts_with("-1234567890.123 · "), "{long}");
        assert!(long.chars().count() < 76, "{long}");
        assert!(line_of(&bar, None, None).contains(" so far"));
    }

    fn line_of(bar: &SearchBar, best: Option<f64>, left: Option<Duration>) -> String {
        let seconds = Duration::from_secs;
        bar.text(seconds(90_000), best.map(|best| (best, seconds(7))), left)
    }
}
