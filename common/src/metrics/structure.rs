//! How close a learned structure is to the true one: directed edges, skeleton, equivalence class.

use crate::graph::{Cpdag, Dag, Joined};
use crate::ids::NodeIdx;

/// Comparison of a learned network with the true one over the same nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StructureMetrics {
    /// F1 of directed edges.
    pub f1_directed: f64,
    /// (TPR + TNR) / 2 of directed edges over the whole n x n matrix.
    pub auc: f64,
    /// F1 of edges without their direction.
    pub f1_skeleton: f64,
    /// Structural Hamming distance between the equivalence classes: pairs of nodes that are joined
    /// differently.
    pub shd_cpdag: usize,
}

/// Compares two networks over the same nodes.
///
/// ```
/// use rlbayes_common::graph::Dag;
/// use rlbayes_common::ids::NodeIdx;
/// use rlbayes_common::metrics::compare;
/// let dag = Dag::from_edges(2, [(NodeIdx::new(0), NodeIdx::new(1))]).unwrap();
/// assert_eq!(compare(&dag, &dag).shd_cpdag, 0);
/// ```
///
/// # Panics
/// If the two differ in the number of nodes.
#[must_use]
pub fn compare(truth: &Dag, learned: &Dag) -> StructureMetrics {
    assert_eq!(
        truth.nodes(),
        learned.nodes(),
        "networks over the same nodes"
    );
    let n = truth.nodes();
    let (true_edges, found_edges) = (truth.edge_count(), learned.edge_count());
    let right = learned
        .edges()
        .filter(|&(from, to)| truth.has_edge(from, to))
        .count();
    let right_skeleton = learned
        .edges()
        .filter(|&(from, to)| truth.has_edge(from, to) || truth.has_edge(to, from))
        .count();
    let wrong = found_edges - right;
    let absent = n * n - true_edges;
    let auc = (share(right, true_edges, 1.0) + share(absent - wrong, absent, 1.0)) / 2.0;
    StructureMetrics {
        f1_directed: f1(right, true_edges, found_edges),
        auc,
        f1_skeleton: f1(right_skeleton, true_edges, found_edges),
        shd_cpdag: class_differences(truth, learned).len(),
    }
}

/// 2 TP / (TP + FP + TP + FN); two empty graphs agree fully.
fn f1(right: usize, true_edges: usize, found_edges: usize) -> f64 {
    share(2 * right, true_edges + found_edges, 1.0)
}

fn share(part: usize, whole: usize, of_nothing: f64) -> f64 {
    if whole == 0 {
        return of_nothing;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of edges are far below 2^53"
    )]
    let share = part as f64 / whole as f64;
    share
}

/// How a pair of nodes is joined in the classes of two networks that differ there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassDifference {
    /// The lower node.
    pub lower: NodeIdx,
    /// The higher node.
    pub higher: NodeIdx,
    /// How the first network's class joins them, seen from the lower one.
    pub first: Joined,
    /// How the second one's does.
    pub second: Joined,
}

/// Returns the pairs of nodes that the classes of two networks over the same nodes join differently,
/// in order. What is only turned within its class is not among them.
#[must_use]
pub fn class_differences(first: &Dag, second: &Dag) -> Vec<ClassDifference> {
    differences(&Cpdag::of(first), &Cpdag::of(second))
}

fn differences(a: &Cpdag, b: &Cpdag) -> Vec<ClassDifference> {
    let pair = |&(from, to): &(NodeIdx, NodeIdx)| (from.min(to), from.max(to));
    let pairs: std::collections::BTreeSet<_> = a
        .directed()
        .iter()
        .chain(a.undirected())
        .chain(b.directed())
        .chain(b.undirected())
        .map(pair)
        .collect();
    let pairs = pairs.into_iter().map(|(lower, higher)| ClassDifference {
        lower,
        higher,
        first: a.joined(lower, higher),
        second: b.joined(lower, higher),
    });
    pairs.filter(|pair| pair.first != pair.second).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dag(n: usize, edges: &[(usize, usize)]) -> Dag {
        Dag::from_edges(
            n,
            edges
                .iter()
                .map(|&(a, b)| (NodeIdx::new(a), NodeIdx::new(b))),
        )
        .unwrap()
    }

    #[test]
    fn figures_of_a_small_example_agree_with_the_definitions() {
        // True: 0 -> 2 <- 1, 2 -> 3. Learned: 0 -> 2, 2 -> 1, 2 -> 3, 0 -> 3.
        let truth = dag(4, &[(0, 2), (1, 2), (2, 3)]);
        let learned = dag(4, &[(0, 2), (2, 1), (2, 3), (0, 3)]);
        let metrics = compare(&truth, &learned);
        // TP = 2, FP = 2, FN = 1.
        assert!((metrics.f1_directed - 4.0 / 7.0).abs() < 1e-12);
        assert!((metrics.auc - (2.0 / 3.0 + 11.0 / 13.0) / 2.0).abs() < 1e-12);
        assert!((metrics.f1_skeleton - 6.0 / 7.0).abs() < 1e-12);
        // Learned has no compelled edge: three edges lose their direction, one is extra.
        assert_eq!(metrics.shd_cpdag, 4);
    }

    #[test]
    fn equivalent_networks_have_distance_zero() {
        let metrics = compare(&dag(3, &[(0, 1), (1, 2)]), &dag(3, &[(2, 1), (1, 0)]));
        assert_eq!(metrics.shd_cpdag, 0);
        assert!((metrics.f1_skeleton - 1.0).abs() < 1e-12);
        assert!(metrics.f1_directed.abs() < 1e-12);
    }
}
