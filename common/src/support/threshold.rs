//! The threshold of bnlearn's `inclusion.threshold` (Scutari and Nagarajan 2013).

/// Returns the threshold that is nearest in the L1 norm: among the distribution functions that jump
/// at 0 and 1 only, with value t between, the one nearest to that of the strengths is taken, and the
/// strength at its t is the threshold. `absent` pairs have strength 0.
///
/// The L1 distance between a monotone function F and a constant t over \[0, 1\] is least where t is
/// the median of F there, which is F(1/2). The strength at F(1/2) is the largest that is at most 1/2,
/// or the smallest where none is. It is no test of significance: people see it as information.
#[must_use]
pub fn inclusion_threshold(strengths: impl IntoIterator<Item = f64>, absent: usize) -> f64 {
    let zero = (absent > 0).then_some(0.0);
    let (mut below, mut least) = (zero, zero);
    for strength in strengths {
        if strength <= 0.5 {
            below = Some(below.map_or(strength, |best: f64| best.max(strength)));
        }
        least = Some(least.map_or(strength, |best: f64| best.min(strength)));
    }
    below.or(least).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By the definition: t from a fine grid, with the integral of |F - t|.
    fn by_definition(strengths: &[f64]) -> f64 {
        let mut sorted = strengths.to_vec();
        sorted.sort_by(f64::total_cmp);
        let share = |x: f64| {
            let at_most = sorted.iter().filter(|&&s| s <= x).count();
            at_most as f64 / sorted.len() as f64
        };
        let mut knots = vec![0.0];
        knots.extend(sorted.iter().copied().filter(|&s| s > 0.0 && s < 1.0));
        knots.push(1.0);
        let distance = |t: f64| -> f64 {
            let pieces = knots.windows(2);
            pieces
                .map(|piece| (piece[1] - piece[0]) * (share(piece[0]) - t).abs())
                .sum()
        };
        let values = knots.iter().map(|&knot| share(knot)).chain([0.0, 1.0]);
        let best =
            values.min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.total_cmp(&b)));
        let t = best.unwrap();
        sorted.iter().copied().find(|&s| share(s) >= t).unwrap()
    }

    proptest! {
        #[test]
        fn it_is_the_definitions(counts in prop::collection::vec(0u32..=20, 1..40)) {
            // A strength of exactly 1/2 has a whole interval of equally good t on one side.
            let strengths: Vec<f64> = counts.iter().map(|&c| f64::from(c) / 20.0 + 0.001).collect();
            let strengths: Vec<f64> = strengths.into_iter().map(|s| s.min(1.0)).collect();
            prop_assert!((inclusion_threshold(strengths.clone(), 0) - by_definition(&strengths)).abs() < 1e-12);
        }
    }

    #[test]
    fn absent_pairs_count() {
        assert!(inclusion_threshold([0.9, 1.0], 3).abs() < 1e-12);
        assert!((inclusion_threshold([0.9, 1.0], 0) - 0.9).abs() < 1e-12);
        assert!((inclusion_threshold([0.48, 0.2, 1.0], 30) - 0.48).abs() < 1e-12);
        assert!(inclusion_threshold([], 0).abs() < 1e-12);
    }
}
