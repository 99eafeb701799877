//! What people see of a result: the same network whatever the threads and the seed, and a report on
//! standard output that holds it.

use crate::{PROGRAM, rlbayes};
use rlbayes_tests::{Cluster, data, network, write};
use std::fs;

/// The optimum of the table, which is proven in a second.
const ALARM: f64 = -11_657.046;

#[test]
fn equal_scores_give_equal_files_whatever_threads_and_seed() {
    let folder = tempfile::tempdir().unwrap();
    let table = data("alarm.csv");
    let mut files = Vec::new();
    for (threads, seed) in [("1", "1"), ("2", "7"), ("8", "23")] {
        let path = folder.path().join(format!("{threads}.bif"));
        let args = ["learn", table.to_str().unwrap(), "--threads", threads];
        let more = ["--seed", seed, "--target", "-11657.05", "--quiet", "-o"];
        let args = args.iter().chain(&more);
        rlbayes(args.copied().chain([path.to_str().unwrap()])).ok();
        files.push(fs::read(path).unwrap());
    }
    let mut cluster = Cluster::prepare(PROGRAM, "alarm.csv", &["--target", "-11657.05"]);
    cluster.start_coordinator(&[]);
    let _worker = cluster.worker("worker");
    cluster.wait_for_end();
    // Waits for the files of the end.
    assert!((cluster.result()["score"].as_f64().unwrap() - ALARM).abs() < 1e-3);
    let path = folder.path().join("cluster.bif");
    let url = cluster.url();
    rlbayes(["result", &url, "-o", path.to_str().unwrap()]).ok();
    files.push(fs::read(path).unwrap());
    assert!(files.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn the_report_is_on_standard_output_and_holds_the_network() {
    let table = data("asia_n1000_s1.csv.gz");
    let truth = network("asia");
    let args = [
        "learn",
        table.to_str().unwrap(),
        "--truth",
        truth.to_str().unwrap(),
    ];
    let fixed = ["--threads", "1", "--iterations", "50", "--seed", "5"];
    let all: Vec<&str> = args.iter().chain(&fixed).copied().collect();
    let ran = rlbayes(&all).ok();
    let json = rlbayes(all.iter().chain(&["--json"])).ok();
    let report = ran.stdout.as_str();
    assert!(ran.stderr.is_empty(), "{ran:?}");
    for edge in json.json()["edges"].as_array().unwrap() {
        let (from, to) = (edge[0].as_str().unwrap(), edge[1].as_str().unwrap());
        let shown = [
            format!("{from} -> {to}"),
            format!("{from} -- {to}"),
            format!("{to} -- {from}"),
        ];
        assert!(shown.iter().any(|line| report.contains(line)), "{report}");
    }
    for what in [
        "edges, strongest first",
        "score  ",
        "found after",
        "(stopped by iterations)",
    ] {
        assert!(report.contains(what), "{what}: {report}");
    }
    assert!(
        report.lines().all(|line| line.chars().count() <= 80),
        "{report}"
    );
    for inner in ["chains", "local scores", "elite pool"] {
        assert!(!report.contains(inner), "{report}");
    }
    // Scripts that ask for JSON have standard output to themselves.
    assert!(json.stderr.contains("strongest first"), "{json:?}");
    let verbose = rlbayes(all.iter().chain(&["-v"])).ok();
    assert!(
        verbose.stdout.contains("local scores asked for"),
        "{verbose:?}"
    );
    assert!(
        verbose
            .stdout
            .lines()
            .all(|line| line.chars().count() <= 80)
    );
}

#[test]
fn json_says_what_is_compelled_and_what_each_edge_is_worth() {
    let folder = tempfile::tempdir().unwrap();
    // c follows a or b: a -> c <- b is compelled. d copies c with errors: compelled away from it.
    let mut rows = String::from("a,b,c,d,e,f\n");
    for row in 0..400_u32 {
        let (a, b) = (row & 1, row >> 1 & 1);
        let c = if row % 17 == 0 { 1 - (a | b) } else { a | b };
        let d = if row % 13 == 0 { 1 - c } else { c };
        let e = u32::from(row % 5 < 2);
        let f = if row % 11 == 0 { 1 - e } else { e };
        rows += &format!("{a},{b},{c},{d},{e},{f}\n");
    }
    let table = write(folder.path(), "made.csv", rows);
    let run = |more: &[&str]| {
        let args = [
            "learn",
            table.to_str().unwrap(),
            "--json",
            "--quiet",
            "--target",
            "0",
        ];
        let limits = ["--threads", "1", "--iterations", "100"];
        let all = args.iter().chain(&limits).chain(more);
        rlbayes(all).ok().json()
    };
    let free = run(&[]);
    let compelled = serde_json::json!([["a", "c"], ["b", "c"], ["c", "d"]]);
    assert_eq!(free["cpdag"]["directed"], compelled, "{free}");
    assert_eq!(free["cpdag"]["undirected"], serde_json::json!([["e", "f"]]));
    let gains = free["edge_gains"].as_array().unwrap();
    assert_eq!(gains.len(), free["edges"].as_array().unwrap().len());
    assert!(
        gains.iter().all(|gain| gain.as_f64().unwrap() > 0.0),
        "{free}"
    );
    // What is known beforehand directs the edge, and K2 directs all.
    let required = write(folder.path(), "required.csv", "f,e\n");
    let known = run(&["--required", required.to_str().unwrap()]);
    assert_eq!(known["cpdag"]["undirected"], serde_json::json!([]));
    assert!(
        known["edges"]
            .as_array()
            .unwrap()
            .contains(&serde_json::json!(["f", "e"]))
    );
    assert_eq!(known["score"], free["score"]);
    assert_eq!(
        run(&["--score", "k2"])["cpdag"]["undirected"],
        serde_json::json!([])
    );
}

#[test]
fn resuming_is_announced() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let table = data("asia_n1000_s1.csv.gz");
    let run = |iterations: &str| {
        let args = [
            "learn",
            table.to_str().unwrap(),
            "--threads",
            "1",
            "--iterations",
        ];
        let more = [iterations, "--state", state.to_str().unwrap()];
        rlbayes(args.iter().chain(&more)).ok()
    };
    assert!(!run("200").stderr.contains("resumed"));
    let second = run("400");
    assert!(second.stderr.contains("resumed: "), "{second:?}");
    assert!(second.stderr.contains(" searched, best -"), "{second:?}");
}
