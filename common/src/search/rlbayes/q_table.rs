//! The Q-table of the default search: a bounded set of local optima, and among them the row that
//! the chain explores. Runs start from that row; their return changes it, and so decides where the
//! next ones explore.
//!
//! The score decomposes, so the return of a run is known exactly for every group of families that
//! the run changed together (`recombine`). Each group is credited with its own: those that gained
//! enter the row, even where the outcome as a whole is worse.

use crate::elite::{EliteRow, Structure};
use crate::random::Random;

/// A chain's memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct QTable {
    limit: usize,
    /// Local optima that a run ended on or that others sent, best first.
    rows: Vec<EliteRow>,
    /// The row that runs start from; none before the first run has ended.
    explored: Option<EliteRow>,
}

impl QTable {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            rows: Vec::new(),
            explored: None,
        }
    }

    /// Returns the row that runs start from.
    pub(super) fn explored(&self) -> Option<&EliteRow> {
        self.explored.as_ref()
    }

    /// Explores another row from now on.
    pub(super) fn explore(&mut self, row: EliteRow) {
        if let Some(left) = self.explored.replace(row) {
            self.insert(&left);
        }
    }

    /// Returns whether a row is better than the one that runs start from.
    pub(super) fn is_better(&self, row: &EliteRow) -> bool {
        self.explored
            .as_ref()
            .is_none_or(|known| row.score.beats(known.score))
    }

    /// Explores the best row of the table from now on with probability theta, else any other.
    pub(super) fn explore_another(&mut self, theta: f64, random: &mut Random) {
        let row = match self.rows.as_slice() {
            [] => return,
            [only] => only,
            [best, ..] if random.chance(theta) => best,
            [_, others @ ..] => &others[random.below(others.len())],
        };
        self.explore(row.clone());
    }

    /// Puts a local optimum into the table; the worst goes when it is full. Returns whether it is in.
    pub(super) fn insert(&mut self, row: &EliteRow) -> bool {
        if self
            .rows
            .iter()
            .any(|known| known.structure == row.structure)
        {
            return false;
        }
        let at = self.rows.partition_point(|known| known.score >= row.score);
        if at >= self.limit {
            return false;
        }
        self.rows.insert(at, row.clone());
        self.rows.truncate(self.limit);
        true
    }

    /// Returns the rows, best first.
    pub(super) fn rows(&self) -> &[EliteRow] {
        &self.rows
    }

    /// Resumes from stored rows, best first.
    pub(super) fn load(limit: usize, explored: Option<EliteRow>, rows: &[EliteRow]) -> Self {
        Self {
            limit,
            rows: rows.iter().take(limit).cloned().collect(),
            explored,
        }
    }

    /// Returns how many bytes a table takes at most, its rows' families not shared with any other.
    pub(super) fn bytes_for(nodes: usize, limit: usize) -> usize {
        (limit + 1) * (size_of::<Structure>() + nodes * 48)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elite::test_row as row;
    use crate::ids::Seed;

    #[test]
    fn the_table_keeps_the_best_rows_within_its_limit() {
        let mut table = QTable::new(3);
        for (to, score) in [
            (1, -5.0),
            (2, -3.0),
            (3, -9.0),
            (4, -1.0),
            (5, -7.0),
            (2, -3.0),
        ] {
            table.insert(&row(to, score));
        }
        let scores: Vec<f64> = table.rows().iter().map(|row| row.score.value()).collect();
        assert_eq!(scores, [-1.0, -3.0, -5.0]);
    }

    #[test]
    fn the_explored_row_gets_better_or_is_left_for_another() {
        let mut table = QTable::new(3);
        assert!(table.is_better(&row(1, -5.0)), "than none");
        table.explore(row(1, -5.0));
        assert!(!table.is_better(&row(2, -6.0)));
        assert!(table.is_better(&row(3, -4.0)));
        table.explore(row(3, -4.0));
        table.insert(&row(4, -9.0));
        let mut random = Random::new(Seed(1));
        table.explore_another(1.0, &mut random);
        assert_eq!(table.explored(), Some(&row(1, -5.0)), "the best left");
        assert_eq!(
            table.rows()[0],
            row(3, -4.0),
            "what it left can be found again"
        );
        let explored = table.explored().cloned();
        assert_eq!(QTable::load(3, explored, table.rows()), table);
    }
}
