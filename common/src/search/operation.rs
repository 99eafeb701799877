//! The three operations on a network, their inverses, their legality on a plain graph, and the
//! uniform draw of a legal one that several searches share.

use super::constraints::Constraints;
use crate::graph::{Dag, ReachScratch};
use crate::ids::NodeIdx;
use crate::random::Random;

/// One operation on a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Adds the edge.
    Add(NodeIdx, NodeIdx),
    /// Removes the edge.
    Delete(NodeIdx, NodeIdx),
    /// Turns the edge round; named by the edge as it is before.
    Reverse(NodeIdx, NodeIdx),
}

impl Operation {
    /// Returns how many operations there are on `n` nodes, legal or not: 3 n (n - 1).
    #[must_use]
    pub fn count(n: usize) -> usize {
        3 * n * n.saturating_sub(1)
    }

    /// Returns the operation with a number below [`Self::count`].
    #[must_use]
    pub fn from_number(number: usize, n: usize) -> Self {
        let (kind, pair) = (number % 3, number / 3);
        let (from, rest) = (pair / (n - 1), pair % (n - 1));
        let to = if rest < from { rest } else { rest + 1 };
        let (from, to) = (NodeIdx::new(from), NodeIdx::new(to));
        match kind {
            0 => Self::Add(from, to),
            1 => Self::Delete(from, to),
            _ => Self::Reverse(from, to),
        }
    }

    /// Returns the operation's number.
    #[must_use]
    pub fn number(self, n: usize) -> usize {
        let (from, to) = self.edge();
        let (from, to) = (from.index(), to.index());
        let pair = from * (n - 1) + if to < from { to } else { to - 1 };
        let kind = match self {
            Self::Add(..) => 0,
            Self::Delete(..) => 1,
            Self::Reverse(..) => 2,
        };
        pair * 3 + kind
    }

    /// Returns the edge that the operation names.
    #[must_use]
    pub fn edge(self) -> (NodeIdx, NodeIdx) {
        match self {
            Self::Add(from, to) | Self::Delete(from, to) | Self::Reverse(from, to) => (from, to),
        }
    }

    /// Returns the operation that undoes this one; it is always legal after it.
    #[must_use]
    pub fn inverse(self) -> Self {
        match self {
            Self::Add(from, to) => Self::Delete(from, to),
            Self::Delete(from, to) => Self::Add(from, to),
            Self::Reverse(from, to) => Self::Reverse(to, from),
        }
    }

    /// Returns whether the operation can be carried out.
    #[must_use]
    pub fn is_legal(self, dag: &Dag, constraints: &Constraints, reach: &mut ReachScratch) -> bool {
        match self {
            Self::Add(from, to) => {
                !dag.has_edge(from, to)
                    && constraints.may_add(dag, from, to)
                    && !dag.closes_cycle(from, to, reach)
            }
            Self::Delete(from, to) => dag.has_edge(from, to) && !constraints.is_required(from, to),
            Self::Reverse(from, to) => {
                dag.has_edge(from, to)
                    && constraints.may_reverse(dag, from, to)
                    && !dag.reversal_closes_cycle(from, to, reach)
            }
        }
    }

    /// Carries a legal operation out.
    pub fn apply(self, dag: &mut Dag, reach: &mut ReachScratch) {
        let done = match self {
            Self::Add(from, to) => dag.add_edge_with(from, to, reach),
            Self::Delete(from, to) => dag.remove_edge(from, to),
            Self::Reverse(from, to) => dag
                .remove_edge(from, to)
                .and_then(|()| dag.add_edge_with(to, from, reach)),
        };
        debug_assert!(done.is_ok(), "the operation is legal");
    }

    /// Returns the nodes whose parents the operation changes.
    pub fn touched(self) -> impl Iterator<Item = NodeIdx> {
        let (from, to) = self.edge();
        let other = matches!(self, Self::Reverse(..)).then_some(from);
        std::iter::once(to).chain(other)
    }

    /// Draws a legal operation, each with the same chance; none if there is none.
    pub fn draw_legal(
        dag: &Dag,
        constraints: &Constraints,
        random: &mut Random,
        reach: &mut ReachScratch,
    ) -> Option<Self> {
        let n = dag.nodes();
        let all = Self::count(n);
        if all == 0 {
            return None;
        }
        for _ in 0..64 {
            let operation = Self::from_number(random.below(all), n);
            if operation.is_legal(dag, constraints, reach) {
                return Some(operation);
            }
        }
        let legal: Vec<Self> = (0..all)
            .map(|number| Self::from_number(number, n))
            .filter(|operation| operation.is_legal(dag, constraints, reach))
            .collect();
        random.pick(&legal).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Seed;

    #[test]
    fn numbers_name_every_operation_once() {
        let n = 5;
        let all: std::collections::BTreeSet<Operation> = (0..Operation::count(n))
            .map(|number| Operation::from_number(number, n))
            .collect();
        assert_eq!(all.len(), 60);
        assert!(
            all.iter()
                .all(|op| Operation::from_number(op.number(n), n) == *op)
        );
    }

    #[test]
    fn an_operation_then_its_inverse_restores_the_graph() {
        let constraints = Constraints::none(7);
        let mut random = Random::new(Seed(3));
        let mut reach = ReachScratch::default();
        let mut dag = Dag::empty(7);
        for _ in 0..2000 {
            let op = Operation::draw_legal(&dag, &constraints, &mut random, &mut reach).unwrap();
            let before = dag.clone();
            op.apply(&mut dag, &mut reach);
            let mut back = dag.clone();
            assert!(op.inverse().is_legal(&dag, &constraints, &mut reach));
            op.inverse().apply(&mut back, &mut reach);
            assert_eq!(back, before);
        }
    }

    #[test]
    fn legal_operations_are_drawn_evenly() {
        let constraints = Constraints::none(3);
        let mut random = Random::new(Seed(4));
        let mut reach = ReachScratch::default();
        let chain = [(0, 1), (1, 2)].map(|(a, b)| (NodeIdx::new(a), NodeIdx::new(b)));
        let dag = Dag::from_edges(3, chain).unwrap();
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..10_000 {
            let op = Operation::draw_legal(&dag, &constraints, &mut random, &mut reach).unwrap();
            *counts.entry(op).or_insert(0u32) += 1;
        }
        // Add 0 -> 2; delete both edges; turn both edges round.
        assert_eq!(counts.len(), 5);
        assert!(
            counts.values().all(|&count| (1800..2200).contains(&count)),
            "{counts:?}"
        );
    }
}
