//! How long exchanges take, as a histogram with fixed bounds.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper bounds of the buckets, in microseconds.
const BOUNDS: [u64; 12] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_500_000, 10_000_000,
];

/// A histogram of durations.
#[derive(Debug, Default)]
pub struct Latency {
    buckets: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    micros: AtomicU64,
}

impl Latency {
    /// Counts a duration.
    pub fn record(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if let Some(at) = BOUNDS.iter().position(|&bound| micros <= bound) {
            self.buckets[at].fetch_add(1, Relaxed);
        }
        self.count.fetch_add(1, Relaxed);
        self.micros.fetch_add(micros, Relaxed);
    }

    /// Writes the histogram for Prometheus.
    pub fn write(&self, text: &mut String) {
        let name = "rlbayes_exchange_seconds";
        // Writing to a String can't fail.
        let _ = writeln!(
            text,
            "# HELP {name} Time that exchanges took.\n# TYPE {name} histogram"
        );
        let mut sum = 0;
        for (bucket, bound) in self.buckets.iter().zip(BOUNDS) {
            sum += bucket.load(Relaxed);
            #[expect(clippy::cast_precision_loss, reason = "at most ten seconds")]
            let seconds = bound as f64 / 1e6;
            let _ = writeln!(text, "{name}_bucket{{le=\"{seconds}\"}} {sum}");
        }
        let count = self.count.load(Relaxed);
        let _ = writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {count}");
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        let seconds = self.micros.load(Relaxed) as f64 / 1e6;
        let _ = writeln!(text, "{name}_sum {seconds}\n{name}_count {count}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_add_up() {
        let latency = Latency::default();
        for micros in [50, 200, 200, 3_000, 60_000_000] {
            latency.record(Duration::from_micros(micros));
        }
        let mut text = String::new();
        latency.write(&mut text);
        assert!(text.contains("_bucket{le=\"0.0001\"} 1\n"), "{text}");
        assert!(text.contains("_bucket{le=\"0.00025\"} 3\n"), "{text}");
        assert!(text.contains("_bucket{le=\"10\"} 4\n"), "{text}");
        assert!(text.contains("_bucket{le=\"+Inf\"} 5\n"), "{text}");
        assert!(text.contains("_count 5\n"), "{text}");
    }
}
