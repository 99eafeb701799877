//! The prover beside a search: one thread that lists parent sets while the chains search, then closes
//! the gap to the best network that they have found by then.

use crate::progress::StopHandle;
use crate::proof::{Proof, ProofLimits, prove_latest};
use crate::request::SearchRequest;
use rlbayes_common::graph::Dag;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest that the prover may take: what it has not proven by then it will not prove soon.
const MOST_TIME: Duration = Duration::from_secs(20);

/// A prover at work.
#[derive(Debug)]
pub struct SideProof {
    thread: Option<JoinHandle<Proof>>,
    stop: StopHandle,
    best: Arc<Mutex<Dag>>,
}

impl SideProof {
    /// Starts the prover, if the search is to have one.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn start(request: &SearchRequest, start: &Dag) -> io::Result<Option<Self>> {
        let Some(bytes) = request.prover_bytes() else {
            return Ok(None);
        };
        let stop = StopHandle::default();
        let best = Arc::new(Mutex::new(start.clone()));
        let (request, stops, latest) = (request.clone(), stop.clone(), Arc::clone(&best));
        let limits = ProofLimits {
            time: Some(MOST_TIME),
            memory: Some(bytes),
            threads: Some(1),
        };
        let thread = std::thread::Builder::new()
            .name("prover".to_owned())
            .spawn(move || {
                let latest = || {
                    latest
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .clone()
                };
                // A limited class would be of no use here, so listing may take all the time.
                prove_latest(&request, &latest, limits, 1.0, &stops, &mut |_| {})
            })?;
        Ok(Some(Self {
            thread: Some(thread),
            stop,
            best,
        }))
    }

    /// Hands over the best network so far.
    pub fn improved(&self, best: Dag) {
        *self.best.lock().unwrap_or_else(PoisonError::into_inner) = best;
    }

    /// Returns the proof if the prover is done.
    pub fn finished(&mut self) -> Option<Proof> {
        let thread = self.thread.take_if(|thread| thread.is_finished())?;
        thread.join().ok()
    }

    /// Ends the prover and returns what it has shown.
    #[must_use]
    pub fn end(mut self) -> Option<Proof> {
        self.stop.stop();
        self.thread.take()?.join().ok()
    }
}
