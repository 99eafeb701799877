//! Tabu search: always the best operation that does not lead back to one of the last networks,
//! also when it loses; stops after a number of operations without a new best.

use super::population::Individual;
use crate::graph::Dag;
use crate::ids::{NodeIdx, Seed};
use crate::search::params::made_by;
use crate::search::{Chain, ChainCore, Evaluator, Fields, Operation, OutOfBudget, Position};
use crate::search::{SavedChain, SearchParams, SettingsError, StateKind, StepOutcome, UnfitState};
use crate::search::{Visitor, family_hash, save_position};
use std::collections::VecDeque;

/// How long tabu search remembers, and how patient it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TabuParams {
    /// How many networks are remembered.
    pub list: usize,
    /// How many operations in a row may bring no new best.
    pub patience: u64,
}

impl Default for TabuParams {
    fn default() -> Self {
        Self {
            list: 100,
            patience: 100,
        }
    }
}

impl SearchParams for TabuParams {
    made_by!(Tabu);

    fn visit(&mut self, with: &mut dyn Visitor) -> Result<(), SettingsError> {
        let Self { list, patience } = self;
        with.size("list", list)?;
        with.whole("patience", patience)
    }

    fn bytes_per_chain(&self, nodes: usize) -> usize {
        Position::bytes_for(nodes) + Individual::bytes_for(nodes)
    }
}

/// A tabu chain; a step is one operation.
#[derive(Debug)]
pub struct Tabu {
    core: ChainCore,
    params: TabuParams,
    start: Dag,
    position: Option<Position>,
    /// Keys of the last networks, oldest first.
    visited: VecDeque<u64>,
    without_gain: u64,
}

impl Tabu {
    pub(crate) const KIND: StateKind = StateKind {
        search: "tabu",
        version: 1,
    };

    /// Prepares a chain; nothing is scored before the first step.
    #[must_use]
    pub fn new(evaluator: Evaluator, start: Dag, seed: Seed, params: TabuParams) -> Self {
        let core = ChainCore::new(evaluator, seed);
        Self {
            core,
            params,
            start,
            position: None,
            visited: VecDeque::new(),
            without_gain: 0,
        }
    }

    /// Resumes from a stored state.
    ///
    /// # Errors
    /// If the state is not one of this search.
    pub fn resume(
        evaluator: Evaluator,
        start: Dag,
        params: TabuParams,
        saved: &SavedChain,
    ) -> Result<Self, UnfitState> {
        let mut core = ChainCore::resume(evaluator, saved);
        let position = core.stand_again(&saved.own)?;
        Ok(Self {
            core,
            params,
            start,
            position,
            visited: saved.own.integers("visited")?.iter().copied().collect(),
            without_gain: saved.own.integer("without_gain")?,
        })
    }

    /// Returns the best legal operation that leads to no remembered network, ties at random.
    fn best_allowed(&mut self, position: &mut Position) -> Option<Operation> {
        let n = position.dag().nodes();
        let here = key_of(position.dag());
        let mut best: Option<(f64, Operation)> = None;
        let mut ties = 0;
        for number in 0..Operation::count(n) {
            let operation = Operation::from_number(number, n);
            let Some(gain) = position.legal_gain(operation) else {
                continue;
            };
            if best.is_some_and(|(known, _)| gain < known) {
                continue;
            }
            let key = key_after(position.dag(), operation, here);
            if self.visited.contains(&key) {
                continue;
            }
            if best.is_none_or(|(known, _)| gain > known) {
                ties = 0;
            }
            ties += 1;
            if self.core.random.below(ties) == 0 {
                best = Some((gain, operation));
            }
        }
        best.map(|(_, operation)| operation)
    }
}

/// Returns a key of a network: the sum of its families' hashes.
fn key_of(dag: &Dag) -> u64 {
    NodeIdx::all(dag.nodes())
        .map(|node| family_hash(node, dag.parents(node)))
        .fold(0, u64::wrapping_add)
}

/// Returns the key that a network has after an operation.
fn key_after(dag: &Dag, operation: Operation, key: u64) -> u64 {
    let toggled = |node: NodeIdx, other: NodeIdx| {
        let mut parents = dag.parents(node).to_vec();
        match parents.binary_search(&other) {
            Ok(at) => {
                parents.remove(at);
            }
            Err(at) => parents.insert(at, other),
        }
        family_hash(node, &parents).wrapping_sub(family_hash(node, dag.parents(node)))
    };
    let (from, to) = operation.edge();
    let change = toggled(to, from);
    match operation {
        Operation::Reverse(..) => key.wrapping_add(change).wrapping_add(toggled(from, to)),
        Operation::Add(..) | Operation::Delete(..) => key.wrapping_add(change),
    }
}

impl Chain for Tabu {
    fn try_step(&mut self) -> Result<StepOutcome, OutOfBudget> {
        let mut position = match self.position.take() {
            Some(position) => position,
            None => Position::new(self.start.clone(), &mut self.core.evaluator)?,
        };
        if self.visited.is_empty() {
            self.core.offer(position.score(), || position.row());
            self.visited.push_back(key_of(position.dag()));
        }
        // A budget may have ended in the middle of the last sweep: then the operation is made.
        if position.is_fresh() {
            let patient = self.without_gain < self.params.patience;
            let next = patient.then(|| self.best_allowed(&mut position)).flatten();
            let Some(operation) = next else {
                self.position = Some(position);
                return Ok(StepOutcome::Exhausted);
            };
            position.apply(operation, &self.core.evaluator);
        }
        let refreshed = position.refresh(&mut self.core.evaluator);
        let position = self.position.insert(position);
        refreshed?;
        self.visited.push_back(key_of(position.dag()));
        if self.visited.len() > self.params.list {
            self.visited.pop_front();
        }
        if self.core.offer(position.score(), || position.row()) {
            self.without_gain = 0;
        } else {
            self.without_gain += 1;
        }
        Ok(StepOutcome::Ran)
    }

    fn core(&self) -> &ChainCore {
        &self.core
    }

    fn core_mut(&mut self) -> &mut ChainCore {
        &mut self.core
    }

    fn kind(&self) -> StateKind {
        Self::KIND
    }

    fn save_own(&self) -> Fields {
        save_position(self.position.as_ref())
            .with_integer("without_gain", self.without_gain)
            .with_integers("visited", self.visited.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{evaluator, table_of};
    use super::*;

    #[test]
    fn remembered_networks_are_not_visited_again_and_patience_ends_it() {
        let params = TabuParams {
            list: 12,
            patience: 30,
        };
        let table = table_of(6, 3);
        let mut chain = Tabu::new(evaluator(&table), Dag::empty(6), Seed(1), params);
        let mut way: Vec<Dag> = vec![Dag::empty(6)];
        let mut since_best = 0;
        let mut losses = 0;
        let mut before = f64::NEG_INFINITY;
        loop {
            let best = chain.core().best().map(|row| row.score);
            if chain.step() != StepOutcome::Ran {
                break;
            }
            let position = chain.position.as_ref().unwrap();
            let remembered = &way[way.len().saturating_sub(12)..];
            assert!(!remembered.contains(position.dag()));
            way.push(position.dag().clone());
            losses += u32::from(position.score().value() < before);
            before = position.score().value();
            let start = way.len() == 2;
            since_best = if start || chain.core().best().map(|row| row.score) > best {
                0
            } else {
                since_best + 1
            };
        }
        assert_eq!(since_best, 30, "stops when patience is used up");
        assert!(losses > 5, "continues though it loses");
    }

    #[test]
    fn keys_after_an_operation_are_those_of_the_network_after_it() {
        let constraints = crate::search::Constraints::none(5);
        let mut random = crate::search::Random::new(Seed(2));
        let mut reach = crate::graph::ReachScratch::default();
        let mut dag = Dag::empty(5);
        for _ in 0..200 {
            let drawn = Operation::draw_legal(&dag, &constraints, &mut random, &mut reach);
            let operation = drawn.unwrap();
            let foretold = key_after(&dag, operation, key_of(&dag));
            operation.apply(&mut dag, &mut reach);
            assert_eq!(foretold, key_of(&dag));
        }
    }
}
