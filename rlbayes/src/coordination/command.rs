//! What the state machine wants done. Its driver stores everything of a batch before it sends the
//! replies that acknowledge it.

use crate::bootstrap::Replicate;
use rlbayes_common::elite::{EliteRow, Found};
use rlbayes_common::exchange::StoredChain;
use rlbayes_common::ids::{ChainId, WorkerId};
use rlbayes_common::search::StoppedBy;
use std::sync::Arc;

/// Something for the driver of the state machine to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Store rows that changed the pool.
    StoreRows(Vec<(ChainId, Found, EliteRow)>),
    /// Store rows of unknown chains that are among the best over all chains.
    StoreOverall(Vec<EliteRow>),
    /// Store a lockstep chain's state.
    StoreChain(ChainId, StoredChain),
    /// Store a replicate that is done.
    StoreReplicate(u32, Arc<Replicate>),
    /// Store how far the search has come.
    StoreProgress,
    /// The best row has improved.
    Record(EliteRow),
    /// A worker joined, left or was lost: for the log.
    Worker(WorkerId, WorkerChange),
    /// Slices under way should end at their next step.
    Halt,
    /// The search is over, and its replicates begin.
    Replicates(StoppedBy),
    /// The search is over and no worker runs its chains any more.
    Finished(StoppedBy),
}

/// What happened to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerChange {
    /// It joined.
    Joined,
    /// It joined again under the same incarnation.
    Returned,
    /// It left.
    Left,
    /// Its lease ran out.
    Lost,
    /// The same worker was restarted.
    Replaced,
    /// It never reported on a chain, and its place was given to another.
    Displaced,
}
