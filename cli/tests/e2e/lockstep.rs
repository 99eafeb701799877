//! `--deterministic` across processes: the same result bit for bit, whoever runs the chains and
//! whatever happens to them.

use crate::cluster::alive;
use crate::{prepare_cluster, rlbayes, start_cluster};
use rlbayes_tests::{Cluster, Running, SOON, aborted, data, killed};
use serde_json::Value;
use std::sync::OnceLock;

const FLAGS: [&str; 9] = [
    "--deterministic",
    "--chains",
    "5",
    // So many rounds, each of which is stored, that faults come in the middle.
    "--round-evaluations",
    "4000",
    "--evaluations",
    "3000000",
    "--seed",
    "5",
];

/// What one process finds.
fn expected() -> &'static Value {
    static EXPECTED: OnceLock<Value> = OnceLock::new();
    EXPECTED.get_or_init(|| {
        let table = data("alarm.csv");
        let mut args = vec!["learn", table.to_str().unwrap(), "--json", "--threads", "1"];
        args.extend(FLAGS);
        rlbayes(args).ok().json()
    })
}

fn start() -> Cluster {
    start_cluster("alarm.csv", &FLAGS)
}

fn workers(cluster: &Cluster, count: usize) -> Vec<Running> {
    (0..count)
        .map(|number| cluster.worker(&format!("worker{number}")))
        .collect()
}

/// Waits for the end and compares everything that is promised.
fn end(cluster: Cluster, workers: Vec<Running>) {
    cluster.wait_for_end();
    for worker in workers {
        worker.wait(SOON).ok();
    }
    let (found, expected) = (cluster.result(), expected());
    for field in [
        "score",
        "edges",
        "evaluations",
        "iterations",
        "stopped_by",
        "seed",
    ] {
        assert_eq!(found[field], expected[field], "{field}");
    }
}

fn wait_for_round(cluster: &Cluster, round: u64) {
    let status = cluster.wait_for("a round in the middle", |status| status.round >= round);
    assert_eq!(status.stopped_by, "", "it is over already");
}

#[test]
fn lockstep_gives_the_same_with_1_2_and_5_workers_as_in_one_process() {
    for count in [1, 2, 5] {
        let cluster = start();
        let workers = workers(&cluster, count);
        end(cluster, workers);
    }
}

#[test]
fn lockstep_gives_the_same_when_a_worker_is_killed_in_the_middle() {
    let cluster = start();
    let mut workers = workers(&cluster, 2);
    cluster.wait_for("both take part", |status| alive(status) == 2);
    wait_for_round(&cluster, 3);
    killed(workers.pop().unwrap());
    let lost = cluster.wait_for("it is missed", |status| alive(status) == 1);
    assert_eq!(lost.stopped_by, "", "it is over already");
    end(cluster, workers);
}

#[test]
fn lockstep_gives_the_same_when_the_only_worker_is_killed_and_another_comes() {
    let cluster = start();
    let first = cluster.worker("first");
    wait_for_round(&cluster, 2);
    killed(first);
    let waits = cluster.wait_for("nobody works", |status| alive(status) == 0);
    assert_eq!(waits.stopped_by, "", "it is over already");
    let second = cluster.worker("second");
    end(cluster, vec![second]);
}

#[test]
fn lockstep_gives_the_same_when_the_coordinator_is_killed_and_restarted() {
    let mut cluster = start();
    let workers = workers(&cluster, 2);
    for round in [2, 5] {
        wait_for_round(&cluster, round);
        cluster.kill_coordinator();
        cluster.start_coordinator(&[]);
    }
    end(cluster, workers);
}

#[test]
fn lockstep_gives_the_same_when_everybody_is_killed() {
    let mut cluster = start();
    let both = workers(&cluster, 2);
    wait_for_round(&cluster, 4);
    cluster.kill_coordinator();
    both.into_iter().for_each(killed);
    cluster.start_coordinator(&[]);
    let both = workers(&cluster, 2);
    end(cluster, both);
}

/// One of two workers is killed (-9) before it reports, and the search is stopped before anybody
/// misses it: the other one takes its chains, finishes the round and exits.
#[test]
fn a_lockstep_search_that_is_stopped_in_a_round_ends_without_a_worker_that_was_killed() {
    let flags = [
        "--deterministic",
        "--chains",
        "4",
        "--round-evaluations",
        "20000",
        "--time",
        "1h",
        "--lease",
        "6s",
    ];
    let cluster = start_cluster("alarm.csv", &flags);
    let stays = cluster.worker("stays");
    cluster.wait_for("it works", |status| status.round >= 1);
    let fails = [("RLBAYES_FAILPOINT", "worker-before-exchange:3")];
    aborted(cluster.worker_with("goes", &cluster.url(), &[], &fails));
    rlbayes(["stop", &cluster.url()]).ok();
    let stopped = cluster.status().expect("it serves");
    assert_eq!(stopped.stopped_by, "stop");
    assert_eq!(alive(&stopped), 2, "one is missed already");
    assert_ne!(stopped.state, "finished", "the round is not over");
    stays.wait(SOON).ok();
    assert_eq!(cluster.wait_for_end().stopped_by, "stop");
    cluster.check_result();
}

#[test]
fn lockstep_gives_the_same_when_the_journal_is_cut_off_at_any_boundary() {
    for failpoint in [
        "journal-before-write:4",
        "journal-before-commit:5",
        "journal-after-commit:6",
        "coordinator-before-reply:60",
    ] {
        let mut cluster = prepare_cluster("alarm.csv", &FLAGS);
        cluster.start_coordinator(&[("RLBAYES_FAILPOINT", failpoint)]);
        let workers = workers(&cluster, 2);
        let ran = cluster.coordinator_end();
        assert_eq!(ran.code, None, "{failpoint} was not reached: {ran:?}");
        cluster.start_coordinator(&[]);
        end(cluster, workers);
    }
}
