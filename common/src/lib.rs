//! The learning engine of RLBayes: tables, counts, scores, graphs, searches and the elite pool.
//!
//! Everything here is synchronous and pure: no sockets, no async runtime, no clock, no printing.
//! Data flows one way: table -> counts -> score -> chain -> exchange -> pool -> result.

pub mod data;
pub mod fit;
pub mod graph;
pub mod ids;
pub mod io;
pub mod network;
