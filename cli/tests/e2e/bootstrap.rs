//! Support of edges from outside: `bootstrap`, `learn --replicates` and `average`.

use crate::{PROGRAM, rlbayes, start};
use rlbayes_tests::{Running, data, network, wait_until, write};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Longer than anything takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(120);

fn asia() -> String {
    data("asia_n1000_s1.csv.gz").to_str().unwrap().to_owned()
}

/// The files that a bootstrap writes, byte by byte.
fn written(folder: &Path, flags: &[&str]) -> Vec<Vec<u8>> {
    let names = [
        "s.csv",
        "s.json",
        "s.svg",
        "s.png",
        "s.pdf",
        "s.dot",
        "s.graphml",
        "s.bif",
    ];
    let paths: Vec<_> = names.iter().map(|name| folder.join(name)).collect();
    let table = asia();
    let mut args = vec!["bootstrap", &table, "--quiet"];
    for path in &paths {
        args.extend(["-o", path.to_str().unwrap()]);
    }
    args.extend(flags);
    rlbayes(args).ok();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn files_are_the_same_on_any_number_of_threads_and_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--replicates", "24", "--threads"];
    let with = |threads| written(folder.path(), &[&flags[..], &[threads]].concat());
    let one = with("1");
    assert_eq!(one, with("2"));
    assert_eq!(one, with("3"));
    // Killed on the way, then continued.
    let state = folder.path().join("state");
    let state = state.to_str().unwrap();
    let table = asia();
    let running = start([
        "bootstrap",
        &table,
        "--replicates",
        "24",
        "--threads",
        "1",
        "--state",
        state,
    ]);
    let journal = Path::new(state).join("replicates.redb");
    wait_until("a journal", DEADLINE, || journal.exists());
    running.signal("KILL");
    let resumed = written(folder.path(), &["--replicates", "24", "--state", state]);
    assert_eq!(one, resumed);
    let again = written(folder.path(), &["--replicates", "24", "--state", state]);
    assert_eq!(one, again);
}

#[test]
fn the_report_says_what_it_is_based_on_and_what_it_means() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("s.csv");
    let table = asia();
    let ran = rlbayes([
        "bootstrap",
        &table,
        "--replicates",
        "20",
        "-o",
        csv.to_str().unwrap(),
    ])
    .ok();
    for part in [
        "20 resampled tables, score bic, 7 edges in the best network",
        "support  s.e.    ->    <-    --   edge",
        "L1 threshold",
        "not the probability that an edge is real",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    let text = fs::read_to_string(csv).unwrap();
    assert!(text.starts_with("from,to,strength,direction,"), "{text}");
    let help = rlbayes(["bootstrap", "--help"]).ok().stdout;
    assert!(help.contains("stability under resampling"), "{help}");
}

#[test]
fn json_has_what_scripts_need_and_networks_on_request() {
    let table = asia();
    let args = ["bootstrap", &table, "--replicates", "10", "--json"];
    let plain = rlbayes(args).ok().json();
    assert_eq!(plain["method"], "bootstrap");
    assert_eq!(
        (&plain["replicates"], &plain["rows"]),
        (&10.into(), &1000.into())
    );
    assert_eq!(plain["rows_per_replicate"], 1000);
    assert_eq!(plain["replacement"], true);
    assert_eq!(plain["evaluations_per_replicate"], 50_000);
    assert_eq!(plain["replicates_unfinished"], 0);
    assert_eq!(plain["threshold"]["value"], 0.5);
    assert!(plain["networks"].is_null());
    let more = [
        &args[..],
        &["--keep-networks", "--rows-per-replicate", "300"],
    ]
    .concat();
    let kept = rlbayes(more).ok().json();
    assert_eq!(kept["rows_per_replicate"], 300);
    assert_eq!(kept["networks"].as_array().unwrap().len(), 10);
    assert!(kept["networks"][3]["edges"][0][0].is_string(), "{kept}");
}

#[test]
fn learn_with_replicates_adds_support_to_what_it_prints_and_writes() {
    let folder = tempfile::tempdir().unwrap();
    let (dot, graphml) = (folder.path().join("a.dot"), folder.path().join("a.graphml"));
    let (file, page) = (folder.path().join("a.json"), folder.path().join("a.html"));
    let table = asia();
    let ran = rlbayes([
        "learn",
        &table,
        "--evaluations",
        "50000",
        "--replicates",
        "10",
        "--json",
        "-o",
        dot.to_str().unwrap(),
        "-o",
        graphml.to_str().unwrap(),
        "-o",
        file.to_str().unwrap(),
        "-o",
        page.to_str().unwrap(),
    ])
    .ok();
    for part in ["10 resampled tables", "   nats lost   support"] {
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("10 resampled tables"), "{page}");
    let file: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let lists = ["edges", "strengths"].map(|name| file[name].as_array().unwrap().len());
    assert_eq!(lists[0], lists[1], "{file}");
    let json = ran.json();
    assert_eq!(json["support"]["replicates"], 10);
    // The same replicates as those of bootstrap.
    let alone = rlbayes(["bootstrap", &table, "--replicates", "10", "--json"])
        .ok()
        .json();
    let shares = |json: &Value| -> Vec<(String, String)> {
        let edges = json["edges"].as_array().unwrap().iter();
        edges
            .map(|edge| (edge["strength"].to_string(), edge["forward"].to_string()))
            .collect()
    };
    assert_eq!(shares(&json["support"]), shares(&alone));
    assert!(fs::read_to_string(dot).unwrap().contains("strength=1"));
    let graphml = fs::read_to_string(graphml).unwrap();
    assert!(graphml.contains("<data key=\"strength\">"), "{graphml}");
    let without = rlbayes(["learn", &table, "--evaluations", "50000", "--json"]).ok();
    assert!(without.json()["support"].is_null());
}

#[test]
fn an_interrupt_writes_what_there_is_and_says_how_much() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let csv = folder.path().join("s.csv");
    let bif = folder.path().join("s.bif");
    let table = data("alarm.csv");
    let flags = |replicates| {
        let mut flags = vec!["bootstrap".to_owned(), table.to_str().unwrap().to_owned()];
        let rest = ["--replicates", replicates, "--threads", "1", "--state"];
        flags.extend(rest.map(str::to_owned));
        flags.extend([state.to_str().unwrap(), "-o", csv.to_str().unwrap()].map(str::to_owned));
        flags.extend(["-o", bif.to_str().unwrap()].map(str::to_owned));
        flags
    };
    rlbayes(flags("3")).ok();
    fs::remove_file(&bif).unwrap();
    let journal = state.join("replicates.redb");
    let changed = || fs::metadata(&journal).unwrap().modified().unwrap();
    let before = changed();
    let running: Running = start(flags("100000"));
    wait_until("more replicates", DEADLINE, || changed() > before);
    running.signal("INT");
    let ran = running.wait(DEADLINE);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.stdout.contains("interrupted: based on"), "{ran:?}");
    assert!(ran.stdout.contains("of 100000 replicates"), "{ran:?}");
    let text = fs::read_to_string(csv).unwrap();
    assert!(text.starts_with("from,to,strength"), "{text}");
    // What is called written is there.
    let text = fs::read_to_string(&bif).unwrap();
    assert!(text.contains("// rlbayes:about replicates"), "{text}");
    assert!(ran.stderr.contains("s.bif"), "{ran:?}");
}

#[test]
fn an_interrupt_before_the_first_replicate_leaves_a_report_of_the_best_network() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("r.html");
    let csv = folder.path().join("s.csv");
    let table = data("andes_n1000_s1.csv.gz");
    let running: Running = start([
        "bootstrap",
        table.to_str().unwrap(),
        "--threads",
        "1",
        "--state",
        folder.path().join("state").to_str().unwrap(),
        "-o",
        page.to_str().unwrap(),
        "-o",
        csv.to_str().unwrap(),
    ]);
    let state = folder.path().join("state");
    wait_until("the search has begun", DEADLINE, || {
        fs::read_dir(&state).is_ok_and(|files| files.count() > 0)
    });
    running.signal("INT");
    let ran = running.wait(DEADLINE);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.stderr.contains("only the report is written"), "{ran:?}");
    assert!(page.exists() && !csv.exists(), "{ran:?}");
}

#[test]
fn required_edges_are_marked_wherever_their_support_stands() {
    let folder = tempfile::tempdir().unwrap();
    let required = write(folder.path(), "required.csv", "from,to\nxray,asia\n");
    let names = ["x.dot", "x.graphml", "x.json", "x.html"];
    let paths = names.map(|name| folder.path().join(name));
    let table = asia();
    let mut args = vec!["learn", &table, "--replicates", "4", "--time", "1s"];
    args.extend(["--required", required.to_str().unwrap(), "--as", "dag"]);
    for path in &paths {
        args.extend(["-o", path.to_str().unwrap()]);
    }
    let ran = rlbayes(args).ok();
    let line = ran
        .stdout
        .lines()
        .find(|line| line.contains("xray -> asia"));
    assert!(line.unwrap().contains("required"), "{ran:?}");
    let [dot, graphml, json, html] = paths.map(|path| fs::read_to_string(path).unwrap());
    assert!(dot.contains("\"1.00 required\""), "{dot}");
    assert_eq!(
        graphml.matches("\"required\">true<").count(),
        1,
        "{graphml}"
    );
    let json: Value = serde_json::from_str(&json).unwrap();
    let marked = json["required"].as_array().unwrap();
    let edges = json["edges"].as_array().unwrap();
    for (edge, marked) in edges.iter().zip(marked) {
        let is_required = *edge == serde_json::json!(["xray", "asia"]);
        assert_eq!(*marked, is_required, "{json}");
    }
    assert!(html.contains("[\"xray\",\"→\",\"asia\","), "{html}");
}

#[test]
fn average_counts_networks_that_one_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = write(folder.path(), name, text);
        path.to_str().unwrap().to_owned()
    };
    let chain = path("1.txt", "[a][b|a][c|b]");
    let turned = path("2.txt", "[c][b|c][a|b]");
    let collider = path("3.txt", "[a][c][b|a:c]");
    let lone = path("4.txt", "[a][b][c]");
    let csv = folder.path().join("s.csv");
    let csv = csv.to_str().unwrap();
    let ran = rlbayes(["average", &chain, &turned, &collider, &lone, "-o", csv]).ok();
    assert!(ran.stdout.starts_with("4 networks"), "{ran:?}");
    let text = fs::read_to_string(csv).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "from,to,strength,direction,forward,backward,undirected,se"
    );
    // Twice undirected and once a -> b: (1 + 2 / 2) / 3.
    assert!(
        lines[1].starts_with("a,b,0.75,0.6666666666666666,0.25,0,0.5,"),
        "{text}"
    );
    let other = path("5.txt", "[a][b][d]");
    let refused = rlbayes(["average", &chain, &other]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("all networks need the same nodes"),
        "{refused:?}"
    );
    let refused = rlbayes(["average", &chain, "-o", &chain]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn what_cannot_be_done_is_refused_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("s.svg");
    let table = asia();
    let wide = write(folder.path(), "wide.csv", crate::wide_table(2001));
    let wide = wide.to_str().unwrap();
    for (args, part) in [
        (
            vec!["bootstrap", &table, "--replicates", "0"],
            "--replicates",
        ),
        (vec!["bootstrap", &table, "--threshold", "2"], "--threshold"),
        (
            vec!["bootstrap", &table, "--rows-per-replicate", "5000"],
            "--rows-per-replicate",
        ),
        (
            vec!["bootstrap", &table, "--rows-per-replicate", "x"],
            "a share such as 0.5",
        ),
        (
            vec!["bootstrap", &table, "--replicate-evaluations", "0"],
            "--replicate-evaluations",
        ),
        (
            vec!["bootstrap", &table, "--without-replacement"],
            "every edge would look certain",
        ),
        (vec!["bootstrap", &table, "--threads", "0"], "--threads"),
        (vec!["bootstrap", &table, "-o", &table], "is the table"),
        (
            vec!["bootstrap", wide, "-o", svg.to_str().unwrap()],
            "at most 2000 nodes",
        ),
        (
            vec!["learn", &table, "--replicates", "0", "--time", "9m"],
            "--replicates",
        ),
    ] {
        let refused = rlbayes(&args);
        assert_eq!(refused.code, Some(2), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains(part), "{args:?}: {refused:?}");
    }
    // Another bootstrap in the same folder is named.
    let state = folder.path().join("state");
    let state = state.to_str().unwrap();
    let seeds = |seed| {
        rlbayes([
            "bootstrap",
            &table,
            "--replicates",
            "2",
            "--quiet",
            "--state",
            state,
            "--replicate-evaluations",
            seed,
        ])
    };
    seeds("60000").ok();
    let refused = seeds("70000");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("Use another --state"),
        "{refused:?}"
    );
}

#[test]
fn the_truth_colours_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("s.svg");
    let (table, truth) = (asia(), network("asia"));
    let args = [
        "bootstrap",
        &table,
        "--replicates",
        "5",
        "--threshold",
        "0.05",
        "--quiet",
        "--truth",
        truth.to_str().unwrap(),
        "-o",
        svg.to_str().unwrap(),
    ];
    PROGRAM.run(args).ok();
    let text = fs::read_to_string(svg).unwrap();
    // A shade of orange, paler the fewer replicates have it.
    let is_orange = |line: &str| {
        let part = |at: usize| {
            let (_, colour) = line.split_once("stroke=\"#")?;
            u8::from_str_radix(colour.get(at..at + 2)?, 16).ok()
        };
        line.starts_with("<path") && part(0) > part(2) && part(2) > part(4)
    };
    assert!(text.lines().any(is_orange), "a false edge is drawn: {text}");
    assert!(text.contains("threshold of what is drawn"), "{text}");
}

#[test]
fn a_report_shows_the_support_of_edges() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let table = asia();
    let args = ["bootstrap", &table, "--replicates", "5", "-o"];
    // One evaluation is not enough for a climb, and few edges are in all replicates.
    let odd = ["--replicate-evaluations", "1", "--threshold", "1"];
    let ran = rlbayes(args.into_iter().chain([page.to_str().unwrap()]).chain(odd)).ok();
    assert!(ran.stderr.contains("report.html"), "{ran:?}");
    let page = fs::read_to_string(page).unwrap();
    for part in [
        "share of 5 resampled tables that have the edge: stability under resampling, not the probability",
        "of the best network have support below 1: ",
        "5 replicates had too few evaluations for one climb",
        "\"support\":",
        "rlbayes bootstrap ",
    ] {
        assert!(page.contains(part), "{part}");
    }
}
