//! The status of a search, as a gRPC message and as JSON.

use crate::event_loop::Published;
use crate::replicate_work::ReplicateWork;
use rlbayes::gap_below;
use rlbayes_common::exchange::SearchDescription;
use rlbayes_common::ids::SearchId;
use rlbayes_common::search::StoppedBy;
use rlbayes_proto::convert::statistics_to_wire;
use rlbayes_proto::v1;
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

/// What does not change while a search runs.
#[derive(Clone, Debug)]
pub struct About {
    /// The search.
    pub search: SearchDescription,
    /// The data's name.
    pub data_name: String,
    /// Rows of the table.
    pub rows: usize,
    /// A score that no network exceeds, once a prover beside the search has shown one.
    pub bound: Arc<OnceLock<f64>>,
    /// The replicates that follow the search, if some do.
    pub replicates: Option<ReplicateWork>,
}

/// Writes the status as a message.
#[must_use]
pub fn to_wire(about: &About, published: &Published) -> v1::StatusReply {
    let view = &published.view;
    let by_regions = about.search.spec.goes_by_regions(about.search.nodes);
    v1::StatusReply {
        state: view.stage.as_str().to_owned(),
        search_id: about.search.id.0.to_vec().into(),
        data_name: about.data_name.clone(),
        score_name: about.search.score.name().to_string(),
        search: about.search.spec.name().to_owned(),
        variables: count(about.search.nodes),
        rows: about.rows as u64,
        best_score: view.best.as_ref().map(|row| row.score.value()),
        best_age_seconds: view.best_age.as_secs_f64(),
        elapsed_seconds: view.elapsed.as_secs_f64(),
        evaluations: view.counters.evaluations,
        computed: view.counters.computed,
        iterations: view.counters.iterations,
        evaluations_per_second: view.rate(),
        chains: count(view.chains),
        pool_size: count(view.pool_size),
        diversity: view.diversity,
        seeds_sent: view.seeds_sent,
        seeds_received: view.counters.seeds.received,
        seeds_entered: view.counters.seeds.entered,
        seeds_made_current: view.counters.seeds.made_current,
        exchanges: view.exchanges,
        refused_rows: view.refused_rows,
        stopped_by: view.stopped_by.map_or("", StoppedBy::as_str).to_owned(),
        seconds_left: view.time_left.map(|left| left.as_secs_f64()),
        evaluations_left: view.evaluations_left,
        iterations_left: view.iterations_left,
        round: view.round.0,
        workers: view
            .workers
            .iter()
            .map(|worker| v1::WorkerStatus {
                id: worker.id.0,
                host: worker.host.clone(),
                threads: worker.threads,
                chains: count(worker.chains),
                evaluations_per_second: worker.rate,
                last_exchange_seconds: worker.last_exchange.as_secs_f64(),
                alive: worker.is_alive,
                statistics: Some(statistics_to_wire(worker.statistics)),
                program_version: worker.program_version.clone(),
            })
            .collect(),
        curve: view
            .curve
            .iter()
            .map(|point| v1::CurvePoint {
                seconds: point.at.as_secs_f64(),
                score: point.score.value(),
                evaluations: Some(point.evaluations),
            })
            .collect(),
        trouble: published.trouble.clone().unwrap_or_default(),
        seed: about.search.seed.0,
        bound: about.bound.get().copied(),
        replicates_done: view
            .replicates
            .as_ref()
            .map_or(0, |it| count(it.done.len())),
        replicates: view.replicates.as_ref().map_or(0, |it| it.of),
        regions: by_regions.then_some(view.counters.iterations),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Turns a status into the JSON that scripts rely on.
#[must_use]
pub fn to_json(status: &v1::StatusReply) -> Value {
    let text = |text: &str| {
        if text.is_empty() {
            Value::Null
        } else {
            json!(text)
        }
    };
    let is_proven = status.stopped_by == StoppedBy::Proven.as_str();
    let gap = match (status.bound, status.best_score) {
        _ if is_proven => Some(0.0),
        (Some(bound), Some(score)) => gap_below(bound, score),
        _ => None,
    };
    let id = <[u8; 16]>::try_from(&*status.search_id).map(|id| SearchId(id).to_string());
    let replicates = (status.replicates > 0)
        .then(|| json!({"done": status.replicates_done, "of": status.replicates}));
    let mut json = json!({
        "state": status.state,
        "search_id": id.ok(),
        "data": status.data_name,
        "score_name": status.score_name,
        "search": status.search,
        "seed": status.seed,
        "variables": status.variables,
        "rows": status.rows,
        "best_score": status.best_score,
        "proven": gap == Some(0.0),
        "gap": gap,
        "best_age_seconds": status.best_age_seconds,
        "elapsed_seconds": status.elapsed_seconds,
        "seconds_left": status.seconds_left,
        "evaluations_left": status.evaluations_left,
        "iterations_left": status.iterations_left,
        "evaluations": status.evaluations,
        "computed": status.computed,
        "iterations": status.iterations,
        "evaluations_per_second": status.evaluations_per_second,
        "chains": status.chains,
        "pool_size": status.pool_size,
        "diversity": status.diversity,
        "seeds": {
            "sent": status.seeds_sent,
            "received": status.seeds_received,
            "entered": status.seeds_entered,
            "made_current": status.seeds_made_current,
        },
        "exchanges": status.exchanges,
        "refused_rows": status.refused_rows,
        "round": status.round,
        "stopped_by": text(&status.stopped_by),
        "trouble": text(&status.trouble),
        "workers": status.workers.iter().map(|worker| json!({
            "id": worker.id,
            "host": worker.host,
            "threads": worker.threads,
            "chains": worker.chains,
            "evaluations_per_second": worker.evaluations_per_second,
            "last_exchange_seconds": worker.last_exchange_seconds,
            "alive": worker.alive,
            "version": worker.program_version,
            "memory_bytes": worker.statistics.map_or(0, |s| s.memory_bytes),
            "cache_bytes": worker.statistics.map_or(0, |s| s.cache_bytes),
        })).collect::<Vec<_>>(),
    });
    json["replicates"] = replicates.into();
    json["regions"] = status.regions.into();
    json
}
