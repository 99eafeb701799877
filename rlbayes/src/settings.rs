//! The settings of a search as a caller gives them: plain values with their usual defaults.
//! [`SearchRequest::new`](crate::SearchRequest::new) checks them.

use crate::coordination::Cooperation;
use crate::network::Network;
use crate::score::Score;
use rlbayes_common::search::{Budget, NamedConstraints, SearchSpec};
use std::time::Duration;

/// The settings of a search.
///
/// ```
/// use rlbayes::{Score, SearchSettings};
/// let settings = SearchSettings { score: Score::Bdeu { ess: 10.0 }, seed: 7, ..Default::default() };
/// assert_eq!(settings.threads, None);
/// ```
#[derive(Clone, Debug)]
pub struct SearchSettings {
    /// What is maximised.
    pub score: Score,
    /// A factor on the penalty of BIC and AIC.
    pub penalty_scale: f64,
    /// What the network must and must not have, by name.
    pub constraints: NamedConstraints,
    /// The network to start from; none: the one without edges.
    pub start: Option<Network>,
    /// Which search is used, with its parameters.
    pub algorithm: SearchSpec,
    /// The seed of all random choices.
    pub seed: u64,
    /// When the search is over. Without any limit it ends when the best network has not improved for
    /// as long as it took to find it, at least ten seconds.
    pub budget: Budget,
    /// Who runs the chains.
    #[doc(hidden)]
    pub runners: Runners,
    /// Threads; none: one for each core.
    pub threads: Option<u32>,
    /// Chains over all threads; none: eight for each thread in the default algorithm, one in others.
    pub chains: Option<u32>,
    /// Bytes of memory for everything; none: a quarter of the machine's or the container's.
    pub memory: Option<usize>,
    /// Whether chains run in rounds and wait for each other, so that the result does not depend on
    /// threads, workers and timing. One thread always does.
    pub deterministic: bool,
    /// Evaluations of a chain in one round.
    pub round_evaluations: u64,
    /// Whether chains get networks of other chains.
    pub cooperation: Cooperation,
    /// Whether a prover runs beside the chains and ends the search when no better network is possible.
    pub prove: Proving,
}

/// Whether a search is proven on the side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proving {
    /// Never.
    #[default]
    Off,
    /// Where the table is small enough, and the end of the search depends on time anyway, or on a
    /// target alone: searches that are limited by evaluations stay repeatable.
    Auto,
    /// Instead of a search: it goes on only until it stands still, for a quarter of the time at most,
    /// and the rest of the time is for the proof.
    Only,
}

/// Who runs the chains of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runners {
    /// Threads of this process.
    Threads,
    /// Workers on other machines; this process coordinates them.
    Workers {
        /// How often a worker reports without a new best.
        exchange_every: Duration,
        /// How long a worker counts as alive without an exchange.
        lease: Duration,
    },
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            score: Score::Bic,
            penalty_scale: 1.0,
            constraints: NamedConstraints::default(),
            start: None,
            algorithm: SearchSpec::RlBayes(Default::default()),
            seed: 1,
            budget: Budget::default(),
            runners: Runners::Threads,
            threads: None,
            chains: None,
            memory: None,
            deterministic: false,
            round_evaluations: 200_000,
            cooperation: Cooperation::On,
            prove: Proving::Off,
        }
    }
}
