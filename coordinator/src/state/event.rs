//! What happens to a search, as the state machine sees it.

use rlbayes_common::exchange::ChainReport;
use rlbayes_common::search::StoppedBy;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A chain has run a slice.
    Report(Box<ChainReport>),
    /// Time has passed.
    Tick,
    /// Somebody wants the search to end.
    Stop(StoppedBy),
}
