//! The system seen from outside: the real program as a process, and the small known tables and
//! networks that it is shown.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "this crate is test support: what fails here fails a test"
)]

mod acknowledged_rows;
mod cluster;
mod fixtures;
pub mod history;
pub mod other_version_coordinator;
pub mod peer;
pub mod prerequisites;
mod program;
mod proxy;
mod terminal;
mod waiting;

pub use acknowledged_rows::{AcknowledgedRows, missing_rows};
pub use cluster::{
    Cluster, SOON, aborted, block_on, client, client_at, killed, own_port, resident_bytes, status,
    wait_for_file,
};
pub use fixtures::{data, fixture, fixtures_in, network, shuffled_columns, write};
pub use program::{Program, Ran, Running};
pub use proxy::{Proxy, Way};
pub use terminal::Terminal;
pub use waiting::{BestShown, wait_for_status, wait_until};
