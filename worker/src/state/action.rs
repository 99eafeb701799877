//! What the state machine wants done. Join, open, exchange, leave, fetch and the end of the chains
//! are answered by an event; at most one of them is under way.

use crate::link::{Joined, LinkError};
use crate::state::{End, SessionError};
use rlbayes::chains::ChainMaker;
use rlbayes_common::exchange::{Answer, ChainOrder, Exchange, Hello, Pace, Snapshot};
use rlbayes_common::ids::{ChainId, SearchId, WorkerId};
use rlbayes_common::search::{Chain, SavedChain, Seeds, UnfitState};

/// Something to be done by whoever drives the state machine.
#[derive(Clone, Debug)]
pub enum Action {
    /// Call: join.
    Join(Hello),
    /// Get the host ready for a search.
    Open(Box<Joined>),
    /// Call: bring the states of the reports, then exchange. The driver adds the statistics.
    Exchange(Exchange),
    /// Call: report for the last time. The driver adds the statistics.
    Leave(Exchange),
    /// Call: fetch the stored state of a chain, named by its BLAKE3.
    FetchChain(ChainId, [u8; 32]),
    /// Drop the call under way: its outcome does not matter any more.
    CancelCall,
    /// Run a chain.
    Run(ChainOrder, Begin),
    /// Hand an answer to a chain.
    Answer(ChainId, Answer),
    /// Ask every chain for its state with its next report.
    WantSnapshots,
    /// Have every chain report its best row again.
    TellBestsAgain,
    /// End all chains.
    EndChains,
    /// Keep a chain's checkpoint.
    KeepCheckpoint(ChainId, Snapshot),
    /// Drop a chain's checkpoint: another worker runs the chain.
    DropCheckpoint(ChainId),
    /// Write to the log.
    Log(LogEvent),
    /// The session is over; nothing follows.
    Finish(Result<End, SessionError>),
}

/// Where a chain that is to run begins.
#[derive(Clone, Debug)]
pub enum Begin {
    /// At the start network, with rows of the pool if there are some.
    Start(Option<Seeds>),
    /// At a stored state, with the seeds that it is owed.
    Resume(Box<SavedChain>, Option<Seeds>),
}

impl Begin {
    /// Makes the chain. A free-running one whose state does not fit starts anew.
    ///
    /// # Errors
    /// If the state of a lockstep chain does not fit: another course would not be the same search.
    pub fn chain(
        self,
        maker: &ChainMaker,
        id: ChainId,
        pace: Pace,
    ) -> Result<Box<dyn Chain>, UnfitState> {
        match (self, pace) {
            (Self::Start(seeds), _) => Ok(maker.start(id, seeds)),
            (Self::Resume(saved, seeds), Pace::Lockstep) => maker.resume(id, &saved, seeds),
            (Self::Resume(saved, seeds), Pace::Free) => {
                Ok(maker.resume_or_start(id, &saved, seeds))
            }
        }
    }
}

/// What people should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEvent {
    /// No coordinator has been reached yet; retrying.
    Waiting(LinkError),
    /// The first call to a coordinator that was waited for has succeeded.
    Reached,
    /// The coordinator can't be reached any more; retrying.
    Away(LinkError, Pace),
    /// The coordinator can be reached again.
    Back,
    /// The table could not be fetched; retrying.
    TableNotFetched(LinkError),
    /// The worker has joined again under its incarnation.
    JoinedAgain(WorkerId),
    /// The coordinator has another search by now.
    AnotherSearch(SearchId),
    /// A chain resumes from its checkpoint.
    ResumedFromCheckpoint(ChainId),
    /// A chain's state could not be fetched; its order comes again.
    StateNotFetched(ChainId, LinkError),
    /// A last report did not arrive; retrying.
    LastReportFailed(LinkError),
    /// The coordinator did not take the last reports in time.
    LastReportsLost,
}
