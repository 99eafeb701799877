//! How a session behaves, what it begins with and how it ends.

use rlbayes_common::exchange::{ChainReport, Exchange, Hello, Work, WorkerStatistics};
use rlbayes_common::ids::{ChainId, Incarnation, SearchId, WorkerId};
use rlbayes_common::search::StoppedBy;
use std::time::Duration;
use thiserror::Error;

/// How a worker behaves.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// Drawn afresh for this process, never 0.
    pub incarnation: Incarnation,
    /// The incarnation of the same worker before a restart.
    pub replaces: Option<Incarnation>,
    /// Where it runs.
    pub host: String,
    /// How many threads it has.
    pub threads: u32,
    /// How many bytes of memory it may use; none: as many as its chains take.
    pub memory: Option<u64>,
    /// The program's version.
    pub program_version: String,
    /// How long it retries without reaching the coordinator; none: for ever.
    pub give_up_after: Option<Duration>,
    /// How often free-running chains are checkpointed.
    pub checkpoint_every: Duration,
}

/// The checkpoints that a worker holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Chains that are checkpointed.
    pub chains: Vec<ChainId>,
    /// The search that they belong to.
    pub search: Option<SearchId>,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The search is over.
    Finished(StoppedBy),
    /// This work is over, and the coordinator has more: the worker should join again.
    MoreWork,
    /// The worker was asked to shut down.
    Drained,
}

/// Why a session failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SessionError {
    /// The coordinator was out of reach for too long.
    #[error("gave up: {0}")]
    GaveUp(String),
    /// Token or certificate were refused.
    #[error("{0}")]
    Refused(String),
    /// The protocols differ.
    #[error("{0}")]
    Protocol(String),
    /// The search can't be run here.
    #[error("{0}")]
    Host(String),
    /// The coordinator's state of a chain is of no use, and a deterministic search would go another
    /// way without it.
    #[error("the coordinator's state of chain {0} can't be continued: {1}")]
    State(ChainId, String),
}

impl SessionSettings {
    /// Returns how the worker introduces itself.
    pub(super) fn hello(&self, held: Held) -> Hello {
        Hello {
            incarnation: self.incarnation,
            replaces: self.replaces,
            host: self.host.clone(),
            threads: self.threads,
            memory: self.memory,
            program_version: self.program_version.clone(),
            chains: held.chains,
            search: held.search,
            work: Work::Search,
            peer: None,
        }
    }
    /// Returns a message with reports; whoever sends it adds the statistics.
    pub(super) fn exchange(&self, worker: WorkerId, reports: Vec<ChainReport>) -> Exchange {
        Exchange {
            worker,
            incarnation: self.incarnation,
            work: Work::Search,
            reports,
            statistics: WorkerStatistics::default(),
        }
    }
}
