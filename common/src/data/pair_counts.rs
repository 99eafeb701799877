//! Counts of two variables together, for all pairs of a table: what says which variables may belong
//! together. There are n^2 of them, so each pair is counted once for both directions, one state of
//! each variable is not counted but is what the others leave over, and pairs are visited tile by
//! tile, whose columns stay in a processor's first cache.

use super::bit_columns::BitColumns;
use super::counts::{CountIndex, common_bits};
use super::processor::Processor;
use crate::ids::NodeIdx;

/// Bytes of bit columns that a tile holds.
const TILE_BYTES: usize = 24 << 10;

/// The counts of a pair of variables.
#[derive(Clone, Copy, Debug)]
pub struct PairCounts<'a> {
    /// The variable whose states are the lines.
    pub line: NodeIdx,
    /// The variable whose states are the columns.
    pub column: NodeIdx,
    /// Rows by state of `line` and state of `column`, line by line; none where it would take longer to
    /// count them by bits than row by row.
    pub cells: Option<&'a [u32]>,
}

impl CountIndex {
    /// Counts each of the lines, which are in order, with each of the columns, where that is wanted. A
    /// pair of two lines is counted once, and no variable with itself.
    pub fn pairs(
        &self,
        lines: &[NodeIdx],
        columns: &[NodeIdx],
        mut is_wanted: impl FnMut(NodeIdx, NodeIdx) -> bool,
        mut found: impl FnMut(PairCounts<'_>),
    ) {
        let bytes = self.bits().bytes() / self.table().nodes().max(1);
        let tile = (TILE_BYTES / bytes.max(1)).max(1);
        let mut cells = Vec::new();
        for columns in columns.chunks(tile) {
            for &line in lines {
                for &column in columns {
                    if column <= line && lines.binary_search(&column).is_ok() {
                        continue;
                    }
                    if !is_wanted(line, column) {
                        continue;
                    }
                    let is_counted = self.count_pair(line, column, &mut cells);
                    let cells = is_counted.then_some(&cells[..]);
                    found(PairCounts {
                        line,
                        column,
                        cells,
                    });
                }
            }
        }
    }

    /// Returns how many rows there are with a variable in each of its states.
    #[inline]
    pub fn rows_by_state(&self, node: NodeIdx) -> &[u32] {
        self.bits().rows_by_state(node)
    }

    /// Counts a pair by bits, with the best instructions that there are, if that is the fast way.
    fn count_pair(&self, line: NodeIdx, column: NodeIdx, cells: &mut Vec<u32>) -> bool {
        let counted = |node: NodeIdx| self.table().arity(node).saturating_sub(1);
        let bits = self.bits();
        if counted(line) * counted(column) * (bits.words() + 4) >= 3 * self.table().rows() {
            return false;
        }
        match self.processor() {
            #[cfg(target_arch = "x86_64")]
            #[expect(
                unsafe_code,
                reason = "as for single candidates: see counts.rs and docs/research-notes.md"
            )]
            // SAFETY: the processor was found to have these instructions.
            Processor::Avx512 => unsafe { by_bits_avx512(bits, line, column, cells) },
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "as above")]
            // SAFETY: the processor was found to have these instructions.
            Processor::Avx2 => unsafe { by_bits_avx2(bits, line, column, cells) },
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "as above")]
            // SAFETY: the processor was found to have this instruction.
            Processor::Popcnt => unsafe { by_bits_popcnt(bits, line, column, cells) },
            Processor::Portable => by_bits(bits, line, column, cells),
        }
        true
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt")]
fn by_bits_avx512(bits: &BitColumns, line: NodeIdx, column: NodeIdx, cells: &mut Vec<u32>) {
    by_bits(bits, line, column, cells);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn by_bits_avx2(bits: &BitColumns, line: NodeIdx, column: NodeIdx, cells: &mut Vec<u32>) {
    by_bits(bits, line, column, cells);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn by_bits_popcnt(bits: &BitColumns, line: NodeIdx, column: NodeIdx, cells: &mut Vec<u32>) {
    by_bits(bits, line, column, cells);
}

/// Counts the states but the first of both variables; the first have what is left over.
#[inline(always)]
fn by_bits(bits: &BitColumns, line: NodeIdx, column: NodeIdx, cells: &mut Vec<u32>) {
    let (of_lines, of_columns) = (bits.rows_by_state(line), bits.rows_by_state(column));
    cells.clear();
    cells.extend_from_slice(of_columns);
    for (state, &rows) in of_lines.iter().enumerate().skip(1) {
        let begin = cells.len();
        cells.push(rows);
        let in_state = bits.state(line, state);
        for other in 1..of_columns.len() {
            let both = common_bits(in_state, bits.state(column, other));
            cells.push(both);
            cells[begin] -= both;
            cells[other] -= both;
        }
        cells[0] -= cells[begin];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Table;
    use crate::search::test_tables::numbered_table;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn by_definition(table: &Table, line: NodeIdx, column: NodeIdx) -> Vec<u32> {
        let mut cells = vec![0; table.arity(line) * table.arity(column)];
        for (&a, &b) in table.column(line).iter().zip(table.column(column)) {
            cells[usize::from(a) * table.arity(column) + usize::from(b)] += 1;
        }
        cells
    }

    proptest! {
        #[test]
        fn every_processor_counts_each_pair_once_as_row_by_row(
            columns in prop::collection::vec(prop::collection::vec(0u8..4, 300), 6),
            first in 0usize..5,
        ) {
            let table = Arc::new((*numbered_table(&[4; 6], columns)).clone());
            let all: Vec<NodeIdx> = NodeIdx::all(6).collect();
            let lines = &all[first..(first + 3).min(6)];
            for processor in Processor::possible() {
                let index = CountIndex::for_processor(Arc::clone(&table), processor);
                let mut seen = BTreeMap::new();
                index.pairs(lines, &all, |_, _| true, |pair| {
                    let key = (pair.line.min(pair.column), pair.line.max(pair.column));
                    assert_eq!(seen.insert(key, ()), None, "a pair was counted twice");
                    let expected = by_definition(&table, pair.line, pair.column);
                    assert_eq!(pair.cells, Some(&expected[..]));
                });
                let rest = all.len() - lines.len();
                let among_lines = lines.len() * (lines.len() - 1) / 2;
                prop_assert_eq!(seen.len(), lines.len() * rest + among_lines);
            }
        }
    }

    #[test]
    fn wide_variables_are_left_to_other_ways_of_counting() {
        let column: Vec<u8> = (0..=199).cycle().take(1000).collect();
        let table = numbered_table(&[200, 200], vec![column.clone(), column]);
        let index = CountIndex::new(table);
        let nodes: Vec<NodeIdx> = NodeIdx::all(2).collect();
        let mut pairs = 0;
        index.pairs(
            &nodes,
            &nodes,
            |_, _| true,
            |pair| {
                assert!(pair.cells.is_none());
                pairs += 1;
            },
        );
        assert_eq!(pairs, 1);
        index.pairs(&nodes, &nodes, |_, _| false, |_| unreachable!("not wanted"));
    }
}
