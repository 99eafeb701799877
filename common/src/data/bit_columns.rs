//! One bit per row for every state of every variable, so that a count is an AND and a population
//! count: 64 rows per step.

use super::table::Table;
use crate::ids::NodeIdx;

/// The table's cells as bits.
#[derive(Debug)]
pub(crate) struct BitColumns {
    words: usize,
    /// Where a node's states start, in columns of `words` words.
    first_state: Vec<usize>,
    bits: Vec<u64>,
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
        let mut bits = vec![0u64; states * words];
        for node in NodeIdx::all(table.nodes()) {
            let start = first_state[node.index()];
            for (row, &state) in table.column(node).iter().enumerate() {
                bits[(start + usize::from(state)) * words + row / 64] |= 1 << (row % 64);
            }
        }
        Self {
            words,
            first_state,
            bits,
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

    /// Returns how much memory the bits of a table take.
    pub(crate) fn bytes_for(table: &Table) -> usize {
        let states: usize = NodeIdx::all(table.nodes())
            .map(|node| table.arity(node))
            .sum();
        states * table.rows().div_ceil(64) * 8
    }
}
