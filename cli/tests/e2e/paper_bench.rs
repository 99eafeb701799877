//! `bench paper` from outside: the same flags give the same runs, also after an interruption.

use crate::{rlbayes, start};
use rlbayes_tests::{data, wait_until};
use std::fs;
use std::path::Path;
use std::time::Duration;

fn flags<'a>(data: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["bench", "paper", "--data", data, "--out", out];
    all.extend(more);
    all
}

fn runs(out: &Path) -> String {
    fs::read_to_string(out.join("runs.csv")).unwrap()
}

#[test]
fn the_same_flags_give_the_same_runs() {
    let folder = tempfile::tempdir().unwrap();
    let data = data("");
    let budget = [
        "--networks",
        "asia",
        "--seeds",
        "2",
        "--budget",
        "evaluations:2000",
    ];
    let mut texts = Vec::new();
    for (name, threads) in [("first", "1"), ("second", "2")] {
        let out = folder.path().join(name);
        let mut more = budget.to_vec();
        more.extend(["--threads", threads]);
        let _ = rlbayes(flags(data.to_str().unwrap(), out.to_str().unwrap(), &more)).ok();
        texts.push(runs(&out));
        for file in [
            "report.md",
            "timings.csv",
            "curves.csv",
            "f1.svg",
            "auc.svg",
            "score.svg",
            "size.svg",
            "parameters.svg",
        ] {
            assert!(out.join(file).metadata().unwrap().len() > 100, "{file}");
        }
    }
    assert_eq!(texts[0], texts[1]);
    // Nine searches and two walks with shorter tables, two seeds each; nobody is over budget.
    let lines: Vec<Vec<&str>> = texts[0]
        .lines()
        .map(|line| line.split(',').collect())
        .collect();
    assert_eq!(lines.len(), 1 + 11 * 2);
    let column = lines[0]
        .iter()
        .position(|name| *name == "evaluations")
        .unwrap();
    for line in &lines[1..] {
        assert!(line[column].parse::<u64>().unwrap() <= 2000, "{line:?}");
    }
}

#[test]
fn an_interrupted_benchmark_resumes_and_ends_with_the_same_runs() {
    let folder = tempfile::tempdir().unwrap();
    let data = data("");
    let data = data.to_str().unwrap();
    let more = [
        "--networks",
        "asia",
        "--seeds",
        "2",
        "--budget",
        "walk:20000",
        "--searches",
        "paper,sa,iwo",
        "--threads",
        "1",
    ];
    let whole = folder.path().join("whole");
    let _ = rlbayes(flags(data, whole.to_str().unwrap(), &more)).ok();
    let cut = folder.path().join("cut");
    let journal = cut.join("finished.jsonl");
    let kept = || {
        let text = fs::read_to_string(&journal).unwrap_or_default();
        text.lines().filter(|line| !line.is_empty()).count()
    };
    let deadline = Duration::from_secs(60);
    let command = flags(data, cut.to_str().unwrap(), &more);
    let mut running = start(&command);
    wait_until("two runs have ended", deadline, || {
        kept() >= 2 || !running.is_running()
    });
    running.signal("INT");
    let ran = running.wait(deadline);
    // It may have ended by itself before the signal came.
    assert!(matches!(ran.code, Some(130 | 0)), "{ran:?}");
    let before = kept();
    assert!(before >= 2);
    let _ = rlbayes(&command).ok();
    assert_eq!(runs(&cut), runs(&whole));
    assert_eq!(kept(), 10, "what had ended was not run again");
}

#[test]
fn bad_flags_are_refused_in_one_sentence() {
    for (flag, value, said) in [
        ("--budget", "steps:5", "is not a budget"),
        ("--searches", "pc", "pc"),
        ("--networks", "atlantis", "there is no such network"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (data, out) = (data(""), folder.path().join("out"));
        let ran = rlbayes(flags(
            data.to_str().unwrap(),
            out.to_str().unwrap(),
            &[flag, value],
        ));
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
        assert_eq!(ran.stderr.trim().lines().count(), 1, "{ran:?}");
    }
}
