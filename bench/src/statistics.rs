//! The few statistics that the reports use.

use statrs::distribution::{Binomial, ChiSquared, ContinuousCDF, DiscreteCDF};
use statrs::statistics::Statistics;

/// Returns the middle value, or the mean of the middle two; none of nothing. Infinities are fine
/// and mean "never".
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = values[values.len() / 2 - 1];
    Some(if lower.total_cmp(&upper).is_eq() {
        upper
    } else {
        lower + (upper - lower) / 2.0
    })
}

/// Returns the mean; none of nothing.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the standard deviation of a sample; none of fewer than two values.
pub(crate) fn spread(values: &[f64]) -> Option<f64> {
    (values.len() > 1).then(|| values.std_dev())
}

/// Returns the value below which a share of all values lies, between two of them by proportion;
/// none of nothing.
pub(crate) fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let place = share.clamp(0.0, 1.0) * values.len().checked_sub(1)? as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in a list"
    )]
    let below = place.floor() as usize;
    let above = (below + 1).min(values.len() - 1);
    Some(values[below] + (values[above] - values[below]) * place.fract())
}

/// Returns the exponent k of y = c x^k by least squares on the logarithms; none of fewer than two
/// different x.
pub(crate) fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let mean_x = logs.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = logs.iter().map(|(_, y)| y).sum::<f64>() / count;
    let spread: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let common: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| common / spread)
}

/// Returns the probability of at least this imbalance of wins and losses by chance (two-sided sign
/// test; ties do not count).
pub(crate) fn sign_test(wins: u32, losses: u32) -> f64 {
    let coins = Binomial::new(0.5, u64::from(wins + losses));
    let tail = coins.map_or(1.0, |coins| coins.cdf(u64::from(wins.min(losses))));
    (2.0 * tail).min(1.0)
}

/// Returns the probability that a chi-square variable with so many degrees of freedom (at least 1)
/// is at least `x`.
pub(crate) fn chi_square_tail(x: f64, freedom: usize) -> f64 {
    ChiSquared::new(freedom as f64).map_or(1.0, |distribution| distribution.sf(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median([]), None);
    }

    #[test]
    fn mean_spread_and_quantiles_of_a_few_numbers() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), Some(5.0));
        assert!((spread(&values).unwrap() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.25), Some(1.75));
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 1.0), Some(4.0));
        assert_eq!(
            (mean(&[]), spread(&[1.0]), quantile(&[], 0.5)),
            (None, None, None)
        );
    }

    #[test]
    fn runs_that_never_arrive_are_longer_than_all_others() {
        let never = f64::INFINITY;
        assert_eq!(median([never, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([never, never, 2.0]), Some(never));
        assert_eq!(median([never, never]), Some(never));
        assert_eq!(median([1.0, never]), Some(never));
    }

    #[test]
    fn the_exponent_of_a_power_law_is_found() {
        let points: Vec<(f64, f64)> = [100.0, 200.0, 400.0, 1600.0f64]
            .map(|n| (n, 3.0 * n.powf(1.75)))
            .into();
        assert!((exponent(&points).unwrap() - 1.75).abs() < 1e-12);
        assert_eq!(exponent(&points[..1]), None);
        assert_eq!(exponent(&[]), None);
    }

    #[test]
    fn the_sign_test_knows_coins() {
        assert!((sign_test(5, 0) - 0.0625).abs() < 1e-12);
        assert!((sign_test(0, 5) - 0.0625).abs() < 1e-12);
        assert!((sign_test(3, 3) - 1.0).abs() < 1e-12);
        assert!((sign_test(9, 1) - 22.0 / 1024.0).abs() < 1e-12);
        assert!((sign_test(0, 0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn tails_agree_with_printed_tables() {
        // Quantiles of any statistics table.
        for (freedom, x, tail) in [
            (1, 3.841_458_820_694_124, 0.05),
            (1, 6.634_896_601_021_215, 0.01),
            (2, 5.991_464_547_107_98, 0.05),
            (6, 12.591_587_243_743_977, 0.05),
            (8, 15.507_313_055_865_453, 0.05),
            (8, 2.732_636_793_499_664, 0.95),
            (10, 29.588_298_445_074_42, 0.001),
            (100, 124.342_113_404_004_07, 0.05),
        ] {
            let found = chi_square_tail(x, freedom);
            assert!((found - tail).abs() < 1e-9, "{freedom} {x}: {found}");
        }
    }

    #[test]
    fn two_degrees_of_freedom_are_an_exponential() {
        for x in [0.1, 1.0, 3.9, 4.1, 20.0, 200.0] {
            let exact = (-x / 2.0f64).exp();
            assert!((chi_square_tail(x, 2) / exact - 1.0).abs() < 1e-12, "{x}");
        }
        assert!((chi_square_tail(0.0, 5) - 1.0).abs() < 1e-15);
    }
}
