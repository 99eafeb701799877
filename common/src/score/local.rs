//! What a search needs of a score, whatever the data: scores of one node with a set of parents, and
//! of that node with each of many further parents. Everything above (problem, evaluator, searches)
//! knows a score only by this trait; a score over other data is another implementation of it.

use super::log_score::LogScore;
use super::spec::ScoreSpec;
use crate::data::{Counter, Kernel};
use crate::graph::Dag;
use crate::ids::NodeIdx;
use std::fmt;

/// A score that is a sum over nodes, each of whose summands depends on (node, set of parents) alone,
/// to the bit.
pub trait LocalScore: fmt::Debug + Send + Sync {
    /// Returns the number of variables.
    fn nodes(&self) -> usize;

    /// Returns the score's definition.
    fn spec(&self) -> &ScoreSpec;

    /// Returns what names the data that are scored, the same on every machine.
    fn data_fingerprint(&self) -> [u8; 32];

    /// Returns the score of a node with a set of parents, which must be in order.
    fn local(&self, node: NodeIdx, parents: &[NodeIdx], scratch: &mut Scratch) -> LogScore;

    /// Computes the score of a node with `parents`, and with each of some nodes added to or removed
    /// from them; the scores after a toggle are handed to `found`, in any order, and the score
    /// without any is returned.
    ///
    /// Where `skip_hopeless` is set, an addition that is known to lower the score need not be scored
    /// and gets `None`.
    fn with_each(
        &self,
        node: NodeIdx,
        parents: &[NodeIdx],
        request: Toggles<'_>,
        scratch: &mut Scratch,
        found: &mut dyn FnMut(NodeIdx, Option<f64>),
    ) -> LogScore;

    /// Computes the scores of each of the lines with each of the columns as its only parent, and of each
    /// of the columns with each of the lines: `found` gets node, parent and score, in any order.
    /// All lines are among the columns, and both are lists without repeats.
    ///
    /// Where `skip_hopeless` is set, a parent that is known to lower the score need not be scored and
    /// gets `None`.
    fn pairs(
        &self,
        lines: &[NodeIdx],
        columns: &[NodeIdx],
        skip_hopeless: bool,
        scratch: &mut Scratch,
        found: &mut dyn FnMut(NodeIdx, NodeIdx, Option<f64>),
    ) {
        each_with_each(self, lines, columns, skip_hopeless, scratch, found);
    }

    /// Returns a score that the family cannot exceed, known without counting.
    fn ceiling(&self, _node: NodeIdx, _parents: &[NodeIdx]) -> f64 {
        f64::INFINITY
    }

    /// Returns the score of a structure: its local scores summed in node order.
    fn structure(&self, dag: &Dag, scratch: &mut Scratch) -> LogScore {
        let sum = NodeIdx::all(dag.nodes())
            .map(|node| self.local(node, dag.parents(node), scratch).value())
            .sum();
        LogScore::new(sum)
    }
}

/// Computes what [`LocalScore::pairs`] does, node by node.
pub(super) fn each_with_each(
    score: &(impl LocalScore + ?Sized),
    lines: &[NodeIdx],
    columns: &[NodeIdx],
    skip_hopeless: bool,
    scratch: &mut Scratch,
    found: &mut dyn FnMut(NodeIdx, NodeIdx, Option<f64>),
) {
    for &node in columns {
        let others = match lines.contains(&node) {
            true => columns,
            false => lines,
        };
        let parents: Vec<NodeIdx> = others.iter().copied().filter(|&it| it != node).collect();
        let request = Toggles {
            additions: &parents,
            removals: &[],
            skip_hopeless,
            kernel: Kernel::Auto,
        };
        score.with_each(node, &[], request, scratch, &mut |parent, with| {
            found(node, parent, with);
        });
    }
}

/// Which changes of a node's parents to score, and how.
#[derive(Clone, Copy, Debug)]
pub struct Toggles<'a> {
    /// The nodes that may become parents; none is a parent yet.
    pub additions: &'a [NodeIdx],
    /// Parents that may be removed.
    pub removals: &'a [NodeIdx],
    /// Whether to leave out additions that can't raise the score.
    pub skip_hopeless: bool,
    /// Which kernel counts; the score's bits are the same for all.
    pub kernel: Kernel,
}

/// Scratch space of whoever asks for scores: one per thread, reused for every family. Each kind of
/// data has its own part, empty until it is used.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Counts of discrete data.
    pub(crate) counter: Counter,
    /// Nodes that are still to be counted.
    pub(crate) candidates: Vec<NodeIdx>,
    /// Parents without one of them.
    pub(crate) family: Vec<NodeIdx>,
    /// By node: its score without parents.
    pub(crate) alone: Vec<f64>,
}
