//! The walk's bounded Q-table: rows found by key, the best and the worst at hand.

use super::row::{Family, Row};
use crate::elite::{EliteRow, Structure};
use crate::ids::NodeIdx;
use crate::score::LogScore;
use crate::search::{SavedChain, UnfitState};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Names a row: the count of rows found before it. Names are never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowId(u64);

impl RowId {
    pub(super) const FIRST: Self = Self(0);
}

/// The rows, at most `limit` between iterations.
#[derive(Debug)]
pub(super) struct Table {
    limit: usize,
    rows: BTreeMap<RowId, Row>,
    by_key: BTreeMap<u64, Vec<RowId>>,
    /// Worst first; of rows with one score the earlier found is the better.
    ranking: BTreeSet<(LogScore, Reverse<RowId>)>,
    next: u64,
}

impl Table {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            rows: BTreeMap::new(),
            by_key: BTreeMap::new(),
            ranking: BTreeSet::new(),
            next: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.rows.len() > self.limit
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    #[expect(
        clippy::expect_used,
        reason = "ids come from this table and end with their row"
    )]
    pub(super) fn row(&self, id: RowId) -> &Row {
        self.rows.get(&id).expect("the row is in the table")
    }

    #[expect(
        clippy::expect_used,
        reason = "ids come from this table and end with their row"
    )]
    pub(super) fn row_mut(&mut self, id: RowId) -> &mut Row {
        self.rows.get_mut(&id).expect("the row is in the table")
    }

    /// Returns the row with the same network.
    pub(super) fn find(&self, row: &Row) -> Option<RowId> {
        let same_key = self.by_key.get(&row.key())?;
        same_key
            .iter()
            .copied()
            .find(|&id| self.row(id).is_same_network(row))
    }

    /// Adds a row, which must not be there yet.
    pub(super) fn insert(&mut self, row: Row) -> RowId {
        let id = RowId(self.next);
        self.next += 1;
        self.by_key.entry(row.key()).or_default().push(id);
        self.ranking.insert((row.score(), Reverse(id)));
        self.rows.insert(id, row);
        id
    }

    /// Returns the best row, of equally good ones the earlier found.
    pub(super) fn best(&self) -> RowId {
        self.ranking
            .last()
            .map_or(RowId::FIRST, |&(_, Reverse(id))| id)
    }

    /// Drops the worst row except `kept` and the best, and tells which.
    pub(super) fn evict_worst(&mut self, kept: Option<RowId>) -> Option<RowId> {
        let best = self.best();
        let &(score, Reverse(id)) = self
            .ranking
            .iter()
            .find(|(_, Reverse(id))| Some(*id) != kept && *id != best)?;
        self.ranking.remove(&(score, Reverse(id)));
        let row = self.rows.remove(&id)?;
        if let Some(same_key) = self.by_key.get_mut(&row.key()) {
            same_key.retain(|&other| other != id);
            if same_key.is_empty() {
                self.by_key.remove(&row.key());
            }
        }
        Some(id)
    }

    /// Stores rows, local scores and cells.
    pub(super) fn save(&self, current: RowId, saved: &mut SavedChain) {
        saved.integers.extend([self.next, current.0]);
        for (id, row) in &self.rows {
            let families = row
                .families()
                .iter()
                .map(|f| Arc::clone(&f.parents))
                .collect();
            let structure = Structure::from_families(families);
            saved.rows.push(EliteRow {
                structure,
                score: row.score(),
            });
            saved.integers.extend([id.0, row.tried().len() as u64]);
            saved
                .numbers
                .extend(row.families().iter().map(|family| family.score));
            for (&cell, &value) in row.tried() {
                saved.integers.push(cell as u64);
                saved.numbers.push(value);
            }
        }
    }

    pub(super) fn load(limit: usize, saved: &SavedChain) -> Result<(Self, RowId), UnfitState> {
        let mut integers = saved.integers.iter().copied();
        let mut numbers = saved.numbers.iter().copied();
        let mut integer = || integers.next().ok_or(UnfitState);
        let mut table = Self::new(limit);
        let next = integer()?;
        let current = RowId(integer()?);
        for stored in &saved.rows {
            let id = integer()?;
            let cells = integer()?;
            let mut families = Vec::new();
            for node in NodeIdx::all(stored.structure.nodes()) {
                let parents = Arc::clone(&stored.structure.families()[node.index()]);
                let score = numbers.next().ok_or(UnfitState)?;
                families.push(Arc::new(Family { parents, score }));
            }
            let mut row = Row::new(families);
            for _ in 0..cells {
                let cell = usize::try_from(integer()?).map_err(|_| UnfitState)?;
                row.write_cell(cell, numbers.next().ok_or(UnfitState)?);
            }
            table.next = id;
            table.insert(row);
        }
        if !table.rows.is_empty() && !table.rows.contains_key(&current) {
            return Err(UnfitState);
        }
        table.next = next;
        Ok((table, current))
    }
}
