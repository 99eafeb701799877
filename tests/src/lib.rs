//! The system seen from outside: the real program as a process, and the small known tables and
//! networks that it is shown.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "this crate is test support: what fails here fails a test"
)]

mod cluster;
mod fixtures;
pub mod other_version_coordinator;
pub mod peer;
mod program;
mod proxy;

pub use cluster::{
    Cluster, SOON, aborted, block_on, client, killed, own_port, resident_bytes, status,
    wait_for_file,
};
pub use fixtures::{data, fixture, fixtures_in, network, shuffled_columns, write};
pub use program::{Program, Ran, Running, wait_until};
pub use proxy::{Proxy, Way};
