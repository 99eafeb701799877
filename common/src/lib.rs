//! The learning engine of RLBayes: tables, counts, scores, graphs, searches and the elite pool.
//!
//! Everything here is synchronous and pure: no sockets, no async runtime, no clock, no printing.
//! Data flows one way: table -> counts -> score -> chain -> exchange -> pool -> result.

pub mod canvas;
pub mod data;
pub mod elite;
pub mod exchange;
pub mod failpoint;
pub mod files;
pub mod fit;
pub mod graph;
pub mod hex;
pub mod ids;
pub mod inference;
pub mod io;
pub mod layout;
pub mod metrics;
pub mod network;
pub mod proof;
pub mod random;
pub mod score;
pub mod search;
pub mod snapshot;
pub mod support;
