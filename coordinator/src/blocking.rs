//! Where work is done that blocks: on a thread of its own, or in the task that asks for it.

/// Where blocking work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    /// On a thread that may block, so that no other task waits for it.
    Thread,
    /// In the task itself: simulations, where disk and scoring take no time and the same seed must
    /// give the same trace.
    Inline,
}
