//! The result of a running search as files, renewed when the best improves and at the end. A thread of
//! its own draws and writes, so that the coordinator never waits for it.

use super::result_folder::ResultFolder;
use super::result_maker::ResultMaker;
use crate::terminal::Messages;
use rlbayes::coordination::View;
use rlbayes_coordinator::event_loop::Published;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::watch;

/// How often files are renewed at most.
const EVERY: Duration = Duration::from_secs(1);

/// What is needed to write results.
pub(super) struct ResultWriter {
    pub(super) maker: Arc<ResultMaker>,
    /// Where they go; none: nowhere.
    pub(super) folder: Option<ResultFolder>,
    /// Whether links could not be made: told once.
    pub(super) link_refused: AtomicBool,
}

impl ResultWriter {
    /// Writes whenever the best improves, until the event loop has ended; then once more, and again if
    /// that was refused. Returns why the last network has no probabilities, if it has none.
    ///
    /// # Errors
    /// If what was found in the end could not be written.
    pub(super) async fn run(
        self,
        mut published: watch::Receiver<Published>,
    ) -> Result<Option<String>, String> {
        let writer = Arc::new(self);
        let mut written = None;
        let mut refused: Option<String> = None;
        let mut not_fitted: Option<String> = None;
        let mut is_last_try = false;
        loop {
            let ended = published.changed().await.is_err();
            let view = Arc::clone(&published.borrow_and_update().view);
            let score = view.best.as_ref().map(|row| row.score.value().to_bits());
            let is_over = view.stopped_by.is_some();
            // The last reports raise counts after the stop.
            let at_the_end = is_over.then_some((view.stage, view.counters));
            let replicates = view.replicates.as_ref().map(|it| it.done.len());
            let now = Some((score, at_the_end, replicates));
            let changed = now != written || (ended && is_over);
            if changed && (score.is_some() || is_over) {
                let writer = Arc::clone(&writer);
                let tried = tokio::task::spawn_blocking(move || writer.write(&view)).await;
                let tried = tried.unwrap_or_else(|error| Err(error.to_string()));
                // A disk that refuses is tried again, and reported once.
                written = tried.is_ok().then_some(now).flatten();
                match tried {
                    Ok(why) => {
                        if let (Some(why), None) = (&why, &not_fitted) {
                            let what = format!("the network so far has no probabilities: {why}");
                            Messages::new(true).warning(&what);
                        }
                        not_fitted = why;
                        refused = None;
                    }
                    Err(why) => {
                        if refused.is_none() {
                            let what = format!("the result cannot be written: {why}");
                            Messages::new(true).warning(&what);
                        }
                        refused = Some(why);
                    }
                }
            }
            match (ended, &refused) {
                (true, None) => return Ok(not_fitted),
                (true, Some(why)) if is_last_try => return Err(why.clone()),
                (true, Some(_)) => is_last_try = true,
                (false, _) => {}
            }
            if !is_over || refused.is_some() {
                tokio::time::sleep(EVERY).await;
            }
        }
    }

    /// Writes the files, and returns why the network has no probabilities, if it has none.
    fn write(&self, view: &View) -> Result<Option<String>, String> {
        let Some(made) = self.maker.make(view)? else {
            return Ok(None);
        };
        if let Some(folder) = &self.folder {
            folder.write(&made)?;
            if let Err(why) = folder.link()
                && !self.link_refused.swap(true, Relaxed)
            {
                let what = format!("no link to the result can be made: {why}");
                Messages::new(true).warning(&what);
            }
        }
        Ok(made.fitted.not_fitted.clone())
    }
}
