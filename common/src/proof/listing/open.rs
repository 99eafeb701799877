//! The sets of one child that larger ones can be made of, found by their keys.

use rustc_hash::FxHasher;
use std::hash::Hasher;

/// What is known of a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// The best score of it and its subsets.
    pub(super) best: i64,
    pub(super) fit: i64,
    /// The sum over its cells, without the child.
    pub(super) sum: i64,
}

/// Sets of one size that larger ones could be made of, in order. The keys are those of the members
/// beyond the required parents.
#[derive(Debug, Default)]
pub(super) struct Open {
    pub(super) sets: Vec<(u128, Known)>,
    /// A hash table of places in `sets`, one more than they are; 0: free. At least twice as long.
    table: Vec<u32>,
}

/// Bytes of an open set, with its share of the hash table.
pub(super) const BYTES_OPEN: usize = size_of::<(u128, Known)>() + 4 * size_of::<u32>();

impl Open {
    /// Makes the hash table.
    pub(super) fn index(&mut self) {
        self.sets.shrink_to_fit();
        self.table = vec![0; (2 * self.sets.len()).next_power_of_two()];
        for (number, (key, _)) in (1..).zip(&self.sets) {
            let mut place = self.first_place(*key);
            while self.table[place] != 0 {
                place = (place + 1) & (self.table.len() - 1);
            }
            self.table[place] = number;
        }
    }

    fn first_place(&self, key: u128) -> usize {
        let mut hasher = FxHasher::default();
        hasher.write_u128(key);
        #[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
        let hash = hasher.finish() as usize;
        hash & (self.table.len() - 1)
    }

    pub(super) fn get(&self, key: u128) -> Option<&Known> {
        let mut place = self.first_place(key);
        loop {
            let number = self.table[place].checked_sub(1)?;
            let (other, known) = &self.sets[number as usize];
            if *other == key {
                return Some(known);
            }
            place = (place + 1) & (self.table.len() - 1);
        }
    }
}
