//! A genetic algorithm: tournaments choose the parents, a crossover takes each node's whole parent
//! set from one of them and repairs the cycles, a few children are mutated, and the best of a
//! generation live on.
//!
//! A population soon consists of copies of one network. With the usual settings, one child in ten
//! is mutated, and a mutant that scores lower becomes a parent only if all draws of a tournament
//! are such mutants: the search then leaves an optimum that is two losing operations deep about
//! never (on the test table of 4 nodes, 3 of 10 seeds stay at one for 3 million children). A
//! higher mutation rate is the way out, and is what the test of the optimum uses.

use super::population::{About, Draw, Individual, Population, PopulationSearch};
use super::population::{best_of, load_scored, repair, save_all};
use crate::ids::NodeIdx;
use crate::search::params::{check, made_by};
use crate::search::{Fields, ParamError, Random, SearchParams, SettingsError};
use crate::search::{StateKind, UnfitState, Visitor};

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

impl SearchParams for GeneticParams {
    made_by!(Genetic);

    fn check(&self) -> Result<(), ParamError> {
        check::probability("the crossover rate", self.crossover)?;
        check::probability("the mutation rate", self.mutation)?;
        check::at_least("the tournament", self.tournament, 1)?;
        check::at_least("the population", self.population, 2)
    }

    fn visit(&mut self, with: &mut dyn Visitor) -> Result<(), SettingsError> {
        let Self {
            population,
            tournament,
            crossover,
            mutation,
            elite,
        } = self;
        with.size("population", population)?;
        with.size("tournament", tournament)?;
        with.number("crossover", crossover)?;
        with.number("mutation", mutation)?;
        with.size("elite", elite)
    }

    fn bytes_per_chain(&self, nodes: usize) -> usize {
        2 * self.population * Individual::bytes_for(nodes)
    }
}

/// A genetic chain; a step is one child.
pub type Genetic = Population<Generations>;

/// How generations follow each other.
#[derive(Debug)]
pub struct Generations {
    params: GeneticParams,
    /// The next generation as far as it is made: elite, then children.
    next: Vec<Individual>,
}

impl PopulationSearch for Generations {
    type Params = GeneticParams;

    const KIND: StateKind = StateKind {
        search: "ga",
        version: 1,
    };

    fn new(mut params: GeneticParams) -> Self {
        params.elite = params.elite.min(params.population - 1);
        let next = Vec::new();
        Self { params, next }
    }

    fn first_size(&self) -> usize {
        self.params.population
    }

    fn propose(&mut self, members: &[Individual], draw: Draw<'_>) -> Vec<Individual> {
        let Draw {
            constraints,
            random,
        } = draw;
        if self.next.is_empty() {
            self.next = elite(members, self.params.elite);
        }
        let mother = tournament(members, self.params.tournament, random);
        let mut child = if random.chance(self.params.crossover) {
            let father = tournament(members, self.params.tournament, random);
            let mut child = crossed(mother, father, random);
            repair(&mut child, constraints, random);
            child
        } else {
            mother.clone()
        };
        if random.chance(self.params.mutation) {
            child = child.after_operations(1, constraints, random);
        }
        vec![child]
    }

    fn settle(
        &mut self,
        members: &mut Vec<Individual>,
        proposed: Vec<Individual>,
        _draw: Draw<'_>,
    ) -> Vec<Individual> {
        self.next.extend(proposed);
        if self.next.len() >= self.params.population {
            *members = std::mem::take(&mut self.next);
        }
        Vec::new()
    }

    fn save(&self, own: Fields) -> Fields {
        save_all(own, "next", &self.next)
    }

    fn load(&mut self, own: &Fields, about: About<'_>) -> Result<(), UnfitState> {
        self.next = load_scored(own, "next", about.constraints)?;
        let size = self.params.population;
        let too_early = about.members < size && !self.next.is_empty();
        if self.next.len() >= size || too_early {
            return Err(UnfitState::Field("next"));
        }
        if about.members > size {
            return Err(UnfitState::Field("members"));
        }
        if about.pending > 1 {
            return Err(UnfitState::Field("pending"));
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::super::testing::{dag, evaluator, random_constraints, strong_table, table_of};
    use super::*;
    use crate::graph::Dag;
    use crate::ids::Seed;
    use crate::score::LogScore;
    use crate::search::{Chain, Evaluator, StepOutcome};

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
        let first = chain.members.clone();
        assert_eq!((first.len(), chain.search.next.len()), (10, 0));
        for _ in 0..8 {
            assert_eq!(chain.step(), StepOutcome::Ran);
        }
        assert_eq!((chain.members.len(), chain.search.next.len()), (10, 0));
        assert_eq!(chain.members[..2], elite(&first, 2));
        assert_eq!(chain.core().iterations, 18);
    }

    #[test]
    fn a_mutated_child_is_one_operation_away_and_one_in_ten_is() {
        let mut generations = Generations::new(GeneticParams {
            crossover: 0.0,
            ..GeneticParams::default()
        });
        let members = ranked();
        let constraints = crate::search::Constraints::none(4);
        let mut random = Random::new(Seed(6));
        let mut mutated = 0;
        for _ in 0..4000 {
            let draw = Draw {
                constraints: &constraints,
                random: &mut random,
            };
            let child = generations.propose(&members, draw).remove(0);
            if members
                .iter()
                .any(|member| member.edges().eq(child.edges()))
            {
                continue;
            }
            mutated += 1;
            let pairs = |it: &Individual| -> std::collections::BTreeSet<_> {
                it.edges().map(|(a, b)| (a.min(b), a.max(b))).collect()
            };
            let near = members.iter().any(|member| {
                let (own, other) = (pairs(member), pairs(&child));
                own.symmetric_difference(&other).count() <= 1
            });
            assert!(near);
        }
        // Some mutants are again a member: those are not seen.
        assert!((250..430).contains(&mutated), "{mutated}");
    }
}
