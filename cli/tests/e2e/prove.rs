//! Proofs from outside: `prove`, `check-proof`, and the prover beside `learn`.

use crate::{PROGRAM, rlbayes};
use rlbayes_tests::{Running, SOON, data, wait_for_file, write};

#[test]
fn a_proof_is_written_and_checked_and_a_changed_one_refused() {
    let folder = tempfile::tempdir().unwrap();
    let table = data("asia_n1000_s1.csv.gz");
    let table = table.to_str().unwrap();
    let certificate = folder.path().join("asia.proof");
    let certificate = certificate.to_str().unwrap();
    let network = folder.path().join("asia.csv");
    let network = network.to_str().unwrap();
    let args = [
        "prove",
        table,
        "--certificate",
        certificate,
        "-o",
        network,
        "--json",
    ];
    let json = rlbayes(args).ok().json();
    assert_eq!(json["proven"], true, "{json}");
    assert_eq!(json["gap"], 0.0);
    assert_eq!(json["covers"], "all networks");
    assert!(
        (json["score"].as_f64().unwrap() + 2281.253).abs() < 0.001,
        "{json}"
    );
    // The network it wrote is the one that it proved.
    let again = rlbayes(["prove", table, network]).ok();
    assert!(
        again.stdout.starts_with("proven: no network scores higher"),
        "{again:?}"
    );
    let checked = rlbayes(["check-proof", table, certificate]).ok();
    assert!(checked.stdout.starts_with("the proof holds"), "{checked:?}");
    let text = std::fs::read_to_string(certificate).unwrap();
    let changed = text.replacen("bound_units\":-", "bound_units\":-1", 1);
    let other = write(folder.path(), "other.proof", changed);
    let refused = rlbayes(["check-proof", table, other.to_str().unwrap()]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("it was changed"), "{refused:?}");
    let elsewhere = data("sachs_n1000_s1.csv.gz");
    let refused = rlbayes(["check-proof", elsewhere.to_str().unwrap(), certificate]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("another table"), "{refused:?}");
}

#[test]
fn a_network_that_is_not_the_best_is_never_called_proven() {
    let folder = tempfile::tempdir().unwrap();
    let table = data("asia_n1000_s1.csv.gz");
    let table = table.to_str().unwrap();
    let empty = write(folder.path(), "empty.csv", "from,to\nasia,tub\n");
    let json = rlbayes(["prove", table, empty.to_str().unwrap(), "--json"])
        .ok()
        .json();
    assert_eq!(json["improved"], true, "{json}");
    assert!(
        (json["score"].as_f64().unwrap() + 2281.253).abs() < 0.001,
        "{json}"
    );
}

#[test]
fn inputs_are_never_overwritten_and_bad_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = "a,b\n0,1\n1,0\n0,1\n1,1\n";
    let table = write(folder.path(), "t.csv", text);
    let network = write(folder.path(), "n.csv", "from,to\na,c\n");
    let [table, network] = [&table, &network].map(|path| path.to_str().unwrap());
    for (args, expected) in [
        (vec!["prove", table, "--certificate", table], "is the table"),
        (vec!["prove", table, "-o", table], "is the table"),
        (
            vec!["prove", table, "--certificate", "/no/such/x.proof"],
            "there is no folder",
        ),
        (vec!["prove", table, network], "n.csv: the node \"c\""),
        (vec!["check-proof", table, table], "not a certificate"),
    ] {
        let ran = rlbayes(&args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{args:?}: {ran:?}");
    }
    assert_eq!(std::fs::read_to_string(table).unwrap(), text);
}

#[test]
fn learn_ends_when_its_network_is_proven_and_does_not_where_that_is_off() {
    let table = data("asia_n1000_s1.csv.gz");
    let table = table.to_str().unwrap();
    for threads in ["1", "2"] {
        let json = rlbayes(["learn", table, "--threads", threads, "--json", "--quiet"])
            .ok()
            .json();
        assert_eq!(json["stopped_by"], "proven", "{json}");
        assert_eq!(json["proven"], true);
        assert_eq!(json["gap"], 0.0);
        assert!(
            (json["score"].as_f64().unwrap() + 2281.253).abs() < 0.001,
            "{json}"
        );
    }
    let args = [
        "learn",
        table,
        "--prove",
        "off",
        "--stagnation",
        "200ms",
        "--json",
        "--quiet",
    ];
    let json = rlbayes(args).ok().json();
    assert_eq!(json["stopped_by"], "stagnation", "{json}");
    assert_eq!(json["proven"], false);
    // Counted searches stay repeatable: nothing ends them but their count.
    let args = [
        "learn",
        table,
        "--evaluations",
        "20000",
        "--threads",
        "1",
        "--json",
        "--quiet",
    ];
    assert_eq!(rlbayes(args).ok().json()["stopped_by"], "evaluations");
}

#[test]
fn learn_can_be_for_a_proof_only() {
    let table = data("sachs_n1000_s1.csv.gz");
    let table = table.to_str().unwrap();
    let args = ["learn", table, "--prove", "only", "--json", "--quiet"];
    let json = rlbayes(args).ok().json();
    assert_eq!(json["stopped_by"], "proven", "{json}");
    assert_eq!((&json["proven"], &json["gap"]), (&true.into(), &0.0.into()));
    assert_eq!(json["proof"]["covers"], "all networks", "{json}");
    assert_eq!(json["proof"]["score"], json["score"]);
    let refused = rlbayes(["learn", table, "--prove", "only", "--state", "nowhere"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("prove --state"), "{refused:?}");
    // Where not every network is covered, the class is named.
    let table = data("win95pts_n1000_s1.csv.gz");
    let table = table.to_str().unwrap();
    let ran = rlbayes(["learn", table, "--prove", "only", "--time", "2s"]).ok();
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("stopped by time"), "{ran:?}");
    assert!(said.contains("proof        at most"), "{ran:?}");
}

#[test]
fn a_proof_that_was_killed_continues_from_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let table = data("win95pts_n1000_s1.csv.gz");
    let table = table.to_str().unwrap();
    let network = write(folder.path(), "n.csv", "from,to\nProblem1,Problem2\n");
    let state = folder.path().join("state");
    let file = state.join("unfinished.proof");
    let [network, state] = [&network, &state].map(|path| path.to_str().unwrap());
    let command = |time: &str| {
        let args = ["prove", table, network, "--max-parents", "2", "--json"];
        let mut command = PROGRAM.command();
        command.args(args).args(["--state", state, "--time", time]);
        command
    };
    let killed = Running::of(command("10m"));
    wait_for_file(&file);
    rlbayes_tests::killed(killed);
    // What is there is a proof as far as it goes, and the same command continues it: with the parent
    // sets that are there, and with a bound that is no worse.
    let stored = std::fs::read_to_string(&file).unwrap();
    let before = bound_units(&stored);
    let json = Running::of(command("3s")).wait(SOON).ok().json();
    assert_eq!(json["evaluations"], 0, "{json}");
    assert_eq!(json["proven"], false, "{json}");
    let after = bound_units(&std::fs::read_to_string(&file).unwrap());
    assert!(after <= before, "{after} {before}");
    let checked = rlbayes(["check-proof", table, file.to_str().unwrap()]).ok();
    assert!(checked.stdout.starts_with("the proof holds"), "{checked:?}");
    // Another score is another proof; a damaged file is set aside.
    let mut other = command("1s");
    let refused = Running::of({
        other.args(["--score", "aic"]);
        other
    });
    let refused = refused.wait(SOON);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("Use another --state"),
        "{refused:?}"
    );
    std::fs::write(&file, &stored[..stored.len() / 2]).unwrap();
    let ran = Running::of(command("1s")).wait(SOON).ok();
    assert!(ran.stderr.contains("unfinished.proof"), "{ran:?}");
}

fn bound_units(certificate: &str) -> i64 {
    let claim = certificate.lines().nth(2).unwrap();
    let claim: serde_json::Value = serde_json::from_str(claim).unwrap();
    claim["bound_units"].as_i64().unwrap()
}

#[test]
fn a_coordinator_that_proves_ends_the_search() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut command = PROGRAM.command();
    command
        .args(["coordinator", "--listen", "127.0.0.1:0", "--prove", "auto"])
        .arg("--data")
        .arg(data("asia_n1000_s1.csv.gz"))
        .arg("--state")
        .arg(path("state"))
        .arg("--out")
        .arg(path("out"))
        .arg("--address-file")
        .arg(path("address"))
        .args(["--time", "10m", "--when-done", "exit"]);
    let coordinator = Running::of(command);
    let mut worker = PROGRAM.command();
    worker
        .args(["worker", "--threads", "1", "--coordinator-file"])
        .arg(path("address"));
    let worker = Running::of(worker);
    let ended = coordinator.wait(SOON).ok();
    assert!(
        ended.stderr.contains("proven that none scores higher"),
        "{ended:?}"
    );
    worker.wait(SOON).ok();
    let json = std::fs::read(path("out").join("asia_n1000_s1.json")).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["stopped_by"], "proven", "{json}");
    assert_eq!((&json["proven"], &json["gap"]), (&true.into(), &0.0.into()));
}
