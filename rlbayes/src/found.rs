//! The network that a search shows as its result. Of the best row's equivalence class it is the
//! canonical member, so that the same optimum is the same network whatever the threads and the seed;
//! each edge comes with what it is worth and with whether its direction is compelled.

use rlbayes_common::elite::{EliteRow, Structure};
use rlbayes_common::graph::{Cpdag, Dag, EdgeError, Joined};
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::score::{LogScore, Scratch};
use rlbayes_common::search::Problem;

/// An edge of a network that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundEdge<'a> {
    /// Where it starts.
    pub from: &'a str,
    /// Where it ends.
    pub to: &'a str,
    /// Whether it points the same way in every network of the class that keeps the constraints.
    pub is_compelled: bool,
    /// How much the score would fall without it, in nats.
    pub gain: f64,
}

/// A network that was found, as results show it.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Found {
    /// The canonical member with its score.
    pub best: EliteRow,
    /// Its graph.
    pub dag: Dag,
    /// The networks that it stands for.
    pub class: Cpdag,
    /// What each edge is worth, in the order of the graph's edges.
    pub gains: Vec<f64>,
}

impl Found {
    /// Takes the best row of a search.
    ///
    /// # Errors
    /// If the row, which may come from outside, is no acyclic graph.
    pub fn new(problem: &Problem, row: &EliteRow) -> Result<Self, EdgeError> {
        let dag = row.structure.to_dag()?;
        Ok(Self::of(problem, &dag, row.score))
    }

    /// Takes a graph with its score.
    #[must_use]
    pub fn of(problem: &Problem, dag: &Dag, score: LogScore) -> Self {
        let class = problem.class_of(dag);
        let dag = class.first_member();
        let gains = gains(problem, &dag);
        Self {
            best: EliteRow {
                structure: Structure::of(&dag),
                score,
            },
            dag,
            class,
            gains,
        }
    }

    /// Returns whether an edge points the same way in every network of the class.
    #[must_use]
    pub fn is_compelled(&self, from: NodeIdx, to: NodeIdx) -> bool {
        self.class.joined(from, to) == Joined::Forward
    }
}

/// Returns what each edge is worth: the local score of its end less that without it.
fn gains(problem: &Problem, dag: &Dag) -> Vec<f64> {
    let mut scratch = Scratch::default();
    let mut gains = Vec::with_capacity(dag.edge_count());
    for node in NodeIdx::all(dag.nodes()) {
        let parents = dag.parents(node);
        if parents.is_empty() {
            continue;
        }
        let scorer = problem.scorer();
        let with = scorer.local(node, parents, &mut scratch).value();
        for &parent in parents {
            let others = parents.iter().copied().filter(|&other| other != parent);
            let others: Vec<NodeIdx> = others.collect();
            gains.push(with - scorer.local(node, &others, &mut scratch).value());
        }
    }
    gains
}
