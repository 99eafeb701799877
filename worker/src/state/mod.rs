//! The session's decisions as a state machine: `apply(now, event) -> actions`. It joins, runs the
//! chains that the coordinator orders, exchanges, joins again, drains. It does no IO, reads no clock
//! and waits for nothing: [`crate::session`] drives it over a link, tests by hand.

mod action;
mod backoff;
mod event;
mod leaving;
mod orders;
mod outbox;
mod retry;
mod session_state;
mod settings;
#[cfg(test)]
mod tests;
mod working;

pub use action::{Action, Begin, LogEvent};
pub use event::{Event, OpenError};
pub use session_state::SessionState;
pub use settings::{End, Held, SessionError, SessionSettings};
