//! The one random generator of the project: named and portable, so that a seed means the same
//! trace on every machine and with every version of the rand crate's own default generators.

use crate::ids::Seed;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded generator (xoshiro256++).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Starts from a seed.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed.0))
    }

    /// Returns a whole number below `limit`, each with the same chance (Lemire's method).
    ///
    /// # Panics
    /// If `limit` is 0.
    #[inline]
    pub fn below(&mut self, limit: usize) -> usize {
        assert!(limit > 0, "nothing to choose from");
        let limit = limit as u64;
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(limit);
            #[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
            let low = product as u64;
            if low >= limit || low >= limit.wrapping_neg() % limit {
                #[expect(clippy::cast_possible_truncation, reason = "below limit, a usize")]
                return (product >> 64) as usize;
            }
        }
    }

    /// Returns a number in [0, 1) with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let bits = (self.0.next_u64() >> 11) as f64;
        bits * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Returns true with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Returns one of the items, each with the same chance.
    #[inline]
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        (!items.is_empty()).then(|| &items[self.below(items.len())])
    }

    /// Puts the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
