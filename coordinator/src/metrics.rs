//! The metrics that Prometheus reads, as OpenMetrics text. They are made from the status for each
//! request, with a registry of their own; only the histogram is kept between requests.

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use rlbayes_proto::v1;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// What [`to_openmetrics`] writes, for the HTTP header.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the latency buckets, in seconds.
const BOUNDS: [f64; 12] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0,
];

/// How long exchanges take, as a histogram.
#[derive(Clone, Debug)]
pub struct Latency(Histogram);

impl Default for Latency {
    fn default() -> Self {
        Self(Histogram::new(BOUNDS))
    }
}

impl Latency {
    /// Counts a duration.
    pub fn record(&self, took: Duration) {
        self.0.observe(took.as_secs_f64());
    }
}

/// A counter with a value for each worker. It is not summed: a sum over the workers that take part
/// would fall when one leaves.
#[derive(Debug)]
struct WorkerCounter(Vec<(u64, u64)>);

impl EncodeMetric for WorkerCounter {
    fn encode(&self, mut encoder: MetricEncoder) -> fmt::Result {
        for (worker, value) in &self.0 {
            encoder
                .encode_family(&[("worker", *worker)])?
                .encode_counter::<NoLabelSet, _, u64>(value, None)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

/// How much room a disk has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes that we may still write.
    pub free: u64,
    /// Bytes in all.
    pub total: u64,
}

impl DiskSpace {
    /// Asks the system about the disk of a folder; none: it does not tell.
    #[must_use]
    pub fn of(folder: &Path) -> Option<Self> {
        let disk = rustix::fs::statvfs(folder).ok()?;
        Some(Self {
            free: disk.f_bavail.saturating_mul(disk.f_frsize),
            total: disk.f_blocks.saturating_mul(disk.f_frsize),
        })
    }
}

/// Writes the status, the room of the state folder's disk and the latency of exchanges as OpenMetrics text. Counters are named here
/// without their ending `_total`, and help without its full stop: the encoder adds both.
#[must_use]
pub fn to_openmetrics(
    status: &v1::StatusReply,
    disk: Option<DiskSpace>,
    latency: &Latency,
) -> String {
    let mut registry = Registry::with_prefix("rlbayes");
    if let Some(best) = status.best_score {
        registry.register("best_score", "Best score in nats", ConstGauge::new(best));
    }
    let alive = status.workers.iter().filter(|worker| worker.alive);
    let statistics: Vec<(u64, v1::WorkerStatistics)> = alive
        .clone()
        .filter_map(|worker| Some((worker.id, worker.statistics?)))
        .collect();
    let flag = |is_set: bool| f64::from(u8::from(is_set));
    for (name, help, value) in [
        (
            "best_age_seconds",
            "Search time since the best was found",
            status.best_age_seconds,
        ),
        (
            // It only grows, but a counter would have to be named elapsed_seconds_total.
            "elapsed_seconds",
            "Time spent searching",
            status.elapsed_seconds,
        ),
        (
            "evaluations_per_second",
            "Local scores asked for per second, recently",
            status.evaluations_per_second,
        ),
        ("chains", "Chains of the search", f64::from(status.chains)),
        (
            "pool_size",
            "Rows of the elite pool",
            f64::from(status.pool_size),
        ),
        (
            "pool_diversity",
            "Mean share of nodes whose parents differ",
            status.diversity,
        ),
        (
            "replicates",
            "Replicates that there are to be",
            f64::from(status.replicates),
        ),
        (
            "replicates_done",
            "Replicates that are done",
            f64::from(status.replicates_done),
        ),
        (
            "finished",
            "1 once the search is over",
            flag(status.state == "finished"),
        ),
        (
            "journal_trouble",
            "1 while the journal can't be written",
            flag(!status.trouble.is_empty()),
        ),
    ] {
        registry.register(name, help, ConstGauge::new(value));
    }
    for (name, help, value) in [
        ("workers", "Workers that take part", alive.count() as u64),
        (
            "cache_bytes",
            "Bytes that the workers' caches hold",
            statistics.iter().map(|(_, s)| s.cache_bytes).sum(),
        ),
    ] {
        registry.register(name, help, ConstGauge::new(value));
    }
    if let Some(disk) = disk {
        for (name, help, value) in [
            (
                "state_disk_free_bytes",
                "Bytes free on the disk of the state folder",
                disk.free,
            ),
            (
                "state_disk_bytes",
                "Size of the disk of the state folder",
                disk.total,
            ),
        ] {
            registry.register(name, help, ConstGauge::new(value));
        }
    }
    for (name, help, value) in [
        ("evaluations", "Local scores asked for", status.evaluations),
        (
            "computed",
            "Local scores counted from the data",
            status.computed,
        ),
        ("iterations", "Steps of all chains", status.iterations),
        ("exchanges", "Exchanges taken", status.exchanges),
        ("refused_rows", "Rows refused", status.refused_rows),
        ("seeds_sent", "Rows sent to chains", status.seeds_sent),
        (
            "seeds_received",
            "Rows that chains received",
            status.seeds_received,
        ),
        (
            "seeds_entered",
            "Rows that entered a Q-table",
            status.seeds_entered,
        ),
        (
            "seeds_made_current",
            "Rows that became current",
            status.seeds_made_current,
        ),
    ] {
        registry.register(name, help, ConstCounter::new(value));
    }
    let by_worker = |of: fn(&v1::WorkerStatistics) -> u64| {
        WorkerCounter(statistics.iter().map(|(id, s)| (*id, of(s))).collect())
    };
    registry.register(
        "cache_hits",
        "Questions that a worker's caches answered",
        by_worker(|s| s.cache_hits),
    );
    registry.register(
        "cache_misses",
        "Questions that they could not answer",
        by_worker(|s| s.cache_misses),
    );
    registry.register(
        "exchange_seconds",
        "Time that exchanges took",
        latency.0.clone(),
    );
    let mut text = String::new();
    // Writing to a String can't fail.
    let _ = encode(&mut text, &registry);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(id: u64, alive: bool) -> v1::WorkerStatus {
        v1::WorkerStatus {
            id,
            alive,
            statistics: Some(v1::WorkerStatistics {
                cache_hits: 10 * id,
                cache_bytes: 100,
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    #[test]
    fn every_metric_has_the_name_and_type_that_dashboards_rely_on() {
        let status = v1::StatusReply {
            best_score: Some(-1.5),
            evaluations: 7,
            workers: vec![worker(1, true), worker(2, false), worker(3, true)],
            ..Default::default()
        };
        let latency = Latency::default();
        for micros in [50, 200, 200, 3_000, 60_000_000] {
            latency.record(Duration::from_micros(micros));
        }
        let disk = DiskSpace { free: 5, total: 50 };
        let text = to_openmetrics(&status, Some(disk), &latency);
        let types: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE rlbayes_"))
            .collect();
        assert_eq!(
            types,
            [
                "best_score gauge",
                "best_age_seconds gauge",
                "elapsed_seconds gauge",
                "evaluations_per_second gauge",
                "chains gauge",
                "pool_size gauge",
                "pool_diversity gauge",
                "replicates gauge",
                "replicates_done gauge",
                "finished gauge",
                "journal_trouble gauge",
                "workers gauge",
                "cache_bytes gauge",
                "state_disk_free_bytes gauge",
                "state_disk_bytes gauge",
                "evaluations counter",
                "computed counter",
                "iterations counter",
                "exchanges counter",
                "refused_rows counter",
                "seeds_sent counter",
                "seeds_received counter",
                "seeds_entered counter",
                "seeds_made_current counter",
                "cache_hits counter",
                "cache_misses counter",
                "exchange_seconds histogram",
            ]
        );
        for line in [
            "# HELP rlbayes_best_score Best score in nats.",
            "rlbayes_best_score -1.5",
            "rlbayes_evaluations_total 7",
            "rlbayes_workers 2",
            "rlbayes_cache_bytes 200",
            "rlbayes_cache_hits_total{worker=\"1\"} 10",
            "rlbayes_cache_hits_total{worker=\"3\"} 30",
            "rlbayes_exchange_seconds_bucket{le=\"0.0001\"} 1",
            "rlbayes_exchange_seconds_bucket{le=\"0.00025\"} 3",
            "rlbayes_exchange_seconds_bucket{le=\"10.0\"} 4",
            "rlbayes_exchange_seconds_bucket{le=\"+Inf\"} 5",
            "rlbayes_exchange_seconds_count 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        assert!(!text.contains("worker=\"2\""), "it has left: {text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
