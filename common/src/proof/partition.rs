//! The rows of a table split by a set of parents, for scoring one child with many further parents.
//!
//! Rows are ordered by the child's state, each state's rows padded to whole words, so that a word of
//! row bits belongs to one state. A cell (one configuration of the parents) holds its words that are
//! not empty, state by state. Where only the likelihood matters, cells in which the child has one
//! state are left out: they add nothing to it, however they are split further.

use crate::data::Table;
use crate::ids::NodeIdx;

/// The table as one child sees it: rows by its state, candidates' states as bits and as bytes.
#[derive(Debug)]
pub(super) struct ChildRows {
    /// How many states the child has.
    states: usize,
    words: usize,
    /// The rows of each candidate state as bits, `words` each; empty for nodes that are no candidates.
    bits: Vec<Vec<u64>>,
    /// The candidate's state at each place.
    codes: Vec<Vec<u8>>,
    arities: Vec<usize>,
    /// The whole table as one cell.
    all: Partition,
}

/// Rows split into cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Partition {
    /// For each cell, where the words of each state of the child start; one more at the end.
    starts: Vec<u32>,
    /// For each cell, how many rows each state of the child has.
    counts: Vec<u32>,
    /// Where a word stands among the child's rows, and which of its rows are in the cell.
    places: Vec<u32>,
    bits: Vec<u64>,
}

/// Which cells of a split are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cells {
    /// Those in which the child has several states.
    Impure,
    /// All that have rows.
    Occupied,
}

/// Counts of one cell, split by a candidate: `[candidate state * child states + child state]`.
pub(super) struct CellCounts<'a> {
    /// How many rows of the cell have each state of the child.
    pub(super) before: &'a [u32],
    /// The same for each state of the candidate.
    pub(super) split: &'a [u32],
}

impl ChildRows {
    pub(super) fn new(table: &Table, child: NodeIdx, candidates: &[NodeIdx]) -> Self {
        let states = table.arity(child);
        let column = table.column(child);
        let mut place_of_row = vec![0_u32; table.rows()];
        let (mut starts, mut counts) = (Vec::new(), Vec::new());
        let mut next = 0_usize;
        for state in 0..states {
            starts.push(narrow(next / 64));
            let first = next;
            for (place, _) in place_of_row
                .iter_mut()
                .zip(column)
                .filter(|(_, cell)| usize::from(**cell) == state)
            {
                *place = narrow(next);
                next += 1;
            }
            counts.push(narrow(next - first));
            next = next.next_multiple_of(64);
        }
        starts.push(narrow(next / 64));
        let words = next / 64;
        let mut all_bits = vec![0_u64; words];
        for &place in &place_of_row {
            all_bits[place as usize / 64] |= 1 << (place % 64);
        }
        let (mut bits, mut codes) = (
            vec![Vec::new(); table.nodes()],
            vec![Vec::new(); table.nodes()],
        );
        for &candidate in candidates {
            let mut rows = vec![0_u64; words * table.arity(candidate)];
            let mut code = vec![0_u8; words * 64];
            for (&state, &place) in table.column(candidate).iter().zip(&place_of_row) {
                let place = place as usize;
                rows[usize::from(state) * words + place / 64] |= 1 << (place % 64);
                code[place] = state;
            }
            bits[candidate.index()] = rows;
            codes[candidate.index()] = code;
        }
        Self {
            states,
            words,
            bits,
            codes,
            arities: NodeIdx::all(table.nodes())
                .map(|node| table.arity(node))
                .collect(),
            all: Partition {
                starts,
                counts,
                places: (0..narrow(words)).collect(),
                bits: all_bits,
            },
        }
    }

    /// Returns the table as one cell.
    pub(super) fn all(&self) -> &Partition {
        &self.all
    }

    /// Splits cells by a candidate's states.
    pub(super) fn refine(&self, cells: &Partition, by: NodeIdx, keep: Cells, into: &mut Partition) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("popcnt") {
            #[expect(
                unsafe_code,
                reason = "the population count instruction: see split_counts"
            )]
            // SAFETY: the instruction was found on this processor.
            return unsafe { self.refine_popcnt(cells, by, keep, into) };
        }
        self.refine_portable(cells, by, keep, into);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt")]
    fn refine_popcnt(&self, cells: &Partition, by: NodeIdx, keep: Cells, into: &mut Partition) {
        self.refine_portable(cells, by, keep, into);
    }

    #[inline(always)]
    fn refine_portable(&self, cells: &Partition, by: NodeIdx, keep: Cells, into: &mut Partition) {
        into.clear();
        let bits = &self.bits[by.index()];
        for cell in 0..cells.counts.len() / self.states {
            for state in 0..self.arities[by.index()] {
                let rows = &bits[state * self.words..][..self.words];
                let (first_word, first_state) = (into.places.len(), into.starts.len());
                let mut occupied = 0;
                for child_state in 0..self.states {
                    into.starts.push(narrow(into.places.len()));
                    let words = cells.words(cell * self.states + child_state);
                    let (from, masks) = (&cells.places[words.clone()], &cells.bits[words]);
                    // Every word is written, and kept if it is not empty: no branch to mispredict.
                    let start = into.places.len();
                    into.places.resize(start + from.len(), 0);
                    into.bits.resize(start + from.len(), 0);
                    let (places, kept) = (&mut into.places[start..], &mut into.bits[start..]);
                    let (mut count, mut used) = (0, 0);
                    for (&place, &mask) in from.iter().zip(masks) {
                        let common = mask & rows[place as usize];
                        places[used] = place;
                        kept[used] = common;
                        used += usize::from(common != 0);
                        count += common.count_ones();
                    }
                    into.places.truncate(start + used);
                    into.bits.truncate(start + used);
                    into.counts.push(count);
                    occupied += usize::from(count > 0);
                }
                let least = match keep {
                    Cells::Impure => 2,
                    Cells::Occupied => 1,
                };
                if occupied < least {
                    into.starts.truncate(first_state);
                    into.counts.truncate(first_state);
                    into.places.truncate(first_word);
                    into.bits.truncate(first_word);
                }
            }
        }
        into.starts.push(narrow(into.places.len()));
    }

    /// Hands the counts of every cell, split by a candidate, to `visit`. `scratch` is only room.
    pub(super) fn split_counts(
        &self,
        cells: &Partition,
        by: NodeIdx,
        scratch: &mut Vec<u32>,
        visit: impl FnMut(CellCounts<'_>),
    ) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("popcnt") {
            #[expect(
                unsafe_code,
                reason = "the population count instruction, as in data/counts.rs; 1.2 times the parent sets \
                          per second on alarm with 1000 rows (rlbayes prove, with and without)"
            )]
            // SAFETY: the instruction was found on this processor.
            return unsafe { self.split_counts_popcnt(cells, by, scratch, visit) };
        }
        self.split_counts_portable(cells, by, scratch, visit);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt")]
    fn split_counts_popcnt(
        &self,
        cells: &Partition,
        by: NodeIdx,
        scratch: &mut Vec<u32>,
        visit: impl FnMut(CellCounts<'_>),
    ) {
        self.split_counts_portable(cells, by, scratch, visit);
    }

    #[inline(always)]
    fn split_counts_portable(
        &self,
        cells: &Partition,
        by: NodeIdx,
        scratch: &mut Vec<u32>,
        mut visit: impl FnMut(CellCounts<'_>),
    ) {
        let arity = self.arities[by.index()];
        let bits = &self.bits[by.index()][..];
        scratch.clear();
        scratch.resize(arity * self.states, 0);
        // A word is read once for each state but the first; a row is read once.
        let rows: u32 = cells.counts.iter().sum();
        let by_rows = cells.places.len() * (arity - 1) > 2 * rows as usize;
        for (cell, before) in cells.counts.chunks_exact(self.states).enumerate() {
            if by_rows {
                scratch.fill(0);
            }
            for (child_state, &count) in before.iter().enumerate() {
                let words = cells.words(cell * self.states + child_state);
                let (places, masks) = (&cells.places[words.clone()], &cells.bits[words]);
                if by_rows {
                    let codes = &self.codes[by.index()];
                    for (&place, &mask) in places.iter().zip(masks) {
                        let mut rest = mask;
                        while rest != 0 {
                            let row = place as usize * 64 + rest.trailing_zeros() as usize;
                            scratch[usize::from(codes[row]) * self.states + child_state] += 1;
                            rest &= rest - 1;
                        }
                    }
                    continue;
                }
                let mut rest = count;
                for state in 1..arity {
                    let rows = &bits[state * self.words..][..self.words];
                    let common: u32 = places
                        .iter()
                        .zip(masks)
                        .map(|(&place, &mask)| (mask & rows[place as usize]).count_ones())
                        .sum();
                    scratch[state * self.states + child_state] = common;
                    rest -= common;
                }
                scratch[child_state] = rest;
            }
            visit(CellCounts {
                before,
                split: scratch,
            });
        }
    }
}

impl Partition {
    /// Hands the counts of every cell to `visit`.
    pub(super) fn counts(&self, child_states: usize) -> impl Iterator<Item = &[u32]> {
        self.counts.chunks_exact(child_states)
    }

    fn words(&self, group: usize) -> std::ops::Range<usize> {
        self.starts[group] as usize..self.starts[group + 1] as usize
    }

    fn clear(&mut self) {
        self.starts.clear();
        self.counts.clear();
        self.places.clear();
        self.bits.clear();
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "at most Table::MAX_ROWS, padded"
)]
fn narrow(number: usize) -> u32 {
    number as u32
}
