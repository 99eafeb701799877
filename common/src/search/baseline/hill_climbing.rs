//! Hill climbing: the best improvement until none is left, from the start network; then, as often
//! as asked for, a perturbation of the best network and another climb. Zero-gain reversals are not
//! improvements; ties are broken at random from the seed.

use super::population::Individual;
use crate::graph::{Dag, ReachScratch};
use crate::ids::Seed;
use crate::search::params::made_by;
use crate::search::{Chain, ChainCore, Evaluator, Fields, Operation, OutOfBudget, Position};
use crate::search::{SavedChain, SearchParams, SettingsError, StateKind, StepOutcome, UnfitState};
use crate::search::{Visitor, save_position};

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

impl SearchParams for HillClimbingParams {
    made_by!(HillClimbing);

    fn visit(&mut self, with: &mut dyn Visitor) -> Result<(), SettingsError> {
        let Self { restarts, perturb } = self;
        with.whole("restarts", restarts)?;
        with.whole("perturb", perturb)
    }

    fn bytes_per_chain(&self, nodes: usize) -> usize {
        Position::bytes_for(nodes) + Individual::bytes_for(nodes)
    }

    fn takes_only_gains(&self) -> bool {
        true
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
    /// Whether a climb has ended since the chain began or was resumed.
    has_climbed: bool,
}

impl HillClimbing {
    pub(crate) const KIND: StateKind = StateKind {
        search: "hc",
        version: 1,
    };

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
            has_climbed: false,
        }
    }

    /// Resumes from a stored state.
    ///
    /// # Errors
    /// If the state is not one of this search.
    pub fn resume(
        evaluator: Evaluator,
        start: Dag,
        params: HillClimbingParams,
        saved: &SavedChain,
    ) -> Result<Self, UnfitState> {
        let mut core = ChainCore::resume(evaluator, saved);
        let position = core.stand_again(&saved.own)?;
        Ok(Self {
            core,
            params,
            start,
            position,
            restarts_made: saved.own.integer("restarts_made")?,
            has_climbed: false,
        })
    }

    fn perturb_best(&mut self) -> Result<(), OutOfBudget> {
        let (Some(position), Some(best)) = (&mut self.position, self.core.best()) else {
            return Ok(());
        };
        let families = best.structure.families().to_vec();
        position.move_to(&families, &mut self.core.evaluator)?;
        self.restarts_made += 1;
        let mut reach = ReachScratch::default();
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
    fn try_step(&mut self) -> Result<StepOutcome, OutOfBudget> {
        let position = match &mut self.position {
            Some(position) => position,
            none => none.insert(Position::new(self.start.clone(), &mut self.core.evaluator)?),
        };
        let was_fresh = position.is_fresh();
        position.refresh(&mut self.core.evaluator)?;
        self.core.offer(position.score(), || position.row());
        if !was_fresh {
            // The operation or restart in whose sweep the budget had ended is made now.
            return Ok(StepOutcome::Ran);
        }
        if position.climb_step(&mut self.core.evaluator, &mut self.core.random)? {
            self.core.offer(position.score(), || position.row());
            return Ok(StepOutcome::Ran);
        }
        self.has_climbed = true;
        if self.restarts_made == self.params.restarts {
            return Ok(StepOutcome::Exhausted);
        }
        self.perturb_best()?;
        Ok(StepOutcome::Ran)
    }

    fn core(&self) -> &ChainCore {
        &self.core
    }

    fn core_mut(&mut self) -> &mut ChainCore {
        &mut self.core
    }

    fn has_climbed(&self) -> bool {
        self.has_climbed || self.restarts_made > 0
    }

    fn kind(&self) -> StateKind {
        Self::KIND
    }

    fn save_own(&self) -> Fields {
        save_position(self.position.as_ref()).with_integer("restarts_made", self.restarts_made)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{evaluator, table_of};
    use super::*;
    use crate::score::LogScore;

    fn chain(restarts: u64, perturb: u64, seed: u64) -> HillClimbing {
        let params = HillClimbingParams { restarts, perturb };
        let evaluator = evaluator(&table_of(7, 4));
        HillClimbing::new(evaluator, Dag::empty(7), Seed(seed), params)
    }

    #[test]
    fn every_operation_gains_and_the_end_has_none_that_does() {
        let mut chain = chain(0, 1, 1);
        let mut before = LogScore::IMPOSSIBLE;
        while chain.step() == StepOutcome::Ran {
            let score = chain.position.as_ref().unwrap().score();
            assert!(score.beats(before));
            before = score;
        }
        let position = chain.position.as_mut().unwrap();
        let mut free_reversals = 0;
        for number in 0..Operation::count(7) {
            let operation = Operation::from_number(number, 7);
            let gain = position.legal_gain(operation);
            assert!(gain.is_none_or(|gain| gain <= LogScore::MIN_GAIN));
            let free = gain.is_some_and(|gain| gain.abs() <= LogScore::MIN_GAIN);
            free_reversals += u32::from(free && matches!(operation, Operation::Reverse(..)));
        }
        assert!(
            free_reversals > 0,
            "reversals that gain nothing are left alone"
        );
    }

    #[test]
    fn it_starts_again_as_often_as_told_from_near_the_best() {
        let mut chain = chain(5, 2, 3);
        let mut restarts = 0;
        loop {
            let made = chain.restarts_made;
            if chain.step() != StepOutcome::Ran {
                break;
            }
            if chain.restarts_made > made {
                restarts += 1;
                let best = chain.core().best().unwrap().structure.to_dag().unwrap();
                let dag = chain.position.as_ref().unwrap().dag();
                let differ = dag.edges().filter(|&(a, b)| !best.has_edge(a, b)).count();
                let lost = best.edges().filter(|&(a, b)| !dag.has_edge(a, b)).count();
                assert!(differ.max(lost) <= 2, "two operations away");
            }
        }
        assert_eq!(restarts, 5);
    }
}
