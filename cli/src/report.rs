//! The result of a search: a report for people and JSON for scripts.

use crate::learn::{LearnArgs, Prepared};
use crate::local::Outcome;
use crate::output::Output;
use crate::terminal::Say;
use crate::units::{show_count, show_time};
use rlbayes::coordination::View;
use rlbayes_common::data::Table;
use rlbayes_common::elite::EliteRow;
use rlbayes_common::metrics::StructureMetrics;
use rlbayes_common::score::LogScore;
use rlbayes_common::search::{SearchSpec, StoppedBy};
use serde_json::json;
use std::time::Duration;

/// Returns the JSON that scripts rely on.
pub(crate) fn as_json(
    args: &LearnArgs,
    table: &Table,
    prepared: &Prepared,
    view: &View,
    best: &EliteRow,
    metrics: Option<&(StructureMetrics, LogScore)>,
) -> serde_json::Value {
    let name = |node| table.schema().variable(node).name();
    let edges: Vec<[&str; 2]> = best
        .structure
        .edges()
        .map(|(from, to)| [name(from), name(to)])
        .collect();
    let counters = view.counters;
    let threads: u32 = view.workers.iter().map(|worker| worker.threads).sum();
    let mut result = json!({
        "score": best.score.value(),
        "score_name": args.score.score.as_str(),
        "search": prepared.spec.name(),
        "edges": edges,
        "evaluations": counters.evaluations,
        "computed": counters.computed,
        "iterations": counters.iterations,
        "seconds": view.elapsed.as_secs_f64(),
        "best_at_seconds": view.best_at.as_secs_f64(),
        "threads": threads.max(prepared.threads),
        "chains": view.chains,
        "seed": args.search.seed,
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
    if let Some((metrics, truth_score)) = metrics {
        result["metrics"] = metrics_json(metrics);
        result["metrics"]["truth_score"] = json!(truth_score.value());
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

#[expect(clippy::too_many_arguments, reason = "the report shows all there is")]
/// Tells people what was found.
pub(crate) fn report(
    args: &LearnArgs,
    table: &Table,
    prepared: &Prepared,
    outcome: &Outcome,
    best: &EliteRow,
    metrics: Option<&(StructureMetrics, LogScore)>,
    outputs: &[Output],
    say: &Say,
) {
    let spent = outcome.state.spent(Duration::ZERO);
    let edges = best.structure.edges().count();
    let record = outcome
        .state
        .record()
        .map_or(Duration::ZERO, |record| record.at);
    say.line(&format!(
        "{} rows, {} variables, score {}, search {} ({} chains on {} threads, seed {})",
        table.rows(),
        table.nodes(),
        args.score.score,
        prepared.spec.name(),
        prepared.chains,
        prepared.threads,
        args.search.seed
    ));
    say.line(&format!("  score        {:.3}", best.score));
    say.line(&format!("  edges        {edges}"));
    say.line(&format!(
        "  found after  {} of {} (stopped by {})",
        show_time(record),
        show_time(outcome.elapsed),
        outcome.stopped_by
    ));
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let (evaluations, computed, steps) = (
        spent.evaluations as f64,
        outcome.state.counters().computed as f64,
        spent.iterations as f64,
    );
    let unit = if matches!(prepared.spec, SearchSpec::RlBayes(_)) {
        "episodes"
    } else {
        "iterations"
    };
    say.line(&format!(
        "  work         {} local scores asked for, {} counted from the data, {} {unit}",
        show_count(evaluations),
        show_count(computed),
        show_count(steps)
    ));
    if prepared.chains > 1 {
        say.line(&format!(
            "  elite pool   {} rows, diversity {:.3}",
            outcome.state.pool().len(),
            outcome.state.pool().diversity()
        ));
    }
    if let Some((metrics, truth_score)) = metrics {
        say.line(&format!(
            "  truth        scores {truth_score:.3}: {:.3} below the network found",
            best.score.value() - truth_score.value()
        ));
        say.line(&format!(
            "  against it   directed F1 {:.3}, skeleton F1 {:.3}, AUC {:.3}, SHD of classes {}",
            metrics.f1_directed, metrics.f1_skeleton, metrics.auc, metrics.shd_cpdag
        ));
    }
    for output in outputs.iter().filter(|output| output.path().exists()) {
        say.line(&format!("  written      {}", output.path().display()));
    }
    if let Some(folder) = &args.state {
        let hint = if outcome.stopped_by == StoppedBy::Interrupt {
            " (the same command goes on from here)"
        } else {
            ""
        };
        say.line(&format!("  state        {}{hint}", folder.display()));
    }
}
