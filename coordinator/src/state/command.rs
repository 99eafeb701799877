//! What the state machine wants done, in order: what is stored comes before the answers that
//! acknowledge it.

use rlbayes_common::elite::{EliteRow, Found};
use rlbayes_common::exchange::Answer;
use rlbayes_common::ids::ChainId;
use rlbayes_common::search::{SavedChain, StoppedBy};

/// Something to be done by whoever drives the state machine.
#[derive(Clone, Debug)]
pub enum Command {
    /// Store rows that changed the pool, durably, before the next command.
    Journal(Vec<(ChainId, Found, EliteRow)>),
    /// Store a chain's state.
    SaveChain(ChainId, SavedChain),
    /// Tell a chain how to go on.
    Answer(ChainId, Answer),
    /// The best row has improved.
    Record(EliteRow),
    /// Slices under way should end at their next step.
    Halt,
    /// The search is over.
    Finished(StoppedBy),
}
