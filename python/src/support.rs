//! The support of edges.

use crate::failure;
use crate::network::Network;
use crate::signals::interruptible;
use pyo3::prelude::*;
use rlbayes::Support;
use rlbayes_common::graph::{Cpdag, Dag};
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::io::{SupportPicture, draw_support, support_csv};
use rlbayes_common::support::SupportTable;

/// The support of edges.
#[pyclass(frozen, module = "rlbayes._engine")]
pub(crate) struct EdgeSupport {
    table: SupportTable,
    classes: Vec<Cpdag>,
    threshold: f64,
    /// What it was counted from; one that was pickled has left that behind.
    pub(crate) source: Option<Support>,
}

/// Edges as the numbers of nodes.
type Edges = Vec<(usize, usize)>;
/// Everything that a pickle holds: names, edges of each replicate and which of them are directed, edges
/// of the best network, required edges, threshold.
type Parts = (Vec<String>, Vec<(Edges, Edges)>, Option<Edges>, Edges, f64);

impl From<Support> for EdgeSupport {
    fn from(support: Support) -> Self {
        Self {
            table: support.table().clone(),
            classes: support.classes().to_vec(),
            threshold: support.request().threshold(),
            source: Some(support),
        }
    }
}

#[pymethods]
impl EdgeSupport {
    #[getter]
    fn replicates(&self) -> u32 {
        self.table.tally().networks()
    }

    #[getter]
    fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Returns the support of pairs as CSV.
    fn csv(&self) -> String {
        support_csv(&self.table)
    }

    /// Returns the share of replicates that join two variables.
    fn strength(&self, one: &str, other: &str) -> Option<f64> {
        let node = |name: &str| {
            let place = self.table.names().iter().position(|known| known == name)?;
            NodeIdx::all(self.table.names().len()).nth(place)
        };
        Some(self.table.pair(node(one)?, node(other)?).strength())
    }

    /// Draws the edges at or above a threshold.
    fn svg(&self, threshold: f64) -> PyResult<String> {
        let picture = SupportPicture {
            table: &self.table,
            threshold,
            truth: None,
        };
        draw_support(&picture)
            .map(|canvas| canvas.to_svg())
            .map_err(failure::input)
    }

    /// Searches the best network among the edges at or above the threshold; Ctrl-C raises.
    fn relearn(&self, py: Python<'_>) -> PyResult<Option<Network>> {
        let Some(support) = &self.source else {
            return Err(failure::input(
                "a network needs the table, which is not in a pickle: call network() before pickling",
            ));
        };
        let found = interruptible(py, |stop| support.relearn(stop))?;
        Ok(found.map(Network::plain))
    }

    /// Returns everything that is needed to make the same again, except for the table.
    fn parts(&self) -> Parts {
        let dag_edges = |dag: &Dag| numbers(dag.edges());
        let classes = self.classes.iter().map(|class| {
            (
                dag_edges(&class.first_member()),
                numbers(class.directed().iter().copied()),
            )
        });
        (
            self.table.names().to_vec(),
            classes.collect(),
            self.table.best().map(dag_edges),
            dag_edges(self.table.required()),
            self.threshold,
        )
    }

    /// Makes it of what `parts` has returned.
    #[staticmethod]
    fn of_parts(
        names: Vec<String>,
        classes: Vec<(Edges, Edges)>,
        best: Option<Edges>,
        required: Edges,
        threshold: f64,
    ) -> PyResult<Self> {
        let dag = |edges: Edges| {
            let known: Vec<NodeIdx> = NodeIdx::all(names.len()).collect();
            let node = |number: usize| {
                let found = known.get(number).copied();
                found.ok_or_else(|| failure::input("the pickle names a node that it does not have"))
            };
            let edges = edges
                .into_iter()
                .map(|(from, to)| Ok((node(from)?, node(to)?)));
            let edges = edges.collect::<PyResult<Vec<_>>>()?;
            Dag::from_edges(names.len(), edges).map_err(failure::input)
        };
        let classes = classes.into_iter().map(|(edges, directed)| {
            let fixed = dag(directed)?;
            let is_fixed = |from, to| fixed.parents(to).contains(&from);
            Ok(Cpdag::of_constrained(&dag(edges)?, is_fixed))
        });
        let classes = classes.collect::<PyResult<Vec<_>>>()?;
        let (best, required) = (best.map(&dag).transpose()?, dag(required)?);
        let table = SupportTable::of(names.clone(), &classes)
            .with_best(best)
            .with_required(&required);
        Ok(Self {
            table,
            classes,
            threshold,
            source: None,
        })
    }
}

fn numbers(edges: impl Iterator<Item = (NodeIdx, NodeIdx)>) -> Edges {
    edges.map(|(from, to)| (from.index(), to.index())).collect()
}
