//! What people read: sentences that say what is expected, and no words of the machine.

use crate::cluster::alive;
use crate::{PROGRAM, rlbayes, start_cluster};
use rlbayes_tests::{Running, SOON, data, network, own_port, wait_until, write};
use std::fs;
use std::process::Stdio;

fn asia() -> String {
    data("asia_n1000_s1.csv.gz").to_str().unwrap().to_owned()
}

/// Runs a command that must be refused; returns its sentence.
fn refused(args: &[&str]) -> String {
    let ran = rlbayes(args);
    assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "{args:?}: {ran:?}");
    ran.stderr
}

#[test]
fn a_number_that_is_none_is_told_what_is_expected() {
    let asia = asia();
    for (args, expected) in [
        (&["--seed", "-1"][..], "expected a whole number"),
        (&["--seed", "x"], "expected a whole number"),
        (
            &["--seed", "99999999999999999999"],
            "expected a smaller number",
        ),
        (&["--ess", "x"], "expected a number"),
        (&["--max-parents", "-2"], "expected a whole number"),
        (&["--evaluations", "1e6"], "expected a whole number"),
    ] {
        let sentence = refused(&[&["learn", &asia], args].concat());
        assert!(sentence.contains(args[0]), "{sentence}");
        assert!(sentence.contains(expected), "{sentence}");
        assert!(!sentence.contains("digit"), "{sentence}");
    }
}

#[test]
fn what_is_not_there_is_told_without_numbers_of_errors() {
    let asia = asia();
    for args in [
        &["learn", &asia, "--truth", "nosuch.bif"][..],
        &["learn", &asia, "--required", "nosuch.csv"],
        &["learn", &asia, "--schema", "nosuch.toml"],
        &["status", "http://127.0.0.1:1", "--token-file", "nosuch"],
        &["check-proof", &asia, "nosuch.proof"],
    ] {
        let sentence = refused(args);
        assert!(sentence.contains("nosuch"), "{sentence}");
        assert!(sentence.contains("there is no such file"), "{sentence}");
        assert!(!sentence.contains("os error"), "{sentence}");
    }
    let ran = rlbayes(["drain", "nosuch"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(ran.stderr, "error: nosuch: no worker runs here\n");
}

#[test]
fn names_are_taken_in_any_case_and_switches_by_any_word() {
    let asia = asia();
    let quick = ["--evaluations", "500", "--threads", "1", "--json"];
    let args = ["learn", &asia, "--score", "BDeu", "--search", "HC"];
    let json = rlbayes([&args[..], &quick].concat()).ok().json();
    assert_eq!(
        (&json["score_name"], &json["search"]),
        (&"bdeu".into(), &"hc".into())
    );
    for (value, is_quiet) in [("1", true), ("yes", true), ("on", true), ("0", false)] {
        let mut command = PROGRAM.command();
        let args = ["learn", &asia, "--evaluations", "500", "--threads", "1"];
        command.args(args).stdin(Stdio::null());
        let ran = Running::with_settings(command, &[("RLBAYES_QUIET", value)])
            .wait(SOON)
            .ok();
        assert_eq!(ran.stdout.is_empty(), is_quiet, "{value}: {ran:?}");
        // Nothing is printed, and no file holds it.
        let is_lost = ran.stderr.contains("what is found is lost");
        assert_eq!((is_lost, ran.stderr.is_empty()), (is_quiet, !is_quiet));
    }
}

#[test]
fn a_flag_without_effect_is_a_warning_and_one_in_the_environment_is_not() {
    let asia = asia();
    let args = [
        "learn",
        &asia,
        "--evaluations",
        "500",
        "--threads",
        "1",
        "--quiet",
        "--json",
    ];
    let ran = rlbayes([&args[..], &["--ess", "10", "--restarts", "3"]].concat()).ok();
    assert_eq!(
        ran.stderr,
        "warning: --ess has no effect with --score bic\n\
         warning: --restarts has no effect with --search rlbayes\n"
    );
    let mut command = PROGRAM.command();
    command.args(args).stdin(Stdio::null());
    let ran = Running::with_settings(command, &[("RLBAYES_ESS", "10")])
        .wait(SOON)
        .ok();
    assert_eq!(ran.stderr, "");
}

#[test]
fn one_is_singular_and_an_end_has_a_reason() {
    let asia = asia();
    let args = ["learn", &asia, "--search", "hc", "--threads", "1", "-v"];
    let ran = rlbayes(args).ok();
    let told = format!("{}{}", ran.stderr, ran.stdout);
    assert!(told.contains("1 chain on 1 thread"), "{told}");
    assert!(!told.contains("exhausted"), "{told}");
    assert!(told.contains("no better neighbour"), "{told}");
    let json = rlbayes([&args[..], &["--json"]].concat()).ok().json();
    assert_eq!(json["stopped_by"], "exhausted", "scripts rely on it");
}

#[test]
fn networks_without_a_common_node_are_not_compared() {
    let [asia, alarm] = ["asia", "alarm"].map(|name| network(name).to_str().unwrap().to_owned());
    let sentence = refused(&["compare", &asia, &alarm]);
    assert!(sentence.contains("no node in common"), "{sentence}");
    assert!(sentence.contains("\"bronc\""), "{sentence}");
    let folder = tempfile::tempdir().unwrap();
    let part = write(
        folder.path(),
        "part.csv",
        "from,to\nsmoke,lung\nsmoke,gout\n",
    );
    let ran = rlbayes(["compare", &asia, part.to_str().unwrap(), "--json"]).ok();
    assert!(ran.json()["auc"].is_number());
    assert!(ran.stderr.contains("lacks 1 node of"), "{ran:?}");
    assert!(ran.stderr.contains("lacks 6 nodes of"), "{ran:?}");
}

#[test]
fn names_that_others_refuse_are_one_sentence_and_not_one_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let edges = write(folder.path(), "e.csv", "from,to\na,c\n");
    // States that BIF holds and pyAgrum refuses; then names that BIF itself cannot hold.
    for (name, header) in [("plain.csv", "a,b,c"), ("blank.csv", "a,b,c,d e,f g")] {
        let columns = header.split(',').count();
        let row = |value: &str| vec![value; columns].join(",");
        let rows = ["0.5", "1.5", "2.5", "0.5"].map(row).join("\n");
        let table = write(folder.path(), name, format!("{header}\n{rows}\n"));
        let bif = folder.path().join("f.bif");
        let paths = [&table, &edges, &bif].map(|path| path.to_str().unwrap());
        let ran = rlbayes(["fit", paths[0], paths[1], "-o", paths[2]]);
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        assert!(ran.stderr.contains("f.bif: "), "{ran:?}");
    }
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    rlbayes(["man", "--dir", pages.to_str().unwrap()]).ok();
    let main = fs::read_to_string(pages.join("rlbayes.1")).unwrap();
    let mut named = 0;
    for word in main.split(|c: char| c.is_whitespace()) {
        let Some((name, _)) = word.split_once("(1)") else {
            continue;
        };
        let name = name.replace("\\-", "-");
        assert!(pages.join(format!("{name}.1")).exists(), "{name}");
        named += 1;
    }
    assert!(named >= 19, "{named}");
    let learn = rlbayes(["man", "learn"]).ok().stdout;
    assert!(learn.contains("max\\-parents"), "{learn}");
    assert_eq!(
        learn,
        fs::read_to_string(pages.join("rlbayes-learn.1")).unwrap()
    );
    assert!(refused(&["man", "nosuch"]).contains("check-proof"));
}

#[test]
fn a_search_that_was_stopped_is_stopping_and_then_stopped_by_a_user() {
    let cluster = start_cluster("alarm.csv", &["--time", "1h"]);
    let url = cluster.url();
    let worker = cluster.worker("worker");
    cluster.wait_for("a worker", |status| alive(status) == 1);
    let shown = rlbayes(["stop", &url]).ok().stdout;
    assert!(shown.contains("(stopped by a user)"), "{shown}");
    assert!(!shown.contains("running"), "{shown}");
    worker.wait(SOON).ok();
    cluster.wait_for_end();
    let shown = rlbayes(["status", &url]).ok().stdout;
    assert!(
        shown.contains("state        finished (stopped by a user)"),
        "{shown}"
    );
    assert!(shown.contains("1 thread "), "{shown}");
}

#[test]
fn the_http_port_says_where_the_other_one_is() {
    let http = own_port();
    let address = format!("127.0.0.1:{http}");
    let cluster = start_cluster(
        "asia_n1000_s1.csv.gz",
        &["--time", "1h", "--http", &address],
    );
    cluster.wait_for("it serves", |_| true);
    for command in ["status", "stop", "watch", "result", "health"] {
        let ran = rlbayes([command, &format!("http://{address}")]);
        assert_eq!(ran.code, Some(2), "{command}: {ran:?}");
        let expected = format!("this is the HTTP port; gRPC is on port {}", cluster.port());
        assert!(ran.stderr.contains(&expected), "{command}: {ran:?}");
        assert!(!ran.stderr.contains("transport"), "{command}: {ran:?}");
    }
    let url = format!("http://{address}");
    let worker = cluster.worker_with("worker", &url, &[], &[]).wait(SOON);
    assert_eq!(worker.code, Some(2), "{worker:?}");
    assert!(
        worker.stderr.contains("this is the HTTP port"),
        "{worker:?}"
    );
    // Nobody works yet: the rate is 0, not minus 0.
    let status = rlbayes(["status", &cluster.url(), "--json"]).ok();
    assert!(
        status.stdout.contains("\"evaluations_per_second\": 0.0"),
        "{status:?}"
    );
}

#[test]
fn a_coordinator_that_everybody_reaches_warns_and_names_an_address_that_works() {
    let folder = tempfile::tempdir().unwrap();
    let started = |flags: &[&str]| {
        let port = own_port();
        let mut command = PROGRAM.command();
        command
            .args([
                "coordinator",
                "--data",
                &asia(),
                "--listen",
                &format!("0.0.0.0:{port}"),
            ])
            .arg("--state")
            .arg(folder.path().join(port.to_string()))
            .args(flags)
            .stdin(Stdio::null());
        let running = Running::of(command);
        wait_until("it serves", SOON, || running.logged().contains("join by"));
        running
    };
    let open = started(&[]);
    let logged = open.logged();
    assert!(logged.contains("everybody who reaches"), "{logged}");
    let join = logged
        .lines()
        .find(|line| line.contains("join by"))
        .unwrap();
    let url = join.split_whitespace().last().unwrap();
    assert!(!url.contains("0.0.0.0"), "{join}");
    assert_eq!(rlbayes(["health", url]).ok().stdout, "serving\n");
    let token = write(folder.path(), "token", "0123456789abcdef0123456789abcdef");
    let closed = started(&["--token-file", token.to_str().unwrap()]);
    let logged = closed.logged();
    assert!(!logged.contains("everybody"), "{logged}");
    assert!(logged.contains("--token-file TOKEN"), "{logged}");
}
