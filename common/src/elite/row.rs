//! A row worth sharing: a structure and its score. Families are shared pointers, so that rows that
//! differ in a few nodes cost little.

use crate::graph::{Dag, EdgeError, StructureKey, edges_of};
use crate::ids::NodeIdx;
use crate::score::LogScore;
use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A structure as the parents of each node, in order. Copies share it, and its keys once they are
/// known.
#[derive(Clone)]
pub struct Structure(Arc<Shared>);

struct Shared {
    families: Vec<Arc<[NodeIdx]>>,
    of_class: OnceLock<StructureKey>,
    of_itself: OnceLock<StructureKey>,
}

/// A structure with its score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EliteRow {
    /// The network.
    pub structure: Structure,
    /// Its score.
    pub score: LogScore,
}

impl Structure {
    /// What a family takes beside its nodes: two counters and what the allocator adds.
    const ALLOCATED: usize = 32;

    /// Wraps the parents of each node; whoever hands them in knows that they are acyclic.
    pub(crate) fn from_families(parents: Vec<Arc<[NodeIdx]>>) -> Self {
        Self(Arc::new(Shared {
            families: parents,
            of_class: OnceLock::new(),
            of_itself: OnceLock::new(),
        }))
    }

    /// Copies the families of a graph.
    #[must_use]
    pub fn of(dag: &Dag) -> Self {
        Self::from_families(
            NodeIdx::all(dag.nodes())
                .map(|node| dag.parents(node).into())
                .collect(),
        )
    }

    /// Makes a structure of edges that may come from outside.
    ///
    /// # Errors
    /// If they hold a cycle or an edge twice.
    pub fn from_edges(
        nodes: usize,
        edges: impl IntoIterator<Item = (NodeIdx, NodeIdx)>,
    ) -> Result<Self, EdgeError> {
        Dag::from_edges(nodes, edges).map(|dag| Self::of(&dag))
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.0.families.len()
    }

    /// Returns a node's parents.
    #[must_use]
    pub fn parents(&self, node: NodeIdx) -> &[NodeIdx] {
        &self.0.families[node.index()]
    }

    /// Returns the parents of every node.
    #[must_use]
    pub fn families(&self) -> &[Arc<[NodeIdx]>] {
        &self.0.families
    }

    /// Returns about how many bytes it holds, families that it shares with others included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let pointer = size_of::<Arc<[NodeIdx]>>();
        self.families()
            .iter()
            .map(|family| pointer + Self::ALLOCATED + size_of_val(&**family))
            .sum()
    }

    /// Returns the same structure, with the families of `other` where they are alike, and about how many
    /// bytes it holds beside what it then shares.
    #[must_use]
    pub fn sharing(&self, other: &Self) -> (Self, usize) {
        if self.nodes() != other.nodes() {
            return (self.clone(), self.bytes());
        }
        let mut own = self.nodes() * size_of::<Arc<[NodeIdx]>>();
        let families = self.families().iter().zip(other.families());
        let families = families.map(|(family, known)| {
            let is_alike = family == known;
            if !is_alike {
                own += Self::ALLOCATED + size_of_val(&**family);
            }
            Arc::clone(if is_alike { known } else { family })
        });
        (Self::from_families(families.collect()), own)
    }

    /// Returns the key of its equivalence class.
    #[must_use]
    pub fn class_key(&self) -> StructureKey {
        *self
            .0
            .of_class
            .get_or_init(|| StructureKey::of_class(self.families()))
    }

    /// Returns the key of the structure itself.
    #[must_use]
    pub fn own_key(&self) -> StructureKey {
        *self
            .0
            .of_itself
            .get_or_init(|| StructureKey::of_structure(self.families()))
    }

    /// Returns the edges, ordered by child, then parent.
    pub fn edges(&self) -> impl Iterator<Item = (NodeIdx, NodeIdx)> + '_ {
        edges_of(self.families())
    }

    /// Makes a graph of it.
    ///
    /// # Errors
    /// If the structure, which may come from outside, holds a cycle or an edge twice.
    pub fn to_dag(&self) -> Result<Dag, EdgeError> {
        Dag::from_edges(self.nodes(), self.edges())
    }

    /// Returns the nodes whose parents differ.
    pub fn differing<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = NodeIdx> + 'a {
        NodeIdx::all(self.nodes()).filter(|&node| {
            let (mine, theirs) = (
                &self.0.families[node.index()],
                &other.0.families[node.index()],
            );
            !Arc::ptr_eq(mine, theirs) && mine != theirs
        })
    }
}

impl PartialEq for Structure {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.families == other.0.families
    }
}

impl Eq for Structure {}

impl PartialOrd for Structure {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Structure {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        self.0.families.cmp(&other.0.families)
    }
}

impl fmt::Debug for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Structure").field(&self.0.families).finish()
    }
}
