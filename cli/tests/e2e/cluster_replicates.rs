//! Support of edges as cluster work: the same bytes as on one machine, whoever is killed.

use crate::{PROGRAM, rlbayes};
use rlbayes_tests::{Cluster, data, killed, wait_until};
use serde_json::Value;
use std::fs;
use std::time::Duration;

/// Longer than anything takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(180);

const TABLE: &str = "child_n1000_s1.csv.gz";
const REPLICATES: &str = "30";

/// The budget of the search, so small that the replicates come soon and so large that every search
/// finds the optimum.
const FLAGS: [&str; 6] = [
    "--evaluations",
    "2000000",
    "--replicates",
    REPLICATES,
    "--deterministic",
    "--seed=1",
];

/// Makes each replicate take so long that kills come in the middle of them on any machine.
const LONG: [&str; 1] = ["--replicate-evaluations=3000000"];

/// What one machine writes.
fn on_one_machine(more: &[&str]) -> (Vec<u8>, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (csv, svg) = (path("s.csv"), path("s.svg"));
    let table = data(TABLE).to_str().unwrap().to_owned();
    let args = ["bootstrap", &table, "--replicates", REPLICATES, "--seed=1"];
    let out = ["-o", &csv, "-o", &svg, "--quiet"];
    rlbayes(args.iter().chain(&out).chain(more)).ok();
    (fs::read(csv).unwrap(), fs::read(svg).unwrap())
}

/// Waits for the files of a cluster.
fn of_cluster(cluster: &Cluster) -> (Vec<u8>, Vec<u8>) {
    cluster.wait_for_end();
    let result = cluster.result();
    let path = |ending: &str| cluster.path("out").join(format!("child_n1000_s1.{ending}"));
    let done = |json: &Value| json["support"]["replicates"].as_u64();
    assert_eq!(done(&result), Some(30), "{}", result["support"]);
    // Files follow the end.
    wait_until("the files of the end", DEADLINE, || {
        let json = fs::read(path("support.json")).unwrap_or_default();
        let json: Value = serde_json::from_slice(&json).unwrap_or_default();
        json == result["support"] && path("support.csv").exists() && path("support.svg").exists()
    });
    let read = |ending: &str| fs::read(path(ending)).unwrap();
    (read("support.csv"), read("support.svg"))
}

fn replicates_done(cluster: &Cluster) -> u32 {
    cluster.status().map_or(0, |status| status.replicates_done)
}

#[test]
fn any_number_of_workers_gives_the_bytes_of_one_machine() {
    let expected = on_one_machine(&[]);
    for workers in [1, 2, 7] {
        let cluster = Cluster::start(PROGRAM, TABLE, &FLAGS);
        let _workers: Vec<_> = (0..workers)
            .map(|at| cluster.worker(&format!("w{at}")))
            .collect();
        let files = of_cluster(&cluster);
        assert!(files == expected, "{workers} workers");
        let status = cluster.wait_for_end();
        assert_eq!((status.replicates_done, status.replicates), (30, 30));
        let shown = rlbayes(["status", &cluster.url()]).ok();
        assert!(
            shown.stdout.contains("30 of 30 replicates"),
            "{}",
            shown.stdout
        );
    }
}

#[test]
fn kills_of_workers_and_of_the_coordinator_change_no_byte() {
    let flags: Vec<&str> = FLAGS.into_iter().chain(LONG).collect();
    let mut cluster = Cluster::start(PROGRAM, TABLE, &flags);
    let first = cluster.worker("first");
    let second = cluster.worker("second");
    wait_until("a replicate", DEADLINE, || replicates_done(&cluster) > 0);
    killed(first);
    let shown = replicates_done(&cluster);
    cluster.kill_coordinator();
    cluster.start_coordinator(&[]);
    cluster.wait_for("as many replicates as before", |status| {
        assert!(
            status.replicates_done >= shown,
            "{} of {shown}",
            status.replicates_done
        );
        true
    });
    let third = cluster.worker("third");
    wait_until("more replicates", DEADLINE, || {
        replicates_done(&cluster) > shown
    });
    killed(second);
    cluster.kill_coordinator();
    cluster.start_coordinator(&[]);
    let files = of_cluster(&cluster);
    assert!(files == on_one_machine(&LONG));
    drop(third);
}

#[test]
fn more_replicates_keep_those_that_are_done() {
    let mut fewer = FLAGS;
    fewer[3] = "12";
    let mut cluster = Cluster::prepare(PROGRAM, TABLE, &fewer);
    cluster.start_coordinator(&[]);
    let worker = cluster.worker("first");
    cluster.wait_for("12 replicates", |status| {
        status.state == "finished" && status.replicates_done == 12
    });
    cluster.kill_coordinator();
    drop(worker);
    cluster.set_flags(&FLAGS);
    cluster.start_coordinator(&[]);
    let status = cluster.wait_for("the replicates that are done", |_| true);
    assert_eq!((status.replicates_done, status.replicates), (12, 30));
    let _worker = cluster.worker("second");
    assert!(of_cluster(&cluster) == on_one_machine(&[]));
}

#[test]
fn a_stop_ends_the_replicates_with_what_there_is() {
    let mut flags = FLAGS;
    flags[3] = "5000";
    let cluster = Cluster::start(PROGRAM, TABLE, &flags);
    let _worker = cluster.worker("first");
    wait_until("a replicate", DEADLINE, || replicates_done(&cluster) > 2);
    let status = cluster.stop();
    assert!(status.replicates_done > 2 && status.replicates_done < 5000);
    assert_eq!(status.stopped_by, "stop");
    // The files follow the end.
    wait_until("the last replicate is in the file", DEADLINE, || {
        let result = cluster.result();
        result["support"]["replicates"].as_u64() >= Some(u64::from(status.replicates_done))
    });
}
