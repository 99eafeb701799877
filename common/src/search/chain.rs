//! What every search is to the rest of the system: a chain that makes one step at a time, reports
//! the rows that it finds, and may take seeds from others.

use super::position::Position;
use super::problem::{Evaluator, OutOfBudget};
use super::saved::{Fields, SavedChain, StateKind, UnfitState};
use crate::elite::{EliteRow, Found};
use crate::ids::Seed;
use crate::random::Random;
use crate::score::LogScore;

/// A search in progress. It owns its generator; same seed, same trace.
pub trait Chain: Send {
    /// Makes one step: an iteration of the paper's walk, an episode of the default search.
    fn step(&mut self) -> StepOutcome {
        let made = self.try_step();
        self.core_mut().count_step(made)
    }

    /// Makes one step without counting it.
    ///
    /// # Errors
    /// If the evaluation limit does not reach for it.
    fn try_step(&mut self) -> Result<StepOutcome, OutOfBudget>;

    /// Returns what every chain has.
    fn core(&self) -> &ChainCore;

    /// Returns what every chain has, to be changed.
    fn core_mut(&mut self) -> &mut ChainCore;

    /// Returns whether the chain has reached a local optimum once, so that its best is worth having.
    /// Searches that do not climb always say so.
    fn has_climbed(&self) -> bool {
        true
    }

    /// Returns whether the chain wants seeds: it is time to meet others, or its best has not improved
    /// for long.
    fn wants_seeds(&self) -> bool {
        false
    }

    /// Takes rows of other chains; the core counts what became of them.
    fn give_seeds(&mut self, seeds: Seeds) {
        drop(seeds);
    }

    /// Returns everything needed to resume exactly as if the chain had never stopped.
    fn save(&self) -> SavedChain {
        self.core().save(self.kind(), self.save_own())
    }

    /// Returns which search's state is stored.
    fn kind(&self) -> StateKind;

    /// Returns what is stored beside what every chain has.
    fn save_own(&self) -> Fields;
}

/// What every chain has: its way to scores, its generator, its best row and its counters.
#[derive(Debug)]
pub struct ChainCore {
    /// The way to scores.
    pub evaluator: Evaluator,
    /// The generator.
    pub random: Random,
    /// Steps made.
    pub iterations: u64,
    /// What became of seeds.
    pub seeds: SeedCounts,
    best: Option<EliteRow>,
    best_is_new: bool,
    finds: Vec<(Found, EliteRow)>,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// The chain can continue.
    Ran,
    /// The evaluation limit does not reach for another step.
    OutOfBudget,
    /// There is nothing left to try.
    Exhausted,
}

/// Rows of others for a chain: theta-transfer across chains and machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// The best row there is, unless the chain has found it itself.
    pub best: Option<EliteRow>,
    /// A row of another chain, drawn among those that they found best or stalled on.
    pub mate: EliteRow,
}

impl Seeds {
    /// Returns the rows: the best there is, then the mate.
    pub fn rows(&self) -> impl Iterator<Item = &EliteRow> {
        self.best.iter().chain([&self.mate])
    }

    /// Returns how many rows there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        1 + u64::from(self.best.is_some())
    }
}

/// What became of the seeds that a chain was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeedCounts {
    /// Rows received.
    pub received: u64,
    /// Rows that entered the chain's Q-table.
    pub entered: u64,
    /// Rows of other chains that became the current row, or that a new run began from.
    pub made_current: u64,
}

impl ChainCore {
    /// How many rows wait to be reported at most; older ones go first.
    const MOST_FINDS: usize = 64;

    /// Starts afresh.
    #[must_use]
    pub fn new(evaluator: Evaluator, seed: Seed) -> Self {
        Self {
            evaluator,
            random: Random::new(seed),
            iterations: 0,
            seeds: SeedCounts::default(),
            best: None,
            best_is_new: false,
            finds: Vec::new(),
        }
    }

    /// Resumes from a stored state; the best row is reported again.
    #[must_use]
    pub fn resume(mut evaluator: Evaluator, saved: &SavedChain) -> Self {
        evaluator.resume(saved.evaluations, saved.computed);
        Self {
            evaluator,
            random: Random::from_state(saved.random),
            iterations: saved.iterations,
            seeds: saved.seeds,
            best: saved.best.clone(),
            best_is_new: saved.best.is_some(),
            finds: Vec::new(),
        }
    }

    /// Stands again where a stored chain stood, or nowhere yet: see `save_position`.
    ///
    /// # Errors
    /// If the stored row does not fit this problem.
    pub fn stand_again(&mut self, own: &Fields) -> Result<Option<Position>, UnfitState> {
        own.row("current")?
            .map(|current| Position::stand_again(current, &mut self.evaluator))
            .transpose()
    }

    /// Returns the state for storing: what every chain has, and the search's own.
    #[must_use]
    pub fn save(&self, kind: StateKind, own: Fields) -> SavedChain {
        SavedChain {
            search: kind.search.into(),
            version: kind.version,
            random: self.random.state(),
            iterations: self.iterations,
            evaluations: self.evaluator.evaluations(),
            computed: self.evaluator.computed(),
            seeds: self.seeds,
            best: self.best.clone(),
            own,
        }
    }

    /// Returns the best row so far; none before the first structure is scored.
    #[must_use]
    pub fn best(&self) -> Option<&EliteRow> {
        self.best.as_ref()
    }

    /// Keeps a row as the best if its score is better, and returns whether it was.
    pub fn offer(&mut self, score: LogScore, row: impl FnOnce() -> EliteRow) -> bool {
        let better = self
            .best
            .as_ref()
            .is_none_or(|best| score.beats(best.score));
        if better {
            self.best = Some(row());
            self.best_is_new = true;
        }
        better
    }

    /// Keeps a row as the best if it is better, and returns whether it was.
    pub fn offer_row(&mut self, row: EliteRow) -> bool {
        self.offer(row.score, || row)
    }

    /// Counts a step of a search each of whose steps is an iteration, and says what it did.
    pub fn count_step(&mut self, made: Result<StepOutcome, OutOfBudget>) -> StepOutcome {
        let outcome = made.unwrap_or(StepOutcome::OutOfBudget);
        if outcome == StepOutcome::Ran {
            self.iterations += 1;
        }
        outcome
    }

    /// Notes a row that is worth sharing though it is not the best. Of too many the oldest goes,
    /// never the one with the highest score.
    pub fn note_find(&mut self, found: Found, row: EliteRow) {
        if self.finds.len() == Self::MOST_FINDS {
            let scores = self.finds.iter().map(|(_, row)| row.score).enumerate();
            let highest = scores.max_by_key(|&(_, score)| score).map(|(at, _)| at);
            self.finds.remove(usize::from(highest == Some(0)));
        }
        self.finds.push((found, row));
    }

    /// Hands the best row over once more, for a listener that may have lost it.
    pub fn tell_best_again(&mut self) {
        self.best_is_new = self.best.is_some();
    }

    /// Returns whether the best row is one that was not handed over yet.
    #[must_use]
    pub fn has_record(&self) -> bool {
        self.best_is_new
    }

    /// Hands over the rows worth sharing that were found since the last call.
    pub fn take_finds(&mut self) -> Vec<(Found, EliteRow)> {
        let mut finds = std::mem::take(&mut self.finds);
        if std::mem::take(&mut self.best_is_new) {
            finds.extend(self.best.iter().map(|row| (Found::Best, row.clone())));
        }
        finds
    }
}

/// Returns what is stored of a chain that stands on one network: nothing of it where a budget has
/// just ended in the middle of its sweep.
#[must_use]
pub(crate) fn save_position(position: Option<&Position>) -> Fields {
    let current = position.filter(|position| position.is_fresh());
    Fields::default().with_rows("current", current.map(Position::row))
}
