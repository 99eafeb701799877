//! How well support ranks and weighs pairs.

use rlbayes::SupportTable;
use rlbayes_common::graph::{Cpdag, Dag, Joined};
use rlbayes_common::ids::NodeIdx;

/// A pair of variables: its support, and whether the true network joins the two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Judged {
    pub(crate) strength: f64,
    pub(crate) is_true: bool,
}

/// Figures of one table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measures {
    pub(crate) auroc: f64,
    pub(crate) average_precision: f64,
    pub(crate) brier: f64,
    pub(crate) error_per_edge: f64,
    pub(crate) shd_consensus: f64,
    pub(crate) shd_best: f64,
}

/// Returns every pair of variables with its support.
pub(crate) fn judge(table: &SupportTable, truth: &Dag) -> Vec<Judged> {
    pairs(truth.nodes())
        .map(|(a, b)| Judged {
            strength: table.pair(a, b).strength(),
            is_true: truth.has_edge(a, b) || truth.has_edge(b, a),
        })
        .collect()
}

fn pairs(nodes: usize) -> impl Iterator<Item = (NodeIdx, NodeIdx)> {
    NodeIdx::all(nodes)
        .flat_map(move |a| NodeIdx::all(nodes).skip(a.index() + 1).map(move |b| (a, b)))
}

impl Measures {
    pub(crate) fn of(pairs: &[Judged], table: &SupportTable, truth: &Dag, best: &Dag) -> Self {
        let squares: f64 = pairs
            .iter()
            .map(|pair| (pair.strength - f64::from(u8::from(pair.is_true))).powi(2))
            .sum();
        let class = Cpdag::of(truth);
        Self {
            auroc: auroc(pairs),
            average_precision: average_precision(pairs),
            brier: squares / real(pairs.len()),
            error_per_edge: squares / real(truth.edge_count().max(1)),
            shd_consensus: shd(&class, |a, b| table.pair(a, b).commonest()),
            shd_best: {
                let best = Cpdag::of(best);
                shd(&class, |a, b| best.joined(a, b))
            },
        }
    }
}

/// Pairs whose mark differs from that of the true class.
fn shd(truth: &Cpdag, mark: impl Fn(NodeIdx, NodeIdx) -> Joined) -> f64 {
    real(
        pairs(truth.nodes())
            .filter(|&(a, b)| truth.joined(a, b) != mark(a, b))
            .count(),
    )
}

/// Pairs in groups of equal strength, the strongest first: (true ones, all).
fn groups(pairs: &[Judged]) -> Vec<(f64, f64)> {
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|a, b| b.strength.total_cmp(&a.strength));
    sorted
        .chunk_by(|a, b| a.strength.total_cmp(&b.strength).is_eq())
        .map(|group| {
            let is_true = group.iter().filter(|pair| pair.is_true).count();
            (real(is_true), real(group.len()))
        })
        .collect()
}

/// The chance that a true pair has more support than a false one; half for equal support.
fn auroc(pairs: &[Judged]) -> f64 {
    let (mut true_above, mut won, mut false_pairs) = (0.0, 0.0, 0.0);
    for (is_true, all) in groups(pairs) {
        let is_false = all - is_true;
        won += is_false * (true_above + is_true / 2.0);
        true_above += is_true;
        false_pairs += is_false;
    }
    won / (true_above * false_pairs)
}

/// Precision at each level of support, weighted by the recall that it adds.
fn average_precision(pairs: &[Judged]) -> f64 {
    let total: f64 = groups(pairs).iter().map(|(is_true, _)| is_true).sum();
    let (mut found, mut taken, mut sum) = (0.0, 0.0, 0.0);
    for (is_true, all) in groups(pairs) {
        found += is_true;
        taken += all;
        sum += is_true / total * (found / taken);
    }
    sum
}

#[expect(clippy::cast_precision_loss, reason = "counts of pairs")]
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(pairs: &[(f64, bool)]) -> Vec<Judged> {
        let pair = |&(strength, is_true)| Judged { strength, is_true };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn figures_are_those_worked_out_by_hand() {
        // The values of scikit-learn for these: 0.75 and 0.8333; with the tie 0.875 and 0.8333.
        let pairs = judged(&[(0.9, true), (0.6, false), (0.5, true), (0.1, false)]);
        assert!((auroc(&pairs) - 0.75).abs() < 1e-12);
        assert!((average_precision(&pairs) - (0.5 + 0.5 * 2.0 / 3.0)).abs() < 1e-12);
        let tied = judged(&[(0.9, true), (0.5, false), (0.5, true), (0.1, false)]);
        assert!((auroc(&tied) - 0.875).abs() < 1e-12);
        assert!((average_precision(&tied) - (0.5 + 0.5 * 2.0 / 3.0)).abs() < 1e-12);
    }
}
