//! The program from outside, one file per story: what people and scripts may rely on.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for code that is not a test"
)]

use rlbayes_tests::{Cluster, Program, Ran, Running};
use std::ffi::OsStr;

mod any_names;
mod attack;
mod bad_inputs;
mod bootstrap;
mod cluster;
mod cluster_flags;
mod cluster_replicates;
mod constraints;
mod determinism;
mod faults;
mod formats;
mod greedy;
mod help;
mod hostile;
mod json;
mod kills;
mod liars;
mod limits;
mod lockstep;
mod model;
mod nothing;
mod overwriting;
mod progress;
mod prove;
mod report;
mod resume;
mod scores;
mod security;
mod tables;
mod watch;
mod words;
mod worker_folder;

/// The program of this package, with failpoints.
const PROGRAM: Program = Program::at(env!("CARGO_BIN_EXE_rlbayes"));

/// Runs the program to its end.
fn rlbayes<I>(args: I) -> Ran
where
    I: IntoIterator,
    I::Item: AsRef<OsStr>,
{
    PROGRAM.run(args)
}

/// Starts the program with an empty stdin.
fn start<I>(args: I) -> Running
where
    I: IntoIterator,
    I::Item: AsRef<OsStr>,
{
    PROGRAM.start(args)
}

/// Starts a coordinator for a table of the `data` folder, with short leases.
fn start_cluster(table: &str, flags: &[&str]) -> Cluster {
    Cluster::start(PROGRAM, table, flags)
}

/// Makes the folders of a cluster; nothing runs yet.
fn prepare_cluster(table: &str, flags: &[&str]) -> Cluster {
    Cluster::prepare(PROGRAM, table, flags)
}

/// Returns a table of this many columns, c0 and so on, each of which repeats the one before it now and
/// then.
fn wide_table(columns: usize) -> String {
    let names: Vec<String> = (0..columns).map(|column| format!("c{column}")).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..24_usize {
        let cells = (0..columns).map(|column| ["0", "1"][(row * 7 + row * column / 3) / 5 % 2]);
        text += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    text
}
