//! The settings of the default search, and which of its chains one is.

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

/// Which of the search's chains this is: they differ in temperature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainRank {
    /// The chain's number, from 0.
    pub number: u32,
    /// How many chains there are.
    pub of: u32,
}
