//! Commands of Docker, and what containers look like to it.

use rlbayes_tests::{Program, Ran, Running, wait_until};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// The image that `deploy/build-image` makes.
pub(crate) const IMAGE: &str = "rlbayes:latest";

/// The program of the image.
pub(crate) const PROGRAM: Program = Program::at(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../deploy/image/rlbayes"
));

/// The proven optimum of the table that is searched without any settings.
pub(crate) const OPTIMUM: f64 = -11657.046;

/// How long anything may take that should happen soon, on a machine that is busy.
pub(crate) const SOON: Duration = Duration::from_secs(120);

/// Whose ports are published, and who changes the engine under them: leaving a Swarm takes the
/// published ports of all containers away (Docker 20.10).
static ENGINE: RwLock<()> = RwLock::new(());

/// Waits until nobody changes the engine, and keeps it so.
pub(crate) fn use_engine() -> RwLockReadGuard<'static, ()> {
    ENGINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until nobody else uses the engine, and keeps it so.
pub(crate) fn change_engine() -> RwLockWriteGuard<'static, ()> {
    ENGINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a file of the project.
pub(crate) fn in_project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(path)
        .canonicalize()
        .unwrap_or_else(|error| panic!("{path}: {error} (deploy/build-image makes the image)"))
}

/// Returns a file that `tests/containers/install` has made.
pub(crate) fn installed(path: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // target/PROFILE/deps/TEST
    let target = test.ancestors().nth(3).unwrap();
    let path = target.join("containers").join(path);
    assert!(
        path.exists(),
        "{} is missing (tests/containers/install installs it)",
        path.display()
    );
    path
}

/// Runs a command to its end.
pub(crate) fn run<I>(program: &str, args: I) -> Ran
where
    I: IntoIterator,
    I::Item: AsRef<OsStr>,
{
    let mut command = Command::new(program);
    command.args(args);
    Running::of(command).wait(SOON)
}

/// Runs a command of docker that must succeed, and returns what it printed.
pub(crate) fn docker(args: &[&str]) -> String {
    let ran = run("docker", args);
    assert_eq!(ran.code, Some(0), "docker {args:?}: {ran:?}");
    ran.stdout.trim().to_owned()
}

/// Returns what docker knows of a container.
pub(crate) fn inspect(container: &str) -> Value {
    let text = docker(&["container", "inspect", container]);
    serde_json::from_str::<Value>(&text).unwrap()[0].take()
}

/// Returns everything that a container has logged.
pub(crate) fn log(container: &str) -> String {
    let ran = run("docker", ["logs", container]);
    ran.stdout + &ran.stderr
}

/// Waits until the health check of a container has succeeded.
pub(crate) fn wait_for_health(container: &str) {
    wait_until("the container is healthy", SOON, || {
        inspect(container)["State"]["Health"]["Status"] == "healthy"
    });
}

/// Waits until a container has ended for good, and returns its exit code.
pub(crate) fn exit_code(container: &str) -> i64 {
    wait_until("the container has ended", SOON, || {
        inspect(container)["State"]["Status"] == "exited"
    });
    inspect(container)["State"]["ExitCode"].as_i64().unwrap()
}

/// Kills the process in a container from outside, as the kernel would: the restart policy applies.
pub(crate) fn kill_process(container: &str) {
    let process = inspect(container)["State"]["Pid"].to_string();
    assert_ne!(process, "0", "{container} does not run");
    assert_eq!(run("sh", ["-c", "kill -9 $0", &process]).code, Some(0));
}

/// Pauses a container. The kernel freezes a group of processes only when it finds all of them at
/// rest, which runc does not wait for on a busy machine ("unable to freeze"): then it is asked again.
pub(crate) fn pause(container: &str) {
    wait_until("the container is paused", SOON, || {
        run("docker", ["pause", container]);
        inspect(container)["State"]["Paused"] == true
    });
}

/// Waits until a container runs, with another process than before.
pub(crate) fn wait_for_restart(container: &str, times_before: i64) {
    wait_until("the restart policy has acted", SOON, || {
        let now = inspect(container);
        now["RestartCount"].as_i64().unwrap() > times_before && now["State"]["Running"] == true
    });
}
