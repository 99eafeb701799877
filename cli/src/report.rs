//! The result of a search: a report for people and JSON for scripts.

use crate::directions::Directions;
use crate::edge_lines::{EDGES_SHOWN, SupportOf, edge_lines};
use crate::units::{counted, show_count, show_counted, show_time};
use rlbayes::coordination::View;
use rlbayes::{
    Algorithm, ColumnUse, Found, FoundEdge, LoadReport, Outcome, SearchRequest, StoppedBy,
    SupportTable,
};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::metrics::{StructureMetrics, compare};
use rlbayes_common::score::LogScore;
use rlbayes_common::search::Problem;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write;

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
    found: &Found,
    comparison: Option<&Comparison>,
) -> serde_json::Value {
    let schema = request.table().data().schema();
    let name = |node| schema.variable(node).name();
    let named = |(from, to)| [name(from), name(to)];
    let edges: Vec<[&str; 2]> = found.dag.edges().map(named).collect();
    let pairs = |pairs: &BTreeSet<(NodeIdx, NodeIdx)>| -> Vec<[&str; 2]> {
        pairs.iter().copied().map(named).collect()
    };
    let counters = view.counters;
    let threads: u32 = view.workers.iter().map(|worker| worker.threads).sum();
    let mut result = json!({
        "score": found.best.score.value(),
        "score_name": request.score_name(),
        "search": request.algorithm_name(),
        "edges": edges,
        "edge_gains": found.gains,
        "cpdag": {
            "directed": pairs(found.class.directed()),
            "undirected": pairs(found.class.undirected()),
        },
        "evaluations": counters.evaluations,
        "computed": counters.computed,
        "iterations": counters.iterations,
        "seconds": view.elapsed.as_secs_f64(),
        "cpu_seconds": view.cpu_time.map(|time| time.as_secs_f64()),
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
    if let Some(report) = request.table().report() {
        let binned = report.binned();
        let binned = binned.map(|column| (column.name.clone(), json!(column.cut_points)));
        result["binned"] = binned.collect::<serde_json::Map<_, _>>().into();
        result["left_out"] = left_out(report).into();
    }
    if let Some(comparison) = comparison {
        result["metrics"] = metrics_json(&comparison.metrics);
        result["metrics"]["truth_score"] = json!(comparison.truth_score.value());
    }
    result
}

/// Returns the names of the columns that are not in the search.
fn left_out(report: &LoadReport) -> Vec<&str> {
    let columns = report.columns.iter();
    columns
        .filter(|column| matches!(column.used, ColumnUse::LeftOut(_)))
        .map(|column| column.name.as_str())
        .collect()
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

/// How much of a result a report shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// All edges, since no file has them.
    pub(crate) all_edges: bool,
    /// The figures of the engine, too.
    pub(crate) inner_figures: bool,
}

/// Returns what was found, for people: at most 80 columns, the network first.
pub(crate) fn report(
    outcome: &Outcome,
    comparison: Option<&Comparison>,
    support: Option<&SupportTable>,
    shown: Shown,
) -> String {
    let request = outcome.request();
    let most = if shown.all_edges {
        usize::MAX
    } else {
        EDGES_SHOWN
    };
    let strength = support.map(|support| {
        move |edge: &FoundEdge<'_>| {
            let schema = request.table().data().schema();
            let node = |name: &str| schema.find(name);
            match (node(edge.from), node(edge.to)) {
                (Some(from), Some(to)) => {
                    let pair = support.pair(from, to);
                    (!support.is_required(&pair)).then_some(pair.strength())
                }
                _ => Some(0.0),
            }
        }
    });
    let strength = strength.as_ref().map(|strength| strength as &SupportOf<'_>);
    let directions = Directions::of(outcome);
    let mut text = edge_lines(&outcome.found_edges(), directions, strength, most);
    let mut line = |name: &str, what: String| {
        let _ = writeln!(text, "  {name:<11}  {what}");
    };
    let name = request.score_name();
    line(
        "score",
        format!("{:.3} ({name}, natural logarithm)", outcome.score()),
    );
    match outcome.gap() {
        _ if outcome.is_proven() => {
            line("proven", "no network scores higher on this table".into());
        }
        Some(gap) => line(
            "bound",
            format!("at most {gap:.3} nats below the best possible"),
        ),
        None => {}
    }
    let (found, all) = (show_time(outcome.best_at()), show_time(outcome.elapsed()));
    let why = outcome.stopped_by().in_words();
    line("found after", format!("{found} of {all} ({why})"));
    if let Some(Comparison {
        metrics,
        truth_score,
    }) = comparison
    {
        line("truth", truth_beside(truth_score.value(), outcome.score()));
        line(
            "against it",
            format!(
                "F1 {:.3} directed, {:.3} skeleton; AUC {:.3}; SHD of classes {}",
                metrics.f1_directed, metrics.f1_skeleton, metrics.auc, metrics.shd_cpdag
            ),
        );
    }
    if shown.inner_figures {
        for (name, what) in inner_figures(outcome) {
            line(name, what);
        }
    }
    text
}

/// Says how the true network scores, which need not be the best on few rows.
fn truth_beside(truth: f64, found: f64) -> String {
    let gap = found - truth;
    if gap > 0.0 {
        return format!("scores {truth:.3}; these rows favour what was found by {gap:.3}");
    }
    format!("scores {truth:.3}: {:.3} above what was found", -gap)
}

/// What the engine did, for those who ask with -v.
fn inner_figures(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let request = outcome.request();
    let unit = match request.algorithm() {
        Algorithm::RlBayes(_) => "episode",
        _ => "iteration",
    };
    let asked_for = show_counted(outcome.evaluations(), "local score");
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let computed = show_count(outcome.computed() as f64);
    let steps = show_counted(outcome.iterations(), unit);
    let mut lines = vec![
        (
            "search",
            format!(
                "{}, {} on {}, seed {}",
                request.algorithm_name(),
                counted(request.chains(), "chain"),
                counted(request.threads(), "thread"),
                request.seed()
            ),
        ),
        (
            "work",
            format!("{asked_for} asked for, {computed} counted, {steps}"),
        ),
    ];
    if request.chains() > 1 {
        let view = outcome.view();
        let pool = format!(
            "{}, diversity {:.3}",
            counted(view.pool_size as u64, "row"),
            view.diversity
        );
        lines.push(("elite pool", pool));
    }
    lines
}
