//! RLBayes, the default search: the paper's parts (rows, benefits, explore or exploit, a bounded
//! table, theta-transfer) arranged in episodes. An episode is: a walk inside the equivalence class,
//! a short burst of exploration whose place the Q-table draws, exploitation (the climb, best
//! benefit first), the table's update, and acceptance by the chain's temperature.
//!
//! A chain whose best has not improved for long transfers: to rows of others where it is sent
//! some, else to a row of its own table. It drops a region of that row, climbs, and recombines.

mod explore;
mod q_table;
mod recombine;
#[cfg(test)]
mod tests;

pub use explore::{BurstKind, Explorer, walk_in_class};
pub use recombine::recombine;

use super::chain::{Chain, ChainCore, SavedChain, Seeds, StepOutcome, UnfitState};
use super::position::Position;
use super::problem::{Evaluator, OutOfBudget};
use super::{MIN_GAIN, Random};
use crate::elite::{EliteRow, Found};
use crate::graph::Dag;
use crate::ids::{NodeIdx, Seed};
use q_table::QTable;

/// The settings of the default search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RlBayesParams {
    /// Nats: how much worse an optimum the hottest chain accepts with probability 1/e. The first
    /// chain has temperature 0, the others lie evenly between.
    pub temperature: f64,
    /// Probability that a stalled chain without seeds goes back to its best row, not to another.
    pub theta: f64,
    /// Rows of the Q-table.
    pub table_rows: usize,
    /// Episodes without a better optimum after which a chain counts as stalled.
    pub stall: u64,
    /// Share of the nodes whose edges are dropped on a transfer.
    pub region: f64,
    /// Whether the Q-table's values decide where bursts take place.
    pub learning: Learning,
}

/// Whether the Q-table's values decide where bursts take place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learning {
    /// Places are drawn by value.
    On,
    /// Places are drawn evenly: what learning is measured against.
    Off,
}

impl Default for RlBayesParams {
    fn default() -> Self {
        Self {
            temperature: 6.0,
            theta: 0.5,
            table_rows: 64,
            stall: 2000,
            region: 0.5,
            learning: Learning::On,
        }
    }
}

/// Which of the search's chains this is: they differ in temperature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainRank {
    /// The chain's number, from 0.
    pub number: u32,
    /// How many chains there are.
    pub of: u32,
}

/// A chain of the default search; a step is one episode, or at the very beginning a part of the
/// first climb.
#[derive(Debug)]
pub struct RlBayes {
    core: ChainCore,
    params: RlBayesParams,
    temperature: f64,
    start: Dag,
    stage: Stage,
    explorer: Explorer,
    table: QTable,
    /// The best optimum since the last transfer.
    run_best: Option<EliteRow>,
    since_best: u64,
    waiting: Option<Seeds>,
}

#[derive(Debug)]
enum Stage {
    Start,
    /// The first climb, a few operations a step, so that it can be interrupted.
    Climbing(Position),
    Exploring(Position),
}

/// Operations of the first climb in one step.
const CLIMB_STEPS: usize = 16;
/// Chance of a walk inside the equivalence class before a burst, and its longest length.
const WALK_CHANCE: f64 = 0.5;
const WALK_STEPS: usize = 10;
/// Chance that a second place is disturbed in the same episode.
const SECOND_BURST: f64 = 0.2;

impl RlBayes {
    /// Prepares a chain; nothing is scored before the first step.
    #[must_use]
    pub fn new(
        evaluator: Evaluator,
        start: Dag,
        seed: Seed,
        params: RlBayesParams,
        rank: ChainRank,
    ) -> Self {
        let steps = f64::from(rank.of.max(2) - 1);
        // A single chain takes a low temperature: it has to climb and to explore.
        let level = if rank.of == 1 {
            1.0 / 3.0
        } else {
            f64::from(rank.number) / steps
        };
        Self {
            core: ChainCore::new(evaluator, seed),
            params,
            temperature: params.temperature * level,
            table: QTable::new(start.nodes(), params.table_rows),
            start,
            stage: Stage::Start,
            explorer: Explorer::default(),
            run_best: None,
            since_best: 0,
            waiting: None,
        }
    }

    /// Goes on from a stored state.
    ///
    /// # Errors
    /// If the state is not one of this search.
    pub fn resume(
        evaluator: Evaluator,
        start: Dag,
        params: RlBayesParams,
        rank: ChainRank,
        saved: &SavedChain,
    ) -> Result<Self, UnfitState> {
        let mut chain = Self::new(evaluator, start, Seed(0), params, rank);
        let nodes = chain.start.nodes();
        chain.core = ChainCore::resume(chain.core.evaluator, saved);
        let [since_best, exploring, recent @ ..] = saved.integers.as_slice() else {
            return Err(UnfitState);
        };
        chain.since_best = *since_best;
        let rows = match saved.rows.as_slice() {
            [] => &[],
            [current, run_best, rows @ ..] => {
                let position = Position::stand_again(current, &mut chain.core.evaluator)?;
                chain.stage = match exploring {
                    0 => Stage::Climbing(position),
                    _ => Stage::Exploring(position),
                };
                chain.run_best = Some(run_best.clone());
                rows
            }
            [_] => return Err(UnfitState),
        };
        chain.table = QTable::load(nodes, params.table_rows, rows, &saved.numbers, recent)
            .ok_or(UnfitState)?;
        Ok(chain)
    }

    /// Returns how many bytes one chain holds at most, beside what it shares through the caches.
    #[must_use]
    pub fn bytes_for(nodes: usize, params: &RlBayesParams) -> usize {
        let vectors = nodes * super::Benefits::bytes_for(nodes, 4, 8);
        let closure = nodes * nodes.div_ceil(64) * 8;
        vectors + closure + QTable::bytes_for(nodes, params.table_rows)
    }

    fn try_step(&mut self) -> Result<(), OutOfBudget> {
        match &mut self.stage {
            Stage::Start => {
                let position = Position::new(self.start.clone(), &mut self.core.evaluator)?;
                self.core.offer(position.score(), || position.row());
                self.stage = Stage::Climbing(position);
                Ok(())
            }
            Stage::Climbing(position) => {
                let ChainCore {
                    evaluator, random, ..
                } = &mut self.core;
                let mut climbed = Ok(true);
                for _ in 0..CLIMB_STEPS {
                    climbed = position.climb_step(evaluator, random);
                    if climbed != Ok(true) {
                        break;
                    }
                }
                if position.is_fresh() {
                    self.core.offer(position.score(), || position.row());
                }
                if !climbed?
                    && let Stage::Climbing(mut position) =
                        std::mem::replace(&mut self.stage, Stage::Start)
                {
                    position.mark();
                    self.run_best = Some(position.row());
                    self.stage = Stage::Exploring(position);
                }
                Ok(())
            }
            Stage::Exploring(_) => match self.waiting.take() {
                Some(seeds) => self.transfer_to_seeds(seeds),
                None if self.since_best >= 2 * self.params.stall => self.transfer_to_own_row(),
                None => self.episode(),
            },
        }
    }

    fn episode(&mut self) -> Result<(), OutOfBudget> {
        let Stage::Exploring(position) = &mut self.stage else {
            return Ok(());
        };
        let ChainCore {
            evaluator, random, ..
        } = &mut self.core;
        if random.chance(WALK_CHANCE) && evaluator.is_score_equivalent() {
            let steps = 1 + random.below(WALK_STEPS);
            walk_in_class(steps, position, evaluator, random);
            position.refresh(evaluator)?;
        }
        position.mark();
        let before = position.score().value();
        let kind = draw_kind(random);
        let place = draw_place(&self.table, self.params.learning, random);
        self.explorer
            .burst(kind, place, position, evaluator, random);
        if random.chance(SECOND_BURST) {
            let second = draw_place(&self.table, self.params.learning, random);
            self.explorer
                .burst(kind, second, position, evaluator, random);
        }
        position.climb(evaluator, random)?;
        let change = position.score().value() - before;
        let accepted = change >= 0.0
            || self.temperature > 0.0 && random.unit() < libm::exp(change / self.temperature);
        if !accepted {
            position.back_to_mark();
        } else if change.abs() > MIN_GAIN {
            self.table.moved(place);
        }
        let score = position.score();
        let is_record = self
            .run_best
            .as_ref()
            .is_none_or(|best| score.value() > best.score.value() + MIN_GAIN);
        if is_record {
            self.table.credit_record(place);
            self.run_best = Some(position.row());
            self.since_best = 0;
            self.core.offer(score, || position.row());
        } else {
            self.table.fade(place);
            self.since_best += 1;
        }
        Ok(())
    }

    /// Theta-transfer to rows from outside. A stalled chain starts anew from the first and
    /// recombines with the second; one that still improves but lags far behind recombines what it
    /// has with the first.
    fn transfer_to_seeds(&mut self, seeds: Seeds) -> Result<(), OutOfBudget> {
        let stalled = self.wants_seeds();
        if stalled {
            self.end_run();
        }
        self.core.seeds.received += seeds.rows.len() as u64;
        for row in &seeds.rows {
            self.core.seeds.entered += u64::from(self.table.insert(row));
        }
        let Some(base) = seeds.rows.first() else {
            return Ok(());
        };
        self.core.seeds.made_current += 1;
        if !stalled {
            return self.catch_up(base);
        }
        let mate = seeds.rows.last().filter(|_| seeds.rows.len() > 1);
        let mut draw = Random::new(seeds.draw);
        self.restart_from(base, mate, &mut draw)
    }

    /// Recombines the best of the run with a better row, and goes on from the child.
    fn catch_up(&mut self, better: &EliteRow) -> Result<(), OutOfBudget> {
        let (Stage::Exploring(position), Some(own)) = (&mut self.stage, &self.run_best) else {
            return Ok(());
        };
        let evaluator = &mut self.core.evaluator;
        let child = recombine(own, better, evaluator)?;
        position.move_to(child.structure.families(), evaluator)?;
        position.climb(evaluator, &mut self.core.random)?;
        position.mark();
        let row = position.row();
        self.core.offer(row.score, || row.clone());
        self.run_best = Some(row);
        self.since_best = 0;
        Ok(())
    }

    fn transfer_to_own_row(&mut self) -> Result<(), OutOfBudget> {
        self.end_run();
        let random = &mut self.core.random;
        let Some(base) = self.table.draw_row(self.params.theta, random).cloned() else {
            self.since_best = 0;
            return Ok(());
        };
        let mate = random.pick(self.table.rows()).cloned();
        let mut draw = Random::new(Seed(random.bits()));
        self.restart_from(&base, mate.as_ref(), &mut draw)
    }

    /// Writes the optimum that the run ended on into the table and offers it to others.
    fn end_run(&mut self) {
        if let Some(row) = self.run_best.take() {
            self.table.insert(&row);
            self.core.note_find(Found::Stalled, row);
        }
    }

    /// Drops a region of a row, climbs, recombines with another row, climbs: a new run begins.
    fn restart_from(
        &mut self,
        base: &EliteRow,
        mate: Option<&EliteRow>,
        draw: &mut Random,
    ) -> Result<(), OutOfBudget> {
        let Stage::Exploring(position) = &mut self.stage else {
            return Ok(());
        };
        let evaluator = &mut self.core.evaluator;
        self.since_best = 0;
        position.move_to(base.structure.families(), evaluator)?;
        let nodes = position.dag().nodes();
        let place = NodeIdx::new(draw.below(nodes));
        let size = region_size(nodes, self.params.region);
        self.explorer
            .drop_region(place, size, position, evaluator, draw);
        position.climb(evaluator, draw)?;
        if let Some(mate) = mate {
            let child = recombine(&position.row(), mate, evaluator)?;
            position.move_to(child.structure.families(), evaluator)?;
            position.climb(evaluator, draw)?;
        }
        position.mark();
        let row = position.row();
        self.core.offer(row.score, || row.clone());
        self.run_best = Some(row);
        Ok(())
    }
}

fn region_size(nodes: usize, share: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a number of nodes"
    )]
    let size = (nodes as f64 * share) as usize;
    size.max(2)
}

fn draw_kind(random: &mut Random) -> BurstKind {
    let total: u32 = BurstKind::MIX.iter().map(|(_, weight)| weight).sum();
    let mut left = random.below(total as usize);
    for (kind, weight) in BurstKind::MIX {
        let weight = weight as usize;
        if left < weight {
            return kind;
        }
        left -= weight;
    }
    BurstKind::Cluster
}

fn draw_place(table: &QTable, learning: Learning, random: &mut Random) -> NodeIdx {
    match learning {
        Learning::On => table.draw_place(random),
        Learning::Off => NodeIdx::new(random.below(table.nodes())),
    }
}

impl Chain for RlBayes {
    fn step(&mut self) -> StepOutcome {
        let exploring = matches!(self.stage, Stage::Exploring(_));
        if self.try_step().is_err() {
            return StepOutcome::OutOfBudget;
        }
        if exploring {
            self.core.iterations += 1;
        }
        StepOutcome::Ran
    }

    fn core(&self) -> &ChainCore {
        &self.core
    }

    fn core_mut(&mut self) -> &mut ChainCore {
        &mut self.core
    }

    fn wants_seeds(&self) -> bool {
        self.since_best >= self.params.stall
    }

    fn give_seeds(&mut self, seeds: Seeds) {
        self.waiting = Some(seeds);
    }

    fn save(&self) -> SavedChain {
        let mut saved = self.core.save();
        let (values, recent) = self.table.save();
        let (position, exploring) = match &self.stage {
            Stage::Start => (None, 0),
            Stage::Climbing(position) => (Some(position), 0),
            Stage::Exploring(position) => (Some(position), 1),
        };
        if let Some(position) = position.filter(|position| position.is_fresh()) {
            let current = position.row();
            saved.rows.push(current.clone());
            saved.rows.push(self.run_best.clone().unwrap_or(current));
            saved.rows.extend(self.table.rows().iter().cloned());
        }
        saved.integers = vec![self.since_best, exploring];
        saved.integers.extend(recent);
        saved.numbers = values;
        saved
    }
}
