//! The threshold of bnlearn's `inclusion.threshold` (Scutari and Nagarajan 2013), to the digit: it is
//! there to be compared with bnlearn's.

/// Returns the threshold that is nearest in the L1 norm: among the distribution functions that jump
/// at 0 and 1 only, with value t between, the one nearest to that of the strengths is taken, and the
/// strength at its t is the threshold. `absent` pairs have strength 0.
///
/// The L1 distance between a monotone function F and a constant t over \[0, 1\] is least where t is
/// the median of F there, which is F(1/2); the strength at F(1/2) is the largest that is at most 1/2,
/// or the smallest where none is. bnlearn looks for t by a numerical search that ends within 1e-4 of
/// it. Where it ends above, its threshold is the next larger strength; so is this one. Both are
/// information: neither is a test of significance.
#[must_use]
pub fn inclusion_threshold(strengths: impl IntoIterator<Item = f64>, absent: usize) -> f64 {
    let mut sorted: Vec<f64> = strengths.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let steps = Steps::of(&sorted, absent);
    let distance = |t: f64| steps.distance(t);
    let mut t = least_between_0_and_1(distance);
    for end in [1.0, 0.0] {
        if distance(end) < distance(t) {
            t = end;
        }
    }
    steps.strength_at(t)
}

/// The distribution function of strengths.
struct Steps {
    /// Different strengths with the number of pairs that have at most so much.
    up_to: Vec<(f64, usize)>,
    pairs: usize,
}

impl Steps {
    fn of(sorted: &[f64], absent: usize) -> Self {
        let mut up_to: Vec<(f64, usize)> = Vec::new();
        if absent > 0 {
            up_to.push((0.0, absent));
        }
        let mut pairs = absent;
        for &strength in sorted {
            pairs += 1;
            match up_to.last_mut() {
                Some((known, count)) if known.total_cmp(&strength).is_eq() => *count = pairs,
                _ => up_to.push((strength, pairs)),
            }
        }
        Self { up_to, pairs }
    }

    /// Returns the integral of |F - t| over \[0, 1\], summed up with the rounding carried along: the
    /// search for the least value would otherwise part from R's, which adds up in more than 64 bits.
    fn distance(&self, t: f64) -> f64 {
        let heights = self
            .up_to
            .iter()
            .map(|&(_, count)| share(count, self.pairs));
        let heights = std::iter::once(0.0).chain(heights);
        let knots = self.up_to.iter().map(|&(strength, _)| strength);
        let mut from = 0.0;
        let (mut sum, mut rest): (f64, f64) = (0.0, 0.0);
        for (to, height) in knots.chain([1.0]).zip(heights) {
            let term = (to - from) * (height - t).abs();
            let added = sum + term;
            rest += match sum >= term {
                true => (sum - added) + term,
                false => (term - added) + sum,
            };
            (sum, from) = (added, to);
        }
        sum + rest
    }

    /// Returns the least strength that a share t of all pairs has at most (a quantile of R's type 1).
    fn strength_at(&self, t: f64) -> f64 {
        // As R does, so that rounding does not take the next one.
        const FUZZ: f64 = 4.0 * f64::EPSILON;
        let enough = |&&(_, count): &&(f64, usize)| real(count) >= real(self.pairs) * t - FUZZ;
        let found = self.up_to.iter().find(enough).or(self.up_to.last());
        found.map_or(0.0, |&(strength, _)| strength)
    }
}

fn share(count: usize, of: usize) -> f64 {
    real(count) / real(of)
}

#[expect(clippy::cast_precision_loss, reason = "counts of pairs")]
fn real(count: usize) -> f64 {
    count as f64
}

/// Looks for the least value between 0 and 1 by parabolas and golden sections (Brent 1973, chapter 5),
/// with the tolerance of R's `optimize`.
#[expect(
    clippy::float_cmp,
    reason = "places are compared with what they were set to"
)]
fn least_between_0_and_1(value: impl Fn(f64) -> f64) -> f64 {
    let golden = (3.0 - 5f64.sqrt()) / 2.0;
    let tolerance = f64::EPSILON.powf(0.25);
    let (mut low, mut high) = (0.0, 1.0);
    // The best place so far, the second best, and what was second best before.
    let (mut best, mut second, mut third) = (golden, golden, golden);
    let at = value(best);
    let (mut at_best, mut at_second, mut at_third) = (at, at, at);
    let (mut step, mut before): (f64, f64) = (0.0, 0.0);
    loop {
        let middle: f64 = (low + high) / 2.0;
        let near = f64::EPSILON.sqrt() * f64::abs(best) + tolerance / 3.0;
        if (best - middle).abs() <= 2.0 * near - (high - low) / 2.0 {
            return best;
        }
        let (mut p, mut q, mut last) = (0.0, 0.0, 0.0);
        if before.abs() > near {
            let r = (best - second) * (at_best - at_third);
            q = (best - third) * (at_best - at_second);
            p = (best - third) * q - (best - second) * r;
            q = 2.0 * (q - r);
            p = if q > 0.0 { -p } else { p };
            q = f64::abs(q);
            (last, before) = (before, step);
        }
        let is_parabola =
            f64::abs(p) < f64::abs(q * last / 2.0) && p > q * (low - best) && p < q * (high - best);
        if is_parabola {
            step = p / q;
            let next = best + step;
            if next - low < 2.0 * near || high - next < 2.0 * near {
                step = if best < middle { near } else { -near };
            }
        } else {
            before = if best < middle { high } else { low } - best;
            step = golden * before;
        }
        let next = best
            + match step.abs() >= near {
                true => step,
                false if step > 0.0 => near,
                false => -near,
            };
        let at_next = value(next);
        if at_next <= at_best {
            *(if next < best { &mut high } else { &mut low }) = best;
            (third, second, best) = (second, best, next);
            (at_third, at_second, at_best) = (at_second, at_best, at_next);
        } else {
            *(if next < best { &mut low } else { &mut high }) = next;
            if at_next <= at_second || second == best {
                (third, second) = (second, next);
                (at_third, at_second) = (at_second, at_next);
            } else if at_next <= at_third || third == best || third == second {
                (third, at_third) = (next, at_next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The strength at F(1/2), and the next larger one.
    fn by_definition(strengths: &[f64]) -> (f64, f64) {
        let mut sorted = strengths.to_vec();
        sorted.sort_by(f64::total_cmp);
        let below = sorted.iter().rfind(|&&s| s <= 0.5);
        let exact = *below.unwrap_or(&sorted[0]);
        let next = sorted.iter().find(|&&s| s > exact);
        (exact, *next.unwrap_or(&exact))
    }

    proptest! {
        #[test]
        fn it_is_the_strength_at_the_nearest_t_or_just_above(
            counts in prop::collection::vec(0u32..=20, 1..40),
            absent in 0usize..60,
        ) {
            let strengths: Vec<f64> = counts.iter().map(|&c| f64::from(c) / 20.0).collect();
            let found = inclusion_threshold(strengths.clone(), absent);
            let all: Vec<f64> = strengths.into_iter().chain(vec![0.0; absent]).collect();
            let (exact, next) = by_definition(&all);
            let is = |other: f64| (found - other).abs() < 1e-12;
            prop_assert!(is(exact) || is(next), "{found}: {exact} or {next}");
            // A strength of exactly 1/2 has a whole interval of equally good t below it.
            if (exact - 0.5).abs() < 1e-12 {
                prop_assert!(is(exact), "{found}");
            }
        }
    }

    #[test]
    fn it_is_what_r_computes() {
        // By R 4.2 with ecdf, optimize and quantile, as bnlearn 5 has it (tests/support/with_r.R).
        let of = |strengths: &[f64], absent| inclusion_threshold(strengths.iter().copied(), absent);
        let close =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        close(of(&[0.9, 1.0], 3), 0.9);
        close(of(&[0.9, 1.0], 0), 0.9);
        close(of(&[0.48, 0.2, 1.0], 30), 0.48);
        close(of(&[], 0), 0.0);
        close(of(&[], 7), 0.0);
        close(of(&[0.5, 0.5, 0.5], 0), 0.5);
    }
}
