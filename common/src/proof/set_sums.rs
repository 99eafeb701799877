//! Sums of `N ln N` over the cells of many sets of variables.
//!
//! All that a likelihood says about parent sets is made of such sums: the fit of X given S is
//! L(S + X) - L(S), and the uncertainty left in Y given S is L(S) - L(S + Y). A set counted once
//! serves every variable.
//!
//! Sets are taken in order, so that neighbours share a prefix. The rows are split by the prefix, then
//! counted by several last members at a time: each state but the first of a variable has a byte (a
//! *lane*) in each row, 1 where the row has that state, and sixteen lanes are added at once. A cell of
//! one row adds `1 ln 1 = 0` however it is split, so such cells are left out.

use crate::data::Table;
use crate::ids::NodeIdx;
use std::sync::Arc;

/// Lanes that are added at once.
const LANES: usize = 16;
/// Rows that can be added before a lane could overflow.
const MOST_ADDED: usize = 255;
/// Last members up to which they are counted with the one before them, without splitting by it.
const FEW_LAST: usize = 2;
/// Prefixes between two questions whether to go on.
const PREFIXES_A_QUESTION: usize = 32;

/// Sets of variables as numbers: their places in a common order, ascending, each in so many bits, the
/// last in the lowest. Sets of one size sort as their lists of places do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    bits: u32,
}

impl Keys {
    /// For sets of so many variables.
    pub(super) fn new(variables: usize) -> Self {
        Self {
            bits: (usize::BITS - variables.saturating_sub(1).leading_zeros()).max(1),
        }
    }

    /// Returns how many members a key can hold.
    pub(super) fn most_members(self) -> usize {
        (u128::BITS / self.bits) as usize
    }

    /// Returns the key without the last member.
    pub(super) fn prefix(self, key: u128) -> u128 {
        key >> self.bits
    }

    pub(super) fn last(self, key: u128) -> usize {
        (key & ((1 << self.bits) - 1)) as usize
    }

    /// Returns the set with a further member that comes after all others.
    pub(super) fn push(self, key: u128, place: usize) -> u128 {
        key << self.bits | place as u128
    }

    /// Returns the set without the member that has so many after it.
    pub(super) fn without(self, key: u128, after: usize) -> u128 {
        let low = self.bits * narrow(after);
        let kept = key & ((1 << low) - 1);
        match key.checked_shr(low + self.bits) {
            Some(high) => high << low | kept,
            None => kept,
        }
    }

    /// Returns the set of so many members with one more.
    pub(super) fn with(self, key: u128, members: usize, place: usize) -> u128 {
        let mut after = 0;
        while after < members && self.last(key >> (self.bits * narrow(after))) > place {
            after += 1;
        }
        let low = self.bits * narrow(after);
        let kept = key & ((1 << low) - 1);
        self.push(key >> low, place) << low | kept
    }

    /// Lists the members of a set of that size.
    pub(super) fn members(self, key: u128, members: usize) -> impl Iterator<Item = usize> {
        (0..members)
            .rev()
            .map(move |after| self.last(key >> (self.bits * narrow(after))))
    }
}

/// Counts sets of a table's variables.
#[derive(Debug)]
pub(super) struct SetSums<'t> {
    keys: Keys,
    /// By place in the order.
    columns: Vec<&'t [u8]>,
    arities: Vec<usize>,
    terms: Arc<[i64]>,
    blocks: Vec<Vec<[u8; LANES]>>,
    /// Where a variable's lanes are: the block and the first lane. None if it has too many states.
    lanes: Vec<Option<(usize, usize)>>,
    all: Cells,
}

/// Rows by cell; cells of one row are left out.
#[derive(Clone, Debug, Default)]
struct Cells {
    rows: Vec<u32>,
    /// Where each cell ends.
    ends: Vec<u32>,
}

impl Cells {
    fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let cell = &self.rows[start..end as usize];
            start = end as usize;
            cell
        })
    }
}

impl<'t> SetSums<'t> {
    /// Prepares for sets over the variables in that order. `terms` is `N ln N` by count.
    pub(super) fn new(table: &'t Table, order: &[NodeIdx], terms: Arc<[i64]>) -> Self {
        let arities: Vec<usize> = order.iter().map(|&node| table.arity(node)).collect();
        let columns: Vec<&[u8]> = order.iter().map(|&node| table.column(node)).collect();
        let (mut blocks, mut used) = (Vec::<Vec<[u8; LANES]>>::new(), LANES);
        let mut lanes = Vec::new();
        for (column, &arity) in columns.iter().zip(&arities) {
            let needed = (arity - 1).max(1);
            if needed > LANES {
                lanes.push(None);
                continue;
            }
            if used + needed > LANES || blocks.is_empty() {
                blocks.push(vec![[0; LANES]; table.rows()]);
                used = 0;
            }
            let block = blocks.len() - 1;
            for (row, &state) in blocks[block].iter_mut().zip(*column) {
                if state > 0 {
                    row[used + usize::from(state) - 1] = 1;
                }
            }
            lanes.push(Some((block, used)));
            used += needed;
        }
        let rows = narrow(table.rows());
        Self {
            keys: Keys::new(order.len()),
            columns,
            arities,
            terms,
            blocks,
            lanes,
            all: match rows {
                0 | 1 => Cells::default(),
                _ => Cells {
                    rows: (0..rows).collect(),
                    ends: vec![rows],
                },
            },
        }
    }

    /// Returns how many states the variable at a place has.
    #[expect(clippy::cast_precision_loss, reason = "at most Variable::MAX_STATES")]
    pub(super) fn states(&self, place: usize) -> f64 {
        self.arities[place] as f64
    }

    /// Returns the sum over the cells of one set, given by the places of its members.
    pub(super) fn sum_of(&self, members: impl Iterator<Item = usize>) -> i64 {
        let (mut cells, mut split) = (self.all.clone(), Cells::default());
        for place in members {
            self.split(&cells, place, &mut split);
            std::mem::swap(&mut cells, &mut split);
        }
        cells.iter().map(|cell| self.terms[cell.len()]).sum()
    }

    /// Returns the sums of sets of one size, at least one member each, in order of their keys; none
    /// if `go_on` says no.
    pub(super) fn sums(
        &self,
        sets: &[u128],
        size: usize,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Vec<i64>> {
        let keys = self.keys;
        let mut sums = vec![0; sets.len()];
        let (mut path, mut stack) = (Vec::new(), vec![self.all.clone()]);
        let (mut last, mut pairs) = (Vec::new(), Vec::new());
        let (mut at, mut prefixes) = (0, 0_usize);
        while at < sets.len() {
            if prefixes.is_multiple_of(PREFIXES_A_QUESTION) && !go_on() {
                return None;
            }
            prefixes += 1;
            let prefix = keys.prefix(sets[at]);
            last.clear();
            let same = sets[at..]
                .iter()
                .take_while(|&&set| keys.prefix(set) == prefix);
            last.extend(same.map(|&set| keys.last(set)));
            let end = at + last.len();
            if size > 1 && last.len() <= FEW_LAST {
                let members = keys.members(keys.prefix(prefix), size - 2);
                self.split_to(members, &mut path, &mut stack);
                let before_last = keys.last(prefix);
                for (sum, &last) in sums[at..end].iter_mut().zip(&last) {
                    *sum = self.counted(&stack[size - 2], before_last, last, &mut pairs);
                }
            } else {
                let members = keys.members(prefix, size - 1);
                self.split_to(members, &mut path, &mut stack);
                self.add(&stack[size - 1], &last, &mut sums[at..end]);
            }
            at = end;
        }
        Some(sums)
    }

    /// Splits the rows by the members of a prefix, from what the last prefix had in common with it.
    fn split_to(
        &self,
        members: impl Iterator<Item = usize>,
        path: &mut Vec<usize>,
        stack: &mut Vec<Cells>,
    ) {
        for (depth, place) in members.enumerate() {
            if path.get(depth) == Some(&place) {
                continue;
            }
            path.truncate(depth);
            path.push(place);
            if stack.len() < depth + 2 {
                stack.push(Cells::default());
            }
            let (below, above) = stack.split_at_mut(depth + 1);
            self.split(&below[depth], place, &mut above[0]);
        }
    }

    fn split(&self, cells: &Cells, by: usize, into: &mut Cells) {
        let (column, arity) = (self.columns[by], self.arities[by]);
        into.ends.clear();
        // Every row has a place at first; what is left out is overwritten by what comes after it.
        into.rows.resize(cells.rows.len(), 0);
        let mut counts = [0_usize; 256];
        let mut next = 0;
        for cell in cells.iter() {
            let counts = &mut counts[..arity];
            counts.fill(0);
            for &row in cell {
                counts[usize::from(column[row as usize])] += 1;
            }
            // Where the next row of each state goes; single rows all go to the end, and are lost.
            let mut end = next;
            for count in counts.iter_mut() {
                let rows = *count;
                if rows > 1 {
                    *count = end;
                    end += rows;
                    into.ends.push(narrow(end));
                } else {
                    *count = usize::MAX;
                }
            }
            for &row in cell {
                let place = &mut counts[usize::from(column[row as usize])];
                if *place != usize::MAX {
                    into.rows[*place] = row;
                    *place += 1;
                }
            }
            next = end;
        }
        into.rows.truncate(next);
    }

    /// Adds the terms of the cells, split by each of the variables.
    fn add(&self, cells: &Cells, by: &[usize], sums: &mut [i64]) {
        let mut split = Cells::default();
        let mut at = 0;
        while at < by.len() {
            let block = self.lanes[by[at]].map(|(block, _)| block);
            let in_block = |place: &&usize| self.lanes[**place].map(|(block, _)| block) == block;
            let end = at + by[at..].iter().take_while(in_block).count();
            let (by, sums) = (&by[at..end], &mut sums[at..end]);
            match block {
                Some(block) => self.add_lanes(cells, block, by, sums),
                None => {
                    for (sum, &by) in sums.iter_mut().zip(by) {
                        self.split(cells, by, &mut split);
                        *sum += split.iter().map(|cell| self.terms[cell.len()]).sum::<i64>();
                    }
                }
            }
            at = end;
        }
    }

    /// See [`Self::add`], for variables whose lanes are in one block.
    fn add_lanes(&self, cells: &Cells, block: usize, by: &[usize], sums: &mut [i64]) {
        let lanes = &self.blocks[block][..];
        let terms = &self.terms[..];
        let mut spans = [(0_usize, 0_usize); LANES];
        for (span, &place) in spans.iter_mut().zip(by) {
            let first = self.lanes[place].map_or(0, |(_, first)| first);
            *span = (first, first + self.arities[place] - 1);
        }
        let spans = &spans[..by.len()];
        for cell in cells.iter() {
            let mut counts = [0_u32; LANES];
            for some in cell.chunks(MOST_ADDED) {
                let mut added = [0_u8; LANES];
                for &row in some {
                    let row = &lanes[row as usize];
                    for (sum, lane) in added.iter_mut().zip(row) {
                        *sum += lane;
                    }
                }
                for (count, added) in counts.iter_mut().zip(added) {
                    *count += u32::from(added);
                }
            }
            for (sum, &(first, end)) in sums.iter_mut().zip(spans) {
                let mut rest = narrow(cell.len());
                let mut total = 0;
                for &count in &counts[first..end] {
                    rest -= count;
                    total += terms[count as usize];
                }
                *sum += total + terms[rest as usize];
            }
        }
    }

    /// Returns the sum over the cells, split by two variables at once. `counts` is only room.
    fn counted(&self, cells: &Cells, one: usize, other: usize, counts: &mut Vec<u32>) -> i64 {
        let (column, others) = (self.columns[one], self.columns[other]);
        let width = self.arities[other];
        counts.clear();
        counts.resize(self.arities[one] * width, 0);
        let mut sum = 0;
        for cell in cells.iter() {
            for &row in cell {
                let row = row as usize;
                counts[usize::from(column[row]) * width + usize::from(others[row])] += 1;
            }
            for count in counts.iter_mut() {
                sum += self.terms[*count as usize];
                *count = 0;
            }
        }
        sum
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "at most Table::MAX_ROWS, or members of a set"
)]
fn narrow(number: usize) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Seed;
    use crate::random::Random;
    use crate::search::test_tables::numbered_table;
    use std::collections::BTreeMap;

    /// A table whose variables have so many states.
    fn table(arities: &[usize], rows: usize, seed: u64) -> Arc<Table> {
        let mut random = Random::new(Seed(seed));
        let column = |&arity: &usize| {
            let state = |_| u8::try_from(random.below(arity).min(random.below(arity))).unwrap();
            (0..rows).map(state).collect()
        };
        numbered_table(arities, arities.iter().map(column).collect())
    }

    #[test]
    fn keys_are_sets() {
        let keys = Keys::new(37);
        let list = |key, members| keys.members(key, members).collect::<Vec<_>>();
        let set = [3, 36, 7, 0, 20].into_iter().enumerate();
        let key = set.fold(0, |key, (members, place)| keys.with(key, members, place));
        assert_eq!(list(key, 5), [0, 3, 7, 20, 36]);
        assert_eq!(list(keys.without(key, 0), 4), [0, 3, 7, 20]);
        assert_eq!(list(keys.without(key, 4), 4), [3, 7, 20, 36]);
        assert_eq!(list(keys.without(key, 2), 4), [0, 3, 20, 36]);
        assert_eq!(keys.push(keys.prefix(key), keys.last(key)), key);
        assert_eq!(keys.most_members(), 128 / 6);
        // Full keys: two variables of one bit each.
        let keys = Keys::new(2);
        assert_eq!(keys.without(0b01, 1), 0b1);
        assert_eq!(keys.with(0b1, 1, 0), 0b01);
    }

    #[test]
    fn sums_are_those_of_the_definition() {
        // Many states, one state, cells beyond 255 rows, single rows, blocks of lanes that are full.
        for (arities, rows) in [
            (&[2, 2, 3, 1, 17, 18, 40, 5, 2, 3][..], 700),
            (&[2; 20][..], 5000),
            (&[4, 3, 2, 4, 9, 10], 1),
            (&[4, 3, 2, 4, 9, 10], 37),
        ] {
            let table = table(arities, rows, 1);
            let terms: Arc<[i64]> = (0..=rows as i64)
                .map(|n| if n < 2 { 0 } else { n * n + 7 * n })
                .collect();
            let order: Vec<NodeIdx> = NodeIdx::all(arities.len()).collect();
            let counter = SetSums::new(&table, &order, Arc::clone(&terms));
            let keys = Keys::new(arities.len());
            let mut random = Random::new(Seed(2));
            for size in 1..=5 {
                let mut sets: Vec<u128> = (0..200)
                    .map(|_| {
                        let mut places: Vec<usize> = (0..arities.len()).collect();
                        random.shuffle(&mut places);
                        let places = places[..size].iter().enumerate();
                        places.fold(0, |key, (members, &place)| keys.with(key, members, place))
                    })
                    .collect();
                sets.sort_unstable();
                sets.dedup();
                let sums = counter.sums(&sets, size, &|| true).unwrap();
                for (&set, &sum) in sets.iter().zip(&sums) {
                    let mut cells: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
                    for row in 0..rows {
                        let states = keys.members(set, size);
                        let states = states.map(|place| table.column(order[place])[row]);
                        *cells.entry(states.collect()).or_default() += 1;
                    }
                    let expected: i64 = cells.values().map(|&count| terms[count]).sum();
                    assert_eq!(sum, expected, "{arities:?}, {size} members, {set:b}");
                    assert_eq!(counter.sum_of(keys.members(set, size)), expected);
                }
            }
            let pair = keys.with(keys.with(0, 0, 0), 1, 1);
            assert_eq!(counter.sums(&[pair], 2, &|| false), None);
        }
    }
}
