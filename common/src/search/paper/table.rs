//! The walk's bounded Q-table: rows found by key, the best and the worst at hand.

use super::row::{Family, Row};
use crate::score::LogScore;
use crate::search::{Fields, Operation, UnfitState};
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

    /// Drops the worst row except `kept` and the best, and returns which.
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

    /// Stores rows, local scores and cells. Rows have an id, as many local scores as nodes, and as
    /// many tried cells as are counted beside them.
    pub(super) fn save(&self, current: RowId) -> Fields {
        let rows = || self.rows.values();
        let tried = || rows().flat_map(Row::tried);
        let locals = rows().flat_map(|row| row.families().iter().map(|family| family.score));
        Fields::default()
            .with_rows("rows", rows().map(Row::to_elite))
            .with_integers("ids", self.rows.keys().map(|id| id.0))
            .with_integer("next_id", self.next)
            .with_integer("current", current.0)
            .with_numbers("locals", locals)
            .with_sizes("tried", rows().map(|row| row.tried().len()))
            .with_sizes("cells", tried().map(|(&cell, _)| cell))
            .with_numbers("benefits", tried().map(|(_, &benefit)| benefit))
    }

    pub(super) fn load(limit: usize, own: &Fields) -> Result<(Self, RowId), UnfitState> {
        let rows = own.rows("rows")?;
        let (ids, tried) = (own.integers("ids")?, own.sizes("tried")?);
        if ids.len() != rows.len() || tried.len() != rows.len() {
            return Err(UnfitState::Field("rows"));
        }
        let mut locals = own.numbers("locals")?.iter().copied();
        let cells = own.sizes("cells")?;
        let mut cells = cells.into_iter().zip(own.numbers("benefits")?);
        let mut table = Self::new(limit);
        for ((stored, &id), tried) in rows.iter().zip(ids).zip(tried) {
            let mut families = Vec::new();
            for parents in stored.structure.families() {
                let parents = Arc::clone(parents);
                let score = locals.next().ok_or(UnfitState::Field("locals"))?;
                families.push(Arc::new(Family { parents, score }));
            }
            let mut row = Row::new(families);
            for _ in 0..tried {
                let (cell, &benefit) = cells.next().ok_or(UnfitState::Field("cells"))?;
                if cell >= Operation::count(stored.structure.nodes()) {
                    return Err(UnfitState::Field("cells"));
                }
                row.write_cell(cell, benefit);
            }
            table.next = id;
            table.insert(row);
        }
        let current = RowId(own.integer("current")?);
        if !table.rows.is_empty() && !table.rows.contains_key(&current) {
            return Err(UnfitState::Field("current"));
        }
        table.next = own.integer("next_id")?;
        Ok((table, current))
    }
}
