//! A directed graph that is acyclic by construction: every edge that would close a cycle is
//! refused. A topological order is maintained (Pearce and Kelly 2006), so that most legality
//! questions are one comparison.

use crate::ids::NodeIdx;
use thiserror::Error;

/// A directed acyclic graph over nodes `0..n`.
///
/// ```
/// use rlbayes_common::graph::Dag;
/// use rlbayes_common::ids::NodeIdx;
/// let (a, b) = (NodeIdx::new(0), NodeIdx::new(1));
/// let mut dag = Dag::empty(2);
/// dag.add_edge(a, b).unwrap();
/// assert!(dag.add_edge(b, a).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Dag {
    parents: Vec<Vec<NodeIdx>>,
    children: Vec<Vec<NodeIdx>>,
    /// Nodes in topological order, and each node's place in it.
    order: Vec<NodeIdx>,
    place: Vec<u32>,
}

/// Why an edge can't be added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EdgeError {
    /// The edge would close a cycle.
    #[error("the edge {from} -> {to} closes a cycle")]
    Cycle {
        /// Where the edge starts.
        from: NodeIdx,
        /// Where it ends.
        to: NodeIdx,
    },
    /// The edge is there already.
    #[error("the edge {from} -> {to} is there already")]
    Present {
        /// Where the edge starts.
        from: NodeIdx,
        /// Where it ends.
        to: NodeIdx,
    },
    /// The edge is not there.
    #[error("there is no edge {from} -> {to}")]
    Absent {
        /// Where the edge starts.
        from: NodeIdx,
        /// Where it ends.
        to: NodeIdx,
    },
}

/// Scratch space for reachability questions, so that asking allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct ReachScratch {
    stamp: u32,
    seen: Vec<u32>,
    stack: Vec<NodeIdx>,
    /// The nodes that an edge against the order moves, and the places that they share.
    moved: Vec<NodeIdx>,
    places: Vec<u32>,
}

impl ReachScratch {
    fn start(&mut self, n: usize) {
        // A walk may use the stamp after its own too: see `mark_ancestors`.
        if self.seen.len() < n || self.stamp >= u32::MAX - 2 {
            self.seen.clear();
            self.seen.resize(n, 0);
            self.stamp = 0;
        }
        self.stamp += 1;
        self.stack.clear();
    }

    fn visit(&mut self, node: NodeIdx) {
        if self.seen[node.index()] != self.stamp {
            self.seen[node.index()] = self.stamp;
            self.stack.push(node);
        }
    }
}

impl Dag {
    /// Returns the graph with `n` nodes and no edge.
    #[must_use]
    pub fn empty(n: usize) -> Self {
        Self {
            parents: vec![Vec::new(); n],
            children: vec![Vec::new(); n],
            order: NodeIdx::all(n).collect(),
            place: (0..n).map(place_number).collect(),
        }
    }

    /// Makes a graph from its edges.
    ///
    /// # Errors
    /// If an edge is listed twice or closes a cycle with the ones before it.
    pub fn from_edges(
        n: usize,
        edges: impl IntoIterator<Item = (NodeIdx, NodeIdx)>,
    ) -> Result<Self, EdgeError> {
        let mut dag = Self::empty(n);
        for (from, to) in edges {
            dag.add_edge(from, to)?;
        }
        Ok(dag)
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.parents.len()
    }

    /// Returns a node's parents in order.
    #[must_use]
    #[inline]
    pub fn parents(&self, node: NodeIdx) -> &[NodeIdx] {
        &self.parents[node.index()]
    }

    /// Returns a node's children in order.
    #[must_use]
    #[inline]
    pub fn children(&self, node: NodeIdx) -> &[NodeIdx] {
        &self.children[node.index()]
    }

    /// Returns whether the edge is there.
    #[must_use]
    #[inline]
    pub fn has_edge(&self, from: NodeIdx, to: NodeIdx) -> bool {
        self.parents[to.index()].binary_search(&from).is_ok()
    }

    /// Returns the number of edges.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.parents.iter().map(Vec::len).sum()
    }

    /// Returns the edges, ordered by child, then parent.
    pub fn edges(&self) -> impl Iterator<Item = (NodeIdx, NodeIdx)> + '_ {
        edges_of(&self.parents)
    }

    /// Returns the nodes in a topological order.
    #[must_use]
    pub fn topological_order(&self) -> &[NodeIdx] {
        &self.order
    }

    /// Returns a node's place in [`Self::topological_order`].
    #[must_use]
    #[inline]
    pub fn place(&self, node: NodeIdx) -> usize {
        self.place[node.index()] as usize
    }

    /// Returns whether adding the edge would close a cycle: one comparison when the maintained
    /// order already agrees with it, else a walk over the nodes between the two.
    #[must_use]
    #[inline]
    pub fn closes_cycle(&self, from: NodeIdx, to: NodeIdx, reach: &mut ReachScratch) -> bool {
        self.place(from) >= self.place(to) && self.reaches(to, from, reach)
    }

    /// Returns whether turning the edge `from -> to` round would close a cycle, that is, whether
    /// another path leads from `from` to `to`.
    #[must_use]
    pub fn reversal_closes_cycle(
        &self,
        from: NodeIdx,
        to: NodeIdx,
        reach: &mut ReachScratch,
    ) -> bool {
        let limit = self.place(to);
        let between =
            |&&child: &&NodeIdx| child != to && (self.place[child.index()] as usize) < limit;
        if !self.children(from).iter().any(|child| between(&child)) {
            return false;
        }
        reach.start(self.nodes());
        for &child in self.children(from).iter().filter(between) {
            reach.visit(child);
        }
        self.walk_to(to, limit, reach)
    }

    /// Returns whether a directed path leads from `start` to `goal` (a node reaches itself).
    #[must_use]
    pub fn reaches(&self, start: NodeIdx, goal: NodeIdx, reach: &mut ReachScratch) -> bool {
        if start == goal {
            return true;
        }
        reach.start(self.nodes());
        reach.visit(start);
        self.walk_to(goal, self.place(goal), reach)
    }

    /// Follows children from the stack until `goal`; nodes placed behind `limit` can't lead there.
    fn walk_to(&self, goal: NodeIdx, limit: usize, reach: &mut ReachScratch) -> bool {
        while let Some(node) = reach.stack.pop() {
            for &child in self.children(node) {
                if child == goal {
                    return true;
                }
                if self.place(child) < limit {
                    reach.visit(child);
                }
            }
        }
        false
    }

    /// Adds an edge.
    ///
    /// # Errors
    /// If it is there already or closes a cycle.
    pub fn add_edge(&mut self, from: NodeIdx, to: NodeIdx) -> Result<(), EdgeError> {
        self.add_edge_with(from, to, &mut ReachScratch::default())
    }

    /// Adds an edge without allocating scratch space.
    ///
    /// # Errors
    /// If it is there already or closes a cycle.
    pub fn add_edge_with(
        &mut self,
        from: NodeIdx,
        to: NodeIdx,
        reach: &mut ReachScratch,
    ) -> Result<(), EdgeError> {
        let Err(slot) = self.parents[to.index()].binary_search(&from) else {
            return Err(EdgeError::Present { from, to });
        };
        if self.place(from) >= self.place(to) {
            if self.reaches(to, from, reach) {
                return Err(EdgeError::Cycle { from, to });
            }
            self.move_before(from, to, reach);
        }
        self.parents[to.index()].insert(slot, from);
        let children = &mut self.children[from.index()];
        let slot = children.partition_point(|&child| child < to);
        children.insert(slot, to);
        Ok(())
    }

    /// Removes an edge.
    ///
    /// # Errors
    /// If it is not there.
    pub fn remove_edge(&mut self, from: NodeIdx, to: NodeIdx) -> Result<(), EdgeError> {
        let Ok(slot) = self.parents[to.index()].binary_search(&from) else {
            return Err(EdgeError::Absent { from, to });
        };
        self.parents[to.index()].remove(slot);
        let children = &mut self.children[from.index()];
        if let Ok(slot) = children.binary_search(&to) {
            children.remove(slot);
        }
        Ok(())
    }

    /// Moves `from` and its ancestors before `to` and its descendants, inside the stretch of the
    /// order between the two; the rest of the order stays as it is.
    fn move_before(&mut self, from: NodeIdx, to: NodeIdx, reach: &mut ReachScratch) {
        let (low, high) = (self.place(to), self.place(from));
        // The walk that found no cycle marked what `to` reaches below `high`.
        let descendant = reach.stamp;
        let ancestor = self.mark_ancestors(from, low, reach);
        let ReachScratch {
            seen,
            moved,
            places,
            ..
        } = reach;
        moved.clear();
        places.clear();
        for mark in [ancestor, descendant] {
            let stretch = self.order[low..=high].iter().copied();
            moved.extend(stretch.filter(|node| seen[node.index()] == mark));
        }
        places.extend(moved.iter().map(|node| self.place[node.index()]));
        places.sort_unstable();
        for (&node, &place) in moved.iter().zip(places.iter()) {
            self.place[node.index()] = place;
            self.order[place as usize] = node;
        }
    }

    /// Marks `node` and its ancestors behind the place `low`; returns their mark. They are none of
    /// the descendants that the walk before marked: there is no cycle.
    fn mark_ancestors(&self, node: NodeIdx, low: usize, reach: &mut ReachScratch) -> u32 {
        reach.stamp += 1;
        reach.stack.clear();
        reach.visit(node);
        while let Some(node) = reach.stack.pop() {
            for &parent in self.parents(node) {
                if self.place(parent) > low {
                    reach.visit(parent);
                }
            }
        }
        reach.stamp
    }
}

/// Two graphs are equal if they have the same edges; the maintained order does not count.
impl PartialEq for Dag {
    fn eq(&self, other: &Self) -> bool {
        self.parents == other.parents
    }
}

impl Eq for Dag {}

#[expect(
    clippy::cast_possible_truncation,
    reason = "at most NodeIdx::MAX_NODES nodes"
)]
fn place_number(index: usize) -> u32 {
    index as u32
}

/// Returns the edges that the parents of each node make, ordered by child, then parent.
pub(crate) fn edges_of<P: AsRef<[NodeIdx]>>(
    families: &[P],
) -> impl Iterator<Item = (NodeIdx, NodeIdx)> + '_ {
    NodeIdx::all(families.len())
        .zip(families)
        .flat_map(|(to, parents)| parents.as_ref().iter().map(move |&from| (from, to)))
}

/// Returns every acyclic graph over a few nodes, for tests.
#[cfg(test)]
pub(crate) fn all_dags(nodes: usize) -> impl Iterator<Item = Dag> {
    let pairs: Vec<(NodeIdx, NodeIdx)> = NodeIdx::all(nodes)
        .flat_map(|a| {
            let later = NodeIdx::all(nodes).filter(move |&b| a < b);
            later.map(move |b| (a, b))
        })
        .collect();
    // Each pair of nodes is a digit of base 3: no edge, one way, the other way.
    (0..3usize.pow(u32::try_from(pairs.len()).unwrap())).filter_map(move |mut code| {
        let mut edges = Vec::new();
        for &(a, b) in &pairs {
            match code % 3 {
                1 => edges.push((a, b)),
                2 => edges.push((b, a)),
                _ => {}
            }
            code /= 3;
        }
        Dag::from_edges(nodes, edges).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn node(index: usize) -> NodeIdx {
        NodeIdx::new(index)
    }

    /// Reachability by definition: the closure of the edge relation.
    fn closure(dag: &Dag) -> Vec<Vec<bool>> {
        let n = dag.nodes();
        let mut reaches = vec![vec![false; n]; n];
        for (i, row) in reaches.iter_mut().enumerate() {
            row[i] = true;
        }
        for (from, to) in dag.edges() {
            reaches[from.index()][to.index()] = true;
        }
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    reaches[i][j] |= reaches[i][k] && reaches[k][j];
                }
            }
        }
        reaches
    }

    proptest! {
        #[test]
        fn legality_and_order_agree_with_the_closure(
            steps in prop::collection::vec((0usize..9, 0usize..9), 1..120)
        ) {
            let mut dag = Dag::empty(9);
            let mut reach = ReachScratch::default();
            for (from, to) in steps {
                if from == to {
                    continue;
                }
                let (from, to) = (node(from), node(to));
                let closed = closure(&dag);
                if dag.has_edge(from, to) {
                    let mut without = dag.clone();
                    without.remove_edge(from, to).unwrap();
                    let other_path = closure(&without)[from.index()][to.index()];
                    prop_assert_eq!(dag.reversal_closes_cycle(from, to, &mut reach), other_path);
                    dag.remove_edge(from, to).unwrap();
                } else {
                    let cycle = closed[to.index()][from.index()];
                    prop_assert_eq!(dag.closes_cycle(from, to, &mut reach), cycle);
                    prop_assert_eq!(dag.add_edge_with(from, to, &mut reach).is_err(), cycle);
                }
                for (from, to) in dag.edges() {
                    prop_assert!(dag.place(from) < dag.place(to));
                    prop_assert!(dag.children(from).contains(&to));
                }
                for (place, &node) in dag.topological_order().iter().enumerate() {
                    prop_assert_eq!(dag.place(node), place);
                }
            }
        }
    }
}
