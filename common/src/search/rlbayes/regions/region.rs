//! A region: some nodes of a large network, searched for themselves while the families of all others
//! stay as they are.
//!
//! The nodes of the region are *free*: they get new parents, from among themselves and from the
//! *border*, nodes outside that are or may become parents of a free one. A cycle through the outside
//! leads from a free node over families that stay to a border node. Each such path is one fixed edge
//! of the region's own problem, so that whatever its search finds is acyclic in the whole.

use crate::graph::Dag;
use crate::ids::{NodeIdx, Seed};
use crate::score::{LocalScore, LogScore, ScoreSpec, Scratch, Toggles};
use crate::search::rlbayes::{ChainRank, RlBayes, RlBayesParams};
use crate::search::{Chain, Evaluator, Problem, StepOutcome};
use std::sync::Arc;

/// The families that a search has found for a region.
pub(super) type Families = Vec<(NodeIdx, Arc<[NodeIdx]>)>;

/// What to search, and how long.
pub(super) struct RegionSearch<'a> {
    /// The free nodes, in order.
    pub(super) free: &'a [NodeIdx],
    /// The whole network.
    pub(super) dag: &'a Dag,
    /// Evaluations to spend.
    pub(super) evaluations: u64,
    pub(super) seed: Seed,
    pub(super) params: RlBayesParams,
}

/// Memory for what the search of a region remembers of scores.
pub(super) const CACHE_BYTES: usize = 24 << 20;
/// Rows that the search of a region keeps.
const TABLE_ROWS: usize = 8;
/// Candidates outside the region that a free node may get as parents, beside those that it has.
const OUTSIDERS: usize = 2;

/// Searches a region. Returns its families where they are better than before, and what they gain.
pub(super) fn search(
    region: &RegionSearch<'_>,
    candidates: impl Fn(NodeIdx) -> Vec<NodeIdx>,
    evaluator: &mut Evaluator,
) -> Option<(f64, Families)> {
    let part = Part::new(region, candidates);
    let RegionSearch {
        dag,
        evaluations,
        seed,
        params,
        ..
    } = *region;
    let start = part.start(dag);
    let constraints = evaluator.constraints().of_part(
        &part.nodes,
        |from, to| part.may_join(from, to),
        &part.paths,
    );
    let scorer = PartScore {
        whole: Arc::clone(evaluator.problem()),
        nodes: part.nodes.clone(),
        is_free: part.is_free.clone(),
    };
    let problem = Arc::new(Problem::new(scorer, constraints, start, CACHE_BYTES));
    let own = evaluator.of_part(Arc::clone(&problem), evaluations);
    let params = RlBayesParams {
        table_rows: TABLE_ROWS.min(params.table_rows),
        ..params
    };
    let rank = ChainRank {
        number: 0,
        of: 1,
        chain: 0,
    };
    let mut chain = RlBayes::new(own, problem.start().clone(), seed, params, rank);
    let mut before: Option<LogScore> = None;
    while chain.step() == StepOutcome::Ran {
        // The first step scores the network as it is.
        before = before.or_else(|| chain.core().best().map(|row| row.score));
    }
    evaluator.note_part(&chain.core().evaluator);
    let best = chain.core().best()?;
    let gain = best.score.value() - before?.value();
    (gain > LogScore::MIN_GAIN).then(|| (gain, part.families(dag, &best.structure)))
}

/// A region's nodes and its border, as a problem of their own.
struct Part {
    /// Free and border nodes, in order.
    nodes: Vec<NodeIdx>,
    is_free: Vec<bool>,
    /// By place among them: the places that an outsider may join as a parent.
    joins: Vec<Vec<usize>>,
    /// Paths through the outside, from free nodes to border nodes.
    paths: Vec<(usize, usize)>,
}

impl Part {
    fn new(region: &RegionSearch<'_>, candidates: impl Fn(NodeIdx) -> Vec<NodeIdx>) -> Self {
        let RegionSearch { free, dag, .. } = *region;
        let is_inside = |node: NodeIdx| free.binary_search(&node).is_ok();
        let mut nodes = free.to_vec();
        let mut outsiders = Vec::new();
        for &node in free {
            let parents = dag.parents(node).iter().copied();
            let known = parents.filter(|&parent| !is_inside(parent));
            let further = candidates(node);
            let further = further.into_iter().filter(|&other| !is_inside(other));
            let joining: Vec<NodeIdx> = known.chain(further.take(OUTSIDERS)).collect();
            nodes.extend(&joining);
            outsiders.push((node, joining));
        }
        nodes.sort_unstable();
        nodes.dedup();
        let place = |node: NodeIdx| nodes.binary_search(&node).ok();
        let mut joins = vec![Vec::new(); nodes.len()];
        for (node, joining) in outsiders {
            if let Some(to) = place(node) {
                joins[to] = joining.into_iter().filter_map(place).collect();
                joins[to].sort_unstable();
            }
        }
        let is_free: Vec<bool> = nodes.iter().map(|&node| is_inside(node)).collect();
        let paths = paths_outside(dag, &nodes, &is_free);
        Self {
            nodes,
            is_free,
            joins,
            paths,
        }
    }

    fn may_join(&self, from: usize, to: usize) -> bool {
        from != to
            && self.is_free[to]
            && (self.is_free[from] || self.joins[to].binary_search(&from).is_ok())
    }

    /// Returns the network as it is, as far as the part sees it.
    fn start(&self, dag: &Dag) -> Dag {
        let mut start = Dag::empty(self.nodes.len());
        for (to, &node) in self.nodes.iter().enumerate() {
            if self.is_free[to] {
                for parent in dag.parents(node) {
                    if let Ok(from) = self.nodes.binary_search(parent) {
                        let _ = start.add_edge(NodeIdx::new(from), NodeIdx::new(to));
                    }
                }
            }
        }
        for &(from, to) in &self.paths {
            let _ = start.add_edge(NodeIdx::new(from), NodeIdx::new(to));
        }
        start
    }

    /// Returns the free nodes' families that differ from those of the whole network.
    fn families(&self, dag: &Dag, found: &crate::elite::Structure) -> Families {
        let mut families = Vec::new();
        for (at, &node) in self.nodes.iter().enumerate() {
            if self.is_free[at] {
                let parents = found.parents(NodeIdx::new(at)).iter();
                let parents: Arc<[NodeIdx]> =
                    parents.map(|parent| self.nodes[parent.index()]).collect();
                if *parents != *dag.parents(node) {
                    families.push((node, parents));
                }
            }
        }
        families
    }
}

/// Lists from which free nodes paths lead to which border nodes over families outside the region.
fn paths_outside(dag: &Dag, nodes: &[NodeIdx], is_free: &[bool]) -> Vec<(usize, usize)> {
    let place = |node: NodeIdx| nodes.binary_search(&node).ok();
    let border = (0..nodes.len()).filter(|&at| !is_free[at]);
    let Some(last) = border.map(|at| dag.place(nodes[at])).max() else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    let mut seen_by = vec![usize::MAX; dag.nodes()];
    let mut stack = Vec::new();
    for from in (0..nodes.len()).filter(|&at| is_free[at]) {
        stack.push(nodes[from]);
        while let Some(node) = stack.pop() {
            for &child in dag.children(node) {
                // Behind the last border node nothing leads back to one.
                if seen_by[child.index()] == from || dag.place(child) > last {
                    continue;
                }
                seen_by[child.index()] = from;
                match place(child) {
                    Some(at) if is_free[at] => continue,
                    Some(at) => paths.push((from, at)),
                    None => {}
                }
                stack.push(child);
            }
        }
    }
    paths
}

/// The score of a part of the network: free nodes as in the whole, border nodes nothing.
#[derive(Debug)]
struct PartScore {
    whole: Arc<Problem>,
    nodes: Vec<NodeIdx>,
    is_free: Vec<bool>,
}

impl PartScore {
    fn in_whole(&self, nodes: &[NodeIdx]) -> Vec<NodeIdx> {
        nodes.iter().map(|node| self.nodes[node.index()]).collect()
    }
}

impl LocalScore for PartScore {
    fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn spec(&self) -> &ScoreSpec {
        self.whole.scorer().spec()
    }

    fn data_fingerprint(&self) -> [u8; 32] {
        self.whole.scorer().data_fingerprint()
    }

    fn local(&self, node: NodeIdx, parents: &[NodeIdx], scratch: &mut Scratch) -> LogScore {
        if !self.is_free[node.index()] {
            return LogScore::new(0.0);
        }
        let parents = self.in_whole(parents);
        let node = self.nodes[node.index()];
        self.whole.scorer().local(node, &parents, scratch)
    }

    fn with_each(
        &self,
        node: NodeIdx,
        parents: &[NodeIdx],
        request: Toggles<'_>,
        scratch: &mut Scratch,
        found: &mut dyn FnMut(NodeIdx, Option<f64>),
    ) -> LogScore {
        if !self.is_free[node.index()] {
            return LogScore::new(0.0);
        }
        let parents = self.in_whole(parents);
        let additions = self.in_whole(request.additions);
        let removals = self.in_whole(request.removals);
        let request_in_whole = Toggles {
            additions: &additions,
            removals: &removals,
            ..request
        };
        let mut found_in_whole = |toggled: NodeIdx, score: Option<f64>| {
            if let Ok(at) = self.nodes.binary_search(&toggled) {
                found(NodeIdx::new(at), score);
            }
        };
        self.whole.scorer().with_each(
            self.nodes[node.index()],
            &parents,
            request_in_whole,
            scratch,
            &mut found_in_whole,
        )
    }
}
