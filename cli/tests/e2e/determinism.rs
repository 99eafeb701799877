//! The same seed gives the same answer: the same bytes in files, whatever the order of columns and,
//! in lockstep, whatever the number of threads.

use crate::rlbayes;
use rlbayes_tests::{data, shuffled_columns};
use serde_json::Value;
use std::fs;
use std::path::Path;

const SCORES: [&str; 4] = ["bic", "aic", "bdeu", "k2"];

#[test]
fn the_papers_search_gives_the_same_bytes_for_the_same_seed() {
    let folder = tempfile::tempdir().unwrap();
    let table = data("alarm.csv");
    let flags = ["--search", "paper", "--seed", "7", "--iterations", "20000"];
    let run = |table: &Path, name: &str| {
        let edges = folder.path().join(name);
        let network = folder.path().join(format!("{name}.bif"));
        let mut args = flags.to_vec();
        args.extend(["-o", edges.to_str().unwrap()]);
        args.extend(["-o", network.to_str().unwrap()]);
        let json = learn(table, &args);
        // The file says twice what its table is called, and nothing else differs.
        let network = fs::read_to_string(network).unwrap();
        let name = |line: &&str| {
            line.starts_with("// rlbayes:about table ") || line.starts_with("network ")
        };
        assert_eq!(network.lines().filter(name).count(), 2);
        let network: Vec<String> = network
            .lines()
            .filter(|line| !name(line))
            .map(str::to_owned)
            .collect();
        (fs::read(edges).unwrap(), network, json)
    };
    let first = run(&table, "first.csv");
    let second = run(&table, "second.csv");
    assert_eq!(first.0, second.0, "edge lists differ");
    assert_eq!(first.1, second.1, "BIF files differ");
    assert_same_search(&first.2, &second.2);
    let shuffled = shuffled_columns(&table, folder.path());
    let third = run(&shuffled, "third.csv");
    assert_eq!(first.0, third.0, "edge lists differ");
    assert_eq!(first.1, third.1, "BIF files differ");
    assert_same_search(&first.2, &third.2);
    let mut other = flags.to_vec();
    other[3] = "8";
    assert_ne!(learn(&table, &other)["evaluations"], first.2["evaluations"]);
}

/// One walk has nobody to hear of: what it does is the paper's, however often it reports.
#[test]
fn the_papers_walk_does_not_depend_on_how_often_it_reports() {
    let table = data("insurance_n1000_s1.csv.gz");
    let run = |round: &str| {
        let flags = ["--search", "paper", "--threads", "1", "--seed", "7"];
        let more = ["--iterations", "60000", "--round-evaluations", round];
        learn(&table, &[&flags[..], &more].concat())
    };
    let (often, never) = (run("2000"), run("1000000000"));
    for field in ["score", "edges", "evaluations", "iterations", "seeds"] {
        assert_eq!(often[field], never[field], "{field}");
    }
    assert_eq!(often["seeds"]["received"], 0);
}

#[test]
fn one_thread_gives_the_same_answer_for_every_order_of_columns_and_every_score() {
    let folder = tempfile::tempdir().unwrap();
    let table = data("alarm.csv");
    let shuffled = shuffled_columns(&table, folder.path());
    for score in SCORES {
        let flags = ["--threads", "1", "--iterations", "3000", "--score", score];
        let first = learn(&table, &flags);
        assert_eq!(first["iterations"], 3000);
        assert_same_search(&first, &learn(&table, &flags));
        assert_same_search(&first, &learn(&shuffled, &flags));
    }
}

#[test]
fn in_lockstep_the_number_of_threads_does_not_matter() {
    let table = data("alarm.csv");
    for score in SCORES {
        let run = |threads: &str| {
            let mut flags = vec!["--deterministic", "--threads", threads, "--chains", "4"];
            flags.extend(["--iterations", "4000", "--round-evaluations", "20000"]);
            flags.extend(["--score", score]);
            learn(&table, &flags)
        };
        let (one, two) = (run("1"), run("2"));
        assert_eq!((&one["threads"], &two["threads"]), (&1.into(), &2.into()));
        assert_same_search(&one, &two);
        assert_same_search(&two, &run("2"));
    }
}

#[test]
fn a_budget_of_evaluations_is_as_exact_as_one_of_iterations() {
    let table = data("alarm.csv");
    let run = |threads: &str| {
        let flags = [
            "--deterministic",
            "--threads",
            threads,
            "--evaluations",
            "400000",
            "--round-evaluations",
            "20000",
        ];
        learn(&table, &flags)
    };
    assert_same_search(&run("1"), &run("2"));
}

#[test]
fn climbing_and_tabu_give_the_same_answer_for_every_order_of_columns() {
    let folder = tempfile::tempdir().unwrap();
    let table = data("alarm.csv");
    let shuffled = shuffled_columns(&table, folder.path());
    for search in ["hc", "tabu"] {
        let flags = ["--search", search, "--restarts", "3", "--iterations", "300"];
        assert_same_search(&learn(&table, &flags), &learn(&shuffled, &flags));
    }
}

fn learn(table: &Path, flags: &[&str]) -> Value {
    let mut args = vec!["learn", table.to_str().unwrap(), "--json", "--quiet"];
    args.extend(flags);
    rlbayes(args).ok().json()
}

/// Asserts that everything is the same that does not tell the time or the place.
fn assert_same_search(a: &Value, b: &Value) {
    for field in [
        "edges",
        "evaluations",
        "iterations",
        "score",
        "score_name",
        "search",
        "chains",
        "seed",
        "stopped_by",
        "pool_size",
        "diversity",
        "seeds",
    ] {
        assert_eq!(a[field], b[field], "{field}");
    }
}
