//! A row worth sharing: a structure and its score. Families are shared pointers, so that rows that
//! differ in a few nodes cost little.

use crate::graph::{Dag, EdgeError};
use crate::ids::NodeIdx;
use crate::score::LogScore;
use std::sync::Arc;

/// A structure as the parents of each node, in order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Structure(Vec<Arc<[NodeIdx]>>);

/// A structure with its score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EliteRow {
    /// The network.
    pub structure: Structure,
    /// Its score.
    pub score: LogScore,
}

impl Structure {
    /// Wraps the parents of each node; whoever hands them in knows that they are acyclic.
    pub(crate) fn from_families(parents: Vec<Arc<[NodeIdx]>>) -> Self {
        Self(parents)
    }

    /// Copies the families of a graph.
    #[must_use]
    pub fn of(dag: &Dag) -> Self {
        Self(
            NodeIdx::all(dag.nodes())
                .map(|node| dag.parents(node).into())
                .collect(),
        )
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.0.len()
    }

    /// Returns a node's parents.
    #[must_use]
    pub fn parents(&self, node: NodeIdx) -> &[NodeIdx] {
        &self.0[node.index()]
    }

    /// Returns the parents of every node.
    #[must_use]
    pub fn families(&self) -> &[Arc<[NodeIdx]>] {
        &self.0
    }

    /// Returns the edges, ordered by child, then parent.
    pub fn edges(&self) -> impl Iterator<Item = (NodeIdx, NodeIdx)> + '_ {
        NodeIdx::all(self.nodes())
            .flat_map(move |to| self.parents(to).iter().map(move |&from| (from, to)))
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
            let (mine, theirs) = (&self.0[node.index()], &other.0[node.index()]);
            !Arc::ptr_eq(mine, theirs) && mine != theirs
        })
    }
}
