//! The coordinator of a search: its pure state machine and its journal.
//!
//! `learn` drives the state machine inside one process; the cluster will drive the same one from
//! gRPC handlers. Nothing here knows workers' code.

pub mod journal;
pub mod state;
