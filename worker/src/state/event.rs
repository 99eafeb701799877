//! What happens to a session, as the state machine sees it.

use crate::link::{Joined, LinkError};
use rlbayes_common::exchange::{ChainReport, Reply, Snapshot};
use rlbayes_common::ids::ChainId;
use rlbayes_common::search::{SavedChain, UnfitState};
use std::collections::BTreeMap;
use thiserror::Error;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// Time has passed.
    Tick,
    /// The worker is to leave before the search is over.
    Shutdown,
    /// The coordinator has news that should not wait for the next exchange.
    Nudge,
    /// A call to join has returned.
    Joined(Result<Box<Joined>, LinkError>),
    /// The host is ready to run the search's chains, with those that were checkpointed here; or not.
    Opened(Result<BTreeMap<ChainId, SavedChain>, OpenError>),
    /// A call to exchange has returned.
    Replied(Result<Reply, LinkError>),
    /// A call to leave has returned.
    Left(Result<(), LinkError>),
    /// A call to fetch a chain's state has returned.
    ChainFetched(Result<Snapshot, LinkError>),
    /// A chain could not be run: its state does not fit the search.
    StateUnfit(ChainId, UnfitState),
    /// A chain reports.
    Report(ChainReport),
    /// All chains have ended, though nobody here has ended them.
    ChainsEnded,
    /// All chains were ended, and these are their last reports, with their states.
    LastReports(Vec<ChainReport>),
}

/// Why a host is not ready to run a search's chains.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// A call to the coordinator did not succeed.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The search can't be run here.
    #[error("{0}")]
    Host(String),
}
