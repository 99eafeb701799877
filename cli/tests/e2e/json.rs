//! What scripts may rely on: one JSON object on stdout, its fields and their types.

use crate::{PROGRAM, rlbayes};
use rlbayes_tests::{data, network, write};
use serde_json::Value;

#[test]
fn learn_prints_one_object_with_the_promised_fields() {
    let table = data("asia_n1000_s1.csv.gz");
    let truth = network("asia");
    let (table, truth) = (table.to_str().unwrap(), truth.to_str().unwrap());
    for quiet in [true, false] {
        let mut args = vec!["learn", table, "--truth", truth, "--json", "--seed", "5"];
        args.extend(["--threads", "1", "--iterations", "50"]);
        args.extend(quiet.then_some("--quiet"));
        let ran = rlbayes(args).ok();
        assert_eq!(quiet, ran.stderr.is_empty(), "{ran:?}");
        let json = ran.json();
        assert_score(&json["score"]);
        assert_eq!(json["score_name"], "bic");
        assert_eq!(json["search"], "rlbayes");
        let edges = json["edges"].as_array().unwrap();
        assert!(!edges.is_empty());
        for edge in edges {
            let ends = edge.as_array().unwrap();
            assert!(
                ends.len() == 2 && ends.iter().all(Value::is_string),
                "{edge}"
            );
        }
        for count in ["evaluations", "computed", "iterations"] {
            assert!(json[count].as_u64().unwrap() > 0, "{count}: {json}");
        }
        assert!(
            json["computed"].as_u64() <= json["evaluations"].as_u64(),
            "{json}"
        );
        assert_eq!(json["iterations"], 50);
        let (seconds, best_at) = (&json["seconds"], &json["best_at_seconds"]);
        assert!(
            seconds.as_f64().unwrap() >= best_at.as_f64().unwrap(),
            "{json}"
        );
        assert_eq!(json["threads"], 1);
        assert_eq!(json["seed"], 5);
        assert_eq!(json["stopped_by"], "iterations");
        assert_metrics(&json["metrics"]);
        assert_score(&json["metrics"]["truth_score"]);
    }
}

#[test]
fn without_a_truth_there_are_no_metrics() {
    let table = data("asia_n1000_s1.csv.gz");
    let args = ["learn", table.to_str().unwrap(), "--json", "--search", "hc"];
    let json = rlbayes(args).ok().json();
    assert_eq!(json.get("metrics"), None);
    assert_eq!(json["search"], "hc");
    assert_eq!(json["stopped_by"], "exhausted");
}

#[test]
fn each_budget_is_named_when_it_ends_the_search() {
    let table = data("asia_n1000_s1.csv.gz");
    for (flag, value, reason) in [
        ("--time", "100ms", "time"),
        ("--cpu-time", "100ms", "cpu-time"),
        ("--evaluations", "3000", "evaluations"),
        ("--iterations", "20", "iterations"),
        ("--target", "-2400", "target"),
        ("--stagnation", "20000", "stagnation"),
    ] {
        let table = table.to_str().unwrap();
        let args = ["learn", table, "--json", "--prove", "off", flag, value];
        let json = rlbayes(args).ok().json();
        assert_eq!(json["stopped_by"], reason, "{flag} {value}");
    }
}

#[test]
fn the_score_of_a_result_is_the_one_that_score_gives_it() {
    let folder = tempfile::tempdir().unwrap();
    let table = data("asia_n1000_s1.csv.gz");
    let table = table.to_str().unwrap();
    let result = folder.path().join("asia.bif");
    let result = result.to_str().unwrap();
    for score in ["bic", "aic", "bdeu", "k2"] {
        let learned = [
            "learn",
            table,
            "--json",
            "--score",
            score,
            "--iterations",
            "40",
            "-o",
            result,
        ];
        let learned = rlbayes(learned).ok().json();
        assert_eq!(learned["score_name"], score);
        let scored = ["score", table, result, "--json", "--score", score];
        let scored = rlbayes(scored).ok().json();
        let (a, b) = (learned["score"].as_f64(), scored["score"].as_f64());
        assert_eq!(a, b, "{score}");
        let parts = scored["by_node"].as_object().unwrap();
        assert_eq!(parts.len(), 8);
        parts.values().for_each(assert_score);
    }
}

#[test]
fn networks_without_edges_can_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    let none = rlbayes_tests::write(folder.path(), "none.csv", "from,to,directed\n");
    let some = rlbayes_tests::write(folder.path(), "some.txt", "[a][b][c]");
    let (none, some) = (none.to_str().unwrap(), some.to_str().unwrap());
    for (truth, learned) in [(none, some), (some, none), (none, none)] {
        let found = rlbayes(["compare", truth, learned, "--json"]).ok().json();
        assert_eq!(found["shd_cpdag"], 0, "{found}");
    }
}

#[test]
fn compare_uses_the_names_of_the_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let truth = network("asia");
    let truth = truth.to_str().unwrap();
    let json = rlbayes(["compare", truth, truth, "--json"]).ok().json();
    assert_metrics(&json);
    assert_eq!(json["f1_directed"], 1.0);
    assert_eq!(json["f1_skeleton"], 1.0);
    assert_eq!(json["auc"], 1.0);
    assert_eq!(json["shd_cpdag"], 0);
    let other = write(folder.path(), "other.csv", "smoke,asia\nasia,tub\n");
    let json = rlbayes(["compare", truth, other.to_str().unwrap(), "--json"])
        .ok()
        .json();
    assert_metrics(&json);
    assert!(json["f1_directed"].as_f64().unwrap() < 0.5, "{json}");
}

#[test]
fn check_tells_what_a_table_holds() {
    let folder = tempfile::tempdir().unwrap();
    let table = "a,b,c\n1,x,k\n2,,k\n1,y,k\n3,x,k\n";
    let table = write(folder.path(), "table.csv", table);
    let args = [
        "check",
        table.to_str().unwrap(),
        "--missing",
        "drop-rows",
        "--json",
    ];
    let json = rlbayes(args).ok().json();
    assert_eq!(json["rows"], 3);
    assert_eq!(json["rows_dropped"], 1);
    assert_eq!(json["missing"], 1);
    assert!(json["memory_bytes"].as_u64().unwrap() > 0);
    let columns = json["columns"].as_array().unwrap();
    let names: Vec<&str> = columns
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(columns[1]["missing"], 1);
    assert_eq!(columns[1]["constant"], false);
    assert_eq!(columns[2]["constant"], true);
    assert_eq!(columns[2]["states"], 1);
}

#[test]
fn flags_have_environment_twins() {
    let table = data("asia_n1000_s1.csv.gz");
    let mut command = PROGRAM.command();
    command
        .args(["learn", table.to_str().unwrap(), "--json"])
        .stdin(std::process::Stdio::null());
    let running = rlbayes_tests::Running::with_settings(
        command,
        &[("RLBAYES_ITERATIONS", "7"), ("RLBAYES_SEED", "9")],
    );
    let json = running.wait(std::time::Duration::from_secs(60)).ok().json();
    assert_eq!(json["iterations"], 7);
    assert_eq!(json["seed"], 9);
}

fn assert_score(value: &Value) {
    assert!(value.as_f64().unwrap() < 0.0, "{value}");
}

fn assert_metrics(metrics: &Value) {
    for name in ["f1_directed", "auc", "f1_skeleton"] {
        let value = metrics[name].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&value), "{name}: {metrics}");
    }
    assert!(metrics["shd_cpdag"].is_u64(), "{metrics}");
}
