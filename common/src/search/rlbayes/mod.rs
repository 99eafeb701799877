//! RLBayes, the default search: the paper's parts (rows, benefits, explore or exploit, a bounded
//! table, theta-transfer) arranged in episodes and runs.
//!
//! An episode is: a walk inside the equivalence class, a short burst of exploration, exploitation
//! (the climb, best benefit first), and acceptance by the chain's temperature. A run is many
//! episodes: it drops a region of the row that the chain explores, and ends when its best optimum
//! has not improved for a while. What it found is then credited to that row, group of families by
//! group of families (see `q_table`), and the next run starts from there.
//!
//! A chain whose row has not improved for long transfers: it takes over what rows of others have
//! that is better, or goes to another row of its own table.

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
    /// Episodes without a better row after which a chain counts as stalled.
    pub stall: u64,
    /// Largest share of the nodes whose edges a run drops.
    pub region: f64,
    /// How the outcome of a run changes the row that it started from.
    pub learning: Learning,
}

/// How the outcome of a run changes the row that it started from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learning {
    /// Its return is credited to the groups of families that earned it: each that gained enters
    /// the row, though the outcome as a whole may be worse.
    On,
    /// A better outcome replaces the row as a whole: what learning is measured against.
    Off,
}

impl Default for RlBayesParams {
    fn default() -> Self {
        Self {
            temperature: 6.0,
            theta: 0.5,
            table_rows: 64,
            stall: 10_000,
            region: 0.8,
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
    /// The best optimum of the run under way.
    run_best: Option<EliteRow>,
    /// Where the run's bursts take place: the region that it dropped, and what its records changed.
    places: Vec<NodeIdx>,
    /// Episodes since the run's best improved.
    since_best: u64,
    /// Episodes since the row that is explored improved.
    since_row: u64,
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
/// A run ends after this many episodes a place without a better optimum, and not before these.
const EPISODES_A_PLACE: u64 = 4;
const LEAST_EPISODES: u64 = 300;
/// The first run, which nothing can fall back on, has more patience.
const LEAST_FIRST_EPISODES: u64 = 1000;

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
            table: QTable::new(params.table_rows),
            places: NodeIdx::all(start.nodes()).collect(),
            start,
            stage: Stage::Start,
            explorer: Explorer::default(),
            run_best: None,
            since_best: 0,
            since_row: 0,
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
        let [since_best, since_row, exploring, explores, places @ ..] = saved.integers.as_slice()
        else {
            return Err(UnfitState);
        };
        chain.since_best = *since_best;
        chain.since_row = *since_row;
        let rows = match saved.rows.as_slice() {
            [] => &[],
            [current, run_best, rows @ ..] => {
                let position = Position::stand_again(current, &mut chain.core.evaluator)?;
                chain.stage = match exploring {
                    0 => Stage::Climbing(position),
                    _ => Stage::Exploring(position),
                };
                chain.run_best = Some(run_best.clone());
                chain.places = places
                    .iter()
                    .map(|&place| usize::try_from(place).ok().filter(|&at| at < nodes))
                    .map(|place| place.map(NodeIdx::new).ok_or(UnfitState))
                    .collect::<Result<_, _>>()?;
                rows
            }
            [_] => return Err(UnfitState),
        };
        if chain.places.is_empty() || !saved.numbers.is_empty() {
            return Err(UnfitState);
        }
        chain.table = QTable::load(params.table_rows, *explores != 0, rows).ok_or(UnfitState)?;
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
                None if self.since_best < self.patience() => self.episode(),
                None => {
                    self.end_run()?;
                    if self.since_row >= 2 * self.params.stall {
                        self.transfer_to_own_row();
                    }
                    self.begin_run()
                }
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
        let bursts = 1 + u32::from(random.chance(SECOND_BURST));
        for _ in 0..bursts {
            let place = self.places[random.below(self.places.len())];
            self.explorer
                .burst(kind, place, position, evaluator, random);
        }
        position.climb(evaluator, random)?;
        let change = position.score().value() - before;
        let accepted = change >= 0.0
            || self.temperature > 0.0 && random.unit() < libm::exp(change / self.temperature);
        if !accepted {
            position.back_to_mark();
        }
        let score = position.score();
        let is_record = self
            .run_best
            .as_ref()
            .is_none_or(|best| score.value() > best.score.value() + MIN_GAIN);
        self.since_row += 1;
        self.since_best += 1;
        if is_record {
            self.since_best = 0;
            self.run_best = Some(position.row());
            for node in position.changed_since_mark() {
                if !self.places.contains(&node) {
                    self.places.push(node);
                }
            }
            self.core.offer(score, || position.row());
        }
        Ok(())
    }

    /// Returns after how many episodes without a better optimum a run ends.
    fn patience(&self) -> u64 {
        let least = match self.table.explored() {
            Some(_) => LEAST_EPISODES,
            None => LEAST_FIRST_EPISODES,
        };
        let episodes = EPISODES_A_PLACE * self.places.len() as u64;
        episodes.max(least).min(self.params.stall)
    }

    /// Credits what the run found to the row that it started from.
    fn end_run(&mut self) -> Result<(), OutOfBudget> {
        let (Stage::Exploring(position), Some(outcome)) = (&mut self.stage, &self.run_best) else {
            return Ok(());
        };
        let evaluator = &mut self.core.evaluator;
        let credited = self
            .table
            .credited(outcome, self.params.learning, evaluator)?;
        position.move_to(credited.structure.families(), evaluator)?;
        position.climb(evaluator, &mut self.core.random)?;
        position.mark();
        let row = position.row();
        self.table.insert(outcome);
        if self.table.explore_if_better(&row) {
            self.since_row = 0;
            self.core.offer(row.score, || row.clone());
            self.core.note_find(Found::Stalled, row);
        }
        Ok(())
    }

    /// Drops a region of the row that is explored and climbs: a new run begins.
    fn begin_run(&mut self) -> Result<(), OutOfBudget> {
        let (Stage::Exploring(position), Some(row)) = (&mut self.stage, self.table.explored())
        else {
            return Ok(());
        };
        let ChainCore {
            evaluator, random, ..
        } = &mut self.core;
        position.move_to(row.structure.families(), evaluator)?;
        let nodes = position.dag().nodes();
        let place = NodeIdx::new(random.below(nodes));
        let size = region_size(nodes, self.params.region * random.unit());
        self.explorer
            .drop_region(place, size, position, evaluator, random);
        self.places.clear();
        self.places.extend_from_slice(self.explorer.region());
        position.climb(evaluator, random)?;
        position.mark();
        let row = position.row();
        self.core.offer(row.score, || row.clone());
        self.run_best = Some(row);
        self.since_best = 0;
        Ok(())
    }

    /// Theta-transfer to rows from outside: a stalled chain takes over what the last of them has
    /// that is better, and starts a run from there; one that still improves but lags far behind
    /// does so with the first, the best, and goes on.
    fn transfer_to_seeds(&mut self, seeds: Seeds) -> Result<(), OutOfBudget> {
        let stalled = self.wants_seeds();
        if stalled {
            self.end_run()?;
        }
        self.core.seeds.received += seeds.rows.len() as u64;
        for row in &seeds.rows {
            self.core.seeds.entered += u64::from(self.table.insert(row));
        }
        let mate = match stalled {
            true => seeds.rows.last(),
            false => seeds.rows.first(),
        };
        let Some(mate) = mate else { return Ok(()) };
        self.core.seeds.made_current += 1;
        if self.table.explored().is_none() {
            return self.catch_up(mate);
        }
        let evaluator = &mut self.core.evaluator;
        let child = self.table.credited(mate, Learning::On, evaluator)?;
        self.core.offer(child.score, || child.clone());
        self.table.explore(child);
        self.since_row = 0;
        if stalled { self.begin_run() } else { Ok(()) }
    }

    /// Recombines the best of the first run with a better row, and goes on from the child.
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

    /// Theta-transfer of a chain that stalled and was sent nothing.
    fn transfer_to_own_row(&mut self) {
        self.since_row = 0;
        self.table
            .explore_another(self.params.theta, &mut self.core.random);
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
        self.since_row >= self.params.stall && self.since_best >= self.patience()
    }

    fn give_seeds(&mut self, seeds: Seeds) {
        self.waiting = Some(seeds);
    }

    fn save(&self) -> SavedChain {
        let mut saved = self.core.save();
        let (position, exploring) = match &self.stage {
            Stage::Start => (None, 0),
            Stage::Climbing(position) => (Some(position), 0),
            Stage::Exploring(position) => (Some(position), 1),
        };
        // A climb that the budget cut short is not a row: the run goes on from its best.
        let current = match position {
            Some(position) if position.is_fresh() => Some(position.row()),
            Some(_) => self.run_best.clone(),
            None => None,
        };
        if let Some(current) = current {
            saved.rows.push(current.clone());
            saved.rows.push(self.run_best.clone().unwrap_or(current));
            saved.rows.extend(self.table.explored().cloned());
            saved.rows.extend(self.table.rows().iter().cloned());
        }
        let explores = self.table.explored().is_some() && !saved.rows.is_empty();
        saved.integers = vec![
            self.since_best,
            self.since_row,
            exploring,
            u64::from(explores),
        ];
        let places = self.places.iter().map(|place| place.index() as u64);
        saved.integers.extend(places);
        saved
    }
}
