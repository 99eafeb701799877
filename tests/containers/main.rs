//! The cluster in containers, from the files of `deploy/`: few tests, and slow ones. They need a
//! Docker Engine, the image (`deploy/build-image`) and what `tests/containers/install` installs;
//! without these they fail.
//!
//! `cargo test --workspace --features rlbayes-tests/containers --test containers`

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for code that is not a test"
)]

mod docker;
mod faults;
mod image;
mod kubernetes;
mod project;
mod refusals;
mod scale;
mod schemas;
mod second_table;
mod secrets;
mod settings;
mod slurm;
mod swarm;
mod tls;
mod up;
