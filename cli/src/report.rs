//! The result of a search: a report for people and JSON for scripts.

use crate::terminal::Messages;
use crate::units::{counted, show_count, show_time};
use rlbayes::coordination::View;
use rlbayes::{Algorithm, Outcome, SearchRequest, StoppedBy};
use rlbayes_common::elite::EliteRow;
use rlbayes_common::graph::Dag;
use rlbayes_common::metrics::{StructureMetrics, compare};
use rlbayes_common::score::LogScore;
use rlbayes_common::search::Problem;
use serde_json::json;

/// The network that was found beside the true one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    metrics: StructureMetrics,
    truth_score: LogScore,
}

impl Comparison {
    /// Compares, and scores the truth as the search scores networks.
    pub(crate) fn new(problem: &Problem, truth: &Dag, found: &Dag) -> Self {
        Self {
            metrics: compare(truth, found),
            truth_score: problem.scorer().structure(truth, &mut Default::default()),
        }
    }
}

/// Returns the JSON that scripts rely on.
pub(crate) fn as_json(
    request: &SearchRequest,
    view: &View,
    best: &EliteRow,
    comparison: Option<&Comparison>,
) -> serde_json::Value {
    let schema = request.table().data().schema();
    let name = |node| schema.variable(node).name();
    let edges: Vec<[&str; 2]> = best
        .structure
        .edges()
        .map(|(from, to)| [name(from), name(to)])
        .collect();
    let counters = view.counters;
    let threads: u32 = view.workers.iter().map(|worker| worker.threads).sum();
    let mut result = json!({
        "score": best.score.value(),
        "score_name": request.score_name(),
        "search": request.algorithm_name(),
        "edges": edges,
        "evaluations": counters.evaluations,
        "computed": counters.computed,
        "iterations": counters.iterations,
        "seconds": view.elapsed.as_secs_f64(),
        "best_at_seconds": view.best_at.as_secs_f64(),
        "threads": threads.max(request.threads()),
        "chains": view.chains,
        "seed": request.seed(),
        "stopped_by": view.stopped_by.map(StoppedBy::as_str),
        "pool_size": view.pool_size,
        "diversity": view.diversity,
        "seeds": {
            "sent": view.seeds_sent,
            "received": counters.seeds.received,
            "entered": counters.seeds.entered,
            "made_current": counters.seeds.made_current,
        },
    });
    if let Some(comparison) = comparison {
        result["metrics"] = metrics_json(&comparison.metrics);
        result["metrics"]["truth_score"] = json!(comparison.truth_score.value());
    }
    result
}

/// The figures of a comparison, by the names that scripts rely on.
pub(crate) fn metrics_json(metrics: &StructureMetrics) -> serde_json::Value {
    json!({
        "f1_directed": metrics.f1_directed,
        "auc": metrics.auc,
        "f1_skeleton": metrics.f1_skeleton,
        "shd_cpdag": metrics.shd_cpdag,
    })
}

/// Prints what was found.
pub(crate) fn report(outcome: &Outcome, comparison: Option<&Comparison>, messages: Messages) {
    let request = outcome.request();
    messages.line(&format!(
        "{}, {}, score {}, search {} ({} on {}, seed {})",
        counted(request.table().rows() as u64, "row"),
        counted(request.table().data().nodes() as u64, "variable"),
        request.score_name(),
        request.algorithm_name(),
        counted(request.chains(), "chain"),
        counted(request.threads(), "thread"),
        request.seed()
    ));
    messages.line(&format!("  score        {:.3}", outcome.score()));
    match outcome.gap() {
        _ if outcome.is_proven() => {
            messages.line("  proven       no network scores higher on this table");
        }
        Some(gap) => messages.line(&format!(
            "  bound        at most {gap:.3} nats below the best possible"
        )),
        None => {}
    }
    messages.line(&format!("  edges        {}", outcome.edges().len()));
    messages.line(&format!(
        "  found after  {} of {} ({})",
        show_time(outcome.best_at()),
        show_time(outcome.elapsed()),
        outcome.stopped_by().in_words()
    ));
    let unit = match request.algorithm() {
        Algorithm::RlBayes(_) => "episodes",
        _ => "iterations",
    };
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let [evaluations, computed, steps] = [
        outcome.evaluations(),
        outcome.computed(),
        outcome.iterations(),
    ]
    .map(|count| show_count(count as f64));
    messages.line(&format!(
        "  work         {evaluations} local scores asked for, {computed} counted from the data, {steps} {unit}"
    ));
    if request.chains() > 1 {
        messages.line(&format!(
            "  elite pool   {}, diversity {:.3}",
            counted(outcome.view().pool_size as u64, "row"),
            outcome.view().diversity
        ));
    }
    if let Some(Comparison {
        metrics,
        truth_score,
    }) = comparison
    {
        messages.line(&format!(
            "  truth        scores {truth_score:.3}: {:.3} below the network found",
            outcome.score() - truth_score.value()
        ));
        messages.line(&format!(
            "  against it   directed F1 {:.3}, skeleton F1 {:.3}, AUC {:.3}, SHD of classes {}",
            metrics.f1_directed, metrics.f1_skeleton, metrics.auc, metrics.shd_cpdag
        ));
    }
}
