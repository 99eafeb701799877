//! Contingency counts of (node, parents), of (node, parents + one candidate) for many candidates at
//! once, and of (node, parents - one). This is where nearly all time goes.
//!
//! Every path ends in a sum of integer terms over the counts, so the result has the same bits
//! whichever path counted it and in whatever order.
//!
//! - Rows are grouped once by (parent configuration, state of the node): see `grouping`.
//! - Few groups: a candidate is counted by AND and population count of bit columns.
//! - More groups: many candidates are counted together, by adding up rows of bytes: see `lanes`.
//! - A candidate by itself: one increment a row, into a table of all possible cells or, where most
//!   of them would be empty, into those of one group at a time.
//! - Without a parent: counts of configurations that differ in it alone are added up.

use super::bit_columns::BitColumns;
use super::grouping::{Grouping, kept, narrow, refill, shrink};
use super::lanes::{Block, Lanes, MOST_LANES};
use super::processor::Processor;
use super::schema::Variable;
use super::table::Table;
use crate::ids::NodeIdx;
use std::ops::Range;
use std::sync::Arc;

/// The table, laid out for counting.
#[derive(Debug)]
pub struct CountIndex {
    table: Arc<Table>,
    bits: BitColumns,
    lanes: Lanes,
    processor: Processor,
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
    /// The cheapest one by the cost model.
    Auto,
    /// AND and population count of bit columns.
    Bits,
    /// Rows of bytes added up, many candidates at once. Those with too many states are counted as if
    /// by `Auto`.
    Lanes,
    /// One increment a row into a table of all cells.
    Increments,
    /// One increment a row into the cells of one group at a time.
    Sparse,
}

/// Scratch space for counting: one per thread, reused for every family.
#[derive(Debug, Default)]
pub struct Counter {
    grouping: Grouping,
    /// The rows of each group as bits.
    masks: Vec<u64>,
    masks_ready: bool,
    cells: Vec<u32>,
    /// Counts of a block, one line for each group.
    lane_counts: Vec<u32>,
    wanted: Vec<bool>,
}

/// Terms by count, the same for all families of a size. The term of 0 is 0.
pub trait Terms {
    /// Returns the term of a cell.
    fn cell(&self, count: u32) -> i64;

    /// Returns the term of a parent configuration.
    fn configuration(&self, count: u32) -> i64;
}

/// Groups whose lanes are counted before their terms are summed: their counts stay in a processor's
/// first or second cache.
const TILE_GROUPS: usize = 128;

impl CountIndex {
    /// Lays a table out for counting.
    #[must_use]
    pub fn new(table: Arc<Table>) -> Self {
        Self::for_processor(table, Processor::detect())
    }

    pub(super) fn for_processor(table: Arc<Table>, processor: Processor) -> Self {
        Self {
            bits: BitColumns::new(&table),
            lanes: Lanes::new(&table, processor),
            processor,
            table,
        }
    }

    /// Returns the table.
    #[must_use]
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    pub(super) fn bits(&self) -> &BitColumns {
        &self.bits
    }

    pub(super) fn processor(&self) -> Processor {
        self.processor
    }

    /// Returns how much memory the index of a table takes, without the table itself.
    #[must_use]
    pub fn bytes_for(table: &Table) -> usize {
        BitColumns::bytes_for(table) + Lanes::bytes_for(table)
    }
}

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
        let lane_counts = (TILE_GROUPS + Variable::MAX_STATES) * MOST_LANES;
        let cells = (kept(rows) + lane_counts) * size_of::<u32>();
        Grouping::bytes_for(rows) + masks + cells + table.nodes()
    }

    /// Returns how many bytes the counter holds.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        let numbers = self.cells.capacity() + self.lane_counts.capacity();
        self.grouping.bytes()
            + numbers * size_of::<u32>()
            + self.masks.capacity() * size_of::<u64>()
            + self.wanted.capacity()
    }

    /// Groups the rows by parent configuration and state of the node; the calls below refer to
    /// this family until the next one is grouped.
    pub fn group(&mut self, index: &CountIndex, node: NodeIdx, parents: &[NodeIdx]) {
        self.masks_ready = false;
        shrink(&mut self.cells, kept(index.table.rows()));
        self.grouping.group(&index.table, node, parents);
    }

    /// Returns the term sums of the grouped family.
    pub fn family_sums(&self, terms: &impl Terms) -> TermSums {
        let sizes = self.grouping.sizes();
        let mut sums = TermSums::default();
        for groups in self.grouping.configurations() {
            let sizes = &sizes[groups];
            sums.cells += sizes.iter().map(|&size| terms.cell(size)).sum::<i64>();
            sums.configurations += terms.configuration(sizes.iter().sum());
        }
        sums
    }

    /// Returns the term sums of the grouped family without one of its parents.
    pub fn sums_without(
        &mut self,
        index: &CountIndex,
        parent: NodeIdx,
        terms: &impl Terms,
    ) -> TermSums {
        let mut sums = TermSums::default();
        let mut counts = [0u32; Variable::MAX_STATES];
        let arity = index.table.arity(self.grouping.family()[0]);
        self.grouping.without(&index.table, parent, |groups| {
            let mut total = 0;
            for (state, size) in groups {
                counts[usize::from(state)] += size;
                total += size;
            }
            for count in &mut counts[..arity] {
                sums.cells += terms.cell(std::mem::take(count));
            }
            sums.configurations += terms.configuration(total);
        });
        sums
    }

    /// Returns the candidates of a list that are worth counting together: `found` gets the term sums
    /// of each; the others stay in the list.
    pub fn sums_together<T: Terms>(
        &mut self,
        index: &CountIndex,
        candidates: &mut Vec<NodeIdx>,
        kernel: Kernel,
        mut terms: impl FnMut(usize) -> T,
        mut found: impl FnMut(NodeIdx, TermSums),
    ) {
        let is_forced = kernel == Kernel::Lanes;
        if !is_forced && kernel != Kernel::Auto {
            return;
        }
        refill(&mut self.wanted, index.table.nodes(), false);
        for candidate in &*candidates {
            self.wanted[candidate.index()] = true;
        }
        let mut last: Option<(usize, T)> = None;
        for block in index.lanes.blocks() {
            let nodes = block.nodes();
            let wanted = |node: &&NodeIdx| self.wanted[node.index()];
            let lanes = nodes.iter().filter(wanted).count() * (block.arity() - 1);
            if lanes == 0 || (!is_forced && !self.lanes_are_cheaper(index, block, lanes)) {
                continue;
            }
            let terms = match &last {
                Some((arity, terms)) if *arity == block.arity() => terms,
                _ => &last.insert((block.arity(), terms(block.arity()))).1,
            };
            let sums = self.by_lanes(index, block, terms);
            for (&node, &sums) in nodes.iter().zip(&sums) {
                if std::mem::take(&mut self.wanted[node.index()]) {
                    found(node, sums);
                }
            }
        }
        candidates.retain(|candidate| self.wanted[candidate.index()]);
    }

    /// Returns the term sums of the grouped family with `candidate` as a further parent.
    pub fn sums_with(
        &mut self,
        index: &CountIndex,
        candidate: NodeIdx,
        kernel: Kernel,
        terms: &impl Terms,
    ) -> TermSums {
        let arity = index.table.arity(candidate);
        let kernel = match kernel {
            Kernel::Auto | Kernel::Lanes => self.cheapest(index, arity),
            chosen => chosen,
        };
        let column = index.table.column(candidate);
        match kernel {
            Kernel::Bits => {
                self.build_masks(index);
                self.by_bits_of(index, candidate, arity, terms)
            }
            Kernel::Sparse => self.one_group_at_a_time(column, arity, terms),
            _ => self.by_increments(column, arity, terms),
        }
    }

    /// Compares what the kernels read and write. `cargo bench` shows how near the choice comes to the
    /// best of them.
    fn cheapest(&self, index: &CountIndex, candidate_arity: usize) -> Kernel {
        let groups = self.grouping.sizes().len();
        let words = groups * (candidate_arity - 1) * (index.bits.words() + 4);
        let cells = groups * candidate_arity;
        let rows = index.table.rows();
        if words < 3 * rows {
            Kernel::Bits
        } else if cells > SPARSE_CELLS * rows {
            Kernel::Sparse
        } else {
            Kernel::Increments
        }
    }

    /// Compares the time that a block takes with that of counting so many of its lanes by bits, both in
    /// tenths of a nanosecond as they were measured.
    fn lanes_are_cheaper(&self, index: &CountIndex, block: &Block, wanted: usize) -> bool {
        let groups = self.grouping.sizes().len();
        let of_a_count = 55 + index.bits.words() * index.processor.word_cost();
        let of_bits = wanted * groups * of_a_count;
        let rows = index.table.rows();
        let of_lanes = block.width() * (rows / 4 + groups * 10);
        let of_sorting = if self.grouping.is_sorted() {
            0
        } else {
            9 * rows
        };
        of_lanes + of_sorting < of_bits
    }

    fn by_increments(&mut self, column: &[u8], arity: usize, terms: &impl Terms) -> TermSums {
        refill(&mut self.cells, self.grouping.sizes().len() * arity, 0);
        let width = narrow(arity);
        let cells = &mut self.cells[..];
        for (&group, &state) in self.grouping.groups().iter().zip(column) {
            cells[(group * width + u32::from(state)) as usize] += 1;
        }
        let mut sums = TermSums::default();
        for groups in self.grouping.configurations() {
            let counts = &cells[groups.start * arity..groups.end * arity];
            for &count in counts {
                sums.cells += terms.cell(count);
            }
            for state in 0..arity {
                let with_state = counts.iter().skip(state).step_by(arity).sum();
                sums.configurations += terms.configuration(with_state);
            }
        }
        sums
    }

    /// Counts the states of the candidate in one group after the other, and clears what was counted by
    /// going over the same rows again where they are fewer than the states.
    fn one_group_at_a_time(&mut self, column: &[u8], arity: usize, terms: &impl Terms) -> TermSums {
        self.grouping.sort();
        let grouping = &self.grouping;
        let states = |groups: Range<usize>| {
            grouping
                .chunks()
                .flat_map(move |chunk| chunk.rows_of(groups.clone()))
                .map(|&row| usize::from(column[row as usize]))
        };
        let mut counts = [0u32; Variable::MAX_STATES];
        let mut totals = [0u32; Variable::MAX_STATES];
        let mut sums = TermSums::default();
        for groups in grouping.configurations() {
            let mut rows = 0;
            for group in groups.clone() {
                let size = grouping.sizes()[group] as usize;
                rows += size;
                for state in states(group..group + 1) {
                    counts[state] += 1;
                }
                let mut settle = |state: usize| {
                    let count = std::mem::take(&mut counts[state]);
                    sums.cells += terms.cell(count);
                    totals[state] += count;
                };
                if size < arity {
                    states(group..group + 1).for_each(&mut settle);
                } else {
                    (0..arity).for_each(&mut settle);
                }
            }
            let mut settle = |state: usize| {
                sums.configurations += terms.configuration(std::mem::take(&mut totals[state]));
            };
            if rows < arity {
                states(groups).for_each(&mut settle);
            } else {
                (0..arity).for_each(&mut settle);
            }
        }
        sums
    }

    /// Returns the term sums of the grouped family with each variable of a block as a further parent,
    /// also of those that are parents already.
    fn by_lanes(
        &mut self,
        index: &CountIndex,
        block: &Block,
        terms: &impl Terms,
    ) -> [TermSums; MOST_LANES] {
        self.grouping.sort();
        let mut sums = [TermSums::default(); MOST_LANES];
        let mut totals = [0u32; MOST_LANES];
        let mut configurations = self.grouping.configurations().peekable();
        while let Some(first) = configurations.peek().cloned() {
            // As many configurations as fit.
            let mut tile = configurations.clone();
            let fits = |groups: &Range<usize>| groups.end - first.start <= TILE_GROUPS;
            let mut end = tile.next().map_or(first.end, |groups| groups.end);
            while let Some(next) = tile.next_if(fits) {
                end = next.end;
            }
            let counted = first.start..end;
            let (lanes, counts) = (&index.lanes, &mut self.lane_counts);
            lanes.count(block, &self.grouping, counted.clone(), counts);
            while let Some(groups) = configurations.next_if(|groups| groups.end <= counted.end) {
                let sizes = &self.grouping.sizes()[groups.clone()];
                let begin = groups.start - counted.start;
                let counts = &self.lane_counts[begin * block.width()..];
                sum_lanes(block, sizes, counts, terms, &mut totals, &mut sums);
            }
        }
        sums
    }

    /// Counts by bits, with the best instructions that there are.
    fn by_bits_of(
        &self,
        index: &CountIndex,
        candidate: NodeIdx,
        arity: usize,
        terms: &impl Terms,
    ) -> TermSums {
        match index.processor {
            #[cfg(target_arch = "x86_64")]
            #[expect(
                unsafe_code,
                reason = "bits of wider registers counted in one instruction: see Processor; 2.3 times as \
                          fast as word by word (docs/research-notes.md)"
            )]
            // SAFETY: the processor was found to have these instructions.
            Processor::Avx512 => unsafe { self.by_bits_avx512(index, candidate, arity, terms) },
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "as above; 1.2 times as fast as word by word")]
            // SAFETY: the processor was found to have these instructions.
            Processor::Avx2 => unsafe { self.by_bits_avx2(index, candidate, arity, terms) },
            #[cfg(target_arch = "x86_64")]
            #[expect(
                unsafe_code,
                reason = "the population count instruction: see Processor; 1.1 to 1.4 times the local \
                          scores per second at 1000 rows (cargo bench -p rlbayes-bench -- 1000, with and without)"
            )]
            // SAFETY: the processor was found to have this instruction.
            Processor::Popcnt => unsafe { self.by_bits_popcnt(index, candidate, arity, terms) },
            Processor::Portable => self.by_bits(index, candidate, arity, terms),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt")]
    fn by_bits_avx512(
        &self,
        index: &CountIndex,
        candidate: NodeIdx,
        arity: usize,
        terms: &impl Terms,
    ) -> TermSums {
        self.by_bits(index, candidate, arity, terms)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,popcnt")]
    fn by_bits_avx2(
        &self,
        index: &CountIndex,
        candidate: NodeIdx,
        arity: usize,
        terms: &impl Terms,
    ) -> TermSums {
        self.by_bits(index, candidate, arity, terms)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt")]
    fn by_bits_popcnt(
        &self,
        index: &CountIndex,
        candidate: NodeIdx,
        arity: usize,
        terms: &impl Terms,
    ) -> TermSums {
        self.by_bits(index, candidate, arity, terms)
    }

    #[inline(always)]
    fn by_bits(
        &self,
        index: &CountIndex,
        candidate: NodeIdx,
        arity: usize,
        terms: &impl Terms,
    ) -> TermSums {
        let words = index.bits.words();
        let sizes = self.grouping.sizes();
        let mut sums = TermSums::default();
        let mut with_state = [0u32; Variable::MAX_STATES];
        for groups in self.grouping.configurations() {
            with_state[..arity].fill(0);
            let masks = &self.masks[groups.start * words..groups.end * words];
            for (&size, mask) in sizes[groups].iter().zip(masks.chunks_exact(words)) {
                let mut rest = size;
                for (state, total) in with_state[..arity].iter_mut().enumerate().skip(1) {
                    let count = common_bits(mask, index.bits.state(candidate, state));
                    sums.cells += terms.cell(count);
                    *total += count;
                    rest -= count;
                }
                sums.cells += terms.cell(rest);
                with_state[0] += rest;
            }
            for &count in &with_state[..arity] {
                sums.configurations += terms.configuration(count);
            }
        }
        sums
    }

    /// Makes the masks of the groups: what the bit columns of their states have in common.
    fn build_masks(&mut self, index: &CountIndex) {
        if self.masks_ready {
            return;
        }
        let words = index.bits.words();
        self.grouping.sample();
        let groups = self.grouping.sizes().len();
        self.masks.clear();
        self.masks.reserve_exact(groups * words);
        for group in 0..groups {
            let begin = self.masks.len();
            for (at, &node) in self.grouping.family().iter().enumerate() {
                let state = self.grouping.state(&index.table, node, group);
                let bits = index.bits.state(node, state);
                if at == 0 {
                    self.masks.extend_from_slice(bits);
                } else {
                    for (mask, bits) in self.masks[begin..].iter_mut().zip(bits) {
                        *mask &= bits;
                    }
                }
            }
        }
        self.masks_ready = true;
    }
}

/// From so many cells for each row on, most of them are empty.
const SPARSE_CELLS: usize = 4;

/// Adds the terms of one configuration to the sums of the variables of a block.
fn sum_lanes(
    block: &Block,
    sizes: &[u32],
    counts: &[u32],
    terms: &impl Terms,
    totals: &mut [u32; MOST_LANES],
    sums: &mut [TermSums; MOST_LANES],
) {
    let lanes = block.arity() - 1;
    let used = lanes * block.nodes().len();
    let sums = &mut sums[..block.nodes().len()];
    totals[..used].fill(0);
    let mut rows = 0;
    for (&size, counts) in sizes.iter().zip(counts.chunks_exact(block.width())) {
        rows += size;
        for (total, &count) in totals[..used].iter_mut().zip(counts) {
            *total += count;
        }
        if lanes == 1 {
            for (sums, &count) in sums.iter_mut().zip(counts) {
                sums.cells += terms.cell(count) + terms.cell(size - count);
            }
            continue;
        }
        for (sums, counts) in sums.iter_mut().zip(counts.chunks_exact(lanes)) {
            let rest = size - counts.iter().sum::<u32>();
            let of_states: i64 = counts.iter().map(|&count| terms.cell(count)).sum();
            sums.cells += of_states + terms.cell(rest);
        }
    }
    for (sums, totals) in sums.iter_mut().zip(totals.chunks_exact(lanes)) {
        let rest = rows - totals.iter().sum::<u32>();
        let of_states = totals.iter().map(|&total| terms.configuration(total));
        sums.configurations += of_states.sum::<i64>() + terms.configuration(rest);
    }
}

/// Returns how many bits two columns have in common.
#[inline(always)]
pub(super) fn common_bits(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum()
}

#[cfg(test)]
mod tests;
