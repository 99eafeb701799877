//! What happens to a search, as the state machine sees it.

use rlbayes_common::exchange::{Exchange, Hello};
use rlbayes_common::search::StoppedBy;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A worker wants to take part.
    Join(Hello),
    /// A worker reports.
    Exchange(Exchange),
    /// A worker reports for the last time and gives its chains back.
    Leave(Exchange),
    /// Time has passed.
    Tick,
    /// Somebody wants the search to end.
    Stop(StoppedBy),
}
