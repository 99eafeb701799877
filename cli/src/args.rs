//! The flags that several commands share, as typed; each group knows how to become the checked
//! value that the engine takes.

use crate::failure::Failure;
use crate::other_searches::OtherSearchArgs;
use crate::units::{parse_size, parse_stagnation, parse_time};
use clap::{Args, ValueEnum};
use rlbayes::{Algorithm, Budget, Network, Score, Stagnation, Table};
use rlbayes_common::graph::Dag;
use rlbayes_common::score::{LogScore, ScoreName, ScoreSpec};
use rlbayes_common::search::baseline::{HillClimbingParams, TabuParams};
use rlbayes_common::search::paper::{Evict, Explore, PaperParams};
use rlbayes_common::search::rlbayes::{Learning, RlBayesParams};
use std::path::Path;
use std::time::Duration;

/// Lists names, the first few of many.
pub(crate) fn shorten(names: &[&str]) -> String {
    const SHOWN: usize = 8;
    let shown = names
        .iter()
        .take(SHOWN)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// What is maximised.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Score")]
pub(crate) struct ScoreArgs {
    /// bic, aic, bdeu, k2 or loglik
    #[arg(long, value_name = "NAME", default_value = "bic")]
    pub(crate) score: ScoreName,
    /// Equivalent sample size of bdeu
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0)]
    pub(crate) ess: f64,
    /// Factor on the penalty of bic and aic; 2 gives the form that the paper prints
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(crate) penalty_scale: f64,
}

impl ScoreArgs {
    /// Returns the score that was chosen; its parameters are checked with the search.
    pub(crate) fn score(&self) -> Score {
        match self.score {
            ScoreName::Bic => Score::Bic,
            ScoreName::Aic => Score::Aic,
            ScoreName::Bdeu => Score::Bdeu { ess: self.ess },
            ScoreName::K2 => Score::K2,
            ScoreName::LogLik => Score::LogLik,
        }
    }

    /// Returns the score with all its parameters.
    pub(crate) fn spec(&self) -> Result<ScoreSpec, Failure> {
        ScoreSpec::new(self.score, self.ess, self.penalty_scale).map_err(Failure::input)
    }
}

/// Reads a structure over the variables of a table; variables that the file lacks are isolated.
pub(crate) fn read_structure(path: &Path, table: &Table) -> Result<Dag, Failure> {
    let network = Network::read(path).map_err(Failure::input)?;
    placed(path, &network, table)
}

/// Puts a network's structure over the variables of a table.
pub(crate) fn placed(path: &Path, network: &Network, table: &Table) -> Result<Dag, Failure> {
    network.placed_on(table).map_err(|name| {
        Failure::file(
            path,
            format!("the node \"{name}\" is not a column of the table"),
        )
    })
}

/// Which search runs.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Search")]
pub(crate) struct SearchArgs {
    /// Which search to use
    #[arg(long, value_name = "NAME", value_enum, ignore_case = true, default_value_t = SearchName::Rlbayes)]
    pub(crate) search: SearchName,
    /// Seed of all random choices
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Probability of going to the best row of the Q-table: paper, in every iteration [default:
    /// 0.3]; rlbayes, for a stalled chain that finds nothing better in other chains [default: 0.5]
    #[arg(long, value_name = "P")]
    pub(crate) theta: Option<f64>,
    /// paper: probability of the random branch
    #[arg(long, value_name = "P", default_value_t = 0.5)]
    pub(crate) epsilon: f64,
    /// rlbayes: temperature of the hottest chain, in nats
    #[arg(long, value_name = "NATS", default_value_t = RlBayesParams::default().temperature)]
    pub(crate) temperature: f64,
    /// Rows of a chain's Q-table [default: rlbayes 64, paper 1000]
    #[arg(long, value_name = "ROWS")]
    pub(crate) table_rows: Option<usize>,
    /// rlbayes: episodes without improvement after which a chain takes over what is better in
    /// networks of other chains
    #[arg(long, value_name = "EPISODES", default_value_t = RlBayesParams::default().stall)]
    pub(crate) stall: u64,
    /// rlbayes: largest share of the nodes whose edges a run drops
    #[arg(long, value_name = "SHARE", default_value_t = RlBayesParams::default().region)]
    pub(crate) region: f64,
    /// rlbayes: keeps or drops the outcome of a run as a whole, instead of crediting its gain to the
    /// groups of families that earned it
    #[arg(long)]
    pub(crate) no_learning: bool,
    /// paper: what the random branch draws from
    #[arg(long, value_enum, ignore_case = true, default_value_t = ExploreName::Untried)]
    pub(crate) explore: ExploreName,
    /// paper: which row of the Q-table is dropped when it is full
    #[arg(long, value_enum, ignore_case = true, default_value_t = EvictName::Protect)]
    pub(crate) evict: EvictName,
    /// hc: climbs after the first
    #[arg(long, value_name = "R", default_value_t = 0)]
    pub(crate) restarts: u64,
    /// hc: random operations before each further climb
    #[arg(long, value_name = "P", default_value_t = 1)]
    pub(crate) perturb: u64,
    #[command(flatten)]
    pub(crate) others: OtherSearchArgs,
}

/// The searches by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchName {
    /// Cooperating chains of random changes and hill climbs, with a Q-table; the default.
    Rlbayes,
    /// RLBayes as the paper prints it.
    Paper,
    /// Hill climbing.
    Hc,
    /// Tabu search.
    Tabu,
    /// Simulated annealing.
    Sa,
    /// A genetic algorithm.
    Ga,
    /// Invasive weed optimisation.
    Iwo,
    /// The football team training algorithm.
    Ftta,
    /// Particle swarm optimisation.
    BncPso,
}

/// See [`Explore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExploreName {
    /// Untried cells first.
    Untried,
    /// All cells that did not fail.
    All,
}

/// See [`Evict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvictName {
    /// The worst row except the current one.
    Protect,
    /// The worst row even if current.
    Best,
}

impl SearchArgs {
    /// Returns the algorithm that was chosen; its parameters are checked with the search.
    pub(crate) fn algorithm(&self) -> Algorithm {
        match self.search {
            SearchName::Rlbayes => {
                let usual = RlBayesParams::default();
                Algorithm::RlBayes(RlBayesParams {
                    temperature: self.temperature,
                    theta: self.theta.unwrap_or(usual.theta),
                    table_rows: self.table_rows.unwrap_or(usual.table_rows),
                    stall: self.stall.max(1),
                    region: self.region,
                    learning: if self.no_learning {
                        Learning::Off
                    } else {
                        Learning::On
                    },
                })
            }
            SearchName::Paper => {
                let usual = PaperParams::default();
                Algorithm::Paper(PaperParams {
                    epsilon: self.epsilon,
                    theta: self.theta.unwrap_or(usual.theta),
                    table_rows: self.table_rows.unwrap_or(usual.table_rows),
                    explore: match self.explore {
                        ExploreName::Untried => Explore::Untried,
                        ExploreName::All => Explore::All,
                    },
                    evict: match self.evict {
                        EvictName::Protect => Evict::Protect,
                        EvictName::Best => Evict::Best,
                    },
                })
            }
            SearchName::Hc => Algorithm::HillClimbing(HillClimbingParams {
                restarts: self.restarts,
                perturb: self.perturb,
            }),
            SearchName::Tabu => Algorithm::Tabu(TabuParams::default()),
            SearchName::Sa => Algorithm::Annealing(self.others.annealing()),
            SearchName::Ga => Algorithm::Genetic(self.others.genetic()),
            SearchName::Iwo => Algorithm::Weeds(self.others.weeds()),
            SearchName::Ftta => Algorithm::Football(self.others.football()),
            SearchName::BncPso => Algorithm::Particles(self.others.particles()),
        }
    }
}

/// When the search is over.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Budget (without one, a search ends some time after its last gain)")]
pub(crate) struct BudgetArgs {
    /// Stops after this much time spent searching, such as 60s, 10m or 1h30m
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) time: Option<Duration>,
    /// Stops after this much processor time spent searching, over all threads of the process; a
    /// cluster has --time and --evaluations instead
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) cpu_time: Option<Duration>,
    /// Stops after this many steps of all chains together
    #[arg(long, value_name = "N")]
    pub(crate) iterations: Option<u64>,
    /// Stops after this many evaluations (local scores asked for) of all chains together
    #[arg(long, value_name = "N")]
    pub(crate) evaluations: Option<u64>,
    /// Stops when a score at least this high is found
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    pub(crate) target: Option<f64>,
    /// Stops when the best has not improved for a time such as 30s, or for a number of evaluations
    /// [default where no budget is given: for as long as it took to find the best, at least 10 s]
    #[arg(long, value_name = "TIME|N", value_parser = parse_stagnation)]
    pub(crate) stagnation: Option<Stagnation>,
}

impl BudgetArgs {
    pub(crate) fn budget(&self) -> Result<Budget, Failure> {
        let target = match self.target {
            Some(score) => Some(
                LogScore::checked(score)
                    .ok_or_else(|| Failure::input("--target NaN is not a score"))?,
            ),
            None => None,
        };
        Ok(Budget {
            time: self.time,
            cpu_time: self.cpu_time,
            iterations: self.iterations,
            evaluations: self.evaluations,
            target,
            stagnation: self.stagnation,
        })
    }
}

/// How much of the machine is used.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Resources")]
pub(crate) struct ResourceArgs {
    /// Threads [default: all cores]
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<u32>,
    /// Chains of the whole search [default: rlbayes 8 per thread, or 8 with --deterministic; others 1]
    #[arg(long, value_name = "C")]
    pub(crate) chains: Option<u32>,
    /// Limit on the memory of table, chains, pool and caches [default: a quarter of the machine's or
    /// the container's]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) memory: Option<usize>,
    /// Runs in lockstep rounds, so that the result does not depend on threads, workers and timing;
    /// learn with --threads 1 always does
    #[arg(long)]
    pub(crate) deterministic: bool,
    /// Evaluations of a chain in one round
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub(crate) round_evaluations: u64,
}

/// How BIF files name things.
#[derive(Args, Clone, Debug)]
pub(crate) struct NameArgs {
    /// BIF: keeps every name as it is, and refuses those that the format cannot hold; else names that
    /// other programs refuse are replaced, with the originals as comments
    #[arg(long, conflicts_with = "portable_names")]
    pub(crate) strict_names: bool,
    /// Does nothing: portable names are the default
    #[arg(long, hide = true)]
    pub(crate) portable_names: bool,
}

/// What graphs and pictures show of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShownAs {
    /// Every edge with its direction.
    Dag,
    /// The equivalence class: edges that may point either way have no head.
    Cpdag,
}
