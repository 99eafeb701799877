//! The rows of a table, grouped by the configuration of some parents and the state of a node. Groups
//! are numbered so that those of one configuration follow each other, and only those that occur have
//! a number: there are never more than rows.

use super::table::Table;
use crate::ids::NodeIdx;
use std::ops::Range;

/// Rows grouped by (parent configuration, state of the node): made for one family, and reused for the
/// next.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    /// The node, and its parents.
    family: Vec<NodeIdx>,
    /// The group of each row.
    groups: Vec<u32>,
    /// Rows in each group.
    sizes: Vec<u32>,
    /// The node's state in each group.
    states: Vec<u8>,
    /// Behind the last group of each configuration.
    ends: Vec<u32>,
    /// A row of each group; empty until somebody asks.
    samples: Vec<u32>,
    sorted: Sorted,
    codes: Codes,
}

/// Rows in the order of their groups, chunk by chunk of the table.
#[derive(Debug, Default)]
struct Sorted {
    rows: Vec<u32>,
    /// Behind the last row of each group, for each chunk.
    ends: Vec<u32>,
    chunk: usize,
    is_ready: bool,
}

/// The rows of a part of the table, sorted by group.
#[derive(Clone, Copy, Debug)]
pub(super) struct SortedChunk<'a> {
    rows: &'a [u32],
    first: usize,
    ends: &'a [u32],
}

impl<'a> SortedChunk<'a> {
    /// Returns the rows of consecutive groups.
    #[inline(always)]
    pub(super) fn rows_of(self, groups: Range<usize>) -> &'a [u32] {
        let begin = match groups.start {
            0 => self.first,
            start => self.ends[start - 1] as usize,
        };
        &self.rows[begin..self.ends[groups.end - 1] as usize]
    }
}

/// Numbers of configurations under way: every row's code is below `count`.
#[derive(Debug, Default)]
struct Codes {
    count: usize,
    renumber: Vec<u32>,
    by_state: Vec<u32>,
}

/// Codes up to this may have gaps, whatever the number of rows.
const LEAST_DENSE: usize = 1 << 12;
/// Rows of a chunk: what a kernel reads of them stays in a processor's second cache.
const CHUNK_ROWS: usize = 1 << 14;
/// Beyond so many groups chunks have too few rows of each.
const CHUNKED_GROUPS: usize = 1 << 10;

impl Grouping {
    /// Groups the rows of a table.
    pub(super) fn group(&mut self, table: &Table, node: NodeIdx, parents: &[NodeIdx]) {
        self.family.clear();
        self.family.push(node);
        self.family.extend_from_slice(parents);
        self.samples.clear();
        self.sorted.is_ready = false;
        self.give_back(table.rows());
        let codes = &mut self.codes;
        codes.number(&mut self.groups, table, parents);
        let arity = table.arity(node);
        let column = table.column(node);
        self.sizes.clear();
        self.states.clear();
        self.ends.clear();
        if codes.has_room(arity, table.rows()) || {
            codes.close_gaps(&mut self.groups);
            codes.has_room(arity, table.rows())
        } {
            codes.append(&mut self.groups, column, arity);
            self.number_dense(arity);
        } else {
            self.number_by_sorting(column, arity);
        }
    }

    /// Numbers the groups by a histogram of all possible ones.
    fn number_dense(&mut self, arity: usize) {
        let numbers = &mut self.codes.renumber;
        refill(numbers, self.codes.count, 0);
        for &code in &self.groups {
            numbers[code as usize] += 1;
        }
        for of_configuration in numbers.chunks_exact_mut(arity) {
            let before = self.sizes.len();
            for (state, number) in of_configuration.iter_mut().enumerate() {
                if *number > 0 {
                    let group = narrow(self.sizes.len());
                    self.sizes.push(std::mem::replace(number, group));
                    self.states.push(state_number(state));
                }
            }
            if self.sizes.len() > before {
                self.ends.push(narrow(self.sizes.len()));
            }
        }
        if self.sizes.len() < self.codes.count {
            for group in &mut self.groups {
                *group = numbers[*group as usize];
            }
        }
    }

    /// Numbers the groups by sorting the rows: for states so many that most groups do not occur.
    fn number_by_sorting(&mut self, column: &[u8], arity: usize) {
        self.sorted.chunk = column.len();
        self.codes
            .sort_pairs(&self.groups, column, arity, &mut self.sorted.rows);
        let mut last = None;
        for &row in &self.sorted.rows {
            let row = row as usize;
            let (configuration, state) = (self.groups[row], column[row]);
            if last != Some((configuration, state)) {
                if last.is_some_and(|(before, _)| before != configuration) {
                    self.ends.push(narrow(self.sizes.len()));
                }
                last = Some((configuration, state));
                self.sizes.push(0);
                self.states.push(state);
            }
            let group = self.sizes.len() - 1;
            self.sizes[group] += 1;
        }
        self.ends.push(narrow(self.sizes.len()));
        self.sorted.ends.clear();
        let mut end = 0;
        for (group, &size) in self.sizes.iter().enumerate() {
            let begin = end as usize;
            end += size;
            self.sorted.ends.push(end);
            for &row in &self.sorted.rows[begin..end as usize] {
                self.groups[row as usize] = narrow(group);
            }
        }
        self.sorted.is_ready = true;
    }

    /// Returns the group of each row.
    pub(super) fn groups(&self) -> &[u32] {
        &self.groups
    }

    /// Returns how many rows each group has: at least one.
    pub(super) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Returns the groups of each configuration.
    pub(super) fn configurations(&self) -> impl Iterator<Item = Range<usize>> + Clone + '_ {
        let mut begin = 0;
        self.ends.iter().map(move |&end| {
            let groups = begin..end as usize;
            begin = end as usize;
            groups
        })
    }

    /// Returns the state of a variable of the family in a group.
    pub(super) fn state(&self, table: &Table, of: NodeIdx, group: usize) -> usize {
        usize::from(table.column(of)[self.samples[group] as usize])
    }

    /// Returns the node and its parents.
    pub(super) fn family(&self) -> &[NodeIdx] {
        &self.family
    }

    /// Finds a row of each group, for [`Self::state`].
    pub(super) fn sample(&mut self) {
        if !self.samples.is_empty() {
            return;
        }
        const UNSEEN: u32 = u32::MAX;
        refill(&mut self.samples, self.sizes.len(), UNSEEN);
        let mut missing = self.sizes.len();
        for (row, &group) in self.groups.iter().enumerate() {
            let sample = &mut self.samples[group as usize];
            if *sample == UNSEEN {
                *sample = narrow(row);
                missing -= 1;
                if missing == 0 {
                    return;
                }
            }
        }
    }

    /// Returns whether the rows are sorted by group.
    pub(super) fn is_sorted(&self) -> bool {
        self.sorted.is_ready
    }

    /// Sorts the rows by group, for [`Self::chunks`].
    pub(super) fn sort(&mut self) {
        let sorted = &mut self.sorted;
        if sorted.is_ready {
            return;
        }
        let rows = self.groups.len();
        let chunks = match self.sizes.len() {
            0..=CHUNKED_GROUPS => rows.div_ceil(CHUNK_ROWS).max(1),
            _ => 1,
        };
        sorted.chunk = rows.div_ceil(chunks).max(1);
        let chunks = rows.div_ceil(sorted.chunk);
        sorted.rows.clear();
        sorted.rows.reserve_exact(rows);
        sorted.rows.resize(rows, 0);
        refill(&mut sorted.ends, chunks * self.sizes.len(), 0);
        let of_chunks = sorted.ends.chunks_exact_mut(self.sizes.len().max(1));
        for (chunk, (ends, groups)) in of_chunks.zip(self.groups.chunks(sorted.chunk)).enumerate() {
            if chunks == 1 {
                ends.copy_from_slice(&self.sizes);
            } else {
                for &group in groups {
                    ends[group as usize] += 1;
                }
            }
            let first = chunk * sorted.chunk;
            let mut begin = narrow(first);
            for end in &mut *ends {
                begin += std::mem::replace(end, begin);
            }
            for (row, &group) in (first..).zip(groups) {
                let end = &mut ends[group as usize];
                sorted.rows[*end as usize] = narrow(row);
                *end += 1;
            }
        }
        sorted.is_ready = true;
    }

    /// Returns the chunks of the sorted rows.
    #[inline]
    pub(super) fn chunks(&self) -> impl Iterator<Item = SortedChunk<'_>> + Clone {
        let Sorted {
            rows, ends, chunk, ..
        } = &self.sorted;
        let of_chunks = ends.chunks_exact(self.sizes.len().max(1)).enumerate();
        of_chunks.map(move |(at, ends)| SortedChunk {
            rows,
            first: at * chunk,
            ends,
        })
    }

    /// Puts configurations together that differ in one parent alone, and hands the groups of each to
    /// `merged`.
    pub(super) fn without(
        &mut self,
        table: &Table,
        parent: NodeIdx,
        mut merged: impl FnMut(&mut dyn Iterator<Item = (u8, u32)>),
    ) {
        self.sample();
        let first_groups: Vec<usize> = self.configurations().map(|groups| groups.start).collect();
        let samples: Vec<u32> = first_groups
            .iter()
            .map(|&group| self.samples[group])
            .collect();
        let parents = self.family.iter().skip(1).copied();
        let others: Vec<NodeIdx> = parents.filter(|&other| other != parent).collect();
        let mut numbers = vec![0; samples.len()];
        self.codes.count = 1;
        for other in others {
            let column = table.column(other);
            let states: Vec<u8> = samples.iter().map(|&row| column[row as usize]).collect();
            let arity = table.arity(other);
            self.codes.combine(&mut numbers, &states, arity);
        }
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_unstable_by_key(|&configuration| numbers[configuration]);
        for alike in order.chunk_by(|&a, &b| numbers[a] == numbers[b]) {
            let groups = alike.iter().flat_map(|&configuration| {
                first_groups[configuration]..self.ends[configuration] as usize
            });
            merged(&mut groups.map(|group| (self.states[group], self.sizes[group])));
        }
    }

    /// Returns how many bytes a grouping of a table keeps at most between two families.
    pub(super) fn bytes_for(rows: usize) -> usize {
        let by_row = 3 * rows;
        let by_group = 4 * kept(rows) + kept(rows).max(rows / 8);
        (by_row + by_group) * size_of::<u32>()
    }

    /// Returns how many bytes the grouping holds.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let numbers = [
            &self.groups,
            &self.sizes,
            &self.ends,
            &self.samples,
            &self.sorted.rows,
            &self.sorted.ends,
            &self.codes.renumber,
            &self.codes.by_state,
        ];
        let numbers: usize = numbers.iter().map(|numbers| numbers.capacity()).sum();
        numbers * size_of::<u32>() + self.states.capacity()
    }

    /// Gives back what a family with unusually many configurations has left.
    fn give_back(&mut self, rows: usize) {
        let kept = kept(rows);
        for numbers in [
            &mut self.sizes,
            &mut self.ends,
            &mut self.samples,
            &mut self.codes.renumber,
        ] {
            shrink(numbers, kept);
        }
        shrink(&mut self.states, kept);
    }
}

impl Codes {
    /// Numbers the configurations of some variables in each row.
    fn number(&mut self, codes: &mut Vec<u32>, table: &Table, variables: &[NodeIdx]) {
        codes.clear();
        let Some((&first, rest)) = variables.split_first() else {
            self.count = 1;
            codes.resize(table.rows(), 0);
            return;
        };
        self.count = table.arity(first);
        codes.extend(table.column(first).iter().map(|&state| u32::from(state)));
        for &variable in rest {
            self.combine(codes, table.column(variable), table.arity(variable));
        }
    }

    /// Refines the codes by the states of a further variable.
    fn combine(&mut self, codes: &mut [u32], states: &[u8], arity: usize) {
        if !self.has_room(arity, codes.len()) {
            self.close_gaps(codes);
        }
        if self.has_room(arity, codes.len()) {
            self.append(codes, states, arity);
        } else {
            self.append_by_sorting(codes, states, arity);
        }
    }

    /// Returns whether a histogram of all possible codes is affordable once `arity` states were added.
    fn has_room(&self, arity: usize, rows: usize) -> bool {
        self.count.saturating_mul(arity) <= LEAST_DENSE.max(rows)
    }

    fn append(&mut self, codes: &mut [u32], states: &[u8], arity: usize) {
        let width = narrow(arity);
        for (code, &state) in codes.iter_mut().zip(states) {
            *code = *code * width + u32::from(state);
        }
        self.count *= arity;
    }

    /// Renumbers the codes so that only those that occur have a number.
    fn close_gaps(&mut self, codes: &mut [u32]) {
        const UNSEEN: u32 = u32::MAX;
        refill(&mut self.renumber, self.count, UNSEEN);
        let mut next = 0;
        for code in codes {
            let number = &mut self.renumber[*code as usize];
            if *number == UNSEEN {
                *number = next;
                next += 1;
            }
            *code = *number;
        }
        self.count = next as usize;
    }

    fn append_by_sorting(&mut self, codes: &mut [u32], states: &[u8], arity: usize) {
        let mut order = Vec::new();
        self.sort_pairs(codes, states, arity, &mut order);
        let mut last = None;
        let mut next = 0;
        for row in order {
            let code = &mut codes[row as usize];
            let pair = (*code, states[row as usize]);
            if last.is_some_and(|last| last != pair) {
                next += 1;
            }
            last = Some(pair);
            *code = next;
        }
        self.count = next as usize + 1;
    }

    /// Sorts rows by (code, state): by the state first, and then by the code, keeping that order.
    fn sort_pairs(&mut self, codes: &[u32], states: &[u8], arity: usize, order: &mut Vec<u32>) {
        refill(&mut self.by_state, codes.len(), 0);
        refill(order, codes.len(), 0);
        let all = 0..narrow(codes.len());
        let state = |row: u32| usize::from(states[row as usize]);
        counting_sort(all, state, arity, &mut self.renumber, &mut self.by_state);
        let code = |row: u32| codes[row as usize] as usize;
        let rows = self.by_state.iter().copied();
        counting_sort(rows, code, self.count, &mut self.renumber, order);
    }
}

/// Sorts rows by a key below `keys`; rows with equal keys keep their order.
fn counting_sort(
    rows: impl Iterator<Item = u32> + Clone,
    key: impl Fn(u32) -> usize,
    keys: usize,
    places: &mut Vec<u32>,
    sorted: &mut [u32],
) {
    refill(places, keys, 0);
    for row in rows.clone() {
        places[key(row)] += 1;
    }
    let mut begin = 0;
    for place in &mut *places {
        begin += std::mem::replace(place, begin);
    }
    for row in rows {
        let place = &mut places[key(row)];
        sorted[*place as usize] = row;
        *place += 1;
    }
}

/// Makes a vector hold `len` times `value`; one that has to grow gets no more room than that.
pub(super) fn refill<T: Copy>(vector: &mut Vec<T>, len: usize, value: T) {
    vector.clear();
    vector.reserve_exact(len);
    vector.resize(len, value);
}

/// Returns how many entries a vector may keep for the next family.
pub(super) fn kept(rows: usize) -> usize {
    rows.max(1 << 13)
}

/// Gives back what is beyond `kept` entries; the content goes with it.
pub(super) fn shrink<T>(vector: &mut Vec<T>, kept: usize) {
    if vector.capacity() > kept {
        vector.clear();
        vector.shrink_to(kept);
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "rows are at most Table::MAX_ROWS, groups at most rows"
)]
pub(super) fn narrow(number: usize) -> u32 {
    number as u32
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "below Variable::MAX_STATES"
)]
fn state_number(state: usize) -> u8 {
    state as u8
}
