//! The replicates that follow a search: what workers are sent of them, and how their results are
//! checked: each is scored on the resampled table that its number names.

use crate::validator::{RowRefused, agrees};
use rlbayes::{BootstrapRequest, Replicate};
use rlbayes_common::elite::{EliteRow, Structure};
use rlbayes_common::exchange::SearchDescription;
use rlbayes_common::ids::ChainId;
use rlbayes_proto::convert::{WireError, dag_from_wire};
use rlbayes_proto::v1;
use std::sync::Arc;

/// The replicates that follow a search.
#[derive(Clone, Debug)]
pub struct ReplicateWork {
    /// What workers are sent.
    pub description: SearchDescription,
    /// What they are.
    pub request: Arc<BootstrapRequest>,
}

impl ReplicateWork {
    /// Checks the network of a replicate, and returns it with the score that the resampled table gives.
    /// One that is known already costs a look.
    ///
    /// # Errors
    /// If it is not a network of this search, or has another score.
    pub fn check(
        &self,
        number: ChainId,
        row: &v1::Row,
        known: Option<&Replicate>,
    ) -> Result<EliteRow, RowRefused> {
        if number.0 >= self.request.replicates() {
            return Err(WireError::Range("chain").into());
        }
        let (dag, claimed) = dag_from_wire(row, self.description.nodes)?;
        let structure = Structure::of(&dag);
        if let Some(known) = known
            && known.structure == structure
        {
            let score = known.score;
            return Ok(EliteRow { structure, score });
        }
        if !self.request.keeps_constraints(&dag) {
            return Err(RowRefused::Constraints);
        }
        let score = self.request.score_on_replicate(number.0, &dag);
        if !agrees(claimed, score) {
            return Err(RowRefused::Score {
                claimed: claimed.value(),
                found: score.value(),
            });
        }
        Ok(EliteRow { structure, score })
    }
}
