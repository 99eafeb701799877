//! Hill climbing: the best improvement until none is left, from the start network; then, as often
//! as asked for, a perturbation of the best network and another climb. Zero-gain reversals are not
//! improvements; ties are broken at random from the seed.

use crate::graph::{Dag, Reach};
use crate::ids::Seed;
use crate::search::{Chain, ChainCore, Evaluator, Operation, OutOfBudget, Position};
use crate::search::{SavedChain, StepOutcome, UnfitState};

/// How often and how far hill climbing starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HillClimbingParams {
    /// How many climbs follow the first.
    pub restarts: u64,
    /// How many random legal operations lie between the best network and a restart.
    pub perturb: u64,
}

impl Default for HillClimbingParams {
    fn default() -> Self {
        Self {
            restarts: 0,
            perturb: 1,
        }
    }
}

/// A hill-climbing chain; a step is one operation or one restart.
#[derive(Debug)]
pub struct HillClimbing {
    core: ChainCore,
    params: HillClimbingParams,
    start: Dag,
    position: Option<Position>,
    restarts_made: u64,
}

impl HillClimbing {
    /// Prepares a chain; nothing is scored before the first step.
    #[must_use]
    pub fn new(evaluator: Evaluator, start: Dag, seed: Seed, params: HillClimbingParams) -> Self {
        let core = ChainCore::new(evaluator, seed);
        Self {
            core,
            params,
            start,
            position: None,
            restarts_made: 0,
        }
    }

    /// Goes on from a stored state.
    ///
    /// # Errors
    /// If the state is not one of this search.
    pub fn resume(
        evaluator: Evaluator,
        start: Dag,
        params: HillClimbingParams,
        saved: &SavedChain,
    ) -> Result<Self, UnfitState> {
        let &[restarts_made] = saved.integers.as_slice() else {
            return Err(UnfitState);
        };
        let mut core = ChainCore::resume(evaluator, saved);
        let position = core.stand_again(&saved.rows)?;
        Ok(Self {
            core,
            params,
            start,
            position,
            restarts_made,
        })
    }

    fn try_step(&mut self) -> Result<StepOutcome, OutOfBudget> {
        let position = match &mut self.position {
            Some(position) => position,
            none => none.insert(Position::new(self.start.clone(), &mut self.core.evaluator)?),
        };
        self.core.offer(position.score(), || position.row());
        if position.climb_step(&mut self.core.evaluator, &mut self.core.random)? {
            self.core.offer(position.score(), || position.row());
            return Ok(StepOutcome::Ran);
        }
        if self.restarts_made == self.params.restarts {
            return Ok(StepOutcome::Exhausted);
        }
        self.restarts_made += 1;
        self.perturb_best()?;
        Ok(StepOutcome::Ran)
    }

    fn perturb_best(&mut self) -> Result<(), OutOfBudget> {
        let (Some(position), Some(best)) = (&mut self.position, self.core.best()) else {
            return Ok(());
        };
        let families = best.structure.families().to_vec();
        position.move_to(&families, &mut self.core.evaluator)?;
        let mut reach = Reach::default();
        for _ in 0..self.params.perturb {
            let constraints = self.core.evaluator.constraints();
            let random = &mut self.core.random;
            let drawn = Operation::draw_legal(position.dag(), constraints, random, &mut reach);
            if let Some(operation) = drawn {
                position.apply(operation, &self.core.evaluator);
            }
        }
        position.refresh(&mut self.core.evaluator)
    }
}

impl Chain for HillClimbing {
    fn step(&mut self) -> StepOutcome {
        let made = self.try_step();
        self.core.count_step(made)
    }

    fn core(&self) -> &ChainCore {
        &self.core
    }

    fn core_mut(&mut self) -> &mut ChainCore {
        &mut self.core
    }

    fn save(&self) -> SavedChain {
        let current = self
            .position
            .as_ref()
            .filter(|position| position.is_fresh());
        SavedChain {
            rows: current.map(Position::row).into_iter().collect(),
            integers: vec![self.restarts_made],
            ..self.core.save()
        }
    }
}
