//! How the memory of a search is divided: the table, what each chain holds, and the rest for the caches.

use crate::coordination::ChainMemory;
use rlbayes_common::data::{Counter, Table};
use rlbayes_common::elite::{EliteRow, Pool};
use rlbayes_common::score::{ScoreSpec, Scorer};
use rlbayes_common::search::SearchSpec;

/// How the memory is divided.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLayout {
    memory: usize,
    fixed: usize,
    per_chain: usize,
    /// The most chains that fit beside small caches.
    pub most_chains: u32,
}

/// What the program itself takes.
const PROGRAM_BYTES: usize = 24 << 20;
/// The least that the caches need to be of use.
const LEAST_CACHE: usize = 8 << 20;
/// What a family of a row takes that no other row shares.
const FAMILY_BYTES: usize = 48;
/// Rows that the elite pool keeps of each chain: its best, and those that it stalled on.
const POOL_ROWS_A_CHAIN: usize = 1 + Pool::STALLED;

impl MemoryLayout {
    /// Divides `memory` for a search on a table.
    #[must_use]
    pub fn new(table: &Table, score: ScoreSpec, search: &SearchSpec, memory: usize) -> Self {
        let nodes = table.nodes();
        let row = size_of::<EliteRow>() + nodes * FAMILY_BYTES;
        let fixed = PROGRAM_BYTES
            + table.rows() * nodes
            + Scorer::bytes_for(table, score)
            + nodes * nodes.div_ceil(8)
            + Pool::OVERALL * row;
        let per_chain =
            search.bytes_per_chain(nodes) + Counter::bytes_for(table) + POOL_ROWS_A_CHAIN * row;
        let left = memory.saturating_sub(fixed + LEAST_CACHE);
        let most_chains = u32::try_from(left / per_chain).unwrap_or(u32::MAX);
        Self {
            memory,
            fixed,
            per_chain,
            most_chains,
        }
    }

    /// Returns what the search's chains take, whatever the memory.
    #[must_use]
    pub fn chain_memory(&self) -> ChainMemory {
        ChainMemory {
            fixed: self.fixed as u64,
            caches: LEAST_CACHE as u64,
            per_chain: self.per_chain as u64,
        }
    }

    /// Returns the least memory for a number of chains.
    #[must_use]
    pub fn needed(&self, chains: u32) -> usize {
        self.fixed + LEAST_CACHE + self.per_chain * chains as usize
    }

    /// Returns what is left for the caches, less a tenth for what the allocator loses.
    #[must_use]
    pub fn caches(&self, chains: u32) -> usize {
        let left = self
            .memory
            .saturating_sub(self.fixed + self.per_chain * chains as usize);
        left - left / 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlbayes_common::data::{Schema, Variable};
    use rlbayes_common::score::ScoreName;

    fn binary(nodes: usize, rows: usize) -> Table {
        let variables = (0..nodes)
            .map(|node| Variable::new(format!("v{node}"), vec!["0".into(), "1".into()]).unwrap())
            .collect();
        let column: Vec<u8> = (0..rows).map(|row| u8::from(row % 3 == 0)).collect();
        Table::new(Schema::new(variables).unwrap(), vec![column; nodes]).unwrap()
    }

    fn score(name: ScoreName) -> ScoreSpec {
        ScoreSpec::new(name, 1.0, 1.0).unwrap()
    }

    fn layout(table: &Table, name: ScoreName, memory: usize) -> MemoryLayout {
        let search = SearchSpec::RlBayes(Default::default());
        MemoryLayout::new(table, score(name), &search, memory)
    }

    #[test]
    fn chains_are_charged_for_counting_in_every_row() {
        // Two numbers a row, and masks of up to three words a row.
        let rows = 300_000;
        let layout = layout(&binary(16, rows), ScoreName::Bic, 116 << 20);
        assert!(layout.per_chain > rows * (2 * 4 + 3 * 8));
        assert!(layout.most_chains < 16, "{}", layout.most_chains);
        assert!(layout.needed(16) > 128 << 20);
        assert_eq!(layout.needed(16) - layout.needed(15), layout.per_chain);
    }

    #[test]
    fn bdeu_is_charged_for_its_tables() {
        let needed = |table: &Table, name| layout(table, name, 1 << 30).needed(1);
        let extra = |table| needed(table, ScoreName::Bdeu) - needed(table, ScoreName::Bic);
        let table = binary(16, 100_000);
        // One for each power of two that a family can have as its number of cells.
        assert!(extra(&table) > 15 * 100_000 * 8);
        assert!(extra(&table) < 64 << 20);
        assert!(extra(&binary(200, 100_000)) > 60 << 20);
        // So many rows have no tables.
        let large = binary(2, 200_000);
        assert!(needed(&large, ScoreName::Bdeu) < needed(&large, ScoreName::Bic));
    }

    #[test]
    fn the_caches_get_what_is_left() {
        let layout = layout(&binary(16, 1000), ScoreName::Bic, 100 << 20);
        let left = (100 << 20) - layout.needed(8) + LEAST_CACHE;
        assert_eq!(layout.caches(8), left - left / 10);
        assert_eq!(layout.caches(u32::MAX), 0);
    }
}
