//! `--state`: a search that is interrupted, killed or finished resumes from what it has kept, and
//! what is broken on disk is set aside.

use crate::{PROGRAM, rlbayes, start, start_cluster};
use rlbayes_common::io::read_network;
use rlbayes_tests::{Ran, Running, data, wait_until, write};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);

/// A search that ends after this many seconds of searching unless something happens before.
fn command(state: &Path, seconds: &str) -> Vec<String> {
    let table = data("alarm.csv");
    [
        "learn",
        table.to_str().unwrap(),
        "--state",
        state.to_str().unwrap(),
        "--chains",
        "4",
        "--round-evaluations",
        "20000",
        "--time",
        seconds,
        "--prove",
        "off",
        "--json",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn snapshots(state: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(state.join("chains")).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "snap"))
        .collect();
    paths.sort();
    paths
}

fn wait_for_checkpoint(state: &Path) {
    wait_until("all chains are stored", SOON, || {
        snapshots(state).len() == 4
    });
}

fn score(json: &Value) -> f64 {
    json["score"].as_f64().unwrap()
}

fn interrupted(running: Running) -> Ran {
    running.signal("INT");
    let ran = running.wait(SOON);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    ran
}

#[test]
fn an_interrupted_search_resumes_and_ends_by_its_budget() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let result = folder.path().join("alarm.csv");
    let mut args = command(&state, "6s");
    args.extend(["-o".to_owned(), result.to_str().unwrap().to_owned()]);

    let running = start(&args);
    wait_for_checkpoint(&state);
    let first = interrupted(running).json();
    assert_eq!(first["stopped_by"], "interrupt");
    assert!(state.join("journal.redb").exists());
    let written = read_network(&result).unwrap().named_dag();
    let edges = first["edges"].as_array().unwrap();
    assert_eq!(written.named_edges().count(), edges.len());

    let second = rlbayes(&args).ok().json();
    assert_eq!(second["stopped_by"], "time");
    assert!(second["iterations"].as_u64() > first["iterations"].as_u64());
    assert!(second["evaluations"].as_u64() > first["evaluations"].as_u64());
    assert!(score(&second) >= score(&first));
    let seconds = second["seconds"].as_f64().unwrap();
    assert!((6.0..9.0).contains(&seconds), "{seconds}");

    fs::remove_file(&result).unwrap();
    let third = rlbayes(&args).ok();
    assert!(third.stderr.contains("already over"), "{third:?}");
    let third = third.json();
    for field in ["score", "edges", "iterations", "evaluations", "stopped_by"] {
        assert_eq!(third[field], second[field], "{field}");
    }
    assert!(result.exists());

    // A larger budget resumes.
    let mut longer = args.clone();
    let at = longer.iter().position(|arg| arg == "6s").unwrap();
    longer[at] = "7s".to_owned();
    let fourth = rlbayes(&longer).ok().json();
    assert!(fourth["iterations"].as_u64() > third["iterations"].as_u64());
    assert!(score(&fourth) >= score(&third));
}

#[test]
fn sigterm_saves_like_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let running = start(command(&state, "60s"));
    wait_for_checkpoint(&state);
    running.signal("TERM");
    let ran = running.wait(SOON);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert_eq!(ran.json()["stopped_by"], "interrupt");
    assert_eq!(snapshots(&state).len(), 4);
}

#[test]
fn an_interrupt_without_a_state_folder_writes_the_result_too() {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("alarm.bif");
    let table = data("alarm.csv");
    let args = [
        "learn",
        table.to_str().unwrap(),
        "--time",
        "60s",
        "--prove",
        "off",
        "--json",
        "-o",
        result.to_str().unwrap(),
    ];
    let mut command = PROGRAM.command();
    command.args(args).stdin(Stdio::null());
    let running = Running::with_settings(command, &[("RLBAYES_LOG", "info")]);
    wait_until("a record", SOON, || !records(&running.logged()).is_empty());
    let ran = interrupted(running);
    assert_eq!(ran.json()["stopped_by"], "interrupt");
    assert!(result.exists());
}

#[test]
fn a_killed_search_keeps_every_record_that_it_has_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let mut killed = PROGRAM.command();
    killed.args(command(&state, "60s")).stdin(Stdio::null());
    let running = Running::with_settings(killed, &[("RLBAYES_LOG", "info")]);
    wait_for_checkpoint(&state);
    wait_until("a checkpoint after a record", SOON, || {
        let logged = running.logged();
        !records(&logged).is_empty() && logged.contains("checkpoint")
    });
    running.signal("KILL");
    let ran = running.wait(SOON);
    assert_eq!(ran.code, None, "{ran:?}");
    let best = records(&ran.stderr)
        .into_iter()
        .fold(f64::NEG_INFINITY, f64::max);

    let resumed = rlbayes(command(&state, "4s")).ok();
    assert!(!resumed.stderr.contains("broken"), "{resumed:?}");
    let json = resumed.json();
    assert!(score(&json) >= best, "{json} against {best}");
    assert!(json["seconds"].as_f64().unwrap() >= 4.0, "{json}");
    let left: Vec<PathBuf> = fs::read_dir(state.join("chains"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_none_or(|ending| ending != "snap" && ending != "txt")
        })
        .collect();
    assert!(left.is_empty(), "half-written files stay: {left:?}");
}

/// Returns the scores of the records in a log.
fn records(log: &str) -> Vec<f64> {
    log.lines()
        .filter(|line| line.contains("record"))
        .filter_map(|line| {
            line.split_once("score=")?
                .1
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        })
        .collect()
}

#[test]
fn another_search_in_the_same_folder_is_refused_with_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let args = command(&state, "100ms");
    let before = rlbayes(&args).ok().json();
    let other_table = data("asia_n1000_s1.csv.gz");
    let forbidden = write(folder.path(), "forbidden.csv", "HR,CO\n");
    let (other_table, forbidden) = (other_table.to_str().unwrap(), forbidden.to_str().unwrap());
    for (what, changed) in [
        ("seed", vec!["--seed", "2"]),
        ("score", vec!["--score", "bdeu"]),
        ("search", vec!["--search", "paper"]),
        ("search", vec!["--theta", "0.25"]),
        ("constraints", vec!["--forbidden", forbidden]),
        ("this one is of asia", vec![other_table]),
    ] {
        let mut other = args.clone();
        if changed[0] == other_table {
            other[1] = other_table.to_owned();
        } else {
            other.extend(changed.iter().map(|&text| text.to_owned()));
        }
        let ran = rlbayes(&other);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert_eq!(ran.stdout, "");
        let line = ran.stderr.trim_end();
        assert!(
            line.starts_with("error: ") && !line.contains('\n'),
            "{ran:?}"
        );
        assert!(line.contains("holds a search of alarm"), "{line}");
        assert!(line.ends_with("Use another --state"), "{line}");
        assert!(line.contains(what), "{what}: {line}");
    }
    let after = rlbayes(&args).ok().json();
    assert_eq!(after["score"], before["score"]);
}

#[test]
fn a_cluster_with_cooperation_and_one_without_are_two_searches() {
    let mut cluster = start_cluster("asia_n1000_s1.csv.gz", &["--time", "1h"]);
    cluster.wait_for("it serves", |_| true);
    cluster.kill_coordinator();
    let mut command = cluster.coordinator_command();
    command.arg("--no-cooperation");
    let other = Running::of(command);
    wait_until("the other one serves", SOON, || {
        other.logged().contains("serving")
    });
    assert!(other.logged().contains("cooperation"), "{}", other.logged());
    drop(other);
    assert_eq!(fs::read_dir(cluster.state()).unwrap().count(), 2);
    cluster.start_coordinator(&[]);
    cluster.wait_for("the same command resumes", |_| true);
}

#[test]
fn broken_snapshots_are_set_aside_and_the_search_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let before = rlbayes(command(&state, "300ms")).ok().json();
    let stored = snapshots(&state);
    assert_eq!(stored.len(), 4);
    let bytes = fs::read(&stored[0]).unwrap();
    fs::write(&stored[0], &bytes[..bytes.len() / 2]).unwrap();
    let mut bytes = fs::read(&stored[1]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&stored[1], &bytes).unwrap();
    fs::write(&stored[2], b"").unwrap();

    let ran = rlbayes(command(&state, "1s")).ok();
    for path in &stored[..3] {
        let aside = PathBuf::from(format!("{}.broken", path.display()));
        assert!(aside.exists(), "{} is not there", aside.display());
        let name = aside.to_str().unwrap();
        assert!(ran.stderr.contains(name), "{name} is not in {}", ran.stderr);
    }
    assert!(score(&ran.json()) >= score(&before));
    assert_eq!(snapshots(&state).len(), 4, "all chains are stored again");
}

#[test]
fn a_broken_journal_is_set_aside_and_the_search_resumes() {
    for damage in ["text", "truncated"] {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let before = rlbayes(command(&state, "300ms")).ok().json();
        let journal = state.join("journal.redb");
        let bytes = fs::read(&journal).unwrap();
        match damage {
            "text" => fs::write(&journal, "this is not a journal").unwrap(),
            _ => fs::write(&journal, &bytes[..bytes.len() / 3]).unwrap(),
        }
        let ran = rlbayes(command(&state, "1s")).ok();
        assert!(
            ran.stderr.contains("journal.redb.broken"),
            "{damage}: {ran:?}"
        );
        assert!(state.join("journal.redb.broken").exists(), "{damage}");
        // The chains know their best networks.
        assert!(score(&ran.json()) >= score(&before), "{damage}");
    }
}

#[test]
fn without_a_journal_chains_of_another_table_are_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let rows = fs::read_to_string(data("alarm.csv")).unwrap();
    let half: Vec<&str> = rows.lines().take(501).collect();
    let half = write(folder.path(), "half.csv", half.join("\n"));
    let mut args = command(&state, "300ms");
    let whole = std::mem::replace(&mut args[1], half.to_str().unwrap().to_owned());
    let before = rlbayes(&args).ok().json();
    args[1] = whole;
    fs::write(state.join("journal.redb"), "this is not a journal").unwrap();
    for _ in 0..2 {
        let ran = rlbayes(&args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("holds a search of half"), "{ran:?}");
        assert!(ran.stderr.contains("this one is of alarm"), "{ran:?}");
    }
    // If it is not known what the chains belong to, they are set aside.
    fs::remove_file(state.join("chains/search.txt")).unwrap();
    let ran = rlbayes(&args).ok();
    assert!(ran.stderr.contains("0.snap.broken"), "{ran:?}");
    assert!(
        score(&ran.json()) < 1.5 * score(&before),
        "a score of the whole table"
    );
}

#[test]
fn two_processes_do_not_share_a_state_folder() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let first = start(command(&state, "60s"));
    wait_for_checkpoint(&state);
    let second = rlbayes(command(&state, "60s"));
    assert_eq!(second.code, Some(2), "{second:?}");
    assert_eq!(second.stdout, "");
    assert!(second.stderr.contains("in use"), "{second:?}");
    let ran = interrupted(first);
    assert_eq!(ran.json()["stopped_by"], "interrupt");
    assert!(!state.join("journal.redb.broken").exists());
}
