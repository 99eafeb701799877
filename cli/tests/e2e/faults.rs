//! What may be lost, with real processes: kills between any two steps, cuts, pauses, broken files,
//! full disks and wrong clocks. After each the best score never went down (every status is checked
//! for it), the run ends with the right result, and everybody who should exit did.

use crate::cluster::alive;
use crate::{prepare_cluster, rlbayes, start_cluster};
use rlbayes::journal::Journal;
use rlbayes_common::elite::{Keying, Pool};
use rlbayes_proto::convert::row_from_wire;
use rlbayes_proto::v1;
use rlbayes_tests::peer::{Peer, hello, report, true_row};
use rlbayes_tests::prerequisites::{has_command, has_root};
use rlbayes_tests::{
    AcknowledgedRows, Cluster, Proxy, Running, SOON, Way, aborted, killed, wait_for_file,
    wait_until,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tonic::Code;

/// A search that runs until somebody stops it.
const ENDLESS: [&str; 6] = ["--chains", "4", "--time", "1h", "--when-done", "exit"];
/// The proven optimum of alarm.csv.
const OPTIMUM: f64 = -11657.046;

/// Returns the variable that ends a process at a step's pass, such as `worker-after-join:1`.
fn fails_at(step: &str) -> [(&str, &str); 1] {
    [("RLBAYES_FAILPOINT", step)]
}

/// Watches a search until the optimum is found, and ends it: the coordinator exits with 0, as do
/// all workers.
fn end(cluster: &mut Cluster, workers: Vec<Running>) {
    stop_at_optimum(cluster, workers);
    let ran = cluster.coordinator_end().ok();
    assert!(ran.stderr.contains("finished"), "{ran:?}");
}

/// The same without the coordinator's exit, which comes late after a restart: workers that it does
/// not know may still want to hear of the end.
fn stop_at_optimum(cluster: &Cluster, workers: Vec<Running>) {
    cluster.wait_for("the optimum is found, and everybody takes part", |status| {
        status.best_score.is_some_and(|best| best > OPTIMUM - 1e-3)
            && alive(status) == workers.len()
    });
    rlbayes(["stop", &cluster.url()]).ok();
    for worker in workers {
        worker.wait(SOON).ok();
    }
    let score = cluster.check_result();
    assert!((score - OPTIMUM).abs() < 1e-3, "{score}");
}

fn a_worker_killed_at(step: &str) {
    // Nobody misses it before it comes back, so that its chains are still its own.
    let flags = [&ENDLESS[..], &["--lease", "1h"]].concat();
    let mut cluster = start_cluster("alarm.csv", &flags);
    let other = cluster.worker("other");
    // Who comes second keeps the chains that it is given.
    cluster.wait_for("the other one works", |status| status.evaluations > 0);
    let url = cluster.url();
    aborted(cluster.worker_with("unlucky", &url, &[], &fails_at(step)));
    let kept = snapshots(&cluster.path("unlucky")).len();
    let again = cluster.worker("unlucky");
    cluster.wait_for("it is back", |status| {
        status
            .workers
            .iter()
            .any(|worker| worker.alive && worker.host == "unlucky")
    });
    if kept > 0 {
        wait_until("a chain resumes", SOON, || resumed(&again) > 0);
    }
    end(&mut cluster, vec![other, again]);
}

/// Returns how many chains a worker has taken up where it had left them.
fn resumed(worker: &Running) -> usize {
    let logged = worker.logged();
    logged.matches("resumes from its checkpoint").count()
}

macro_rules! worker_steps {
    ($($name:ident: $step:literal,)*) => {$(
        #[test]
        fn $name() {
            a_worker_killed_at($step);
        }
    )*};
}

worker_steps! {
    a_worker_killed_before_it_joins_comes_back: "worker-before-join:1",
    a_worker_killed_before_it_keeps_the_table_comes_back: "worker-before-keep-table:1",
    // Its whole files are, in turn: its number, the table, whose chains it has, its chains.
    a_worker_killed_before_it_syncs_the_table_comes_back: "whole-file-before-sync:2",
    a_worker_killed_before_it_renames_a_chain_comes_back: "whole-file-before-rename:5",
    a_worker_killed_after_it_joined_comes_back: "worker-after-join:1",
    a_worker_killed_after_it_fetched_the_table_comes_back: "worker-after-fetch:1",
    a_worker_killed_before_its_first_exchange_comes_back: "worker-before-exchange:1",
    a_worker_killed_before_a_later_exchange_comes_back: "worker-before-exchange:3",
    a_worker_killed_after_its_first_exchange_comes_back: "worker-after-exchange:1",
    a_worker_killed_after_a_later_exchange_comes_back: "worker-after-exchange:3",
    a_worker_killed_before_a_checkpoint_comes_back: "worker-before-checkpoint:2",
    a_worker_killed_after_a_checkpoint_comes_back: "worker-after-checkpoint:3",
}

/// A search whose result is the same to the bit, whoever runs it.
const LOCKSTEP: [&str; 7] = [
    "--deterministic",
    "--chains",
    "2",
    "--round-evaluations",
    "10000",
    "--evaluations",
    "2000000",
];

/// In lockstep a chain's state goes up before each report, and down to whoever takes it over.
fn a_lockstep_worker_killed_at(step: &str) {
    let table = rlbayes_tests::data("alarm.csv");
    let mut learn = vec!["learn", table.to_str().unwrap(), "--json", "--threads", "1"];
    learn.extend(LOCKSTEP);
    let expected = rlbayes(learn).ok().json();
    let cluster = start_cluster("alarm.csv", &LOCKSTEP);
    let url = cluster.url();
    let first = cluster.worker("first");
    cluster.wait_for("states are stored", |status| status.round >= 2);
    killed(first);
    // Whoever comes next fetches the states.
    aborted(cluster.worker_with("unlucky", &url, &[], &fails_at(step)));
    let again = cluster.worker("unlucky");
    cluster.wait_for_end();
    again.wait(SOON).ok();
    let found = cluster.result();
    for field in ["score", "edges", "evaluations", "iterations", "stopped_by"] {
        assert_eq!(found[field], expected[field], "{field}");
    }
}

#[test]
fn a_worker_killed_after_it_fetched_a_chain_changes_nothing() {
    a_lockstep_worker_killed_at("worker-after-fetch-chain:2");
}

#[test]
fn a_worker_killed_after_it_stored_a_chain_changes_nothing() {
    a_lockstep_worker_killed_at("worker-after-store-chain:1");
    a_lockstep_worker_killed_at("worker-after-store-chain:3");
}

#[test]
fn a_worker_killed_before_it_stores_a_chain_changes_nothing() {
    a_lockstep_worker_killed_at("worker-before-exchange:3");
}

#[test]
fn a_worker_that_is_away_at_the_end_hears_of_it_and_exits() {
    let mut cluster = start_cluster("alarm.csv", &ENDLESS);
    let proxy = Proxy::before(cluster.port());
    let far = cluster.worker_with("far", &proxy.url(), &[], &[]);
    let near = cluster.worker("near");
    cluster.wait_for("both work", |status| alive(status) == 2);
    proxy.cut();
    cluster.wait_for("one is missed", |status| alive(status) == 1);
    rlbayes(["stop", &cluster.url()]).ok();
    near.wait(SOON).ok();
    // Its next try is what must succeed, however long it waits before it.
    proxy.heal();
    far.wait(SOON).ok();
    cluster.coordinator_end().ok();
    cluster.check_result();
}

fn the_coordinator_killed_at(steps: &[&str]) {
    let mut cluster = prepare_cluster("alarm.csv", &ENDLESS);
    let workers = vec![cluster.worker("first"), cluster.worker("second")];
    for step in steps {
        cluster.start_coordinator(&fails_at(step));
        wait_until("the failpoint is reached", SOON, || {
            let _ = cluster.status();
            !cluster.coordinator().is_running()
        });
        let ran = cluster.coordinator_end();
        assert_eq!(ran.code, None, "{step} was not reached: {ran:?}");
    }
    cluster.start_coordinator(&[]);
    cluster.wait_for("the workers are back", |status| alive(status) == 2);
    stop_at_optimum(&cluster, workers);
    assert!(cluster.coordinator().is_running(), "it serves the result");
}

#[test]
fn a_coordinator_killed_before_it_writes_loses_nothing_that_was_shown() {
    the_coordinator_killed_at(&[
        "journal-before-write:1",
        "journal-before-write:2",
        "journal-before-write:3",
    ]);
}

#[test]
fn a_coordinator_killed_before_it_commits_loses_nothing_that_was_shown() {
    the_coordinator_killed_at(&[
        "journal-before-commit:1",
        "journal-before-commit:2",
        "journal-before-commit:3",
    ]);
}

#[test]
fn a_coordinator_killed_after_it_commits_loses_nothing_that_was_shown() {
    the_coordinator_killed_at(&[
        "journal-after-commit:1",
        "journal-after-commit:2",
        "journal-after-commit:3",
    ]);
}

#[test]
fn a_coordinator_killed_before_it_replies_loses_nothing_that_was_shown() {
    the_coordinator_killed_at(&[
        "coordinator-before-reply:1",
        "coordinator-before-reply:10",
        "coordinator-before-reply:25",
    ]);
}

#[test]
fn a_coordinator_killed_before_it_has_begun_begins_again() {
    the_coordinator_killed_at(&[
        "journal-before-begin:1",
        "journal-in-begin:1",
        "journal-after-begin:1",
    ]);
}

#[test]
fn a_coordinator_killed_while_it_writes_results_writes_them_again() {
    the_coordinator_killed_at(&["whole-file-before-sync:1", "whole-file-before-rename:2"]);
}

/// Sends rows until the coordinator is killed, as many times as there are steps: what was
/// acknowledged is in the journal at the end, whenever the kill came.
#[test]
fn every_row_that_was_acknowledged_outlives_kills_at_every_step() {
    const ASIA: &str = "asia_n1000_s1.csv.gz";
    let mut cluster = prepare_cluster(ASIA, &["--chains", "2", "--time", "1h", "--lease", "1h"]);
    // Fewer than the pool holds over all chains, and no two of one class.
    let edges = (0..8).flat_map(|to| (0..to).map(move |from| (from, to)));
    let networks = edges.flat_map(|edge| [vec![edge], vec![(0, 1), edge]]);
    let rows: Vec<v1::Row> = networks
        .filter(|edges| edges != &[(0, 1), (0, 1)])
        .map(|edges| true_row(ASIA, &edges))
        .collect();
    let mut left = rows.iter();
    let mut acknowledged = AcknowledgedRows::default();
    let steps = [
        "journal-before-write:2",
        "journal-before-commit:3",
        "journal-after-commit:3",
        "coordinator-before-reply:15",
        "coordinator-before-reply:25",
        "none",
    ];
    for (incarnation, step) in (1..).zip(steps) {
        cluster.start_coordinator(&fails_at(step));
        let mut peer = None;
        wait_until("it serves, or is killed already", SOON, || {
            peer = Peer::join_as(&cluster.url(), hello(incarnation)).ok();
            peer.is_some() || !cluster.coordinator().is_running()
        });
        let rows = left.by_ref().take(9);
        for (number, row) in (0..).zip(rows) {
            let Some(peer) = &mut peer else { break };
            let report = report(0, number, vec![row.clone()], 100 * (number + 1));
            // One that was not acknowledged is never sent again: it may be there or not.
            match peer.send(peer.request(vec![report])) {
                Ok(_) => acknowledged.add(&row_from_wire(row, 8).unwrap()),
                Err(_) => break,
            }
        }
        match step {
            "none" => cluster.kill_coordinator(),
            _ => assert_eq!(cluster.coordinator_end().code, None, "{step}"),
        }
    }
    assert!(acknowledged.len() >= 9, "{}", acknowledged.len());
    let stored = journalled(&cluster.journal(), 8);
    let missing = acknowledged.missing_from(&stored);
    assert!(missing.is_empty(), "{missing:?}");
}

/// Reads the rows of a journal whose coordinator has ended.
fn journalled(journal: &Path, nodes: usize) -> Pool {
    let mut journal = Journal::open(journal).unwrap();
    let mut load = |settings: &[(String, String)]| {
        let loaded = journal.load(settings, nodes, Keying::ByClass);
        loaded.unwrap().unwrap()
    };
    let settings = load(&[]).settings;
    load(&settings).stored.unwrap().pool
}

#[test]
fn a_search_survives_that_everybody_is_killed_at_once() {
    let mut cluster = start_cluster("alarm.csv", &ENDLESS);
    let workers = [cluster.worker("first"), cluster.worker("second")];
    let before = cluster.wait_for("a best row and checkpoints", |status| {
        status.best_score.is_some() && status.elapsed_seconds > 1.0
    });
    let first_stored = || snapshots(&cluster.path("first"));
    wait_until("chains are stored", SOON, || !first_stored().is_empty());
    cluster.kill_coordinator();
    workers.into_iter().for_each(killed);
    cluster.start_coordinator(&[]);
    let after = cluster.wait_for("it serves", |_| true);
    assert!(after.best_score >= before.best_score);
    let first = cluster.worker("first");
    wait_until("a chain resumes where it was", SOON, || resumed(&first) > 0);
    let workers = vec![first, cluster.worker("second")];
    stop_at_optimum(&cluster, workers);
}

#[test]
fn a_worker_stopped_past_its_lease_takes_part_again_and_its_chains_were_not_lost() {
    let mut cluster = start_cluster("alarm.csv", &["--chains", "4", "--time", "1h"]);
    let (paused, other) = (cluster.worker("paused"), cluster.worker("other"));
    cluster.wait_for("both take part", |status| alive(status) == 2);
    paused.signal("STOP");
    let lost = cluster.wait_for("it is missed", |status| alive(status) == 1);
    let holder = lost.workers.iter().find(|worker| worker.alive).unwrap();
    assert_eq!(holder.chains, 4, "the other one has its chains now");
    paused.signal("CONT");
    cluster.wait_for("both have chains again", |status| {
        alive(status) == 2 && status.workers.iter().all(|worker| worker.chains == 2)
    });
    cluster.stop();
    paused.wait(SOON).ok();
    other.wait(SOON).ok();
    assert!(cluster.coordinator().is_running(), "it serves the result");
    cluster.check_result();
}

#[test]
fn a_worker_that_is_cut_off_continues_to_search_and_reports_again() {
    let mut cluster = start_cluster("alarm.csv", &["--chains", "2", "--time", "1h"]);
    let proxy = Proxy::before(cluster.port());
    let worker = cluster.worker_with("far", &proxy.url(), &[], &[]);
    cluster.wait_for("it works", |status| status.evaluations > 0);
    let state = cluster.path("far");
    let stored = || -> Vec<Vec<u8>> {
        let paths = snapshots(&state).into_iter();
        paths.map(|path| fs::read(path).unwrap()).collect()
    };
    wait_until("both chains are stored", SOON, || stored().len() == 2);
    proxy.cut();
    let lost = cluster.wait_for("it is missed", |status| status.state == "waiting");
    for _ in 0..3 {
        let before = stored();
        wait_until("its chains continue", SOON, || stored() != before);
    }
    let still = cluster.status().unwrap();
    assert_eq!(still.evaluations, lost.evaluations, "nobody reports");
    let passed = still.elapsed_seconds - lost.elapsed_seconds;
    assert!(passed.abs() < 1e-9, "the clock of the search stands");
    proxy.heal();
    cluster.wait_for("it is back", |status| {
        alive(status) == 1 && status.evaluations > lost.evaluations
    });
    let logged = worker.logged();
    assert!(logged.contains("searching without it"), "{logged}");
    cluster.stop();
    worker.wait(SOON).ok();
    assert!(cluster.coordinator().is_running());
}

#[test]
fn an_exchange_whose_answer_is_lost_is_sent_again() {
    let cluster = start_cluster("alarm.csv", &["--chains", "2", "--time", "1h"]);
    let proxy = Proxy::before(cluster.port());
    let worker = cluster.worker_with("far", &proxy.url(), &[], &[]);
    for _ in 0..3 {
        let before = cluster.wait_for("it works", |status| alive(status) == 1);
        proxy.swallow_answers();
        let lost = proxy.swallowed();
        wait_until("an answer is lost", SOON, || proxy.swallowed() > lost);
        cluster.wait_for("its exchange was taken", |status| {
            status.exchanges > before.exchanges
        });
        proxy.heal();
        let taken = cluster.status().unwrap();
        cluster.wait_for("it continues", |status| {
            status.evaluations > taken.evaluations && alive(status) == 1
        });
    }
    cluster.stop();
    worker.wait(SOON).ok();
}

#[test]
fn bytes_held_in_one_direction_delay_a_worker_and_lose_nothing() {
    let cluster = start_cluster("alarm.csv", &["--chains", "2", "--time", "1h"]);
    let proxy = Proxy::before(cluster.port());
    let worker = cluster.worker_with("far", &proxy.url(), &[], &[]);
    for way in [Way::ToServer, Way::FromServer] {
        cluster.wait_for("it works", |status| {
            alive(status) == 1 && status.evaluations > 0
        });
        proxy.hold(way);
        let lost = cluster.wait_for("it is missed", |status| alive(status) == 0);
        proxy.heal();
        cluster.wait_for("it is back", |status| {
            alive(status) == 1 && status.evaluations > lost.evaluations
        });
    }
    cluster.stop();
    worker.wait(SOON).ok();
}

fn damaged(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

fn flip_a_bit(bytes: &mut [u8]) {
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
}

fn cut_in_half(bytes: &mut Vec<u8>) {
    bytes.truncate(bytes.len() / 2);
}

fn snapshots(state: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(state.join("chains")).into_iter().flatten();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "snap"))
        .collect()
}

fn wait_for_optimum(cluster: &Cluster) {
    cluster.wait_for("the optimum", |status| {
        status.best_score.is_some_and(|best| best > OPTIMUM - 1e-3)
    });
}

/// A coordinator that has lost its rows begins with none. The workers, which can't find anything
/// better any more, tell it their best again.
fn the_pool_is_rebuilt(cluster: &mut Cluster) {
    cluster.forget_best();
    cluster.start_coordinator(&[]);
    wait_for_optimum(cluster);
    cluster.wait_for("the worker takes part", |status| alive(status) == 1);
}

#[test]
fn a_journal_that_is_cut_off_is_set_aside_and_workers_rebuild_the_pool() {
    let mut cluster = start_cluster("alarm.csv", &["--chains", "2", "--time", "1h"]);
    let worker = cluster.worker("worker");
    wait_for_optimum(&cluster);
    cluster.kill_coordinator();
    // Nothing but the database's header is left: where in the file its pages are is its affair.
    damaged(&cluster.journal(), |bytes| {
        bytes.truncate(8192);
    });
    the_pool_is_rebuilt(&mut cluster);
    let logged = cluster.coordinator().logged();
    assert!(logged.contains("journal.redb"), "{logged}");
    cluster.stop();
    worker.wait(SOON).ok();
    cluster.check_result();
}

#[test]
fn a_journal_with_a_flipped_bit_is_noticed_and_workers_rebuild_the_pool() {
    let mut cluster = start_cluster("alarm.csv", &["--chains", "2", "--time", "1h"]);
    let worker = cluster.worker("worker");
    wait_for_optimum(&cluster);
    // After a kill the database takes damage at its end for a write that was cut off.
    cluster.coordinator().signal("TERM");
    assert_eq!(cluster.coordinator_end().code, Some(130));
    let journal = cluster.journal();
    damaged(&journal, |bytes| {
        // One bit of each row: copies of a page that is no longer used are in the file too.
        const SEALED: &[u8] = b"RLBAYES\n";
        let rows: Vec<usize> = (0..bytes.len() - SEALED.len())
            .filter(|&at| bytes[at..].starts_with(SEALED))
            .collect();
        assert!(!rows.is_empty(), "no row is stored");
        for at in rows {
            bytes[at + 100] ^= 0x10;
        }
    });
    the_pool_is_rebuilt(&mut cluster);
    let logged = cluster.coordinator().logged();
    let noticed = ["journal was damaged", "journal.redb"];
    assert!(
        noticed.iter().any(|words| logged.contains(words)),
        "{logged}"
    );
    cluster.stop();
    worker.wait(SOON).ok();
    cluster.check_result();
}

#[test]
fn a_journal_that_cannot_be_opened_is_refused_in_one_sentence_and_stays() {
    let cluster = prepare_cluster("asia_n1000_s1.csv.gz", &["--time", "1h"]);
    let journal = cluster.state().join("journal.redb");
    fs::create_dir_all(&journal).unwrap();
    let ran = Running::of(cluster.coordinator_command()).wait(SOON);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    assert!(ran.stderr.contains("journal.redb"), "{ran:?}");
    assert!(journal.is_dir(), "it is where it was");
}

#[test]
fn a_second_coordinator_of_the_same_folder_is_refused() {
    let cluster = start_cluster("asia_n1000_s1.csv.gz", &["--time", "1h"]);
    cluster.wait_for("it serves", |_| true);
    let ran = Running::of(cluster.coordinator_command()).wait(SOON);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("in use"), "{ran:?}");
    let status = cluster.wait_for("the first one continues", |_| true);
    assert_eq!(status.state, "waiting");
}

#[test]
fn a_chain_with_a_flipped_bit_and_one_cut_off_are_set_aside_and_start_from_the_pool() {
    let mut cluster = start_cluster("alarm.csv", &ENDLESS);
    let worker = cluster.worker("worker");
    let state = cluster.path("worker");
    wait_until("all chains are stored", SOON, || {
        snapshots(&state).len() == 4
    });
    killed(worker);
    let files = snapshots(&state);
    damaged(&files[0], |bytes| flip_a_bit(bytes));
    damaged(&files[1], cut_in_half);
    let again = cluster.worker("worker");
    cluster.wait_for("it is back", |status| alive(status) == 1);
    wait_until("both are set aside", SOON, || {
        let logged = again.logged();
        files[..2]
            .iter()
            .all(|path| logged.contains(path.file_name().unwrap().to_str().unwrap()))
    });
    wait_until("the other two resume", SOON, || resumed(&again) == 2);
    end(&mut cluster, vec![again]);
}

#[test]
fn a_table_with_a_flipped_bit_is_fetched_again() {
    let mut cluster = start_cluster("alarm.csv", &ENDLESS);
    let worker = cluster.worker("worker");
    cluster.wait_for("it works", |status| status.evaluations > 0);
    killed(worker);
    let folder = cluster.path("worker").join("data");
    let table = fs::read_dir(&folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    damaged(&table, |bytes| flip_a_bit(bytes));
    let before = fs::read(&table).unwrap();
    let again = cluster.worker("worker");
    cluster.wait_for("it is back", |status| alive(status) == 1);
    wait_for_file(&table);
    wait_until("the table is whole again", SOON, || {
        fs::read(&table).is_ok_and(|now| now.len() == before.len() && now != before)
    });
    end(&mut cluster, vec![again]);
}

/// A folder on a small disk. It is unmounted when it is dropped.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    pub(crate) fn mount(folder: &Path, size: &str) -> Self {
        fs::create_dir_all(folder).unwrap();
        let ran = Running::of({
            let mut command = Command::new("mount");
            command.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]);
            command.arg(folder);
            command
        })
        .wait(SOON);
        assert_eq!(ran.code, Some(0), "this test mounts a tmpfs: {ran:?}");
        Self(folder.to_owned())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_coordinator_whose_disk_is_full_continues_says_so_and_recovers() {
    if !has_root() {
        return;
    }
    let mut cluster = prepare_cluster("alarm.csv", &["--chains", "2", "--time", "1h"]);
    let disk = SmallDisk::mount(&cluster.state(), "16m");
    cluster.start_coordinator(&[]);
    cluster.wait_for("it serves", |status| status.trouble.is_empty());
    // All that is left is taken.
    let filler = cluster.state().join("filler");
    fill(&filler);
    let worker = cluster.worker("worker");
    let troubled = cluster.wait_for("it says so", |status| !status.trouble.is_empty());
    assert_eq!(troubled.stopped_by, "", "the search continues");
    let logged = cluster.coordinator().logged();
    assert!(logged.contains("cannot be saved"), "{logged}");
    fs::remove_file(&filler).unwrap();
    let well = cluster.wait_for("it recovers", |status| {
        status.trouble.is_empty() && status.best_score.is_some()
    });
    cluster.kill_coordinator();
    cluster.start_coordinator(&[]);
    let after = cluster.wait_for("it serves", |_| true);
    assert!(
        after.best_score >= well.best_score,
        "what was shown is on disk"
    );
    cluster.stop();
    worker.wait(SOON).ok();
    cluster.check_result();
    cluster.kill_coordinator();
    drop(disk);
}

/// Writes until the disk is full.
pub(crate) fn fill(path: &Path) {
    use std::io::Write;
    let mut file = fs::File::create(path).unwrap();
    for size in [1 << 20, 4096] {
        let block = vec![0xA5; size];
        while file.write_all(&block).is_ok() {}
    }
}

#[test]
fn a_worker_whose_disk_is_full_continues_and_says_so() {
    if !has_root() {
        return;
    }
    let mut cluster = start_cluster("alarm.csv", &ENDLESS);
    let disk = SmallDisk::mount(&cluster.path("worker"), "64k");
    let worker = cluster.worker("worker");
    wait_until("it says so", SOON, || {
        worker.logged().contains("cannot be saved") || worker.logged().contains("cannot be kept")
    });
    end(&mut cluster, vec![worker]);
    drop(disk);
}

#[test]
fn clocks_that_are_years_apart_do_not_matter() {
    if !has_command("faketime") {
        return;
    }
    let mut cluster = start_cluster("alarm.csv", &ENDLESS);
    let url = cluster.url();
    let workers = [("past", "-10y"), ("future", "+10y")].map(|(name, shift)| {
        // The wrapper outlives a kill, and so would what it started.
        let plain = cluster.worker_command(name, &url, &["--give-up-after", "60s"]);
        let mut command = Command::new("faketime");
        // Only the wall clock: nobody can set the monotonic one.
        command.args(["--exclude-monotonic", "-f", shift]);
        command.arg(plain.get_program()).args(plain.get_args());
        Running::of(command)
    });
    cluster.wait_for("both work", |status| {
        alive(status) == 2 && status.evaluations > 0
    });
    let year = |text: String| text[..4].parse::<u32>().unwrap();
    let [past, future] = [0, 1].map(|at: usize| year(workers[at].logged()));
    assert!(future >= past + 19, "{past} and {future}: no clock is off");
    end(&mut cluster, workers.into());
}

/// Workers of ten places come and go as a seeded draw says.
#[test]
fn workers_that_join_and_leave_at_random_do_not_hurt() {
    let mut cluster = start_cluster("asia_n1000_s1.csv.gz", &["--time", "1h"]);
    cluster.wait_for("it serves", |_| true);
    let mut draw = 1u64;
    let mut next = |most: usize| {
        // Knuth's 64-bit LCG: which worker, and what happens to it.
        draw = draw
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(draw >> 33).unwrap() % most
    };
    let mut places: Vec<Option<Running>> = (0..10).map(|_| None).collect();
    let (mut joined, mut drained) = (0, 0);
    for _ in 0..60 {
        let at = next(places.len());
        match places[at].take() {
            None => {
                places[at] = Some(cluster.worker(&format!("worker{at}")));
                joined += 1;
            }
            // Whether it has joined or not.
            Some(worker) if next(2) == 0 => killed(worker),
            Some(worker) => {
                wait_until("it has joined", SOON, || worker.logged().contains("joined"));
                worker.signal("TERM");
                worker.wait(SOON).ok();
                drained += 1;
            }
        }
        let status = cluster.status().expect("it serves all the time");
        assert_eq!(status.stopped_by, "");
    }
    assert!(
        joined > 20 && drained > 5,
        "{joined} joined, {drained} drained"
    );
    let running = places.iter().flatten().count();
    cluster.wait_for("those that are left take part, and nobody else", |status| {
        alive(status) == running
    });
    cluster.stop();
    for worker in places.into_iter().flatten() {
        worker.wait(SOON).ok();
    }
    assert!(cluster.coordinator().is_running());
    cluster.check_result();
}

#[test]
fn an_exchange_that_comes_twice_late_or_out_of_order_counts_once() {
    const ASIA: &str = "asia_n1000_s1.csv.gz";
    let flags = ["--chains", "2", "--time", "1h", "--lease", "1h"];
    let mut cluster = start_cluster(ASIA, &flags);
    cluster.wait_for("it serves", |_| true);
    let mut peer = Peer::join(&cluster.url(), 7);
    let rows = [
        true_row(ASIA, &[]),
        true_row(ASIA, &[(0, 1)]),
        true_row(ASIA, &[(0, 1), (2, 3)]),
    ];
    let sent: Vec<_> = (0..3)
        .map(|number| {
            let row = rows[number].clone();
            let number = number as u64;
            peer.request(vec![report(0, number, vec![row], 100 * (number + 1))])
        })
        .collect();
    let mut first = Vec::new();
    for request in &sent {
        first.push(peer.send(request.clone()).unwrap());
    }
    let before = cluster.wait_for("all three are in", |status| status.evaluations == 300);
    // Again, the newest first, and each of them twice.
    for (at, request) in sent.iter().enumerate().rev() {
        for _ in 0..2 {
            let reply = peer.send(request.clone()).unwrap();
            if at == 2 {
                assert_eq!(reply.answers, first[2].answers, "the same answer again");
            }
        }
    }
    let after = cluster.wait_for("all of them were taken", |status| status.exchanges == 9);
    assert_eq!(after.evaluations, before.evaluations);
    assert_eq!(after.iterations, before.iterations);
    assert_eq!(after.pool_size, before.pool_size);
    assert_eq!(after.best_score, before.best_score);

    // And across a restart: the worker joins again and repeats its last report.
    cluster.kill_coordinator();
    cluster.start_coordinator(&[]);
    let kept = cluster.wait_for("it serves", |_| true);
    assert_eq!(kept.best_score, before.best_score);
    assert_eq!(
        kept.pool_size, before.pool_size,
        "no acknowledged row is missing"
    );
    let mut peer = Peer::join(&cluster.url(), 7);
    let request = peer.request(vec![report(0, 2, vec![rows[2].clone()], 300)]);
    peer.send(request).unwrap();
    let again = cluster.wait_for("it was taken", |status| status.exchanges == 10);
    assert_eq!(
        again.evaluations, before.evaluations,
        "nothing counts twice"
    );
    assert_eq!(again.pool_size, before.pool_size);
}

#[test]
fn a_late_report_of_a_worker_that_is_gone_still_counts() {
    const ASIA: &str = "asia_n1000_s1.csv.gz";
    let cluster = start_cluster(ASIA, &["--chains", "2", "--time", "1h", "--lease", "200ms"]);
    cluster.wait_for("it serves", |_| true);
    let mut peer = Peer::join(&cluster.url(), 7);
    cluster.wait_for("its lease has run out", |status| {
        status.workers.len() == 1 && alive(status) == 0
    });
    let row = true_row(ASIA, &[(0, 1)]);
    let score = row.score;
    let late = peer.send(peer.request(vec![report(0, 0, vec![row], 100)]));
    assert_eq!(
        late.unwrap_err().code(),
        Code::NotFound,
        "it should join again"
    );
    let status = cluster.wait_for("its row is in", |status| status.pool_size == 1);
    assert_eq!(status.best_score, Some(score));
    assert_eq!(status.evaluations, 100);
}
