//! What the flags of coordinator and worker promise, and what people see: metrics, a live terminal.

use crate::cluster::alive;
use crate::faults::{SmallDisk, fill};
use crate::{prepare_cluster, rlbayes, start_cluster};
use rlbayes_proto::v1;
use rlbayes_tests::prerequisites::has_root;
use rlbayes_tests::{Proxy, SOON, Way, data, killed, own_port, wait_for_file, wait_until, write};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

const ASIA: &str = "asia_n1000_s1.csv.gz";

/// Returns the figures of `/metrics` by name, labels of workers left out.
fn metrics(address: &str) -> BTreeMap<String, f64> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let request = "GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut typed = "";
    let mut figures = BTreeMap::new();
    for line in body.lines() {
        if let Some(about) = line.strip_prefix("# TYPE ") {
            typed = about.split(' ').next().unwrap();
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(!typed.is_empty() && name.starts_with(typed), "{line}");
            let name = name.split('{').next().unwrap();
            figures.insert(name.to_owned(), value.parse().unwrap());
        }
    }
    figures
}

/// Returns what the one worker of a status has sent of its caches.
fn statistics(status: &v1::StatusReply) -> v1::WorkerStatistics {
    status.workers[0].statistics.unwrap()
}

#[test]
fn metrics_say_what_the_status_says() {
    let http = format!("127.0.0.1:{}", own_port());
    let flags = ["--chains", "2", "--time", "1h", "--http", &http];
    // So large a network that what a chain is sent is new to it.
    let cluster = start_cluster("andes_n1000_s1.csv.gz", &flags);
    let worker = cluster.worker("worker");
    let before = cluster.wait_for("it works", |status| {
        status.exchanges > 3
            && status.seeds_entered > 0
            && status.diversity > 0.0
            && status.evaluations_per_second > 0.0
            && status.workers[0]
                .statistics
                .is_some_and(|of| of.cache_hits > 0)
    });
    let shown = metrics(&http);
    let after = cluster.status().unwrap();
    let figure = |name: &str| {
        let found = shown.get(&format!("rlbayes_{name}"));
        *found.unwrap_or_else(|| panic!("no {name} in {shown:?}"))
    };
    let within = |name: &str, low: f64, high: f64| {
        let value = figure(name);
        assert!(
            (low..=high).contains(&value),
            "{name}: {value} not in {low}..={high}"
        );
    };
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let between = |name: &str, of: fn(&v1::StatusReply) -> u64| {
        within(name, of(&before) as f64, of(&after) as f64);
    };
    between("evaluations_total", |s| s.evaluations);
    between("computed_total", |s| s.computed);
    between("iterations_total", |s| s.iterations);
    between("exchanges_total", |s| s.exchanges);
    between("seeds_sent_total", |s| s.seeds_sent);
    between("seeds_received_total", |s| s.seeds_received);
    between("seeds_entered_total", |s| s.seeds_entered);
    between("seeds_made_current_total", |s| s.seeds_made_current);
    between("cache_hits_total", |s| statistics(s).cache_hits);
    between("cache_misses_total", |s| statistics(s).cache_misses);
    let [low, high] = [&before, &after].map(|status| status.best_score.unwrap());
    within("best_score", low, high);
    within(
        "elapsed_seconds",
        before.elapsed_seconds,
        after.elapsed_seconds,
    );
    within("best_age_seconds", 0.0, after.elapsed_seconds);
    for (name, value) in [
        ("workers", 1.0),
        ("chains", 2.0),
        ("finished", 0.0),
        ("journal_trouble", 0.0),
        ("refused_rows_total", 0.0),
    ] {
        assert!(
            (figure(name) - value).abs() < 1e-9,
            "{name}: {}",
            figure(name)
        );
    }
    for name in [
        "evaluations_total",
        "computed_total",
        "iterations_total",
        "evaluations_per_second",
        "pool_size",
        "pool_diversity",
        "cache_hits_total",
        "cache_misses_total",
        "cache_bytes",
    ] {
        assert!(figure(name) > 0.0, "{name}: {}", figure(name));
    }
    assert!(figure("pool_diversity") <= 1.0, "a share of nodes");
    cluster.stop();
    worker.wait(SOON).ok();
    wait_until("the end is there", SOON, || {
        metrics(&http)["rlbayes_finished"] > 0.5
    });
}

/// Searches that take no seeds run as independent chains that only report; constraints hold.
#[test]
fn other_searches_only_report_and_keep_the_constraints() {
    let folder = tempfile::tempdir().unwrap();
    let required = write(folder.path(), "required.csv", "from,to\nasia,xray\n");
    let forbidden = write(
        folder.path(),
        "forbidden.csv",
        "from,to\nsmoke,bronc\nbronc,smoke\n",
    );
    let tiers = write(
        folder.path(),
        "tiers.txt",
        "asia,smoke\ntub,lung,bronc,either\nxray,dysp\n",
    );
    let [required, forbidden, tiers] = [&required, &forbidden, &tiers].map(|p| p.to_str().unwrap());
    for search in ["tabu", "sa", "rlbayes"] {
        let flags = [
            "--search",
            search,
            "--time",
            "1s",
            "--chains",
            "2",
            "--required",
            required,
            "--forbidden",
            forbidden,
            "--tiers",
            tiers,
            "--max-parents",
            "2",
        ];
        let cluster = start_cluster(ASIA, &flags);
        let workers = [cluster.worker("first"), cluster.worker("second")];
        for worker in workers {
            worker.wait(SOON).ok();
        }
        let end = cluster.wait_for_end();
        assert!(
            end.evaluations > 0 && end.pool_size > 0,
            "{search}: {end:?}"
        );
        if search != "rlbayes" {
            let seeds = (end.seeds_sent, end.seeds_received);
            assert_eq!(seeds, (0, 0), "{search} only reports");
        }
        cluster.check_result();
        let result = cluster.result();
        let edges = result["edges"].as_array().unwrap();
        let has = |from: &str, to: &str| edges.contains(&Value::from(vec![from, to]));
        assert!(has("asia", "xray"), "{search}: {edges:?}");
        assert!(
            !has("smoke", "bronc") && !has("bronc", "smoke"),
            "{search}: {edges:?}"
        );
        let tier = |name: &Value| match name.as_str().unwrap() {
            "asia" | "smoke" => 0,
            "xray" | "dysp" => 2,
            _ => 1,
        };
        let mut parents: BTreeMap<&str, usize> = BTreeMap::new();
        for edge in edges {
            assert!(tier(&edge[0]) <= tier(&edge[1]), "{search}: {edge}");
            *parents.entry(edge[1].as_str().unwrap()).or_default() += 1;
        }
        assert!(
            parents.values().all(|&count| count <= 2),
            "{search}: {edges:?}"
        );
    }
}

#[test]
fn a_worker_may_bring_the_table_but_only_the_right_one() {
    let cluster = start_cluster(ASIA, &["--time", "1h"]);
    cluster.wait_for("it serves", |_| true);
    let start = |name: &str, table: &str| {
        let table = data(table);
        cluster.worker_with(
            name,
            &cluster.url(),
            &["--data", table.to_str().unwrap()],
            &[],
        )
    };
    let wrong = start("wrong", "sachs_n1000_s1.csv.gz").wait(SOON);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(
        wrong.stderr.contains("not the coordinator's table"),
        "{wrong:?}"
    );
    let right = start("right", ASIA);
    cluster.wait_for("it works", |status| status.evaluations > 0);
    let fetched = fs::read_dir(cluster.path("right").join("data"));
    assert!(
        fetched.map_or(true, |mut files| files.next().is_none()),
        "nothing was fetched"
    );
    cluster.stop();
    right.wait(SOON).ok();
}

#[test]
fn a_worker_that_waits_takes_part_in_the_next_search_too() {
    let mut cluster = start_cluster(ASIA, &["--time", "500ms"]);
    let mut worker = cluster.worker_with("worker", &cluster.url(), &["--when-done", "wait"], &[]);
    cluster.wait_for_end();
    wait_until("it knows", SOON, || {
        worker.logged().contains("the search is over")
    });
    cluster.kill_coordinator();
    fs::remove_dir_all(cluster.state()).unwrap();
    cluster.forget_best();
    cluster.start_coordinator(&[]);
    let again = cluster.wait_for("the next search is over", |status| {
        status.state == "finished" && status.evaluations > 0
    });
    assert_eq!(again.stopped_by, "time");
    assert!(worker.is_running());
    worker.signal("TERM");
    worker.wait(SOON).ok();
}

#[test]
fn a_worker_that_is_told_to_end_while_it_joins_or_fetches_ends_with_0() {
    let cluster = start_cluster("link_n1000_s1.csv.gz", &["--time", "1h"]);
    cluster.wait_for("it serves", |_| true);
    for (what, bytes) in [("joins", 1), ("fetches", 100_000)] {
        let proxy = Proxy::before(cluster.port());
        proxy.hold_after(Way::FromServer, bytes);
        let worker = cluster.worker_with(what, &proxy.url(), &[], &[]);
        wait_until("bytes are held back", SOON, || proxy.holds());
        worker.signal("TERM");
        worker.wait(SOON).ok();
    }
}

#[test]
fn results_that_a_full_disk_refuses_are_written_once_there_is_room() {
    if !has_root() {
        return;
    }
    let mut cluster = prepare_cluster(ASIA, &["--time", "1h"]);
    let disk = SmallDisk::mount(&cluster.path("out"), "1m");
    let filler = cluster.path("out").join("filler");
    fill(&filler);
    cluster.start_coordinator(&[]);
    let worker = cluster.worker("worker");
    cluster.wait_for("a best row", |status| status.best_score.is_some());
    wait_until("it says so", SOON, || {
        cluster
            .coordinator()
            .logged()
            .contains("the result cannot be written")
    });
    let status = cluster.status().unwrap();
    assert_eq!(status.stopped_by, "", "the search continues");
    // Whoever asks gets it all the same.
    let asked = rlbayes(["result", &cluster.url(), "--json"]).ok().json();
    assert!(asked["score"].is_number());
    fs::remove_file(&filler).unwrap();
    wait_for_file(&cluster.path("out").join("asia_n1000_s1.json"));
    cluster.stop();
    worker.wait(SOON).ok();
    cluster.check_result();
    cluster.kill_coordinator();
    drop(disk);
}

#[test]
fn a_worker_that_is_started_again_on_a_full_disk_takes_part() {
    if !has_root() {
        return;
    }
    let cluster = start_cluster(ASIA, &["--time", "1h"]);
    let disk = SmallDisk::mount(&cluster.path("worker"), "4m");
    let worker = cluster.worker("worker");
    cluster.wait_for("it works", |status| status.exchanges > 3);
    killed(worker);
    fill(&cluster.path("worker").join("filler"));
    let again = cluster.worker("worker");
    wait_until("it says so", SOON, || {
        again
            .logged()
            .contains("the worker's number cannot be saved")
    });
    let before = cluster.status().unwrap().exchanges;
    cluster.wait_for("it takes part", |status| {
        alive(status) == 1 && status.exchanges > before + 3
    });
    cluster.stop();
    again.wait(SOON).ok();
    drop(disk);
}

#[test]
fn a_worker_that_no_coordinator_would_take_is_refused_at_the_start() {
    let name = "x".repeat(256);
    for (flag, value) in [("--threads", "70000"), ("--name", &name)] {
        let ran = rlbayes(["worker", "--coordinator", "http://127.0.0.1:1", flag, value]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(flag), "{ran:?}");
        assert!(ran.stderr.contains("at most"), "{ran:?}");
    }
}
