//! Marks of equivalence classes, counted pair by pair.

use crate::graph::Cpdag;
use crate::ids::NodeIdx;
use std::collections::BTreeMap;

/// How often the edge between two variables, the first before the second in the table's order, was
/// directed either way or not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Networks with first -> second compelled.
    pub forward: u32,
    /// Networks with second -> first compelled.
    pub backward: u32,
    /// Networks with an edge that may point either way.
    pub undirected: u32,
}

impl Marks {
    /// Returns in how many networks there is an edge.
    #[must_use]
    pub fn joined(self) -> u32 {
        self.forward + self.backward + self.undirected
    }

    fn plus(self, other: Self) -> Self {
        Self {
            forward: self.forward + other.forward,
            backward: self.backward + other.backward,
            undirected: self.undirected + other.undirected,
        }
    }
}

/// Counts over networks of the same variables. Adding and merging go in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    nodes: usize,
    networks: u32,
    pairs: BTreeMap<(NodeIdx, NodeIdx), Marks>,
    edges: Edges,
}

/// Edges of the networks that were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Edges {
    sum: u64,
    least: Option<usize>,
    most: usize,
}

impl Tally {
    /// Begins with no network.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self {
            nodes,
            networks: 0,
            pairs: BTreeMap::new(),
            edges: Edges::default(),
        }
    }

    /// Counts the class of a network.
    pub fn add(&mut self, class: &Cpdag) {
        let mut mark = |pair: (NodeIdx, NodeIdx), marks: Marks| {
            let counted = self.pairs.entry(pair).or_default();
            *counted = counted.plus(marks);
        };
        for &(from, to) in class.directed() {
            let mut marks = Marks::default();
            if from < to {
                marks.forward = 1;
            } else {
                marks.backward = 1;
            }
            mark((from.min(to), from.max(to)), marks);
        }
        for &(a, b) in class.undirected() {
            let marks = Marks {
                undirected: 1,
                ..Marks::default()
            };
            mark((a, b), marks);
        }
        let edges = class.directed().len() + class.undirected().len();
        self.networks += 1;
        self.edges = self.edges.plus(Edges {
            sum: edges as u64,
            least: Some(edges),
            most: edges,
        });
    }

    /// Counts what another has counted, of other networks.
    pub fn merge(&mut self, other: &Self) {
        for (&pair, &marks) in &other.pairs {
            let counted = self.pairs.entry(pair).or_default();
            *counted = counted.plus(marks);
        }
        self.networks += other.networks;
        self.edges = self.edges.plus(other.edges);
    }

    /// Returns how many variables there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns how many networks were counted.
    #[must_use]
    pub fn networks(&self) -> u32 {
        self.networks
    }

    /// Returns the pairs that some network joins, in order.
    pub fn pairs(&self) -> impl Iterator<Item = ((NodeIdx, NodeIdx), Marks)> + '_ {
        self.pairs.iter().map(|(&pair, &marks)| (pair, marks))
    }

    /// Returns the marks of a pair, the lower node first.
    #[must_use]
    pub fn marks(&self, a: NodeIdx, b: NodeIdx) -> Marks {
        let marks = self.pairs.get(&(a.min(b), a.max(b))).copied();
        marks.unwrap_or_default()
    }

    /// Returns the least, the mean and the most edges of a network.
    #[must_use]
    pub fn edges(&self) -> (usize, f64, usize) {
        #[expect(
            clippy::cast_precision_loss,
            reason = "counts of edges, far below 2^53"
        )]
        let mean = self.edges.sum as f64 / f64::from(self.networks.max(1));
        (self.edges.least.unwrap_or(0), mean, self.edges.most)
    }
}

impl Edges {
    fn plus(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            least: self.least.into_iter().chain(other.least).min(),
            most: self.most.max(other.most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Dag, all_dags};
    use proptest::prelude::*;

    fn node(index: usize) -> NodeIdx {
        NodeIdx::new(index)
    }

    fn class(edges: &[(usize, usize)]) -> Cpdag {
        let edges = edges.iter().map(|&(a, b)| (node(a), node(b)));
        Cpdag::of(&Dag::from_edges(3, edges).unwrap())
    }

    #[test]
    fn reversible_edges_count_as_such_whichever_way_they_point() {
        // Two members of one class, and a collider.
        let mut tally = Tally::new(3);
        for edges in [[(0, 1), (1, 2)], [(2, 1), (1, 0)], [(0, 1), (2, 1)]] {
            tally.add(&class(&edges));
        }
        let marks = |forward, backward, undirected| Marks {
            forward,
            backward,
            undirected,
        };
        assert_eq!(tally.marks(node(0), node(1)), marks(1, 0, 2));
        assert_eq!(tally.marks(node(2), node(1)), marks(0, 1, 2));
        assert_eq!(tally.marks(node(0), node(2)), marks(0, 0, 0));
        assert_eq!(tally.edges(), (2, 2.0, 2));
    }

    proptest! {
        #[test]
        fn merging_goes_in_any_order(picks in prop::collection::vec((0usize..543, 0usize..3), 1..30)) {
            let dags: Vec<Dag> = all_dags(4).collect();
            let mut whole = Tally::new(4);
            let mut parts = vec![Tally::new(4); 3];
            for &(dag, part) in &picks {
                let class = Cpdag::of(&dags[dag]);
                whole.add(&class);
                parts[part].add(&class);
            }
            for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
                let mut merged = Tally::new(4);
                for part in order {
                    merged.merge(&parts[part]);
                }
                prop_assert_eq!(&merged, &whole);
            }
            for (_, marks) in whole.pairs() {
                prop_assert!(marks.joined() >= 1 && marks.joined() <= whole.networks());
            }
        }
    }
}
