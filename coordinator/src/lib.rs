//! The coordinator of a cluster: the task that drives the library's state machine
//! (`rlbayes::coordination`) and journal, and the gRPC and HTTP services around it.
//!
//! A search in one process drives the same state machine without any of this. Nothing here depends on
//! the worker crate, except tests.

pub mod access;
mod admission;
mod answers;
pub mod blocking;
mod budget;
pub mod connections;
pub mod event_loop;
mod events;
pub mod guard;
pub mod http;
pub mod metrics;
mod page;
pub mod peer;
pub mod replicate_work;
mod scoring_queue;
pub mod server;
pub mod service;
mod standing;
pub mod status;
mod uploads;
pub mod validator;
