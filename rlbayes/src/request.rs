//! The one description of a search: checked once when it is made, with constraints resolved once.
//! The in-process run, the coordinator, workers and benchmarks all make one; the coordinator's plan
//! and what workers are sent are made from it.

mod by_name;

use crate::chains::{ChainMaker, SliceSettings};
use crate::coordination::{ChainCount, Cooperation, Pace, SearchPlan, Snapshots};
use crate::identity::Settings;
use crate::machine;
use crate::memory_layout::MemoryLayout;
use crate::settings::{Proving, Runners, SearchSettings};
use crate::table::Table;
use rlbayes_common::elite::{EliteRow, Keying, Structure};
use rlbayes_common::exchange::SearchDescription;
use rlbayes_common::graph::{Cpdag, Dag, EdgeError};
use rlbayes_common::ids::{NodeIdx, Seed};
use rlbayes_common::proof::Prover;
use rlbayes_common::score::{LogScore, ScoreName, ScoreSpec, ScoreSpecError, Scorer};
use rlbayes_common::search::{
    Budget, ConstraintError, Constraints, Evaluator, NamedConstraints, ParamError, Problem,
    SearchSpec,
};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// A search, ready to run: what is searched, how, and for how long. That it exists means that it is
/// valid.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    table: Table,
    score: ScoreSpec,
    named: NamedConstraints,
    constraints: Constraints,
    start: Dag,
    algorithm: SearchSpec,
    seed: Seed,
    budget: Budget,
    runners: Runners,
    threads: u32,
    chains: ChainCount,
    pace: Pace,
    cooperation: Cooperation,
    round_evaluations: u64,
    cache_bytes: usize,
    /// Temperatures of the default algorithm: how many rungs their ladder has.
    ladder: u32,
    /// Bytes that a prover beside the chains may hold; none: there is no prover.
    prover_bytes: Option<usize>,
    /// What makes replicates that follow the search the same, by name; part of its identity.
    followed_by: Settings,
}

/// A setting of a search, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// How many threads.
    Threads,
    /// How many chains.
    Chains,
    /// Evaluations of a chain in one round.
    RoundEvaluations,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Threads => "threads",
            Self::Chains => "chains",
            Self::RoundEvaluations => "round evaluations",
        })
    }
}

/// Why settings do not make a search.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A number is 0.
    #[error("{0} must be at least 1")]
    Zero(Field),
    /// The score's parameters are out of range.
    #[error(transparent)]
    Score(#[from] ScoreSpecError),
    /// The algorithm's parameters are out of range.
    #[error(transparent)]
    Algorithm(#[from] ParamError),
    /// Constraints, or the start network under them, can't be met.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    /// The start network has a node that is not in the table.
    #[error("the start network has the node \"{0}\", which is not a column of the table")]
    UnknownStartNode(String),
    /// The start network's edges are not a network.
    #[error("the start network: {0}")]
    Start(#[from] EdgeError),
    /// The chains that were asked for need more memory than there may be.
    #[error("{chains} chains on this table need {needed} bytes of memory; {memory} were allowed")]
    MemoryForChains {
        /// How many chains were asked for.
        chains: u32,
        /// What they need.
        needed: usize,
        /// What was allowed.
        memory: usize,
    },
    /// The workers of a cluster do not report their processor time.
    #[error(
        "a limit on processor time is for a search in one process; on a cluster limit the time or \
         the evaluations"
    )]
    CpuTimeOfWorkers,
    /// The processor time is limited, and this system does not report it.
    #[error("this system does not report processor time; limit the time or the evaluations")]
    NoCpuTime,
    /// Not even one chain fits into the memory.
    #[error(
        "a search on this table needs at least {needed} bytes of memory; {memory} were allowed"
    )]
    Memory {
        /// What one chain needs.
        needed: usize,
        /// What was allowed.
        memory: usize,
    },
}

/// The most variables of a search that is proven on the side. Beyond that a proof is out of reach of
/// the seconds that it gets (docs/proofs.md has the figures), and chains would lose them.
const MOST_PROVEN: usize = 64;
/// How often a free-running chain reports without a new best, in one process.
const EXCHANGE_EVERY: Duration = Duration::from_secs(2);
/// How often an in-process search is checkpointed: a kill loses at most this.
pub(crate) const CHECKPOINT_EVERY: Duration = Duration::from_secs(2);
/// The chains of one process are never lost.
const NEVER: Duration = Duration::from_secs(3600);
/// The shortest lease that a worker can keep.
const LEAST_LEASE: Duration = Duration::from_millis(100);

impl SearchRequest {
    /// Checks settings against a table.
    ///
    /// # Errors
    /// If a setting is out of range, constraints contradict each other or the table, or the memory
    /// does not suffice.
    pub fn new(table: &Table, settings: &SearchSettings) -> Result<Self, RequestError> {
        let threads = match settings.runners {
            Runners::Threads => settings.threads.unwrap_or_else(machine::cores),
            // A coordinator runs no chains.
            Runners::Workers { .. } => 1,
        };
        for (field, number) in [
            (Field::Threads, u64::from(threads)),
            (Field::Chains, u64::from(settings.chains.unwrap_or(1))),
            (Field::RoundEvaluations, settings.round_evaluations),
        ] {
            if number == 0 {
                return Err(RequestError::Zero(field));
            }
        }
        if settings.budget.cpu_time.is_some() {
            if settings.runners != Runners::Threads {
                return Err(RequestError::CpuTimeOfWorkers);
            }
            if machine::cpu_seconds().is_none() {
                return Err(RequestError::NoCpuTime);
            }
        }
        let score = settings.score.spec(settings.penalty_scale)?;
        let algorithm = settings.algorithm;
        algorithm.check()?;
        let constraints = Constraints::new(table.data(), &settings.constraints)?;
        let start = match &settings.start {
            Some(start) => start
                .placed_on(table)
                .map_err(RequestError::UnknownStartNode)?,
            None => Dag::empty(table.data().nodes()),
        };
        let start = constraints.starting_point(table.data(), &start)?;
        let memory = settings.memory.unwrap_or_else(|| machine::memory() / 4);
        let layout = MemoryLayout::new(table.data(), score, &algorithm, memory);
        let fitting = match settings.chains {
            Some(chains) if chains > layout.most_chains => {
                return Err(RequestError::MemoryForChains {
                    chains,
                    needed: layout.needed(chains),
                    memory,
                });
            }
            _ if layout.most_chains == 0 => {
                let needed = layout.needed(1);
                return Err(RequestError::Memory { needed, memory });
            }
            Some(chains) => chains,
            None => {
                let usual = if settings.deterministic {
                    algorithm.fixed_chains()
                } else {
                    algorithm.default_chains(threads, table.data().nodes())
                };
                usual.min(layout.most_chains)
            }
        };
        let threads = threads.min(fitting);
        let (chains, pace) = match settings.runners {
            Runners::Threads if threads == 1 => (ChainCount::Fixed(fitting), Pace::Lockstep),
            _ if settings.deterministic => (ChainCount::Fixed(fitting), Pace::Lockstep),
            Runners::Workers { .. } if settings.chains.is_none() => (
                ChainCount::PerThread(algorithm.default_chains(1, table.data().nodes())),
                Pace::Free,
            ),
            _ => (ChainCount::Fixed(fitting), Pace::Free),
        };
        let budget = settings.budget.or_default();
        let caches = layout.caches(fitting);
        // A target out of reach would keep any search going, also one on two columns.
        let proves = settings.prove == Proving::Auto
            && table.data().nodes() <= MOST_PROVEN
            && (budget.ends_by_target_alone()
                || (algorithm.takes_seeds() && budget.ends_by_time()));
        let prover_bytes = proves.then_some(caches / 4);
        Ok(Self {
            table: table.clone(),
            score,
            named: settings.constraints.clone(),
            constraints,
            start,
            algorithm,
            seed: Seed(settings.seed),
            budget,
            runners: settings.runners,
            threads,
            chains,
            pace,
            cooperation: match algorithm.takes_seeds() {
                true => settings.cooperation,
                false => Cooperation::Off,
            },
            round_evaluations: settings.round_evaluations,
            cache_bytes: caches - prover_bytes.unwrap_or(0),
            ladder: chains.ladder(),
            prover_bytes,
            followed_by: Vec::new(),
        })
    }

    /// Takes over a search that a coordinator describes, to run up to `chains` of it here.
    ///
    /// # Errors
    /// If the description and the table do not fit together, or not even one chain fits into the
    /// memory.
    #[doc(hidden)]
    pub fn assigned(
        table: &Table,
        search: &SearchDescription,
        chains: u32,
        threads: u32,
        memory: usize,
    ) -> Result<Self, RequestError> {
        search.spec.check()?;
        let constraints = Constraints::new(table.data(), &search.constraints)?;
        let start = Dag::from_edges(table.data().nodes(), search.start.iter().copied())?;
        let start = constraints.starting_point(table.data(), &start)?;
        let layout = MemoryLayout::new(table.data(), search.score, &search.spec, memory);
        let fits = layout.chain_memory().most_chains(memory as u64);
        if fits == 0 {
            let needed = usize::try_from(layout.chain_memory().least()).unwrap_or(usize::MAX);
            return Err(RequestError::Memory { needed, memory });
        }
        if fits < chains {
            tracing::warn!(
                chains,
                fits,
                "there is not enough memory for these chains; the caches are small"
            );
        }
        Ok(Self {
            table: table.clone(),
            score: search.score,
            named: search.constraints.clone(),
            constraints,
            start,
            algorithm: search.spec,
            seed: search.seed,
            budget: Budget {
                target: search.target,
                ..Budget::default()
            },
            runners: Runners::Workers {
                exchange_every: search.exchange_every,
                lease: LEAST_LEASE,
            },
            threads,
            chains: ChainCount::Fixed(chains),
            pace: search.pace,
            cooperation: Cooperation::On,
            round_evaluations: search.round_evaluations,
            cache_bytes: layout.caches(chains),
            ladder: search.ladder,
            prover_bytes: None,
            followed_by: Vec::new(),
        })
    }

    /// Returns the table.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the name of the score.
    #[must_use]
    pub fn score_name(&self) -> &'static str {
        self.score.name().as_str()
    }

    /// Returns the name of the algorithm.
    #[must_use]
    pub fn algorithm_name(&self) -> &'static str {
        self.algorithm.name()
    }

    /// Returns the algorithm with its parameters.
    #[must_use]
    pub fn algorithm(&self) -> &SearchSpec {
        &self.algorithm
    }

    /// Returns the seed of all random choices.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed.0
    }

    /// Returns how many threads run the chains here.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// Returns how many chains there are, here or for each thread of a worker.
    #[must_use]
    pub fn chains(&self) -> u32 {
        match self.chains {
            ChainCount::Fixed(chains) | ChainCount::PerThread(chains) => chains,
        }
    }

    /// Returns whether chains run in rounds, so that the result depends on the seed alone.
    #[must_use]
    pub fn is_deterministic(&self) -> bool {
        self.pace == Pace::Lockstep
    }

    /// Returns when the search is over.
    #[must_use]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Puts the table, the score and the constraints together for chains, with empty caches.
    #[doc(hidden)]
    #[must_use]
    pub fn problem(&self) -> Arc<Problem> {
        let scorer = Scorer::new(Arc::clone(self.table.data()), self.score);
        Arc::new(Problem::new(
            scorer,
            self.constraints.clone(),
            self.start.clone(),
            self.cache_bytes,
        ))
    }

    /// Returns the same search on a resampled table, from the required edges alone. Columns that hold
    /// one value in it are isolated.
    pub(crate) fn on(&self, table: &Table, seed: Seed) -> Self {
        let constraints = self.constraints.for_resampled(table.data());
        Self {
            table: table.clone(),
            start: constraints.required().clone(),
            constraints,
            seed,
            ..self.clone()
        }
    }

    /// Returns the same search with another budget, among those edges that a rule keeps.
    pub(crate) fn among(&self, keeps: impl Fn(NodeIdx, NodeIdx) -> bool, budget: Budget) -> Self {
        let constraints = self.constraints.only(keeps);
        Self {
            start: constraints.required().clone(),
            constraints,
            budget,
            ..self.clone()
        }
    }

    /// Returns the same chains as a search in rounds on one thread, with a limit of evaluations.
    pub(crate) fn on_one_thread(self, evaluations: u64) -> Self {
        Self {
            runners: Runners::Threads,
            threads: 1,
            pace: Pace::Lockstep,
            budget: Budget {
                evaluations: Some(evaluations),
                ..Budget::default()
            },
            ..self
        }
    }

    /// Returns the same search, followed by replicates: those of other settings would be another
    /// search's, any number of the same are not.
    pub(crate) fn followed_by(&self, replicates: Settings) -> Self {
        Self {
            followed_by: replicates,
            ..self.clone()
        }
    }

    /// Returns the constraints.
    pub(crate) fn constraints(&self) -> &Constraints {
        &self.constraints
    }

    /// Returns the score with its parameters.
    pub(crate) fn score_spec(&self) -> ScoreSpec {
        self.score
    }

    /// Returns what proofs about the table, the score and the constraints are made with.
    pub(crate) fn prover(&self) -> Prover {
        Prover::new(self.table.data(), self.score, &self.constraints)
    }

    /// Returns how many bytes a prover beside the chains may hold; none: there is no prover.
    pub(crate) fn prover_bytes(&self) -> Option<usize> {
        self.prover_bytes
    }

    /// Returns the constraints as people gave them.
    pub(crate) fn named_constraints(&self) -> &NamedConstraints {
        &self.named
    }

    /// Checks that a network keeps the constraints; required edges are added.
    pub(crate) fn keeping_constraints(&self, dag: &Dag) -> Result<Dag, RequestError> {
        Ok(self.constraints.starting_point(self.table.data(), dag)?)
    }

    /// Returns what chains of the search are made from.
    #[doc(hidden)]
    #[must_use]
    pub fn chain_maker(&self, problem: Arc<Problem>) -> ChainMaker {
        ChainMaker {
            problem,
            spec: self.algorithm,
            seed: self.seed,
            ladder: self.ladder,
        }
    }

    /// Returns how long slices of chains are.
    #[doc(hidden)]
    #[must_use]
    pub fn slices(&self) -> SliceSettings {
        /// A free-running slice is this part of a round, so that records travel soon.
        const SLICES_PER_ROUND: u64 = 4;
        SliceSettings {
            pace: self.pace,
            exchange_every: self.exchange_every(),
            slice_evaluations: match self.pace {
                Pace::Lockstep => self.round_evaluations,
                Pace::Free => (self.round_evaluations / SLICES_PER_ROUND).max(1),
            },
            target: self.budget.target,
        }
    }

    fn exchange_every(&self) -> Duration {
        match self.runners {
            Runners::Threads => EXCHANGE_EVERY,
            Runners::Workers { exchange_every, .. } => exchange_every,
        }
    }

    /// Returns what the search is to its coordinator; `is_kept`: whether it has a state folder.
    #[doc(hidden)]
    #[must_use]
    pub fn plan(&self, is_kept: bool) -> SearchPlan {
        let (lease, snapshots) = match (self.runners, self.pace) {
            (Runners::Threads, _) if is_kept => (NEVER, Snapshots::Every(CHECKPOINT_EVERY)),
            (Runners::Threads, _) => (NEVER, Snapshots::Never),
            (Runners::Workers { lease, .. }, Pace::Lockstep) => (lease, Snapshots::EveryRound),
            (Runners::Workers { lease, .. }, Pace::Free) => (lease, Snapshots::Never),
        };
        SearchPlan {
            chains: self.chains,
            seed: self.seed,
            budget: self.budget,
            pace: self.pace,
            keying: self.keying(),
            cooperation: self.cooperation,
            snapshots,
            lease: lease.max(LEAST_LEASE),
            replicates: 0,
            chain_memory: MemoryLayout::new(self.table.data(), self.score, &self.algorithm, 0)
                .chain_memory(),
            most_per_round: self.most_per_round(),
        }
    }

    /// Returns how many evaluations a chain can make in a round, by far: some slices, and the longest
    /// step of any search.
    fn most_per_round(&self) -> u64 {
        const SLICES: u64 = 64;
        const OF_EACH_PAIR: u64 = 1024;
        let nodes = self.table.data().nodes() as u64;
        let step = OF_EACH_PAIR.saturating_mul(nodes * nodes);
        SLICES
            .saturating_mul(self.round_evaluations)
            .saturating_add(step)
    }

    /// Returns what makes two rows of the elite pool one.
    #[doc(hidden)]
    #[must_use]
    pub fn keying(&self) -> Keying {
        Keying::of(self.score.name())
    }

    /// Returns what workers are sent of the search; `data` is the table's encoding.
    #[doc(hidden)]
    #[must_use]
    pub fn description(&self, data: &[u8]) -> SearchDescription {
        SearchDescription {
            id: self.id(),
            data_fingerprint: self.table.data().fingerprint(),
            data_hash: *blake3::hash(data).as_bytes(),
            data_bytes: data.len() as u64,
            nodes: self.table.data().nodes(),
            score: self.score,
            constraints: self.named.clone(),
            start: self.start.edges().collect(),
            spec: self.algorithm,
            seed: self.seed,
            ladder: self.ladder,
            pace: self.pace,
            round_evaluations: self.round_evaluations,
            target: self.budget.target,
            exchange_every: self.exchange_every(),
            replicates: None,
        }
    }

    /// Returns what a score depends on besides the table, by name: the score, its parameters where
    /// they are not the usual ones, and how many constraints there are.
    #[doc(hidden)]
    #[must_use]
    pub fn score_settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = vec![("score_name", self.score_name().to_owned())];
        if self.score.name() == ScoreName::Bdeu {
            settings.push(("ess", self.score.ess().to_string()));
        }
        if self.score.penalty_scale().to_bits() != 1.0_f64.to_bits() {
            settings.push(("penalty_scale", self.score.penalty_scale().to_string()));
        }
        for (name, count) in [
            ("required_edges", self.named.required.len()),
            ("forbidden_edges", self.named.forbidden.len()),
            ("tiers", self.named.tiers.len()),
        ] {
            if count > 0 {
                settings.push((name, count.to_string()));
            }
        }
        if let Some(most) = self.named.max_parents {
            settings.push(("max_parents", most.to_string()));
        }
        settings
    }

    /// Returns whether equivalent networks have equal scores.
    #[doc(hidden)]
    #[must_use]
    pub fn is_score_equivalent(&self) -> bool {
        self.score.name().is_score_equivalent()
    }

    /// Returns the networks that a network of this search stands for: those of its class that keep
    /// the constraints.
    #[doc(hidden)]
    #[must_use]
    pub fn class_of(&self, dag: &Dag) -> Cpdag {
        self.constraints.class_of(dag, self.is_score_equivalent())
    }

    /// Returns the score of a network.
    #[doc(hidden)]
    #[must_use]
    pub fn score_of(&self, dag: &Dag) -> f64 {
        let score = Evaluator::new(self.problem()).structure(dag);
        score.unwrap_or(LogScore::IMPOSSIBLE).value()
    }

    /// Returns the start network with its score: the result of a budget too small for anything else.
    #[doc(hidden)]
    #[must_use]
    pub fn start_row(&self, problem: &Arc<Problem>) -> EliteRow {
        let score = Evaluator::new(Arc::clone(problem))
            .structure(&self.start)
            .unwrap_or(LogScore::IMPOSSIBLE);
        EliteRow {
            structure: Structure::of(&self.start),
            score,
        }
    }
}
