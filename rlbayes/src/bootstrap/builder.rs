//! The builder: a bootstrap, set up step by step and run.

use super::request::{BootstrapRequest, BootstrapRequestError};
use super::run::{BootstrapProgress, RunOptions, run};
use super::settings::{BootstrapSettings, RowsPerReplicate};
use super::support::Support;
use crate::network::Network;
use crate::progress::StopHandle;
use crate::run::RunError;
use crate::score::Score;
use crate::table::Table;
use rlbayes_common::support::Draw;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Support of edges by resampling: the search is repeated on tables drawn from the one at hand.
///
/// ```
/// use rlbayes::{Bootstrap, Table};
/// let text = "smoke,cough,day\n".to_owned()
///     + &"yes,yes,odd\nno,no,odd\nyes,yes,even\nno,no,even\n".repeat(20);
/// let table = Table::parse("survey", text.as_bytes(), &Default::default())?;
/// let support = Bootstrap::on(&table).replicates(20).run()?;
/// assert_eq!(support.strength("smoke", "cough"), Some(1.0));
/// assert!(support.strength("day", "cough") < Some(0.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Bootstrap<'a> {
    table: Table,
    settings: BootstrapSettings,
    best: Option<Network>,
    state: Option<PathBuf>,
    stop: StopHandle,
    watch: Option<Watch<'a>>,
    warn: Option<Warn<'a>>,
}

type Watch<'a> = Box<dyn FnMut(&BootstrapProgress) + 'a>;
type Warn<'a> = Box<dyn FnMut(String) + 'a>;

/// Why there is no support.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BootstrapError {
    /// The settings do not make a bootstrap.
    #[error(transparent)]
    Request(#[from] BootstrapRequestError),
    /// It could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The network whose edges are to be marked has a node that the table lacks.
    #[error("the node \"{0}\" of the best network is not a column of the table")]
    UnknownNode(String),
    /// It was stopped before the first replicate was done.
    #[error("no replicate was finished")]
    Nothing,
}

impl<'a> Bootstrap<'a> {
    /// Begins with the usual settings: 200 replicates of as many rows as the table has, BIC, the
    /// default algorithm, all cores.
    #[must_use]
    pub fn on(table: &Table) -> Self {
        Self::with(table, BootstrapSettings::default())
    }

    /// Begins with given settings.
    #[must_use]
    pub fn with(table: &Table, settings: BootstrapSettings) -> Self {
        Self {
            table: table.clone(),
            settings,
            best: None,
            state: None,
            stop: StopHandle::default(),
            watch: None,
            warn: None,
        }
    }

    /// Sets how many replicates there are.
    #[must_use]
    pub fn replicates(mut self, replicates: u32) -> Self {
        self.settings.replicates = replicates;
        self
    }

    /// Sets how many rows a replicate has, and how they are drawn.
    #[must_use]
    pub fn rows(mut self, rows: RowsPerReplicate, draw: Draw) -> Self {
        (self.settings.rows, self.settings.draw) = (rows, draw);
        self
    }

    /// Sets the evaluations of one replicate's search.
    #[must_use]
    pub fn evaluations(mut self, evaluations: u64) -> Self {
        self.settings.evaluations = Some(evaluations);
        self
    }

    /// Sets what is maximised.
    #[must_use]
    pub fn score(mut self, score: Score) -> Self {
        self.settings.search.score = score;
        self
    }

    /// Sets the seed of all random choices.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.search.seed = seed;
        self
    }

    /// Sets how many replicates run at a time. The result does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: u32) -> Self {
        self.settings.search.threads = Some(threads);
        self
    }

    /// Requires an edge in every replicate; may be called several times.
    #[must_use]
    pub fn require(mut self, from: &str, to: &str) -> Self {
        let edge = (from.to_owned(), to.to_owned());
        self.settings.search.constraints.required.push(edge);
        self
    }

    /// Forbids an edge in every replicate; may be called several times.
    #[must_use]
    pub fn forbid(mut self, from: &str, to: &str) -> Self {
        let edge = (from.to_owned(), to.to_owned());
        self.settings.search.constraints.forbidden.push(edge);
        self
    }

    /// Marks the edges of the best network on the full table; it does not change the support.
    #[must_use]
    pub fn best(mut self, network: &Network) -> Self {
        self.best = Some(network.clone());
        self
    }

    /// Keeps replicates in a folder, from which the same bootstrap resumes; with more replicates it
    /// continues, and keeps those that it has.
    #[must_use]
    pub fn state(mut self, folder: impl AsRef<Path>) -> Self {
        self.state = Some(folder.as_ref().to_owned());
        self
    }

    /// Sets a function that is called after each replicate and a few times per second, on the thread
    /// that called [`run`](Self::run).
    #[must_use]
    pub fn on_progress(mut self, watch: impl FnMut(&BootstrapProgress) + 'a) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    /// Sets a function that is called for a file of the state folder that could not be read and was
    /// set aside. Without one, it is logged.
    #[must_use]
    pub fn on_warning(mut self, warn: impl FnMut(String) + 'a) -> Self {
        self.warn = Some(Box::new(warn));
        self
    }

    /// Sets a handle that stops the work from another thread. The result is then based on the
    /// replicates that were done.
    #[must_use]
    pub fn stop_with(mut self, stop: &StopHandle) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Checks the bootstrap without running it.
    ///
    /// # Errors
    /// If a setting is out of range, or the search of a replicate is not one.
    pub fn request(&self) -> Result<BootstrapRequest, BootstrapRequestError> {
        BootstrapRequest::new(&self.table, &self.settings)
    }

    /// Runs the replicates that are missing, on threads; the calling thread waits, and calls back.
    ///
    /// # Errors
    /// If the settings are not valid, the state folder can't be used, or it was stopped before the
    /// first replicate was done.
    pub fn run(mut self) -> Result<Support, BootstrapError> {
        let request = self.request()?;
        let best = match &self.best {
            Some(best) => Some(
                best.placed_on(&self.table)
                    .map_err(BootstrapError::UnknownNode)?,
            ),
            None => None,
        };
        let mut nobody = |_: &BootstrapProgress| {};
        let mut log = |warning: String| tracing::warn!("{warning}");
        let options = RunOptions {
            state: self.state.as_deref(),
            stop: &self.stop,
            watch: match &mut self.watch {
                Some(watch) => &mut **watch,
                None => &mut nobody,
            },
            warn: match &mut self.warn {
                Some(warn) => &mut **warn,
                None => &mut log,
            },
        };
        let replicates = run(&request, options)?;
        if replicates.is_empty() {
            return Err(BootstrapError::Nothing);
        }
        Ok(Support::new(&request, replicates, best))
    }
}

impl std::fmt::Debug for Bootstrap<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bootstrap")
            .field("table", &self.table.name())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
