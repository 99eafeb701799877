//! Every row from outside is checked: a network over the table's variables that keeps the
//! constraints, with the score that the data gives. Rows that were checked before are known by
//! their bytes, so that repeating one costs a hash.

use rlbayes_common::elite::EliteRow;
use rlbayes_common::ids::Incarnation;
use rlbayes_common::score::LogScore;
use rlbayes_common::search::{Evaluator, Problem};
use rlbayes_proto::convert::{WireError, row_digest, row_from_wire};
use rlbayes_proto::v1;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;

/// Rows that are known without being checked again, in each of two generations.
const KNOWN: usize = 4096;
/// Refused rows after which a worker is refused itself.
const PATIENCE: u32 = 100;
/// Workers whose refused rows are counted.
const OFFENDERS: usize = 4096;
/// How far a score may be off: machines agree to the bit, other programs may not.
const TOLERANCE: f64 = 1e-6;

/// Why a row was refused.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RowRefused {
    /// It is not a network of this search.
    #[error("{0}")]
    Wire(#[from] WireError),
    /// It breaks the constraints.
    #[error("the row breaks the constraints")]
    Constraints,
    /// Its score is another.
    #[error("the row's score is {found}, not {claimed}")]
    Score {
        /// As the sender says.
        claimed: f64,
        /// As the data says.
        found: f64,
    },
}

/// Checks rows.
#[derive(Debug)]
pub struct Validator {
    problem: Arc<Problem>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    evaluator: Evaluator,
    known: [HashMap<[u8; 32], EliteRow>; 2],
    refused: HashMap<Incarnation, u32>,
    refused_rows: u64,
}

impl Validator {
    /// Makes a validator for a search.
    #[must_use]
    pub fn new(problem: Arc<Problem>) -> Self {
        let evaluator = Evaluator::new(Arc::clone(&problem));
        Self {
            problem,
            inner: Mutex::new(Inner {
                evaluator,
                known: Default::default(),
                refused: HashMap::new(),
                refused_rows: 0,
            }),
        }
    }

    /// Checks a row and returns it with the score that the data gives.
    ///
    /// # Errors
    /// If it is not one of this search.
    pub fn check(&self, row: &v1::Row) -> Result<EliteRow, RowRefused> {
        let digest = row_digest(row);
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = inner.find(&digest) {
            return Ok(known);
        }
        let read = row_from_wire(row, self.problem.nodes())?;
        let dag = read.structure.to_dag().map_err(|_| WireError::Cycle)?;
        if !self.problem.constraints().hold_for(&dag) {
            return Err(RowRefused::Constraints);
        }
        let found = inner
            .evaluator
            .structure(&dag)
            .unwrap_or(LogScore::IMPOSSIBLE);
        let claimed = read.score;
        let apart = (claimed.value() - found.value()).abs();
        let agree = claimed == found || apart <= TOLERANCE * found.value().abs().max(1.0);
        if !agree {
            return Err(RowRefused::Score {
                claimed: claimed.value(),
                found: found.value(),
            });
        }
        let row = EliteRow {
            structure: read.structure,
            score: found,
        };
        inner.remember(digest, row.clone());
        Ok(row)
    }

    /// Counts a refused row; tells whether its sender has used up all patience.
    pub fn offend(&self, sender: Incarnation) -> bool {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.refused_rows += 1;
        if inner.refused.len() >= OFFENDERS && !inner.refused.contains_key(&sender) {
            inner.refused.clear();
        }
        let count = inner.refused.entry(sender).or_default();
        *count = count.saturating_add(1);
        *count > PATIENCE
    }

    /// Tells whether a sender has used up all patience.
    #[must_use]
    pub fn is_offender(&self, sender: Incarnation) -> bool {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner
            .refused
            .get(&sender)
            .is_some_and(|&count| count > PATIENCE)
    }

    /// Returns how many rows were refused.
    #[must_use]
    pub fn refused_rows(&self) -> u64 {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.refused_rows
    }
}

impl Inner {
    fn find(&mut self, digest: &[u8; 32]) -> Option<EliteRow> {
        if let Some(row) = self.known[0].get(digest) {
            return Some(row.clone());
        }
        let row = self.known[1].remove(digest)?;
        self.remember(*digest, row.clone());
        Some(row)
    }

    fn remember(&mut self, digest: [u8; 32], row: EliteRow) {
        if self.known[0].len() >= KNOWN {
            self.known[1] = std::mem::take(&mut self.known[0]);
        }
        self.known[0].insert(digest, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlbayes_common::data::{Schema, Table, Variable};
    use rlbayes_common::elite::Structure;
    use rlbayes_common::graph::Dag;
    use rlbayes_common::ids::NodeIdx;
    use rlbayes_common::score::{ScoreSpec, Scorer};
    use rlbayes_common::search::{Constraints, NamedConstraints};
    use rlbayes_proto::convert::row_to_wire;

    fn validator() -> Validator {
        let variable = |name: &str| Variable::new(name, vec!["0".into(), "1".into()]).unwrap();
        let schema = Schema::new(vec![variable("a"), variable("b"), variable("c")]).unwrap();
        let columns = vec![
            vec![0, 1, 0, 1, 1, 0],
            vec![0, 1, 0, 1, 0, 0],
            vec![1, 1, 0, 0, 1, 0],
        ];
        let table = Arc::new(Table::new(schema, columns).unwrap());
        let named = NamedConstraints {
            forbidden: vec![("c".into(), "a".into())],
            ..Default::default()
        };
        let constraints = Constraints::new(&table, &named).unwrap();
        let scorer = Scorer::new(table, ScoreSpec::BIC);
        Validator::new(Arc::new(Problem::new(
            scorer,
            constraints,
            Dag::empty(3),
            1 << 20,
        )))
    }

    fn row(validator: &Validator, edges: &[(usize, usize)]) -> v1::Row {
        let edges = edges
            .iter()
            .map(|&(from, to)| (NodeIdx::new(from), NodeIdx::new(to)));
        let dag = Dag::from_edges(3, edges).unwrap();
        let mut evaluator = Evaluator::new(Arc::clone(&validator.problem));
        row_to_wire(&EliteRow {
            structure: Structure::of(&dag),
            score: evaluator.structure(&dag).unwrap(),
        })
    }

    #[test]
    fn right_rows_pass_the_first_time_and_again() {
        let validator = validator();
        let right = row(&validator, &[(0, 1), (1, 2)]);
        let first = validator.check(&right).unwrap();
        assert_eq!(validator.check(&right).unwrap(), first);
        assert_eq!(first.score, LogScore::new(right.score));
    }

    #[test]
    fn wrong_scores_and_broken_constraints_are_refused() {
        let validator = validator();
        let mut wrong = row(&validator, &[(0, 1)]);
        wrong.score += 1.0;
        assert!(matches!(
            validator.check(&wrong),
            Err(RowRefused::Score { .. })
        ));
        wrong.score = f64::INFINITY;
        assert!(validator.check(&wrong).is_err());
        wrong.score = f64::NAN;
        assert!(validator.check(&wrong).is_err());
        let forbidden = row(&validator, &[(2, 0)]);
        assert_eq!(validator.check(&forbidden), Err(RowRefused::Constraints));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let validator = validator();
        let right = row(&validator, &[(0, 1)]);
        for step in 0..3 * KNOWN {
            // The same network with scores that agree within the tolerance.
            let mut other = right.clone();
            other.score += 1e-12 * step as f64;
            validator.check(&other).unwrap();
        }
        let inner = validator.inner.lock().unwrap();
        assert!(inner.known.iter().all(|known| known.len() <= KNOWN));
    }

    #[test]
    fn patience_ends() {
        let validator = validator();
        for _ in 0..PATIENCE {
            assert!(!validator.offend(Incarnation(1)));
        }
        assert!(validator.offend(Incarnation(1)));
        assert!(validator.is_offender(Incarnation(1)) && !validator.is_offender(Incarnation(2)));
        for sender in 10..10 + 2 * OFFENDERS as u64 {
            validator.offend(Incarnation(sender));
        }
        assert!(validator.inner.lock().unwrap().refused.len() <= OFFENDERS);
    }
}
