//! A survey as people have it, with blanks, unicode, quotes and commas in names and states, through
//! coordinator, worker and `result` in every format; then a second table on the same folders.

use crate::{PROGRAM, rlbayes, start_cluster};
use rlbayes_common::io::read_network;
use rlbayes_common::network::NetworkFile;
use rlbayes_tests::{Cluster, SOON, data, fixture, wait_for_file, wait_until};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The names of the survey's columns, as they are in the file.
const NAMES: [&str; 6] = [
    "Do you smoke?",
    "age, in years",
    "city (home)",
    "coughs \"often\"",
    "größe|höhe; ✓",
    "{lung} disease",
];

fn survey() -> PathBuf {
    fixture("survey_names.csv")
}

/// Returns the edges of a JSON result.
fn edges(json: &Value) -> BTreeSet<(String, String)> {
    let edges = json["edges"].as_array().unwrap().iter();
    edges
        .map(|edge| {
            let name = |at: usize| edge[at].as_str().unwrap().to_owned();
            (name(0), name(1))
        })
        .collect()
}

fn named_edges(path: &Path) -> BTreeSet<(String, String)> {
    let network = read_network(path).unwrap().named_dag();
    let edges = network.named_edges();
    edges
        .map(|(from, to)| (from.to_owned(), to.to_owned()))
        .collect()
}

#[test]
fn a_survey_with_any_names_is_fetched_in_every_format() {
    let flags = ["--time", "1s", "--chains", "2"];
    let mut cluster = Cluster::of_table(PROGRAM, survey(), &flags);
    cluster.start_coordinator(&[]);
    cluster.worker("worker").wait(SOON).ok();
    cluster.wait_for_end();
    let (url, folder) = (cluster.url(), cluster.path("fetched"));
    fs::create_dir(&folder).unwrap();
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let json = rlbayes(["result", &url]).ok().json();
    let found = edges(&json);
    assert!(!found.is_empty(), "{json}");
    assert_eq!(
        rlbayes(["result", &url, "--json"]).ok().json()["edges"],
        json["edges"]
    );
    assert_eq!(json["not_fitted"], Value::Null);

    // Formats that hold any name.
    let all = ["x.xml", "x.json", "x.csv", "x.svg", "x.dot", "x.graphml"].map(at);
    let mut args = vec!["result", &url];
    args.extend(all.iter().flat_map(|path| ["-o", path]));
    rlbayes(&args).ok();
    let xml = read_network(&all[0]).unwrap();
    let NetworkFile::Parametrised(xml) = xml else {
        panic!("no probabilities");
    };
    assert_eq!(xml.schema().names().collect::<Vec<_>>(), NAMES);
    for path in &all[..3] {
        assert_eq!(named_edges(Path::new(path)), found, "{path}");
    }
    for path in &all[3..] {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains("Do you smoke?"), "{path}: {text}");
    }
    // BIF with names of its own, which our reader maps back.
    for flags in [&["--portable-names"][..], &[]] {
        let bif = at(&format!("x{}.bif", flags.len()));
        let args = [&["result", &url, "-o", &bif], flags].concat();
        rlbayes(args).ok();
        assert_eq!(named_edges(Path::new(&bif)), found);
    }
    let printed = rlbayes(["result", &url, "-o", "-", "--format", "csv"]).ok();
    assert_eq!(printed.stdout, fs::read_to_string(&all[2]).unwrap());
    // A format that cannot hold a name says so, and keeps the others not back.
    let (model, late) = (at("x.txt"), at("late.csv"));
    let ran = rlbayes(["result", &url, "-o", &model, "-o", &late]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("model string"), "{ran:?}");
    assert_eq!(named_edges(Path::new(&late)), found);

    // The folder has what can be written: BIF with portable names, the others as they are.
    let out = cluster.path("out");
    wait_until("the result of the end is there", SOON, || {
        let text = fs::read(out.join("survey_names.json")).unwrap_or_default();
        let json: Value = serde_json::from_slice(&text).unwrap_or_default();
        json["stopped_by"] == "time"
    });
    assert_eq!(named_edges(&out.join("survey_names.bif")), found);
    assert!(out.join("survey_names.svg").exists());
}

#[test]
fn a_second_table_on_the_same_folders_is_a_second_search() {
    let flags = ["--time", "500ms", "--chains", "2", "--when-done", "exit"];
    let mut cluster = Cluster::of_table(PROGRAM, survey(), &flags);
    cluster.start_coordinator(&[]);
    cluster.worker("worker").wait(SOON).ok();
    cluster.coordinator_end().ok();
    let out = cluster.path("out");
    let first = fs::read(out.join("survey_names.json")).unwrap();

    cluster.set_table(data("asia_n1000_s1.csv.gz"));
    cluster.start_coordinator(&[]);
    cluster.worker("worker").wait(SOON).ok();
    let ran = cluster.coordinator_end().ok();
    let told = "holds a search of survey_names; this one is of asia_n1000_s1, and keeps it";
    assert!(ran.stderr.contains(told), "{ran:?}");
    cluster.check_result();
    assert_eq!(fs::read(out.join("survey_names.json")).unwrap(), first);

    // The first one again: it is over, and its result is there.
    cluster.set_table(survey());
    cluster.start_coordinator(&[]);
    let ran = cluster.coordinator_end().ok();
    assert!(ran.stderr.contains("resumes after"), "{ran:?}");
    let again: Value =
        serde_json::from_slice(&fs::read(out.join("survey_names.json")).unwrap()).unwrap();
    let first: Value = serde_json::from_slice(&first).unwrap();
    for field in ["score", "edges", "evaluations", "search_id"] {
        assert_eq!(again[field], first[field], "{field}");
    }
}

/// A search that an earlier version began lies in the given folder itself.
#[test]
fn a_state_folder_of_an_earlier_version_is_resumed_with_its_results_where_they_were() {
    let flags = ["--time", "1h", "--chains", "2"];
    let mut cluster = start_cluster("asia_n1000_s1.csv.gz", &flags);
    let worker = cluster.worker("worker");
    let before = cluster.wait_for("a best row", |status| status.best_score.is_some());
    cluster.kill_coordinator();
    let journal = cluster.journal();
    let folder = journal.parent().unwrap().to_owned();
    fs::rename(&journal, cluster.state().join("journal.redb")).unwrap();
    fs::remove_dir_all(folder).unwrap();
    fs::remove_dir_all(cluster.path("out")).unwrap();
    cluster.start_coordinator(&[]);
    let after = cluster.wait_for("it serves", |_| true);
    assert!(after.best_score >= before.best_score);
    let json = rlbayes(["result", &cluster.url()]).ok().json();
    assert!(json["score"].as_f64() >= after.best_score, "{json}");
    let bif = cluster.path("out").join("asia_n1000_s1.bif");
    wait_for_file(&bif);
    assert!(!fs::symlink_metadata(&bif).unwrap().is_symlink());
    cluster.stop();
    worker.wait(SOON).ok();
    cluster.check_result();
    assert_eq!(fs::read_dir(cluster.state()).unwrap().count(), 1);
}

/// Without a penalty every edge pays, until no table of probabilities has room.
#[test]
fn a_network_without_probabilities_is_still_a_result() {
    let flags = ["--score", "loglik", "--time", "1h", "--chains", "2"];
    let mut cluster = start_cluster(
        "alarm.csv",
        &[&flags[..], &["--when-done", "exit"]].concat(),
    );
    let (url, worker) = (cluster.url(), cluster.worker("worker"));
    cluster.wait_for("a best row", |status| status.best_score.is_some());
    // Never older than what was shown.
    for _ in 0..5 {
        let shown = cluster.status().unwrap().best_score.unwrap();
        let json = rlbayes(["result", &url]).ok().json();
        assert!(json["score"].as_f64().unwrap() >= shown - 1e-9, "{shown}");
    }
    let mut json = Value::Null;
    wait_until("a network is too large", SOON, || {
        json = rlbayes(["result", &url]).ok().json();
        json["not_fitted"].is_string()
    });
    let path = |name: &str| cluster.path(name).to_str().unwrap().to_owned();
    let [bif, csv, graph] = ["x.bif", "x.csv", "x.json"].map(path);
    let ran = rlbayes(["result", &url, "-o", &bif, "-o", &csv, "-o", &graph]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("no probabilities"), "{ran:?}");
    assert!(!Path::new(&bif).exists());
    assert!(named_edges(Path::new(&csv)).len() > 100);
    assert_eq!(named_edges(Path::new(&graph)), named_edges(Path::new(&csv)));
    rlbayes(["stop", &url]).ok();
    worker.wait(SOON).ok();
    let ended = cluster.coordinator_end();
    assert_eq!(ended.code, Some(2), "the exit code tells: {ended:?}");
    assert!(ended.stderr.contains("no probabilities"), "{ended:?}");
    let out = cluster.path("out");
    let json: Value = serde_json::from_slice(&fs::read(out.join("alarm.json")).unwrap()).unwrap();
    assert!(json["not_fitted"].is_string(), "{json}");
    assert!(out.join("alarm.svg").exists() && !out.join("alarm.bif").exists());
}
