//! Where a worker's chains are made and checkpointed: what a session asks of its surroundings.

use crate::chains::Chains;
use crate::link::{Joined, Link};
use crate::state::{Held, OpenError};
use rlbayes_common::exchange::Snapshot;
use rlbayes_common::ids::ChainId;
use rlbayes_common::search::SavedChain;
use std::collections::BTreeMap;
use std::future::Future;

/// Where chains are made and checkpointed.
pub trait WorkerHost {
    /// How chains run.
    type Chains: Chains;

    /// Gets everything ready for a search. A call that fails is not tried again here: the session
    /// decides whether to.
    fn open(
        &mut self,
        link: &impl Link,
        joined: &Joined,
    ) -> impl Future<Output = Result<Opened<Self::Chains>, OpenError>>;

    /// Returns the chains that are checkpointed here.
    fn held(&self) -> Held;

    /// Keeps a chain's state.
    fn keep_checkpoint(&mut self, chain: ChainId, snapshot: &Snapshot);

    /// Drops a chain's state: another worker runs the chain, and it must not resume from here later.
    fn drop_checkpoint(&mut self, chain: ChainId);
}

/// A host that is ready for a search.
#[derive(Debug)]
pub struct Opened<C> {
    /// Makes the chains and runs them.
    pub chains: C,
    /// Chains of the search that were checkpointed here.
    pub checkpoints: BTreeMap<ChainId, SavedChain>,
}
