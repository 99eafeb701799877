//! Network files: reading and writing Bayesian networks, one format per file.
//!
//! A reader takes text and returns a [`NetworkFile`](crate::network::NetworkFile); a writer takes
//! one and returns bytes. Only `file.rs` opens files; writing them is left to the caller (see [`crate::files`]).

mod adjacency;
mod assemble;
mod bif;
mod csv_lines;
mod dot;
mod edge_columns;
mod edge_list;
mod error;
mod file;
mod format;
mod graphml;
mod json;
mod model_string;
mod name_lists;
mod picture;
mod provenance;
pub mod report;
mod support;
mod text;
pub mod viewer;
mod xmlbif;

#[cfg(test)]
mod test_networks;

pub use assemble::ContentError;
pub use bif::{PortabilityWarning, portability_warnings};
pub use error::{ReadError, WriteError};
pub use file::{
    Document, MAX_NETWORK_BYTES, WriteOptions, parse_document, parse_network, read_document,
    read_network, write_network,
};
pub use format::{Format, UnknownEnding};
pub use name_lists::{parse_edge_lists, parse_name_lists};
pub use picture::{Around, MAX_DRAWN_NODES, draw_support};
pub use provenance::Provenance;
pub use support::{SupportPicture, support_csv, support_dot, support_graphml, support_json};
#[cfg(test)]
mod tests;
