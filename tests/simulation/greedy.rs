//! Peers that are right and greedy: each of their messages is a valid one, and they want everything
//! for themselves. They may cost the others nothing: no lease, no time, no memory, no result.

use crate::cluster::channel;
use crate::search::Search;
use rlbayes_common::elite::{EliteRow, Structure};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::{NodeIdx, Seed};
use rlbayes_common::random::Random;
use rlbayes_common::score::{LocalScore, ScoreSpec, Scorer};
use rlbayes_proto::convert::row_to_wire;
use rlbayes_proto::{MAX_SNAPSHOT_BYTES, PROTOCOL_VERSION, v1};
use rlbayes_worker::grpc_link::{WithToken, client};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;

/// What a peer wants too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Greed {
    /// It joins again and again with as many threads as a message can name, and never reports.
    Joins,
    /// It joins once with as many threads, keeps its lease, and reports nothing of its chains.
    Threads,
    /// It has joined, and reports valid rows on many calls at a time, as often as it can.
    Rows,
    /// It has never joined, and reports work that would end the search.
    Forgery,
    /// It has joined, and reports chains that it does not hold as done.
    ChainsOfOthers,
    /// It has joined, and reports more work of its own chains than anybody can do.
    Lies,
    /// It begins to send states of chains, and does not go on.
    Uploads,
    /// It watches, and never reads.
    Watching,
}

/// As many threads as a message can name.
const MOST_THREADS: u32 = 65_536;
/// As much work as a message can claim.
const MUCH: u64 = 1 << 46;
/// Calls that a peer has under way at a time.
const AT_A_TIME: usize = 16;
/// How long a greedy peer waits for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How soon it tries again.
const AGAIN: Duration = Duration::from_millis(100);

/// A greedy peer.
pub(crate) struct Peer {
    pub(crate) greed: Greed,
    pub(crate) search: Rc<Search>,
    pub(crate) seed: Seed,
}

impl Peer {
    /// Is greedy for as long as its host lives.
    pub(crate) async fn run(self: Rc<Self>) -> turmoil::Result {
        let calls = match self.greed {
            Greed::Joins | Greed::Threads | Greed::Lies => 1,
            _ => AT_A_TIME,
        };
        for call in 0..calls {
            let peer = Rc::clone(&self);
            spawn_local(async move {
                let mut random = Random::new(peer.seed.mix(call as u64));
                loop {
                    // Whatever comes back, it goes on.
                    let _ = timeout(PATIENCE, peer.turn(&mut random)).await;
                    sleep(AGAIN).await;
                }
            });
        }
        std::future::pending().await
    }

    /// Tries to get something until that is refused.
    async fn turn(&self, random: &mut Random) -> Result<(), tonic::Status> {
        let mut client = client(channel(), WithToken::default());
        match self.greed {
            Greed::Joins => loop {
                let hello = self.hello(random.bits() | 1, MOST_THREADS);
                client.join(hello).await?;
                sleep(AGAIN).await;
            },
            Greed::Threads => {
                let hello = self.hello(random.bits() | 1, MOST_THREADS);
                let (incarnation, joined) = (hello.incarnation, client.join(hello).await?);
                let worker = joined.get_ref().worker;
                loop {
                    let alive = self.exchange(worker, incarnation, Vec::new());
                    client.exchange(alive).await?;
                    sleep(AGAIN).await;
                }
            }
            Greed::Rows => {
                let hello = self.hello(random.bits() | 1, 1);
                let (incarnation, joined) = (hello.incarnation, client.join(hello).await?);
                let worker = joined.get_ref().worker;
                for number in 0.. {
                    let orders = joined.get_ref().orders.iter();
                    let reports: Vec<_> = orders
                        .map(|order| v1::ChainReport {
                            chain: order.chain,
                            sequence: order.sequence + number,
                            finds: self.finds(40, random),
                            counters: Some(v1::Counters::default()),
                            wants_seeds: true,
                            status: v1::ChainStatus::Running.into(),
                            snapshot: Default::default(),
                        })
                        .collect();
                    client
                        .exchange(self.exchange(worker, incarnation, reports))
                        .await?;
                }
                Ok(())
            }
            Greed::Forgery => loop {
                let reports = self.finished(random);
                let (worker, incarnation) = (1 + random.below(30) as u64, random.bits() | 1);
                let _ = client
                    .exchange(self.exchange(worker, incarnation, reports))
                    .await;
                sleep(AGAIN).await;
            },
            Greed::ChainsOfOthers => {
                let hello = self.hello(random.bits() | 1, 1);
                let (incarnation, joined) = (hello.incarnation, client.join(hello).await?);
                loop {
                    let joined = joined.get_ref();
                    let mut reports = self.finished(random);
                    reports.retain(|report| !joined.chains.contains(&report.chain));
                    client
                        .exchange(self.exchange(joined.worker, incarnation, reports))
                        .await?;
                    sleep(AGAIN).await;
                }
            }
            Greed::Lies => {
                let hello = self.hello(random.bits() | 1, 1);
                let (incarnation, joined) = (hello.incarnation, client.join(hello).await?);
                let mut chains = joined.get_ref().chains.clone();
                for number in 0.. {
                    let mut reports = self.finished(random);
                    reports.truncate(chains.len());
                    for (report, &chain) in reports.iter_mut().zip(&chains) {
                        report.chain = chain;
                        report.sequence = number;
                        report.status = v1::ChainStatus::OutOfEvaluations.into();
                    }
                    let lies = self.exchange(joined.get_ref().worker, incarnation, reports);
                    let reply = client.exchange(lies).await?;
                    chains.extend(reply.get_ref().orders.iter().map(|order| order.chain));
                    chains.truncate(self.finished(random).len());
                    sleep(AGAIN).await;
                }
                Ok(())
            }
            Greed::Uploads => {
                let (sender, receiver) = mpsc::channel(2);
                let header = v1::StoreChainHeader {
                    search_id: self.search.description.id.0.to_vec().into(),
                    worker: 1,
                    incarnation: random.bits() | 1,
                    chain: 0,
                    sequence: 0,
                    snapshot: vec![7; 32].into(),
                    bytes: MAX_SNAPSHOT_BYTES,
                };
                for (header, content) in [(Some(header), vec![]), (None, vec![1; 1000])] {
                    let chunk = v1::StoreChainChunk {
                        header,
                        content: content.into(),
                    };
                    let _ = sender.send(chunk).await;
                }
                client.store_chain(ReceiverStream::new(receiver)).await?;
                drop(sender);
                Ok(())
            }
            Greed::Watching => {
                let _unread = client.watch(v1::StatusRequest::default()).await?;
                std::future::pending().await
            }
        }
    }

    fn hello(&self, incarnation: u64, threads: u32) -> v1::JoinRequest {
        v1::JoinRequest {
            memory_bytes: 0,
            protocol_version: PROTOCOL_VERSION,
            program_version: "simulated".to_owned(),
            incarnation,
            replaces: 0,
            host: "greedy".to_owned(),
            threads,
            chains: Vec::new(),
            search_id: self.search.description.id.0.to_vec().into(),
        }
    }

    fn exchange(
        &self,
        worker: u64,
        incarnation: u64,
        reports: Vec<v1::ChainReport>,
    ) -> v1::ExchangeRequest {
        v1::ExchangeRequest {
            protocol_version: PROTOCOL_VERSION,
            search_id: self.search.description.id.0.to_vec().into(),
            worker,
            incarnation,
            reports,
            statistics: None,
            bases: Vec::new(),
        }
    }

    /// Reports that the first chains are done, with much work.
    fn finished(&self, random: &mut Random) -> Vec<v1::ChainReport> {
        let report = |chain| v1::ChainReport {
            chain,
            sequence: random.below(30) as u64,
            finds: Vec::new(),
            counters: Some(v1::Counters {
                iterations: MUCH,
                evaluations: MUCH,
                ..Default::default()
            }),
            wants_seeds: false,
            status: v1::ChainStatus::Exhausted.into(),
            snapshot: Default::default(),
        };
        (0..12).map(report).collect()
    }

    /// Draws networks with few edges, with the scores that the data give.
    fn finds(&self, count: usize, random: &mut Random) -> Vec<v1::Find> {
        let table = self.search.table();
        let scorer = Scorer::new(Arc::clone(table), ScoreSpec::BIC);
        let find = |_| {
            let mut edges = Vec::new();
            for _ in 0..3 {
                let to = 1 + random.below(table.nodes() - 1);
                edges.push((NodeIdx::new(random.below(to)), NodeIdx::new(to)));
            }
            edges.sort_unstable();
            edges.dedup();
            let dag = Dag::from_edges(table.nodes(), edges).unwrap();
            let row = EliteRow {
                structure: Structure::of(&dag),
                score: scorer.structure(&dag, &mut Default::default()),
            };
            v1::Find {
                found: v1::Found::Stalled.into(),
                row: Some(row_to_wire(&row)),
            }
        };
        (0..count).map(find).collect()
    }
}
