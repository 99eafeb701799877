//! The wire between workers and coordinator, and its translation to the engine's values. Whatever
//! comes in is checked here: sizes, ranges, order, acyclicity; scores are checked by whoever has
//! the data.

pub mod convert;

/// Version of the exchange; a peer with another one is refused.
pub const PROTOCOL_VERSION: u32 = 2;

/// The largest message that either side takes.
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// What the reports of an exchange, the answers of a reply or the orders of one take at most; what
/// does not fit follows with the next message. One item always does.
pub const MAX_LIST_BYTES: usize = 1 << 20;
/// The most reports of an exchange.
pub const MAX_REPORTS: usize = 4096;
/// The most rows of a report.
pub const MAX_FINDS: usize = 65;
/// The largest description of a search: it travels beside orders.
pub const MAX_SEARCH_BYTES: usize = 2 << 20;
/// The largest chunk of a stream.
pub const MAX_CHUNK_BYTES: usize = 256 << 10;
/// What the states take at most that one exchange names, unless it is a single one.
pub const MAX_EXCHANGE_STATES: usize = 256 << 20;
/// The largest state of a chain.
pub const MAX_SNAPSHOT_BYTES: u64 = 64 << 20;

/// The generated code.
#[expect(
    missing_docs,
    clippy::allow_attributes,
    clippy::derive_partial_eq_without_eq,
    reason = "generated"
)]
pub mod v1 {
    tonic::include_proto!("rlbayes.v1");
}

/// The descriptors of the service, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
