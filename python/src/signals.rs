//! Waiting for work that takes a while: Python's signals are looked at meanwhile, and an exception of
//! theirs, such as that of Ctrl-C, ends the wait.

use crate::failure;
use pyo3::prelude::*;
use rlbayes::StopHandle;
use std::pin::pin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;
use tokio::runtime::Runtime;

/// How long signals wait to be looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Does work that a stop handle ends: an exception ends the work, too.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&StopHandle) -> T + Send,
) -> PyResult<T> {
    let stop = StopHandle::default();
    let (sender, mut answer) = sync_channel(1);
    std::thread::scope(|scope| {
        let inside = stop.clone();
        let thread = scope.spawn(move || {
            let _ = sender.send(work(&inside));
        });
        let found = wait(py, &mut answer);
        if found.is_err() {
            stop.stop();
        }
        // Else a panic of its would become one of ours.
        let _ = thread.join();
        found
    })
}

/// Does work that nothing ends: an exception leaves it to itself, and what comes of it is let go.
pub(crate) fn abandonable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut answer) = sync_channel(1);
    std::thread::Builder::new()
        .name("rlbayes".into())
        .spawn(move || {
            let _ = sender.send(work());
        })
        .map_err(|error| failure::input(format!("cannot start a thread: {error}")))?;
    wait(py, &mut answer)
}

fn wait<T: Send>(py: Python<'_>, answer: &mut Receiver<T>) -> PyResult<T> {
    loop {
        let waiting = &mut *answer;
        match py.detach(move || waiting.recv_timeout(LOOK)) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failure::bug("the work panicked"));
            }
        }
    }
}

/// Waits for an answer from elsewhere: an exception drops the question.
pub(crate) fn answer<F: Future<Output: Send> + Send>(
    py: Python<'_>,
    runtime: &Runtime,
    question: F,
) -> PyResult<F::Output> {
    let mut question = pin!(question);
    loop {
        let question = question.as_mut();
        let waited =
            py.detach(|| runtime.block_on(async { tokio::time::timeout(LOOK, question).await }));
        match waited {
            Ok(answer) => return Ok(answer),
            Err(_) => py.check_signals()?,
        }
    }
}
