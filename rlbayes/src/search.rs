//! The builder: a search, set up step by step and run.

use crate::network::Network;
use crate::outcome::Outcome;
use crate::progress::{Progress, StopHandle};
use crate::proof::{LISTING, ProofLimits, prove_latest};
use crate::request::{RequestError, SearchRequest};
use crate::run::{RunError, RunOptions, run};
use crate::score::Score;
use crate::settings::{Proving, SearchSettings};
use crate::table::Table;
use rlbayes_common::score::LogScore;
use rlbayes_common::search::{SearchSpec, Stagnation, StoppedBy};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// How long a proof may take if nothing else is said.
const TIME_OF_A_PROOF: Duration = Duration::from_secs(60);

/// A search for the network with the highest score on a table.
///
/// ```
/// use rlbayes::{Score, Search, Table};
/// let text = "smoke,cough\nyes,yes\nno,no\nyes,yes\nno,no\nyes,yes\nno,no\n";
/// let table = Table::parse("survey", text.as_bytes(), &Default::default())?;
/// let found = Search::on(&table).score(Score::Bic).threads(1).evaluations(1000).run()?;
/// assert_eq!(found.edges().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Search<'a> {
    table: Table,
    settings: SearchSettings,
    state: Option<PathBuf>,
    stop: StopHandle,
    watch: Option<Watch<'a>>,
    warn: Option<Warn<'a>>,
}

type Watch<'a> = Box<dyn FnMut(&Progress) + 'a>;
type Warn<'a> = Box<dyn FnMut(String) + 'a>;

/// Why there is no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The settings do not make a search.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The search could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl<'a> Search<'a> {
    /// Begins with the usual settings: BIC, the default algorithm, all cores, until the best network
    /// has not improved for as long as it took to find it, at least ten seconds.
    #[must_use]
    pub fn on(table: &Table) -> Self {
        Self::with(table, SearchSettings::default())
    }

    /// Begins with given settings.
    #[must_use]
    pub fn with(table: &Table, settings: SearchSettings) -> Self {
        Self {
            table: table.clone(),
            settings,
            state: None,
            stop: StopHandle::default(),
            watch: None,
            warn: None,
        }
    }

    /// Sets what is maximised.
    #[must_use]
    pub fn score(mut self, score: Score) -> Self {
        self.settings.score = score;
        self
    }

    /// Sets which search is used, with its parameters.
    #[must_use]
    pub fn algorithm(mut self, algorithm: SearchSpec) -> Self {
        self.settings.algorithm = algorithm;
        self
    }

    /// Sets the seed of all random choices.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Sets how many threads run. With one the result depends on the seed alone.
    #[must_use]
    pub fn threads(mut self, threads: u32) -> Self {
        self.settings.threads = Some(threads);
        self
    }

    /// Makes chains run in rounds, so that the result does not depend on the number of threads.
    #[must_use]
    pub fn deterministic(mut self) -> Self {
        self.settings.deterministic = true;
        self
    }

    /// Limits the memory of everything, in bytes.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.settings.memory = Some(bytes);
        self
    }

    /// Limits the time spent searching.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        self.settings.budget.time = Some(time);
        self
    }

    /// Limits the processor time spent searching, over all threads of the process: also those of the
    /// caller, if they work meanwhile.
    #[must_use]
    pub fn cpu_time(mut self, time: Duration) -> Self {
        self.settings.budget.cpu_time = Some(time);
        self
    }

    /// Limits how many local scores are asked for over all chains.
    #[must_use]
    pub fn evaluations(mut self, evaluations: u64) -> Self {
        self.settings.budget.evaluations = Some(evaluations);
        self
    }

    /// Ends the search at a score that is good enough. What is not a number is never reached.
    #[must_use]
    pub fn target(mut self, score: f64) -> Self {
        self.settings.budget.target = LogScore::checked(score);
        self
    }

    /// Ends the search when the best has not improved for this time.
    #[must_use]
    pub fn stagnation(mut self, time: Duration) -> Self {
        self.settings.budget.stagnation = Some(Stagnation::Time(time));
        self
    }

    /// Requires an edge; may be called several times.
    #[must_use]
    pub fn require(mut self, from: &str, to: &str) -> Self {
        let edge = (from.to_owned(), to.to_owned());
        self.settings.constraints.required.push(edge);
        self
    }

    /// Forbids an edge; may be called several times.
    #[must_use]
    pub fn forbid(mut self, from: &str, to: &str) -> Self {
        let edge = (from.to_owned(), to.to_owned());
        self.settings.constraints.forbidden.push(edge);
        self
    }

    /// Adds a tier of variables: no edge leads from a later tier to an earlier one.
    #[must_use]
    pub fn tier<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        let tier = names.into_iter().map(str::to_owned).collect();
        self.settings.constraints.tiers.push(tier);
        self
    }

    /// Limits how many parents a node may have.
    #[must_use]
    pub fn max_parents(mut self, most: usize) -> Self {
        self.settings.constraints.max_parents = Some(most);
        self
    }

    /// Starts from a network instead of the one without edges.
    #[must_use]
    pub fn start(mut self, network: &Network) -> Self {
        self.settings.start = Some(network.clone());
        self
    }

    /// Keeps the search in a folder, from which the same search resumes. One whose budget is used up
    /// returns its result at once; with a larger budget it continues.
    #[must_use]
    pub fn state(mut self, folder: impl AsRef<Path>) -> Self {
        self.state = Some(folder.as_ref().to_owned());
        self
    }

    /// Sets a function that is called at every new best and about ten times per second. It runs on
    /// the thread that called [`run`](Self::run), between reports, so it should be short.
    #[must_use]
    pub fn on_progress(mut self, watch: impl FnMut(&Progress) + 'a) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    /// Sets a function that is called for each file of the state folder that could not be read and
    /// was set aside. Without one, they are logged.
    #[must_use]
    pub fn on_warning(mut self, warn: impl FnMut(String) + 'a) -> Self {
        self.warn = Some(Box::new(warn));
        self
    }

    /// Sets a handle that stops the search from another thread.
    #[must_use]
    pub fn stop_with(mut self, stop: &StopHandle) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Checks the search without running it.
    ///
    /// # Errors
    /// If a setting is out of range, constraints contradict each other or the table, or the memory
    /// does not suffice.
    pub fn request(&self) -> Result<SearchRequest, RequestError> {
        SearchRequest::new(&self.table, &self.settings)
    }

    /// Runs the search until its budget is reached or it is stopped. Threads do the work; the calling
    /// thread waits, and calls back.
    ///
    /// # Errors
    /// If the settings are not valid, or the state folder can't be used.
    pub fn run(mut self) -> Result<Outcome, SearchError> {
        let limits = match self.settings.prove {
            Proving::Only => Some(self.for_a_proof()),
            _ => None,
        };
        let request = self.request()?;
        let mut watch = self.watch.unwrap_or_else(|| Box::new(|_: &Progress| {}));
        let mut warn = self
            .warn
            .unwrap_or_else(|| Box::new(|warning: String| tracing::warn!("{warning}")));
        let options = RunOptions {
            state: self.state.as_deref(),
            stop: self.stop.clone(),
            watch: &mut *watch,
            warn: &mut *warn,
        };
        let found = run(&request, options)?;
        Ok(match limits {
            Some(limits) => proven(&request, found, limits, &self.stop),
            None => found,
        })
    }

    /// Shortens the search to what a proof needs; returns what the proof may take.
    fn for_a_proof(&mut self) -> ProofLimits {
        let budget = &mut self.settings.budget;
        let time = budget.time.unwrap_or(TIME_OF_A_PROOF);
        budget.time = Some(time / 4);
        budget.stagnation = Some(Stagnation::Time(Duration::from_millis(500)));
        self.settings.prove = Proving::Off;
        ProofLimits {
            time: Some(time),
            memory: self.settings.memory,
            threads: self.settings.threads,
        }
    }
}

/// Proves what was found, in the time that the search has left.
fn proven(
    request: &SearchRequest,
    found: Outcome,
    mut limits: ProofLimits,
    stop: &StopHandle,
) -> Outcome {
    if stop.is_stopped() {
        return found;
    }
    let left = |time: Duration| time.saturating_sub(found.elapsed());
    limits.time = limits.time.map(left);
    let dag = found.dag();
    let proof = prove_latest(request, &|| dag.clone(), limits, LISTING, stop, &mut |_| {});
    let stopped_by = match (proof.is_proven(), stop.is_stopped()) {
        (true, _) => StoppedBy::Proven,
        (false, true) => StoppedBy::Interrupt,
        (false, false) => StoppedBy::Time,
    };
    found.proven_by(proof, stopped_by)
}

impl std::fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search")
            .field("table", &self.table.name())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
