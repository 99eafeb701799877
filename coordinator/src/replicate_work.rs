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

#[cfg(test)]
mod tests {
    use super::*;
    use rlbayes::{
        BootstrapSettings, LoadOptions, SearchRequest, SearchSettings, StopHandle, Table,
    };
    use rlbayes_common::graph::Dag;
    use rlbayes_common::ids::NodeIdx;
    use rlbayes_common::score::LogScore;
    use rlbayes_common::search::NamedConstraints;
    use rlbayes_proto::convert::row_to_wire;

    fn work() -> ReplicateWork {
        let rows = ["0,0,1", "1,1,1", "0,0,0", "1,1,0", "1,0,1", "0,0,0"];
        let text = format!("a,b,c\n{}\n", rows.repeat(20).join("\n"));
        let table = Table::parse("t", text.as_bytes(), &LoadOptions::default()).unwrap();
        let search = SearchSettings {
            constraints: NamedConstraints {
                forbidden: vec![("c".into(), "a".into())],
                ..NamedConstraints::default()
            },
            ..SearchSettings::default()
        };
        let request = BootstrapRequest::new(
            &table,
            &BootstrapSettings {
                search: search.clone(),
                replicates: 3,
                ..BootstrapSettings::default()
            },
        )
        .unwrap();
        let after = request.after(&SearchRequest::new(&table, &search).unwrap());
        ReplicateWork {
            description: request.description(&after, &[]),
            request: Arc::new(request),
        }
    }

    fn dag(edges: &[(usize, usize)]) -> Dag {
        let edges = edges
            .iter()
            .map(|&(from, to)| (NodeIdx::new(from), NodeIdx::new(to)));
        Dag::from_edges(3, edges).unwrap()
    }

    fn row(edges: &[(usize, usize)], score: LogScore) -> v1::Row {
        let structure = Structure::of(&dag(edges));
        row_to_wire(&EliteRow { structure, score })
    }

    #[test]
    fn a_replicate_is_taken_with_the_score_of_its_own_table_and_no_other() {
        let work = work();
        let scores: Vec<LogScore> = (0..3)
            .map(|number| {
                let found = work.request.replicate(number, &StopHandle::default());
                let found = found.unwrap();
                let honest = row_to_wire(&EliteRow {
                    structure: found.structure.clone(),
                    score: found.score,
                });
                let taken = work.check(ChainId(number), &honest, None).unwrap();
                assert_eq!(
                    (&taken.structure, taken.score),
                    (&found.structure, found.score)
                );
                // What is known is not counted again, whatever is claimed.
                let lie = v1::Row {
                    score: honest.score + 1.0,
                    ..honest.clone()
                };
                let taken = work.check(ChainId(number), &lie, Some(&found)).unwrap();
                assert_eq!(taken.score, found.score);
                let refused = work.check(ChainId(number), &lie, None);
                assert!(
                    matches!(refused, Err(RowRefused::Score { .. })),
                    "{refused:?}"
                );
                found.score
            })
            .collect();
        // The score of one resampled table is a lie on another.
        let first = row(
            &[(0, 1)],
            work.request.score_on_replicate(0, &dag(&[(0, 1)])),
        );
        assert!(work.check(ChainId(0), &first, None).is_ok());
        assert!(work.check(ChainId(1), &first, None).is_err());
        // Constraints hold in every replicate, and there are only as many.
        let forbidden = row(&[(2, 0)], scores[0]);
        let refused = work.check(ChainId(0), &forbidden, None);
        assert!(
            matches!(refused, Err(RowRefused::Constraints)),
            "{refused:?}"
        );
        assert!(work.check(ChainId(3), &first, None).is_err());
    }
}
