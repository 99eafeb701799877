//! The wire between workers and coordinator, and its translation to the engine's values. Whatever
//! comes in is checked here: sizes, ranges, order, acyclicity; scores are checked by whoever has
//! the data.

pub mod convert;

/// Version of the exchange; a peer with another one is refused.
pub const PROTOCOL_VERSION: u32 = 1;

/// The largest message that either side takes.
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// The largest chunk of a stream.
pub const MAX_CHUNK_BYTES: usize = 256 << 10;
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
