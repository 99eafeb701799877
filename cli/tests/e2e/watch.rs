//! `rlbayes watch`: on a terminal of any size, over a restart of the coordinator, and into a pipe.

use crate::{PROGRAM, rlbayes, start, start_cluster};
use rlbayes_tests::peer::{Peer, hello};
use rlbayes_tests::{Cluster, SOON, Terminal, wait_until};
use std::process::Command;
use std::time::Duration;

/// Members that hold their place for the whole test.
const FLAGS: [&str; 4] = ["--time", "1h", "--lease", "1h"];

/// Joins as many workers; they report nothing.
fn join(cluster: &Cluster, count: u64) -> Vec<Peer> {
    let join = |number: u64| {
        let mut request = hello(1000 + number);
        request.host = format!("machine-{number:02}.example.org");
        Peer::join_as(&cluster.url(), request).unwrap()
    };
    (0..count).map(join).collect()
}

fn has_dots(text: &str) -> bool {
    text.contains(|c: char| ('\u{2801}'..='\u{28ff}').contains(&c))
}

/// Returns the labels of the curve's axis.
fn labels(screen: &str) -> Vec<&str> {
    let lines = screen
        .lines()
        .filter(|line| line.chars().any(|c| c > '\u{2800}'));
    let words = lines.filter_map(|line| line.split_whitespace().next());
    words.filter(|word| word.parse::<f64>().is_ok()).collect()
}

fn signal(name: &str, process: u32) {
    let sent = Command::new("kill")
        .args(["-s", name, &process.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_terminal_shows_a_search_of_many_workers_over_a_restart_and_a_resize() {
    // Large enough that its best is not found with the first report.
    let mut cluster = start_cluster("win95pts_n1000_s1.csv.gz", &FLAGS);
    let worker = cluster.worker("worker");
    cluster.wait_for("a curve", |status| status.curve.len() > 1);
    let members = join(&cluster, 39);
    let url = cluster.url();
    let mut terminal = Terminal::run(PROGRAM, &["watch", &url], 80, 24);
    let screen = terminal.wait_for("40 workers taking part", SOON);
    assert!(terminal.is_alternate());
    for part in [
        "win95pts_n1000_s1: 76 variables, 1000 rows",
        "running",
        "best",
        "at most",
        "nats below the best",
        "... and ",
        "q quits",
    ] {
        assert!(screen.contains(part), "{part}:\n{screen}");
    }
    assert!(has_dots(&screen), "{screen}");
    assert_eq!(screen.lines().count(), 24, "{screen}");
    let shown = |screen: &str| screen.matches("machine-").count();
    let few = shown(&screen);
    assert!(
        screen.contains(&format!("... and {} more", 40 - few - 1)),
        "{screen}"
    );

    // The list scrolls: the first one goes.
    assert!(screen.contains("machine-00"), "{screen}");
    terminal.press("\u{1b}[6~\u{1b}[6~\u{1b}[6~\u{1b}[6~\u{1b}[6~\u{1b}[6~\u{1b}[6~");
    let screen = terminal.wait_for("machine-38", SOON);
    assert!(!screen.contains("machine-00"), "{screen}");

    terminal.resize(200, 50);
    wait_until("more workers fit", SOON, || {
        let screen = terminal.screen();
        shown(&screen) > few && screen.lines().count() == 50
    });

    let top_label = |screen: &str| {
        labels(screen)
            .first()
            .and_then(|top| top.parse::<f64>().ok())
    };
    let before = top_label(&terminal.screen());
    assert!(before.is_some(), "{}", terminal.screen());
    drop(members);
    cluster.kill_coordinator();
    let screen = terminal.wait_for("the coordinator is away for ", SOON);
    assert!(screen.contains("s, trying again"), "{screen}");
    assert!(has_dots(&screen), "{screen}");
    cluster.start_coordinator(&[]);
    wait_until("it is heard again", SOON, || {
        let screen = terminal.screen();
        !screen.contains("is away") && screen.contains("1 worker taking part")
    });
    // The coordinator's own curve begins with its best; the terminal still has what was before, and
    // that lies further below where the best has improved meanwhile.
    let screen = terminal.screen();
    assert!(top_label(&screen) >= before, "{screen}");

    terminal.press("q");
    assert_eq!(terminal.wait(SOON), Some(0));
    wait_until("the terminal is as it was", SOON, || terminal.is_restored());
    drop(worker);
}

#[test]
fn the_end_of_a_search_ends_the_view_and_leaves_the_last_status() {
    let cluster = start_cluster("alarm.csv", &["--time", "1h"]);
    let worker = cluster.worker("worker");
    cluster.wait_for("a best row", |status| status.best_score.is_some());
    let mut terminal = Terminal::run(PROGRAM, &["watch", &cluster.url()], 100, 30);
    terminal.wait_for("1 worker taking part", SOON);
    cluster.stop();
    assert_eq!(terminal.wait(SOON), Some(0));
    wait_until("the terminal is as it was", SOON, || terminal.is_restored());
    let screen = terminal.wait_for("finished (stopped by a user)", SOON);
    assert!(screen.contains("best         -"), "{screen}");
    worker.wait(SOON).ok();
}

#[test]
fn every_way_to_quit_restores_the_terminal() {
    let cluster = start_cluster("alarm.csv", &["--time", "1h"]);
    let url = cluster.url();
    cluster.wait_for("it serves", |_| true);
    for (keys, code) in [
        ("q", Some(0)),
        ("\u{1b}", Some(0)),
        ("\u{3}", Some(0)),
        ("", Some(130)),
    ] {
        let mut terminal = Terminal::run(PROGRAM, &["watch", &url], 80, 24);
        let screen = terminal.wait_for("q quits", SOON);
        assert!(screen.contains("waiting"), "{screen}");
        assert!(
            screen.contains(&format!("rlbayes worker --coordinator {url}")),
            "{screen}"
        );
        match keys {
            "" => signal("TERM", terminal.id()),
            keys => terminal.press(keys),
        }
        assert_eq!(terminal.wait(SOON), code, "{keys:?}");
        wait_until("the terminal is as it was", SOON, || terminal.is_restored());
    }
    // Nobody there: a sentence, and no view.
    let mut terminal = Terminal::run(PROGRAM, &["watch", "http://127.0.0.1:1"], 80, 24);
    assert_eq!(terminal.wait(SOON), Some(3));
    assert!(!terminal.is_alternate());
    terminal.wait_for("error: http://127.0.0.1:1", SOON);
}

#[test]
fn a_pipe_gets_lines_and_survives_a_restart_if_asked() {
    let mut cluster = start_cluster("alarm.csv", &["--time", "1h"]);
    let worker = cluster.worker("worker");
    cluster.wait_for("a best row", |status| status.best_score.is_some());
    let url = cluster.url();
    let ends = start(["watch", &url]);
    let stays = start(["watch", &url, "--json", "--give-up-after", "10m"]);
    wait_until("both are told", SOON, || {
        has_dots(&ends.printed()) && stays.printed().lines().count() > 1
    });
    assert!(!ends.printed().contains('\u{1b}'), "{}", ends.printed());
    cluster.kill_coordinator();
    let ended = ends.wait(SOON);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stdout.contains("elite pool"), "{ended:?}");
    cluster.start_coordinator(&[]);
    cluster.wait_for("it is back", |status| status.best_score.is_some());
    let before = stays.printed().lines().count();
    wait_until("it is told again", SOON, || {
        stays.printed().lines().count() > before + 1
    });
    cluster.stop();
    let stayed = stays.wait(SOON).ok();
    let last = stayed.stdout.lines().last().unwrap_or_default();
    assert!(last.contains("\"state\":\"finished\""), "{last}");
    worker.wait(SOON).ok();
    cluster.kill_coordinator();
    let begun = std::time::Instant::now();
    let ran = rlbayes(["watch", &url, "--give-up-after", "10m"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "it never answered"
    );
}
