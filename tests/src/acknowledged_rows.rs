//! The law of the pool: a row that was acknowledged stays, unless the pool is full of better ones.

use rlbayes_common::elite::{EliteRow, Keying, Pool};
use rlbayes_common::graph::StructureKey;
use rlbayes_common::score::LogScore;
use std::collections::BTreeMap;

/// The rows that a coordinator has acknowledged, the best of each equivalence class.
#[derive(Clone, Debug, Default)]
pub struct AcknowledgedRows(BTreeMap<StructureKey, EliteRow>);

impl AcknowledgedRows {
    /// Adds a row.
    pub fn add(&mut self, row: &EliteRow) {
        let known = self
            .0
            .entry(Keying::ByClass.key(row))
            .or_insert_with(|| row.clone());
        if known.score < row.score {
            *known = row.clone();
        }
    }

    /// Returns how many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns those that a pool has lost.
    #[must_use]
    pub fn missing_from(&self, pool: &Pool) -> Vec<&EliteRow> {
        missing_rows(self.0.values(), pool)
    }
}

/// Returns the rows that a pool does not hold, though it is not full of better ones.
pub fn missing_rows<'a>(
    rows: impl IntoIterator<Item = &'a EliteRow>,
    pool: &Pool,
) -> Vec<&'a EliteRow> {
    let held: BTreeMap<StructureKey, LogScore> = pool
        .rows()
        .into_iter()
        .map(|row| (Keying::ByClass.key(row), row.score))
        .collect();
    let overall: Vec<LogScore> = pool.overall().map(|row| row.score).collect();
    let least = overall.iter().min().copied();
    let is_missing = |row: &&EliteRow| {
        let score = held.get(&Keying::ByClass.key(row));
        let is_held = score.is_some_and(|score| *score >= row.score);
        let is_beaten = overall.len() >= Pool::OVERALL && least >= Some(row.score);
        !is_held && !is_beaten
    };
    rows.into_iter().filter(is_missing).collect()
}
