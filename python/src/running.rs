//! A search on a thread of its own: Python waits for news of it a moment at a time, and is free to
//! look at signals in between.

use crate::failure;
use crate::network::Network;
use crate::settings::Settings;
use crate::support::EdgeSupport;
use crate::table::Table;
use pyo3::prelude::*;
use rlbayes::provenance::ProvenanceNotes;
use rlbayes::{
    Bootstrap, BootstrapError, BootstrapSettings, Draw, Fit, Outcome, RowsPerReplicate, Search,
    StopHandle, StoppedBy, Support,
};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How a search is doing.
#[pyclass(frozen, get_all, module = "rlbayes._engine")]
#[derive(Clone)]
pub(crate) struct Progress {
    /// Seconds spent searching.
    elapsed: f64,
    /// The best score so far.
    best_score: Option<f64>,
    /// When it was found.
    best_at: f64,
    /// Whether it is new.
    improved: bool,
    /// Local scores asked for.
    evaluations: u64,
    /// Steps of all chains.
    iterations: u64,
    /// Seconds that are left at most, as far as that is known.
    time_left: Option<f64>,
    /// Replicates that are done, and how many there are to be.
    replicates: Option<(u32, u32)>,
}

/// What came of the work.
enum Done {
    Search(Box<Outcome>),
    Support(Box<Support>),
    Nothing,
}

type Worked = Result<Done, String>;

/// A search under way.
#[pyclass(frozen, module = "rlbayes._engine")]
pub(crate) struct Running {
    stop: StopHandle,
    process: u32,
    alpha: f64,
    state: Mutex<State>,
}

struct State {
    news: Receiver<News>,
    thread: Option<JoinHandle<Worked>>,
    done: Option<Worked>,
}

enum News {
    Progress(Progress),
    Warning(String),
}

/// News that wait at most; more are left out, since the next ones say more.
const NEWS: usize = 64;

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

impl Running {
    fn start(
        alpha: f64,
        work: impl FnOnce(StopHandle, SyncSender<News>) -> Worked + Send + 'static,
    ) -> PyResult<Self> {
        let stop = StopHandle::default();
        let (sender, news) = sync_channel(NEWS);
        let inside = stop.clone();
        let thread = std::thread::Builder::new()
            .name("rlbayes".into())
            .spawn(move || work(inside, sender))
            .map_err(|error| failure::input(format!("cannot start a thread: {error}")))?;
        Ok(Self {
            stop,
            process: std::process::id(),
            alpha,
            state: Mutex::new(State {
                news,
                thread: Some(thread),
                done: None,
            }),
        })
    }
}

#[pymethods]
impl Running {
    /// Starts a search.
    #[staticmethod]
    #[pyo3(signature = (table, settings, alpha, state=None))]
    fn search(
        table: &Table,
        settings: &Settings,
        alpha: f64,
        state: Option<PathBuf>,
    ) -> PyResult<Self> {
        let (table, settings) = (table.0.clone(), settings.0.clone());
        Search::with(&table, settings.clone())
            .request()
            .map_err(failure::input)?;
        Self::start(alpha, move |stop, news| {
            let warnings = news.clone();
            let mut search = Search::with(&table, settings)
                .stop_with(&stop)
                .on_progress(|now| {
                    let _ = news.try_send(News::Progress(Progress {
                        elapsed: seconds(now.elapsed),
                        best_score: now.best_score,
                        best_at: seconds(now.best_at),
                        improved: now.improved,
                        evaluations: now.evaluations,
                        iterations: now.iterations,
                        time_left: now.time_left.map(seconds),
                        replicates: None,
                    }));
                })
                .on_warning(move |warning| {
                    let _ = warnings.try_send(News::Warning(warning));
                });
            if let Some(folder) = state {
                search = search.state(folder);
            }
            let found = search.run();
            found
                .map(|found| Done::Search(Box::new(found)))
                .map_err(|error| error.to_string())
        })
    }

    /// Starts a bootstrap.
    #[staticmethod]
    #[pyo3(signature = (table, settings, replicates, rows=None, without_replacement=false, evaluations=None, threshold=0.5, best=None, state=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn bootstrap(
        table: &Table,
        settings: &Settings,
        replicates: u32,
        rows: Option<f64>,
        without_replacement: bool,
        evaluations: Option<u64>,
        threshold: f64,
        best: Option<&Network>,
        state: Option<PathBuf>,
    ) -> PyResult<Self> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of rows; what is not one is refused"
        )]
        let rows = match rows {
            None => RowsPerReplicate::All,
            Some(share) if share <= 1.0 => RowsPerReplicate::Share(share),
            Some(count) => RowsPerReplicate::Count(count as usize),
        };
        let settings = BootstrapSettings {
            search: settings.0.clone(),
            replicates,
            rows,
            draw: match without_replacement {
                true => Draw::WithoutReplacement,
                false => Draw::WithReplacement,
            },
            evaluations,
            threshold,
        };
        let table = table.0.clone();
        let best = best.map(|best| best.inner.clone());
        Bootstrap::with(&table, settings.clone())
            .request()
            .map_err(failure::input)?;
        Self::start(0.0, move |stop, news| {
            let warnings = news.clone();
            let mut work = Bootstrap::with(&table, settings)
                .stop_with(&stop)
                .on_progress(|now| {
                    let _ = news.try_send(News::Progress(Progress {
                        elapsed: seconds(now.elapsed),
                        best_score: None,
                        best_at: 0.0,
                        improved: false,
                        evaluations: 0,
                        iterations: 0,
                        time_left: now.time_left.map(seconds),
                        replicates: Some((now.done, now.of)),
                    }));
                })
                .on_warning(move |warning| {
                    let _ = warnings.try_send(News::Warning(warning));
                });
            if let Some(best) = &best {
                work = work.best(best);
            }
            if let Some(folder) = state {
                work = work.state(folder);
            }
            match work.run() {
                Ok(support) => Ok(Done::Support(Box::new(support))),
                Err(BootstrapError::Nothing) => Ok(Done::Nothing),
                Err(error) => Err(error.to_string()),
            }
        })
    }

    /// Waits for news; returns whether the work is done, the latest progress, and warnings.
    fn wait(
        &self,
        py: Python<'_>,
        seconds: f64,
    ) -> PyResult<(bool, Option<Progress>, Vec<String>)> {
        if self.process != std::process::id() {
            return Err(failure::input(
                "this search runs in the process that started it, not in one that was forked from it",
            ));
        }
        let waiting = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        py.detach(|| {
            let mut state = self.state.lock().map_err(failure::bug)?;
            let (mut latest, mut warnings, mut improved) = (None, Vec::new(), false);
            let mut take = |news| match news {
                News::Progress(progress) => {
                    improved |= progress.improved;
                    latest = Some(Progress {
                        improved,
                        ..progress
                    });
                }
                News::Warning(warning) => warnings.push(warning),
            };
            match state.news.recv_timeout(waiting) {
                Ok(news) => {
                    take(news);
                    while let Ok(news) = state.news.try_recv() {
                        take(news);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    if let Some(thread) = state.thread.take() {
                        let ended = thread.join();
                        state.done = Some(ended.unwrap_or_else(|_| Err("\0".to_owned())));
                    }
                }
            }
            Ok((state.thread.is_none(), latest, warnings))
        })
    }

    /// Ends the work soon; what was found so far is its result.
    fn stop(&self) {
        self.stop.stop();
    }

    /// Returns what came of it, once.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let done = self.state.lock().map_err(failure::bug)?.done.take();
        match done {
            None => Err(failure::bug(
                "the result was taken before the end, or twice",
            )),
            Some(Err(error)) if error == "\0" => Err(failure::bug("the search panicked")),
            Some(Err(error)) => Err(failure::input(error)),
            Some(Ok(Done::Nothing)) => Ok(py.None()),
            Some(Ok(Done::Search(outcome))) => {
                let found = FoundNetwork {
                    outcome: *outcome,
                    alpha: self.alpha,
                };
                Ok(Py::new(py, found)?.into_any())
            }
            Some(Ok(Done::Support(support))) => {
                Ok(Py::new(py, EdgeSupport::from(*support))?.into_any())
            }
        }
    }
}

impl Drop for Running {
    /// Nobody can ask for the result any more.
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// What a search has found.
#[pyclass(frozen, module = "rlbayes._engine")]
pub(crate) struct FoundNetwork {
    outcome: Outcome,
    alpha: f64,
}

#[pymethods]
impl FoundNetwork {
    /// Returns the best network, with probabilities; without, and why, if they would be too many.
    fn network(&self, py: Python<'_>) -> (Network, Option<String>) {
        py.detach(|| {
            let (inner, why) = match self.outcome.network(Fit::Smoothed(self.alpha)) {
                Ok(network) => (network, None),
                Err(error) => (self.outcome.structure(), Some(error.to_string())),
            };
            let network = Network {
                inner,
                class: Some(self.outcome.found().class.clone()),
                notes: ProvenanceNotes::of_search(&self.outcome, self.alpha),
            };
            (network, why)
        })
    }

    /// Returns the report as a page of HTML.
    #[pyo3(signature = (support=None))]
    fn report(&self, py: Python<'_>, support: Option<&EdgeSupport>) -> String {
        let support = support.and_then(|support| support.source.as_ref());
        py.detach(|| rlbayes_cli::report_page(&self.outcome, support, self.alpha))
    }

    /// Returns the edges: from, to, whether the direction is compelled, gain.
    #[getter]
    fn edges(&self) -> Vec<(String, String, bool, f64)> {
        let edges = self.outcome.found_edges().into_iter();
        edges
            .map(|edge| {
                (
                    edge.from.to_owned(),
                    edge.to.to_owned(),
                    edge.is_compelled,
                    edge.gain,
                )
            })
            .collect()
    }

    #[getter]
    fn score(&self) -> f64 {
        self.outcome.score()
    }

    #[getter]
    fn stopped_by(&self) -> &'static str {
        self.outcome.stopped_by().as_str()
    }

    #[getter]
    fn interrupted(&self) -> bool {
        self.outcome.stopped_by() == StoppedBy::Interrupt
    }

    #[getter]
    fn proven(&self) -> bool {
        self.outcome.is_proven()
    }

    #[getter]
    fn gap(&self) -> Option<f64> {
        self.outcome.gap()
    }

    #[getter]
    fn elapsed(&self) -> f64 {
        seconds(self.outcome.elapsed())
    }

    #[getter]
    fn best_at(&self) -> f64 {
        seconds(self.outcome.best_at())
    }

    #[getter]
    fn evaluations(&self) -> u64 {
        self.outcome.evaluations()
    }

    #[getter]
    fn iterations(&self) -> u64 {
        self.outcome.iterations()
    }

    /// Returns the best score over time: seconds, evaluations, score.
    #[getter]
    fn trace(&self) -> Vec<(f64, u64, f64)> {
        let points = self.outcome.trace().into_iter();
        points
            .map(|point| (seconds(point.time), point.evaluations, point.score))
            .collect()
    }
}
