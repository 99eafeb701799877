//! The one random generator of the project: named and portable (xoshiro256++, Blackman and Vigna
//! 2019), so that a seed means the same trace on every machine; its state can be stored.
//!
//! Why not `rand_xoshiro` itself: it hands its state out through serde alone, a detour through a
//! serialiser for four numbers that every stored chain has, to save the nine lines of
//! [`Random::bits`]; a test compares them with it. Why not the methods of rand's `RngExt`: they
//! draw numbers below a limit and chances in other ways from release to release, and a seed must
//! keep its trace.

use crate::ids::Seed;
use rand::TryRng;
use std::convert::Infallible;

/// A seeded xoshiro256++ generator; works with everything in the `rand` crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random([u64; 4]);

impl Random {
    /// Starts from a seed.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self(std::array::from_fn(|word| seed.mix(word as u64).0))
    }

    /// Resumes from a stored state; all zeros, which no generator ever has, counts as seed 0.
    #[must_use]
    pub fn from_state(state: [u64; 4]) -> Self {
        if state == [0; 4] {
            Self::new(Seed(0))
        } else {
            Self(state)
        }
    }

    /// Returns the state, for storing.
    #[must_use]
    pub fn state(&self) -> [u64; 4] {
        self.0
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
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
            let product = u128::from(self.bits()) * u128::from(limit);
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
        let bits = (self.bits() >> 11) as f64;
        bits * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Returns true with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Returns a normally distributed number with mean 0 and variance 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Returns a number of Student's distribution with `freedom` > 0 degrees of freedom (Bailey
    /// 1994): sqrt(k (U^(-2/k) - 1)) cos(2 pi V), which is Cauchy for 1 and nears the normal
    /// distribution for many.
    pub fn student_t(&mut self, freedom: f64) -> f64 {
        let tail = libm::expm1(-2.0 / freedom * libm::log(1.0 - self.unit()));
        libm::sqrt(freedom * tail) * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Returns a number of the standard Cauchy distribution.
    pub fn cauchy(&mut self) -> f64 {
        libm::tan(std::f64::consts::PI * (self.unit() - 0.5))
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

impl TryRng for Random {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.bits() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.bits())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.bits().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};

    #[test]
    fn the_bits_are_those_of_the_named_generator() {
        let state = [1u64, 2, 3, 4];
        let mut seed = [0u8; 32];
        for (bytes, word) in seed.chunks_mut(8).zip(state) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let mut theirs = rand_xoshiro::Xoshiro256PlusPlus::from_seed(seed);
        let mut ours = Random::from_state(state);
        for _ in 0..1000 {
            assert_eq!(ours.bits(), theirs.next_u64());
        }
        let mut again = Random::from_state(ours.state());
        assert_eq!(again.bits(), ours.bits());
    }

    /// Shares of draws below -1, 0 and 1.
    fn shares(mut draw: impl FnMut() -> f64) -> [f64; 3] {
        let draws: Vec<f64> = (0..40_000).map(|_| draw()).collect();
        [-1.0, 0.0, 1.0]
            .map(|limit| draws.iter().filter(|&&it| it < limit).count() as f64 / 40_000.0)
    }

    #[test]
    fn students_distribution_lies_between_cauchy_and_normal() {
        let mut random = Random::new(Seed(8));
        // The distribution functions at -1: 1/4 for Cauchy, 0.211325 for 2 degrees, 0.158655.
        for (below, drawn) in [
            (0.25, shares(|| random.cauchy())),
            (0.25, shares(|| random.student_t(1.0))),
            (0.211_325, shares(|| random.student_t(2.0))),
            (0.158_655, shares(|| random.student_t(1e9))),
            (0.158_655, shares(|| random.normal())),
        ] {
            for (share, expected) in drawn.into_iter().zip([below, 0.5, 1.0 - below]) {
                assert!((share - expected).abs() < 0.01, "{drawn:?}");
            }
        }
    }

    #[test]
    fn numbers_below_a_limit_are_evenly_spread() {
        let mut random = Random::new(Seed(7));
        let mut counts = [0u32; 5];
        for _ in 0..50_000 {
            counts[random.below(5)] += 1;
        }
        assert!(
            counts.iter().all(|&count| (9_500..10_500).contains(&count)),
            "{counts:?}"
        );
    }
}
