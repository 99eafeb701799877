//! Peers that send what no worker sends: each gets a clear status, the pool is left alone, the
//! coordinator's memory stays flat, and real workers are served.

use crate::cluster::alive;
use crate::{rlbayes, start_cluster};
use rlbayes_proto::convert::row_digest;
use rlbayes_proto::v1;
use rlbayes_tests::peer::{Peer, edges, hello, report, true_row};
use rlbayes_tests::{Cluster, SOON, block_on, client, resident_bytes};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use tonic::{Code, Status};

const ASIA: &str = "asia_n1000_s1.csv.gz";
const MIB: u64 = 1 << 20;

/// A row told as what differs from another: the edges of some nodes, as pairs of child and parent.
fn told(base: &v1::Row, differing: &[u16], pairs: &[(u16, u16)], score: f64) -> v1::Row {
    let nodes: Vec<u8> = differing
        .iter()
        .flat_map(|node| node.to_le_bytes())
        .collect();
    v1::Row {
        base: row_digest(base).to_vec().into(),
        differing: nodes.into(),
        edges: edges(pairs).into(),
        score,
    }
}

fn asia() -> Cluster {
    let cluster = start_cluster(ASIA, &["--chains", "2", "--time", "1h", "--lease", "1h"]);
    cluster.wait_for("it serves", |_| true);
    cluster
}

fn code<T: std::fmt::Debug>(answer: Result<T, Status>) -> Code {
    let status = answer.unwrap_err();
    assert!(!status.message().is_empty(), "{status:?} says nothing");
    status.code()
}

/// Joins and leaves one right row in the pool.
fn peer_with_a_row(cluster: &Cluster) -> Peer {
    let mut peer = Peer::join(&cluster.url(), 7);
    let row = true_row(ASIA, &[(0, 1)]);
    let reply = peer.send(peer.request(vec![report(0, 0, vec![row], 10)]));
    assert!(reply.unwrap().refused.is_empty());
    cluster.wait_for("the row is in the pool", |status| status.pool_size == 1);
    peer
}

#[test]
fn a_row_may_be_told_as_what_differs_from_a_known_one() {
    let cluster = asia();
    let mut peer = peer_with_a_row(&cluster);
    let base = true_row(ASIA, &[(0, 1)]);
    let whole = true_row(ASIA, &[(0, 1), (2, 3)]);
    let mut sequence = 0;
    let mut bring = |row: &v1::Row| {
        sequence += 1;
        let mut request = peer.request(vec![report(0, sequence, vec![row.clone()], 10)]);
        request.bases = vec![row_digest(&base).to_vec().into(), vec![1, 2, 3].into()];
        peer.send(request)
    };
    let reply = bring(&told(&base, &[3], &[(3, 2)], whole.score)).unwrap();
    assert!(reply.refused.is_empty(), "{reply:?}");
    cluster.wait_for("it is in the pool", |status| status.pool_size == 2);
    // The same row as a whole is known by now, and so is one that differs from what was told.
    let further = true_row(ASIA, &[(0, 1), (2, 3), (4, 5)]);
    let reply = bring(&told(&whole, &[5], &[(5, 4)], further.score)).unwrap();
    assert!(reply.refused.is_empty(), "{reply:?}");
    cluster.wait_for("it is in the pool", |status| status.pool_size == 3);
    // A wrong score is found, however the row is told.
    let reply = bring(&told(&whole, &[5], &[(5, 4)], further.score + 5.0)).unwrap();
    assert_eq!(reply.refused.len(), 1, "{reply:?}");
    let unknown = true_row(ASIA, &[(1, 2)]);
    assert_eq!(
        code(bring(&told(&unknown, &[3], &[(3, 2)], -1.0))),
        Code::OutOfRange
    );
    for (differing, pairs) in [(&[2][..], &[(3, 2)][..]), (&[3, 3], &[(3, 2)]), (&[9], &[])] {
        let row = told(&base, differing, pairs, -1.0);
        assert_eq!(code(bring(&row)), Code::InvalidArgument, "{differing:?}");
    }
    let mut request = peer.request(Vec::new());
    request.bases = vec![vec![0; 32].into(); 17];
    assert_eq!(code(peer.send(request)), Code::InvalidArgument);
}

#[test]
fn short_rows_that_would_become_large_are_refused_before_they_do() {
    const TABLE: &str = "alarm.csv";
    let cluster = start_cluster(TABLE, &["--chains", "2", "--time", "1h", "--lease", "1h"]);
    cluster.wait_for("it serves", |_| true);
    let mut peer = Peer::join(&cluster.url(), 7);
    let chain: Vec<(usize, usize)> = (1..37).map(|to| (to - 1, to)).collect();
    let base = true_row(TABLE, &chain);
    let reply = peer.send(peer.request(vec![report(0, 0, vec![base.clone()], 10)]));
    assert!(reply.unwrap().refused.is_empty());
    let row = told(&base, &[], &[], -1.0);
    let reports = (0..250).map(|chain| report(chain, 1, vec![row.clone(); 60], 10));
    let refused = peer.send(peer.request(reports.collect()));
    assert_eq!(code(refused), Code::ResourceExhausted);
}

#[test]
fn rows_that_are_wrong_are_refused_with_a_reason_and_leave_the_pool_alone() {
    let cluster = asia();
    let mut peer = peer_with_a_row(&cluster);
    let before = cluster.status().unwrap();
    let right = true_row(ASIA, &[(0, 1)]);
    let with_edges = |pairs: &[(u16, u16)]| v1::Row {
        edges: edges(pairs).into(),
        score: -1.0,
        ..Default::default()
    };
    let with_score = |score: f64| v1::Row {
        score,
        ..right.clone()
    };
    let wrong = [
        ("a cycle", with_edges(&[(0, 1), (1, 0)])),
        ("a node on itself", with_edges(&[(3, 3)])),
        ("a node that is not there", with_edges(&[(0, 8)])),
        ("no order", with_edges(&[(1, 0), (0, 2)])),
        ("an edge twice", with_edges(&[(1, 0), (1, 0)])),
        ("a better score", with_score(right.score + 1000.0)),
        ("a worse score", with_score(right.score - 1.0)),
        ("not a number", with_score(f64::NAN)),
        ("infinity", with_score(f64::INFINITY)),
        ("minus infinity", with_score(f64::NEG_INFINITY)),
        (
            "half an edge",
            v1::Row {
                edges: vec![1, 0, 0].into(),
                score: right.score,
                ..Default::default()
            },
        ),
    ];
    let mut sequence = 0;
    for (what, row) in &wrong {
        sequence += 1;
        let reply = peer
            .send(peer.request(vec![report(0, sequence, vec![row.clone()], 10)]))
            .unwrap();
        assert_eq!(reply.refused.len(), 1, "{what}: {reply:?}");
        assert!(!reply.refused[0].is_empty(), "{what}");
    }
    let count = wrong.len() as u64;
    let after = cluster.wait_for("they are counted", |status| status.refused_rows == count);
    assert_eq!(after.pool_size, before.pool_size);
    assert_eq!(after.best_score, before.best_score);

    // Patience ends, for this sender and for others at its address, except those with a good record.
    let mut other = Peer::join(&cluster.url(), 8);
    let row = true_row(ASIA, &[(1, 2)]);
    let reply = other.send(other.request(vec![report(1, 0, vec![row], 10)]));
    assert!(reply.unwrap().refused.is_empty());
    let refused = loop {
        sequence += 1;
        let rows = vec![wrong[0].1.clone(); 60];
        if let Err(status) = peer.send(peer.request(vec![report(0, sequence, rows, 10)])) {
            break status;
        }
        assert!(sequence < 100, "patience never ends");
    };
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");
    let row = true_row(ASIA, &[(2, 3)]);
    let reply = other.send(other.request(vec![report(1, 1, vec![row.clone()], 20)]));
    assert!(reply.unwrap().refused.is_empty());
    cluster.wait_for("the other one's rows are in", |status| {
        status.pool_size == 3
    });
    let mut newcomer = Peer::join(&cluster.url(), 9);
    let unknown = true_row(ASIA, &[(3, 4)]);
    let mut bring = |row| newcomer.send(newcomer.request(vec![report(1, 2, vec![row], 20)]));
    assert_eq!(code(bring(unknown)), Code::ResourceExhausted);
    assert!(bring(row).is_ok(), "a row that is known costs nothing");
}

#[test]
fn unknown_ids_and_numbers_out_of_range_get_a_clear_status() {
    let cluster = asia();
    let mut peer = peer_with_a_row(&cluster);
    let before = cluster.status().unwrap();
    let good = peer.request(vec![report(0, 1, Vec::new(), 20)]);
    let changed = |change: fn(&mut v1::ExchangeRequest)| {
        let mut request = good.clone();
        change(&mut request);
        request
    };
    let cases = [
        (
            "another search",
            changed(|r| r.search_id = vec![9; 16].into()),
            Code::Aborted,
        ),
        (
            "no search",
            changed(|r| r.search_id = Default::default()),
            Code::Aborted,
        ),
        ("another worker", changed(|r| r.worker = 99), Code::NotFound),
        (
            "another life of it",
            changed(|r| r.incarnation = 99),
            Code::NotFound,
        ),
        (
            "another chain",
            changed(|r| r.reports[0].chain = 2),
            Code::InvalidArgument,
        ),
        (
            "the last chain there can be",
            changed(|r| r.reports[0].chain = u32::MAX),
            Code::InvalidArgument,
        ),
        (
            "no status",
            changed(|r| r.reports[0].status = 0),
            Code::InvalidArgument,
        ),
        (
            "a status that is none",
            changed(|r| r.reports[0].status = 77),
            Code::InvalidArgument,
        ),
        (
            "a state that was not uploaded",
            changed(|r| r.reports[0].snapshot = vec![1; 32].into()),
            Code::InvalidArgument,
        ),
        (
            "a find without its row",
            changed(|r| {
                r.reports[0].finds = vec![v1::Find {
                    found: v1::Found::Best.into(),
                    row: None,
                }];
            }),
            Code::InvalidArgument,
        ),
        (
            "too many reports",
            changed(|r| r.reports = vec![r.reports[0].clone(); 4097]),
            Code::InvalidArgument,
        ),
        (
            "an old protocol",
            changed(|r| r.protocol_version = 0),
            Code::FailedPrecondition,
        ),
    ];
    for (what, request, expected) in cases {
        assert_eq!(code(peer.send(request)), expected, "{what}");
    }

    let join = |change: fn(&mut v1::JoinRequest)| {
        let mut request = hello(50);
        change(&mut request);
        let mut client = client(&cluster.url());
        code(block_on(client.join(request)))
    };
    assert_eq!(join(|r| r.protocol_version = 0), Code::FailedPrecondition);
    assert_eq!(join(|r| r.protocol_version += 1), Code::FailedPrecondition);
    assert_eq!(join(|r| r.threads = 0), Code::InvalidArgument);
    assert_eq!(join(|r| r.threads = u32::MAX), Code::InvalidArgument);
    assert_eq!(join(|r| r.incarnation = 0), Code::InvalidArgument);
    assert_eq!(join(|r| r.host = "x".repeat(256)), Code::InvalidArgument);
    assert_eq!(
        join(|r| r.search_id = vec![1; 3].into()),
        Code::InvalidArgument
    );

    let search_id = peer.joined.search.as_ref().unwrap().id.clone();
    let mut client = client(&cluster.url());
    let answer = block_on(client.fetch_data(v1::FetchDataRequest {
        data_hash: vec![0; 32].into(),
    }));
    assert_eq!(code(answer.map(|_| ())), Code::Aborted);
    let answer = block_on(client.fetch_chain(v1::FetchChainRequest {
        search_id: search_id.clone(),
        chain: 0,
        snapshot: vec![0; 32].into(),
    }));
    assert_eq!(code(answer.map(|_| ())), Code::OutOfRange);
    assert_eq!(
        code(upload(&cluster.url(), &peer, 1000, 1000)),
        Code::FailedPrecondition,
        "no chain of this search has a state here"
    );

    let after = cluster.status().unwrap();
    assert_eq!(after.pool_size, before.pool_size);
    assert_eq!(after.best_score, before.best_score);
    // One who behaves is served as before.
    peer.send(good.clone()).unwrap();
}

/// Uploads some bytes as the state of a chain, and announces how many.
fn upload(url: &str, peer: &Peer, bytes: u64, announced: u64) -> Result<(), Status> {
    let header = v1::StoreChainChunk {
        header: Some(v1::StoreChainHeader {
            search_id: peer.joined.search.as_ref().unwrap().id.clone(),
            worker: peer.joined.worker,
            incarnation: 7,
            chain: 0,
            sequence: 1,
            snapshot: vec![0; 32].into(),
            bytes: announced,
        }),
        content: Default::default(),
    };
    let content = v1::StoreChainChunk {
        header: None,
        content: vec![1; 1000].into(),
    };
    let chunks = std::iter::repeat_n(content, usize::try_from(bytes / 1000).unwrap());
    let chunks: Vec<_> = [header].into_iter().chain(chunks).collect();
    let mut client = client(url);
    block_on(client.store_chain(tokio_stream::iter(chunks))).map(|_| ())
}

#[test]
fn states_that_are_not_what_they_are_announced_as_are_refused_and_nothing_is_kept_of_them() {
    let flags = ["--deterministic", "--chains", "2", "--time", "1h"];
    let mut cluster = start_cluster(ASIA, &[&flags[..], &["--lease", "1h"]].concat());
    cluster.wait_for("it serves", |_| true);
    let url = cluster.url();
    let peer = Peer::join(&url, 7);
    let no_header = tokio_stream::iter([v1::StoreChainChunk::default()]);
    let answer = block_on(client(&url).store_chain(no_header));
    assert_eq!(code(answer), Code::InvalidArgument);
    for announced in [10, 1000, u64::MAX] {
        let answer = upload(&url, &peer, 1000, announced);
        assert_eq!(code(answer), Code::InvalidArgument, "{announced}");
    }
    let large = 20_000_000;
    let flood = |count: usize| {
        for _ in 0..count {
            let answer = upload(&url, &peer, large, large);
            assert_eq!(code(answer), Code::InvalidArgument);
        }
    };
    flood(3);
    let warm = resident_bytes(cluster.coordinator());
    flood(20);
    let grown = resident_bytes(cluster.coordinator()).saturating_sub(warm);
    // The allocator keeps room for a few uploads per thread; all twenty would be 400 MB.
    assert!(grown < 160 * MIB, "it has grown by {} KiB", grown >> 10);
}

#[test]
fn messages_that_are_too_large_or_too_many_do_not_fill_the_memory() {
    let mut cluster = asia();
    let mut peer = peer_with_a_row(&cluster);
    let before = cluster.status().unwrap();
    let wrong = v1::Row {
        edges: edges(&[(0, 1), (1, 0)]).into(),
        score: 0.0,
        ..Default::default()
    };
    let url = cluster.url();
    let huge = || {
        let mut request = hello(60);
        request.host = "x".repeat(5 << 20);
        request
    };
    let mut flood = |first: u64, count: u64| {
        for number in first..first + count {
            let mut request = peer.request(vec![report(0, number, vec![wrong.clone(); 60], 10)]);
            // A new sender each time: patience never ends, and nothing may be kept of them.
            request.incarnation = 1000 + number;
            let found = code(peer.send(request));
            assert!(
                matches!(found, Code::NotFound | Code::ResourceExhausted),
                "{found:?}"
            );
        }
        for _ in 0..count / 50 {
            let mut client = client(&url);
            let found = code(block_on(client.join(huge())));
            assert!(
                matches!(found, Code::OutOfRange | Code::ResourceExhausted),
                "{found:?}"
            );
        }
    };
    flood(0, 500);
    let warm = resident_bytes(cluster.coordinator());
    flood(500, 2000);
    let grown = resident_bytes(cluster.coordinator()).saturating_sub(warm);
    assert!(grown < 16 * MIB, "it has grown by {} KiB", grown >> 10);
    let after = cluster.status().unwrap();
    assert_eq!(after.pool_size, before.pool_size);
    assert_eq!(after.best_score, before.best_score);
}

#[test]
fn garbage_and_half_open_connections_do_not_keep_a_worker_from_its_coordinator() {
    let flags = ["--chains", "2", "--time", "1h"];
    let mut cluster = start_cluster(ASIA, &flags);
    let worker = cluster.worker("worker");
    cluster.wait_for("it works", |status| status.exchanges > 3);
    let port = cluster.port();
    let connect = || TcpStream::connect(("127.0.0.1", port)).unwrap();
    let round = || {
        let silent: Vec<TcpStream> = (0..200).map(|_| connect()).collect();
        let garbage: Vec<TcpStream> = (0..200u32)
            .map(|number| {
                let mut stream = connect();
                let bytes: Vec<u8> = (0..997u32)
                    .map(|at| (at.wrapping_mul(number.wrapping_add(31)) >> 3).to_le_bytes()[0])
                    .collect();
                // It may be closed before all is written.
                let _ = stream.write_all(&bytes);
                stream
            })
            .collect();
        let begun: Vec<TcpStream> = (0..100)
            .map(|_| {
                let mut stream = connect();
                let _ = stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
                stream
            })
            .collect();
        (silent, garbage, begun)
    };
    let first = round();
    let warm_at = cluster.wait_for("it is served meanwhile", |status| {
        alive(status) == 1 && status.exchanges > 6
    });
    let closes = |streams: &[TcpStream]| streams.iter().for_each(assert_closes);
    closes(&first.1);
    closes(&first.0);
    closes(&first.2);
    drop(first);
    let warm = resident_bytes(cluster.coordinator());
    let more = round();
    closes(&more.1);
    drop(more);
    let grown = resident_bytes(cluster.coordinator()).saturating_sub(warm);
    assert!(grown < 16 * MIB, "it has grown by {} KiB", grown >> 10);
    let after = cluster.wait_for("it is served after", |status| {
        alive(status) == 1 && status.exchanges > warm_at.exchanges + 6
    });
    assert_eq!(after.refused_rows, 0);
    cluster.stop();
    worker.wait(SOON).ok();
    assert!(cluster.coordinator().is_running());
}

#[test]
fn the_http_port_only_answers_questions() {
    let http = rlbayes_tests::own_port();
    let address = format!("127.0.0.1:{http}");
    let cluster = start_cluster(ASIA, &["--time", "1h", "--http", &address]);
    let worker = cluster.worker("worker");
    cluster.wait_for("a best row", |status| status.best_score.is_some());
    let ask = |request: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        write!(
            stream,
            "{request}\r\nHost: here\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    for (path, holds) in [
        ("/status", "best_score"),
        ("/metrics", "rlbayes_best_score"),
        ("/health", "ok"),
    ] {
        let answer = ask(&format!("GET {path} HTTP/1.1"));
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        assert!(answer.contains(holds), "{path}: {answer}");
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            let answer = ask(&format!("{method} {path} HTTP/1.1"));
            assert!(answer.starts_with("HTTP/1.1 405"), "{method}: {answer}");
        }
    }
    let answer = ask("GET /rlbayes.v1.Coordinator/Stop HTTP/1.1");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    let answer = ask("POST /rlbayes.v1.Coordinator/Stop HTTP/1.1");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    let status = cluster.status().unwrap();
    assert_eq!(status.stopped_by, "", "nobody could stop it");
    cluster.stop();
    worker.wait(SOON).ok();
}

/// Reads until the other side closes or resets the connection.
pub(crate) fn assert_closes(mut stream: &TcpStream) {
    stream.set_read_timeout(Some(SOON)).unwrap();
    let mut buffer = [0; 1024];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return,
            Err(error) => panic!("the connection is still open after {SOON:?}: {error}"),
        }
    }
}

#[test]
fn names_with_control_characters_do_not_reach_a_terminal() {
    let cluster = asia();
    let mut request = hello(70);
    request.host = "\u{1b}[31mred\u{7}\r\n".to_owned();
    request.program_version = "1\u{1b}c".to_owned();
    let _peer = Peer::join_as(&cluster.url(), request).unwrap();
    let status = cluster.wait_for("it is shown", |status| status.workers.len() == 1);
    assert_eq!(status.workers[0].host, "?[31mred???");
    assert_eq!(status.workers[0].program_version, "1?c");
    let shown = rlbayes(["status", &cluster.url()]).ok().stdout;
    assert!(
        shown.contains("[31mred") && !shown.contains('\u{1b}'),
        "{shown:?}"
    );
}
