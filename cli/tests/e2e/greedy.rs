//! Peers that are right, or nearly, and greedy: idle strangers, floods of costly rows, uploads that
//! never end, answers that nobody reads. Honest workers are served meanwhile, memory stays bounded,
//! and the search ends as without them.

use crate::cluster::alive;
use crate::{rlbayes, start_cluster};
use rlbayes_proto::{MAX_LIST_BYTES, v1};
use rlbayes_tests::peer::{Peer, edges, report, true_row};
use rlbayes_tests::{
    Cluster, Running, SOON, block_on, client, own_port, resident_bytes, wait_until,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use tonic::Code;

const ASIA: &str = "asia_n1000_s1.csv.gz";
pub(crate) const WIDE: &str = "win95pts_n1000_s1.csv.gz";
pub(crate) const MIB: u64 = 1 << 20;
/// The HTTP/2 preface, empty settings, and a PING.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const PING: &[u8] = b"\0\0\x08\x06\0\0\0\0\x0012345678";

/// Connections that speak HTTP/2 and only ping: more than a coordinator has places for strangers.
pub(crate) fn pinging(port: u16, count: usize) -> Vec<TcpStream> {
    let stranger = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let _ = stream
            .write_all(PREFACE)
            .and_then(|()| stream.write_all(PING));
        stream
    };
    (0..count).map(|_| stranger()).collect()
}

#[test]
fn idle_strangers_keep_nobody_out() {
    let http = own_port();
    let address = format!("127.0.0.1:{http}");
    let mut cluster = start_cluster(ASIA, &["--time", "1h", "--http", &address]);
    cluster.wait_for("it serves", |_| true);
    let port = cluster.port();
    let mut strangers = pinging(port, 1500);
    let readers: Vec<TcpStream> = (0..400)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).unwrap();
            let _ = write!(stream, "GET /health HTTP/1.1\r\nHost: here\r\n\r\n");
            stream
        })
        .collect();
    let held = resident_bytes(cluster.coordinator());
    assert!(held < 200 * MIB, "{} MiB", held / MIB);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        // They come back as often as they are dropped.
        scope.spawn(|| {
            while !done.load(Relaxed) {
                for stream in &mut strangers {
                    if stream.write_all(PING).is_err() {
                        *stream = pinging(port, 1).remove(0);
                    }
                }
                thread::sleep(Duration::from_millis(200));
            }
        });
        let health = rlbayes(["health", &cluster.url()]);
        assert_eq!(health.code, Some(0), "{health:?}");
        let worker = cluster.worker("worker");
        cluster.wait_for("a new worker takes part", |status| {
            alive(status) == 1 && status.exchanges > 3
        });
        for path in ["/health", "/status", "/metrics"] {
            let answer = get(&address, path);
            assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        }
        cluster.stop();
        worker.wait(SOON).ok();
        done.store(true, Relaxed);
    });
    drop(readers);
}

pub(crate) fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Columns of the wide table that are constant: an edge there is refused before anything is counted.
pub(crate) const CONSTANT: [u16; 2] = [1, 68];

/// A network in which every node has most of the 30 before it as parents, and a score that is possible
/// and wrong: it has to be counted to be refused.
pub(crate) fn costly(number: u16) -> v1::Row {
    let parents = |node: u16| {
        (node.saturating_sub(30)..node)
            .filter(move |at| !(at + number % 13).is_multiple_of(13))
            .filter(|at| !CONSTANT.contains(at))
    };
    let pairs: Vec<(u16, u16)> = (1..76u16)
        .filter(|node| !CONSTANT.contains(node))
        .flat_map(|node| parents(node).map(move |parent| (node, parent)))
        .collect();
    v1::Row {
        edges: edges(&pairs).into(),
        score: -1e15 - f64::from(number),
        ..Default::default()
    }
}

/// How long a flood lasts; set `RLBAYES_GREEDY_SECONDS` for a longer one.
fn flood_time() -> Duration {
    let set = std::env::var("RLBAYES_GREEDY_SECONDS").ok();
    Duration::from_secs(set.and_then(|text| text.parse().ok()).unwrap_or(12))
}

#[test]
fn a_flood_of_costly_rows_takes_no_lease_and_little_memory() {
    let flags = ["--chains", "3", "--time", "24h", "--lease", "6s"];
    let mut cluster = start_cluster(WIDE, &flags);
    let worker = cluster.worker("worker");
    let before = cluster.wait_for("it works", |status| status.exchanges > 2);
    let honest_id = before.workers[0].id;
    let warm = resident_bytes(cluster.coordinator());
    let url = cluster.url();
    // One more that is honest: it brings right rows that nobody knows yet, one at a time.
    let rows: Vec<v1::Row> = (2..60).map(|node| true_row(WIDE, &[(0, node)])).collect();
    let mut honest = Peer::join(&url, 7);
    let done = AtomicBool::new(false);
    let mut waited = Vec::new();
    let mut most = 0;
    thread::scope(|scope| {
        for connection in 0..12u64 {
            let (url, done) = (&url, &done);
            scope.spawn(move || flood(url, connection, done));
        }
        let begun = Instant::now();
        let mut sequence = 0;
        while begun.elapsed() < flood_time() {
            let row = rows[sequence % rows.len()].clone();
            sequence += 1;
            let sent = Instant::now();
            let reply =
                honest.send(honest.request(vec![report(2, sequence as u64, vec![row], 10)]));
            // The first comes before it has a record of its own.
            assert!(sequence == 1 || reply.is_ok(), "{sequence}: {reply:?}");
            waited.push(sent.elapsed());
            let status = cluster.status().unwrap();
            let worker = status.workers.iter().find(|it| it.id == honest_id).unwrap();
            assert!(worker.alive, "{status:?}");
            most = most.max(resident_bytes(cluster.coordinator()));
            thread::sleep(Duration::from_millis(100));
        }
        done.store(true, Relaxed);
    });
    waited.sort_unstable();
    let p99 = waited[waited.len() * 99 / 100];
    assert!(p99 < Duration::from_secs(2), "an exchange took {p99:?}");
    let after = cluster.status().unwrap();
    assert!(after.refused_rows > 100, "{}", after.refused_rows);
    assert!(after.exchanges > before.exchanges + 2);
    assert!(after.evaluations > before.evaluations);
    let grown = most.saturating_sub(warm);
    println!("p99 {p99:?}, grown by {} MiB", grown / MIB);
    assert!(grown < 128 * MIB, "it has grown by {} MiB", grown / MIB);
    ends(&cluster, worker);
}

/// Sends wrong and costly rows as fast as it can, each time as another sender.
fn flood(url: &str, connection: u64, done: &AtomicBool) {
    let mut peer = Peer::join(url, 1000 + connection);
    let mut number = 0u16;
    while !done.load(Relaxed) {
        number = number.wrapping_add(1);
        let rows = (0..60).map(|at| costly(number.wrapping_mul(60).wrapping_add(at)));
        let mut request = peer.request(vec![report(0, number.into(), rows.collect(), 10)]);
        request.incarnation = 100_000 * (connection + 1) + u64::from(number);
        drop(peer.send(request));
    }
}

#[test]
fn reports_of_more_than_a_mebibyte_are_refused() {
    let cluster = start_cluster(WIDE, &["--chains", "2", "--time", "1h"]);
    cluster.wait_for("it serves", |_| true);
    let mut peer = Peer::join(&cluster.url(), 7);
    let rows: Vec<v1::Row> = (0..60).map(costly).collect();
    let one = report(0, 1, rows, 10);
    let bytes = prost::Message::encoded_len(&one);
    let many = vec![one; MAX_LIST_BYTES / bytes + 2];
    let refused = peer.send(peer.request(many)).unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert!(refused.message().contains("at most"), "{refused:?}");
    assert_eq!(cluster.status().unwrap().refused_rows, 0, "none was scored");
}

#[test]
fn uploads_that_stall_do_not_stop_a_lockstep_search() {
    let flags = [
        "--deterministic",
        "--chains",
        "4",
        "--time",
        "1h",
        "--round-evaluations",
        "2000",
    ];
    let cluster = start_cluster(ASIA, &flags);
    let worker = cluster.worker("worker");
    let status = cluster.wait_for("rounds go on", |status| status.round > 2);
    let url = cluster.url();
    let stalled: Vec<_> = (0..8u32)
        .map(|number| {
            let url = url.clone();
            let search_id = status.search_id.clone();
            thread::spawn(move || {
                let header = v1::StoreChainHeader {
                    search_id,
                    worker: 1,
                    incarnation: u64::from(number) + 1,
                    chain: number % 4,
                    sequence: 0,
                    snapshot: vec![0; 32].into(),
                    bytes: 64 << 20,
                };
                let first = v1::StoreChainChunk {
                    header: Some(header),
                    ..Default::default()
                };
                block_on(async {
                    // The first chunk, and then nothing.
                    let (sender, chunks) = tokio::sync::mpsc::channel(1);
                    sender.send(first).await.unwrap();
                    let stream = tokio_stream::wrappers::ReceiverStream::new(chunks);
                    client(&url).store_chain(stream).await
                })
            })
        })
        .collect();
    let round = cluster.status().unwrap().round;
    cluster.wait_for("they still do", |status| status.round > round + 5);
    for upload in stalled {
        let refused = upload.join().unwrap().unwrap_err();
        // Nobody but the worker that runs a chain may bring its state.
        assert!(
            matches!(refused.code(), Code::NotFound | Code::Aborted),
            "{refused:?}"
        );
    }
    cluster.stop();
    worker.wait(SOON).ok();
}

#[test]
fn answers_that_nobody_reads_are_bounded() {
    let mut cluster = start_cluster(ASIA, &["--time", "1h"]);
    let worker = cluster.worker("worker");
    cluster.wait_for("it works", |status| status.exchanges > 2);
    let url = cluster.url();
    let warm = resident_bytes(cluster.coordinator());
    let mut refused = 0;
    let mut unread = Vec::new();
    for _ in 0..40 {
        let mut client = client(&url);
        for _ in 0..8 {
            match block_on(client.watch(v1::StatusRequest {})) {
                Ok(stream) => unread.push(stream),
                Err(status) => {
                    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
                    refused += 1;
                }
            }
        }
    }
    assert!(
        refused > 0 && unread.len() >= 30,
        "{refused}, {}",
        unread.len()
    );
    let exchanges = cluster.status().unwrap().exchanges;
    cluster.wait_for("the worker is served", |status| {
        status.exchanges > exchanges + 3
    });
    let second = cluster.worker("second");
    cluster.wait_for("a new worker takes part", |status| alive(status) == 2);
    rlbayes(["result", &url, "--json"]).ok();
    let grown = resident_bytes(cluster.coordinator()).saturating_sub(warm);
    assert!(grown < 64 * MIB, "it has grown by {} MiB", grown / MIB);
    drop(unread);
    wait_until("there is room again", SOON, || {
        block_on(client(&url).watch(v1::StatusRequest {})).is_ok()
    });
    ends(&cluster, worker);
    second.wait(SOON).ok();
}

fn ends(cluster: &Cluster, worker: Running) {
    cluster.stop();
    worker.wait(SOON).ok();
}
