//! The result of a running search as files: NAME.bif, NAME.json and NAME.svg, whole or not at all,
//! renewed when the best improves and at the end. A thread of its own draws and writes, so that the
//! coordinator never waits for it.

use crate::output::{Output, OutputOptions, network_for};
use crate::report::{Comparison, as_json};
use crate::terminal::Messages;
use bytes::Bytes;
use rlbayes::coordination::View;
use rlbayes::{SearchRequest, StoppedBy, gap_below};
use rlbayes_common::files::write_whole;
use rlbayes_common::graph::Dag;
use rlbayes_common::io::{Format, WriteOptions, write_network};
use rlbayes_common::search::Problem;
use rlbayes_coordinator::event_loop::Published;
use rlbayes_coordinator::service::ResultFiles;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::watch;

/// How often files are renewed at most.
const EVERY: Duration = Duration::from_secs(1);

/// What is needed to write results.
pub(super) struct ResultWriter {
    pub(super) request: SearchRequest,
    pub(super) problem: Arc<Problem>,
    pub(super) truth: Option<Dag>,
    pub(super) outputs: Vec<Output>,
    pub(super) json: Option<PathBuf>,
    /// A score that no network exceeds, once it is known.
    pub(super) bound: Arc<OnceLock<f64>>,
    pub(super) publish: watch::Sender<Option<Arc<ResultFiles>>>,
}

impl ResultWriter {
    /// Writes whenever the best improves, until the event loop has ended; then once more.
    pub(super) async fn run(self, mut published: watch::Receiver<Published>) {
        let writer = Arc::new(self);
        let mut written = None;
        let mut refused: Option<String> = None;
        loop {
            let ended = published.changed().await.is_err();
            let view = Arc::clone(&published.borrow_and_update().view);
            let score = view.best.as_ref().map(|row| row.score.value().to_bits());
            let is_over = view.stopped_by.is_some();
            // The last reports raise counts after the stop.
            let at_the_end = is_over.then_some((view.stage, view.counters));
            let now = Some((score, at_the_end));
            let changed = now != written || (ended && is_over);
            if changed && (score.is_some() || is_over) {
                let writer = Arc::clone(&writer);
                let tried = tokio::task::spawn_blocking(move || writer.write(&view)).await;
                let tried = tried.unwrap_or_else(|error| Err(error.to_string()));
                // A disk that refuses is tried again, and reported once.
                written = tried.is_ok().then_some(now).flatten();
                if let Err(why) = &tried
                    && refused.is_none()
                {
                    Messages::new(true).warning(&format!("the result cannot be written: {why}"));
                }
                refused = tried.err();
            }
            if ended {
                return;
            }
            if !is_over || refused.is_some() {
                tokio::time::sleep(EVERY).await;
            }
        }
    }

    fn write(&self, view: &View) -> Result<(), String> {
        let best = match &view.best {
            Some(row) => row.clone(),
            None => self.request.start_row(&self.problem),
        };
        let dag = best.structure.to_dag().map_err(|error| error.to_string())?;
        let comparison = self.truth.as_ref();
        let comparison = comparison.map(|truth| Comparison::new(&self.problem, truth, &dag));
        let mut json = as_json(&self.request, view, &best, comparison.as_ref());
        let gap = match self.bound.get() {
            _ if view.stopped_by == Some(StoppedBy::Proven) => Some(0.0),
            Some(bound) => gap_below(*bound, best.score.value()),
            None => None,
        };
        json["proven"] = (gap == Some(0.0)).into();
        json["gap"] = gap.into();
        let json = format!("{json:#}\n");
        let network = network_for(self.request.table().data(), &dag, 0.0, true)
            .map_err(|failure| format!("the network could not be fitted: {failure}"))?;
        let bif = write_network(Format::Bif, &network, &WriteOptions::default());
        self.publish.send_replace(Some(Arc::new(ResultFiles {
            json: json.clone(),
            bif: Bytes::from(bif.unwrap_or_default()),
        })));
        for output in &self.outputs {
            let written = output.write(&network, OutputOptions::default(), |_| {});
            written.map_err(|failure| failure.to_string())?;
        }
        if let Some(path) = &self.json {
            write_whole(path, json.as_bytes())
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }
}
