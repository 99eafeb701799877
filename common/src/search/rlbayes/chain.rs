//! A chain of the default search: its episodes, runs, meetings and transfers.

use super::explore::{BurstKind, Explorer, walk_in_class};
use super::params::{ChainRank, Learning, RlBayesParams};
use super::q_table::QTable;
use super::recombine::recombine;
use crate::elite::{EliteRow, Found};
use crate::graph::Dag;
use crate::ids::{NodeIdx, Seed};
use crate::search::{Chain, ChainCore, Evaluator, Fields, OutOfBudget, Position, Random};
use crate::search::{SavedChain, Seeds, StateKind, StepOutcome, UnfitState};

/// A chain of the default search; a step is one episode, or at the very beginning a part of the
/// first climb.
#[derive(Debug)]
pub struct RlBayes {
    core: ChainCore,
    params: RlBayesParams,
    temperature: f64,
    /// Whether the chain makes its first run without rows of others.
    starts_alone: bool,
    start: Dag,
    /// Whether the constraints leave one network only: there is nothing to explore.
    has_no_choice: bool,
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
    /// Episodes since the chain last got rows of others.
    since_meeting: u64,
    /// Episodes since the last one that asked for a score.
    idle: u64,
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
/// Episodes from one meeting with rows of others to the next: one for each node, which keeps what a
/// meeting costs small against them, and at least these.
const LEAST_BETWEEN_MEETINGS: u64 = 40;
/// A chain is at its end after so many episodes that asked for no score: whatever edges the
/// constraints leave, none can be drawn.
const MOST_IDLE: u64 = 2000;
/// A chain that lies further behind than this many nats a node takes over what is better. On large
/// networks that adds up what chains gained in different regions; near the end they differ by less,
/// and are left alone to stay different.
const LAG_PER_NODE: f64 = 0.5;

impl RlBayes {
    pub(crate) const KIND: StateKind = StateKind {
        search: "rlbayes",
        version: 1,
    };

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
        // A single chain has to climb and to explore.
        let level = if rank.of == 1 {
            2.0 / 3.0
        } else {
            f64::from(rank.number) / steps
        };
        Self {
            has_no_choice: evaluator.constraints().leave_no_choice(),
            core: ChainCore::new(evaluator, seed),
            params,
            temperature: params.temperature * level,
            starts_alone: rank.number % 2 == 1,
            table: QTable::new(params.table_rows),
            places: NodeIdx::all(start.nodes()).collect(),
            start,
            stage: Stage::Start,
            explorer: Explorer::default(),
            run_best: None,
            since_best: 0,
            since_row: 0,
            since_meeting: 0,
            idle: 0,
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
        params: RlBayesParams,
        rank: ChainRank,
        saved: &SavedChain,
    ) -> Result<Self, UnfitState> {
        let mut chain = Self::new(evaluator, start, Seed(0), params, rank);
        let nodes = chain.start.nodes();
        chain.core = ChainCore::resume(chain.core.evaluator, saved);
        let own = &saved.own;
        chain.since_best = own.integer("since_best")?;
        chain.since_row = own.integer("since_row")?;
        chain.since_meeting = own.integer("since_meeting")?;
        if let Some(position) = chain.core.stand_again(own)? {
            chain.stage = match own.integer("exploring")? {
                0 => Stage::Climbing(position),
                _ => Stage::Exploring(position),
            };
            let run_best = own.row("run_best")?.cloned();
            chain.run_best = Some(run_best.ok_or(UnfitState::Field("run_best"))?);
            let places = own.sizes("places")?;
            if places.is_empty() || places.iter().any(|&place| place >= nodes) {
                return Err(UnfitState::Field("places"));
            }
            chain.places = places.into_iter().map(NodeIdx::new).collect();
            let explored = own.row("explored")?.cloned();
            chain.table = QTable::load(params.table_rows, explored, own.rows("table")?);
        }
        Ok(chain)
    }

    /// Returns how many bytes one chain holds at most, beside what it shares through the caches.
    #[must_use]
    pub fn bytes_for(nodes: usize, params: &RlBayesParams) -> usize {
        Position::bytes_for(nodes) + QTable::bytes_for(nodes, params.table_rows)
    }

    fn advance(&mut self) -> Result<(), OutOfBudget> {
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
                .burst(kind, place, position, evaluator, random)?;
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
            .is_none_or(|best| score.beats(best.score));
        self.since_row += 1;
        self.since_meeting += 1;
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
        let episodes = EPISODES_A_PLACE * self.places.len() as u64;
        episodes.max(LEAST_EPISODES).min(self.params.stall)
    }

    /// Credits what the run found to the row that it started from.
    fn end_run(&mut self) -> Result<(), OutOfBudget> {
        let (Stage::Exploring(position), Some(outcome)) = (&mut self.stage, &self.run_best) else {
            return Ok(());
        };
        let evaluator = &mut self.core.evaluator;
        let credited = match (self.table.explored(), self.params.learning) {
            (Some(row), Learning::On) => &recombine(row, outcome, evaluator)?,
            _ => outcome,
        };
        position.move_to(credited.structure.families(), evaluator)?;
        position.climb(evaluator, &mut self.core.random)?;
        position.mark();
        let row = position.row();
        self.table.insert(outcome);
        self.core.offer(row.score, || row.clone());
        if self.table.is_better(&row) {
            self.since_row = 0;
            self.core.note_find(Found::Stalled, row.clone());
            self.table.explore(row);
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

    /// Theta-transfer to rows from outside.
    fn transfer_to_seeds(&mut self, seeds: Seeds) -> Result<(), OutOfBudget> {
        self.core.seeds.received += seeds.count();
        self.since_meeting = 0;
        let stalled = self.is_stalled();
        if stalled {
            self.end_run()?;
        }
        for row in seeds.rows() {
            self.core.seeds.entered += u64::from(self.table.insert(row));
        }
        if !stalled {
            return seeds.rows().try_for_each(|row| self.meet(row));
        }
        if let Some(own) = self.table.explored() {
            let child = recombine(own, &seeds.mate, &mut self.core.evaluator)?;
            if child.structure == own.structure {
                self.transfer_to_own_row();
            } else {
                self.continue_from(child);
            }
        }
        self.begin_run()
    }

    /// Recombines the chain's row with another's. The child is taken where it is better than both,
    /// or where the chain lags far behind.
    fn meet(&mut self, other: &EliteRow) -> Result<(), OutOfBudget> {
        let Some(own) = self.table.explored().or(self.run_best.as_ref()) else {
            return Ok(());
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "at most NodeIdx::MAX_NODES nodes"
        )]
        let far = LAG_PER_NODE * self.start.nodes() as f64;
        let lags = other.score.value() - own.score.value() > far;
        let better_parent = own.score.max(other.score);
        let child = recombine(own, other, &mut self.core.evaluator)?;
        if lags || child.score.beats(better_parent) {
            match self.table.explored() {
                Some(_) => self.continue_from(child),
                None => self.continue_first_run_from(&child)?,
            }
        }
        Ok(())
    }

    /// Explores a child of the row so far and another's from now on.
    fn continue_from(&mut self, child: EliteRow) {
        self.since_row = 0;
        if self
            .table
            .explored()
            .is_some_and(|own| own.structure != child.structure)
        {
            self.core.seeds.made_current += 1;
            self.core.offer(child.score, || child.clone());
            self.table.explore(child);
        }
    }

    /// Lets the first run, which has no row to fall back on, continue from a child of its best.
    fn continue_first_run_from(&mut self, child: &EliteRow) -> Result<(), OutOfBudget> {
        let Stage::Exploring(position) = &mut self.stage else {
            return Ok(());
        };
        let evaluator = &mut self.core.evaluator;
        position.move_to(child.structure.families(), evaluator)?;
        position.climb(evaluator, &mut self.core.random)?;
        position.mark();
        let row = position.row();
        self.core.seeds.made_current += 1;
        self.core.offer(row.score, || row.clone());
        self.run_best = Some(row);
        self.since_best = 0;
        Ok(())
    }

    fn is_stalled(&self) -> bool {
        self.since_row >= self.params.stall
    }

    /// Theta-transfer of a chain that stalled and was sent nothing that it could use.
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
    fn try_step(&mut self) -> Result<StepOutcome, OutOfBudget> {
        let has_no_choice = self.has_no_choice && matches!(self.stage, Stage::Exploring(_));
        if has_no_choice || self.idle == MOST_IDLE {
            return Ok(StepOutcome::Exhausted);
        }
        let before = self.core.evaluator.evaluations();
        self.advance()?;
        let is_idle = self.core.evaluator.evaluations() == before;
        self.idle = if is_idle { self.idle + 1 } else { 0 };
        Ok(StepOutcome::Ran)
    }

    /// The first climb is not an episode and is not counted.
    fn step(&mut self) -> StepOutcome {
        let exploring = matches!(self.stage, Stage::Exploring(_));
        let made = self.try_step();
        if exploring {
            self.core.count_step(made)
        } else {
            made.unwrap_or(StepOutcome::OutOfBudget)
        }
    }

    fn core(&self) -> &ChainCore {
        &self.core
    }

    fn core_mut(&mut self) -> &mut ChainCore {
        &mut self.core
    }

    fn has_climbed(&self) -> bool {
        matches!(self.stage, Stage::Exploring(_))
    }

    fn wants_seeds(&self) -> bool {
        let between_meetings = LEAST_BETWEEN_MEETINGS.max(self.start.nodes() as u64);
        let meets = !self.starts_alone || self.table.explored().is_some();
        self.is_stalled() || meets && self.since_meeting >= between_meetings
    }

    fn give_seeds(&mut self, seeds: Seeds) {
        self.waiting = Some(seeds);
    }

    fn kind(&self) -> StateKind {
        Self::KIND
    }

    fn save_own(&self) -> Fields {
        let position = match &self.stage {
            Stage::Start => None,
            Stage::Climbing(position) | Stage::Exploring(position) => Some(position),
        };
        // A climb that the budget cut short is not a row: the run continues from its best.
        let current = match position {
            Some(position) if position.is_fresh() => Some(position.row()),
            Some(_) => self.run_best.clone(),
            None => None,
        };
        let exploring = matches!(self.stage, Stage::Exploring(_));
        let run_best = current.is_some().then(|| self.run_best.clone()).flatten();
        Fields::default()
            .with_rows("run_best", run_best.or_else(|| current.clone()))
            .with_rows("current", current)
            .with_rows("explored", self.table.explored().cloned())
            .with_rows("table", self.table.rows().iter().cloned())
            .with_integer("exploring", u64::from(exploring))
            .with_integer("since_best", self.since_best)
            .with_integer("since_row", self.since_row)
            .with_integer("since_meeting", self.since_meeting)
            .with_sizes("places", self.places.iter().map(|place| place.index()))
    }
}

#[cfg(test)]
mod tests;
