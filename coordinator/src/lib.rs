//! The coordinator of a search: its pure state machine, its journal, the task that drives both, and
//! the gRPC and HTTP services around it.
//!
//! `learn` drives the same state inside one process, without the services. Nothing here depends on
//! the worker crate.

pub mod blocking;
pub mod event_loop;
pub mod guard;
pub mod http;
pub mod metrics;
mod scoring_thread;
pub mod server;
pub mod service;
pub mod status;
pub mod token;
mod uploads;
pub mod validator;
