//! The partially directed graph of an equivalence class (CPDAG): compelled edges are directed,
//! reversible ones are not. What is known beforehand (required and forbidden edges, tiers) directs
//! further edges; the graph then stands for the members of the class that keep it (Meek 1995).
//!
//! Every edge that is left undirected points one way in some member and the other way in another,
//! so the first member by name is found edge by edge without going back.

use super::dag::Dag;
use crate::ids::NodeIdx;
use std::collections::BTreeSet;

/// A completed partially directed graph, perhaps with edges that constraints direct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpdag {
    directed: BTreeSet<(NodeIdx, NodeIdx)>,
    /// Pairs with the lower node first.
    undirected: BTreeSet<(NodeIdx, NodeIdx)>,
    /// The same edges node by node: what points at it, what it points at, what it is joined to
    /// without direction.
    parents: Vec<BTreeSet<NodeIdx>>,
    children: Vec<BTreeSet<NodeIdx>>,
    neighbours: Vec<BTreeSet<NodeIdx>>,
}

/// How two nodes are joined in a partially directed graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// Not at all.
    No,
    /// By an edge without direction.
    Undirected,
    /// By an edge from the first to the second.
    Forward,
    /// By an edge from the second to the first.
    Backward,
}

impl Cpdag {
    /// Returns the class of a network: v-structures are compelled, and so is what follows from
    /// them by the rules of Meek (1995).
    #[must_use]
    pub fn of(dag: &Dag) -> Self {
        Self::of_constrained(dag, |_, _| false)
    }

    /// Returns the members of a network's class that agree with it on the edges that `is_fixed`
    /// names: what these edges compel is directed too.
    #[must_use]
    pub fn of_constrained(dag: &Dag, is_fixed: impl Fn(NodeIdx, NodeIdx) -> bool) -> Self {
        let adjacent = |a, b| dag.has_edge(a, b) || dag.has_edge(b, a);
        let mut class = Self::without_edges(dag.nodes());
        let mut waiting = Vec::new();
        for (from, to) in dag.edges() {
            let mut others = dag.parents(to).iter();
            let is_collider = others.any(|&other| other != from && !adjacent(other, from));
            class.join(from, to);
            if is_collider || is_fixed(from, to) {
                waiting.push((from, to));
            }
        }
        class.direct(waiting);
        class
    }

    /// Returns a network as a class of its own, for scores that tell equivalent networks apart:
    /// every edge is directed.
    #[must_use]
    pub fn of_structure(dag: &Dag) -> Self {
        Self::of_constrained(dag, |_, _| true)
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.parents.len()
    }

    /// Returns the compelled edges.
    #[must_use]
    pub fn directed(&self) -> &BTreeSet<(NodeIdx, NodeIdx)> {
        &self.directed
    }

    /// Returns the reversible edges, the lower node first.
    #[must_use]
    pub fn undirected(&self) -> &BTreeSet<(NodeIdx, NodeIdx)> {
        &self.undirected
    }

    /// Returns how two nodes are joined.
    #[must_use]
    pub fn joined(&self, a: NodeIdx, b: NodeIdx) -> Joined {
        if self.children[a.index()].contains(&b) {
            Joined::Forward
        } else if self.parents[a.index()].contains(&b) {
            Joined::Backward
        } else if self.neighbours[a.index()].contains(&b) {
            Joined::Undirected
        } else {
            Joined::No
        }
    }

    /// Returns the canonical member: the reversible edges are gone through in order of their lower
    /// node, then of their higher one, and each points from the lower to the higher unless the ones
    /// before it compel the other way. Nodes are numbered by name, so this is the order of names,
    /// and the result depends on names and class alone.
    ///
    /// The largest number of parents is the same in all members of a class: nodes joined without
    /// direction have the same compelled parents, and inside such a part, which is chordal, it is
    /// that of its largest clique less one. So the canonical member keeps a limit on parents if any
    /// member does.
    #[must_use]
    pub fn first_member(&self) -> Dag {
        let mut rest = self.clone();
        while let Some(&(lower, higher)) = rest.undirected.first() {
            rest.direct(vec![(lower, higher)]);
        }
        let mut dag = Dag::empty(self.nodes());
        for &(from, to) in &rest.directed {
            let added = dag.add_edge(from, to);
            debug_assert_eq!(added, Ok(()), "a class has a member");
        }
        dag
    }

    fn without_edges(nodes: usize) -> Self {
        Self {
            directed: BTreeSet::new(),
            undirected: BTreeSet::new(),
            parents: vec![BTreeSet::new(); nodes],
            children: vec![BTreeSet::new(); nodes],
            neighbours: vec![BTreeSet::new(); nodes],
        }
    }

    fn join(&mut self, a: NodeIdx, b: NodeIdx) {
        self.undirected.insert((a.min(b), a.max(b)));
        self.neighbours[a.index()].insert(b);
        self.neighbours[b.index()].insert(a);
    }

    /// Directs edges and, by Meek's four rules, whatever they compel.
    fn direct(&mut self, mut fresh: Vec<(NodeIdx, NodeIdx)>) {
        // All of them before any rule: half a v-structure would compel the wrong way.
        fresh.retain(|&(from, to)| self.turn(from, to));
        while let Some((from, to)) = fresh.pop() {
            // A rule that the edge completes is about an undirected edge at one of its ends or (the
            // fourth) between a neighbour of its start and a child of its end.
            let mut compelled = Vec::new();
            for node in [from, to] {
                for &other in &self.neighbours[node.index()] {
                    let ways = [(node, other), (other, node)].into_iter();
                    compelled.extend(ways.filter(|&(a, b)| self.is_compelled(a, b)));
                }
            }
            for &a in &self.neighbours[from.index()] {
                let shared = self.neighbours[a.index()].intersection(&self.children[to.index()]);
                let edges = shared.map(|&b| (a, b));
                compelled.extend(edges.filter(|&(a, b)| self.is_compelled(a, b)));
            }
            compelled.retain(|&(from, to)| self.turn(from, to));
            fresh.append(&mut compelled);
        }
    }

    /// Gives an undirected edge its direction; returns false if it had one.
    fn turn(&mut self, from: NodeIdx, to: NodeIdx) -> bool {
        let was_undirected = self.undirected.remove(&(from.min(to), from.max(to)));
        if was_undirected {
            self.directed.insert((from, to));
            self.neighbours[from.index()].remove(&to);
            self.neighbours[to.index()].remove(&from);
            self.children[from.index()].insert(to);
            self.parents[to.index()].insert(from);
        }
        was_undirected
    }

    /// Returns whether the undirected edge must point from `a` to `b`.
    fn is_compelled(&self, a: NodeIdx, b: NodeIdx) -> bool {
        let apart = |x, y| self.joined(x, y) == Joined::No;
        let into = |node: NodeIdx| self.parents[node.index()].iter().copied();
        let beside = |node: NodeIdx, other: NodeIdx| self.neighbours[node.index()].contains(&other);
        // 1: c -> a - b, with c and b apart.
        let away = into(a).any(|c| apart(c, b));
        // 2: a -> c -> b.
        let chain = || into(b).any(|c| self.children[a.index()].contains(&c));
        // 3: a - c -> b and a - d -> b, with c and d apart.
        let kite = || {
            let sides: Vec<NodeIdx> = into(b).filter(|&c| beside(a, c)).collect();
            let mut pairs = sides.iter().enumerate();
            pairs.any(|(at, &c)| sides[at + 1..].iter().any(|&d| apart(c, d)))
        };
        // 4: a - c -> d -> b and a next to d, with c and b apart.
        let detour = || {
            into(b).any(|d| !apart(a, d) && into(d).any(|c| c != b && beside(a, c) && apart(c, b)))
        };
        away || chain() || kite() || detour()
    }
}

#[cfg(test)]
mod tests;
