//! Replicates on threads: each takes the next one that is missing; what is done is kept at once.

use super::replicate::Replicate;
use super::request::BootstrapRequest;
use crate::journal::{Batch, Journal};
use crate::progress::StopHandle;
use crate::run::RunError;
use crate::state_folder::open_replicates;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How a bootstrap is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BootstrapProgress {
    /// Replicates that are done, those of earlier runs included.
    pub done: u32,
    /// Replicates that there are to be.
    pub of: u32,
    /// Time since this run began.
    pub elapsed: Duration,
    /// How long the rest takes, by what this run has done so far.
    pub time_left: Option<Duration>,
}

/// What goes with a run.
pub(super) struct RunOptions<'a> {
    pub(super) state: Option<&'a Path>,
    pub(super) stop: &'a StopHandle,
    pub(super) watch: &'a mut dyn FnMut(&BootstrapProgress),
    pub(super) warn: &'a mut dyn FnMut(String),
}

/// How often progress is shown if nothing happens.
const SHOW_EVERY: Duration = Duration::from_millis(200);

/// Runs what is missing, until all is done or it is stopped.
pub(super) fn run(
    request: &BootstrapRequest,
    options: RunOptions<'_>,
) -> Result<BTreeMap<u32, Arc<Replicate>>, RunError> {
    let RunOptions {
        state,
        stop,
        watch,
        warn,
    } = options;
    let (mut journal, mut done) = match state {
        Some(folder) => {
            let (journal, done) = open_replicates(folder, request, warn)?;
            (Some(journal), done)
        }
        None => (None, BTreeMap::new()),
    };
    // A run for fewer replicates than are there leaves the others where they are.
    done.retain(|&number, _| number < request.replicates());
    let missing: Vec<u32> = (0..request.replicates())
        .filter(|number| !done.contains_key(number))
        .collect();
    let begun = Instant::now();
    let before = done.len();
    let mut show = |done: usize| {
        let elapsed = begun.elapsed();
        let here = u32::try_from(done - before).unwrap_or(u32::MAX);
        let done = u32::try_from(done).unwrap_or(u32::MAX);
        let left = request.replicates().saturating_sub(done);
        watch(&BootstrapProgress {
            done,
            of: request.replicates(),
            elapsed,
            time_left: (here > 0).then(|| elapsed.mul_f64(f64::from(left) / f64::from(here))),
        });
    };
    show(done.len());
    let next = AtomicUsize::new(0);
    let (sender, finished) = channel();
    thread::scope(|scope| {
        for at in 0..request.threads() {
            let (missing, next, sender) = (&missing, &next, sender.clone());
            thread::Builder::new()
                .name(format!("replicate-{at}"))
                .spawn_scoped(scope, move || work(request, missing, next, stop, &sender))
                .map_err(RunError::Thread)?;
        }
        drop(sender);
        let mut unsaved = Unsaved::default();
        loop {
            match finished.recv_timeout(SHOW_EVERY) {
                Ok((number, replicate)) => {
                    let replicate = Arc::new(replicate);
                    if let Some(journal) = &mut journal {
                        unsaved.write(journal, request, number, &replicate);
                    }
                    done.insert(number, replicate);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok::<(), RunError>(()),
            }
            show(done.len());
        }
    })?;
    Ok(done)
}

/// Runs replicates until none is left.
fn work(
    request: &BootstrapRequest,
    missing: &[u32],
    next: &AtomicUsize,
    stop: &StopHandle,
    sender: &Sender<(u32, Replicate)>,
) {
    while !stop.is_stopped()
        && let Some(&number) = missing.get(next.fetch_add(1, Relaxed))
    {
        let Some(replicate) = request.replicate(number, stop) else {
            return;
        };
        if sender.send((number, replicate)).is_err() {
            return;
        }
    }
}

/// Replicates that a disk has refused: they go with the next write, and it is logged once.
#[derive(Default)]
struct Unsaved(Vec<(u32, Arc<Replicate>)>);

impl Unsaved {
    fn write(
        &mut self,
        journal: &mut Journal,
        request: &BootstrapRequest,
        number: u32,
        replicate: &Arc<Replicate>,
    ) {
        let refused_before = !self.0.is_empty();
        self.0.push((number, Arc::clone(replicate)));
        let batch = Batch {
            replicates: self.0.clone(),
            ..Batch::default()
        };
        match journal.write(request.keying(), &batch) {
            Ok(()) => {
                self.0.clear();
                if refused_before {
                    tracing::info!("the journal can be written again");
                }
            }
            Err(error) if !refused_before => {
                tracing::warn!(%error, "replicates cannot be saved; the work continues");
            }
            Err(_) => {}
        }
    }
}
