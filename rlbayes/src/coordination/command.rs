//! What the state machine wants done. Whoever drives it stores everything of a batch before it
//! hands out the replies that acknowledge it.

use rlbayes_common::elite::{EliteRow, Found};
use rlbayes_common::exchange::StoredChain;
use rlbayes_common::ids::{ChainId, WorkerId};
use rlbayes_common::search::StoppedBy;

/// Something to be done by whoever drives the state machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Store rows that changed the pool.
    StoreRows(Vec<(ChainId, Found, EliteRow)>),
    /// Store rows that are among the best, of chains that nobody knows.
    StoreOverall(Vec<EliteRow>),
    /// Store a lockstep chain's state.
    StoreChain(ChainId, StoredChain),
    /// Store how far the search has come.
    StoreProgress,
    /// The best row has improved.
    Record(EliteRow),
    /// A worker came, went or was lost: for the log.
    Worker(WorkerId, WorkerChange),
    /// Slices under way should end at their next step.
    Halt,
    /// The search is over and nobody works on it any more.
    Finished(StoppedBy),
}

/// What became of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerChange {
    /// It joined.
    Joined,
    /// It came back under the same incarnation.
    Returned,
    /// It left.
    Left,
    /// Its lease ran out.
    Lost,
    /// The same worker was started again.
    Replaced,
}
