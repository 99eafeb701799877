//! Wrong settings: one sentence in the container's log, exit code 2, and an end of the restarts.

use crate::docker::{IMAGE, docker, exit_code, inspect, log};
use crate::project::{Compose, Project};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Checks that a container ended with exit code 2, started at most six times in all, and logged the
/// same one sentence each time. Returns the sentence.
fn refusal(container: &str, logged_before: usize) -> String {
    assert_eq!(exit_code(container), 2, "{}", log(container));
    let starts = inspect(container)["RestartCount"].as_i64().unwrap() + 1;
    assert!(starts <= 6, "{starts}");
    let logged = log(container);
    // Secrets of compose are readable by all users, which is warned about.
    let is_error = |line: &&str| !line.starts_with("warning: /token: every user");
    let sentences: Vec<&str> = logged
        .lines()
        .skip(logged_before)
        .filter(is_error)
        .collect();
    assert_eq!(i64::try_from(sentences.len()).unwrap(), starts, "{logged}");
    assert!(
        sentences.iter().all(|line| *line == sentences[0]),
        "{logged}"
    );
    sentences[0].to_owned()
}

#[test]
fn a_missing_table_is_named() {
    let project = Project::new(
        Compose::Program,
        "no-table",
        &[("RLBAYES_TABLE", "nothing.csv")],
    );
    project.up(1);
    let sentence = refusal(&project.coordinator(), 0);
    assert!(sentence.contains("/data/nothing.csv"), "{sentence}");
}

#[test]
fn a_state_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path(), 0o555);
    let settings = [("RLBAYES_STATE_VOLUME", folder.path().to_str().unwrap())];
    let project = Project::new(Compose::Program, "no-state", &settings);
    project.up(1);
    let sentence = refusal(&project.coordinator(), 0);
    assert!(sentence.contains("/state"), "{sentence}");
    assert!(sentence.contains("denied"), "{sentence}");
}

#[test]
fn a_worker_with_a_wrong_token_is_refused_at_once() {
    let settings = [("RLBAYES_STAGNATION", "1h"), ("RLBAYES_WORKER_CPUS", "0.3")];
    let project = Project::new(Compose::Program, "token", &settings);
    project.up(1);
    project.wait_for_workers(1);
    let token = project.folder().join("token");
    fs::write(&token, "somebody-elses-token-0123456789abcdef").unwrap();
    open(&token, 0o444);
    let token = format!("{}:/token:ro", token.to_str().unwrap());
    let worker = docker(&[
        "run",
        "--detach",
        "--read-only",
        "--restart",
        "on-failure:5",
        "--network",
        &project.network(),
        "--volume",
        &token,
        IMAGE,
        "worker",
        "--coordinator",
        "http://coordinator:7400",
        "--token-file",
        "/token",
    ]);
    let sentence = refusal(&worker, 0);
    docker(&["rm", "--force", "--volumes", &worker]);
    assert!(sentence.contains("token"), "{sentence}");
    project.stop_and_check();
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
