//! A row of the walk's Q-table: a network, and the benefits of the operations tried on it.

use crate::elite::{EliteRow, Structure};
use crate::ids::NodeIdx;
use crate::score::LogScore;
use crate::search::{Constraints, Operation, Random, family_hash};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A node's parents with their local score.
#[derive(Debug, PartialEq)]
pub(super) struct Family {
    pub(super) parents: Arc<[NodeIdx]>,
    pub(super) score: f64,
}

/// A network and its tried cells; minus infinity marks an operation that failed.
#[derive(Debug)]
pub(super) struct Row {
    families: Vec<Arc<Family>>,
    score: LogScore,
    key: u64,
    tried: BTreeMap<usize, f64>,
    /// How many of the tried cells are minus infinity.
    failed: usize,
}

/// Cells this far below the largest have less weight than one step of a 53-bit random number.
const NEGLIGIBLE: f64 = -60.0;

impl Row {
    pub(super) fn new(families: Vec<Arc<Family>>) -> Self {
        let score = LogScore::new(families.iter().map(|family| family.score).sum());
        let key = NodeIdx::all(families.len())
            .zip(&families)
            .map(|(node, family)| family_hash(node, &family.parents))
            .fold(0, u64::wrapping_add);
        Self {
            families,
            score,
            key,
            tried: BTreeMap::new(),
            failed: 0,
        }
    }

    /// Returns the network as a row worth sharing.
    pub(super) fn to_elite(&self) -> EliteRow {
        let families = self
            .families()
            .iter()
            .map(|family| Arc::clone(&family.parents))
            .collect();
        EliteRow {
            structure: Structure::from_families(families),
            score: self.score(),
        }
    }

    pub(super) fn families(&self) -> &[Arc<Family>] {
        &self.families
    }

    pub(super) fn score(&self) -> LogScore {
        self.score
    }

    /// Returns a hash of the network; equality is checked beside it.
    pub(super) fn key(&self) -> u64 {
        self.key
    }

    pub(super) fn is_same_network(&self, other: &Self) -> bool {
        self.families
            .iter()
            .zip(&other.families)
            .all(|(a, b)| a.parents == b.parents)
    }

    pub(super) fn tried(&self) -> &BTreeMap<usize, f64> {
        &self.tried
    }

    /// Writes a cell.
    pub(super) fn write(&mut self, operation: Operation, benefit: f64) {
        let cell = operation.number(self.nodes());
        self.write_cell(cell, benefit);
    }

    pub(super) fn write_cell(&mut self, cell: usize, benefit: f64) {
        let before = self.tried.insert(cell, benefit);
        let is_failure = |value: f64| value == f64::NEG_INFINITY;
        self.failed += usize::from(is_failure(benefit));
        self.failed -= usize::from(before.is_some_and(is_failure));
    }

    #[cfg(test)]
    pub(super) fn value(&self, operation: Operation) -> Option<f64> {
        self.tried.get(&operation.number(self.nodes())).copied()
    }

    /// Draws an untried cell; when none is left, any that did not fail.
    pub(super) fn draw_untried(&self, random: &mut Random) -> Option<Operation> {
        let (all, untried) = (self.cells(), self.cells() - self.tried.len());
        if untried == 0 {
            return self.draw_any(random);
        }
        if untried * 2 >= all {
            loop {
                let cell = random.below(all);
                if !self.tried.contains_key(&cell) {
                    return Some(self.operation(cell));
                }
            }
        }
        // The k-th untried cell: each tried one at or before it moves it on by one.
        let mut cell = random.below(untried);
        for &taken in self.tried.keys() {
            if taken > cell {
                break;
            }
            cell += 1;
        }
        Some(self.operation(cell))
    }

    /// Draws a cell that did not fail, each with the same chance.
    pub(super) fn draw_any(&self, random: &mut Random) -> Option<Operation> {
        let mut left = self.cells() - self.failed;
        if left == 0 {
            return None;
        }
        if left * 2 >= self.cells() {
            loop {
                let cell = random.below(self.cells());
                if self
                    .tried
                    .get(&cell)
                    .is_none_or(|&value| value > f64::NEG_INFINITY)
                {
                    return Some(self.operation(cell));
                }
            }
        }
        left = random.below(left);
        for (&cell, &value) in &self.tried {
            if value == f64::NEG_INFINITY {
                if cell > left {
                    break;
                }
                left += 1;
            }
        }
        Some(self.operation(left))
    }

    /// Draws by softmax of the benefits, temperature 1 nat; untried cells count as 0, failed ones
    /// are never drawn; the maximum is subtracted first.
    pub(super) fn draw_by_benefit(&self, random: &mut Random) -> Option<Operation> {
        let untried = self.cells() - self.tried.len();
        let largest = self
            .tried
            .values()
            .copied()
            .fold(if untried > 0 { 0.0 } else { f64::NEG_INFINITY }, f64::max);
        if largest == f64::NEG_INFINITY {
            return None;
        }
        let weight = |value: f64| {
            let below = value - largest;
            if below < NEGLIGIBLE {
                0.0
            } else {
                libm::exp(below)
            }
        };
        #[expect(clippy::cast_precision_loss, reason = "cells are below 2^53")]
        let untried_weight = untried as f64 * weight(0.0);
        let total: f64 =
            untried_weight + self.tried.values().map(|&value| weight(value)).sum::<f64>();
        let mut left = random.unit() * total;
        if left < untried_weight {
            return self.draw_untried(random);
        }
        left -= untried_weight;
        let mut last = None;
        for (&cell, &value) in &self.tried {
            let weight = weight(value);
            if weight > 0.0 {
                last = Some(cell);
                if left < weight {
                    break;
                }
                left -= weight;
            }
        }
        match last {
            Some(cell) => Some(self.operation(cell)),
            None => self.draw_untried(random),
        }
    }

    pub(super) fn is_legal(&self, operation: Operation, constraints: &Constraints) -> bool {
        let (from, to) = operation.edge();
        let present = self.has_edge(from, to);
        match operation {
            Operation::Add(..) => {
                !present
                    && constraints.is_allowed(from, to)
                    && self.families[to.index()].parents.len() < constraints.max_parents()
                    && !self.has_path(to, from, None)
            }
            Operation::Delete(..) => present && !constraints.is_required(from, to),
            Operation::Reverse(..) => {
                present
                    && !constraints.is_required(from, to)
                    && constraints.is_allowed(to, from)
                    && self.families[from.index()].parents.len() < constraints.max_parents()
                    && !self.has_path(from, to, Some((from, to)))
            }
        }
    }

    /// Returns a node's parents after an operation that touches it.
    pub(super) fn parents_after(&self, operation: Operation, node: NodeIdx) -> Vec<NodeIdx> {
        let (from, to) = operation.edge();
        let other = if node == to { from } else { to };
        let mut parents = self.families[node.index()].parents.to_vec();
        match parents.binary_search(&other) {
            Ok(at) => {
                parents.remove(at);
            }
            Err(at) => parents.insert(at, other),
        }
        parents
    }

    fn has_edge(&self, from: NodeIdx, to: NodeIdx) -> bool {
        self.families[to.index()]
            .parents
            .binary_search(&from)
            .is_ok()
    }

    /// Returns whether a path leads from `start` to `goal` without the edge `leaving_out`.
    fn has_path(
        &self,
        start: NodeIdx,
        goal: NodeIdx,
        leaving_out: Option<(NodeIdx, NodeIdx)>,
    ) -> bool {
        let mut seen = vec![false; self.nodes()];
        let mut stack = vec![goal];
        while let Some(node) = stack.pop() {
            for &parent in self.families[node.index()].parents.iter() {
                if leaving_out == Some((parent, node)) {
                    continue;
                }
                if parent == start {
                    return true;
                }
                if !std::mem::replace(&mut seen[parent.index()], true) {
                    stack.push(parent);
                }
            }
        }
        false
    }

    fn nodes(&self) -> usize {
        self.families.len()
    }

    fn cells(&self) -> usize {
        Operation::count(self.nodes())
    }

    fn operation(&self, cell: usize) -> Operation {
        Operation::from_number(cell, self.nodes())
    }
}
