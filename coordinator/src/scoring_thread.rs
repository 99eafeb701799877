//! A thread for work that takes long, such as scoring rows: only the calls that need it wait.

use crate::blocking::Blocking;
use std::thread;
use tokio::sync::{mpsc, oneshot};

/// Maximum length of the queue; further callers wait for a place.
const WAITING: usize = 64;

type Work = Box<dyn FnOnce() + Send>;

/// The way to the thread.
#[derive(Debug)]
pub(crate) struct ScoringThread(Option<mpsc::Sender<Work>>);

impl ScoringThread {
    /// Starts the thread; it ends when this is dropped. Inline, work is done at once by the caller.
    pub(crate) fn start(name: &str, blocking: Blocking) -> Self {
        if blocking == Blocking::Inline {
            return Self(None);
        }
        let (sender, mut waiting) = mpsc::channel::<Work>(WAITING);
        let works = move || {
            while let Some(work) = waiting.blocking_recv() {
                work();
            }
        };
        match thread::Builder::new().name(name.to_owned()).spawn(works) {
            Ok(_) => Self(Some(sender)),
            Err(error) => {
                tracing::warn!(%error, name, "cannot start the thread; the work blocks other calls");
                Self(None)
            }
        }
    }

    /// Runs work when its turn comes; none if the thread has failed.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let Some(sender) = &self.0 else {
            return Some(work());
        };
        let (done, result) = oneshot::channel();
        let work = Box::new(move || {
            // A caller that is gone needs no result.
            let _ = done.send(work());
        });
        sender.send(work).await.ok()?;
        result.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_run_while_work_is_done() {
        let scoring = ScoringThread::start("test", Blocking::Thread);
        let (release, released) = std::sync::mpsc::channel();
        let work = scoring.run(move || released.recv().is_ok());
        // The runtime has one thread: if it were blocked, nothing could release the work.
        let other = async {
            tokio::task::yield_now().await;
            release.send(()).unwrap();
        };
        let (done, ()) = tokio::join!(work, other);
        assert_eq!(done, Some(true));
    }
}
