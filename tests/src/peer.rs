//! A peer of our own on the wire: joins like a worker and then sends whatever a test wants.

use crate::cluster::{block_on, client};
use crate::fixtures::data;
use rlbayes_common::data::{LoadOptions, load_table};
use rlbayes_common::elite::{EliteRow, Structure};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::score::{LocalScore, ScoreSpec, Scorer};
use rlbayes_proto::convert::row_to_wire;
use rlbayes_proto::v1::coordinator_client::CoordinatorClient;
use rlbayes_proto::{PROTOCOL_VERSION, v1};
use std::sync::Arc;
use tonic::Status;
use tonic::transport::Channel;

/// A peer that has joined.
pub struct Peer {
    /// Its connection.
    pub client: CoordinatorClient<Channel>,
    /// What it got when it joined.
    pub joined: v1::JoinReply,
    incarnation: u64,
}

/// Returns a worker's introduction.
#[must_use]
pub fn hello(incarnation: u64) -> v1::JoinRequest {
    v1::JoinRequest {
        protocol_version: PROTOCOL_VERSION,
        program_version: "test".to_owned(),
        incarnation,
        replaces: 0,
        host: "peer".to_owned(),
        threads: 1,
        memory_bytes: 0,
        chains: Vec::new(),
        search_id: Default::default(),
    }
}

impl Peer {
    /// Joins a search.
    #[must_use]
    pub fn join(url: &str, incarnation: u64) -> Self {
        Self::join_as(url, hello(incarnation)).unwrap()
    }

    /// Joins a search with an introduction of its own, if its coordinator is there.
    ///
    /// # Errors
    /// As the coordinator does.
    pub fn join_as(url: &str, hello: v1::JoinRequest) -> Result<Self, Status> {
        Self::join_by(client(url), hello)
    }

    /// Joins a search over a connection of its own.
    ///
    /// # Errors
    /// As the coordinator does.
    pub fn join_by(
        mut client: CoordinatorClient<Channel>,
        hello: v1::JoinRequest,
    ) -> Result<Self, Status> {
        let incarnation = hello.incarnation;
        let joined = block_on(client.join(hello))?.into_inner();
        Ok(Self {
            client,
            joined,
            incarnation,
        })
    }

    /// Returns an exchange with these reports.
    #[must_use]
    pub fn request(&self, reports: Vec<v1::ChainReport>) -> v1::ExchangeRequest {
        v1::ExchangeRequest {
            protocol_version: PROTOCOL_VERSION,
            search_id: self.joined.search.as_ref().unwrap().id.clone(),
            worker: self.joined.worker,
            incarnation: self.incarnation,
            reports,
            statistics: None,
            bases: Vec::new(),
        }
    }

    /// Sends an exchange.
    ///
    /// # Errors
    /// As the coordinator does.
    pub fn send(&mut self, request: v1::ExchangeRequest) -> Result<v1::ExchangeReply, Status> {
        block_on(self.client.exchange(request)).map(tonic::Response::into_inner)
    }
}

/// Returns a report of a chain: its number, rows and evaluations.
#[must_use]
pub fn report(chain: u32, sequence: u64, rows: Vec<v1::Row>, evaluations: u64) -> v1::ChainReport {
    let finds = rows.into_iter().map(|row| v1::Find {
        found: v1::Found::Best.into(),
        row: Some(row),
    });
    v1::ChainReport {
        chain,
        sequence,
        finds: finds.collect(),
        counters: Some(v1::Counters {
            iterations: evaluations / 10,
            evaluations,
            ..Default::default()
        }),
        wants_seeds: false,
        status: v1::ChainStatus::Running.into(),
        snapshot: Default::default(),
    }
}

/// Returns a network over a table of the `data` folder, with the score that the data gives.
#[must_use]
pub fn true_row(table: &str, edges: &[(usize, usize)]) -> v1::Row {
    let (table, _) = load_table(&data(table), &LoadOptions::default()).unwrap();
    let edges = edges
        .iter()
        .map(|&(from, to)| (NodeIdx::new(from), NodeIdx::new(to)));
    let dag = Dag::from_edges(table.nodes(), edges).unwrap();
    let scorer = Scorer::new(Arc::new(table), ScoreSpec::BIC);
    row_to_wire(&EliteRow {
        structure: Structure::of(&dag),
        score: scorer.structure(&dag, &mut Default::default()),
    })
}

/// Returns edges as they travel: (child, parent), each as two bytes.
#[must_use]
pub fn edges(pairs: &[(u16, u16)]) -> Vec<u8> {
    let numbers = pairs.iter().flat_map(|&(child, parent)| [child, parent]);
    numbers.flat_map(u16::to_le_bytes).collect()
}
