//! Every row from outside is checked: a network over the table's variables that keeps the
//! constraints, with the score that the data gives. Rows that were checked before are known by
//! their bytes, so that repeating one costs a hash.

use rlbayes_common::elite::{EliteRow, Structure};
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::score::LogScore;
use rlbayes_common::search::{Evaluator, Problem};
use rlbayes_proto::convert::{WireError, dag_from_wire, row_digest};
use rlbayes_proto::v1;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// Size of the rows that need no second check, in each of two generations: some hundred rows with a
/// hundred variables, or this many that differ in few families.
const KNOWN_BYTES: usize = 4 << 20;
const LEAST_KNOWN: usize = 128;
/// What a known row takes besides its structure.
const ENTRY_BYTES: usize = 160;
/// Relative error allowed in a claimed score: our workers agree to the bit, other programs may not.
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
    /// No data give it this score; known without looking at them.
    #[error("the row's score cannot be {claimed}: at most {ceiling}")]
    TooHigh {
        /// What the sender claims.
        claimed: f64,
        /// What it can't exceed.
        ceiling: f64,
    },
    /// Its score is wrong.
    #[error("the row's score is {found}, not {claimed}")]
    Score {
        /// What the sender claims.
        claimed: f64,
        /// What the data gives.
        found: f64,
    },
}

/// Names a row by its bytes.
pub type Digest = [u8; 32];

/// Checks rows. Only scoring takes long, and only rows to be scored wait for it.
#[derive(Debug)]
pub struct Validator {
    problem: Arc<Problem>,
    evaluator: Mutex<Evaluator>,
    known: Mutex<Known>,
}

/// Rows that were checked: the younger generation, and the one before it.
#[derive(Debug, Default)]
struct Known([Generation; 2]);

/// A generation of rows that were checked, by their digests.
#[derive(Debug, Default)]
struct Generation {
    rows: HashMap<Digest, EliteRow>,
    /// The newest: a row shares with it the families in which they are alike.
    newest: Option<Structure>,
    bytes: usize,
}

impl Validator {
    /// Makes a validator for a search.
    #[must_use]
    pub fn new(problem: Arc<Problem>) -> Self {
        let evaluator = Evaluator::new(Arc::clone(&problem));
        Self {
            problem,
            evaluator: Mutex::new(evaluator),
            known: Mutex::default(),
        }
    }

    /// Returns what is searched.
    #[must_use]
    pub fn problem(&self) -> &Arc<Problem> {
        &self.problem
    }

    /// Names rows, and returns those that were checked before.
    #[must_use]
    pub fn find<'a>(
        &self,
        rows: impl Iterator<Item = &'a v1::Row>,
    ) -> Vec<(Digest, Option<EliteRow>)> {
        let digests: Vec<Digest> = rows.map(row_digest).collect();
        let mut known = lock(&self.known);
        let found = digests
            .into_iter()
            .map(|digest| (digest, known.find(&digest)));
        found.collect()
    }

    /// Returns a row that was checked, by its digest.
    #[must_use]
    pub fn row(&self, digest: &Digest) -> Option<EliteRow> {
        lock(&self.known).find(digest)
    }

    /// Checks a row that is not known and returns it with the score that the data gives.
    ///
    /// # Errors
    /// If it is not one of this search.
    pub fn check(&self, row: &v1::Row, digest: Digest) -> Result<EliteRow, RowRefused> {
        let (dag, claimed) = dag_from_wire(row, self.problem.nodes())?;
        if !self.problem.constraints().hold_for(&dag) {
            return Err(RowRefused::Constraints);
        }
        let ceiling = self.problem.ceiling(&dag);
        if claimed > ceiling && !agrees(claimed, ceiling) {
            return Err(RowRefused::TooHigh {
                claimed: claimed.value(),
                ceiling: ceiling.value(),
            });
        }
        let found = lock(&self.evaluator)
            .structure(&dag)
            .unwrap_or(LogScore::IMPOSSIBLE);
        if !agrees(claimed, found) {
            return Err(RowRefused::Score {
                claimed: claimed.value(),
                found: found.value(),
            });
        }
        let row = EliteRow {
            structure: Structure::of(&dag),
            score: found,
        };
        Ok(lock(&self.known).remember(digest, row))
    }
}

/// Returns whether a claimed score is the one that the data gives.
pub(crate) fn agrees(claimed: LogScore, found: LogScore) -> bool {
    let apart = (claimed.value() - found.value()).abs();
    claimed == found || apart <= TOLERANCE * found.value().abs().max(1.0)
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Known {
    fn find(&mut self, digest: &Digest) -> Option<EliteRow> {
        let Self([young, old]) = self;
        if let Some(row) = young.rows.get(digest) {
            return Some(row.clone());
        }
        let row = old.rows.remove(digest)?;
        Some(self.remember(*digest, row))
    }

    /// Keeps a row, and returns it as it is kept.
    fn remember(&mut self, digest: Digest, row: EliteRow) -> EliteRow {
        let Self([young, old]) = self;
        let pointers = row.structure.nodes() * size_of::<Arc<[NodeIdx]>>();
        if young.bytes >= KNOWN_BYTES.max(LEAST_KNOWN * pointers) {
            *old = std::mem::take(young);
        }
        let (structure, bytes) = match &young.newest {
            Some(newest) => row.structure.sharing(newest),
            None => (row.structure.clone(), row.structure.bytes()),
        };
        young.bytes += ENTRY_BYTES + bytes;
        young.newest = Some(structure.clone());
        let row = EliteRow { structure, ..row };
        young.rows.insert(digest, row.clone());
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlbayes_common::data::{Schema, Table, Variable};
    use rlbayes_common::graph::Dag;
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

    fn check(validator: &Validator, row: &v1::Row) -> Result<EliteRow, RowRefused> {
        match validator.find(std::iter::once(row)).pop().unwrap() {
            (_, Some(known)) => Ok(known),
            (digest, None) => validator.check(row, digest),
        }
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
        let first = check(&validator, &right).unwrap();
        assert_eq!(check(&validator, &right).unwrap(), first);
        assert_eq!(first.score, LogScore::new(right.score));
    }

    #[test]
    fn known_rows_do_not_wait_while_another_row_is_scored() {
        let validator = validator();
        let right = row(&validator, &[(0, 1), (1, 2)]);
        check(&validator, &right).unwrap();
        let _scoring = lock(&validator.evaluator);
        // If it needed the evaluator it would deadlock here.
        assert!(check(&validator, &right).is_ok());
    }

    #[test]
    fn wrong_scores_and_broken_constraints_are_refused() {
        let validator = validator();
        let mut wrong = row(&validator, &[(0, 1)]);
        wrong.score += 1.0;
        assert!(matches!(
            check(&validator, &wrong),
            Err(RowRefused::Score { .. })
        ));
        wrong.score = f64::INFINITY;
        assert!(check(&validator, &wrong).is_err());
        wrong.score = f64::NAN;
        assert!(check(&validator, &wrong).is_err());
        let forbidden = row(&validator, &[(2, 0)]);
        assert_eq!(check(&validator, &forbidden), Err(RowRefused::Constraints));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let validator = validator();
        let right = row(&validator, &[(0, 1)]);
        let most = KNOWN_BYTES / ENTRY_BYTES;
        for step in 0..3 * most {
            // The same network with scores that agree within the tolerance.
            let mut other = right.clone();
            other.score += 1e-12 * step as f64;
            check(&validator, &other).unwrap();
        }
        for known in &lock(&validator.known).0 {
            assert!(known.rows.len() > most / 4 && known.rows.len() <= most);
            let held: usize = known.rows.values().map(|row| row.structure.bytes()).sum();
            assert!(held <= KNOWN_BYTES, "{held}");
        }
    }
}
