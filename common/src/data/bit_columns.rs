//! One bit per row for every state of every variable, so that a count is an AND and a population
//! count: 64 rows per step.

use super::table::Table;
use crate::ids::NodeIdx;

/// The table's cells as bits.
#[derive(Debug)]
pub(crate) struct BitColumns {
    words: usize,
    /// Where a node's states start, in columns of `words` words; and the end.
    first_state: Vec<usize>,
    bits: Vec<u64>,
    /// How many rows there are in each state, like `first_state`.
    rows: Vec<u32>,
}

impl BitColumns {
    pub(crate) fn new(table: &Table) -> Self {
        let words = table.rows().div_ceil(64);
        let mut first_state = Vec::with_capacity(table.nodes() + 1);
        let mut states = 0;
        for node in NodeIdx::all(table.nodes()) {
            first_state.push(states);
            states += table.arity(node);
        }
        first_state.push(states);
        let mut bits = vec![0u64; states * words];
        let mut rows = vec![0u32; states];
        for node in NodeIdx::all(table.nodes()) {
            let start = first_state[node.index()];
            for (row, &state) in table.column(node).iter().enumerate() {
                rows[start + usize::from(state)] += 1;
                bits[(start + usize::from(state)) * words + row / 64] |= 1 << (row % 64);
            }
        }
        Self {
            words,
            first_state,
            bits,
            rows,
        }
    }

    /// Returns how many words hold one bit for each row.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Returns the rows in which `node` is in `state`.
    #[inline]
    pub(crate) fn state(&self, node: NodeIdx, state: usize) -> &[u64] {
        let start = (self.first_state[node.index()] + state) * self.words;
        &self.bits[start..start + self.words]
    }

    /// Returns how many rows there are with `node` in each of its states.
    #[inline]
    pub(crate) fn rows_by_state(&self, node: NodeIdx) -> &[u32] {
        &self.rows[self.first_state[node.index()]..self.first_state[node.index() + 1]]
    }

    /// Returns how many bytes the bits take.
    pub(crate) fn bytes(&self) -> usize {
        self.bits.len() * size_of::<u64>()
    }

    /// Returns how much memory the bits of a table take.
    pub(crate) fn bytes_for(table: &Table) -> usize {
        let states: usize = NodeIdx::all(table.nodes())
            .map(|node| table.arity(node))
            .sum();
        states * (table.rows().div_ceil(64) * size_of::<u64>() + size_of::<u32>())
    }
}
