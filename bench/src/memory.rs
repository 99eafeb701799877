//! Whether the memory of a process is flat: the first third of a run is warm-up, and the medians of
//! the other two are compared. A single sample means little, since allocators fluctuate.

use rlbayes::machine::resident_bytes_of;
use rlbayes::units::show_bytes;

/// The memory of a process over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryCurve(Vec<u64>);

impl MemoryCurve {
    /// Samples a process; returns whether it is still there.
    pub(crate) fn sample(&mut self, process: u32) -> bool {
        let held = resident_bytes_of(process);
        self.0.push(held);
        held > 0
    }

    /// Returns what was seen, in bytes.
    pub(crate) fn samples(&self) -> &[u64] {
        &self.0
    }

    /// Returns the largest sample.
    pub(crate) fn most(&self) -> u64 {
        self.0.iter().copied().max().unwrap_or(0)
    }

    /// Returns the medians of the middle and of the last third.
    pub(crate) fn thirds(&self) -> (u64, u64) {
        let third = self.0.len() / 3;
        (
            middle_of(&self.0[third..2 * third]),
            middle_of(&self.0[2 * third..]),
        )
    }

    /// Returns by how many percent the last third is above the middle one.
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    pub(crate) fn growth(&self) -> f64 {
        let (middle, last) = self.thirds();
        100.0 * (last as f64 / middle.max(1) as f64 - 1.0)
    }
}

fn middle_of(samples: &[u64]) -> u64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

/// Writes bytes for people.
pub(crate) fn shown(bytes: u64) -> String {
    show_bytes(usize::try_from(bytes).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_after_warm_up_is_not_fluctuation() {
        let grows = MemoryCurve((0..90).map(|at| 1000 + at * 10).collect());
        assert_eq!(grows.thirds(), (1450, 1750));
        assert!(grows.growth() > 20.0);
        let warms_up = (0..90u64).map(|at| (at * 100).min(2500) + at % 3);
        let fluctuates = MemoryCurve(warms_up.collect());
        assert!(fluctuates.growth().abs() < 0.1, "{}", fluctuates.growth());
        assert_eq!(fluctuates.most(), 2502);
        assert_eq!(MemoryCurve::default().thirds(), (0, 0));
    }
}
