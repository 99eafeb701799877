//! `paper` from outside: the same flags give the same runs, also after an interruption.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for code that is not a test"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../data");
const SOON: Duration = Duration::from_secs(60);

fn paper(out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rlbayes-bench"));
    command
        .args(["paper", "--data", DATA, "--out"])
        .arg(out)
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

fn run(out: &Path, more: &[&str]) -> Output {
    paper(out, more).output().unwrap()
}

fn runs(out: &Path) -> String {
    fs::read_to_string(out.join("runs.csv")).unwrap()
}

#[test]
fn the_same_flags_give_the_same_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut texts = Vec::new();
    for (name, threads) in [("first", "1"), ("second", "2")] {
        let out = folder.path().join(name);
        let ran = run(
            &out,
            &[
                "--networks",
                "asia",
                "--seeds",
                "2",
                "--budget",
                "evaluations:2000",
                "--threads",
                threads,
            ],
        );
        assert!(ran.status.success(), "{ran:?}");
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
fn an_interrupted_benchmark_continues_and_ends_with_the_same_runs() {
    let folder = tempfile::tempdir().unwrap();
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
    assert!(run(&whole, &more).status.success());
    let cut = folder.path().join("cut");
    let journal = cut.join("finished.jsonl");
    let kept = || {
        let text = fs::read_to_string(&journal).unwrap_or_default();
        text.lines().filter(|line| !line.is_empty()).count()
    };
    let mut running = paper(&cut, &more).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while kept() < 2 && running.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < SOON, "two runs should have ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    let process = running.id().to_string();
    // It may have ended by itself.
    let _ = Command::new("kill").args(["-INT", &process]).status();
    let ended = running.wait().unwrap();
    assert!(matches!(ended.code(), Some(130 | 0)), "{ended:?}");
    assert!(kept() >= 2);
    assert!(run(&cut, &more).status.success());
    assert_eq!(runs(&cut), runs(&whole));
    assert_eq!(kept(), 10, "what had ended was not run again");
}

#[test]
fn bad_flags_are_refused_in_one_sentence() {
    for (flag, value, reason) in [
        ("--budget", "steps:5", "is not a budget"),
        ("--searches", "pc", "pc"),
        ("--networks", "atlantis", "there is no such network"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let ran = run(&folder.path().join("out"), &[flag, value]);
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
        let text = String::from_utf8(ran.stderr).unwrap();
        assert!(text.contains(reason), "{text}");
        assert_eq!(text.trim().lines().count(), 1, "{text}");
    }
}
