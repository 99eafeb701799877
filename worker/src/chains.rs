//! The chains of a worker as its session sees them: they report, and take orders and answers. Real
//! ones run on threads ([`crate::thread_chains`]); a simulation steps them in a task.

use crate::state::Begin;
use rlbayes_common::exchange::{Answer, ChainOrder, ChainReport, WorkerStatistics};
use rlbayes_common::ids::ChainId;
use rlbayes_common::search::UnfitState;
use std::future::Future;

/// The chains of a worker.
pub trait Chains {
    /// Makes a chain and runs it.
    ///
    /// # Errors
    /// If it should begin at a state that does not fit, and can't begin elsewhere.
    fn run(&mut self, order: &ChainOrder, begin: Begin) -> Result<(), UnfitState>;

    /// Hands an answer to a chain.
    fn answer(&mut self, chain: ChainId, answer: Answer);

    /// Asks every chain for its state with its next report.
    fn want_snapshots(&mut self);

    /// Has every chain tell its best row again with its next report.
    fn tell_bests_again(&mut self);

    /// Waits for the next report. Must be safe to drop and call again.
    fn next_report(&mut self) -> impl Future<Output = Option<ChainReport>>;

    /// Ends all chains and returns their last reports, with their states.
    fn end(&mut self) -> impl Future<Output = Vec<ChainReport>>;

    /// Returns how the worker is doing.
    fn statistics(&self) -> WorkerStatistics;
}
