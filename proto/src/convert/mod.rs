//! Wire -> engine with checks, engine -> wire without.

mod differences;
mod exchange;
mod network;
mod rows;
mod search;

pub use differences::{KnownRows, RowDigest, digest_of, make_whole, whole_bytes, whole_row};
pub use exchange::{
    MOST_HOST_BYTES, MOST_THREADS, exchange_from_wire, exchange_to_wire, find_bytes, fitting,
    heartbeat_from_wire, hello_from_wire, hello_to_wire, order_from_wire, order_to_wire,
    reply_from_wire, reply_to_wire, report_bytes, statistics_to_wire,
};
pub use network::{check_network, network_from_wire, network_to_wire};
pub use rows::{
    dag_from_wire, row_digest, row_from_wire, row_to_wire, seeds_from_wire, seeds_to_wire,
};
pub use search::{check_description, description_from_wire, description_to_wire};

use thiserror::Error;

/// Why a message is not one of ours.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// A field that must be there is not.
    #[error("the message lacks its field {0}")]
    Missing(&'static str),
    /// A field has a size that it can't have.
    #[error("{name} has {found} entries (expected at most {most})")]
    TooMany {
        /// Which field.
        name: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// A field has a length that it can't have.
    #[error("{name} has {found} bytes (expected {expected})")]
    Length {
        /// Which field.
        name: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: &'static str,
    },
    /// A value is out of range.
    #[error("{0} is out of range")]
    Range(&'static str),
    /// An edge names a variable that is not there.
    #[error("an edge names variable {found} of {nodes}")]
    Node {
        /// The variable.
        found: u16,
        /// How many there are.
        nodes: usize,
    },
    /// Edges, names or states are not in order, or one is there twice.
    #[error("the edges or names are not in order")]
    Order,
    /// The edges hold a cycle.
    #[error("the edges hold a cycle")]
    Cycle,
    /// A score is not a number.
    #[error("a score is not a number")]
    Score,
    /// A part of a message is too large for it.
    #[error("{name} takes {found} bytes of a message (expected at most {most})")]
    TooLarge {
        /// Which part.
        name: &'static str,
        /// How many bytes it has.
        found: usize,
        /// How many it may have.
        most: usize,
    },
    /// Names, states and probabilities do not make a network.
    #[error("{0}")]
    Network(String),
    /// A setting makes no sense.
    #[error("{0}")]
    Setting(String),
}

/// Reads a field of a fixed length.
fn fixed<const N: usize>(name: &'static str, bytes: &[u8]) -> Result<[u8; N], WireError> {
    bytes.try_into().map_err(|_| WireError::Length {
        name,
        found: bytes.len(),
        expected: if N == 32 { "32" } else { "16" },
    })
}

/// Refuses a list that is too long.
fn at_most(name: &'static str, found: usize, most: usize) -> Result<(), WireError> {
    if found > most {
        return Err(WireError::TooMany { name, found, most });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
