//! A coordinator and its workers where nothing goes wrong: they find what one process finds, report
//! how it is going, and end as scripts expect.

use crate::{PROGRAM, rlbayes, start, start_cluster};
use rlbayes_common::io::read_network;
use rlbayes_tests::{Running, SOON, data, wait_until};
use serde_json::Value;
use std::fs;

/// The proven optimum of alarm.csv.
const ALARM: f64 = -11657.046;

#[test]
fn two_workers_reach_the_proven_optimum_and_everybody_exits_with_0() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let address = path("address");
    let mut command = PROGRAM.command();
    command
        .args(["coordinator", "--listen", "127.0.0.1:0", "--data"])
        .arg(data("alarm.csv"))
        .arg("--state")
        .arg(path("state"))
        .arg("--out")
        .arg(path("out"))
        .arg("--address-file")
        .arg(&address)
        .args(["--target", "-11657.05", "--when-done", "exit"]);
    let worker = |name: &str| {
        let mut command = PROGRAM.command();
        command.args(["worker", "--threads", "1", "--coordinator-file"]);
        Running::of({
            command.arg(&address).arg("--state").arg(path(name));
            command
        })
    };
    // A worker may be there before its coordinator.
    let first = worker("first");
    let coordinator = Running::of(command);
    let second = worker("second");
    let ended = coordinator.wait(SOON).ok();
    assert!(ended.stderr.contains("stopped by target"), "{ended:?}");
    for worker in [first, second] {
        let ran = worker.wait(SOON).ok();
        assert_eq!(ran.stdout, "", "logs go to stderr");
    }
    // One that comes after the end finds nobody, and has no reason to wait.
    let late = worker("late").wait(SOON).ok();
    assert!(late.stderr.contains("the search is over"), "{late:?}");
    let out = path("out");
    let json: Value = serde_json::from_slice(&fs::read(out.join("alarm.json")).unwrap()).unwrap();
    assert!((json["score"].as_f64().unwrap() - ALARM).abs() < 1e-3);
    assert_eq!(json["stopped_by"], "target");
    let network = read_network(out.join("alarm.bif")).unwrap().named_dag();
    let edges = json["edges"].as_array().unwrap().len();
    assert_eq!(network.named_edges().count(), edges);
    let picture = fs::read_to_string(out.join("alarm.svg")).unwrap();
    assert!(picture.contains("<svg"));
}

#[test]
fn people_see_stop_and_fetch_a_search() {
    let cluster = start_cluster("alarm.csv", &["--time", "1h"]);
    let url = cluster.url();
    let worker = cluster.worker("worker");
    cluster.wait_for("a best row", |status| {
        status.best_score.is_some() && status.evaluations > 0
    });
    let status = rlbayes(["status", &url, "--json"]).ok().json();
    assert_eq!(status["state"], "running");
    for field in ["best_score", "best_age_seconds", "evaluations", "diversity"] {
        assert!(status[field].is_number(), "{field}: {status}");
    }
    assert!(status["pool_size"].as_u64().unwrap() > 0);
    assert_eq!(status["stopped_by"], Value::Null);
    let workers = status["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 1);
    assert_eq!(workers[0]["host"], "worker");
    assert_eq!(workers[0]["threads"], 1);
    assert_eq!(workers[0]["alive"], true);
    for field in ["id", "evaluations_per_second", "last_exchange_seconds"] {
        assert!(workers[0][field].is_number(), "{field}: {status}");
    }
    let shown = rlbayes(["status", &url]).ok();
    assert!(shown.stdout.contains("workers      1 of 1"), "{shown:?}");
    assert_eq!(rlbayes(["health", &url]).ok().stdout, "serving\n");

    let watching = start(["watch", &url, "--json"]);
    let stopped = rlbayes(["stop", &url, "--json"]).ok().json();
    assert_eq!(stopped["stopped_by"], "stop");
    worker.wait(SOON).ok();
    let end = cluster.wait_for_end();
    assert_eq!(end.stopped_by, "stop");

    let watched = watching.wait(SOON).ok();
    let lines: Vec<Value> = watched
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.last().unwrap()["state"], "finished");

    let file = cluster.path("x.bif");
    let mut result = None;
    wait_until("the result is that of the end", SOON, || {
        let args = ["result", &url, "--json", "-o", file.to_str().unwrap()];
        let ran = rlbayes(args);
        let json = ran.ok().json();
        let over = json["stopped_by"] == "stop"
            && json["score"].as_f64() == end.best_score
            && json["evaluations"].as_u64() == Some(end.evaluations);
        result = Some(json);
        over
    });
    let result = result.unwrap();
    let network = read_network(&file).unwrap().named_dag();
    let edges = result["edges"].as_array().unwrap().len();
    assert_eq!(network.named_edges().count(), edges);
    cluster.check_result();
}

#[test]
fn a_worker_that_joins_a_finished_search_exits_with_0() {
    let mut cluster = start_cluster("asia_n1000_s1.csv.gz", &["--time", "500ms"]);
    cluster.worker("first").wait(SOON).ok();
    let end = cluster.wait_for_end();
    assert_eq!(end.stopped_by, "time");
    cluster.worker("late").wait(SOON).ok();
    assert_eq!(cluster.status().unwrap().best_score, end.best_score);

    // The same command after the end serves the result on.
    cluster.kill_coordinator();
    cluster.start_coordinator(&[]);
    let again = cluster.wait_for_end();
    assert_eq!(again.best_score, end.best_score);
    assert_eq!(again.evaluations, end.evaluations);
    cluster.worker("later").wait(SOON).ok();
}

#[test]
fn health_and_status_of_a_coordinator_that_is_not_there_exit_with_3() {
    let mut cluster = start_cluster("asia_n1000_s1.csv.gz", &[]);
    cluster.wait_for("it serves", |_| true);
    cluster.kill_coordinator();
    for command in ["health", "status", "stop", "watch"] {
        let ran = rlbayes([command, &cluster.url()]);
        assert_eq!(ran.code, Some(3), "{command}: {ran:?}");
        assert!(!ran.stderr.is_empty());
    }
}

#[test]
fn a_worker_that_gives_up_exits_with_3_and_one_that_is_drained_with_0() {
    let mut cluster = start_cluster("asia_n1000_s1.csv.gz", &["--time", "1h"]);
    let drained = cluster.worker("drained");
    let gives_up = cluster.worker_with("alone", &cluster.url(), &["--give-up-after", "1s"], &[]);
    cluster.wait_for("two workers", |status| alive(status) == 2);
    // Twice, as where a batch system signals the program and the shell around it.
    drained.signal("TERM");
    drained.signal("TERM");
    let ran = drained.wait(SOON).ok();
    assert!(ran.stderr.contains("drained"), "{ran:?}");
    let left = cluster.wait_for("one worker left", |status| alive(status) == 1);
    assert_eq!(left.state, "running");
    cluster.kill_coordinator();
    let ran = gives_up.wait(SOON);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    // One that never got through gives up too.
    let ran = cluster
        .worker_with("never", &cluster.url(), &["--give-up-after", "500ms"], &[])
        .wait(SOON);
    assert_eq!(ran.code, Some(3), "{ran:?}");
}

#[test]
fn a_worker_whose_coordinator_ended_with_the_search_ends_by_the_address_file() {
    let mut cluster = start_cluster("asia_n1000_s1.csv.gz", &["--time", "1h"]);
    let file = cluster.path("address");
    fs::write(&file, cluster.url()).unwrap();
    let mut command = PROGRAM.command();
    command.args(["worker", "--threads", "1", "--coordinator-file"]);
    command.arg(&file);
    let worker = Running::of(command);
    cluster.wait_for("a worker", |status| alive(status) == 1);
    // It has ended before the worker knew of the end.
    cluster.kill_coordinator();
    fs::write(&file, "over\n").unwrap();
    worker.wait(SOON).ok();
}

#[test]
fn a_worker_shows_that_it_lives_and_drains_when_it_is_asked_by_its_folder() {
    let cluster = start_cluster("alarm.csv", &["--stagnation", "1h"]);
    let worker = cluster.worker("one");
    let folder = cluster.path("one");
    let folder = folder.to_str().unwrap();
    wait_until("it gives signs of life", SOON, || {
        rlbayes(["health", "--worker", folder]).code == Some(0)
    });
    cluster.wait_for("it searches", |status| status.evaluations > 0);
    let drained = rlbayes(["drain", folder]).ok();
    assert_eq!(drained.stdout, "drained\n");
    let ran = worker.wait(SOON).ok();
    assert!(ran.stderr.contains("asked to drain"), "{ran:?}");
    let status = cluster.wait_for("it has left", |status| {
        status.workers.iter().all(|worker| !worker.alive)
    });
    assert_eq!(status.workers.len(), 1);
    for command in [&["health", "--worker", folder][..], &["drain", folder]] {
        let nobody = rlbayes(command);
        assert_eq!(nobody.code, Some(3), "{nobody:?}");
        assert!(nobody.stderr.contains("no worker runs here"), "{nobody:?}");
    }
    // The next one is not asked.
    let again = cluster.worker("one");
    cluster.wait_for("it searches again", |status| {
        status.workers.iter().any(|worker| worker.alive)
    });
    cluster.stop();
    again.wait(SOON).ok();
}

#[test]
fn a_coordinator_that_is_interrupted_exits_with_130_and_the_same_command_resumes() {
    let flags = ["--time", "4s", "--when-done", "exit"];
    let mut cluster = start_cluster("alarm.csv", &flags);
    let worker = cluster.worker("worker");
    let before = cluster.wait_for("work", |status| status.evaluations > 0);
    for signal in ["USR1", "USR1", "TERM"] {
        cluster.coordinator().signal(signal);
    }
    let ran = cluster.coordinator_end();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.stderr.contains("continues from here"), "{ran:?}");
    cluster.start_coordinator(&[]);
    let after = cluster.wait_for("it serves", |_| true);
    assert!(after.best_score >= before.best_score && after.evaluations >= before.evaluations);
    assert!(after.elapsed_seconds >= before.elapsed_seconds);
    cluster.coordinator_end().ok();
    worker.wait(SOON).ok();
    assert_eq!(cluster.result()["stopped_by"], "time");
    cluster.check_result();
}

#[test]
fn a_coordinator_that_cannot_write_its_last_files_does_not_exit_with_0() {
    let flags = ["--time", "4s", "--when-done", "exit"];
    let mut cluster = start_cluster("asia_n1000_s1.csv.gz", &flags);
    let worker = cluster.worker("worker");
    let out = cluster.path("out");
    wait_until("a first result is written", SOON, || {
        out.join("asia_n1000_s1.json").exists()
    });
    fs::rename(&out, cluster.path("earlier")).unwrap();
    fs::write(&out, "a file is in the way").unwrap();
    let ran = cluster.coordinator_end();
    worker.wait(SOON).ok();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("finished:"), "{ran:?}");
    let told = "the result could not be written";
    assert!(ran.stderr.contains(told), "{ran:?}");
}

#[test]
fn other_flags_on_the_same_state_are_another_search_and_both_are_kept() {
    let flags = ["--time", "500ms", "--when-done", "exit"];
    let mut cluster = start_cluster("asia_n1000_s1.csv.gz", &flags);
    cluster.worker("first").wait(SOON).ok();
    cluster.coordinator_end().ok();
    let journal = cluster.journal();
    let first = fs::read(&journal).unwrap();
    let mut command = cluster.coordinator_command();
    command.args(["--seed", "99"]);
    let second = Running::of(command);
    let worker = cluster.worker("second");
    let ran = second.wait(SOON).ok();
    worker.wait(SOON).ok();
    assert!(
        ran.stderr.contains("with seed 1; this one has 99"),
        "{ran:?}"
    );
    assert_eq!(fs::read(&journal).unwrap(), first, "untouched");
    let folders = |path| fs::read_dir(path).unwrap().count();
    assert_eq!(folders(cluster.state()), 2);
    // Two folders, and the three names that lead to the newest.
    assert_eq!(folders(cluster.path("out")), 5);
    // The first command finds its search at its end.
    cluster.start_coordinator(&[]);
    let ran = cluster.coordinator_end().ok();
    assert!(ran.stderr.contains("resumes after"), "{ran:?}");
    assert!(ran.stderr.contains("stopped by time"), "{ran:?}");
}

/// A chain's next step starts from a row that another worker found: with theta 1 the paper's walk
/// makes the best received row current whenever it gets some.
#[test]
fn a_chain_of_the_papers_walk_continues_from_a_row_of_another_worker() {
    let mut flags = vec!["--search", "paper", "--chains", "2", "--theta", "1"];
    // Its steps are slow: slices of a few of them.
    flags.extend(["--round-evaluations", "2000", "--time", "1h"]);
    seeds_cross_the_cluster("win95pts_n1000_s1.csv.gz", &flags);
}

/// The default search continues from a child of its row and another's where that is better than both:
/// on so large a network two chains have always something to give each other.
#[test]
fn a_chain_of_the_default_search_continues_from_a_row_of_another_worker() {
    seeds_cross_the_cluster("andes_n1000_s1.csv.gz", &["--chains", "2", "--time", "1h"]);
}

fn seeds_cross_the_cluster(table: &str, flags: &[&str]) {
    let cluster = start_cluster(table, flags);
    let workers = [cluster.worker("first"), cluster.worker("second")];
    let status = cluster.wait_for("a row of another chain is current", |status| {
        status.seeds_made_current > 0 && alive(status) == 2
    });
    assert!(status.seeds_sent >= status.seeds_received, "{status:?}");
    assert!(status.seeds_received >= status.seeds_entered, "{status:?}");
    assert!(status.seeds_entered > 0, "{status:?}");
    let chains: Vec<u32> = status.workers.iter().map(|worker| worker.chains).collect();
    assert_eq!(chains, [1, 1], "each has one chain: the rows are another's");
    cluster.stop();
    for worker in workers {
        worker.wait(SOON).ok();
    }
}

#[test]
fn without_cooperation_no_seeds_are_sent() {
    let flags = ["--chains", "2", "--time", "1h", "--no-cooperation"];
    let cluster = start_cluster("asia_n1000_s1.csv.gz", &flags);
    let _workers = [cluster.worker("first"), cluster.worker("second")];
    let status = cluster.wait_for("both work", |status| {
        alive(status) == 2 && status.exchanges > 20
    });
    assert_eq!((status.seeds_sent, status.seeds_received), (0, 0));
}

pub(crate) fn alive(status: &rlbayes_proto::v1::StatusReply) -> usize {
    status.workers.iter().filter(|worker| worker.alive).count()
}

/// Returns the objects of a log, one per line.
fn objects(log: &str) -> Vec<Value> {
    log.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn a_log_as_json_has_an_object_a_line_with_fields_and_spans() {
    let flags = ["--deterministic", "--chains", "2", "--evaluations"];
    let more = ["200000", "--when-done", "exit", "--log-format", "json"];
    let mut cluster = start_cluster("asia_n1000_s1.csv.gz", &[&flags[..], &more].concat());
    let level = [("RLBAYES_LOG", "info,rlbayes::chains=debug")];
    let json = ["--log-format", "json"];
    let worker = cluster.worker_with("worker", &cluster.url(), &json, &level);
    let coordinator = objects(&cluster.coordinator_end().ok().stderr);
    let worker = objects(&worker.wait(SOON).ok().stderr);
    let find = |log: &[Value], message: &str| {
        let found = log.iter().find(|event| {
            let logged = event["fields"]["message"].as_str();
            logged.is_some_and(|logged| logged.contains(message))
        });
        found
            .unwrap_or_else(|| panic!("no {message:?} in {log:?}"))
            .clone()
    };
    let record = find(&coordinator, "record");
    assert!(record["fields"]["score"].is_f64(), "{record}");
    assert_eq!(record["span"]["name"], "round", "{record}");
    assert_eq!(find(&coordinator, "serving asia")["level"], "INFO");
    find(&coordinator, "finished: ");
    let slice = find(&worker, "a slice has ended");
    assert!(slice["fields"]["evaluations"].is_u64(), "{slice}");
    assert_eq!(slice["span"]["name"], "slice", "{slice}");
    assert!(slice["span"]["chain"].is_string(), "{slice}");
    find(&worker, "joined");
}
