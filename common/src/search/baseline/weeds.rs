//! Invasive weed optimisation (Mehrabian and Lucas 2006): the better a weed, the more seeds it
//! makes; seeds fall a random number of operations away from it, fewer as time passes; parents
//! and seeds compete for the places of the colony.

use super::population::{About, Draw, Individual, Population, PopulationSearch};
use super::population::{load_scored, save_all};
use crate::score::LogScore;
use crate::search::params::{check, made_by};
use crate::search::{Fields, ParamError, Random, SearchParams, SettingsError};
use crate::search::{StateKind, UnfitState, Visitor};

/// How a colony grows and spreads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeedsParams {
    /// How many weeds the first colony has (at least 1).
    pub initial: usize,
    /// How many weeds a colony has at most (at least 1).
    pub maximum: usize,
    /// How many seeds the worst weed makes.
    pub seeds_least: usize,
    /// How many seeds the best weed makes (at least 1).
    pub seeds_most: usize,
    /// The spread of the first generation's seeds; none means max(2, n / 4).
    pub spread_first: Option<f64>,
    /// The spread of the last generation's seeds.
    pub spread_last: f64,
    /// T: after how many generations the spread has reached its last value, where it stays.
    pub generations: u64,
}

impl Default for WeedsParams {
    fn default() -> Self {
        Self {
            initial: 20,
            maximum: 50,
            seeds_least: 0,
            seeds_most: 5,
            spread_first: None,
            spread_last: 0.5,
            generations: 1000,
        }
    }
}

impl SearchParams for WeedsParams {
    made_by!(Weeds);

    fn check(&self) -> Result<(), ParamError> {
        check::at_least("the first colony", self.initial, 1)?;
        check::at_least("the largest colony", self.maximum, 1)?;
        check::at_least("the number of seeds of the best weed", self.seeds_most, 1)
    }

    fn visit(&mut self, with: &mut dyn Visitor) -> Result<(), SettingsError> {
        let Self {
            initial,
            maximum,
            seeds_least,
            seeds_most,
            spread_first,
            spread_last,
            generations,
        } = self;
        with.size("initial", initial)?;
        with.size("maximum", maximum)?;
        with.size("seeds_least", seeds_least)?;
        with.size("seeds_most", seeds_most)?;
        with.optional("spread_first", spread_first)?;
        with.number("spread_last", spread_last)?;
        with.whole("generations", generations)
    }

    fn bytes_per_chain(&self, nodes: usize) -> usize {
        self.maximum * (self.seeds_most + 1) * Individual::bytes_for(nodes)
    }
}

impl WeedsParams {
    /// Returns the spread of a generation's seeds on `nodes` variables:
    /// sigma_t = ((T - t) / T)^3 (sigma_0 - sigma_1) + sigma_1.
    #[must_use]
    pub fn spread(&self, generation: u64, nodes: usize) -> f64 {
        let last = self.spread_last;
        let Some(left) = self
            .generations
            .checked_sub(generation)
            .filter(|&left| left > 0)
        else {
            return last;
        };
        let first = self
            .spread_first
            .unwrap_or_else(|| (nodes as f64 / 4.0).max(2.0));
        let share = left as f64 / self.generations as f64;
        share * share * share * (first - last) + last
    }

    /// Returns how many seeds a weed makes: floor(Smin + (f - fmin) / (fmax - fmin) (Smax - Smin)).
    /// Where all weeds are equal each counts as the best.
    #[must_use]
    pub fn seeds(&self, score: LogScore, worst: LogScore, best: LogScore) -> usize {
        if score >= best {
            return self.seeds_most;
        }
        let fitness = (score.value() - worst.value()) / (best.value() - worst.value());
        let (least, most) = (self.seeds_least as f64, self.seeds_most as f64);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "between two numbers of seeds"
        )]
        let seeds = libm::floor(least + fitness * (most - least)) as usize;
        seeds
    }
}

/// A chain of weeds; a step is one seed.
pub type Weeds = Population<Colony>;

/// How a colony seeds.
#[derive(Debug)]
pub struct Colony {
    params: WeedsParams,
    /// This generation's seeds so far.
    seeds: Vec<Individual>,
    generation: u64,
}

impl PopulationSearch for Colony {
    type Params = WeedsParams;

    const KIND: StateKind = StateKind {
        search: "iwo",
        version: 1,
    };

    fn new(mut params: WeedsParams) -> Self {
        params.initial = params.initial.min(params.maximum);
        params.seeds_least = params.seeds_least.min(params.seeds_most);
        Self {
            params,
            seeds: Vec::new(),
            generation: 0,
        }
    }

    fn first_size(&self) -> usize {
        self.params.initial
    }

    fn propose(&mut self, members: &[Individual], draw: Draw<'_>) -> Vec<Individual> {
        let parent = parent(members, self.seeds.len(), &self.params);
        let Some(weed) = parent.or(members.first()) else {
            return Vec::new();
        };
        let spread = self.params.spread(self.generation, weed.nodes());
        let distance = distance(spread, draw.random);
        vec![weed.after_operations(distance, draw.constraints, draw.random)]
    }

    fn settle(
        &mut self,
        members: &mut Vec<Individual>,
        proposed: Vec<Individual>,
        _draw: Draw<'_>,
    ) -> Vec<Individual> {
        self.seeds.extend(proposed);
        if parent(members, self.seeds.len(), &self.params).is_none() {
            compete(members, &mut self.seeds, self.params.maximum);
            self.generation += 1;
        }
        Vec::new()
    }

    fn save(&self, own: Fields) -> Fields {
        save_all(own, "seeds", &self.seeds).with_integer("generation", self.generation)
    }

    fn load(&mut self, own: &Fields, about: About<'_>) -> Result<(), UnfitState> {
        self.seeds = load_scored(own, "seeds", about.constraints)?;
        self.generation = own.integer("generation")?;
        let growing = about.members < self.params.initial;
        let most = self.params.maximum * self.params.seeds_most;
        if self.seeds.len() >= most || growing && !self.seeds.is_empty() {
            return Err(UnfitState::Field("seeds"));
        }
        if about.members > self.params.maximum {
            return Err(UnfitState::Field("members"));
        }
        if about.pending > 1 {
            return Err(UnfitState::Field("pending"));
        }
        Ok(())
    }
}

/// Returns the weed that makes the next seed after `made` of this generation: each makes all of its
/// own in a row; none when all are made.
fn parent<'a>(
    colony: &'a [Individual],
    made: usize,
    params: &WeedsParams,
) -> Option<&'a Individual> {
    let scores = || colony.iter().map(Individual::score);
    let (worst, best) = (scores().min()?, scores().max()?);
    let mut left = made;
    colony.iter().find(|weed| {
        let own = params.seeds(weed.score(), worst, best);
        let is_next = left < own;
        left = left.saturating_sub(own);
        is_next
    })
}

/// Returns how many operations a seed falls away from its parent: max(1, round |Normal(0, sigma)|).
fn distance(spread: f64, random: &mut Random) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a rounded number, which saturates"
    )]
    let operations = libm::round(libm::fabs(spread * random.normal())) as usize;
    operations.max(1)
}

/// Lets the best of parents and seeds live, best first; parents before seeds of equal score.
fn compete(colony: &mut Vec<Individual>, seeds: &mut Vec<Individual>, most: usize) {
    colony.append(seeds);
    colony.sort_by_key(|weed| std::cmp::Reverse(weed.score()));
    colony.truncate(most);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{dag, evaluator, strong_table};
    use super::*;
    use crate::graph::Dag;
    use crate::ids::Seed;
    use crate::search::{Chain, StepOutcome};

    #[test]
    fn seeds_grow_with_the_score() {
        let params = WeedsParams::default();
        let seeds = |score: f64| {
            params.seeds(
                LogScore::new(score),
                LogScore::new(-200.0),
                LogScore::new(-100.0),
            )
        };
        let cases = [
            (-200.0, 0),
            (-181.0, 0),
            (-180.0, 1),
            (-150.0, 2),
            (-120.5, 3),
            (-101.0, 4),
            (-100.0, 5),
        ];
        for (score, expected) in cases {
            assert_eq!(seeds(score), expected, "{score}");
        }
        let (low, equal) = (
            WeedsParams {
                seeds_least: 2,
                ..params
            },
            LogScore::new(-7.0),
        );
        assert_eq!(
            low.seeds(
                LogScore::new(-2.0),
                LogScore::new(-2.0),
                LogScore::new(-1.0)
            ),
            2
        );
        assert_eq!(params.seeds(equal, equal, equal), 5);
    }

    #[test]
    fn the_spread_falls_with_the_third_power_and_stays_at_its_end() {
        let params = WeedsParams {
            generations: 100,
            ..WeedsParams::default()
        };
        for (generation, nodes, expected) in [
            (0, 40, 10.0),
            (50, 40, 0.125 * 9.5 + 0.5),
            (90, 40, 0.001 * 9.5 + 0.5),
            (100, 40, 0.5),
            (5000, 40, 0.5),
            (0, 5, 2.0),
        ] {
            let spread = params.spread(generation, nodes);
            assert!((spread - expected).abs() < 1e-12, "{generation}: {spread}");
        }
        let given = WeedsParams {
            spread_first: Some(7.0),
            ..params
        };
        assert!((given.spread(0, 40) - 7.0).abs() < 1e-12);
        assert!(
            (WeedsParams {
                generations: 0,
                ..params
            }
            .spread(0, 40)
                - 0.5)
                .abs()
                < 1e-12
        );
    }

    #[test]
    fn distances_are_rounded_half_normals_of_at_least_one() {
        let mut random = Random::new(Seed(1));
        assert!((0..100).all(|_| distance(0.01, &mut random) == 1));
        let far = (0..10_000)
            .filter(|_| distance(10.0, &mut random) > 10)
            .count();
        // P(|Normal| > 1.05) = 0.2937.
        assert!((2800..3070).contains(&far), "{far}");
    }

    #[test]
    fn a_colony_makes_its_quota_of_seeds_and_the_best_live() {
        let params = WeedsParams {
            initial: 4,
            maximum: 6,
            ..WeedsParams::default()
        };
        let evaluator = evaluator(&strong_table());
        let mut chain = Weeds::new(evaluator, Dag::empty(4), Seed(2), params);
        for _ in 0..4 {
            assert_eq!(chain.step(), StepOutcome::Ran);
        }
        let scores: Vec<LogScore> = chain.members.iter().map(Individual::score).collect();
        let (worst, best) = (*scores.iter().min().unwrap(), *scores.iter().max().unwrap());
        let quota: usize = scores
            .iter()
            .map(|&score| params.seeds(score, worst, best))
            .sum();
        for made in 0..quota {
            assert_eq!(
                (chain.search.seeds.len(), chain.search.generation),
                (made, 0)
            );
            assert_eq!(chain.step(), StepOutcome::Ran);
        }
        assert_eq!((chain.search.seeds.len(), chain.search.generation), (0, 1));
        assert_eq!(chain.members.len(), 6.min(4 + quota));
        assert!(chain.members[0].score() >= best);
    }

    #[test]
    fn the_best_of_parents_and_seeds_live_and_parents_win_ties() {
        let mut evaluator = evaluator(&strong_table());
        let mut weed = |edges: &[(usize, usize)]| {
            let mut weed = Individual::of(&dag(4, edges));
            weed.ask(&mut evaluator).unwrap();
            weed
        };
        let (parent, equal_seed, good) =
            (weed(&[(3, 2)]), weed(&[(2, 3)]), weed(&[(0, 2), (2, 3)]));
        let poor = weed(&[(0, 1), (1, 3)]);
        assert_eq!(parent.score(), equal_seed.score());
        let (mut colony, mut seeds) = (
            vec![poor, parent.clone()],
            vec![equal_seed.clone(), good.clone()],
        );
        compete(&mut colony, &mut seeds, 3);
        let mut expected = vec![parent, equal_seed, good];
        expected.sort_by_key(|weed| std::cmp::Reverse(weed.score()));
        assert_eq!((colony, seeds.len()), (expected, 0));
    }
}
