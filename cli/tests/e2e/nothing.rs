//! Tables with nothing to find: whatever the budget and the search, the program ends by itself.

use crate::start;
use rlbayes_tests::write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A target of 0 is out of reach for most tables.
const BUDGETS: [[&str; 2]; 6] = [
    ["--time", "200ms"],
    ["--cpu-time", "200ms"],
    ["--evaluations", "500"],
    ["--iterations", "50"],
    ["--target", "0"],
    ["--stagnation", "200ms"],
];

const SEARCHES: [&str; 9] = [
    "rlbayes", "paper", "hc", "tabu", "sa", "ga", "iwo", "ftta", "bnc-pso",
];

/// A table, the flags that leave nothing to find in it, and whether it is refused.
struct Nothing {
    table: PathBuf,
    flags: Vec<String>,
    is_refused: bool,
}

fn nothing(folder: &Path) -> Vec<Nothing> {
    let forbidden = write(folder, "no-edges.csv", "from,to\na,b\nb,a\n");
    let forbidden = vec!["--forbidden".to_owned(), forbidden.display().to_string()];
    let no_parents = vec!["--max-parents".to_owned(), "0".to_owned()];
    let cases = [
        ("empty", "", vec![], true),
        ("one", "a\n0\n1\n0\n1\n", vec![], true),
        ("half", "a,b\n0,1\n1,1\n0,1\n1,1\n", vec![], false),
        ("constant", "a,b\n0,1\n0,1\n0,1\n", vec![], false),
        ("independent", "a,b\n0,0\n0,1\n1,0\n1,1\n", vec![], false),
        ("forbidden", "a,b\n0,1\n1,0\n0,1\n1,0\n", forbidden, false),
        ("orphans", "a,b\n0,1\n1,0\n0,1\n1,0\n", no_parents, false),
    ];
    let cases = cases.into_iter();
    cases
        .map(|(name, content, flags, is_refused)| Nothing {
            table: write(folder, &format!("{name}.csv"), content),
            flags,
            is_refused,
        })
        .collect()
}

/// Learns from each table with a budget, and checks that it ends without an edge.
fn ends(folder: &Path, flags: &[&str], budget: &[&str]) {
    for case in nothing(folder) {
        let mut args = vec!["learn", case.table.to_str().unwrap(), "--json"];
        args.extend(flags);
        args.extend(budget);
        args.extend(case.flags.iter().map(String::as_str));
        let ran = start(&args).wait(Duration::from_secs(60));
        let code = if case.is_refused { 2 } else { 0 };
        assert_eq!(ran.code, Some(code), "{args:?} {ran:?}");
        if !case.is_refused {
            assert_eq!(ran.json()["edges"].as_array().unwrap().len(), 0, "{args:?}");
        }
    }
}

#[test]
fn every_search_with_nothing_to_find_ends_with_every_budget() {
    let folder = tempfile::tempdir().unwrap();
    for budget in BUDGETS {
        for search in SEARCHES {
            ends(
                folder.path(),
                &["--threads", "1", "--search", search],
                &budget,
            );
        }
    }
}

#[test]
fn threads_in_lockstep_or_not_end_with_every_budget_and_with_none() {
    let folder = tempfile::tempdir().unwrap();
    for flags in [
        &["--threads", "2"][..],
        &["--threads", "2", "--deterministic"],
    ] {
        for budget in BUDGETS {
            ends(folder.path(), flags, &budget);
        }
        ends(folder.path(), flags, &[]);
    }
    let state = folder.path().join("state");
    for _ in 0..2 {
        let half = folder.path().join("half.csv");
        let args = ["learn", half.to_str().unwrap(), "--evaluations", "500"];
        let kept = ["--state", state.to_str().unwrap(), "--json"];
        let ran = start(&[&args[..], &kept].concat()).wait(Duration::from_secs(60));
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}

#[test]
fn replicates_with_nothing_to_find_end() {
    let folder = tempfile::tempdir().unwrap();
    for case in nothing(folder.path()) {
        for threads in ["1", "2"] {
            let table = case.table.to_str().unwrap();
            let mut args = vec!["bootstrap", table, "--replicates", "5", "--json"];
            args.extend(["--threads", threads]);
            args.extend(case.flags.iter().map(String::as_str));
            let ran = start(&args).wait(Duration::from_secs(60));
            let code = if case.is_refused { 2 } else { 0 };
            assert_eq!(ran.code, Some(code), "{args:?} {ran:?}");
        }
    }
}
