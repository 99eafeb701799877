//! The settings of the default search, and which of its chains one is.

use super::chain::RlBayes;
use super::regions::RegionChain;
use crate::ids::Seed;
use crate::search::params::{ChainSetup, check};
use crate::search::{Chain, ParamError, SavedChain, SearchParams, SettingsError, StateKind};
use crate::search::{UnfitState, Visitor};

/// The settings of the default search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RlBayesParams {
    /// Nats: how much worse an optimum the hottest chain accepts with probability 1/e. The first
    /// chain has temperature 0, the others lie evenly between.
    pub temperature: f64,
    /// Probability that a stalled chain without seeds goes back to its best row, not to another.
    pub theta: f64,
    /// Rows of the Q-table.
    pub table_rows: usize,
    /// Episodes without a better row after which a chain counts as stalled.
    pub stall: u64,
    /// Largest share of the nodes whose edges a run drops.
    pub region: f64,
    /// How the return of a run decides what the next one starts from.
    pub learning: Learning,
}

/// How the return of a run decides what the next one starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learning {
    /// It is credited to the groups of families that earned it: each that gained enters the row
    /// that the run started from, and the next run starts from that row.
    On,
    /// It counts as a whole: the next run starts from the better of the row and what the run ended
    /// on. What learning is measured against.
    Off,
}

impl Default for RlBayesParams {
    fn default() -> Self {
        Self {
            temperature: 3.0,
            theta: 0.5,
            table_rows: 64,
            stall: 10_000,
            region: 0.8,
            learning: Learning::On,
        }
    }
}

impl SearchParams for RlBayesParams {
    fn kind(&self) -> StateKind {
        RlBayes::KIND
    }

    fn check(&self) -> Result<(), ParamError> {
        check::temperature(self.temperature)?;
        check::probability("theta", self.theta)?;
        check::probability("the region", self.region)?;
        check::table_rows(self.table_rows)
    }

    fn visit(&mut self, with: &mut dyn Visitor) -> Result<(), SettingsError> {
        let Self {
            temperature,
            theta,
            table_rows,
            stall,
            region,
            learning,
        } = self;
        with.number("temperature", temperature)?;
        with.number("theta", theta)?;
        with.size("table_rows", table_rows)?;
        with.whole("stall", stall)?;
        with.number("region", region)?;
        with.choice("learning", learning, [Learning::Off, Learning::On])
    }

    fn bytes_per_chain(&self, nodes: usize) -> usize {
        if self.goes_by_regions(nodes) {
            RegionChain::bytes_for(nodes)
        } else {
            RlBayes::bytes_for(nodes, self)
        }
    }

    /// Eight chains take turns on each thread; where regions are searched, one has the thread.
    fn default_chains(&self, threads: u32, nodes: usize) -> u32 {
        if self.goes_by_regions(nodes) {
            threads
        } else {
            threads.saturating_mul(8)
        }
    }

    fn fixed_chains(&self) -> u32 {
        8
    }

    fn takes_seeds(&self) -> bool {
        true
    }

    fn takes_only_gains(&self) -> bool {
        true
    }

    fn goes_by_regions(&self, nodes: usize) -> bool {
        nodes >= RegionChain::LEAST_NODES
    }

    fn start(&self, setup: ChainSetup, seed: Seed) -> Box<dyn Chain> {
        let ChainSetup {
            evaluator,
            start,
            rank,
        } = setup;
        if self.goes_by_regions(start.nodes()) {
            Box::new(RegionChain::new(evaluator, start, seed, *self, rank))
        } else {
            Box::new(RlBayes::new(evaluator, start, seed, *self, rank))
        }
    }

    fn resume(&self, setup: ChainSetup, saved: &SavedChain) -> Result<Box<dyn Chain>, UnfitState> {
        let ChainSetup {
            evaluator,
            start,
            rank,
        } = setup;
        if self.goes_by_regions(start.nodes()) {
            let chain = RegionChain::resume(evaluator, start, *self, rank, saved)?;
            Ok(Box::new(chain))
        } else {
            let chain = RlBayes::resume(evaluator, start, *self, rank, saved)?;
            Ok(Box::new(chain))
        }
    }
}

/// Which of the search's chains this is: they differ in temperature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainRank {
    /// The chain's rung, from 0.
    pub number: u32,
    /// How many rungs there are.
    pub of: u32,
    /// The chain's number among all chains of the search, from 0.
    pub chain: u32,
}

impl ChainRank {
    /// Returns where the chain begins among `places`: chains are spread evenly, however many there are.
    pub(crate) fn first_place(self, places: usize) -> usize {
        // The bits in reverse: each number halves one of the largest gaps that those before it left.
        let fraction = u128::from(self.chain.reverse_bits());
        usize::try_from((fraction * places as u128) >> u32::BITS).unwrap_or(0)
    }
}
