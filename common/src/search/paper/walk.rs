//! The printed walk: Algorithms 1 and 2 of the paper, line by line.

use super::params::{Evict, Explore, PaperParams};
use super::row::{Family, Row};
use super::table::{RowId, Table};
use crate::elite::Structure;
use crate::graph::Dag;
use crate::ids::{NodeIdx, Seed};
use crate::search::{Chain, ChainCore, Evaluator, Fields, Operation, OutOfBudget, SavedChain};
use crate::search::{Seeds, StateKind, StepOutcome, UnfitState};
use std::sync::Arc;

/// The printed walk; a step is one iteration.
#[derive(Debug)]
pub struct PaperWalk {
    core: ChainCore,
    params: PaperParams,
    start: Dag,
    table: Table,
    current: RowId,
    waiting: Option<Seeds>,
}

impl PaperWalk {
    pub(crate) const KIND: StateKind = StateKind {
        search: "paper",
        version: 1,
    };

    /// Prepares a walk; nothing is scored before the first step.
    #[must_use]
    pub fn new(evaluator: Evaluator, start: Dag, seed: Seed, params: PaperParams) -> Self {
        let core = ChainCore::new(evaluator, seed);
        let table = Table::new(params.table_rows);
        Self {
            core,
            params,
            start,
            table,
            current: RowId::FIRST,
            waiting: None,
        }
    }

    /// Resumes from a stored state.
    ///
    /// # Errors
    /// If the state is not one of this search.
    pub fn resume(
        evaluator: Evaluator,
        start: Dag,
        params: PaperParams,
        saved: &SavedChain,
    ) -> Result<Self, UnfitState> {
        let mut walk = Self::new(evaluator, start, Seed(0), params);
        let evaluator = walk.core.evaluator;
        walk.core = ChainCore::resume(evaluator, saved);
        (walk.table, walk.current) = Table::load(walk.params.table_rows, &saved.own)?;
        Ok(walk)
    }

    /// Lines 6 to 24 of the paper's Algorithm 2.
    fn try_operation(&mut self, operation: Operation) -> Result<(), OutOfBudget> {
        let row = self.table.row(self.current);
        if !row.is_legal(operation, self.core.evaluator.constraints()) {
            self.table
                .row_mut(self.current)
                .write(operation, f64::NEG_INFINITY);
            return Ok(());
        }
        let mut families = row.families().to_vec();
        for node in operation.touched() {
            let parents = row.parents_after(operation, node);
            let score = self.core.evaluator.local(node, &parents)?;
            families[node.index()] = Arc::new(Family {
                parents: parents.into(),
                score,
            });
        }
        let next = Row::new(families);
        let benefit = next.score().value() - row.score().value();
        self.table.row_mut(self.current).write(operation, benefit);
        let next = match self.table.find(&next) {
            Some(known) => known,
            None => self.table.insert(next),
        };
        self.table
            .row_mut(next)
            .write(operation.inverse(), -benefit);
        self.current = next;
        self.offer_current();
        self.evict();
        Ok(())
    }

    fn evict(&mut self) {
        let kept = match self.params.evict {
            Evict::Protect => Some(self.current),
            Evict::Best => None,
        };
        while self.table.is_too_long() {
            let gone = self.table.evict_worst(kept);
            if gone == Some(self.current) {
                self.current = self.table.best();
            }
        }
    }

    fn offer_current(&mut self) {
        let row = self.table.row(self.current);
        self.core.offer(row.score(), || row.to_elite());
    }

    /// Rows of others enter the table; with probability theta the best of them becomes current.
    fn take_waiting_seeds(&mut self) -> Result<(), OutOfBudget> {
        let Some(seeds) = self.waiting.take() else {
            return Ok(());
        };
        let mut entered: Vec<RowId> = Vec::new();
        for seed in seeds.rows() {
            self.core.seeds.received += 1;
            let row = self.scored_row(&seed.structure)?;
            if self.table.find(&row).is_none() {
                self.core.seeds.entered += 1;
                entered.push(self.table.insert(row));
            }
        }
        let best = entered
            .iter()
            .copied()
            .max_by(|&a, &b| self.table.row(a).score().cmp(&self.table.row(b).score()));
        if let Some(best) = best
            && self.core.random.unit() <= self.params.theta
        {
            self.current = best;
            self.core.seeds.made_current += 1;
            self.offer_current();
        }
        self.evict();
        Ok(())
    }

    fn scored_row(&mut self, structure: &Structure) -> Result<Row, OutOfBudget> {
        let mut families = Vec::with_capacity(structure.nodes());
        for node in NodeIdx::all(structure.nodes()) {
            let score = self.core.evaluator.local(node, structure.parents(node))?;
            let parents = Arc::clone(&structure.families()[node.index()]);
            families.push(Arc::new(Family { parents, score }));
        }
        Ok(Row::new(families))
    }

    /// Returns what a cell holds: none if the row or the cell was never tried.
    #[cfg(test)]
    fn cell(&self, row: RowId, operation: Operation) -> Option<f64> {
        self.table.row(row).value(operation)
    }
}

impl Chain for PaperWalk {
    fn try_step(&mut self) -> Result<StepOutcome, OutOfBudget> {
        if self.table.is_empty() {
            let first = self.scored_row(&Structure::of(&self.start))?;
            self.current = self.table.insert(first);
            self.offer_current();
        }
        self.take_waiting_seeds()?;
        let row = self.table.row(self.current);
        let explore = self.core.random.chance(self.params.epsilon);
        let chosen = match (explore, self.params.explore) {
            (true, Explore::Untried) => row.draw_untried(&mut self.core.random),
            (true, Explore::All) => row.draw_any(&mut self.core.random),
            (false, _) => row.draw_by_benefit(&mut self.core.random),
        };
        let Some(operation) = chosen else {
            // A row without a legal operation: go to the best one; if we are there, that is all.
            let best = self.table.best();
            if best == self.current {
                return Ok(StepOutcome::Exhausted);
            }
            self.current = best;
            return Ok(StepOutcome::Ran);
        };
        self.try_operation(operation)?;
        if self.core.random.unit() <= self.params.theta {
            self.current = self.table.best();
        }
        Ok(StepOutcome::Ran)
    }

    fn core(&self) -> &ChainCore {
        &self.core
    }

    fn core_mut(&mut self) -> &mut ChainCore {
        &mut self.core
    }

    fn wants_seeds(&self) -> bool {
        true
    }

    fn give_seeds(&mut self, seeds: Seeds) {
        self.waiting = Some(seeds);
    }

    fn kind(&self) -> StateKind {
        Self::KIND
    }

    fn save_own(&self) -> Fields {
        self.table.save(self.current)
    }
}

#[cfg(test)]
mod tests;
