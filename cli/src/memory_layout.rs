//! How `--memory` is divided: the table, what each chain holds, and the rest for the caches.

use rlbayes_common::data::{CountIndex, Table};
use rlbayes_common::search::SearchSpec;

/// How the memory is divided.
pub(crate) struct MemoryLayout {
    memory: usize,
    fixed: usize,
    per_chain: usize,
    /// The most chains that fit beside small caches.
    pub(crate) most_chains: u32,
}

/// What the program itself takes.
const PROGRAM_BYTES: usize = 24 << 20;
/// The least that the caches need to be of use.
const LEAST_CACHE: usize = 8 << 20;

impl MemoryLayout {
    pub(crate) fn new(table: &Table, spec: &SearchSpec, memory: usize) -> Self {
        let fixed = PROGRAM_BYTES
            + table.rows() * (table.nodes() + 8)
            + CountIndex::bytes_for(table)
            + table.nodes() * table.nodes().div_ceil(8);
        let per_chain = spec.bytes_per_chain(table.nodes()) + table.rows() * 16;
        let left = memory.saturating_sub(fixed + LEAST_CACHE);
        let most_chains = u32::try_from(left / per_chain).unwrap_or(u32::MAX);
        Self {
            memory,
            fixed,
            per_chain,
            most_chains,
        }
    }

    /// Returns the least memory for a number of chains.
    pub(crate) fn needed(&self, chains: u32) -> usize {
        self.fixed + LEAST_CACHE + self.per_chain * chains as usize
    }

    /// Returns what is left for the caches, less a tenth for what the allocator loses.
    pub(crate) fn caches(&self, chains: u32) -> usize {
        let left = self
            .memory
            .saturating_sub(self.fixed + self.per_chain * chains as usize);
        left - left / 10
    }
}
