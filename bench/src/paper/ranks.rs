//! Mean ranks over networks, Friedman's test of whether they differ at all, and Nemenyi's
//! difference from which on two of them differ (Demsar 2006).

use crate::statistics::chi_square_tail;

/// Which values are the good ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The highest has rank 1.
    HigherIsBetter,
    /// The lowest has rank 1.
    LowerIsBetter,
}

/// What the tests say about k searches on N networks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ranking {
    /// The mean rank of each search; 1 is best.
    pub(super) mean_ranks: Vec<f64>,
    /// Friedman's statistic, corrected for ties; chi-square with k - 1 degrees of freedom if all
    /// searches are alike.
    pub(super) statistic: f64,
    /// The probability of at least this statistic if all searches are alike.
    pub(super) p: f64,
    /// Nemenyi's critical difference at 5 %, where the published table reaches.
    pub(super) critical_difference: Option<f64>,
}

/// Ranks searches; `blocks` holds their values on each network. None of fewer than two searches or
/// networks, or if all values of each network are equal.
pub(super) fn rank(blocks: &[Vec<f64>], direction: Direction) -> Option<Ranking> {
    let networks = blocks.len() as f64;
    let k = blocks.first()?.len();
    if blocks.len() < 2 || k < 2 {
        return None;
    }
    let mean_ranks = mean_ranks(blocks, direction);
    let searches = k as f64;
    let middle = (searches + 1.0) / 2.0;
    let spread: f64 = mean_ranks.iter().map(|rank| (rank - middle).powi(2)).sum();
    let ties: f64 = blocks.iter().map(|block| tied(block)).sum();
    let correction = 1.0 - ties / (networks * (searches.powi(3) - searches));
    if correction <= 0.0 {
        return None;
    }
    let statistic = 12.0 * networks / (searches * (searches + 1.0)) * spread / correction;
    let critical_difference = NEMENYI_Q_05
        .get(k - 2)
        .map(|q| q * (searches * (searches + 1.0) / (6.0 * networks)).sqrt());
    Some(Ranking {
        mean_ranks,
        statistic,
        p: chi_square_tail(statistic, k - 1),
        critical_difference,
    })
}

/// Returns the mean rank of each search; equal values share the mean of their ranks.
pub(super) fn mean_ranks(blocks: &[Vec<f64>], direction: Direction) -> Vec<f64> {
    let k = blocks.first().map_or(0, Vec::len);
    let mut sums = vec![0.0; k];
    for block in blocks {
        for (sum, &value) in sums.iter_mut().zip(block) {
            let better = block.iter().filter(|&&other| match direction {
                Direction::HigherIsBetter => other > value,
                Direction::LowerIsBetter => other < value,
            });
            let equal = block.iter().filter(|other| other.total_cmp(&value).is_eq());
            *sum += better.count() as f64 + (equal.count() as f64 + 1.0) / 2.0;
        }
    }
    let networks = blocks.len() as f64;
    sums.into_iter().map(|sum| sum / networks).collect()
}

/// Returns the sum of t^3 - t over groups of t equal values.
fn tied(block: &[f64]) -> f64 {
    let mut sorted = block.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
        .chunk_by(|a, b| a.total_cmp(b).is_eq())
        .map(|group| (group.len() as f64).powi(3) - group.len() as f64)
        .sum()
}

/// q of the two-tailed Nemenyi test at 5 % for 2, 3, ... 10 searches (Demsar 2006, Table 5a).
const NEMENYI_Q_05: [f64; 9] = [
    1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 6 of Demsar 2006: AUC of four variants of a tree learner on 14 data sets.
    const DEMSAR: [[f64; 4]; 14] = [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ];

    #[test]
    fn the_worked_example_of_the_reference_comes_out() {
        let blocks: Vec<Vec<f64>> = DEMSAR.iter().map(|row| row.to_vec()).collect();
        let ranking = rank(&blocks, Direction::HigherIsBetter).unwrap();
        for (found, printed) in ranking.mean_ranks.iter().zip([3.143, 2.000, 2.893, 1.964]) {
            assert!((found - printed).abs() < 0.0006, "{found} {printed}");
        }
        // 9.28 as printed there, without the correction for ties.
        let uncorrected = 12.0 * 14.0 / 20.0
            * ranking
                .mean_ranks
                .iter()
                .map(|rank| (rank - 2.5).powi(2))
                .sum::<f64>();
        assert!((uncorrected - 9.28).abs() < 0.01, "{uncorrected}");
        assert!(ranking.statistic > uncorrected);
        assert!((ranking.critical_difference.unwrap() - 1.25).abs() < 0.005);
        assert!((0.01..0.03).contains(&ranking.p));
    }

    #[test]
    fn the_lowest_can_be_the_best_and_equals_share_ranks() {
        let blocks = [vec![1.0, 2.0, 2.0], vec![5.0, 6.0, 7.0]];
        assert_eq!(
            mean_ranks(&blocks, Direction::LowerIsBetter),
            [1.0, 2.25, 2.75]
        );
        assert_eq!(
            mean_ranks(&blocks, Direction::HigherIsBetter),
            [3.0, 1.75, 1.25]
        );
    }

    #[test]
    fn what_cannot_be_ranked_is_not() {
        assert_eq!(rank(&[], Direction::LowerIsBetter), None);
        assert_eq!(rank(&[vec![1.0, 2.0]], Direction::LowerIsBetter), None);
        let alike = [vec![1.0, 1.0], vec![2.0, 2.0]];
        assert_eq!(rank(&alike, Direction::LowerIsBetter), None);
    }
}
