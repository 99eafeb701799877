//! Which node reaches which, kept as bits beside a graph that changes: a legality question is then
//! one look-up. Changes are noted when they happen and swept in together when the next question
//! comes, over the nodes that they can concern.

use super::dag::Dag;
use crate::ids::NodeIdx;

/// The descendants of every node.
#[derive(Clone, Debug)]
pub struct Closure {
    words: usize,
    descendants: Vec<u64>,
    /// Nodes whose children changed since the last sweep.
    noted: Vec<bool>,
    any_noted: bool,
    renewed: Vec<bool>,
    fresh: Vec<u64>,
}

impl Closure {
    /// Computes the closure of a graph.
    #[must_use]
    pub fn new(dag: &Dag) -> Self {
        let n = dag.nodes();
        let words = n.div_ceil(64);
        let mut closure = Self {
            words,
            descendants: vec![0; n * words],
            noted: vec![true; n],
            any_noted: true,
            renewed: vec![false; n],
            fresh: vec![0; words],
        };
        closure.sweep(dag);
        closure
    }

    /// Notes that the children of a node changed.
    #[inline]
    pub fn note(&mut self, parent: NodeIdx) {
        self.noted[parent.index()] = true;
        self.any_noted = true;
    }

    /// Brings the closure up to date with the graph.
    #[inline]
    pub fn sweep(&mut self, dag: &Dag) {
        if self.any_noted {
            self.sweep_noted(dag);
        }
    }

    /// Returns whether a directed path of at least one edge leads from `start` to `goal`, as of the
    /// last sweep.
    #[must_use]
    #[inline]
    pub fn reaches(&self, start: NodeIdx, goal: NodeIdx) -> bool {
        debug_assert!(!self.any_noted, "swept before it is asked");
        let goal = goal.index();
        self.descendants[start.index() * self.words + goal / 64] >> (goal % 64) & 1 == 1
    }

    /// Returns the nodes that a node reaches, a bit for each, as of the last sweep.
    #[must_use]
    #[inline]
    pub fn descendants(&self, start: NodeIdx) -> &[u64] {
        debug_assert!(!self.any_noted, "swept before it is asked");
        &self.descendants[start.index() * self.words..][..self.words]
    }

    /// Returns whether a path of at least two edges leads from a parent to its child, as of the last
    /// sweep: turning the edge round would then close a cycle.
    #[must_use]
    #[inline]
    pub fn has_detour(&self, dag: &Dag, parent: NodeIdx, child: NodeIdx) -> bool {
        dag.children(parent)
            .iter()
            .any(|&other| other != child && self.reaches(other, child))
    }

    fn sweep_noted(&mut self, dag: &Dag) {
        self.any_noted = false;
        let words = self.words;
        self.renewed.fill(false);
        // Behind the last node with changed children nothing can have changed.
        let mut begun = false;
        for &node in dag.topological_order().iter().rev() {
            let at = node.index();
            let noted = std::mem::take(&mut self.noted[at]);
            begun |= noted;
            if !begun {
                continue;
            }
            let children = dag.children(node);
            if !noted && !children.iter().any(|child| self.renewed[child.index()]) {
                continue;
            }
            self.fresh.fill(0);
            for child in children {
                let below = &self.descendants[child.index() * words..][..words];
                for (word, &more) in self.fresh.iter_mut().zip(below) {
                    *word |= more;
                }
                self.fresh[child.index() / 64] |= 1 << (child.index() % 64);
            }
            let known = &mut self.descendants[at * words..][..words];
            if *known != *self.fresh {
                known.copy_from_slice(&self.fresh);
                self.renewed[at] = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::ReachScratch;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_closure_agrees_with_a_walk_after_any_changes(
            batches in prop::collection::vec(
                prop::collection::vec((0usize..70, 0usize..70), 1..12), 1..20)
        ) {
            let mut dag = Dag::empty(70);
            let mut closure = Closure::new(&dag);
            let mut reach = ReachScratch::default();
            for batch in batches {
                for (from, to) in batch {
                    let (from, to) = (NodeIdx::new(from), NodeIdx::new(to));
                    if from == to {
                        continue;
                    }
                    if dag.remove_edge(from, to).is_err() {
                        let _ = dag.add_edge(from, to);
                    }
                    closure.note(from);
                }
                closure.sweep(&dag);
                for a in NodeIdx::all(70) {
                    for b in NodeIdx::all(70).filter(|&b| a != b) {
                        prop_assert_eq!(closure.reaches(a, b), dag.reaches(a, b, &mut reach));
                        if dag.has_edge(a, b) {
                            prop_assert_eq!(
                                closure.has_detour(&dag, a, b),
                                dag.reversal_closes_cycle(a, b, &mut reach)
                            );
                        }
                    }
                }
            }
        }
    }
}
