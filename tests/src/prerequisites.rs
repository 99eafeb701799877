//! What some tests need besides a toolchain. Where it is missing they are skipped, visibly; CI has
//! all of it, so that there they fail.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::{env, fs, io, thread};

/// Returns whether the test runs as root, as tests that mount a disk must.
pub fn has_root() -> bool {
    has("root", is_root())
}

/// Returns whether a command is installed.
pub fn has_command(name: &str) -> bool {
    has(
        &format!("the command {name}"),
        Command::new(name).arg("--version").output().is_ok(),
    )
}

/// Returns whether the test runs as root.
#[must_use]
pub fn is_root() -> bool {
    // A process's folder belongs to its effective user.
    fs::metadata("/proc/self").unwrap().uid() == 0
}

fn has(what: &str, is_there: bool) -> bool {
    if !is_there {
        assert!(
            env::var_os("CI").is_none(),
            "CI must have {what} (see .ci/run)"
        );
        // Not by a macro, whose output libtest keeps to itself when a test passes.
        let thread = thread::current();
        let test = thread.name().unwrap_or("a test");
        let line = format!("skipped: {test} needs {what}\n");
        io::stderr().write_all(line.as_bytes()).unwrap();
    }
    is_there
}
