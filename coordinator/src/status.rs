//! The view of a search for people and probes: as a gRPC message, as JSON, as Prometheus text.

use crate::event_loop::Published;
use crate::latency::Latency;
use rlbayes_common::exchange::SearchDescription;
use rlbayes_common::search::StoppedBy;
use rlbayes_proto::v1;
use serde_json::{Value, json};
use std::fmt::Write;

/// What does not change while a search runs.
#[derive(Clone, Debug)]
pub struct About {
    /// The search.
    pub search: SearchDescription,
    /// The data's name.
    pub data_name: String,
    /// Rows of the table.
    pub rows: usize,
}

/// Writes the status as a message.
#[must_use]
pub fn to_wire(about: &About, published: &Published, refused_rows: u64) -> v1::StatusReply {
    let view = &published.view;
    v1::StatusReply {
        state: view.stage.as_str().to_owned(),
        search_id: about.search.id.0.to_vec().into(),
        data_name: about.data_name.clone(),
        score_name: about.search.score.name().to_string(),
        search: about.search.spec.name().to_owned(),
        variables: u32::try_from(about.search.nodes).unwrap_or(u32::MAX),
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
        refused_rows,
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
                statistics: Some(v1::WorkerStatistics {
                    cache_hits: worker.statistics.cache_hits,
                    cache_misses: worker.statistics.cache_misses,
                    cache_bytes: worker.statistics.cache_bytes,
                    memory_bytes: worker.statistics.memory_bytes,
                }),
                program_version: worker.program_version.clone(),
            })
            .collect(),
        curve: view
            .curve
            .iter()
            .map(|(at, score)| v1::CurvePoint {
                seconds: at.as_secs_f64(),
                score: score.value(),
            })
            .collect(),
        trouble: published.trouble.clone().unwrap_or_default(),
        seed: about.search.seed.0,
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
    let id = rlbayes_common::hex::encode(&status.search_id);
    json!({
        "state": status.state,
        "search_id": id,
        "data": status.data_name,
        "score_name": status.score_name,
        "search": status.search,
        "seed": status.seed,
        "variables": status.variables,
        "rows": status.rows,
        "best_score": status.best_score,
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
    })
}

/// Writes the status for Prometheus.
#[must_use]
pub fn to_prometheus(status: &v1::StatusReply, latency: &Latency) -> String {
    let mut text = String::new();
    let mut figure = |name: &str, kind: &str, help: &str, value: f64| {
        // Writing to a String can't fail.
        let _ = writeln!(
            text,
            "# HELP rlbayes_{name} {help}\n# TYPE rlbayes_{name} {kind}\nrlbayes_{name} {value}"
        );
    };
    let alive = status.workers.iter().filter(|worker| worker.alive);
    let statistics: Vec<(u64, v1::WorkerStatistics)> = alive
        .clone()
        .filter_map(|worker| Some((worker.id, worker.statistics?)))
        .collect();
    if let Some(best) = status.best_score {
        figure("best_score", "gauge", "Best score in nats.", best);
    }
    figure(
        "best_age_seconds",
        "gauge",
        "Search time since the best was found.",
        status.best_age_seconds,
    );
    figure(
        "elapsed_seconds",
        "counter",
        "Time spent searching.",
        status.elapsed_seconds,
    );
    figure(
        "evaluations_total",
        "counter",
        "Local scores asked for.",
        as_f64(status.evaluations),
    );
    figure(
        "computed_total",
        "counter",
        "Local scores counted from the data.",
        as_f64(status.computed),
    );
    figure(
        "iterations_total",
        "counter",
        "Steps of all chains.",
        as_f64(status.iterations),
    );
    figure(
        "evaluations_per_second",
        "gauge",
        "Local scores asked for each second of late.",
        status.evaluations_per_second,
    );
    figure(
        "chains",
        "gauge",
        "Chains of the search.",
        f64::from(status.chains),
    );
    figure(
        "pool_size",
        "gauge",
        "Rows of the elite pool.",
        f64::from(status.pool_size),
    );
    figure(
        "pool_diversity",
        "gauge",
        "Mean share of nodes whose parents differ.",
        status.diversity,
    );
    figure(
        "workers",
        "gauge",
        "Workers that take part.",
        as_f64(alive.count() as u64),
    );
    figure(
        "exchanges_total",
        "counter",
        "Exchanges taken.",
        as_f64(status.exchanges),
    );
    figure(
        "refused_rows_total",
        "counter",
        "Rows refused.",
        as_f64(status.refused_rows),
    );
    figure(
        "seeds_sent_total",
        "counter",
        "Rows sent to chains.",
        as_f64(status.seeds_sent),
    );
    figure(
        "seeds_received_total",
        "counter",
        "Rows that chains received.",
        as_f64(status.seeds_received),
    );
    figure(
        "seeds_entered_total",
        "counter",
        "Rows that entered a Q-table.",
        as_f64(status.seeds_entered),
    );
    figure(
        "seeds_made_current_total",
        "counter",
        "Rows that became current.",
        as_f64(status.seeds_made_current),
    );
    figure(
        "cache_bytes",
        "gauge",
        "Bytes that the workers' caches hold.",
        as_f64(statistics.iter().map(|(_, s)| s.cache_bytes).sum()),
    );
    figure(
        "finished",
        "gauge",
        "1 once the search is over.",
        f64::from(u8::from(status.state == "finished")),
    );
    figure(
        "journal_trouble",
        "gauge",
        "1 while the journal can't be written.",
        f64::from(u8::from(!status.trouble.is_empty())),
    );
    // Each worker's own: a sum over those that take part would fall when one leaves.
    let mut of_workers = |name: &str, help: &str, figure: fn(&v1::WorkerStatistics) -> u64| {
        let _ = writeln!(
            text,
            "# HELP rlbayes_{name} {help}\n# TYPE rlbayes_{name} counter"
        );
        for (worker, statistics) in &statistics {
            let value = figure(statistics);
            let _ = writeln!(text, "rlbayes_{name}{{worker=\"{worker}\"}} {value}");
        }
    };
    of_workers(
        "cache_hits_total",
        "Questions that a worker's caches answered.",
        |s| s.cache_hits,
    );
    of_workers(
        "cache_misses_total",
        "Questions that they could not answer.",
        |s| s.cache_misses,
    );
    latency.write(&mut text);
    text
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn as_f64(number: u64) -> f64 {
    number as f64
}
