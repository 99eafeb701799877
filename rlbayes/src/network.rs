//! Networks as people hold them: read, written, compared, sampled and scored.

use crate::mapping::MappingError;
use crate::result_file::write_packed;
use crate::score::Score;
use crate::table::Table;
use rlbayes_common::data::sample;
use rlbayes_common::fit::{FitError, fit};
use rlbayes_common::graph::{Dag, Joined};
use rlbayes_common::ids::{NodeIdx, Seed};
use rlbayes_common::inference::InferenceError;
use rlbayes_common::io::WriteOptions;
use rlbayes_common::io::{
    Format, ReadError, UnknownEnding, WriteError, read_network, write_network,
};
use rlbayes_common::metrics::{StructureMetrics, class_differences, compare};
use rlbayes_common::network::{NamedDag, Network as Parametrised, NetworkError, NetworkFile};
use rlbayes_common::score::{LocalScore, ScoreSpecError, Scorer, Scratch};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// A Bayesian network: names and edges, and, once it is fitted, states and probabilities. It never
/// changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Network(NetworkFile);

/// How probabilities are counted from a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fit {
    /// Maximum likelihood; parent configurations that no row has get the uniform distribution.
    MaximumLikelihood,
    /// This number is added to every count.
    Smoothed(f64),
}

impl Fit {
    /// Returns what is added to every count.
    #[must_use]
    pub fn alpha(self) -> f64 {
        match self {
            Self::MaximumLikelihood => 0.0,
            Self::Smoothed(alpha) => alpha,
        }
    }
}

/// Why something can't be done with a network.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetworkUseError {
    /// A file cannot be read as a network.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The network cannot be written in that format.
    #[error("{}: {problem}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What stands in the way.
        problem: WriteError,
    },
    /// A file cannot be written.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        problem: std::io::Error,
    },
    /// A file's ending names no format.
    #[error(transparent)]
    Ending(#[from] UnknownEnding),
    /// Names and edges are not a network.
    #[error(transparent)]
    Parts(#[from] NetworkError),
    /// Probabilities cannot be counted.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The network has a node that the table does not have.
    #[error("the node \"{0}\" is not a column of the table")]
    UnknownNode(String),
    /// The network has no probabilities.
    #[error("the network has no probabilities; fit it to a table first")]
    NotFitted,
    /// A score's parameters are out of range.
    #[error(transparent)]
    Score(#[from] ScoreSpecError),
    /// Rows do not fit the network.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// The network has no such node.
    #[error("the network has no node {0:?}")]
    NoSuchNode(String),
    /// A node has no such state.
    #[error("the node {node:?} has no state {state:?} (it has {known})")]
    NoSuchState {
        /// The node.
        node: String,
        /// What was given.
        state: String,
        /// Its states.
        known: String,
    },
    /// A row has the probability 0.
    #[error(
        "row {0} has the probability 0 under the network, so nothing can be predicted from it; fit the network with a smoothing alpha"
    )]
    ImpossibleRow(usize),
    /// There is no exact answer.
    #[error(transparent)]
    Inference(#[from] InferenceError),
    /// Rows cannot be divided into folds.
    #[error(
        "{rows} rows cannot be divided into {folds} folds; expected 2 folds to as many as there are rows"
    )]
    Folds {
        /// The rows.
        rows: usize,
        /// The folds that were asked for.
        folds: usize,
    },
    /// Rows cannot be drawn.
    #[error("rows cannot be drawn: {0}")]
    Sample(String),
}

impl Network {
    /// Reads a network in any format that is read: BIF, XMLBIF, JSON, an edge list, an adjacency
    /// matrix or a model string, also gzipped.
    ///
    /// # Errors
    /// If the file cannot be read or is not a network; the message names file and line.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, NetworkUseError> {
        Ok(Self(read_network(path.as_ref())?))
    }

    /// Makes a network without probabilities from names in any order and edges between them.
    ///
    /// # Errors
    /// If a name or an edge is listed twice, or an edge names no node, leads to itself or closes a
    /// cycle.
    ///
    /// ```
    /// let chain = rlbayes::Network::from_edges(["a", "b", "c"], [("a", "b"), ("b", "c")])?;
    /// assert_eq!(chain.edges(), [("a", "b"), ("b", "c")]);
    /// # Ok::<(), rlbayes::NetworkUseError>(())
    /// ```
    pub fn from_edges<'a>(
        names: impl IntoIterator<Item = &'a str>,
        edges: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, NetworkUseError> {
        let names = names.into_iter().map(str::to_owned).collect();
        let named = NamedDag::new(names, edges)?;
        Ok(Self(NetworkFile::Structure(named)))
    }

    /// Writes the network; the ending chooses the format: .bif .xml .bifxml .dot .json .svg .png .pdf .csv
    /// (edge list) .graphml .txt (model string), each also with .gz. The file is there whole or not
    /// at all.
    ///
    /// # Errors
    /// If the ending names no format, the format cannot hold the network, or the disk refuses.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), NetworkUseError> {
        let path = path.as_ref();
        let format = Format::from_path(path)?;
        let options = WriteOptions::default();
        let bytes =
            write_network(format, &self.0, &options).map_err(|problem| NetworkUseError::Write {
                path: path.to_owned(),
                problem,
            })?;
        write_packed(path, bytes).map_err(|problem| NetworkUseError::File {
            path: path.to_owned(),
            problem,
        })
    }

    /// Returns the names of the nodes, in order.
    #[must_use]
    pub fn nodes(&self) -> Vec<&str> {
        match &self.0 {
            NetworkFile::Structure(named) => named.names().iter().map(String::as_str).collect(),
            NetworkFile::Parametrised(network) => network.schema().names().collect(),
        }
    }

    /// Returns the edges (from, to), ordered by child, then parent.
    #[must_use]
    pub fn edges(&self) -> Vec<(&str, &str)> {
        let nodes = self.nodes();
        let name = |node: NodeIdx| nodes[node.index()];
        let edges = self.dag().edges();
        edges.map(|(from, to)| (name(from), name(to))).collect()
    }

    /// Returns whether the network has probabilities.
    #[must_use]
    pub fn is_fitted(&self) -> bool {
        matches!(self.0, NetworkFile::Parametrised(_))
    }

    /// Counts probabilities for the network's structure from a table. Variables of the table that
    /// the network lacks become isolated nodes.
    ///
    /// # Errors
    /// If the network has a node that the table lacks, or a node's table of probabilities would be
    /// too large.
    pub fn fit(&self, table: &Table, how: Fit) -> Result<Self, NetworkUseError> {
        let dag = self
            .placed_on(table)
            .map_err(NetworkUseError::UnknownNode)?;
        let network = fit(table.data(), &dag, how.alpha())?;
        Ok(Self(NetworkFile::Parametrised(network)))
    }

    /// Draws rows from a fitted network.
    ///
    /// # Errors
    /// If the network has no probabilities, or there are too many rows.
    pub fn sample(&self, rows: usize, seed: u64) -> Result<Table, NetworkUseError> {
        let NetworkFile::Parametrised(network) = &self.0 else {
            return Err(NetworkUseError::NotFitted);
        };
        let table = sample(network, rows, Seed(seed))
            .map_err(|error| NetworkUseError::Sample(error.to_string()))?;
        Ok(Table::from_data("sample", table))
    }

    /// Returns the score of each node's family, in the table's order of variables; their sum is the
    /// score of the structure. The network's own probabilities play no part.
    ///
    /// # Errors
    /// If the network has a node that the table lacks, or the score's parameters are out of range.
    pub fn score_by_node(
        &self,
        table: &Table,
        score: Score,
    ) -> Result<Vec<(String, f64)>, NetworkUseError> {
        let dag = self
            .placed_on(table)
            .map_err(NetworkUseError::UnknownNode)?;
        let scorer = Scorer::new(Arc::clone(table.data()), score.spec(1.0)?);
        let mut scratch = Scratch::default();
        let parts = NodeIdx::all(dag.nodes()).zip(table.variables());
        Ok(parts
            .map(|(node, name)| {
                let part = scorer.local(node, dag.parents(node), &mut scratch);
                (name.to_owned(), part.value())
            })
            .collect())
    }

    /// Compares this network, as the true one, with a learned one. Nodes that only one of them has
    /// are isolated in the other.
    #[must_use]
    pub fn compare(&self, learned: &Self) -> StructureMetrics {
        let (_, truth, learned) = self.over_the_same_nodes(learned);
        compare(&truth, &learned)
    }

    /// Returns the pairs of nodes that the equivalence classes of this network and of another join
    /// differently, each with its names and how each of the two joins them (`->`, `<-`, `--`, or
    /// nothing). What is only turned within its class is not among them: data cannot tell it apart.
    #[must_use]
    pub fn class_differences(&self, other: &Self) -> Vec<(String, String, [&'static str; 2])> {
        let (names, first, second) = self.over_the_same_nodes(other);
        let shown = |joined| match joined {
            Joined::No => "",
            Joined::Undirected => "--",
            Joined::Forward => "->",
            Joined::Backward => "<-",
        };
        let name = |node: NodeIdx| names[node.index()].to_owned();
        let pairs = class_differences(&first, &second).into_iter();
        pairs
            .map(|pair| {
                let joined = [shown(pair.first), shown(pair.second)];
                (name(pair.lower), name(pair.higher), joined)
            })
            .collect()
    }

    /// Returns the names of both networks in order, and both graphs over them.
    fn over_the_same_nodes<'n>(&'n self, learned: &'n Self) -> (Vec<&'n str>, Dag, Dag) {
        let names: BTreeSet<&str> = self.nodes().into_iter().chain(learned.nodes()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let placed = |network: &Self| {
            let mut dag = Dag::empty(names.len());
            for (from, to) in network.edges() {
                if let (Ok(from), Ok(to)) = (names.binary_search(&from), names.binary_search(&to)) {
                    // The edges of an acyclic graph under other numbers.
                    let _ = dag.add_edge(NodeIdx::new(from), NodeIdx::new(to));
                }
            }
            dag
        };
        let (first, second) = (placed(self), placed(learned));
        (names, first, second)
    }

    /// Gives the structure the node numbers of a table; variables that it lacks are isolated.
    ///
    /// # Errors
    /// The name of a node that the table does not have.
    #[doc(hidden)]
    pub fn placed_on(&self, table: &Table) -> Result<Dag, String> {
        let schema = table.data().schema();
        let mut dag = Dag::empty(schema.len());
        for name in self.nodes() {
            if schema.find(name).is_none() {
                return Err(name.to_owned());
            }
        }
        for (from, to) in self.edges() {
            if let (Some(from), Some(to)) = (schema.find(from), schema.find(to)) {
                // The edges of an acyclic graph under other numbers.
                let _ = dag.add_edge(from, to);
            }
        }
        Ok(dag)
    }

    /// Returns the network with the graph over a table's variables.
    #[doc(hidden)]
    #[must_use]
    pub fn of(table: &Table, dag: Dag) -> Self {
        let named = NamedDag::of(table.data().schema(), dag);
        Self(NetworkFile::Structure(named))
    }

    /// Returns what formats read and write.
    #[doc(hidden)]
    #[must_use]
    pub fn file(&self) -> &NetworkFile {
        &self.0
    }

    /// Returns the network with its probabilities.
    pub(crate) fn parameters(&self) -> Result<&Parametrised, NetworkUseError> {
        match &self.0 {
            NetworkFile::Parametrised(network) => Ok(network),
            NetworkFile::Structure(_) => Err(NetworkUseError::NotFitted),
        }
    }

    fn dag(&self) -> &Dag {
        match &self.0 {
            NetworkFile::Structure(named) => named.dag(),
            NetworkFile::Parametrised(network) => network.dag(),
        }
    }
}

impl From<NetworkFile> for Network {
    /// Takes over what a format has read.
    fn from(file: NetworkFile) -> Self {
        Self(file)
    }
}
