//! A genetic algorithm: tournaments choose the parents, a crossover takes each node's whole parent
//! set from one of them and repairs the cycles, a few children are mutated, and the best of a
//! generation live on. The first generation is the start network and random walks from it. Ends
//! only by its budget.
//!
//! A step, and so an iteration, is one member of the first generation or one child.

use super::individual::{Individual, best_of, is_frozen, load_all, save_all};
use super::individual::{split_any, split_scored};
use super::repair::repair;
use crate::graph::Dag;
use crate::ids::{NodeIdx, Seed};
use crate::search::{Chain, ChainCore, Evaluator, OutOfBudget, Random};
use crate::search::{SavedChain, StepOutcome, UnfitState};

/// How a generation makes the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneticParams {
    /// How many networks a generation has (at least 2).
    pub population: usize,
    /// How many networks, drawn with replacement, compete to be a parent (at least 1).
    pub tournament: usize,
    /// The probability that a child has two parents; else it is a copy of one.
    pub crossover: f64,
    /// The probability that a child gets one random legal operation.
    pub mutation: f64,
    /// How many of the best go into the next generation as they are.
    pub elite: usize,
}

impl Default for GeneticParams {
    fn default() -> Self {
        Self {
            population: 100,
            tournament: 3,
            crossover: 0.9,
            mutation: 0.1,
            elite: 2,
        }
    }
}

/// A genetic chain; a step is one child.
#[derive(Debug)]
pub struct Genetic {
    core: ChainCore,
    params: GeneticParams,
    start: Individual,
    frozen: bool,
    population: Vec<Individual>,
    /// The next generation as far as it is made: elite, then children.
    next: Vec<Individual>,
    /// A child whose scores are being asked for.
    pending: Option<Individual>,
}

impl Genetic {
    /// Prepares a chain; nothing is scored before the first step.
    #[must_use]
    pub fn new(evaluator: Evaluator, start: Dag, seed: Seed, mut params: GeneticParams) -> Self {
        params.population = params.population.max(2);
        params.tournament = params.tournament.max(1);
        params.elite = params.elite.min(params.population - 1);
        Self {
            frozen: is_frozen(&start, evaluator.constraints()),
            core: ChainCore::new(evaluator, seed),
            params,
            start: Individual::of(&start),
            population: Vec::new(),
            next: Vec::new(),
            pending: None,
        }
    }

    /// Goes on from a stored state.
    ///
    /// # Errors
    /// If the state is not one of this search.
    pub fn resume(
        evaluator: Evaluator,
        start: Dag,
        params: GeneticParams,
        saved: &SavedChain,
    ) -> Result<Self, UnfitState> {
        let mut chain = Self::new(evaluator, start, Seed(0), params);
        let &[pending, next] = saved.integers.as_slice() else {
            return Err(UnfitState);
        };
        let (mut all, rest) = load_all(saved, chain.core.evaluator.constraints())?;
        chain.pending = split_any(&mut all, pending)?.pop();
        chain.next = split_scored(&mut all, next)?;
        let population = all.len() as u64;
        chain.population = split_scored(&mut all, population)?;
        let size = chain.params.population;
        let too_long = chain.population.len() > size || chain.next.len() >= size;
        let too_early = chain.population.len() < size && !chain.next.is_empty();
        if pending > 1 || too_long || too_early || !rest.is_empty() {
            return Err(UnfitState);
        }
        chain.core = ChainCore::resume(chain.core.evaluator, saved);
        Ok(chain)
    }

    fn try_step(&mut self) -> Result<StepOutcome, OutOfBudget> {
        if self.frozen && !self.population.is_empty() {
            return Ok(StepOutcome::Exhausted);
        }
        let mut child = match self.pending.take() {
            Some(child) => child,
            None => self.propose(),
        };
        if let Err(out) = child.ask(&mut self.core.evaluator) {
            self.pending = Some(child);
            return Err(out);
        }
        self.core.offer(child.score(), || child.row());
        self.settle(child);
        Ok(StepOutcome::Ran)
    }

    fn propose(&mut self) -> Individual {
        let constraints = self.core.evaluator.constraints();
        let random = &mut self.core.random;
        if self.population.len() < self.params.population {
            return match self.population.first() {
                None => self.start.clone(),
                Some(start) => Individual::scattered(start, constraints, random),
            };
        }
        if self.next.is_empty() {
            self.next = elite(&self.population, self.params.elite);
        }
        let mother = tournament(&self.population, self.params.tournament, random);
        let mut child = if random.chance(self.params.crossover) {
            let father = tournament(&self.population, self.params.tournament, random);
            let mut child = crossed(mother, father, random);
            repair(&mut child, constraints, random);
            child
        } else {
            mother.clone()
        };
        if random.chance(self.params.mutation) {
            child = child.after_operations(1, constraints, random);
        }
        child
    }

    fn settle(&mut self, child: Individual) {
        if self.population.len() < self.params.population {
            self.population.push(child);
            return;
        }
        self.next.push(child);
        if self.next.len() == self.params.population {
            self.population = std::mem::take(&mut self.next);
        }
    }
}

/// Returns the best of some members drawn with replacement; the first drawn of equals.
fn tournament<'a>(
    population: &'a [Individual],
    size: usize,
    random: &mut Random,
) -> &'a Individual {
    let drawn: Vec<&Individual> = (0..size)
        .map(|_| &population[random.below(population.len())])
        .collect();
    drawn[best_of(drawn.iter().copied())]
}

/// Returns the best members, best first, the earlier of equals first.
fn elite(population: &[Individual], count: usize) -> Vec<Individual> {
    let mut sorted: Vec<&Individual> = population.iter().collect();
    sorted.sort_by_key(|individual| std::cmp::Reverse(individual.score()));
    sorted.into_iter().take(count).cloned().collect()
}

/// Takes each node's whole parent set, with its score, from one of the parents at even chances; the
/// result may be cyclic.
fn crossed(mother: &Individual, father: &Individual, random: &mut Random) -> Individual {
    let mut child = mother.clone();
    for node in NodeIdx::all(child.nodes()) {
        if random.chance(0.5) {
            child.copy_family(node, father);
        }
    }
    child.add_up();
    child
}

impl Chain for Genetic {
    fn step(&mut self) -> StepOutcome {
        let outcome = self.try_step().unwrap_or(StepOutcome::OutOfBudget);
        if outcome == StepOutcome::Ran {
            self.core.iterations += 1;
        }
        outcome
    }

    fn core(&self) -> &ChainCore {
        &self.core
    }

    fn core_mut(&mut self) -> &mut ChainCore {
        &mut self.core
    }

    fn save(&self) -> SavedChain {
        let integers = vec![u64::from(self.pending.is_some()), self.next.len() as u64];
        let mut saved = SavedChain {
            integers,
            ..self.core.save()
        };
        save_all(
            self.population
                .iter()
                .chain(&self.next)
                .chain(&self.pending),
            &mut saved,
        );
        saved
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{dag, evaluator, random_constraints, strong_table, table_of};
    use super::*;
    use crate::score::LogScore;

    fn scored(edges: &[(usize, usize)], evaluator: &mut Evaluator) -> Individual {
        let mut individual = Individual::of(&dag(4, edges));
        individual.ask(evaluator).unwrap();
        individual
    }

    /// Four networks of falling score.
    fn ranked() -> Vec<Individual> {
        let mut evaluator = evaluator(&strong_table());
        let mut all: Vec<Individual> = [&[(2, 3)][..], &[], &[(0, 1)], &[(0, 1), (0, 3)]]
            .iter()
            .map(|edges| scored(edges, &mut evaluator))
            .collect();
        all.sort_by_key(|individual| std::cmp::Reverse(individual.score()));
        assert!(all.windows(2).all(|pair| pair[0].score() > pair[1].score()));
        all
    }

    #[test]
    fn the_best_of_three_draws_wins_a_tournament() {
        let population = ranked();
        let mut random = Random::new(Seed(2));
        let mut wins = [0u32; 4];
        for _ in 0..6400 {
            let winner = tournament(&population, 3, &mut random);
            wins[population.iter().position(|it| it == winner).unwrap()] += 1;
        }
        // (4^3 - 3^3, 3^3 - 2^3, 2^3 - 1, 1) of 64.
        for (won, expected) in wins.into_iter().zip([3700u32, 1900, 700, 100]) {
            assert!(won.abs_diff(expected) < 60 + expected / 20, "{wins:?}");
        }
    }

    #[test]
    fn the_elite_are_the_best_in_order() {
        let mut population = ranked();
        let expected = population[..2].to_vec();
        population.reverse();
        assert_eq!(elite(&population, 2), expected);
    }

    #[test]
    fn a_crossover_takes_whole_parent_sets_with_their_scores() {
        let mut evaluator = evaluator(&strong_table());
        let mother = scored(&[(0, 2), (1, 2), (2, 3)], &mut evaluator);
        let father = scored(&[(3, 0), (3, 2)], &mut evaluator);
        let asked = evaluator.evaluations();
        let mut random = Random::new(Seed(3));
        let mut from_father = 0;
        for _ in 0..200 {
            let mut child = crossed(&mother, &father, &mut random);
            for node in NodeIdx::all(4) {
                let parents = child.parents(node);
                assert!(parents == mother.parents(node) || parents == father.parents(node));
            }
            from_father += u32::from(child.parents(NodeIdx::new(0)).len() == 1);
            child.ask(&mut evaluator).unwrap();
            assert!(child.score() > LogScore::IMPOSSIBLE);
        }
        assert_eq!(evaluator.evaluations(), asked, "copied families are known");
        assert!((70..130).contains(&from_father));
    }

    #[test]
    fn repaired_children_are_legal_and_keep_required_arcs() {
        let table = table_of(6, 4);
        let mut random = Random::new(Seed(4));
        for _ in 0..100 {
            let constraints = random_constraints(&table, &mut random);
            let start = Individual::of(constraints.required());
            let mother = Individual::scattered(&start, &constraints, &mut random);
            let father = Individual::scattered(&start, &constraints, &mut random);
            let mut child = crossed(&mother, &father, &mut random);
            repair(&mut child, &constraints, &mut random);
            assert!(constraints.hold_for(&child.to_dag()));
        }
    }

    #[test]
    fn a_generation_has_the_elite_of_the_last_and_one_child_a_step() {
        let params = GeneticParams {
            population: 10,
            ..GeneticParams::default()
        };
        let evaluator = evaluator(&strong_table());
        let mut chain = Genetic::new(evaluator, Dag::empty(4), Seed(5), params);
        for _ in 0..10 {
            assert_eq!(chain.step(), StepOutcome::Ran);
        }
        let first = chain.population.clone();
        assert_eq!((first.len(), chain.next.len()), (10, 0));
        for _ in 0..8 {
            assert_eq!(chain.step(), StepOutcome::Ran);
        }
        assert_eq!((chain.population.len(), chain.next.len()), (10, 0));
        assert_eq!(chain.population[..2], elite(&first, 2));
        assert_eq!(chain.core().iterations, 18);
    }
}
