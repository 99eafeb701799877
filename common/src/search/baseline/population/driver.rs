//! What all searches over a population do alike: the first population, scores that are asked for
//! one by one so that a budget may end anywhere, the best of all that was seen, and storing. What a
//! search does with its members is its [`PopulationSearch`].
//!
//! The first population is the start network and random walks from it. A step, and so an
//! iteration, is one member of the first population or one proposal of the search. Ends by its
//! budget, where constraints leave nothing to change, or when the search says so.

use super::individual::{Individual, is_frozen, load_any, load_scored, save_all};
use crate::graph::Dag;
use crate::ids::Seed;
use crate::search::{Chain, ChainCore, Constraints, Evaluator, Fields, OutOfBudget, Random};
use crate::search::{SavedChain, StateKind, StepOutcome, UnfitState};

/// A search over a population.
#[derive(Debug)]
pub struct Population<H> {
    core: ChainCore,
    start: Individual,
    frozen: bool,
    pub(in crate::search::baseline) members: Vec<Individual>,
    pub(in crate::search::baseline) search: H,
    /// What the step waits for the scores of.
    pending: Vec<Individual>,
}

/// What a search does with its members. All of its random choices come from [`Draw::random`].
pub trait PopulationSearch: Send + Sized {
    /// The settings.
    type Params;

    /// What its chains are stored as.
    const KIND: StateKind;

    /// Begins with no member; the settings were checked.
    fn new(params: Self::Params) -> Self;

    /// Returns how many members the first population has.
    fn first_size(&self) -> usize;

    /// Hears of a new member of the first population, which is about to join the others.
    fn welcome(&mut self, _member: &Individual, _draw: Draw<'_>) {}

    /// Returns individuals whose scores are wanted next; at least one.
    fn propose(&mut self, members: &[Individual], draw: Draw<'_>) -> Vec<Individual>;

    /// Takes what was proposed, scored and in order. What it returns is proposed within the same
    /// step; nothing ends the step.
    fn settle(
        &mut self,
        members: &mut Vec<Individual>,
        proposed: Vec<Individual>,
        draw: Draw<'_>,
    ) -> Vec<Individual>;

    /// Returns whether nothing can change any more.
    fn is_over(&self) -> bool {
        false
    }

    /// Adds what is to be stored beside the members.
    fn save(&self, own: Fields) -> Fields;

    /// Takes back what was stored beside the members.
    ///
    /// # Errors
    /// If it is not what this search stores.
    fn load(&mut self, own: &Fields, about: About<'_>) -> Result<(), UnfitState>;
}

/// What random choices are made by, and what they must keep.
#[derive(Debug)]
pub struct Draw<'a> {
    /// The constraints.
    pub constraints: &'a Constraints,
    /// The generator.
    pub random: &'a mut Random,
}

/// How the population stands that stored fields must fit.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// How many members there are.
    pub members: usize,
    /// How many individuals wait for their scores.
    pub pending: usize,
    /// The constraints.
    pub constraints: &'a Constraints,
}

impl<H: PopulationSearch> Population<H> {
    pub(crate) const KIND: StateKind = H::KIND;

    /// Prepares a chain; nothing is scored before the first step.
    #[must_use]
    pub fn new(evaluator: Evaluator, start: Dag, seed: Seed, params: H::Params) -> Self {
        Self {
            frozen: is_frozen(&start, evaluator.constraints()),
            core: ChainCore::new(evaluator, seed),
            start: Individual::of(&start),
            members: Vec::new(),
            search: H::new(params),
            pending: Vec::new(),
        }
    }

    /// Resumes from a stored state.
    ///
    /// # Errors
    /// If the state is not one of this search.
    pub fn resume(
        evaluator: Evaluator,
        start: Dag,
        params: H::Params,
        saved: &SavedChain,
    ) -> Result<Self, UnfitState> {
        let mut chain = Self::new(evaluator, start, Seed(0), params);
        let (own, constraints) = (&saved.own, chain.core.evaluator.constraints());
        chain.members = load_scored(own, "members", constraints)?;
        chain.pending = load_any(own, "pending", constraints)?;
        let growing = chain.members.len() < chain.search.first_size();
        if growing && chain.pending.len() > 1 {
            return Err(UnfitState::Field("pending"));
        }
        let about = About {
            members: chain.members.len(),
            pending: if growing { 0 } else { chain.pending.len() },
            constraints,
        };
        chain.search.load(own, about)?;
        chain.core = ChainCore::resume(chain.core.evaluator, saved);
        Ok(chain)
    }

    fn is_growing(&self) -> bool {
        self.members.len() < self.search.first_size()
    }

    fn propose(&mut self) -> Vec<Individual> {
        let growing = self.is_growing();
        let draw = Draw {
            constraints: self.core.evaluator.constraints(),
            random: &mut self.core.random,
        };
        match self.members.first() {
            _ if !growing => self.search.propose(&self.members, draw),
            None => vec![self.start.clone()],
            Some(start) => vec![Individual::scattered(start, draw.constraints, draw.random)],
        }
    }

    fn settle(&mut self, scored: Vec<Individual>) -> Vec<Individual> {
        let growing = self.is_growing();
        let draw = Draw {
            constraints: self.core.evaluator.constraints(),
            random: &mut self.core.random,
        };
        if !growing {
            return self.search.settle(&mut self.members, scored, draw);
        }
        for member in scored {
            let draw = Draw {
                constraints: draw.constraints,
                random: &mut *draw.random,
            };
            self.search.welcome(&member, draw);
            self.members.push(member);
        }
        Vec::new()
    }
}

impl<H: PopulationSearch> Chain for Population<H> {
    fn try_step(&mut self) -> Result<StepOutcome, OutOfBudget> {
        let over = self.frozen && !self.members.is_empty() || self.search.is_over();
        if over {
            return Ok(StepOutcome::Exhausted);
        }
        if self.pending.is_empty() {
            self.pending = self.propose();
        }
        while !self.pending.is_empty() {
            for individual in &mut self.pending {
                individual.ask(&mut self.core.evaluator)?;
                self.core.offer(individual.score(), || individual.row());
            }
            let scored = std::mem::take(&mut self.pending);
            self.pending = self.settle(scored);
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
        H::KIND
    }

    fn save_own(&self) -> Fields {
        let own = save_all(Fields::default(), "members", &self.members);
        self.search.save(save_all(own, "pending", &self.pending))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeIdx;
    use crate::search::baseline::testing::{dag, evaluator, strong_table};

    /// Proposes a copy of the first member and one with an edge more, twice a step.
    #[derive(Debug, Default)]
    struct Pair {
        welcomed: usize,
        settled: Vec<Vec<Individual>>,
    }

    impl Pair {
        fn pair(members: &[Individual]) -> Vec<Individual> {
            let mut graph = members[0].to_dag();
            let (from, to) = (NodeIdx::new(0), NodeIdx::new(3));
            graph.add_edge(from, to).unwrap();
            vec![members[0].clone(), members[0].changed_to(&graph)]
        }
    }

    impl PopulationSearch for Pair {
        type Params = ();

        const KIND: StateKind = StateKind {
            search: "pair",
            version: 1,
        };

        fn new((): ()) -> Self {
            Self::default()
        }

        fn first_size(&self) -> usize {
            2
        }

        fn welcome(&mut self, _member: &Individual, _draw: Draw<'_>) {
            self.welcomed += 1;
        }

        fn propose(&mut self, members: &[Individual], _draw: Draw<'_>) -> Vec<Individual> {
            Self::pair(members)
        }

        fn settle(
            &mut self,
            members: &mut Vec<Individual>,
            proposed: Vec<Individual>,
            _draw: Draw<'_>,
        ) -> Vec<Individual> {
            self.settled.push(proposed);
            if self.settled.len() % 2 == 1 {
                Self::pair(members)
            } else {
                Vec::new()
            }
        }

        fn is_over(&self) -> bool {
            self.settled.len() == 4
        }

        fn save(&self, own: Fields) -> Fields {
            own
        }

        fn load(&mut self, _own: &Fields, _about: About<'_>) -> Result<(), UnfitState> {
            Ok(())
        }
    }

    fn grown() -> Population<Pair> {
        let start = dag(4, &[(0, 1)]);
        let mut chain = Population::<Pair>::new(evaluator(&strong_table()), start, Seed(1), ());
        assert_eq!(chain.step(), StepOutcome::Ran);
        assert_eq!(
            chain.core().evaluator.evaluations(),
            4,
            "the start is scored"
        );
        assert_eq!(chain.step(), StepOutcome::Ran);
        assert_eq!((chain.members.len(), chain.search.welcomed), (2, 2));
        chain
    }

    #[test]
    fn only_families_that_nobody_carries_are_asked_for() {
        let mut chain = grown();
        let before = chain.core().evaluator.evaluations();
        assert_eq!(chain.step(), StepOutcome::Ran);
        assert_eq!(chain.core().evaluator.evaluations(), before + 2);
        assert_eq!(chain.search.settled.len(), 2, "a step may propose twice");
        let mut all = chain.search.settled.iter().flatten();
        assert!(all.all(Individual::is_scored));
        assert_eq!(chain.core().iterations, 3);
    }

    #[test]
    fn a_step_that_the_budget_cuts_continues_where_it_was() {
        let mut chain = grown();
        let before = chain.core().evaluator.evaluations();
        chain.core_mut().evaluator.set_limit(before + 1);
        assert_eq!(chain.step(), StepOutcome::OutOfBudget);
        assert_eq!(chain.search.settled.len(), 1);
        assert_eq!(chain.step(), StepOutcome::OutOfBudget);
        assert_eq!(
            (chain.search.settled.len(), chain.core().iterations),
            (1, 2)
        );
        chain.core_mut().evaluator.set_limit(before + 2);
        assert_eq!(chain.step(), StepOutcome::Ran);
        assert_eq!(chain.search.settled.len(), 2);
    }

    #[test]
    fn everything_that_is_scored_may_be_the_best_and_the_search_may_end_itself() {
        let mut chain = grown();
        let outcomes: Vec<StepOutcome> = (0..3).map(|_| chain.step()).collect();
        assert_eq!(outcomes[2], StepOutcome::Exhausted);
        let seen = chain.search.settled.iter().flatten().chain(&chain.members);
        let best = seen.map(Individual::score).max().unwrap();
        assert_eq!(chain.core().best().map(|row| row.score), Some(best));
    }
}
