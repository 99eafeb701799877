//! The way to a coordinator: join, fetch, exchange, leave. The real one is gRPC
//! ([`grpc_link`](crate::grpc_link)); tests have others.

use rlbayes_common::exchange::{Exchange, Hello, Reply, SearchDescription, Snapshot, Welcome};
use rlbayes_common::ids::ChainId;
use std::future::Future;
use std::time::Duration;
use thiserror::Error;

/// What a worker gets when it joins.
#[derive(Clone, Debug)]
pub struct Joined {
    /// Its number, lease and first chains.
    pub welcome: Welcome,
    /// All chains that it is to run: orders that are not in the welcome come with replies.
    pub chains: Vec<ChainId>,
    /// What is searched.
    pub search: SearchDescription,
}

/// A way to a coordinator.
pub trait Link {
    /// Enters the worker.
    fn join(&self, hello: &Hello) -> impl Future<Output = Result<Joined, LinkError>>;

    /// Fetches the table's encoding.
    fn fetch_data(
        &self,
        search: &SearchDescription,
    ) -> impl Future<Output = Result<Vec<u8>, LinkError>>;

    /// Brings a chain's state to the coordinator before a report names it.
    fn store_chain(
        &self,
        search: &SearchDescription,
        exchange: &Exchange,
    ) -> impl Future<Output = Result<(), LinkError>>;

    /// Fetches a chain's stored state.
    fn fetch_chain(
        &self,
        search: &SearchDescription,
        chain: ChainId,
        digest: [u8; 32],
    ) -> impl Future<Output = Result<Snapshot, LinkError>>;

    /// Reports.
    fn exchange(
        &self,
        search: &SearchDescription,
        exchange: Exchange,
    ) -> impl Future<Output = Result<Reply, LinkError>>;

    /// Reports for the last time.
    fn leave(
        &self,
        search: &SearchDescription,
        exchange: Exchange,
    ) -> impl Future<Output = Result<(), LinkError>>;

    /// Waits until the coordinator has something to say that should not wait for the next
    /// exchange. A link that can't know waits for ever.
    fn nudged(&self) -> impl Future<Output = ()>;

    /// How soon after an exchange the next one may follow.
    fn least_pause(&self) -> Duration;
}

/// Why a call did not succeed, and so what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LinkError {
    /// The coordinator is out of reach or busy: try again.
    #[error("the coordinator cannot be reached: {0}")]
    Unreachable(String),
    /// The coordinator does not know the worker (any more): join again.
    #[error("the coordinator does not know this worker: {0}")]
    JoinAgain(String),
    /// Token or certificate were refused: give up.
    #[error("the coordinator refuses this worker: {0}")]
    Refused(String),
    /// The coordinator speaks another version of the protocol: give up.
    #[error("the coordinator speaks another protocol: {0}")]
    Protocol(String),
    /// A message made no sense to the other side, or to us.
    #[error("the exchange does not make sense: {0}")]
    Nonsense(String),
}
