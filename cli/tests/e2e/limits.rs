//! Messages, connections and descriptors have limits; what does not fit is sent in parts, waits, or
//! is refused with a clear word.

use crate::cluster::alive;
use crate::hostile::assert_closes;
use crate::{prepare_cluster, start_cluster};
use rlbayes_common::data::load_table;
use rlbayes_common::ids::NodeIdx;
use rlbayes_proto::v1;
use rlbayes_tests::peer::{Peer, hello, report, true_row};
use rlbayes_tests::{Cluster, Running, SOON, block_on, data, own_port, wait_until, write};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

const ASIA: &str = "asia_n1000_s1.csv.gz";
const LINK: &str = "link_n1000_s1.csv.gz";

/// Returns 1125 edges, as many as link's true network has, between columns that are not constant.
fn many_edges() -> Vec<(usize, usize)> {
    let (table, _) = load_table(&data(LINK), &Default::default()).unwrap();
    let nodes = NodeIdx::all(table.nodes()).filter(|&node| !table.is_constant(node));
    let nodes: Vec<usize> = nodes.map(NodeIdx::index).collect();
    let edges = [1, 2].into_iter().flat_map(|apart| {
        let pairs = nodes.iter().zip(&nodes[apart..]);
        pairs.map(|(&from, &to)| (from, to))
    });
    edges.take(1125).collect()
}

/// Reports on all chains until they are 512, as many as 64 threads run: nobody is believed at once.
/// Returns the orders that came, reply by reply.
fn grow(peer: &mut Peer) -> Vec<Vec<v1::ChainOrder>> {
    let mut parts = vec![std::mem::take(&mut peer.joined.orders)];
    let mut received = BTreeSet::new();
    for sequence in 0..40 {
        received.extend(parts.iter().flatten().map(|order| order.chain));
        let reports = received
            .iter()
            .map(|&chain| report(chain, sequence, Vec::new(), 10));
        let orders = peer.send(peer.request(reports.collect())).unwrap().orders;
        if received.len() == 512 {
            assert!(orders.is_empty(), "what was reported on is not sent again");
            return parts;
        }
        let fresh = |order: &v1::ChainOrder| !received.contains(&order.chain);
        assert!(orders.iter().any(fresh), "nothing new was sent");
        parts.push(orders);
    }
    panic!("only {} chains in {} parts", received.len(), parts.len());
}

/// 512 chains that begin from two rows of 4.5 KB each: more than a message holds.
#[test]
fn chains_that_do_not_fit_one_reply_are_told_in_parts() {
    let cluster = start_cluster(LINK, &["--time", "1h", "--lease", "1h"]);
    cluster.wait_for("it serves", |_| true);
    let join = |incarnation: u64| {
        let mut request = hello(incarnation);
        request.threads = 64;
        Peer::join_as(&cluster.url(), request).unwrap()
    };
    let mut first = join(1);
    let sizes: Vec<usize> = grow(&mut first).iter().map(Vec::len).collect();
    assert_eq!(sizes, [8, 24, 96, 384], "without rows they fit");
    let row = true_row(LINK, &many_edges());
    assert_eq!(row.edges.len(), 4 * 1125);
    // Every chain has found something: those without rows go with their worker.
    for part in (0..512).collect::<Vec<u32>>().chunks(128) {
        let reports = part
            .iter()
            .map(|&chain| report(chain, 99, vec![row.clone()], 10));
        let reply = first.send(first.request(reports.collect()));
        assert_eq!(reply.unwrap().refused, [""; 0]);
    }
    block_on(first.client.leave(first.request(Vec::new()))).unwrap();

    // Another worker gets them all, the last 384 one part after the other.
    let mut second = join(2);
    let parts = grow(&mut second);
    assert!(parts.len() > 6, "{} parts", parts.len());
    let is_from_the_pool = |order: &v1::ChainOrder| matches!(&order.origin, Some(v1::chain_order::Origin::Pool(seeds)) if seeds.best.is_some() && seeds.mate.is_some());
    assert!(parts.iter().flatten().all(is_from_the_pool));
}

#[test]
fn constraints_that_no_message_holds_are_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let (table, _) = load_table(&data(LINK), &Default::default()).unwrap();
    let names = table
        .schema()
        .variables()
        .iter()
        .map(|variable| variable.name());
    let names: Vec<&str> = names.collect();
    let mut text = String::from("from,to\n");
    for from in 0..200 {
        for to in 0..names.len() {
            if from != to {
                text.push_str(&format!("{},{}\n", names[from], names[to]));
            }
        }
    }
    let forbidden = write(folder.path(), "forbidden.csv", &text);
    let cluster = prepare_cluster(LINK, &["--forbidden", forbidden.to_str().unwrap()]);
    let ran = Running::of(cluster.coordinator_command()).wait(SOON);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("constraints"), "{ran:?}");
}

fn get(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let request = "GET /health HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn garbage_half_open_and_dripping_connections_do_not_take_the_http_port() {
    let address = format!("127.0.0.1:{}", own_port());
    let mut cluster = start_cluster(ASIA, &["--time", "1h", "--http", &address]);
    cluster.wait_for("it serves", |_| true);
    let connect = || TcpStream::connect(&address).unwrap();
    let half: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: here\r\n";
    // More than it has places for.
    let mut streams: Vec<TcpStream> = (0..40).map(|_| connect()).collect();
    for number in 0..40u8 {
        let mut garbage = connect();
        let bytes: Vec<u8> = (0..200u8).map(|at| at.wrapping_mul(number | 1)).collect();
        let _ = garbage.write_all(&bytes);
        streams.push(garbage);
    }
    for _ in 0..40 {
        let mut open = connect();
        open.write_all(half).unwrap();
        streams.push(open);
    }
    // A byte per second: the head's limit is not renewed by it.
    let mut drips = connect();
    drips.write_all(half).unwrap();
    let mut dripping = drips.try_clone().unwrap();
    let dripped = std::thread::spawn(move || {
        let begun = Instant::now();
        while dripping.write_all(b"X").is_ok() {
            assert!(begun.elapsed() < SOON, "it was never closed");
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    let answer = get(&address);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    streams.iter().for_each(assert_closes);
    assert_closes(&drips);
    dripped.join().unwrap();
    assert!(get(&address).starts_with("HTTP/1.1 200"));
    assert!(cluster.coordinator().is_running());
}

/// Starts a cluster's coordinator with a limit of open files, as `ulimit` sets it.
fn coordinator_with(cluster: &Cluster, limit: &str) -> Running {
    let command = cluster.coordinator_command();
    let mut limited = Command::new("sh");
    limited
        .arg("-c")
        .arg(format!("ulimit {limit} && exec \"$0\" \"$@\""))
        .arg(command.get_program())
        .args(command.get_args());
    Running::of(limited)
}

/// Returns the soft and the hard limit of open files.
fn open_files(process: &Running) -> (String, String) {
    let text = fs::read_to_string(format!("/proc/{}/limits", process.id())).unwrap();
    let line = text.lines().find(|line| line.starts_with("Max open files"));
    let mut words = line.unwrap().split_whitespace().skip(3).map(str::to_owned);
    (words.next().unwrap(), words.next().unwrap())
}

#[test]
fn a_coordinator_with_few_descriptors_serves_its_worker_among_many_connections() {
    let cluster = prepare_cluster(ASIA, &["--chains", "2", "--time", "1h"]);
    let mut coordinator = coordinator_with(&cluster, "-n 300");
    cluster.wait_for("it serves", |_| true);
    wait_until("it says so", SOON, || {
        coordinator.logged().contains("room for few workers")
    });
    // More than it may open, and less than twice what it has places for: those are closed in turn.
    let silent: Vec<TcpStream> = (0..320)
        .map(|_| TcpStream::connect(("127.0.0.1", cluster.port())).unwrap())
        .collect();
    let worker = cluster.worker("worker");
    cluster.wait_for("it works", |status| {
        alive(status) == 1 && status.exchanges > 3
    });
    silent.iter().for_each(assert_closes);
    assert!(coordinator.is_running());
    cluster.stop();
    worker.wait(SOON).ok();
}

#[test]
fn a_coordinator_raises_its_limit_of_open_files() {
    let cluster = prepare_cluster(ASIA, &["--time", "1h"]);
    let coordinator = coordinator_with(&cluster, "-S -n 200");
    cluster.wait_for("it serves", |_| true);
    let (soft, hard) = open_files(&coordinator);
    assert_eq!(soft, hard);
}
