//! A network of thousands of nodes, ready to climb: of each family only the toggles that gain are
//! kept, and only those of the node's candidates are counted.
//!
//! A toggle that loses is never part of the best operation: adding and removing edges must gain by
//! themselves, and a reversal whose addition loses is worse than the removal alone. So nothing that
//! a climb could take is lost by keeping the gaining toggles alone. What is heuristic is the list of
//! candidates; [`SparsePosition::widen`] looks at all nodes and adds those that were missing.

use crate::elite::{EliteRow, Structure};
use crate::graph::{Dag, ReachScratch};
use crate::ids::NodeIdx;
use crate::score::LogScore;
use crate::search::{Evaluator, GainingToggles, Operation, OutOfBudget, Partners, Random};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// A network with the gaining toggles of every family.
#[derive(Debug)]
pub(super) struct SparsePosition {
    dag: Dag,
    families: Vec<Family>,
    score: f64,
    /// By node: candidates beside its partners, in order.
    found: Vec<Vec<NodeIdx>>,
    /// Nodes whose families changed and are not counted yet.
    stale: Vec<NodeIdx>,
    is_stale: Vec<bool>,
    /// The best operation of each node as of when it was put here, best first.
    queue: BinaryHeap<Proposal>,
    /// Nodes that would gain by operations which close a cycle: they are looked at again when
    /// nothing else gains, since the edges in their way may be gone by then.
    blocked: Vec<NodeIdx>,
    reach: ReachScratch,
    candidates: Vec<NodeIdx>,
}

#[derive(Debug)]
struct Family {
    parents: Arc<[NodeIdx]>,
    toggles: GainingToggles,
    /// Counts proposals, so that earlier ones are recognised.
    version: u32,
}

/// An operation on a node's family. The greatest is the one to take: ties by a number drawn at
/// random, so that no order of columns decides.
#[derive(Debug)]
struct Proposal {
    gain: f64,
    tie: u64,
    node: NodeIdx,
    version: u32,
    operation: Operation,
}

impl Ord for Proposal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain
            .total_cmp(&other.gain)
            .then(self.tie.cmp(&other.tie))
            .then(self.node.cmp(&other.node))
    }
}

impl PartialOrd for Proposal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Proposal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Proposal {}

impl SparsePosition {
    /// Stands on a network. Only its local scores are counted; every family is stale.
    ///
    /// # Errors
    /// If the budget does not reach.
    pub(super) fn new(dag: Dag, evaluator: &mut Evaluator) -> Result<Self, OutOfBudget> {
        let nodes = dag.nodes();
        let mut families = Vec::with_capacity(nodes);
        let mut score = 0.0;
        for node in NodeIdx::all(nodes) {
            let parents: Arc<[NodeIdx]> = dag.parents(node).into();
            let own = evaluator.local(node, &parents)?;
            score += own;
            families.push(Family {
                toggles: GainingToggles::new(own, &parents, Vec::new()),
                parents,
                version: 0,
            });
        }
        Ok(Self {
            dag,
            families,
            score,
            found: vec![Vec::new(); nodes],
            stale: NodeIdx::all(nodes).collect(),
            is_stale: vec![true; nodes],
            queue: BinaryHeap::new(),
            blocked: Vec::new(),
            reach: ReachScratch::default(),
            candidates: Vec::new(),
        })
    }

    /// Returns how many bytes it holds at most beside what all share.
    pub(super) fn bytes_for(nodes: usize) -> usize {
        let family = size_of::<Family>() + 64 + Partners::MOST * size_of::<(f64, u64)>();
        nodes * (family + 4 * size_of::<Proposal>() + 256)
    }

    pub(super) fn dag(&self) -> &Dag {
        &self.dag
    }

    /// Returns the candidates beside partners, by node.
    pub(super) fn found(&self) -> &[Vec<NodeIdx>] {
        &self.found
    }

    /// Knows further candidates of a node.
    pub(super) fn note_candidates(&mut self, node: NodeIdx, others: impl Iterator<Item = NodeIdx>) {
        let found = &mut self.found[node.index()];
        for other in others {
            if found.len() == Self::MOST_FOUND {
                return;
            }
            if let Err(at) = found.binary_search(&other) {
                found.insert(at, other);
            }
        }
    }

    /// How many candidates beside its partners a node has at most.
    pub(super) const MOST_FOUND: usize = 256;

    /// Returns the network as a row; no family may have changed uncounted.
    pub(super) fn row(&self) -> EliteRow {
        let families = self
            .families
            .iter()
            .map(|family| Arc::clone(&family.parents));
        EliteRow {
            structure: Structure::from_families(families.collect()),
            score: LogScore::new(self.score),
        }
    }

    /// Takes over families; the whole must be acyclic. Their scores are counted at once, their
    /// toggles with the next climb.
    ///
    /// # Errors
    /// If the budget does not reach; the position is then as before.
    pub(super) fn adopt(
        &mut self,
        families: &[(NodeIdx, Arc<[NodeIdx]>)],
        evaluator: &mut Evaluator,
    ) -> Result<(), OutOfBudget> {
        let mut scores = Vec::with_capacity(families.len());
        for (node, parents) in families {
            scores.push(evaluator.local(*node, parents)?);
        }
        for &(node, _) in families {
            while let Some(&parent) = self.dag.parents(node).last() {
                let _ = self.dag.remove_edge(parent, node);
            }
        }
        for (node, parents) in families {
            for &parent in parents.iter() {
                let added = self.dag.add_edge_with(parent, *node, &mut self.reach);
                debug_assert!(added.is_ok(), "families of one acyclic network");
            }
        }
        for ((node, parents), own) in families.iter().zip(scores) {
            let family = &mut self.families[node.index()];
            self.score += own - family.toggles.score();
            family.toggles = GainingToggles::new(own, parents, Vec::new());
            family.parents = Arc::clone(parents);
            self.mark_stale(*node);
        }
        Ok(())
    }

    /// Takes the operation that gains most, ties at random, up to a number of times. Returns whether
    /// there may be more to gain.
    ///
    /// # Errors
    /// If the budget is used up on the way; the score is right, and the climb can continue.
    pub(super) fn climb(
        &mut self,
        steps: usize,
        evaluator: &mut Evaluator,
        random: &mut Random,
    ) -> Result<bool, OutOfBudget> {
        self.refresh(evaluator, random)?;
        let mut taken = 0;
        while taken < steps {
            let Some(proposal) = self.queue.pop() else {
                if !self.look_at_blocked(evaluator, random) {
                    return Ok(false);
                }
                continue;
            };
            let node = proposal.node;
            if self.families[node.index()].version != proposal.version {
                continue;
            }
            if !self.is_legal(proposal.operation, evaluator) {
                self.propose(node, evaluator, random);
                continue;
            }
            self.take(proposal.operation, evaluator)?;
            self.refresh(evaluator, random)?;
            taken += 1;
        }
        Ok(true)
    }

    /// Looks at every node as a further parent of one node, and knows those that gain as candidates
    /// from now on. Returns whether there are new ones.
    ///
    /// # Errors
    /// If the budget does not reach.
    pub(super) fn widen(
        &mut self,
        node: NodeIdx,
        evaluator: &mut Evaluator,
    ) -> Result<bool, OutOfBudget> {
        let mut all = std::mem::take(&mut self.candidates);
        let parents = Arc::clone(&self.families[node.index()].parents);
        evaluator
            .constraints()
            .list_addable(node, &parents, &mut all);
        let toggles = evaluator.gaining_toggles(node, &parents, &all);
        self.candidates = all;
        let toggles = toggles?;
        let known = evaluator.problem().partners(node);
        let before = self.found[node.index()].len();
        let new = toggles.additions().iter().map(|&(_, other)| other);
        self.note_candidates(node, new.filter(|other| !known.contains(other)));
        let grew = self.found[node.index()].len() > before;
        if grew {
            self.mark_stale(node);
        }
        Ok(grew)
    }

    /// Counts every family anew and forgets what was proposed: what a climb does next then depends
    /// on the network and its candidates alone, as it does after a climb to the end.
    ///
    /// # Errors
    /// If the budget does not reach.
    pub(super) fn settle(&mut self, evaluator: &mut Evaluator) -> Result<(), OutOfBudget> {
        self.count_stale(evaluator, &mut Vec::new())?;
        self.forget_proposals();
        Ok(())
    }

    /// Forgets what was proposed; the next climb looks at every node again.
    pub(super) fn forget_proposals(&mut self) {
        self.queue.clear();
        self.blocked.clear();
        self.blocked.extend(NodeIdx::all(self.dag.nodes()));
    }

    /// Counts the toggles of the families that changed, and proposes what gains now.
    fn refresh(
        &mut self,
        evaluator: &mut Evaluator,
        random: &mut Random,
    ) -> Result<(), OutOfBudget> {
        let mut counted = Vec::new();
        let outcome = self.count_stale(evaluator, &mut counted);
        counted.sort_unstable();
        for &node in &counted {
            self.propose(node, evaluator, random);
            // Turning an edge to a child round depends on this family too.
            for at in 0..self.dag.children(node).len() {
                let child = self.dag.children(node)[at];
                if !self.is_stale[child.index()] && counted.binary_search(&child).is_err() {
                    self.propose(child, evaluator, random);
                }
            }
        }
        outcome
    }

    fn count_stale(
        &mut self,
        evaluator: &mut Evaluator,
        counted: &mut Vec<NodeIdx>,
    ) -> Result<(), OutOfBudget> {
        while let Some(&node) = self.stale.last() {
            self.count(node, evaluator)?;
            self.stale.pop();
            self.is_stale[node.index()] = false;
            counted.push(node);
        }
        Ok(())
    }

    fn count(&mut self, node: NodeIdx, evaluator: &mut Evaluator) -> Result<(), OutOfBudget> {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let family = &self.families[node.index()];
        let constraints = evaluator.constraints();
        if family.parents.len() < constraints.max_parents() {
            let known = evaluator.problem().partners(node);
            let found = &self.found[node.index()];
            let all = known.iter().chain(found).copied();
            candidates.extend(all.filter(|other| family.parents.binary_search(other).is_err()));
            candidates.sort_unstable();
            candidates.dedup();
        }
        let toggles = evaluator.gaining_toggles(node, &family.parents, &candidates);
        self.candidates = candidates;
        let family = &mut self.families[node.index()];
        family.toggles = toggles?;
        Ok(())
    }

    /// Puts the best legal operation on a node's family into the queue.
    fn propose(&mut self, node: NodeIdx, evaluator: &Evaluator, random: &mut Random) {
        // What was proposed for it before counts no more.
        self.families[node.index()].version += 1;
        let mut best: Option<(f64, Operation)> = None;
        let mut is_blocked = false;
        let least =
            |best: &Option<(f64, Operation)>| best.map_or(LogScore::MIN_GAIN, |(gain, _)| gain);
        let family = &self.families[node.index()];
        for (&parent, &removal) in family.parents.iter().zip(family.toggles.removals()) {
            if removal > least(&best) {
                best = Some((removal, Operation::Delete(parent, node)));
            }
            let Some(addition) = self.families[parent.index()].toggles.addition(node) else {
                continue;
            };
            let gain = removal + addition;
            if gain > least(&best) {
                let turn = Operation::Reverse(parent, node);
                if is_legal(turn, &self.dag, evaluator, &mut self.reach) {
                    best = Some((gain, turn));
                } else {
                    is_blocked = true;
                }
            }
        }
        for &(gain, other) in family.toggles.additions() {
            if gain <= least(&best) {
                break;
            }
            let add = Operation::Add(other, node);
            if is_legal(add, &self.dag, evaluator, &mut self.reach) {
                best = Some((gain, add));
                break;
            }
            is_blocked = true;
        }
        if is_blocked {
            self.blocked.push(node);
        }
        if let Some((gain, operation)) = best {
            let version = family.version;
            self.queue.push(Proposal {
                gain,
                tie: random.bits(),
                node,
                version,
                operation,
            });
        }
    }

    /// Proposes again what was in the way of itself; returns whether anything gains now.
    fn look_at_blocked(&mut self, evaluator: &Evaluator, random: &mut Random) -> bool {
        let mut again = std::mem::take(&mut self.blocked);
        again.sort_unstable();
        again.dedup();
        for node in again {
            self.propose(node, evaluator, random);
        }
        !self.queue.is_empty()
    }

    fn is_legal(&mut self, operation: Operation, evaluator: &Evaluator) -> bool {
        is_legal(operation, &self.dag, evaluator, &mut self.reach)
    }

    /// Carries a legal operation out.
    fn take(&mut self, operation: Operation, evaluator: &mut Evaluator) -> Result<(), OutOfBudget> {
        let (from, to) = operation.edge();
        let parents = |dag: &Dag, node: NodeIdx| -> Arc<[NodeIdx]> { dag.parents(node).into() };
        let without = |dag: &Dag| -> Arc<[NodeIdx]> {
            let kept = dag.parents(to).iter().copied();
            kept.filter(|&parent| parent != from).collect()
        };
        let with = |dag: &Dag, node: NodeIdx, more: NodeIdx| -> Arc<[NodeIdx]> {
            let mut grown = parents(dag, node).to_vec();
            grown.push(more);
            grown.sort_unstable();
            grown.into()
        };
        let changed = match operation {
            Operation::Add(..) => vec![(to, with(&self.dag, to, from))],
            Operation::Delete(..) => vec![(to, without(&self.dag))],
            Operation::Reverse(..) => {
                vec![(to, without(&self.dag)), (from, with(&self.dag, from, to))]
            }
        };
        self.adopt(&changed, evaluator)
    }

    fn mark_stale(&mut self, node: NodeIdx) {
        if !self.is_stale[node.index()] {
            self.is_stale[node.index()] = true;
            self.stale.push(node);
        }
    }
}

fn is_legal(
    operation: Operation,
    dag: &Dag,
    evaluator: &Evaluator,
    reach: &mut ReachScratch,
) -> bool {
    let constraints = evaluator.constraints();
    let (from, to) = operation.edge();
    match operation {
        Operation::Add(..) => {
            !dag.has_edge(from, to)
                && constraints.may_add(dag, from, to)
                && !dag.closes_cycle(from, to, reach)
        }
        Operation::Delete(..) => dag.has_edge(from, to) && !constraints.is_required(from, to),
        Operation::Reverse(..) => {
            dag.has_edge(from, to)
                && constraints.may_reverse(dag, from, to)
                && !dag.reversal_closes_cycle(from, to, reach)
        }
    }
}

#[cfg(test)]
mod tests;
