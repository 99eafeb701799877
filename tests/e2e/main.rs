//! The program from outside, one file a story: what people and scripts may rely on.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for code that is not a test"
)]

mod bad_inputs;
mod cluster;
mod cluster_flags;
mod constraints;
mod determinism;
mod faults;
mod formats;
mod hostile;
mod json;
mod limits;
mod lockstep;
mod resume;
mod scores;
mod security;
