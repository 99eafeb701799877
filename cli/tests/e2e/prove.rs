//! Proofs from outside: `prove`, `check-proof`, and the prover beside `learn`.

use crate::rlbayes;
use rlbayes_tests::{data, write};

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
