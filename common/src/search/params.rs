//! Which search runs, with which settings: the one place that knows all of them.
//!
//! A further search is a file with its chain, its settings and [`SearchParams`] for them, and a line
//! in the list of [`searches!`].

use super::baseline::{AnnealingParams, FootballParams, GeneticParams, HillClimbingParams};
use super::baseline::{ParticlesParams, TabuParams, WeedsParams};
use super::chain::Chain;
use super::paper::PaperParams;
use super::problem::{Evaluator, Problem};
use super::rlbayes::{ChainRank, RlBayesParams};
use super::saved::{SavedChain, StateKind, UnfitState};
use super::settings::{SettingsError, Visitor};
use crate::graph::Dag;
use crate::ids::{ChainId, Seed};
use std::sync::Arc;
use thiserror::Error;

/// What the settings of a search know.
pub(crate) trait SearchParams {
    /// Returns the search's name, and what its chains are stored as.
    fn kind(&self) -> StateKind;

    /// Checks that no setting is out of range; the chains rely on it.
    fn check(&self) -> Result<(), ParamError> {
        Ok(())
    }

    /// Shows every setting by name.
    fn visit(&mut self, with: &mut dyn Visitor) -> Result<(), SettingsError>;

    /// Returns how many bytes one chain holds at most, beside what it shares through the caches.
    fn bytes_per_chain(&self, nodes: usize) -> usize;

    /// Returns how many chains run on a number of threads unless told otherwise.
    fn default_chains(&self, _threads: u32, _nodes: usize) -> u32 {
        1
    }

    /// Returns how many chains a search has whose result must not depend on the threads.
    fn fixed_chains(&self) -> u32 {
        1
    }

    /// Returns whether chains take rows of others; else they only report.
    fn takes_seeds(&self) -> bool {
        false
    }

    /// Returns whether chains take nothing but gaining toggles, so that hopeless ones need not be
    /// counted.
    fn takes_only_gains(&self) -> bool {
        false
    }

    /// Returns whether a step of a chain is the search of one region of the network.
    fn goes_by_regions(&self, _nodes: usize) -> bool {
        false
    }

    /// Prepares a chain.
    fn start(&self, setup: ChainSetup, seed: Seed) -> Box<dyn Chain>;

    /// Resumes a chain from a state of this search.
    fn resume(&self, setup: ChainSetup, saved: &SavedChain) -> Result<Box<dyn Chain>, UnfitState>;
}

/// What a chain is made from.
#[derive(Debug)]
pub(crate) struct ChainSetup {
    /// Its way to scores.
    pub(crate) evaluator: Evaluator,
    /// The network that it starts from.
    pub(crate) start: Dag,
    /// Which of the search's chains it is.
    pub(crate) rank: ChainRank,
}

/// Writes what is the same in nearly every [`SearchParams`]: chains of a type that is made from an
/// evaluator, a network to start from and the settings.
macro_rules! made_by {
    ($chain:ident) => {
        fn kind(&self) -> $crate::search::StateKind {
            $chain::KIND
        }

        fn start(
            &self,
            setup: $crate::search::params::ChainSetup,
            seed: $crate::ids::Seed,
        ) -> Box<dyn $crate::search::Chain> {
            Box::new($chain::new(setup.evaluator, setup.start, seed, *self))
        }

        fn resume(
            &self,
            setup: $crate::search::params::ChainSetup,
            saved: &$crate::search::SavedChain,
        ) -> Result<Box<dyn $crate::search::Chain>, $crate::search::UnfitState> {
            let chain = $chain::resume(setup.evaluator, setup.start, *self, saved)?;
            Ok(Box::new(chain))
        }
    };
}
pub(crate) use made_by;

/// Lists the searches, the default first.
macro_rules! searches {
    ($($(#[$doc:meta])* $name:ident($params:ty),)+) => {
        /// A search with its settings.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum SearchSpec {
            $($(#[$doc])* $name($params),)+
        }

        impl SearchSpec {
            const COUNT: usize = [$(stringify!($name)),+].len();

            /// Returns every search with its usual settings.
            #[must_use]
            pub fn defaults() -> [Self; Self::COUNT] {
                [$(Self::$name(<$params>::default())),+]
            }

            fn params(&self) -> &dyn SearchParams {
                match self {
                    $(Self::$name(params) => params,)+
                }
            }

            pub(super) fn params_mut(&mut self) -> &mut dyn SearchParams {
                match self {
                    $(Self::$name(params) => params,)+
                }
            }
        }
    };
}

searches! {
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

/// Checks of single settings.
pub(crate) mod check {
    use super::ParamError;

    pub(crate) fn probability(name: &'static str, value: f64) -> Result<(), ParamError> {
        if (0.0..=1.0).contains(&value) {
            Ok(())
        } else {
            Err(ParamError::Probability { name, value })
        }
    }

    pub(crate) fn temperature(value: f64) -> Result<(), ParamError> {
        if value >= 0.0 && value.is_finite() {
            Ok(())
        } else {
            Err(ParamError::Temperature(value))
        }
    }

    pub(crate) fn at_least(
        name: &'static str,
        value: usize,
        least: usize,
    ) -> Result<(), ParamError> {
        if value < least {
            Err(ParamError::TooFew { name, value, least })
        } else {
            Ok(())
        }
    }

    pub(crate) fn table_rows(rows: usize) -> Result<(), ParamError> {
        if rows < 2 {
            Err(ParamError::TableRows(rows))
        } else {
            Ok(())
        }
    }
}

impl SearchSpec {
    /// Returns whether chains of the search take rows of others; the rest only report.
    #[must_use]
    pub fn takes_seeds(&self) -> bool {
        self.params().takes_seeds()
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// If one is out of range.
    pub fn check(&self) -> Result<(), ParamError> {
        self.params().check()
    }

    /// Returns the name as flags and JSON spell it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.params().kind().search
    }

    /// Returns how many chains run on a number of threads unless told otherwise: the default
    /// search interleaves eight on each, but one where networks are large; the others are one walk.
    #[must_use]
    pub fn default_chains(&self, threads: u32, nodes: usize) -> u32 {
        self.params().default_chains(threads, nodes)
    }

    /// Returns how many chains a search has unless told otherwise if its result must not depend on
    /// the threads.
    #[must_use]
    pub fn fixed_chains(&self) -> u32 {
        self.params().fixed_chains()
    }

    /// Returns how many bytes one chain holds at most, beside what it shares through the caches.
    #[must_use]
    pub fn bytes_per_chain(&self, nodes: usize) -> usize {
        self.params().bytes_per_chain(nodes)
    }

    /// Returns whether a step of a chain is the search of one region of the network.
    #[must_use]
    pub fn goes_by_regions(&self, nodes: usize) -> bool {
        self.params().goes_by_regions(nodes)
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
        let setup = self.setup(problem, chain, chains);
        self.params().start(setup, seed.mix(u64::from(chain.0)))
    }

    /// Returns which states this search writes.
    #[must_use]
    pub fn state_kind(&self) -> StateKind {
        self.params().kind()
    }

    /// Checks that a stored state is one of this search, in this version.
    ///
    /// # Errors
    /// If it is not.
    pub fn check_state(&self, saved: &SavedChain) -> Result<(), UnfitState> {
        saved.check(self.state_kind())
    }

    /// Resumes a stored chain of the search.
    ///
    /// # Errors
    /// If the stored state is not one of this search, in this version.
    pub fn resume(
        &self,
        problem: &Arc<Problem>,
        chain: ChainId,
        chains: u32,
        saved: &SavedChain,
    ) -> Result<Box<dyn Chain>, UnfitState> {
        self.check_state(saved)?;
        let setup = self.setup(problem, chain, chains);
        self.params().resume(setup, saved)
    }

    fn setup(&self, problem: &Arc<Problem>, chain: ChainId, chains: u32) -> ChainSetup {
        let mut evaluator = Evaluator::new(Arc::clone(problem));
        if self.params().takes_only_gains() {
            evaluator = evaluator.skipping_hopeless();
        }
        ChainSetup {
            evaluator,
            start: problem.start().clone(),
            rank: ChainRank {
                // The ladder repeats where there are more chains than rungs.
                number: chain.0 % chains.max(1),
                of: chains,
                chain: chain.0,
            },
        }
    }
}
