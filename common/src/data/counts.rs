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

/// Entries that `sizes`, `renumber` and `cells` may keep for the next family, at least; a table of
/// more rows lets each keep as many as it has rows.
const LEAST_KEPT: usize = 1 << 13;

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
    /// Returns how many bytes a counter keeps at most between two families of a table.
    #[must_use]
    pub fn bytes_for(table: &Table) -> usize {
        let rows = table.rows();
        // See `bits_are_cheaper`: masks of groups x words < 3 rows / (states of the candidate - 1).
        let fewest_states = NodeIdx::all(table.nodes())
            .map(|node| table.arity(node))
            .filter(|&arity| arity > 1)
            .min()
            .unwrap_or(2);
        let masks = 3 * rows / (fewest_states - 1) * size_of::<u64>();
        let configuration_and_group = 2 * rows * size_of::<u32>();
        let sizes_renumber_and_cells = 3 * rows.max(LEAST_KEPT) * size_of::<u32>();
        configuration_and_group + masks + sizes_renumber_and_cells
    }

    /// Gives back what a family with unusually many configurations has left, so that
    /// [`Self::bytes_for`] holds.
    fn give_back(&mut self, rows: usize) {
        let kept = rows.max(LEAST_KEPT);
        for numbers in [&mut self.sizes, &mut self.renumber, &mut self.cells] {
            if numbers.capacity() > kept {
                numbers.clear();
                numbers.shrink_to(kept);
            }
        }
    }

    /// Returns how many bytes the counter holds.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        let numbers = [
            &self.configuration,
            &self.group,
            &self.sizes,
            &self.renumber,
            &self.cells,
        ];
        let numbers: usize = numbers.iter().map(|numbers| numbers.capacity()).sum();
        numbers * size_of::<u32>() + self.masks.capacity() * size_of::<u64>()
    }

    /// Groups the rows by parent configuration and state of the node; the calls below refer to
    /// this family until the next one is grouped.
    pub fn group(&mut self, index: &CountIndex, node: NodeIdx, parents: &[NodeIdx]) {
        let table = &index.table;
        self.give_back(table.rows());
        self.number_configurations(table, parents);
        let arity = table.arity(node);
        self.arity = arity;
        self.masks_ready = false;
        refill(&mut self.sizes, self.configurations * arity, 0);
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
                          scores per second at 1000 rows (cargo bench -p rlbayes-bench -- 1000, with and without)"
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
        refill(&mut self.cells, self.sizes.len() * arity, 0);
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
        refill(&mut self.masks, self.sizes.len() * words, 0);
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
        refill(&mut self.renumber, self.configurations, UNSEEN);
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

/// Makes a vector hold `len` times `value`; one that has to grow gets no more room than that.
fn refill<T: Copy>(vector: &mut Vec<T>, len: usize, value: T) {
    vector.clear();
    vector.reserve_exact(len);
    vector.resize(len, value);
}

#[inline(always)]
fn common_bits(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum()
}

/// Returns whether the processor counts bits in one instruction; the portable build target of
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::test_tables::dependent_table;

    #[test]
    fn a_counter_keeps_no_more_than_it_says_whatever_it_has_counted() {
        for (nodes, rows) in [(12, 40), (12, 9000)] {
            let table = dependent_table(nodes, rows, 3);
            let index = CountIndex::new(std::sync::Arc::clone(&table));
            let mut counter = Counter::default();
            let mut fullest = 0;
            for parents in 0..nodes - 1 {
                let family: Vec<NodeIdx> = NodeIdx::all(parents).collect();
                for node in NodeIdx::all(nodes).skip(parents) {
                    counter.group(&index, node, &family);
                    for candidate in NodeIdx::all(nodes).skip(parents).filter(|&c| c != node) {
                        let count = i64::from;
                        counter.sums_with(&index, candidate, Kernel::Auto, count, count);
                    }
                    fullest = fullest.max(counter.bytes());
                    counter.give_back(rows);
                    assert!(counter.bytes() <= Counter::bytes_for(&table));
                }
            }
            assert!(fullest > 32 * rows, "it was put to use");
        }
    }
}
