//! The wire between workers and coordinator, and its translation to the engine's values.
//!
//! The messages come with the distributed search; what both sides already agree on is here.

/// Version of the exchange; a peer with another one is refused.
pub const PROTOCOL_VERSION: u32 = 1;
