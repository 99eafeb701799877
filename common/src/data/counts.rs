//! Contingency counts of (node, parents), and of (node, parents + one candidate) for many
//! candidates at once. This is where nearly all time goes.
//!
//! Every path ends in a sum of integer terms over the counts, so the result has the same bits
//! whichever path counted it and in whatever order.
//!
//! - Rows are grouped once by (parent configuration, state of the node): the base index.
//! - A candidate is then counted by AND and population count of bit columns where groups are few,
//!   and by one increment a row where they are many.
//! - Only configurations that occur are numbered, so the space never overflows.

use super::bit_columns::BitColumns;
use super::table::Table;
use crate::ids::NodeIdx;

/// The table, laid out for counting.
#[derive(Debug)]
pub struct CountIndex {
    table: std::sync::Arc<Table>,
    bits: BitColumns,
}

/// Sums of terms over the counts of a family: one over the cells, one over the parent
/// configurations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TermSums {
    /// Sum of `cell(N_ijk)`.
    pub cells: i64,
    /// Sum of `configuration(N_ij)`.
    pub configurations: i64,
}

/// Which kernel counts a candidate; the choice changes speed, never bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// The cheaper one by the cost model.
    Auto,
    /// AND and population count of bit columns.
    Bits,
    /// One increment a row into a dense table.
    Increments,
}

/// Scratch space for counting: one per thread, reused for every family.
#[derive(Debug, Default)]
pub struct Counter {
    /// Number of the parent configuration in each row.
    configuration: Vec<u32>,
    /// `configuration * arity + state of the node` in each row.
    group: Vec<u32>,
    /// Rows in each group.
    sizes: Vec<u32>,
    /// The rows of each group as bits.
    masks: Vec<u64>,
    masks_ready: bool,
    renumber: Vec<u32>,
    cells: Vec<u32>,
    configurations: usize,
    arity: usize,
}

impl CountIndex {
    /// Lays a table out for counting.
    #[must_use]
    pub fn new(table: std::sync::Arc<Table>) -> Self {
        let bits = BitColumns::new(&table);
        Self { table, bits }
    }

    /// Returns the table.
    #[must_use]
    pub fn table(&self) -> &std::sync::Arc<Table> {
        &self.table
    }

    /// Returns how much memory the index of a table takes, without the table itself.
    #[must_use]
    pub fn bytes_for(table: &Table) -> usize {
        BitColumns::bytes_for(table)
    }
}

/// Where a table of more possible configurations than this is renumbered before it grows further.
const MOST_CONFIGURATIONS: usize = 1 << 12;

impl Counter {
    /// Groups the rows by parent configuration and state of the node; the calls below refer to
    /// this family until the next one is grouped.
    pub fn group(&mut self, index: &CountIndex, node: NodeIdx, parents: &[NodeIdx]) {
        let table = &index.table;
        self.number_configurations(table, parents);
        let arity = table.arity(node);
        self.arity = arity;
        self.masks_ready = false;
        self.sizes.clear();
        self.sizes.resize(self.configurations * arity, 0);
        self.group.clear();
        let width = narrow(arity);
        let column = table.column(node);
        if parents.is_empty() {
            self.group
                .extend(column.iter().map(|&state| u32::from(state)));
        } else {
            self.group.extend(
                self.configuration
                    .iter()
                    .zip(column)
                    .map(|(&configuration, &state)| configuration * width + u32::from(state)),
            );
        }
        for &group in &self.group {
            self.sizes[group as usize] += 1;
        }
    }

    /// Returns the term sums of the grouped family.
    pub fn family_sums(
        &self,
        cell: impl Fn(u32) -> i64,
        configuration: impl Fn(u32) -> i64,
    ) -> TermSums {
        let mut sums = TermSums::default();
        for counts in self.sizes.chunks_exact(self.arity) {
            sums.cells += counts.iter().map(|&count| cell(count)).sum::<i64>();
            sums.configurations += configuration(counts.iter().sum());
        }
        sums
    }

    /// Returns the term sums of the grouped family with `candidate` as a further parent.
    pub fn sums_with(
        &mut self,
        index: &CountIndex,
        candidate: NodeIdx,
        kernel: Kernel,
        cell: impl Fn(u32) -> i64,
        configuration: impl Fn(u32) -> i64,
    ) -> TermSums {
        let arity = index.table.arity(candidate);
        let bits = match kernel {
            Kernel::Auto => self.bits_are_cheaper(index, arity),
            Kernel::Bits => true,
            Kernel::Increments => false,
        };
        if !bits {
            return self.by_increments(index.table.column(candidate), arity, cell, configuration);
        }
        self.build_masks(index.bits.words());
        #[cfg(target_arch = "x86_64")]
        if has_popcnt() {
            #[expect(
                unsafe_code,
                reason = "the population count instruction: see has_popcnt; 1.1 to 1.4 times the local \
                          scores a second at 1000 rows (cargo bench -- 1000, with and without)"
            )]
            // SAFETY: has_popcnt found the instruction on this processor.
            return unsafe { self.by_bits_popcnt(index, candidate, arity, cell, configuration) };
        }
        self.by_bits(index, candidate, arity, cell, configuration)
    }

    /// Compares the words that the bit path reads with the rows that the other one does.
    /// `cargo bench` shows how near the choice comes to the better of the two.
    fn bits_are_cheaper(&self, index: &CountIndex, candidate_arity: usize) -> bool {
        let words = self.sizes.len() * (candidate_arity - 1) * (index.bits.words() + 4);
        let cells = self.sizes.len() * candidate_arity;
        words < 3 * index.table.rows() + 2 * cells
    }

    fn by_increments(
        &mut self,
        column: &[u8],
        arity: usize,
        cell: impl Fn(u32) -> i64,
        configuration: impl Fn(u32) -> i64,
    ) -> TermSums {
        self.cells.clear();
        self.cells.resize(self.sizes.len() * arity, 0);
        let width = narrow(arity);
        let cells = &mut self.cells[..];
        for (&group, &state) in self.group.iter().zip(column) {
            cells[(group * width + u32::from(state)) as usize] += 1;
        }
        let mut sums = TermSums::default();
        for counts in cells.chunks_exact(self.arity * arity) {
            for &count in counts {
                sums.cells += cell(count);
            }
            for state in 0..arity {
                let with_state = counts.iter().skip(state).step_by(arity).sum();
                sums.configurations += configuration(with_state);
            }
        }
        sums
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt")]
    fn by_bits_popcnt(
        &self,
        index: &CountIndex,
        candidate: NodeIdx,
        arity: usize,
        cell: impl Fn(u32) -> i64,
        configuration: impl Fn(u32) -> i64,
    ) -> TermSums {
        self.by_bits(index, candidate, arity, cell, configuration)
    }

    #[inline(always)]
    fn by_bits(
        &self,
        index: &CountIndex,
        candidate: NodeIdx,
        arity: usize,
        cell: impl Fn(u32) -> i64,
        configuration: impl Fn(u32) -> i64,
    ) -> TermSums {
        let words = index.bits.words();
        let mut sums = TermSums::default();
        if arity == 2 {
            let ones = index.bits.state(candidate, 1);
            for (sizes, masks) in self
                .sizes
                .chunks_exact(self.arity)
                .zip(self.masks.chunks_exact(self.arity * words))
            {
                let (mut total, mut total_ones) = (0, 0);
                for (&size, mask) in sizes.iter().zip(masks.chunks_exact(words)) {
                    let count = common_bits(mask, ones);
                    sums.cells += cell(count) + cell(size - count);
                    total += size;
                    total_ones += count;
                }
                sums.configurations +=
                    configuration(total_ones) + configuration(total - total_ones);
            }
            return sums;
        }
        let mut with_state = [0u32; 256];
        for (sizes, masks) in self
            .sizes
            .chunks_exact(self.arity)
            .zip(self.masks.chunks_exact(self.arity * words))
        {
            with_state[..arity].fill(0);
            for (&size, mask) in sizes.iter().zip(masks.chunks_exact(words)) {
                if size == 0 {
                    continue;
                }
                let mut rest = size;
                for (state, total) in with_state[..arity].iter_mut().enumerate().skip(1) {
                    let count = common_bits(mask, index.bits.state(candidate, state));
                    sums.cells += cell(count);
                    *total += count;
                    rest -= count;
                }
                sums.cells += cell(rest);
                with_state[0] += rest;
            }
            for &count in &with_state[..arity] {
                sums.configurations += configuration(count);
            }
        }
        sums
    }

    fn build_masks(&mut self, words: usize) {
        if self.masks_ready {
            return;
        }
        self.masks.clear();
        self.masks.resize(self.sizes.len() * words, 0);
        for (row, &group) in self.group.iter().enumerate() {
            self.masks[group as usize * words + row / 64] |= 1 << (row % 64);
        }
        self.masks_ready = true;
    }

    /// Numbers the parent configurations that occur, `0..self.configurations`.
    fn number_configurations(&mut self, table: &Table, parents: &[NodeIdx]) {
        self.configurations = 1;
        let Some((&first, rest)) = parents.split_first() else {
            return;
        };
        self.configuration.clear();
        self.configuration
            .extend(table.column(first).iter().map(|&state| u32::from(state)));
        self.configurations = table.arity(first);
        for &parent in rest {
            let arity = table.arity(parent);
            if self.configurations * arity > MOST_CONFIGURATIONS {
                self.keep_occurring();
            }
            let width = narrow(arity);
            for (configuration, &state) in self.configuration.iter_mut().zip(table.column(parent)) {
                *configuration = *configuration * width + u32::from(state);
            }
            self.configurations *= arity;
        }
        if self.configurations > 4 {
            self.keep_occurring();
        }
    }

    /// Renumbers the configurations so that only those that occur have a number.
    fn keep_occurring(&mut self) {
        const UNSEEN: u32 = u32::MAX;
        self.renumber.clear();
        self.renumber.resize(self.configurations, UNSEEN);
        let mut next = 0;
        for configuration in &mut self.configuration {
            let number = &mut self.renumber[*configuration as usize];
            if *number == UNSEEN {
                *number = next;
                next += 1;
            }
            *configuration = *number;
        }
        self.configurations = next as usize;
    }
}

#[inline(always)]
fn common_bits(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum()
}

/// Tells whether the processor counts bits in one instruction; the portable build target of
/// x86-64 does not assume it.
#[cfg(target_arch = "x86_64")]
#[inline]
fn has_popcnt() -> bool {
    std::arch::is_x86_feature_detected!("popcnt")
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "at most Variable::MAX_STATES"
)]
fn narrow(arity: usize) -> u32 {
    arity as u32
}
