//! The elite pool: what all chains found that is worth keeping. The merge is a keyed union cut to
//! top lists, so it is commutative, associative and idempotent: retries, duplicates, late and
//! reordered reports can't hurt. Diversity is chosen when the pool is read, never when it is
//! written.

use super::row::EliteRow;
use crate::graph::StructureKey;
use crate::ids::{ChainId, NodeIdx};
use crate::score::ScoreName;
use std::collections::BTreeMap;

/// The best rows of each chain and over all chains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    keying: Keying,
    chains: BTreeMap<ChainId, ChainRows>,
    overall: TopRows,
}

/// What makes two rows one: equivalence, or identity for scores that tell equivalent networks apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keying {
    /// Rows of one equivalence class are one.
    ByClass,
    /// Each structure is a row of its own.
    ByStructure,
}

/// Why a chain reports a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// It is the chain's best.
    Best,
    /// The chain stalled there and continues elsewhere.
    Stalled,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ChainRows {
    best: TopRows,
    stalled: TopRows,
}

/// The best rows with different keys, best first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TopRows {
    limit: usize,
    rows: Vec<(StructureKey, EliteRow)>,
}

impl Keying {
    /// Returns the keying that a score asks for.
    #[must_use]
    pub fn of(score: ScoreName) -> Self {
        if score.is_score_equivalent() {
            Self::ByClass
        } else {
            Self::ByStructure
        }
    }

    /// Returns the key of a row.
    #[must_use]
    pub fn key(self, row: &EliteRow) -> StructureKey {
        match self {
            Self::ByClass => row.structure.class_key(),
            Self::ByStructure => row.structure.own_key(),
        }
    }
}

impl Pool {
    /// How many rows are kept over all chains.
    pub const OVERALL: usize = 64;
    /// How many optima are kept that a chain stalled on.
    pub const STALLED: usize = 4;

    /// Returns an empty pool.
    #[must_use]
    pub fn new(keying: Keying) -> Self {
        Self {
            keying,
            chains: BTreeMap::new(),
            overall: TopRows::new(Self::OVERALL),
        }
    }

    /// Merges a row; returns whether the pool changed.
    pub fn merge(&mut self, chain: ChainId, found: Found, row: &EliteRow) -> bool {
        let key = self.keying.key(row);
        let rows = self.chains.entry(chain).or_insert_with(|| ChainRows {
            best: TopRows::new(1),
            stalled: TopRows::new(Self::STALLED),
        });
        let of_chain = rows.best.merge(key, row);
        let stalled = found == Found::Stalled && rows.stalled.merge(key, row);
        let overall = self.overall.merge(key, row);
        of_chain || stalled || overall
    }

    /// Merges another pool.
    pub fn merge_pool(&mut self, other: &Self) {
        for (&chain, rows) in &other.chains {
            for (_, row) in &rows.best.rows {
                self.merge(chain, Found::Best, row);
            }
            for (_, row) in &rows.stalled.rows {
                self.merge(chain, Found::Stalled, row);
            }
        }
        for (key, row) in &other.overall.rows {
            self.overall.merge(*key, row);
        }
    }

    /// Returns the best row.
    #[must_use]
    pub fn best(&self) -> Option<&EliteRow> {
        self.overall.rows.first().map(|(_, row)| row)
    }

    /// Returns the best row of one chain.
    #[must_use]
    pub fn best_of(&self, chain: ChainId) -> Option<&EliteRow> {
        self.chains
            .get(&chain)?
            .best
            .rows
            .first()
            .map(|(_, row)| row)
    }

    /// Returns all rows with different keys, best first.
    #[must_use]
    pub fn rows(&self) -> Vec<&EliteRow> {
        self.keyed_rows().into_iter().map(|(_, row)| row).collect()
    }

    /// Returns the rows that every chain reported: (chain, why, row), in chain order.
    pub fn rows_by_chain(&self) -> impl Iterator<Item = (ChainId, Found, &EliteRow)> {
        self.chains.iter().flat_map(|(&chain, rows)| {
            let best = rows
                .best
                .rows
                .iter()
                .map(move |(_, row)| (chain, Found::Best, row));
            let stalled = rows
                .stalled
                .rows
                .iter()
                .map(move |(_, row)| (chain, Found::Stalled, row));
            best.chain(stalled)
        })
    }

    /// Returns the best rows over all chains, best first.
    pub fn overall(&self) -> impl Iterator<Item = &EliteRow> {
        self.overall.rows.iter().map(|(_, row)| row)
    }

    /// Merges a row of no chain in particular: it counts among the best over all chains. Returns
    /// whether the pool changed.
    pub fn merge_overall(&mut self, row: &EliteRow) -> bool {
        self.overall.merge(self.keying.key(row), row)
    }

    /// Returns what makes two rows one.
    #[must_use]
    pub fn keying(&self) -> Keying {
        self.keying
    }

    /// Returns how many rows with different keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keyed_rows().len()
    }

    /// Returns whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.overall.rows.is_empty()
    }

    /// Returns the diversity: the mean share of nodes whose parent sets differ, over pairs of rows.
    #[must_use]
    pub fn diversity(&self) -> f64 {
        let rows = self.rows();
        let Some(first) = rows.first() else {
            return 0.0;
        };
        let pairs = |rows: usize| rows * rows.saturating_sub(1) / 2;
        let mut alike = 0usize;
        let mut of_node: BTreeMap<&[NodeIdx], usize> = BTreeMap::new();
        for node in NodeIdx::all(first.structure.nodes()) {
            of_node.clear();
            for row in &rows {
                *of_node.entry(row.structure.parents(node)).or_default() += 1;
            }
            alike += of_node.values().map(|&rows| pairs(rows)).sum::<usize>();
        }
        let compared = pairs(rows.len()) * first.structure.nodes();
        #[expect(clippy::cast_precision_loss, reason = "both are far below 2^53")]
        let share = (compared - alike) as f64 / compared.max(1) as f64;
        share
    }

    fn keyed_rows(&self) -> Vec<(&StructureKey, &EliteRow)> {
        let mut by_key: BTreeMap<&StructureKey, &EliteRow> = BTreeMap::new();
        let of_chains = self
            .chains
            .values()
            .flat_map(|rows| rows.best.rows.iter().chain(&rows.stalled.rows));
        for (key, row) in of_chains.chain(&self.overall.rows) {
            let kept = by_key.entry(key).or_insert(row);
            if rank(row) > rank(kept) {
                *kept = row;
            }
        }
        let mut rows: Vec<_> = by_key.into_iter().collect();
        rows.sort_by(|a, b| b.1.score.cmp(&a.1.score).then(a.0.cmp(b.0)));
        rows
    }
}

impl TopRows {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            rows: Vec::new(),
        }
    }

    fn merge(&mut self, key: StructureKey, row: &EliteRow) -> bool {
        if let Some(at) = self.rows.iter().position(|(known, _)| *known == key) {
            if rank(row) <= rank(&self.rows[at].1) {
                return false;
            }
            self.rows.remove(at);
        }
        let at = self
            .rows
            .partition_point(|(known, kept)| (kept.score, *known) > (row.score, key));
        if at >= self.limit {
            return false;
        }
        self.rows.insert(at, (key, row.clone()));
        self.rows.truncate(self.limit);
        true
    }
}

/// Of two rows with one key the one with the greater rank stays.
fn rank(row: &EliteRow) -> (crate::score::LogScore, &super::row::Structure) {
    (row.score, &row.structure)
}

#[cfg(test)]
mod tests;
