//! The wire between workers and coordinator, and its translation to the engine's values. Whatever
//! comes in is checked here: sizes, ranges, order, acyclicity. Scores are checked by the coordinator,
//! which has the data.

pub mod codec;
pub mod convert;

/// Version of the protocol; a peer with another one is refused.
pub const PROTOCOL_VERSION: u32 = 4;

/// Maximum size of a message, on both sides.
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// Maximum size of the reports of an exchange, and of the answers and the orders of a reply; what does
/// not fit follows with the next message. One item always fits.
pub const MAX_LIST_BYTES: usize = 1 << 20;
/// Maximum number of reports of an exchange.
pub const MAX_REPORTS: usize = 4096;
/// Maximum number of rows of a report.
pub const MAX_FINDS: usize = 65;
/// Maximum size of a search's description: the message holds orders as well.
pub const MAX_SEARCH_BYTES: usize = 2 << 20;
/// Maximum size of a chunk of a stream.
pub const MAX_CHUNK_BYTES: usize = 256 << 10;
/// Maximum total size of the chain states that one exchange names, unless it is a single one.
pub const MAX_EXCHANGE_STATES: usize = 256 << 20;
/// Maximum size of a chain's state.
pub const MAX_SNAPSHOT_BYTES: u64 = 64 << 20;
/// Maximum size of a result's network, and of its JSON.
pub const MAX_RESULT_BYTES: usize = 64 << 20;

/// The generated code.
#[expect(
    missing_docs,
    clippy::allow_attributes,
    clippy::derive_partial_eq_without_eq,
    clippy::large_enum_variant,
    reason = "generated"
)]
pub mod v1 {
    tonic::include_proto!("rlbayes.v1");
}

/// The descriptors of the service, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
