//! The line that shows how `learn` is doing, on a terminal of 80 columns, and what is left of it.

use crate::PROGRAM;
use rlbayes_tests::{SOON, Terminal, data, wait_until};
use std::process::Command;

fn interrupt(terminal: &mut Terminal) {
    // A terminal shows the key, and tells the program.
    terminal.press("\u{3}");
    let process = terminal.id().to_string();
    let sent = Command::new("kill").args(["-s", "INT", &process]).status();
    assert!(sent.unwrap().success());
    assert_eq!(terminal.wait(SOON), Some(130));
}

/// Returns the line that is renewed, if it is complete.
fn line(screen: &str) -> Option<String> {
    let line = screen.lines().find(|line| line.contains(" ago · "))?;
    let line = line.trim_end();
    (line.contains(" left · ") && line.ends_with("/s")).then(|| line.to_owned())
}

#[test]
fn best_age_time_left_and_rate_fit_80_columns_and_go_with_the_search() {
    let folder = tempfile::tempdir().unwrap();
    let table = data("win95pts_n1000_s1.csv.gz");
    let state = folder.path().join("state");
    let out = folder.path().join("net.bif");
    let mut args = vec!["learn", table.to_str().unwrap(), "--threads", "1"];
    args.extend(["--time", "1h", "--state", state.to_str().unwrap()]);
    args.extend(["-o", out.to_str().unwrap()]);
    // So high that the report pushes nothing out of sight.
    let mut terminal = Terminal::run(PROGRAM, &args, 80, 120);
    wait_until("a whole line", SOON, || line(&terminal.screen()).is_some());
    let screen = terminal.screen();
    assert!(!screen.contains("resumed"), "{screen}");
    let shown = line(&screen).unwrap();
    assert!(shown.chars().count() < 78, "{shown}");
    let score = shown.split_whitespace().nth(1).unwrap();
    assert!(
        score.parse::<f64>().is_ok_and(|score| score < 0.0),
        "{shown}"
    );
    assert_eq!(screen.matches(" left · ").count(), 1, "{screen}");

    interrupt(&mut terminal);
    wait_until("the report", SOON, || {
        let screen = terminal.screen();
        screen.contains("the same command continues")
    });
    let screen = terminal.screen();
    assert!(
        !screen.contains(" left · ") && !screen.contains("^C"),
        "{screen}"
    );
    assert!(terminal.is_restored());
    assert!(out.exists());

    // The second run says where it goes on.
    let mut terminal = Terminal::run(PROGRAM, &args, 80, 24);
    let screen = terminal.wait_for("resumed: ", SOON);
    let resumed = screen.lines().find(|line| line.starts_with("resumed: "));
    let resumed = resumed.unwrap_or_default();
    assert!(resumed.contains(" searched, best -"), "{screen}");
    wait_until("a whole line", SOON, || line(&terminal.screen()).is_some());
    interrupt(&mut terminal);
}
