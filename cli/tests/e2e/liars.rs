//! Members that hold chains and lie about what they have done on them: a search goes on until others
//! have done their part of it, and what is shown stays possible.

use crate::cluster::alive;
use crate::start_cluster;
use rlbayes_proto::v1;
use rlbayes_tests::peer::{Peer, hello, report};
use rlbayes_tests::{Cluster, SOON, client_at};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const TABLE: &str = "alarm.csv";
/// As much work as a message can claim.
const MUCH: u64 = 1 << 46;
/// The most that counts of a thread in a second.
const OF_A_THREAD: u64 = 1 << 28;
/// Where the liar connects from: what counts is counted by peers.
pub(crate) const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// Claims as much as can be claimed of every chain that it is given, again and again.
pub(crate) fn lie(url: &str, incarnation: u64, done: &AtomicBool) {
    while !done.load(Relaxed) {
        let joined = Peer::join_by(client_at(ELSEWHERE, url), hello(incarnation));
        let Ok(mut peer) = joined else {
            thread::sleep(Duration::from_millis(200));
            continue;
        };
        let mut chains = peer.joined.chains.clone();
        for sequence in 0.. {
            let lies = chains.iter().map(|&chain| v1::ChainReport {
                status: v1::ChainStatus::OutOfEvaluations.into(),
                ..report(chain, sequence, Vec::new(), MUCH)
            });
            let request = peer.request(lies.collect());
            match peer.send(request) {
                Ok(reply) if !done.load(Relaxed) => {
                    chains.extend(reply.orders.iter().map(|order| order.chain));
                    chains.sort_unstable();
                    chains.dedup();
                }
                _ => break,
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Runs something beside a liar.
fn beside_a_liar(cluster: &Cluster, what: impl FnOnce()) {
    let done = AtomicBool::new(false);
    let url = cluster.url();
    thread::scope(|scope| {
        scope.spawn(|| lie(&url, 666, &done));
        // It ends also if this fails.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what));
        done.store(true, Relaxed);
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn a_search_does_not_end_before_others_have_done_their_part() {
    const BUDGET: u64 = 2_000_000_000;
    /// For some seconds a liar counts as the fastest thread that there is, then as up to 32 times as fast
    /// as the honest worker or as an eighth of that thread: the worker of a test may be a slow one on a
    /// busy machine.
    const LEAST_PART: u64 = 2000;
    let evaluations = BUDGET.to_string();
    let flags = ["--evaluations", &evaluations, "--exchange-every", "500ms"];
    let cluster = start_cluster(TABLE, &flags);
    let worker = cluster.worker("worker");
    let before = cluster.wait_for("it works", |status| status.evaluations > 0);
    let honest = before.workers[0].id;
    beside_a_liar(&cluster, || {
        let (mut shown, mut seen, mut by_it) = (0, Instant::now(), 0.0);
        cluster.wait_for("the search ends", |status| {
            assert!(status.evaluations >= shown, "what was shown went down");
            shown = status.evaluations;
            let of_it = status.workers.iter().find(|worker| worker.id == honest);
            let pace = of_it.map_or(0.0, |worker| worker.evaluations_per_second);
            by_it += pace
                * std::mem::replace(&mut seen, Instant::now())
                    .elapsed()
                    .as_secs_f64();
            !status.stopped_by.is_empty()
        });
        #[expect(clippy::cast_precision_loss, reason = "a part of it")]
        let least = (BUDGET / LEAST_PART) as f64;
        println!("{by_it:.3e} of {BUDGET} evaluations are the other one's");
        assert!(by_it >= least, "the other one has made {by_it} of {BUDGET}");
    });
    let end = cluster.wait_for_end();
    assert_eq!(end.stopped_by, "evaluations");
    worker.wait(SOON).ok();
}

#[test]
fn a_liar_that_is_alone_at_first_does_not_end_a_search() {
    for chains in [&["--chains", "4"][..], &[]] {
        let evaluations = (1u64 << 44).to_string();
        let flags = [&["--evaluations", evaluations.as_str()][..], chains].concat();
        let cluster = start_cluster(TABLE, &flags);
        cluster.wait_for("it serves", |_| true);
        let begun = Instant::now();
        beside_a_liar(&cluster, || {
            let is_possible = |status: &v1::StatusReply| {
                assert_eq!(status.stopped_by, "", "{status:?}");
                // A thread of each, what they may begin with, and what a second is counted late.
                let most = 2 * OF_A_THREAD * (begun.elapsed().as_secs() + 3);
                assert!(
                    status.evaluations <= most,
                    "{} > {most}",
                    status.evaluations
                );
            };
            cluster.wait_for("its claims count as time passes", |status| {
                is_possible(status);
                status.evaluations > 3 * OF_A_THREAD
            });
            let worker = cluster.worker("worker");
            let joined = cluster.wait_for("an honest worker joins", |status| {
                is_possible(status);
                alive(status) == 2
            });
            cluster.wait_for("it works", |status| {
                is_possible(status);
                status.exchanges > joined.exchanges + 100 && status.best_score.is_some()
            });
            assert_eq!(cluster.stop().stopped_by, "stop");
            worker.wait(SOON).ok();
        });
    }
}
