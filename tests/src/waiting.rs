//! Waiting for a condition with a deadline, and the law that every status is checked for meanwhile:
//! the best score never goes down.

use std::cell::Cell;
use std::fmt::Debug;
use std::thread;
use std::time::{Duration, Instant};

/// Waits until something holds.
///
/// # Panics
/// If it does not hold within the deadline.
pub fn wait_until(what: &str, deadline: Duration, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(
            begun.elapsed() < deadline,
            "after {deadline:?} still not: {what}"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

/// The best score that a search has shown so far: it never goes down.
#[derive(Debug)]
pub struct BestShown(Cell<f64>);

impl Default for BestShown {
    fn default() -> Self {
        Self(Cell::new(f64::NEG_INFINITY))
    }
}

impl BestShown {
    /// Takes the best score of a status; none while the search has found nothing.
    ///
    /// # Panics
    /// If it has gone down.
    pub fn see(&self, best: Option<f64>) {
        let best = best.unwrap_or(f64::NEG_INFINITY);
        let before = self.0.replace(best);
        assert!(
            best >= before,
            "the best score went down from {before} to {best}"
        );
    }

    /// Returns the best score; minus infinity before there is one.
    #[must_use]
    pub fn score(&self) -> f64 {
        self.0.get()
    }

    /// From here on lower scores may be shown: the coordinator's disk was lost.
    pub fn forget(&self) {
        self.0.set(f64::NEG_INFINITY);
    }
}

/// Waits for a status in which something holds. `status` returns none while the coordinator is
/// away; `logs` says more if none comes.
///
/// # Panics
/// If none comes within the deadline.
pub fn wait_for_status<S: Debug>(
    what: &str,
    deadline: Duration,
    mut status: impl FnMut() -> Option<S>,
    mut holds: impl FnMut(&S) -> bool,
    logs: impl FnOnce() -> String,
) -> S {
    let begun = Instant::now();
    let mut last = None;
    loop {
        if let Some(status) = status() {
            if holds(&status) {
                return status;
            }
            last = Some(status);
        }
        if begun.elapsed() >= deadline {
            panic!(
                "after {deadline:?} still not: {what}; last status {last:?}; logs: {}",
                logs()
            );
        }
        thread::sleep(Duration::from_millis(40));
    }
}
