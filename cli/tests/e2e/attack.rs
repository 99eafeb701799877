//! Every attack that a test knows at the same time, beside honest workers: strangers that idle on both
//! ports, floods of valid, wrong and huge rows, forged reports, greedy joins, uploads that stall,
//! streams that nobody reads, a member that lies.
//!
//! ```text
//! RLBAYES_ATTACK_SECONDS=1200 cargo test --workspace --test e2e -- attack --nocapture
//! ```

use crate::greedy::{MIB, WIDE, costly, get, pinging};
use crate::liars::{ELSEWHERE, lie};
use crate::start_cluster;
use rlbayes_proto::v1;
use rlbayes_tests::peer::{Peer, hello, report, true_row};
use rlbayes_tests::{SOON, block_on, client_at, own_port, resident_bytes, wait_until};
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Connections of strangers, on each port.
const STRANGERS: usize = 300;
/// What the coordinator of a test may use.
const MEMORY: u64 = 256 * MIB;
/// What answers on their way may take besides, and each connection (docs/operations.md).
const ANSWERS: u64 = 200 * MIB;
const OF_A_CONNECTION: u64 = 384 << 10;
/// How long an honest worker may wait for an answer: 99 of 100 times.
const P99: Duration = Duration::from_secs(2);

fn attack_time() -> Duration {
    let set = std::env::var("RLBAYES_ATTACK_SECONDS").ok();
    Duration::from_secs(set.and_then(|text| text.parse().ok()).unwrap_or(10))
}

/// Whoever attacks, from elsewhere.
struct Attack<'a> {
    url: &'a str,
    done: &'a AtomicBool,
    calls: AtomicU64,
}

impl Attack<'_> {
    fn goes_on(&self) -> bool {
        self.calls.fetch_add(1, Relaxed);
        !self.done.load(Relaxed)
    }

    fn join(&self, hello: v1::JoinRequest) -> Option<Peer> {
        let joined = Peer::join_by(client_at(ELSEWHERE, self.url), hello).ok();
        if joined.is_none() {
            thread::sleep(Duration::from_millis(100));
        }
        joined
    }

    /// Sends rows as fast as it can, each message with a new number of a sender or not.
    fn flood(&self, first: u64, rows: impl Fn(u64) -> Vec<v1::Row>, as_others: bool) {
        let mut peer = None;
        let mut number = 0;
        while self.goes_on() {
            number += 1;
            peer = peer.or_else(|| self.join(hello(first)));
            let Some(one) = &mut peer else { continue };
            let mut request = one.request(vec![report(0, number, rows(number), 10)]);
            if as_others {
                request.incarnation = first + number;
            }
            if one.send(request).is_err() && number.is_multiple_of(64) {
                peer = None;
            }
        }
    }

    /// Joins again and again, with as many threads as a message can name.
    fn join_and_join(&self) {
        let mut number = 0;
        while self.goes_on() {
            number += 1;
            let greedy = v1::JoinRequest {
                threads: 65_536,
                ..hello(5_000_000 + number)
            };
            drop(self.join(greedy));
        }
    }

    /// Begins to bring states of chains, and does not go on.
    fn stall(&self) {
        while self.goes_on() {
            let (sender, chunks) = tokio::sync::mpsc::channel(1);
            let header = v1::StoreChainHeader {
                search_id: vec![1; 16].into(),
                worker: 1,
                incarnation: 9,
                chain: 0,
                sequence: 0,
                snapshot: vec![0; 32].into(),
                bytes: 64 << 20,
            };
            let first = v1::StoreChainChunk {
                header: Some(header),
                ..Default::default()
            };
            let mut client = client_at(ELSEWHERE, self.url);
            block_on(async {
                let _ = sender.send(first).await;
                let stream = tokio_stream::wrappers::ReceiverStream::new(chunks);
                let stalled = client.store_chain(stream);
                let _ = tokio::time::timeout(Duration::from_secs(2), stalled).await;
            });
        }
    }

    /// Asks for streams of the status, and reads none.
    fn watch(&self) {
        while self.goes_on() {
            let mut unread = Vec::new();
            for _ in 0..40 {
                let mut client = client_at(ELSEWHERE, self.url);
                unread.extend(block_on(client.watch(v1::StatusRequest {})).ok());
            }
            wait_a_little(self.done);
        }
    }

    /// Comes back as often as it is dropped, and only pings.
    fn idle(&self, port: u16, http: &str) {
        let mut strangers = pinging(port, STRANGERS);
        let reader = || {
            let mut stream = TcpStream::connect(http).ok()?;
            let asked = write!(stream, "GET /health HTTP/1.1\r\nHost: here\r\n\r\n");
            asked.ok().map(|()| stream)
        };
        let mut readers: Vec<Option<TcpStream>> = (0..STRANGERS).map(|_| reader()).collect();
        while self.goes_on() {
            for stream in &mut strangers {
                if stream
                    .write_all(b"\0\0\x08\x06\0\0\0\0\x0012345678")
                    .is_err()
                {
                    *stream = pinging(port, 1).remove(0);
                }
            }
            for stream in &mut readers {
                let asked = stream
                    .as_mut()
                    .map(|stream| stream.write_all(b"GET /health HTTP/1.1\r\nHost: here\r\n\r\n"));
                if !matches!(asked, Some(Ok(()))) {
                    *stream = reader();
                }
            }
            wait_a_little(self.done);
        }
    }
}

fn wait_a_little(done: &AtomicBool) {
    let begun = Instant::now();
    while !done.load(Relaxed) && begun.elapsed() < Duration::from_secs(1) {
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_mix_of_attacks_costs_honest_workers_nothing() {
    let http = own_port();
    let address = format!("127.0.0.1:{http}");
    let time = format!("{}s", attack_time().as_secs());
    let evaluations = (1u64 << 44).to_string();
    let mut flags = vec!["--chains", "6", "--time", &time];
    flags.extend(["--http", &address, "--lease", "6s"]);
    flags.extend(["--evaluations", &evaluations]);
    let mut cluster = start_cluster(WIDE, &flags);
    let workers = ["one", "other"].map(|name| cluster.worker(name));
    let before = cluster.wait_for("they work", |status| {
        status.workers.len() == 2 && status.exchanges > 3
    });
    let honest_ids: Vec<u64> = before.workers.iter().map(|worker| worker.id).collect();
    let (url, port) = (cluster.url(), cluster.port());
    let mut honest = Peer::join(&url, 7);
    let right: Vec<v1::Row> = (2..60).map(|node| true_row(WIDE, &[(0, node)])).collect();
    let valid: Vec<v1::Row> = (3..60).map(|node| true_row(WIDE, &[(2, node)])).collect();
    let many = vec![costly(1); 60];
    let done = AtomicBool::new(false);
    let attack = Attack {
        url: &url,
        done: &done,
        calls: AtomicU64::new(0),
    };
    let mut waited = Vec::new();
    let mut most = 0;
    let mut last = before;
    let attack = &attack;
    thread::scope(|scope| {
        scope.spawn(|| attack.idle(port, &address));
        for first in [1_000_000, 2_000_000, 3_000_000] {
            let wrong = |number: u64| {
                let number = u16::try_from(number % 1000).unwrap();
                (0..60).map(|at| costly(number * 60 + at)).collect()
            };
            scope.spawn(move || attack.flood(first, wrong, true));
        }
        scope.spawn(|| attack.flood(4_000_000, |_| valid.clone(), false));
        // More than a call may bring.
        let huge = |_| std::iter::repeat_n(many.clone(), 12).flatten().collect();
        scope.spawn(move || attack.flood(4_500_000, huge, false));
        // Nobody who has joined: what would end the search.
        scope.spawn(|| {
            let Some(mut peer) = attack.join(hello(4_600_000)) else {
                return;
            };
            while attack.goes_on() {
                let forged = (0..6).map(|chain| report(chain, 1, Vec::new(), 1 << 46));
                let mut request = peer.request(forged.collect());
                request.incarnation = 4_700_000;
                let _ = peer.send(request);
                thread::sleep(Duration::from_millis(5));
            }
        });
        scope.spawn(|| attack.join_and_join());
        scope.spawn(|| attack.stall());
        scope.spawn(|| attack.watch());
        scope.spawn(|| lie(&url, 666, &done));
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for sequence in 0.. {
                let row = right[sequence % right.len()].clone();
                let sent = Instant::now();
                let reports = vec![report(2, sequence as u64, vec![row], 10)];
                let reply = honest.send(honest.request(reports));
                waited.push(sent.elapsed());
                most = most.max(resident_bytes(cluster.coordinator()));
                last = cluster.status().unwrap();
                if !last.stopped_by.is_empty() {
                    break;
                }
                // The first comes before it has a record of its own.
                let is_taken = reply.as_ref().is_ok_and(|reply| reply.refused.is_empty());
                assert!(sequence == 0 || is_taken, "{sequence}: {reply:?}");
                for id in &honest_ids {
                    let worker = last.workers.iter().find(|worker| worker.id == *id);
                    assert!(worker.is_some_and(|it| it.alive), "{last:?}");
                }
                if sequence % 20 == 0 {
                    let answer = get(&address, "/health");
                    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                }
                thread::sleep(Duration::from_millis(50));
            }
        }));
        done.store(true, Relaxed);
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    });
    waited.sort_unstable();
    let part = |hundredths: usize| waited[waited.len() * hundredths / 100];
    let longest = waited[waited.len() - 1];
    println!(
        "{} exchanges: p50 {:?}, p99 {:?}, longest {longest:?}; {} MiB at most, {} rows refused, \
         {} turns of attackers, {} evaluations",
        waited.len(),
        part(50),
        part(99),
        most / MIB,
        last.refused_rows,
        attack.calls.load(Relaxed),
        last.evaluations,
    );
    assert_eq!(last.stopped_by, "time", "it ends as without them");
    assert!(part(99) < P99, "an exchange took {:?}", part(99));
    let allowed = MEMORY + ANSWERS + (2 * STRANGERS as u64 + 100) * OF_A_CONNECTION;
    assert!(most < allowed, "{} MiB", most / MIB);
    assert!(last.refused_rows > 0);
    for worker in workers {
        worker.wait(SOON).ok();
    }
    wait_until("the result is there", SOON, || {
        cluster
            .status()
            .is_some_and(|status| status.best_score.is_some())
    });
}
