//! Which search runs, with which settings: the one place that knows all of them by name.

use super::baseline::{Annealing, AnnealingParams, Football, FootballParams};
use super::baseline::{Genetic, GeneticParams, HillClimbing, HillClimbingParams};
use super::baseline::{Particles, ParticlesParams, Tabu, TabuParams, Weeds, WeedsParams};
use super::benefits::Benefits;
use super::chain::Chain;
use super::paper::{PaperParams, PaperWalk};
use super::problem::{Evaluator, Problem};
use super::rlbayes::{ChainRank, RlBayes, RlBayesParams};
use super::saved::{SavedChain, StateKind, UnfitState};
use crate::ids::{ChainId, Seed};
use std::sync::Arc;
use thiserror::Error;

/// A search with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchSpec {
    /// The default.
    RlBayes(RlBayesParams),
    /// RLBayes as the paper prints it.
    Paper(PaperParams),
    /// Hill climbing with restarts.
    HillClimbing(HillClimbingParams),
    /// Tabu search.
    Tabu(TabuParams),
    /// Simulated annealing.
    Annealing(AnnealingParams),
    /// A genetic algorithm.
    Genetic(GeneticParams),
    /// Invasive weed optimisation.
    Weeds(WeedsParams),
    /// The football team training algorithm.
    Football(FootballParams),
    /// Particle swarm optimisation for Bayesian networks.
    Particles(ParticlesParams),
}

/// Why settings can't be used.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ParamError {
    /// A probability is not one.
    #[error("{name} is {value} (expected a number from 0 to 1)")]
    Probability {
        /// Which setting.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// A temperature is negative or not a number.
    #[error("the temperature is {0} (expected a number of at least 0)")]
    Temperature(f64),
    /// Something is too small.
    #[error("{name} is {value} (expected at least {least})")]
    TooFew {
        /// Which setting.
        name: &'static str,
        /// Its value.
        value: usize,
        /// The least that it can be.
        least: usize,
    },
    /// A Q-table is too short.
    #[error("a Q-table of {0} rows is too short (expected at least 2)")]
    TableRows(usize),
}

/// What a node's family in a member of a population takes at most, with its share of the rest.
const BYTES_A_FAMILY: usize = 96;

/// What a position holds of the network that it can go back to: see `Position::mark`.
fn bytes_to_go_back(nodes: usize) -> usize {
    nodes * Benefits::bytes_for(nodes, 4, 8)
}

impl SearchSpec {
    /// Returns every search with its usual settings.
    #[must_use]
    pub fn defaults() -> [Self; 9] {
        [
            Self::RlBayes(RlBayesParams::default()),
            Self::Paper(PaperParams::default()),
            Self::HillClimbing(HillClimbingParams::default()),
            Self::Tabu(TabuParams::default()),
            Self::Annealing(AnnealingParams::default()),
            Self::Genetic(GeneticParams::default()),
            Self::Weeds(WeedsParams::default()),
            Self::Football(FootballParams::default()),
            Self::Particles(ParticlesParams::default()),
        ]
    }

    /// Tells whether chains of the search take rows of others; the rest only report.
    #[must_use]
    pub fn takes_seeds(&self) -> bool {
        matches!(self, Self::RlBayes(_) | Self::Paper(_))
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// If one is out of range.
    pub fn check(&self) -> Result<(), ParamError> {
        let probability = |name, value: f64| {
            if (0.0..=1.0).contains(&value) {
                Ok(())
            } else {
                Err(ParamError::Probability { name, value })
            }
        };
        let least = |name, value, least| {
            if value < least {
                Err(ParamError::TooFew { name, value, least })
            } else {
                Ok(())
            }
        };
        let table = |rows| {
            if rows < 2 {
                Err(ParamError::TableRows(rows))
            } else {
                Ok(())
            }
        };
        match self {
            Self::RlBayes(params) => {
                if !(params.temperature >= 0.0 && params.temperature.is_finite()) {
                    return Err(ParamError::Temperature(params.temperature));
                }
                probability("theta", params.theta)?;
                probability("the region", params.region)?;
                table(params.table_rows)
            }
            Self::Paper(params) => {
                probability("epsilon", params.epsilon)?;
                probability("theta", params.theta)?;
                table(params.table_rows)
            }
            Self::Annealing(params) => {
                if !(params.temperature >= 0.0 && params.temperature.is_finite()) {
                    return Err(ParamError::Temperature(params.temperature));
                }
                probability("the cooling factor", params.cooling)
            }
            Self::Genetic(params) => {
                probability("the crossover rate", params.crossover)?;
                probability("the mutation rate", params.mutation)?;
                least("the population", params.population, 2)
            }
            Self::Weeds(params) => least("the first colony", params.initial, 1),
            Self::Football(params) => least("the population", params.population, 1),
            Self::Particles(params) => least("the swarm", params.swarm, 1),
            Self::HillClimbing(_) | Self::Tabu(_) => Ok(()),
        }
    }

    /// Returns the name as flags and JSON spell it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind().search
    }

    /// Returns what chains of the search are stored as.
    #[must_use]
    pub fn kind(&self) -> StateKind {
        match self {
            Self::RlBayes(_) => RlBayes::KIND,
            Self::Paper(_) => PaperWalk::KIND,
            Self::HillClimbing(_) => HillClimbing::KIND,
            Self::Tabu(_) => Tabu::KIND,
            Self::Annealing(_) => Annealing::KIND,
            Self::Genetic(_) => Genetic::KIND,
            Self::Weeds(_) => Weeds::KIND,
            Self::Football(_) => Football::KIND,
            Self::Particles(_) => Particles::KIND,
        }
    }

    /// Returns how many chains run on a number of threads unless told otherwise: the default
    /// search interleaves eight on each, the others are one walk.
    #[must_use]
    pub fn default_chains(&self, threads: u32) -> u32 {
        match self {
            Self::RlBayes(_) => threads.saturating_mul(8),
            _ => 1,
        }
    }

    /// Returns how many bytes one chain holds at most, beside what it shares through the caches.
    #[must_use]
    pub fn bytes_per_chain(&self, nodes: usize) -> usize {
        match self {
            Self::RlBayes(params) => RlBayes::bytes_for(nodes, params) + bytes_to_go_back(nodes),
            Self::Paper(params) => params.table_rows * nodes * 64,
            Self::HillClimbing(_) | Self::Tabu(_) => {
                let position_alone = RlBayesParams {
                    table_rows: 2,
                    ..Default::default()
                };
                RlBayes::bytes_for(nodes, &position_alone) + bytes_to_go_back(nodes)
            }
            Self::Annealing(_) => nodes * BYTES_A_FAMILY,
            Self::Genetic(params) => 2 * params.population * nodes * BYTES_A_FAMILY,
            Self::Weeds(params) => {
                params.maximum * (params.seeds_most + 1) * nodes * BYTES_A_FAMILY
            }
            Self::Football(params) => {
                params.bytes(nodes) + params.population * nodes * BYTES_A_FAMILY
            }
            Self::Particles(params) => 3 * params.swarm * nodes * BYTES_A_FAMILY,
        }
    }

    /// Prepares a chain of the search.
    #[must_use]
    pub fn start(
        &self,
        problem: &Arc<Problem>,
        chain: ChainId,
        chains: u32,
        seed: Seed,
    ) -> Box<dyn Chain> {
        let evaluator = self.evaluator(problem);
        let seed = seed.mix(u64::from(chain.0));
        let start = problem.start().clone();
        let rank = ChainRank {
            // The ladder repeats where there are more chains than rungs.
            number: chain.0 % chains.max(1),
            of: chains,
        };
        match *self {
            Self::RlBayes(params) => Box::new(RlBayes::new(evaluator, start, seed, params, rank)),
            Self::Paper(params) => Box::new(PaperWalk::new(evaluator, start, seed, params)),
            Self::HillClimbing(params) => {
                Box::new(HillClimbing::new(evaluator, start, seed, params))
            }
            Self::Tabu(params) => Box::new(Tabu::new(evaluator, start, seed, params)),
            Self::Annealing(params) => Box::new(Annealing::new(evaluator, start, seed, params)),
            Self::Genetic(params) => Box::new(Genetic::new(evaluator, start, seed, params)),
            Self::Weeds(params) => Box::new(Weeds::new(evaluator, start, seed, params)),
            Self::Football(params) => Box::new(Football::new(evaluator, start, seed, params)),
            Self::Particles(params) => Box::new(Particles::new(evaluator, start, seed, params)),
        }
    }

    /// Goes on with a stored chain of the search.
    ///
    /// # Errors
    /// If the stored state is not one of this search.
    pub fn resume(
        &self,
        problem: &Arc<Problem>,
        chain: ChainId,
        chains: u32,
        saved: &SavedChain,
    ) -> Result<Box<dyn Chain>, UnfitState> {
        saved.check(self.kind())?;
        let evaluator = self.evaluator(problem);
        let start = problem.start().clone();
        let rank = ChainRank {
            // The ladder repeats where there are more chains than rungs.
            number: chain.0 % chains.max(1),
            of: chains,
        };
        Ok(match *self {
            Self::RlBayes(params) => {
                Box::new(RlBayes::resume(evaluator, start, params, rank, saved)?)
            }
            Self::Paper(params) => Box::new(PaperWalk::resume(evaluator, start, params, saved)?),
            Self::HillClimbing(params) => {
                Box::new(HillClimbing::resume(evaluator, start, params, saved)?)
            }
            Self::Tabu(params) => Box::new(Tabu::resume(evaluator, start, params, saved)?),
            Self::Annealing(params) => {
                Box::new(Annealing::resume(evaluator, start, params, saved)?)
            }
            Self::Genetic(params) => Box::new(Genetic::resume(evaluator, start, params, saved)?),
            Self::Weeds(params) => Box::new(Weeds::resume(evaluator, start, params, saved)?),
            Self::Football(params) => Box::new(Football::resume(evaluator, start, params, saved)?),
            Self::Particles(params) => {
                Box::new(Particles::resume(evaluator, start, params, saved)?)
            }
        })
    }

    /// Only searches that take nothing but gaining toggles may leave hopeless ones uncounted.
    fn evaluator(&self, problem: &Arc<Problem>) -> Evaluator {
        let evaluator = Evaluator::new(Arc::clone(problem));
        match self {
            Self::RlBayes(_) | Self::HillClimbing(_) => evaluator.skipping_hopeless(),
            _ => evaluator,
        }
    }
}
