//! Networks: read, written, fitted, sampled, scored, asked.

use crate::failure;
use crate::settings::score_of;
use crate::signals::abandonable;
use crate::table::Table;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rlbayes::provenance::ProvenanceNotes;
use rlbayes::{Fit, write_packed};
use rlbayes_common::graph::Cpdag;
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::io::{
    Around, Format, WriteOptions, parse_document, read_document, write_network,
};
use rlbayes_common::network::NetworkFile;
use rlbayes_common::score::{LocalScore, ScoreSpec, Scorer, Scratch};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A network; it never changes.
#[pyclass(frozen, module = "rlbayes._engine")]
pub(crate) struct Network {
    pub(crate) inner: rlbayes::Network,
    /// What a search says about the class; else it follows from the graph alone.
    pub(crate) class: Option<Cpdag>,
    pub(crate) notes: ProvenanceNotes,
}

/// Pairs of names.
type Pairs = Vec<(String, String)>;

impl Network {
    pub(crate) fn plain(inner: rlbayes::Network) -> Self {
        Self {
            inner,
            class: None,
            notes: ProvenanceNotes::default(),
        }
    }

    fn bytes(&self, format: Format, around: Option<&str>, strict: bool) -> PyResult<Vec<u8>> {
        let options = WriteOptions {
            strict_names: strict,
            class: self.class.as_ref(),
            provenance: Some(self.notes.of(format)),
            around: around.map(Around::node),
            ..WriteOptions::default()
        };
        write_network(format, self.inner.file(), &options).map_err(failure::input)
    }

    fn fitted(&self) -> PyResult<&rlbayes_common::network::Network> {
        match self.inner.file() {
            NetworkFile::Parametrised(network) => Ok(network),
            NetworkFile::Structure(_) => Err(failure::input(
                "the network has no probabilities; fit it to a table first",
            )),
        }
    }
}

#[pymethods]
impl Network {
    /// Makes a network without probabilities.
    #[new]
    fn new(nodes: Vec<String>, edges: Pairs) -> PyResult<Self> {
        let names = nodes.iter().map(String::as_str);
        let edges = edges.iter().map(|(from, to)| (from.as_str(), to.as_str()));
        let made = rlbayes::Network::from_edges(names, edges).map_err(failure::input)?;
        Ok(Self::plain(made))
    }

    /// Reads a file.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        let read = read_document(path).map_err(failure::input)?;
        Ok(Self {
            inner: read.network.into(),
            class: None,
            notes: ProvenanceNotes::read(read.provenance),
        })
    }

    /// Reads what `text` has written.
    #[staticmethod]
    fn parse(bytes: &[u8], ending: &str) -> PyResult<Self> {
        let format =
            Format::from_path(Path::new(&format!("x.{ending}"))).map_err(failure::input)?;
        let read = parse_document(Some(format), bytes).map_err(failure::input)?;
        Ok(Self {
            inner: read.network.into(),
            class: None,
            notes: ProvenanceNotes::read(read.provenance),
        })
    }

    /// Returns the same network with the directed edges of its class.
    fn with_class(&self, directed: Pairs) -> Self {
        let named = self.inner.file().named_dag();
        let class = Cpdag::of_constrained(named.dag(), |from, to| {
            directed.contains(&(named.name(from).to_owned(), named.name(to).to_owned()))
        });
        Self {
            inner: self.inner.clone(),
            class: Some(class),
            notes: self.notes.clone(),
        }
    }

    #[getter]
    fn nodes(&self) -> Vec<&str> {
        self.inner.nodes()
    }

    #[getter]
    fn edges(&self) -> Vec<(&str, &str)> {
        self.inner.edges()
    }

    #[getter]
    fn is_fitted(&self) -> bool {
        self.inner.is_fitted()
    }

    /// Returns whether a search told the class.
    #[getter]
    fn has_class(&self) -> bool {
        self.class.is_some()
    }

    /// Returns the states of a node.
    fn states(&self, node: &str) -> PyResult<Vec<String>> {
        let network = self.fitted()?;
        let found = network.schema().find(node);
        let found =
            found.ok_or_else(|| failure::input(format!("the network has no node {node:?}")))?;
        Ok(network.schema().variable(found).states().to_vec())
    }

    /// Returns the parents of a node, and the probability of each of its states in each of their
    /// configurations: the last parent turns fastest, then come the states.
    fn cpt(&self, node: &str) -> PyResult<(Vec<String>, Vec<f64>)> {
        let network = self.fitted()?;
        let found = network.schema().find(node);
        let found =
            found.ok_or_else(|| failure::input(format!("the network has no node {node:?}")))?;
        let parents = network.dag().parents(found).iter();
        let name = |&parent: &NodeIdx| network.schema().variable(parent).name().to_owned();
        Ok((
            parents.map(name).collect(),
            network.cpt(found).probabilities.clone(),
        ))
    }

    /// Returns the directed and the undirected edges of the class.
    fn cpdag(&self) -> (Pairs, Pairs) {
        let named = self.inner.file().named_dag();
        let own;
        let class = match &self.class {
            Some(class) => class,
            None => {
                own = Cpdag::of(named.dag());
                &own
            }
        };
        let names =
            |&(a, b): &(NodeIdx, NodeIdx)| (named.name(a).to_owned(), named.name(b).to_owned());
        (
            class.directed().iter().map(names).collect(),
            class.undirected().iter().map(names).collect(),
        )
    }

    /// Returns the bytes of a file with this ending.
    #[pyo3(signature = (ending, around=None, strict_names=false))]
    fn text<'py>(
        &self,
        py: Python<'py>,
        ending: &str,
        around: Option<&str>,
        strict_names: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let format =
            Format::from_path(Path::new(&format!("x.{ending}"))).map_err(failure::input)?;
        Ok(PyBytes::new(py, &self.bytes(format, around, strict_names)?))
    }

    /// Writes a file, whole or not at all.
    #[pyo3(signature = (path, around=None, strict_names=false))]
    fn write(&self, path: PathBuf, around: Option<&str>, strict_names: bool) -> PyResult<()> {
        let format = Format::from_path(&path).map_err(failure::input)?;
        let bytes = self.bytes(format, around, strict_names)?;
        write_packed(&path, bytes)
            .map_err(|error| failure::input(format!("{}: {error}", path.display())))
    }

    /// Counts probabilities; without a number one is chosen by rows held out.
    #[pyo3(signature = (table, alpha=None))]
    fn fit(&self, py: Python<'_>, table: &Table, alpha: Option<f64>) -> PyResult<Self> {
        let (network, table) = (self.inner.clone(), table.0.clone());
        let fitted = abandonable(py, move || {
            let alpha = match alpha {
                Some(alpha) => alpha,
                None => network.choose_alpha(&table, 1)?,
            };
            network.fit(&table, Fit::Smoothed(alpha))
        })?;
        fitted.map(Self::plain).map_err(failure::input)
    }

    /// Returns the score of each node's family on a table.
    fn score_by_node(
        &self,
        py: Python<'_>,
        table: &Table,
        score: &str,
        ess: f64,
        penalty_scale: f64,
    ) -> PyResult<Vec<(String, f64)>> {
        let name = score_of(score, ess)?.name().parse().map_err(failure::bug)?;
        let spec = ScoreSpec::new(name, ess, penalty_scale).map_err(failure::input)?;
        let (network, table) = (self.inner.clone(), table.0.clone());
        abandonable(py, move || {
            // States that no row has do not count: the structure is scored.
            let table = rlbayes::Table::from_data(table.name(), table.data().occurring());
            let placed = network.placed_on(&table);
            let dag = placed.map_err(|name| {
                failure::input(format!("the node {name:?} is not a column of the table"))
            })?;
            let scorer = Scorer::new(Arc::clone(table.data()), spec);
            let mut scratch = Scratch::default();
            let parts = NodeIdx::all(dag.nodes()).zip(table.variables());
            Ok(parts
                .map(|(node, name)| {
                    let part = scorer.local(node, dag.parents(node), &mut scratch);
                    (name.to_owned(), part.value())
                })
                .collect())
        })?
    }

    /// Returns the log-likelihood of each row.
    fn log_likelihood(&self, py: Python<'_>, table: &Table) -> PyResult<Vec<f64>> {
        let (network, table) = (self.inner.clone(), table.0.clone());
        let found = abandonable(py, move || network.log_likelihood(&table))?;
        Ok(found.map_err(failure::input)?.by_row)
    }

    /// Returns the distribution of a node given the states of others.
    fn query(&self, py: Python<'_>, node: &str, evidence: Pairs) -> PyResult<Vec<(String, f64)>> {
        let (network, node) = (self.inner.clone(), node.to_owned());
        let answer = abandonable(py, move || {
            let known: Vec<(&str, &str)> = evidence
                .iter()
                .map(|(a, b)| (a.as_str(), b.as_str()))
                .collect();
            network.query(&node, &known)
        })?;
        Ok(answer.map_err(failure::input)?.states)
    }

    /// Returns the states of a node and, row by row, their probabilities given the other columns.
    fn predict(
        &self,
        py: Python<'_>,
        table: &Table,
        node: &str,
    ) -> PyResult<(Vec<String>, Vec<Vec<f64>>)> {
        let (network, table, node) = (self.inner.clone(), table.0.clone(), node.to_owned());
        let found = abandonable(py, move || network.predict(&table, &node))?;
        let found = found.map_err(failure::input)?;
        Ok((found.states, found.probabilities))
    }

    /// Draws rows; returns for each node the number of the state in each row.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        rows: usize,
        seed: u64,
    ) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let network = self.inner.clone();
        let table = abandonable(py, move || network.sample(rows, seed))?.map_err(failure::input)?;
        let data = table.data();
        let nodes = NodeIdx::all(data.nodes());
        Ok(nodes
            .map(|node| {
                let name = data.schema().variable(node).name().to_owned();
                (name, PyBytes::new(py, data.column(node)))
            })
            .collect())
    }

    /// Compares this network, as the true one, with a learned one.
    fn compare(&self, learned: &Self) -> (f64, f64, f64, usize) {
        let found = self.inner.compare(&learned.inner);
        (
            found.f1_directed,
            found.f1_skeleton,
            found.auc,
            found.shd_cpdag,
        )
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}
