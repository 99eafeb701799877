//! The image: one static binary, a user without rights, nothing else.

use crate::docker::{IMAGE, SOON, docker, in_project, log, run};
use rlbayes_tests::Running;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

#[test]
fn the_image_holds_one_static_binary_and_two_folders() {
    let about: Value = serde_json::from_str(&docker(&["image", "inspect", IMAGE])).unwrap();
    let bytes = about[0]["Size"].as_u64().unwrap();
    println!("size of the image: {:.1} MB", bytes as f64 / 1e6);
    // 25 MB as it is released; the gate builds without optimisation across crates, which makes 27.
    assert!(bytes < 28_000_000, "{bytes}");
    assert_eq!(about[0]["Config"]["User"], "65532:65532");

    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("image.tar");
    docker(&["save", "--output", archive.to_str().unwrap(), IMAGE]);
    tar(&["--extract"], &archive, folder.path());
    let manifest = fs::read(folder.path().join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    // What our own stages have put there, and nothing of anybody else's.
    let layers = manifest[0]["Layers"].as_array().unwrap();
    assert_eq!(layers.len(), 2, "{manifest}");
    let listed: String = layers
        .iter()
        .map(|layer| folder.path().join(layer.as_str().unwrap()))
        .map(|layer| {
            tar(
                &["--list", "--verbose", "--numeric-owner"],
                &layer,
                folder.path(),
            )
        })
        .collect();
    let mut ours: Vec<String> = listed
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .map(|fields| format!("{} {} {}", fields[0], fields[1], fields[5]))
        .collect();
    ours.sort();
    assert_eq!(
        ours,
        [
            "-rw-r--r-- 65532/65532 out/.keep",
            "-rw-r--r-- 65532/65532 state/.keep",
            "-rwxr-xr-x 0/0 rlbayes",
            "drwxr-xr-x 65532/65532 out/",
            "drwxr-xr-x 65532/65532 state/",
        ]
    );
    let binary = fs::read(in_project("deploy/image/rlbayes")).unwrap();
    // PT_INTERP would name the dynamic loader.
    assert!(!binary.windows(9).any(|part| part == b"/ld-linux"));
    let shell = run("docker", ["run", "--rm", "--entrypoint", "/bin/sh", IMAGE]);
    assert_ne!(shell.code, Some(0));
}

#[test]
fn the_program_starts_in_under_a_second_with_a_read_only_root() {
    let data = in_project("data");
    let data = format!("{}:/data:ro", data.to_str().unwrap());
    let args = [
        "run",
        "--detach",
        "--read-only",
        "--volume",
        &data,
        "--volume",
        "/state",
        IMAGE,
        "coordinator",
        "--data",
        "/data/alarm.csv",
        "--state",
        "/state",
    ];
    // The best of five: Docker and the machine have other things to do as well.
    let fastest = (0..5)
        .map(|_| {
            let container = docker(&args);
            rlbayes_tests::wait_until("it serves", SOON, || log(&container).contains("serving"));
            let started = docker(&["inspect", "--format", "{{.State.StartedAt}}", &container]);
            let logged = docker_log_times(&container);
            docker(&["rm", "--force", "--volumes", &container]);
            seconds_of_day(&logged).saturating_sub(seconds_of_day(&started))
        })
        .min()
        .unwrap();
    println!("from the start of the process to serving: {fastest:?}");
    assert!(fastest < Duration::from_secs(1), "{fastest:?}");
}

/// Runs tar on an archive in a folder, and returns what it printed.
fn tar(args: &[&str], archive: &Path, folder: &Path) -> String {
    let mut command = Command::new("tar");
    command.args(args).arg("--file").arg(archive);
    command.current_dir(folder);
    Running::of(command).wait(SOON).ok().stdout
}

/// Returns when the first line was logged.
fn docker_log_times(container: &str) -> String {
    let ran = run("docker", ["logs", "--timestamps", container]);
    let text = ran.stdout + &ran.stderr;
    text.split_whitespace().next().unwrap().to_owned()
}

/// Reads the time of day from 2026-11-16T18:04:45.123456789Z.
fn seconds_of_day(time: &str) -> Duration {
    let (_, time) = time.split_once('T').unwrap();
    let mut parts = time.trim_end_matches('Z').split(':');
    let mut next = || parts.next().unwrap().parse::<f64>().unwrap();
    Duration::from_secs_f64(next() * 3600.0 + next() * 60.0 + next())
}
