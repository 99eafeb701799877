//! The extension module of the Python package `rlbayes`: the engine's values, with as little of its
//! own as possible. What people see is written in Python, beside it.

mod cluster;
mod failure;
mod network;
mod read_options;
mod running;
mod settings;
mod signals;
mod support;
mod table;

use pyo3::prelude::*;
use std::ffi::OsString;

#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::cluster::{Coordinator, Watch};
    #[pymodule_export]
    use super::network::Network;
    #[pymodule_export]
    use super::read_options::ReadOptions;
    #[pymodule_export]
    use super::run_command;
    #[pymodule_export]
    use super::running::{FoundNetwork, Progress, Running};
    #[pymodule_export]
    use super::settings::Settings;
    #[pymodule_export]
    use super::support::EdgeSupport;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::version;
}

/// Runs the command `rlbayes`; the first argument is its name.
#[pyfunction]
fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| rlbayes_cli::run_command(arguments))
}

/// Returns the version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
