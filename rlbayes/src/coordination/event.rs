//! What happens to a search, as the state machine sees it.

use rlbayes_common::elite::EliteRow;
use rlbayes_common::exchange::{Exchange, Hello};
use rlbayes_common::search::StoppedBy;
use std::time::Duration;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A worker wants to join.
    Join(Hello),
    /// A worker reports.
    Exchange(Exchange),
    /// A worker sends its last reports and returns its chains.
    Leave(Exchange),
    /// Time has passed.
    Tick,
    /// This much processor time was spent, earlier runs included; only a process that runs all chains
    /// itself can tell.
    CpuTime(Duration),
    /// So many rows from workers were refused in all, earlier runs included.
    RefusedRows(u64),
    /// A network that no chain need have found, with its score: the prover's.
    Row(EliteRow),
    /// The search is to end.
    Stop(StoppedBy),
}
