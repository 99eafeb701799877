//! One byte per row for every state but the first of every variable, row by row: adding up the bytes
//! of a group's rows counts many candidates at once, one in each lane of a vector register.
//!
//! Variables with equally many states stand together in blocks of up to 64 lanes, so that a row of a
//! block is at most one line of a processor's cache.

use super::grouping::Grouping;
use super::processor::Processor;
use super::table::Table;
use crate::ids::NodeIdx;
use std::ops::Range;

/// The table's cells as bytes to be added up.
#[derive(Debug)]
pub(super) struct Lanes {
    blocks: Vec<Block>,
    bytes: Vec<u8>,
    processor: Processor,
}

/// Variables with equally many states, and where their bytes are.
#[derive(Debug)]
pub(super) struct Block {
    arity: usize,
    width: usize,
    bytes: Range<usize>,
    nodes: Vec<NodeIdx>,
}

/// Lanes of a block at most.
pub(super) const MOST_LANES: usize = 64;
/// Blocks are whole vector registers of the smallest kind.
const LANES_STEP: usize = 16;
/// Variables with more states have no lanes: they would be too many for one block.
const MOST_STATES: usize = 17;
/// Tables that need more bytes have no lanes, and neither have taller ones: a block would be read from
/// memory rather than from a cache, which takes longer than counting bits.
const MOST_BYTES: usize = 256 << 20;
const MOST_ROWS: usize = 1 << 17;
/// Rows that a byte can count.
const BYTE_ROWS: usize = 255;

impl Lanes {
    /// Lays a table out, if it may have lanes.
    pub(super) fn new(table: &Table, processor: Processor) -> Self {
        let blocks = match Self::bytes_for(table) {
            0 => Vec::new(),
            _ => blocks(table),
        };
        let mut bytes = vec![0; blocks.last().map_or(0, |block| block.bytes.end)];
        for block in &blocks {
            let of_block = &mut bytes[block.bytes.clone()];
            for (slot, &node) in block.nodes.iter().enumerate() {
                let first = slot * (block.arity - 1);
                let rows = of_block.chunks_exact_mut(block.width);
                for (row, &state) in rows.zip(table.column(node)) {
                    if state > 0 {
                        row[first + usize::from(state) - 1] = 1;
                    }
                }
            }
        }
        Self {
            blocks,
            bytes,
            processor,
        }
    }

    /// Returns how much memory the lanes of a table take.
    pub(super) fn bytes_for(table: &Table) -> usize {
        let bytes = blocks(table).last().map_or(0, |block| block.bytes.end);
        let has_lanes = bytes <= MOST_BYTES && table.rows() <= MOST_ROWS;
        if has_lanes { bytes } else { 0 }
    }

    /// Returns the blocks, by the number of states of their variables.
    pub(super) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Adds up the lanes of a block over the rows of each of some groups: `counts` gets one line of
    /// the block's width for each group.
    pub(super) fn count(
        &self,
        block: &Block,
        grouping: &Grouping,
        groups: Range<usize>,
        counts: &mut Vec<u32>,
    ) {
        counts.clear();
        counts.resize(groups.len() * block.width, 0);
        let work = Work {
            bytes: &self.bytes[block.bytes.clone()],
            width: block.width,
            grouping,
            groups,
        };
        match self.processor {
            #[cfg(target_arch = "x86_64")]
            #[expect(
                unsafe_code,
                reason = "wider registers: see Processor; a block is counted 1.3 to 2 times as fast \
                          (docs/research-notes.md)"
            )]
            // SAFETY: the processor was found to have these instructions.
            Processor::Avx512 => unsafe { add_avx512(work, counts) },
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "as above")]
            // SAFETY: the processor was found to have these instructions.
            Processor::Avx2 => unsafe { add_avx2(work, counts) },
            _ => add(work, counts),
        }
    }
}

impl Block {
    /// Returns the states of each of its variables.
    pub(super) fn arity(&self) -> usize {
        self.arity
    }

    /// Returns its lanes: those of the variables, and some that are unused.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Returns its variables; each has a lane for every state but the first.
    pub(super) fn nodes(&self) -> &[NodeIdx] {
        &self.nodes
    }
}

/// Returns the blocks of a table.
fn blocks(table: &Table) -> Vec<Block> {
    let mut nodes: Vec<NodeIdx> = NodeIdx::all(table.nodes())
        .filter(|&node| (2..=MOST_STATES).contains(&table.arity(node)))
        .collect();
    nodes.sort_by_key(|&node| (table.arity(node), node));
    let mut blocks = Vec::new();
    let mut begin = 0;
    for alike in nodes.chunk_by(|&a, &b| table.arity(a) == table.arity(b)) {
        let arity = table.arity(alike[0]);
        for nodes in alike.chunks(MOST_LANES / (arity - 1)) {
            let width = (nodes.len() * (arity - 1)).next_multiple_of(LANES_STEP);
            let end = begin + width * table.rows();
            blocks.push(Block {
                arity,
                width,
                bytes: begin..end,
                nodes: nodes.to_vec(),
            });
            begin = end;
        }
    }
    blocks
}

/// What is to be added up.
struct Work<'a> {
    bytes: &'a [u8],
    width: usize,
    grouping: &'a Grouping,
    groups: Range<usize>,
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn add_avx512(work: Work<'_>, counts: &mut [u32]) {
    add(work, counts);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_avx2(work: Work<'_>, counts: &mut [u32]) {
    add(work, counts);
}

#[inline(always)]
fn add(work: Work<'_>, counts: &mut [u32]) {
    match work.width {
        16 => add_lanes::<16>(work, counts),
        32 => add_lanes::<32>(work, counts),
        48 => add_lanes::<48>(work, counts),
        _ => add_lanes::<64>(work, counts),
    }
}

#[inline(always)]
fn add_lanes<const WIDTH: usize>(work: Work<'_>, counts: &mut [u32]) {
    let (lines, _) = work.bytes.as_chunks::<WIDTH>();
    let (counts, _) = counts.as_chunks_mut::<WIDTH>();
    for chunk in work.grouping.chunks() {
        for (group, counts) in work.groups.clone().zip(&mut *counts) {
            for rows in chunk.rows_of(group..group + 1).chunks(BYTE_ROWS) {
                let mut sum = [0u8; WIDTH];
                for &row in rows {
                    let line = &lines[row as usize];
                    for (sum, &byte) in sum.iter_mut().zip(line) {
                        *sum = sum.wrapping_add(byte);
                    }
                }
                for (count, &sum) in counts.iter_mut().zip(&sum) {
                    *count += u32::from(sum);
                }
            }
        }
    }
}
