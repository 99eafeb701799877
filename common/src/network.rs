//! A Bayesian network with names: what the formats read and write and what `fit` and `sample` use.

use crate::data::Schema;
use crate::graph::Dag;
use crate::ids::NodeIdx;
use std::sync::Arc;
use thiserror::Error;

/// A structure with names and no parameters, as an edge list holds it. Names are ordered bytewise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDag {
    names: Vec<String>,
    dag: Dag,
}

/// The conditional distribution of one node.
///
/// `probabilities[configuration * arity + state]`; a configuration is the mixed-radix number of
/// the parents' states, parents in node order, the last one running fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Cpt {
    /// The probabilities, one row of `arity` numbers per parent configuration.
    pub probabilities: Vec<f64>,
}

/// A structure with states and one distribution per node.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    schema: Arc<Schema>,
    dag: Dag,
    cpts: Vec<Cpt>,
}

/// What a network file holds: formats without parameters give a structure only.
#[derive(Clone, Debug, PartialEq)]
pub enum NetworkFile {
    /// Names and edges.
    Structure(NamedDag),
    /// Names, states, edges and probabilities.
    Parametrised(Network),
}

/// Why parts do not make a network.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NetworkError {
    /// Two nodes have one name.
    #[error("the node \"{0}\" appears twice")]
    DuplicateName(String),
    /// Graph, names and tables differ in size.
    #[error("{nodes} nodes but {names} names and {cpts} probability tables")]
    Sizes {
        /// Nodes of the graph.
        nodes: usize,
        /// Names given.
        names: usize,
        /// Tables given.
        cpts: usize,
    },
    /// A table has the wrong number of entries.
    #[error(
        "the probability table of \"{node}\" has {found} entries where {expected} were expected"
    )]
    TableSize {
        /// The node.
        node: String,
        /// What its states and parents ask for.
        expected: usize,
        /// What was given.
        found: usize,
    },
    /// A distribution is not one: an entry is negative or not a number, or the sum is not 1.
    #[error(
        "the probabilities of \"{node}\" in parent configuration {configuration} are not a distribution (they sum to {sum})"
    )]
    NotADistribution {
        /// The node.
        node: String,
        /// Which row of its table.
        configuration: usize,
        /// The sum found.
        sum: f64,
    },
    /// An edge names a node that is not there.
    #[error("the edge {from} -> {to} names a node that is not in the network")]
    UnknownNode {
        /// Where the edge starts.
        from: String,
        /// Where it ends.
        to: String,
    },
    /// An edge leads to its own start.
    #[error("the edge {0} -> {0} leads from a node to itself")]
    SelfLoop(String),
    /// An edge is listed twice.
    #[error("the edge {from} -> {to} is listed twice")]
    DuplicateEdge {
        /// Where the edge starts.
        from: String,
        /// Where it ends.
        to: String,
    },
    /// The edges hold a cycle.
    #[error("the network has a cycle: the edge {from} -> {to} closes it")]
    Cycle {
        /// Where the closing edge starts.
        from: String,
        /// Where it ends.
        to: String,
    },
}

impl NamedDag {
    /// Makes a structure from names in any order and edges between them.
    ///
    /// # Errors
    /// If a name or an edge is listed twice, or an edge names no node, leads to itself or closes
    /// a cycle.
    pub fn new<S: AsRef<str>>(
        mut names: Vec<String>,
        edges: impl IntoIterator<Item = (S, S)>,
    ) -> Result<Self, NetworkError> {
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(NetworkError::DuplicateName(pair[0].clone()));
        }
        let mut dag = Dag::empty(names.len());
        for (from, to) in edges {
            let (from, to) = (from.as_ref(), to.as_ref());
            if from == to {
                return Err(NetworkError::SelfLoop(from.to_owned()));
            }
            let find = |name: &str| {
                names
                    .binary_search_by(|known| known.as_str().cmp(name))
                    .ok()
                    .map(NodeIdx::new)
            };
            let (Some(a), Some(b)) = (find(from), find(to)) else {
                let (from, to) = (from.to_owned(), to.to_owned());
                return Err(NetworkError::UnknownNode { from, to });
            };
            let (from, to) = (from.to_owned(), to.to_owned());
            if dag.has_edge(a, b) {
                return Err(NetworkError::DuplicateEdge { from, to });
            }
            dag.add_edge(a, b)
                .map_err(|_| NetworkError::Cycle { from, to })?;
        }
        Ok(Self { names, dag })
    }

    /// Puts names to a graph whose nodes already follow the order of the names.
    #[must_use]
    pub fn of(schema: &Schema, dag: Dag) -> Self {
        debug_assert_eq!(schema.len(), dag.nodes());
        Self {
            names: schema.names().map(str::to_owned).collect(),
            dag,
        }
    }

    /// Returns the names in order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the graph.
    #[must_use]
    pub fn dag(&self) -> &Dag {
        &self.dag
    }

    /// Returns a node's name.
    #[must_use]
    pub fn name(&self, node: NodeIdx) -> &str {
        &self.names[node.index()]
    }

    /// Returns the edges as pairs of names, ordered by child, then parent.
    pub fn named_edges(&self) -> impl Iterator<Item = (&str, &str)> + '_ {
        self.dag
            .edges()
            .map(|(from, to)| (self.name(from), self.name(to)))
    }
}

impl Cpt {
    /// The largest table that is read or fitted.
    pub const MAX_ENTRIES: usize = 1 << 26;
}

impl Network {
    /// How far from 1 the sum of a distribution may be: files carry few digits.
    pub const SUM_TOLERANCE: f64 = 1e-3;

    /// Makes a network and checks it.
    ///
    /// # Errors
    /// If sizes do not fit or a distribution is not one.
    pub fn new(
        schema: impl Into<Arc<Schema>>,
        dag: Dag,
        cpts: Vec<Cpt>,
    ) -> Result<Self, NetworkError> {
        let schema = schema.into();
        if schema.len() != dag.nodes() || cpts.len() != dag.nodes() {
            let (nodes, names, cpts) = (dag.nodes(), schema.len(), cpts.len());
            return Err(NetworkError::Sizes { nodes, names, cpts });
        }
        for (node, cpt) in NodeIdx::all(dag.nodes()).zip(&cpts) {
            let name = || schema.variable(node).name().to_owned();
            let arity = schema.variable(node).arity();
            let expected = dag.parents(node).iter().fold(arity, |size, &parent| {
                size.saturating_mul(schema.variable(parent).arity())
            });
            let found = cpt.probabilities.len();
            if found != expected {
                return Err(NetworkError::TableSize {
                    node: name(),
                    expected,
                    found,
                });
            }
            for (configuration, row) in cpt.probabilities.chunks(arity).enumerate() {
                let sum: f64 = row.iter().sum();
                let proper = row.iter().all(|&p| p >= 0.0);
                if !proper || (sum - 1.0).abs() > Self::SUM_TOLERANCE || !sum.is_finite() {
                    return Err(NetworkError::NotADistribution {
                        node: name(),
                        configuration,
                        sum,
                    });
                }
            }
        }
        Ok(Self { schema, dag, cpts })
    }

    /// Returns the variables.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Returns the graph.
    #[must_use]
    pub fn dag(&self) -> &Dag {
        &self.dag
    }

    /// Returns a node's distribution.
    #[must_use]
    pub fn cpt(&self, node: NodeIdx) -> &Cpt {
        &self.cpts[node.index()]
    }

    /// Returns the structure with its names.
    #[must_use]
    pub fn named_dag(&self) -> NamedDag {
        NamedDag::of(&self.schema, self.dag.clone())
    }
}

impl NetworkFile {
    /// Returns the structure with its names.
    #[must_use]
    pub fn named_dag(&self) -> NamedDag {
        match self {
            Self::Structure(named) => named.clone(),
            Self::Parametrised(network) => network.named_dag(),
        }
    }
}
