//! A bootstrap, checked once: what every replicate is made from.

use super::replicate::{Replicate, search};
use super::settings::{BootstrapSettings, RowsPerReplicate};
use crate::coordination::Pace;
use crate::identity::{Settings, search_id};
use crate::machine;
use crate::memory_layout::MemoryLayout;
use crate::progress::StopHandle;
use crate::request::{RequestError, SearchRequest};
use crate::settings::{Proving, Runners, SearchSettings};
use crate::table::Table;
use rlbayes_common::elite::Keying;
use rlbayes_common::exchange::{ChainCounters, ReplicateDescription, SearchDescription};
use rlbayes_common::graph::{Cpdag, Dag};
use rlbayes_common::ids::{NodeIdx, Seed};
use rlbayes_common::score::{LocalScore, LogScore, Scorer, Scratch};
use rlbayes_common::search::Budget;
use rlbayes_common::support::{Draw, ReplicateSeeds, Resampling};
use std::sync::Arc;
use thiserror::Error;

/// The most replicates of a bootstrap: their networks are kept.
pub const MAX_REPLICATES: u32 = 100_000;

/// Evaluations of a replicate for each ordered pair of variables, and the least in all
/// (docs/support.md has the figures behind them).
const EVALUATIONS_A_PAIR: u64 = 600;
const LEAST_EVALUATIONS: u64 = 50_000;
/// Evaluations of a chain between two meetings with others.
const ROUND_EVALUATIONS: u64 = 20_000;
/// How much more a search on the full table may take than one on a replicate, where people set no
/// limit of their own.
const FULL_TABLE: u64 = 10;

/// Why settings do not make a bootstrap.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BootstrapRequestError {
    /// The search that every replicate runs is not one.
    #[error(transparent)]
    Search(#[from] RequestError),
    /// There are no replicates, or too many.
    #[error("the number of replicates must be from 1 to {MAX_REPLICATES}, not {0}")]
    Replicates(u32),
    /// A replicate would have no rows, or more than the table.
    #[error(
        "rows per replicate must be a share from 0 to 1 or a number from 1 to {rows}, not {given}"
    )]
    Rows {
        /// What was given.
        given: f64,
        /// The table's rows.
        rows: usize,
    },
    /// Every replicate would be the table itself.
    #[error(
        "drawn without replacement, all {0} rows are the table itself, and every edge would look \
         certain; expected fewer rows per replicate"
    )]
    WholeTable(usize),
    /// A replicate may not evaluate anything.
    #[error("evaluations of a replicate must be at least 1")]
    Evaluations,
    /// The threshold is no share.
    #[error("the threshold must be from 0 to 1, not {0}")]
    Threshold(f64),
}

/// A bootstrap, ready to run. That it exists means that it is valid.
#[derive(Clone, Debug)]
pub struct BootstrapRequest {
    /// The search of every replicate, on the full table.
    search: SearchRequest,
    replicates: u32,
    resampling: Resampling,
    evaluations: u64,
    threshold: f64,
    threads: u32,
}

impl BootstrapRequest {
    /// Checks settings against a table.
    ///
    /// # Errors
    /// If a setting is out of range, constraints contradict each other or the table, or the memory
    /// does not suffice for one replicate.
    pub fn new(table: &Table, settings: &BootstrapSettings) -> Result<Self, BootstrapRequestError> {
        if !(1..=MAX_REPLICATES).contains(&settings.replicates) {
            return Err(BootstrapRequestError::Replicates(settings.replicates));
        }
        if !(0.0..=1.0).contains(&settings.threshold) {
            return Err(BootstrapRequestError::Threshold(settings.threshold));
        }
        if settings.evaluations == Some(0) {
            return Err(BootstrapRequestError::Evaluations);
        }
        let rows = rows_of(settings.rows, table.rows())?;
        if settings.draw == Draw::WithoutReplacement && rows == table.rows() {
            return Err(BootstrapRequestError::WholeTable(rows));
        }
        let evaluations = settings
            .evaluations
            .unwrap_or_else(|| usual_evaluations(table));
        let given = &settings.search;
        let threads = given.threads.unwrap_or_else(machine::cores);
        if threads == 0 {
            return Err(RequestError::Zero(crate::request::Field::Threads).into());
        }
        // The number of chains must not depend on the machine: it would change the result.
        let chains = given
            .chains
            .unwrap_or_else(|| given.algorithm.default_chains(1, table.data().nodes()));
        let memory = given.memory.unwrap_or_else(|| machine::memory() / 4);
        let score = given
            .score
            .spec(given.penalty_scale)
            .map_err(RequestError::from)?;
        let layout = MemoryLayout::new(table.data(), score, &given.algorithm, memory);
        let needed = layout.needed(chains).max(1);
        let threads = threads
            .min(u32::try_from(memory / needed).unwrap_or(u32::MAX))
            .clamp(1, settings.replicates);
        let search = SearchRequest::new(
            table,
            &SearchSettings {
                start: None,
                budget: Budget {
                    evaluations: Some(evaluations),
                    ..Budget::default()
                },
                runners: Runners::Threads,
                threads: Some(1),
                chains: Some(chains),
                memory: Some(memory / threads as usize),
                deterministic: true,
                round_evaluations: ROUND_EVALUATIONS,
                prove: Proving::Off,
                ..given.clone()
            },
        )?;
        Ok(Self {
            search,
            replicates: settings.replicates,
            resampling: Resampling {
                rows,
                draw: settings.draw,
            },
            evaluations,
            threshold: settings.threshold,
            threads,
        })
    }

    /// Returns the table that replicates are resampled from.
    #[must_use]
    pub fn table(&self) -> &Table {
        self.search.table()
    }

    /// Returns the name of the score.
    #[must_use]
    pub fn score_name(&self) -> &'static str {
        self.search.score_name()
    }

    /// Returns how many replicates there are to be.
    #[must_use]
    pub fn replicates(&self) -> u32 {
        self.replicates
    }

    /// Returns how many rows a replicate has, and how they are drawn.
    #[must_use]
    pub fn resampling(&self) -> Resampling {
        self.resampling
    }

    /// Returns the evaluations of one replicate's search.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// Returns the support from which on an edge is drawn.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Returns how many replicates run at a time.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// Returns the seed of all random choices.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.search.seed()
    }

    /// Returns the edges that every network must have.
    #[must_use]
    pub(crate) fn required(&self) -> &Dag {
        self.search.constraints().required()
    }

    /// Returns the limit of a search on the full table that goes with the replicates, for people who
    /// set none. However short replicates are made, it has what one of them usually has: it is not
    /// they that finish its climbs.
    #[must_use]
    pub fn full_table_budget(&self) -> Budget {
        let evaluations = self.evaluations.saturating_mul(FULL_TABLE);
        Budget {
            evaluations: Some(evaluations.max(usual_evaluations(self.table()))),
            ..Budget::default()
        }
    }

    /// Runs one replicate; none if it was stopped. The result depends on the settings and the number
    /// alone.
    #[must_use]
    pub fn replicate(&self, number: u32, stop: &StopHandle) -> Option<Replicate> {
        let (replicate, _) = self.counted_replicate(number, stop)?;
        Some(replicate)
    }

    /// Runs one replicate, and counts what it took.
    #[doc(hidden)]
    #[must_use]
    pub fn counted_replicate(
        &self,
        number: u32,
        stop: &StopHandle,
    ) -> Option<(Replicate, ChainCounters)> {
        let seeds = self.seeds(number);
        search(&self.search.on(&self.resampled(seeds), seeds.search), stop)
    }

    /// Returns whether a network keeps the constraints.
    #[doc(hidden)]
    #[must_use]
    pub fn keeps_constraints(&self, dag: &Dag) -> bool {
        self.search.constraints().hold_for(dag)
    }

    /// Scores a network on the table of a replicate.
    #[doc(hidden)]
    #[must_use]
    pub fn score_on_replicate(&self, number: u32, dag: &Dag) -> LogScore {
        let table = self.resampled(self.seeds(number));
        let scorer = Scorer::new(Arc::clone(table.data()), self.search.score_spec());
        scorer.structure(dag, &mut Scratch::default())
    }

    fn seeds(&self, number: u32) -> ReplicateSeeds {
        ReplicateSeeds::of(Seed(self.search.seed()), number)
    }

    fn resampled(&self, seeds: ReplicateSeeds) -> Table {
        let data = self.resampling.table(self.table().data(), seeds.rows);
        Table::from_data(self.table().name(), data)
    }

    /// Returns the class of a replicate's network, with what the constraints orient.
    #[must_use]
    pub(crate) fn class_of(&self, dag: &Dag) -> Cpdag {
        self.search.class_of(dag)
    }

    /// Returns the evaluations of one replicate.
    pub(crate) fn replicate_budget(&self) -> Budget {
        Budget {
            evaluations: Some(self.evaluations),
            ..Budget::default()
        }
    }

    /// Searches the full table for the best network among pairs: the one that is worth having where
    /// edges with little support are not wanted. None if it was stopped.
    pub(crate) fn relearn(
        &self,
        keeps: impl Fn(NodeIdx, NodeIdx) -> bool,
        budget: Budget,
        stop: &StopHandle,
    ) -> Option<Dag> {
        let (found, _) = search(&self.search.among(keeps, budget), stop)?;
        let dag = found.structure.to_dag().ok()?;
        Some(self.class_of(&dag).first_member())
    }

    /// Returns how rows of a pool would be told apart; a journal asks for it.
    pub(crate) fn keying(&self) -> Keying {
        self.search.keying()
    }

    /// Returns what makes two bootstraps the same, by name; more replicates of the same do not make
    /// it another. See [`crate::identity`].
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = self.search.settings();
        settings.extend(self.own_settings());
        settings.sort();
        settings
    }

    /// Returns what makes replicates the same, besides the search.
    fn own_settings(&self) -> Settings {
        let draw = match self.resampling.draw {
            Draw::WithReplacement => "with",
            Draw::WithoutReplacement => "without",
        };
        let rows = self.resampling.rows;
        vec![
            (
                "replicate rows".into(),
                format!("{rows} {draw} replacement"),
            ),
            ("replicate evaluations".into(), self.evaluations.to_string()),
        ]
    }

    /// Returns a search that these replicates follow on a cluster.
    #[doc(hidden)]
    #[must_use]
    pub fn after(&self, search: &SearchRequest) -> SearchRequest {
        let mut settings = self.own_settings();
        settings.push(("replicate chains".into(), self.search.chains().to_string()));
        search.followed_by(settings)
    }

    /// Returns what workers are sent to run replicates after a search; `data` is the table's
    /// encoding.
    #[doc(hidden)]
    #[must_use]
    pub fn description(&self, after: &SearchRequest, data: &[u8]) -> SearchDescription {
        let mut settings = after.settings();
        settings.push(("work".into(), "replicates".into()));
        let search = after.description(data);
        SearchDescription {
            id: search_id(&settings),
            start: Vec::new(),
            ladder: self.search.chains(),
            pace: Pace::Free,
            round_evaluations: ROUND_EVALUATIONS,
            target: None,
            replicates: Some(ReplicateDescription {
                resampling: self.resampling,
                evaluations: self.evaluations,
            }),
            ..search
        }
    }

    /// Takes over replicates that a coordinator describes, to run some of them here.
    ///
    /// # Errors
    /// If the description and the table do not fit together.
    #[doc(hidden)]
    pub fn assigned(
        table: &Table,
        search: &SearchDescription,
        replicates: &ReplicateDescription,
        threads: u32,
        memory: usize,
    ) -> Result<Self, BootstrapRequestError> {
        let ReplicateDescription {
            resampling,
            evaluations,
        } = *replicates;
        if resampling.rows == 0 || resampling.rows > table.rows() {
            return Err(BootstrapRequestError::Rows {
                given: f64::from(u32::try_from(resampling.rows).unwrap_or(u32::MAX)),
                rows: table.rows(),
            });
        }
        let layout = MemoryLayout::new(table.data(), search.score, &search.spec, memory);
        let needed = layout.needed(search.ladder).max(1);
        let fitting = u32::try_from(memory / needed).unwrap_or(u32::MAX);
        // One thread does with small caches.
        let caches = usize::try_from(layout.chain_memory().caches).unwrap_or(0);
        let needed = needed.saturating_sub(caches);
        if memory < needed {
            return Err(RequestError::Memory { needed, memory }.into());
        }
        let threads = threads.min(fitting).max(1);
        let share = memory / threads as usize;
        let assigned = SearchRequest::assigned(table, search, search.ladder, 1, share)?;
        Ok(Self {
            search: assigned.on_one_thread(evaluations),
            replicates: MAX_REPLICATES,
            resampling,
            evaluations,
            threshold: 0.5,
            threads,
        })
    }
}

fn rows_of(given: RowsPerReplicate, rows: usize) -> Result<usize, BootstrapRequestError> {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of at most 2^28 rows"
    )]
    let (count, given) = match given {
        RowsPerReplicate::All => (rows, rows as f64),
        RowsPerReplicate::Count(count) => (count, count as f64),
        RowsPerReplicate::Share(share) if share > 0.0 && share <= 1.0 => {
            (((rows as f64 * share).round() as usize).max(1), share)
        }
        RowsPerReplicate::Share(share) => (0, share),
    };
    if count == 0 || count > rows {
        return Err(BootstrapRequestError::Rows { given, rows });
    }
    Ok(count)
}

fn usual_evaluations(table: &Table) -> u64 {
    let nodes = table.data().nodes() as u64;
    (EVALUATIONS_A_PAIR * nodes * nodes).max(LEAST_EVALUATIONS)
}
