//! Which search runs, with which settings: the one place that knows all of them by name.

use super::baseline::{HillClimbing, HillClimbingParams, Tabu, TabuParams};
use super::chain::{Chain, SavedChain, UnfitState};
use super::paper::{PaperParams, PaperWalk};
use super::problem::{Evaluator, Problem};
use super::rlbayes::{ChainRank, RlBayes, RlBayesParams};
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
    /// A Q-table is too short.
    #[error("a Q-table of {0} rows is too short (expected at least 2)")]
    TableRows(usize),
}

impl SearchSpec {
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
            Self::HillClimbing(_) | Self::Tabu(_) => Ok(()),
        }
    }

    /// Returns the name as flags and JSON spell it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::RlBayes(_) => "rlbayes",
            Self::Paper(_) => "paper",
            Self::HillClimbing(_) => "hc",
            Self::Tabu(_) => "tabu",
        }
    }

    /// Returns how many chains run on a number of threads unless told otherwise: the default
    /// search interleaves eight on each, the others are one walk a thread.
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
            Self::RlBayes(params) => RlBayes::bytes_for(nodes, params),
            Self::Paper(params) => params.table_rows * nodes * 64,
            Self::HillClimbing(_) | Self::Tabu(_) => RlBayes::bytes_for(
                nodes,
                &RlBayesParams {
                    table_rows: 2,
                    ..Default::default()
                },
            ),
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
            number: chain.0,
            of: chains,
        };
        match *self {
            Self::RlBayes(params) => Box::new(RlBayes::new(evaluator, start, seed, params, rank)),
            Self::Paper(params) => Box::new(PaperWalk::new(evaluator, start, seed, params)),
            Self::HillClimbing(params) => {
                Box::new(HillClimbing::new(evaluator, start, seed, params))
            }
            Self::Tabu(params) => Box::new(Tabu::new(evaluator, start, seed, params)),
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
        let evaluator = self.evaluator(problem);
        let start = problem.start().clone();
        let rank = ChainRank {
            number: chain.0,
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
        })
    }

    /// Only searches that take nothing but gaining toggles may leave hopeless ones uncounted.
    fn evaluator(&self, problem: &Arc<Problem>) -> Evaluator {
        let evaluator = Evaluator::new(Arc::clone(problem));
        match self {
            Self::RlBayes(_) | Self::HillClimbing(_) => evaluator.skipping_hopeless(),
            Self::Paper(_) | Self::Tabu(_) => evaluator,
        }
    }
}
