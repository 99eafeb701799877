//! The figures of a search that only ever grow, as anybody is shown them.

use rlbayes::coordination::{Stage, State, View};
use rlbayes_common::exchange::ChainCounters;
use rlbayes_proto::v1;
use serde_json::Value;
use std::time::Duration;

/// What they are called.
pub(super) const NAMES: [&str; FIGURES] = [
    "best score",
    "iterations",
    "evaluations",
    "computed",
    "seeds received",
    "seeds entered",
    "seeds made current",
    "seeds sent",
    "elapsed seconds",
    "replicates",
    "round",
    "end of the search",
    "finished",
    "exchanges",
    "refused rows",
];
const FIGURES: usize = 15;
/// Where those stand that laws of their own are about.
pub(super) const BEST: usize = 0;
pub(super) const COUNTERS: std::ops::Range<usize> = 1..7;
pub(super) const EVALUATIONS: usize = 2;
pub(super) const ELAPSED: usize = 8;
pub(super) const REPLICATES: usize = 9;
pub(super) const STOPPED: usize = 11;

/// The figures that somebody was shown; those that were not shown are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures(pub(super) [Option<f64>; FIGURES]);

impl Figures {
    /// Reads a status.
    #[must_use]
    pub fn of_status(status: &v1::StatusReply) -> Self {
        Self::new(
            status.best_score,
            [
                status.iterations,
                status.evaluations,
                status.computed,
                status.seeds_received,
                status.seeds_entered,
                status.seeds_made_current,
            ],
            status.seeds_sent,
            status.elapsed_seconds,
            status.replicates_done.into(),
            status.round,
            // Replicates follow the end of a search, and end in their turn.
            (status.replicates == 0).then_some(!status.stopped_by.is_empty()),
            status.state == "finished",
            [status.exchanges, status.refused_rows],
        )
    }

    /// Reads a view.
    #[must_use]
    pub fn of_view(view: &View) -> Self {
        let done = view.replicates.as_ref().map_or(0, |it| it.done.len());
        Self::new(
            view.best.as_ref().map(|row| row.score.value()),
            view.counters.to_figures(),
            view.seeds_sent,
            view.elapsed.as_secs_f64(),
            done as u64,
            view.round.0,
            (view.replicates.is_none()).then_some(view.stopped_by.is_some()),
            view.stage == Stage::Finished,
            [view.exchanges, view.refused_rows],
        )
    }

    /// Reads the state of a coordinator that has just been started.
    #[must_use]
    pub fn of_state(state: &State) -> Self {
        Self::of_view(&state.view(Duration::ZERO, Some(0.0)))
    }

    /// Reads a status as JSON, as the live page and scripts get it.
    #[must_use]
    pub fn of_json(status: &Value) -> Self {
        let whole = |value: &Value| value.as_u64().unwrap_or(0);
        let seeds = &status["seeds"];
        Self::new(
            status["best_score"].as_f64(),
            [
                whole(&status["iterations"]),
                whole(&status["evaluations"]),
                whole(&status["computed"]),
                whole(&seeds["received"]),
                whole(&seeds["entered"]),
                whole(&seeds["made_current"]),
            ],
            whole(&seeds["sent"]),
            status["elapsed_seconds"].as_f64().unwrap_or(0.0),
            whole(&status["replicates"]["done"]),
            whole(&status["round"]),
            (status["replicates"].is_null()).then(|| status["stopped_by"].is_string()),
            status["state"] == "finished",
            [whole(&status["exchanges"]), whole(&status["refused_rows"])],
        )
    }

    /// Reads a result, as `result` and the files of `--out` have it.
    #[must_use]
    pub fn of_result(result: &Value) -> Self {
        let mut figures = [None; FIGURES];
        for (name, field) in [
            ("best score", "score"),
            ("iterations", "iterations"),
            ("evaluations", "evaluations"),
            ("computed", "computed"),
            ("elapsed seconds", "seconds"),
        ] {
            figures[place(name)] = result[field].as_f64();
        }
        Self(figures)
    }

    /// Reads the text that Prometheus gets.
    #[must_use]
    pub fn of_metrics(text: &str) -> Self {
        let mut figures = [None; FIGURES];
        for (name, metric) in [
            ("best score", "rlbayes_best_score"),
            ("iterations", "rlbayes_iterations_total"),
            ("evaluations", "rlbayes_evaluations_total"),
            ("computed", "rlbayes_computed_total"),
            ("seeds sent", "rlbayes_seeds_sent_total"),
            ("exchanges", "rlbayes_exchanges_total"),
            ("refused rows", "rlbayes_refused_rows_total"),
            ("elapsed seconds", "rlbayes_elapsed_seconds"),
            ("replicates", "rlbayes_replicates_done"),
        ] {
            let mut values = text.lines().filter_map(|line| {
                let (found, value) = line.split_once(' ')?;
                (found == metric).then(|| value.parse().ok())?
            });
            figures[place(name)] = values.next();
        }
        Self(figures)
    }

    /// Returns the evaluations, if they were shown.
    #[must_use]
    pub fn evaluations(&self) -> Option<f64> {
        self.0[EVALUATIONS]
    }

    /// Returns the time spent searching, if it was shown.
    #[must_use]
    pub fn elapsed(&self) -> Option<f64> {
        self.0[ELAPSED]
    }

    /// Returns how many figures were shown.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.iter().flatten().count()
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "each of them is a figure, in the order of their names"
    )]
    #[expect(clippy::cast_precision_loss, reason = "counters stay below 2^53")]
    fn new(
        best: Option<f64>,
        counters: [u64; 6],
        seeds_sent: u64,
        elapsed: f64,
        replicates: u64,
        round: u64,
        stopped: Option<bool>,
        finished: bool,
        [exchanges, refused_rows]: [u64; 2],
    ) -> Self {
        let mut figures = [None; FIGURES];
        // Before there is a network, any score is better.
        figures[BEST] = Some(best.unwrap_or(f64::NEG_INFINITY));
        for (place, counter) in COUNTERS.zip(counters) {
            figures[place] = Some(counter as f64);
        }
        let rest = [seeds_sent as f64, elapsed, replicates as f64, round as f64];
        for (place, figure) in (COUNTERS.end..).zip(rest) {
            figures[place] = Some(figure);
        }
        figures[STOPPED] = stopped.map(|stopped| f64::from(u8::from(stopped)));
        figures[STOPPED + 1] = Some(f64::from(u8::from(finished)));
        figures[STOPPED + 2] = Some(exchanges as f64);
        figures[STOPPED + 3] = Some(refused_rows as f64);
        Self(figures)
    }
}

/// Returns counters as figures, from the first of their places on.
#[expect(clippy::cast_precision_loss, reason = "counters stay below 2^53")]
pub(super) fn of_counters(counters: ChainCounters) -> [f64; 6] {
    counters.to_figures().map(|counter| counter as f64)
}

fn place(name: &str) -> usize {
    let known = NAMES.iter().position(|known| *known == name);
    known.expect("a name of the list")
}
