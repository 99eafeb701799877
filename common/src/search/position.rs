//! Where a chain stands: a network, the benefit vectors of its families, and the climb to the next
//! local optimum. The climb touches only what changed: a step costs the vectors of one or two
//! families and a glance at one number a node.

use super::benefits::Benefits;
use super::operation::Operation;
use super::problem::{Evaluator, OutOfBudget};
use super::saved::UnfitState;
use crate::elite::{EliteRow, Structure};
use crate::graph::{Closure, Dag, ReachScratch};
use crate::ids::NodeIdx;
use crate::random::Random;
use crate::score::LogScore;
use std::sync::Arc;

/// A network with the benefit of every operation on it.
#[derive(Debug)]
pub struct Position {
    dag: Dag,
    /// By node; stale for the nodes in `changed`.
    benefits: Vec<Arc<Benefits>>,
    /// By node: the largest gain of an operation that ends there, legal or not.
    bounds: Vec<f64>,
    changed: Vec<NodeIdx>,
    is_changed: Vec<bool>,
    /// The families as they were at the last `mark`, for the nodes changed since.
    before: Vec<Arc<Benefits>>,
    is_before: Vec<bool>,
    score: f64,
    reach: ReachScratch,
    closure: Closure,
}

impl Position {
    /// Stands on a network.
    ///
    /// # Errors
    /// If the budget does not reach for its benefit vectors.
    pub fn new(dag: Dag, evaluator: &mut Evaluator) -> Result<Self, OutOfBudget> {
        let n = dag.nodes();
        let benefits = if dag.edges().next().is_none() {
            evaluator.benefits_without_parents()?
        } else {
            let families = NodeIdx::all(n).map(|node| evaluator.benefits(node, dag.parents(node)));
            families.collect::<Result<_, _>>()?
        };
        let score = benefits.iter().map(|family| family.score_value()).sum();
        let closure = Closure::new(&dag);
        let mut position = Self {
            dag,
            benefits,
            bounds: vec![0.0; n],
            changed: Vec::new(),
            is_changed: vec![false; n],
            before: Vec::new(),
            is_before: vec![false; n],
            score,
            reach: ReachScratch::default(),
            closure,
        };
        for node in NodeIdx::all(n) {
            position.renew_bound(node);
        }
        Ok(position)
    }

    /// Stands again on a stored network; the stored counters already hold what that cost.
    ///
    /// # Errors
    /// If the row is not an acyclic network of this problem.
    pub fn stand_again(row: &EliteRow, evaluator: &mut Evaluator) -> Result<Self, UnfitState> {
        let dag = row
            .structure
            .to_dag()
            .map_err(|_| UnfitState::Field("current"))?;
        if !evaluator.constraints().hold_for(&dag) {
            return Err(UnfitState::Field("current"));
        }
        let (evaluations, computed) = (evaluator.evaluations(), evaluator.computed());
        let limit = evaluator.limit();
        evaluator.set_limit(u64::MAX);
        let position = Self::new(dag, evaluator).map_err(|_| UnfitState::Field("current"));
        evaluator.set_limit(limit);
        evaluator.resume(evaluations, computed);
        position
    }

    /// Returns how many bytes a position on a network of `nodes` variables takes at most: the
    /// benefits of every family, those that [`Self::mark`] goes back to, and the closure.
    #[must_use]
    pub fn bytes_for(nodes: usize) -> usize {
        let closure = nodes * nodes.div_ceil(64) * 8;
        2 * nodes * Benefits::bytes_for(nodes, 4, 8) + closure
    }

    /// Returns the network.
    #[must_use]
    pub fn dag(&self) -> &Dag {
        &self.dag
    }

    /// Returns the score; up to date after a climb or a refresh.
    #[must_use]
    pub fn score(&self) -> LogScore {
        LogScore::new(self.score)
    }

    /// Returns the nodes whose families changed since the last mark.
    pub fn changed_since_mark(&self) -> impl Iterator<Item = NodeIdx> + '_ {
        self.before.iter().map(|family| family.node())
    }

    /// Adds an edge if that is legal, and returns whether it was.
    pub fn add(&mut self, from: NodeIdx, to: NodeIdx, evaluator: &Evaluator) -> bool {
        let legal = evaluator.constraints().may_add(&self.dag, from, to)
            && self.dag.add_edge_with(from, to, &mut self.reach).is_ok();
        if legal {
            self.closure.note(from);
            self.touch(to);
        }
        legal
    }

    /// Removes an edge if that is legal, and returns whether it was.
    pub fn remove(&mut self, from: NodeIdx, to: NodeIdx, evaluator: &Evaluator) -> bool {
        let legal = !evaluator.constraints().is_required(from, to)
            && self.dag.remove_edge(from, to).is_ok();
        if legal {
            self.closure.note(from);
            self.touch(to);
        }
        legal
    }

    /// Turns an edge round if that is legal, and returns whether it was.
    pub fn reverse(&mut self, from: NodeIdx, to: NodeIdx, evaluator: &Evaluator) -> bool {
        if !self.dag.has_edge(from, to)
            || !evaluator.constraints().may_reverse(&self.dag, from, to)
            || self.dag.reversal_closes_cycle(from, to, &mut self.reach)
        {
            return false;
        }
        let _ = self.dag.remove_edge(from, to);
        let _ = self.dag.add_edge_with(to, from, &mut self.reach);
        self.closure.note(from);
        self.closure.note(to);
        self.touch(from);
        self.touch(to);
        true
    }

    /// Remembers the network, for [`Self::back_to_mark`].
    pub fn mark(&mut self) {
        for family in self.before.drain(..) {
            self.is_before[family.node().index()] = false;
        }
    }

    /// Goes back to the network of the last mark; costs what has changed since.
    pub fn back_to_mark(&mut self) {
        let before = std::mem::take(&mut self.before);
        for family in &before {
            self.is_before[family.node().index()] = false;
        }
        self.adopt(&before);
        self.before = before;
        self.before.clear();
    }

    /// Takes over families of another network; the whole must be acyclic.
    fn adopt(&mut self, families: &[Arc<Benefits>]) {
        for family in families {
            let node = family.node();
            while let Some(&parent) = self.dag.parents(node).last() {
                let _ = self.dag.remove_edge(parent, node);
                self.closure.note(parent);
            }
        }
        for family in families {
            for &parent in family.parents().iter() {
                let added = self
                    .dag
                    .add_edge_with(parent, family.node(), &mut self.reach);
                debug_assert!(added.is_ok(), "families of one acyclic network");
                self.closure.note(parent);
            }
        }
        for family in families {
            let node = family.node();
            self.score += family.score_value() - self.benefits[node.index()].score_value();
            self.benefits[node.index()] = Arc::clone(family);
            if self.is_changed[node.index()] {
                self.is_changed[node.index()] = false;
                self.changed.retain(|&other| other != node);
            }
        }
        for family in families {
            self.renew_bounds_around(family.node());
        }
    }

    /// Moves to another network, given by the parents of each node.
    ///
    /// # Errors
    /// If the budget does not reach; the position is then as before.
    pub fn move_to(
        &mut self,
        parents: &[Arc<[NodeIdx]>],
        evaluator: &mut Evaluator,
    ) -> Result<(), OutOfBudget> {
        let mut families = Vec::new();
        for node in NodeIdx::all(self.dag.nodes()) {
            let wanted = &parents[node.index()];
            if **wanted != *self.dag.parents(node) || self.is_changed[node.index()] {
                families.push(evaluator.benefits(node, wanted)?);
            }
        }
        for family in &families {
            self.remember(family.node());
        }
        self.adopt(&families);
        Ok(())
    }

    /// Fetches the benefit vectors of the families that changed.
    ///
    /// # Errors
    /// If the budget does not reach; the remaining families are still marked as changed.
    pub fn refresh(&mut self, evaluator: &mut Evaluator) -> Result<(), OutOfBudget> {
        if self.changed.is_empty() {
            return Ok(());
        }
        let mut outcome = Ok(());
        let mut fetched = 0;
        for &node in &self.changed {
            match evaluator.benefits(node, self.dag.parents(node)) {
                Ok(family) => {
                    self.score += family.score_value() - self.benefits[node.index()].score_value();
                    self.benefits[node.index()] = family;
                    self.is_changed[node.index()] = false;
                    fetched += 1;
                }
                Err(out) => {
                    outcome = Err(out);
                    break;
                }
            }
        }
        for at in 0..fetched {
            self.renew_bounds_around(self.changed[at]);
        }
        self.changed.drain(..fetched);
        outcome
    }

    /// Takes the operation that gains most, ties at random, until none gains.
    ///
    /// # Errors
    /// If the budget is used up on the way.
    pub fn climb(
        &mut self,
        evaluator: &mut Evaluator,
        random: &mut Random,
    ) -> Result<(), OutOfBudget> {
        while self.climb_step(evaluator, random)? {}
        Ok(())
    }

    /// Takes the one operation that gains most; returns whether there was one.
    ///
    /// # Errors
    /// If the budget is used up.
    pub fn climb_step(
        &mut self,
        evaluator: &mut Evaluator,
        random: &mut Random,
    ) -> Result<bool, OutOfBudget> {
        self.refresh(evaluator)?;
        let Some(operation) = self.best_operation(random) else {
            return Ok(false);
        };
        let legal = self.apply(operation, evaluator);
        debug_assert!(legal, "only legal operations are proposed");
        self.refresh(evaluator)?;
        Ok(true)
    }

    /// Carries an operation out if it is legal, and returns whether it was.
    pub fn apply(&mut self, operation: Operation, evaluator: &Evaluator) -> bool {
        match operation {
            Operation::Add(from, to) => self.add(from, to, evaluator),
            Operation::Delete(from, to) => self.remove(from, to, evaluator),
            Operation::Reverse(from, to) => self.reverse(from, to, evaluator),
        }
    }

    /// Returns the gain of a legal operation, or none where it is illegal; the position must be
    /// up to date.
    #[must_use]
    pub fn legal_gain(&mut self, operation: Operation) -> Option<f64> {
        self.closure.sweep(&self.dag);
        let (from, to) = operation.edge();
        let gain = match operation {
            Operation::Add(..) => {
                let legal = !self.dag.has_edge(from, to) && !self.closure.reaches(to, from);
                legal.then(|| self.benefits[to.index()].gain(from))
            }
            Operation::Delete(..) => self
                .dag
                .has_edge(from, to)
                .then(|| self.benefits[to.index()].gain(from)),
            Operation::Reverse(..) => {
                let legal =
                    self.dag.has_edge(from, to) && !self.closure.has_detour(&self.dag, from, to);
                legal.then(|| {
                    self.benefits[to.index()].gain(from) + self.benefits[from.index()].gain(to)
                })
            }
        };
        gain.filter(|&gain| gain > f64::NEG_INFINITY)
    }

    /// Lists the legal operations on a node's family with their gains; the position must be up to date.
    pub fn list_operations(&mut self, to: NodeIdx, list: &mut Vec<(f64, Operation)>) {
        self.closure.sweep(&self.dag);
        list.clear();
        let family = &self.benefits[to.index()];
        for from in NodeIdx::all(self.dag.nodes()) {
            let gain = family.gain(from);
            if gain == f64::NEG_INFINITY {
                continue;
            }
            if family.parents().binary_search(&from).is_ok() {
                list.push((gain, Operation::Delete(from, to)));
                let turned = gain + self.benefits[from.index()].gain(to);
                if turned > f64::NEG_INFINITY && !self.closure.has_detour(&self.dag, from, to) {
                    list.push((turned, Operation::Reverse(from, to)));
                }
            } else if !self.closure.reaches(to, from) {
                list.push((gain, Operation::Add(from, to)));
            }
        }
    }

    /// Returns the network as a row; the position must be up to date.
    #[must_use]
    pub fn row(&self) -> EliteRow {
        debug_assert!(self.changed.is_empty(), "refreshed before it is reported");
        let families = self
            .benefits
            .iter()
            .map(|family| Arc::clone(family.parents()))
            .collect();
        let score = self
            .benefits
            .iter()
            .map(|family| family.score_value())
            .sum();
        EliteRow {
            structure: Structure::from_families(families),
            score: LogScore::new(score),
        }
    }

    /// Returns whether all benefit vectors are up to date.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.changed.is_empty()
    }

    /// Returns a legal operation with the largest gain, or none if no legal one gains.
    fn best_operation(&mut self, random: &mut Random) -> Option<Operation> {
        self.closure.sweep(&self.dag);
        let mut best = Best {
            gain: LogScore::MIN_GAIN,
            ties: 0,
            operation: None,
        };
        for to in NodeIdx::all(self.dag.nodes()) {
            if self.bounds[to.index()] < best.gain {
                continue;
            }
            let family = &self.benefits[to.index()];
            // Near an optimum most that gains would close a cycle.
            let gaining = match family.gains_outside(self.closure.descendants(to)) {
                true => family.gaining(),
                false => &[],
            };
            for &from in gaining {
                let gain = family.gain(from);
                if gain < best.gain {
                    break;
                }
                if family.parents().binary_search(&from).is_ok() {
                    best.offer(gain, Operation::Delete(from, to), random);
                } else if !self.closure.reaches(to, from) {
                    best.offer(gain, Operation::Add(from, to), random);
                }
            }
            for &from in family.parents().iter() {
                let gain = family.gain(from) + self.benefits[from.index()].gain(to);
                if gain >= best.gain && !self.closure.has_detour(&self.dag, from, to) {
                    best.offer(gain, Operation::Reverse(from, to), random);
                }
            }
        }
        best.operation
    }

    fn touch(&mut self, node: NodeIdx) {
        self.remember(node);
        if !self.is_changed[node.index()] {
            self.is_changed[node.index()] = true;
            self.changed.push(node);
        }
    }

    fn remember(&mut self, node: NodeIdx) {
        if !self.is_before[node.index()] {
            self.is_before[node.index()] = true;
            self.before.push(Arc::clone(&self.benefits[node.index()]));
        }
    }

    fn renew_bounds_around(&mut self, node: NodeIdx) {
        self.renew_bound(node);
        for at in 0..self.dag.children(node).len() {
            self.renew_bound(self.dag.children(node)[at]);
        }
    }

    fn renew_bound(&mut self, to: NodeIdx) {
        let family = &self.benefits[to.index()];
        let toggle = family
            .gaining()
            .first()
            .map_or(f64::NEG_INFINITY, |&from| family.gain(from));
        let bound = family
            .parents()
            .iter()
            .map(|&from| family.gain(from) + self.benefits[from.index()].gain(to))
            .fold(toggle, f64::max);
        self.bounds[to.index()] = bound;
    }
}

struct Best {
    gain: f64,
    ties: u32,
    operation: Option<Operation>,
}

impl Best {
    /// Keeps the better operation; of equally good ones each with the same chance.
    fn offer(&mut self, gain: f64, operation: Operation, random: &mut Random) {
        if gain > self.gain || self.operation.is_none() {
            *self = Self {
                gain,
                ties: 1,
                operation: Some(operation),
            };
        } else {
            self.ties += 1;
            if random.below(self.ties as usize) == 0 {
                self.operation = Some(operation);
            }
        }
    }
}
