//! Markov equivalence: two networks are equivalent if they have the same skeleton and the same
//! v-structures (Verma and Pearl 1990). The class has a key, and a completed partially directed
//! graph (CPDAG) that shows which edges are compelled.

use super::dag::{Dag, ReachScratch};
use crate::ids::NodeIdx;
use std::collections::BTreeSet;

/// A name for a structure or an equivalence class: 256 bits of a cryptographic hash, the same on
/// every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StructureKey(pub [u8; 32]);

impl StructureKey {
    /// Names the equivalence class: skeleton and v-structures.
    #[must_use]
    pub fn of_class<P: AsRef<[NodeIdx]>>(parents: &[P]) -> Self {
        let is_parent =
            |from: NodeIdx, to: NodeIdx| parents[to.index()].as_ref().binary_search(&from).is_ok();
        let mut edges: Vec<(NodeIdx, NodeIdx)> = Vec::new();
        let mut colliders: Vec<(NodeIdx, NodeIdx, NodeIdx)> = Vec::new();
        for (to, family) in NodeIdx::all(parents.len()).zip(parents) {
            let family = family.as_ref();
            for (at, &a) in family.iter().enumerate() {
                edges.push((a.min(to), a.max(to)));
                for &b in &family[at + 1..] {
                    if !is_parent(a, b) && !is_parent(b, a) {
                        colliders.push((to, a, b));
                    }
                }
            }
        }
        edges.sort_unstable();
        colliders.sort_unstable();
        let mut hasher = blake3::Hasher::new();
        let mut number = |value: usize| {
            hasher.update(&(value as u64).to_le_bytes());
        };
        number(parents.len());
        number(edges.len());
        for (a, b) in edges {
            number(a.index());
            number(b.index());
        }
        for (to, a, b) in colliders {
            number(to.index());
            number(a.index());
            number(b.index());
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// Names the structure itself, for scores that tell equivalent networks apart.
    #[must_use]
    pub fn of_structure<P: AsRef<[NodeIdx]>>(parents: &[P]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for family in parents {
            hasher.update(&(family.as_ref().len() as u64).to_le_bytes());
            for parent in family.as_ref() {
                hasher.update(&(parent.index() as u64).to_le_bytes());
            }
        }
        Self(*hasher.finalize().as_bytes())
    }
}

/// A completed partially directed graph: the compelled edges of a class directed, the reversible
/// ones not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpdag {
    nodes: usize,
    directed: BTreeSet<(NodeIdx, NodeIdx)>,
    /// Pairs with the lower node first.
    undirected: BTreeSet<(NodeIdx, NodeIdx)>,
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
        let mut class = Self {
            nodes: dag.nodes(),
            directed: BTreeSet::new(),
            undirected: BTreeSet::new(),
        };
        let adjacent = |a, b| dag.has_edge(a, b) || dag.has_edge(b, a);
        for (from, to) in dag.edges() {
            let collider = dag
                .parents(to)
                .iter()
                .any(|&other| other != from && !adjacent(other, from));
            if collider {
                class.directed.insert((from, to));
            } else {
                class.undirected.insert((from.min(to), from.max(to)));
            }
        }
        class.close();
        class
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
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
        if self.directed.contains(&(a, b)) {
            Joined::Forward
        } else if self.directed.contains(&(b, a)) {
            Joined::Backward
        } else if self.undirected.contains(&(a.min(b), a.max(b))) {
            Joined::Undirected
        } else {
            Joined::No
        }
    }

    /// Returns a network of the class: undirected edges get directions that make no cycle and no
    /// new v-structure (Dor and Tarsi 1992). `None` if there is no such network.
    #[must_use]
    pub fn to_dag(&self) -> Option<Dag> {
        let n = self.nodes;
        let mut dag = Dag::from_edges(n, self.directed.iter().copied()).ok()?;
        let mut neighbours = vec![BTreeSet::new(); n];
        let mut adjacent = vec![BTreeSet::new(); n];
        for &(a, b) in &self.undirected {
            neighbours[a.index()].insert(b);
            neighbours[b.index()].insert(a);
        }
        for &(a, b) in self.undirected.iter().chain(&self.directed) {
            adjacent[a.index()].insert(b);
            adjacent[b.index()].insert(a);
        }
        let mut children: Vec<BTreeSet<NodeIdx>> = NodeIdx::all(n)
            .map(|node| dag.children(node).iter().copied().collect())
            .collect();
        let mut left: BTreeSet<NodeIdx> = NodeIdx::all(n).collect();
        let mut reach = ReachScratch::default();
        while !left.is_empty() {
            // A sink whose neighbours are joined to all that it is joined to can be the last node.
            let sink = left.iter().copied().find(|node| {
                children[node.index()].is_empty()
                    && neighbours[node.index()].iter().all(|&neighbour| {
                        adjacent[node.index()].iter().all(|&other| {
                            other == neighbour || adjacent[neighbour.index()].contains(&other)
                        })
                    })
            })?;
            for neighbour in std::mem::take(&mut neighbours[sink.index()]) {
                dag.add_edge_with(neighbour, sink, &mut reach).ok()?;
                neighbours[neighbour.index()].remove(&sink);
            }
            for other in std::mem::take(&mut adjacent[sink.index()]) {
                adjacent[other.index()].remove(&sink);
                children[other.index()].remove(&sink);
            }
            left.remove(&sink);
        }
        Some(dag)
    }

    /// Directs what the directed edges compel, by Meek's first three rules (the fourth is needed
    /// only with background knowledge).
    fn close(&mut self) {
        loop {
            let compelled: Vec<(NodeIdx, NodeIdx)> = self
                .undirected
                .iter()
                .flat_map(|&(a, b)| [(a, b), (b, a)])
                .filter(|&(a, b)| self.is_compelled(a, b))
                .collect();
            if compelled.is_empty() {
                return;
            }
            for (a, b) in compelled {
                if self.undirected.remove(&(a.min(b), a.max(b))) {
                    self.directed.insert((a, b));
                }
            }
        }
    }

    fn is_compelled(&self, a: NodeIdx, b: NodeIdx) -> bool {
        let into = |node: NodeIdx| {
            self.directed
                .iter()
                .filter(move |edge| edge.1 == node)
                .map(|edge| edge.0)
        };
        // 1: c -> a - b without c next to b.
        let away = into(a).any(|c| c != b && self.joined(c, b) == Joined::No);
        // 2: a -> c -> b.
        let chain = into(b).any(|c| self.directed.contains(&(a, c)));
        // 3: a - c -> b and a - d -> b without c next to d.
        let sides: Vec<NodeIdx> = into(b)
            .filter(|&c| self.joined(a, c) == Joined::Undirected)
            .collect();
        let kite = sides.iter().enumerate().any(|(at, &c)| {
            sides[at + 1..]
                .iter()
                .any(|&d| self.joined(c, d) == Joined::No)
        });
        away || chain || kite
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::all_dags;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn families(dag: &Dag) -> Vec<Vec<NodeIdx>> {
        NodeIdx::all(dag.nodes())
            .map(|node| dag.parents(node).to_vec())
            .collect()
    }

    #[test]
    fn the_543_networks_of_four_nodes_fall_into_185_classes() {
        let dags: Vec<Dag> = all_dags(4).collect();
        assert_eq!(dags.len(), 543);
        let mut classes: BTreeMap<StructureKey, Vec<&Dag>> = BTreeMap::new();
        for dag in &dags {
            classes
                .entry(StructureKey::of_class(&families(dag)))
                .or_default()
                .push(dag);
        }
        assert_eq!(classes.len(), 185);
        for members in classes.values() {
            let class = Cpdag::of(members[0]);
            // An edge is compelled exactly if all members of the class agree on it.
            for &dag in members {
                assert_eq!(Cpdag::of(dag), class);
            }
            for (from, to) in members[0].edges() {
                let agreed = members.iter().all(|dag| dag.has_edge(from, to));
                assert_eq!(agreed, class.directed().contains(&(from, to)));
            }
            let back = class.to_dag().unwrap();
            assert_eq!(Cpdag::of(&back), class);
        }
    }

    proptest! {
        #[test]
        fn a_network_of_the_class_has_the_class(
            edges in prop::collection::vec((0usize..12, 0usize..12), 0..40)
        ) {
            let mut dag = Dag::empty(12);
            for (a, b) in edges {
                if a != b {
                    let _ = dag.add_edge(NodeIdx::new(a.min(b)), NodeIdx::new(a.max(b)));
                }
            }
            let class = Cpdag::of(&dag);
            let back = class.to_dag().unwrap();
            prop_assert_eq!(Cpdag::of(&back), class);
            prop_assert_eq!(
                StructureKey::of_class(&families(&back)),
                StructureKey::of_class(&families(&dag))
            );
        }
    }
}
