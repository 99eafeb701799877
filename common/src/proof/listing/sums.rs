//! The sums of sets that were counted.

/// Sums by set, in order.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) sets: Vec<u128>,
    pub(super) sums: Vec<i64>,
}

/// Bytes of a set that is counted, and again while such sets are sorted and merged.
pub(super) const BYTES_COUNTED: usize = 2 * (size_of::<u128>() + size_of::<i64>());

impl Sums {
    /// Returns the sum of a set, if it is here. Sets are asked for in order; `at` is where the last
    /// one was.
    pub(super) fn find(&self, set: u128, at: &mut usize) -> Option<i64> {
        // By doubling steps from there: the next set is near.
        let mut step = 1;
        while *at + step < self.sets.len() && self.sets[*at + step] <= set {
            step *= 2;
        }
        let end = (*at + step).min(self.sets.len());
        let place = *at + self.sets[*at..end].partition_point(|&other| other < set);
        *at = place.min(self.sets.len().saturating_sub(1));
        (self.sets.get(place) == Some(&set)).then(|| self.sums[place])
    }

    /// Returns the sum of a set that is here.
    pub(super) fn get(&self, set: u128, at: &mut usize) -> i64 {
        let found = self.find(set, at);
        debug_assert!(found.is_some(), "the set was counted");
        found.unwrap_or(0)
    }
}
