//! Where a worker's chains are made and kept: what a session asks of its surroundings.

use crate::chains::Chains;
use crate::link::{Joined, Link};
use crate::retry::RetryPolicy;
use crate::session::SessionError;
use rlbayes::chains::ChainMaker;
use rlbayes_common::exchange::Snapshot;
use rlbayes_common::ids::{ChainId, SearchId};
use rlbayes_common::search::SavedChain;
use std::future::Future;

/// Where chains are made and kept.
pub trait WorkerHost {
    /// How chains run.
    type Chains: Chains;

    /// Gets everything ready for a search; none if the coordinator has another one by now.
    fn open(
        &mut self,
        link: &impl Link,
        joined: &Joined,
        tries: &mut RetryPolicy,
    ) -> impl Future<Output = Result<Option<(ChainMaker, Self::Chains)>, SessionError>>;

    /// Returns a chain of the search that was checkpointed here.
    fn checkpointed(&mut self, chain: ChainId) -> Option<SavedChain>;

    /// Returns the chains that were checkpointed here, and whose they are.
    fn holds(&self) -> (Vec<ChainId>, Option<SearchId>);

    /// Keeps a chain's state.
    fn keep(&mut self, chain: ChainId, snapshot: &Snapshot);

    /// Drops what is kept of a chain: others run it, and it is not to go on from here later.
    fn give_up(&mut self, chain: ChainId);
}
