//! The commands of a cluster: the coordinator, its workers, and what people ask it.

mod address_file;
mod bound_note;
mod certs;
mod client;
mod connect;
mod coordinator;
mod drain;
mod heartbeat_file;
mod prover;
mod public_address;
mod result_files;
mod result_folder;
mod result_maker;
mod shutdown;
mod watch;
mod worker;

pub(crate) use certs::{CertsArgs, certs};
pub(crate) use client::{HealthArgs, ResultArgs, StatusArgs, health, result, status, stop};
pub(crate) use coordinator::{CoordinatorArgs, coordinator};
pub(crate) use drain::{DrainArgs, drain};
pub(crate) use watch::{WatchArgs, watch};
pub(crate) use worker::{WorkerArgs, worker};

use crate::failure::Failure;
use std::future::Future;

/// Runs a future on a runtime of its own.
fn block_on<T>(
    threads: usize,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(|error| Failure::input(format!("cannot start the runtime: {error}")))?;
    let done = runtime.block_on(work);
    // Blocking work that is still under way, such as a drawing, is not waited for.
    runtime.shutdown_background();
    done
}
