//! Which score to learn with: each candidate learns on all folds but one and is judged by the
//! log-likelihood of the rows held out. Searches have one thread and a limit of evaluations each, so
//! the figures are the same on any number of threads.

use crate::folds::Folds;
use crate::network::{Fit, NetworkUseError};
use crate::progress::StopHandle;
use crate::request::RequestError;
use crate::score::Score;
use crate::search::{Search, SearchError};
use crate::settings::SearchSettings;
use crate::table::Table;
use rlbayes_common::search::Budget;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use thiserror::Error;

/// A score to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The score.
    pub score: Score,
    /// The factor on its penalty.
    pub penalty_scale: f64,
}

/// How candidates are compared.
#[derive(Clone, Debug)]
pub struct CrossValidation {
    /// The scores to try, simplest first where it matters: of equals the first wins.
    pub candidates: Vec<Candidate>,
    /// How many folds.
    pub folds: usize,
    /// Local scores that each search may ask for.
    pub evaluations: u64,
    /// What is added to every count when probabilities are estimated.
    pub alpha: f64,
    /// What all searches have in common: constraints, algorithm, seed, memory.
    pub settings: SearchSettings,
    /// Threads; the figures do not depend on them.
    pub threads: usize,
}

/// How a candidate did.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateFigures {
    /// What was tried.
    pub candidate: Candidate,
    /// Held-out log-likelihood per row of each fold, in nats.
    pub by_fold: Vec<f64>,
    /// Edges of the network learned without each fold.
    pub edges_by_fold: Vec<usize>,
}

impl CandidateFigures {
    /// Returns the mean over the folds.
    #[must_use]
    pub fn mean(&self) -> f64 {
        mean(self.by_fold.iter().copied())
    }

    /// Returns the standard error of the mean, from the spread over the folds.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        let (mean, count) = (self.mean(), count(self.by_fold.len()));
        let squares: f64 = self.by_fold.iter().map(|fold| (fold - mean).powi(2)).sum();
        (squares / (count - 1.0) / count).sqrt()
    }

    /// Returns the mean number of edges.
    #[must_use]
    pub fn edges(&self) -> f64 {
        mean(self.edges_by_fold.iter().map(|&edges| count(edges)))
    }
}

fn mean(numbers: impl ExactSizeIterator<Item = f64>) -> f64 {
    let many = count(numbers.len());
    numbers.sum::<f64>() / many
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn count(number: usize) -> f64 {
    number as f64
}

/// Why candidates cannot be compared.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CrossValidationError {
    /// No candidate was given.
    #[error("there is no score to try")]
    NoCandidate,
    /// The rows cannot be divided, or a network cannot be fitted.
    #[error(transparent)]
    Network(#[from] NetworkUseError),
    /// A search is refused.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// It was stopped.
    #[error("it was stopped before all folds were done")]
    Stopped,
}

impl From<RequestError> for CrossValidationError {
    fn from(error: RequestError) -> Self {
        Self::Search(error.into())
    }
}

/// Compares candidates; `watch` is called with how many of all searches are done.
///
/// # Errors
/// If there are fewer rows than folds, a setting is refused, or it was stopped.
pub fn cross_validate(
    table: &Table,
    how: &CrossValidation,
    stop: &StopHandle,
    watch: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<CandidateFigures>, CrossValidationError> {
    if how.candidates.is_empty() {
        return Err(CrossValidationError::NoCandidate);
    }
    let folds = Folds::new(table.rows(), how.folds, how.settings.seed)?;
    // Refused before the work rather than after.
    for candidate in &how.candidates {
        crate::request::SearchRequest::new(table, &settings(how, *candidate))?;
    }
    let jobs = how.candidates.len() * folds.count();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results = Mutex::new(vec![None; jobs]);
    let failed = Mutex::new(None);
    let work = || {
        loop {
            let job = next.fetch_add(1, Relaxed);
            let is_failed = failed.lock().is_ok_and(|failed| failed.is_some());
            if job >= jobs || is_failed {
                return;
            }
            let candidate = how.candidates[job / folds.count()];
            match one(table, how, candidate, &folds, job % folds.count(), stop) {
                Ok(figures) => {
                    if let Ok(mut results) = results.lock() {
                        results[job] = Some(figures);
                    }
                    watch(done.fetch_add(1, Relaxed) + 1, jobs);
                }
                Err(error) => {
                    if let Ok(mut failed) = failed.lock() {
                        failed.get_or_insert(error);
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..how.threads.clamp(1, jobs) {
            scope.spawn(work);
        }
        work();
    });
    if let Some(error) = failed.into_inner().ok().flatten() {
        return Err(error);
    }
    let results = results.into_inner().unwrap_or_default();
    let results: Option<Vec<(f64, usize)>> = results.into_iter().collect();
    let results = results.ok_or(CrossValidationError::Stopped)?;
    let parts = how.candidates.iter().zip(results.chunks(folds.count()));
    Ok(parts
        .map(|(&candidate, folds)| CandidateFigures {
            candidate,
            by_fold: folds.iter().map(|fold| fold.0).collect(),
            edges_by_fold: folds.iter().map(|fold| fold.1).collect(),
        })
        .collect())
}

/// Returns the winner by the one-standard-error rule: of the candidates within one standard error of
/// the best mean, the one with the fewest edges, the first of equals.
#[must_use]
pub fn simplest_within_one_standard_error(figures: &[CandidateFigures]) -> Option<usize> {
    let best = figures
        .iter()
        .max_by(|a, b| a.mean().total_cmp(&b.mean()))?;
    let least = best.mean() - best.standard_error();
    let close = figures
        .iter()
        .enumerate()
        .filter(|(_, other)| other.mean() >= least);
    let simplest =
        close.min_by(|(at, a), (other, b)| a.edges().total_cmp(&b.edges()).then(at.cmp(other)));
    simplest.map(|(at, _)| at)
}

fn settings(how: &CrossValidation, candidate: Candidate) -> SearchSettings {
    SearchSettings {
        score: candidate.score,
        penalty_scale: candidate.penalty_scale,
        threads: Some(1),
        budget: Budget {
            evaluations: Some(how.evaluations),
            ..Budget::default()
        },
        ..how.settings.clone()
    }
}

/// Learns without a fold; returns the log-likelihood of its rows per row, and the edges.
fn one(
    table: &Table,
    how: &CrossValidation,
    candidate: Candidate,
    folds: &Folds,
    fold: usize,
    stop: &StopHandle,
) -> Result<(f64, usize), CrossValidationError> {
    let Some((train, test)) = folds.split(table, fold) else {
        let (rows, folds) = (table.rows(), folds.count());
        return Err(NetworkUseError::Folds { rows, folds }.into());
    };
    let outcome = Search::with(&train, settings(how, candidate))
        .stop_with(stop)
        .run()?;
    if stop.is_stopped() {
        return Err(CrossValidationError::Stopped);
    }
    let network = outcome.network(Fit::Smoothed(how.alpha))?;
    let likelihood = network.log_likelihood(&test)?;
    Ok((
        likelihood.total() / count(test.rows()),
        outcome.edges().len(),
    ))
}
