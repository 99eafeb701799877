//! Cuts a stream of delimited text into blocks of whole rows, so that several threads can split
//! them.

use crate::data::SourceError;
use memchr::{memchr, memchr_iter, memrchr};
use std::io::{self, Read};

/// Size of a block: large against what starting one costs, small against a processor's cache.
const BLOCK_BYTES: usize = 1 << 20;

/// Longest row that is waited for: that of the largest table. What has no row end within it is
/// handed out as it is, and whoever splits it says what is wrong.
const MAX_ROW_BYTES: usize = 64 << 20;

/// Rows of a text.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) text: Vec<u8>,
    /// The line of the file on which it begins, counted from 1.
    pub(crate) line: u64,
}

/// Reads blocks from a stream.
pub(crate) struct Blocks<R> {
    input: R,
    /// What was read behind the last row end.
    rest: Vec<u8>,
    line: u64,
    delimiter: u8,
    block_bytes: usize,
}

impl<R: Read> Blocks<R> {
    /// Continues a stream of which some text was read already, beginning on a line.
    pub(crate) fn new(input: R, read: Vec<u8>, line: u64, delimiter: u8) -> Self {
        Self {
            input,
            rest: read,
            line,
            delimiter,
            block_bytes: BLOCK_BYTES,
        }
    }

    /// Reads the next block; `None` at the end.
    pub(crate) fn read(&mut self) -> Result<Option<Block>, SourceError> {
        let mut text = std::mem::take(&mut self.rest);
        let mut wanted = self.block_bytes.max(text.len() + 1);
        loop {
            let ended = !fill(&mut self.input, &mut text, wanted)?;
            let end = if ended || text.len() > MAX_ROW_BYTES {
                Some(text.len())
            } else {
                last_row_end(&text, self.delimiter)
            };
            if let Some(end) = end {
                self.rest = text.split_off(end);
                let line = self.line;
                self.line += lines_in(&text);
                return Ok((!text.is_empty()).then_some(Block { text, line }));
            }
            wanted = 2 * text.len();
        }
    }
}

/// Reads until there are so many bytes; `false` if the stream ends before.
pub(crate) fn fill(
    input: &mut impl Read,
    text: &mut Vec<u8>,
    wanted: usize,
) -> Result<bool, SourceError> {
    while text.len() < wanted {
        let missing = (wanted - text.len()) as u64;
        match input.by_ref().take(missing).read_to_end(text) {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

/// Counts line ends: LF, CRLF, or CR where there is no LF.
fn lines_in(text: &[u8]) -> u64 {
    let count = |byte| memchr_iter(byte, text).count() as u64;
    match count(b'\n') {
        0 => count(b'\r'),
        lines => lines,
    }
}

/// Returns where the last whole row ends in a text that begins with a row and may end anywhere.
fn last_row_end(text: &[u8], delimiter: u8) -> Option<usize> {
    let mut last = None;
    // Where the part without quotes begins that is looked at.
    let mut start = 0;
    let mut from = 0;
    while let Some(quote) = memchr(b'"', &text[from..]).map(|at| from + at) {
        if !begins_cell(text, quote, delimiter) {
            from = quote + 1;
            continue;
        }
        last = row_end_in(text, start, quote).or(last);
        let Some(closed) = behind_closing_quote(text, quote) else {
            return last;
        };
        start = closed;
        from = closed;
    }
    row_end_in(text, start, text.len()).or(last)
}

/// Returns whether only blanks stand between a quote and the beginning of its cell.
fn begins_cell(text: &[u8], quote: usize, delimiter: u8) -> bool {
    for &byte in text[..quote].iter().rev() {
        if byte == delimiter || matches!(byte, b'\n' | b'\r') {
            return true;
        }
        if !byte.is_ascii_whitespace() {
            return false;
        }
    }
    true
}

/// Returns where a quoted cell is over; `None` if the text ends before that is certain.
fn behind_closing_quote(text: &[u8], opening: usize) -> Option<usize> {
    let mut from = opening + 1;
    loop {
        let quote = from + memchr(b'"', &text[from..])?;
        match text.get(quote + 1) {
            None => return None,
            Some(b'"') => from = quote + 2,
            Some(_) => return Some(quote + 1),
        }
    }
}

/// Returns where the last row ends within a part of a text that is not quoted.
fn row_end_in(text: &[u8], start: usize, end: usize) -> Option<usize> {
    let part = &text[start..end];
    if let Some(at) = memrchr(b'\n', part) {
        return Some(start + at + 1);
    }
    // A CR at the very end may be the first half of a CRLF.
    let at = memrchr(b'\r', part.strip_suffix(b"\r").unwrap_or(part))?;
    Some(start + at + 1)
}

#[cfg(test)]
mod tests {
    use super::super::delimiter::Delimiter;
    use super::super::records::{Record, Records};
    use super::*;
    use proptest::prelude::*;

    fn rows(text: &[u8], line: u64) -> Option<Vec<(u64, Vec<Vec<u8>>)>> {
        let mut records = Records::new(text, line, Delimiter::COMMA);
        let mut record = Record::default();
        let mut rows = Vec::new();
        while records.read(&mut record, 1000).ok()? {
            rows.push((record.line(), record.cells().map(<[u8]>::to_vec).collect()));
        }
        Some(rows)
    }

    fn blocks(text: &[u8], block_bytes: usize) -> Vec<Block> {
        let mut blocks = Blocks {
            block_bytes,
            ..Blocks::new(text, Vec::new(), 1, b',')
        };
        let mut all = Vec::new();
        while let Some(block) = blocks.read().unwrap() {
            all.push(block);
        }
        all
    }

    #[test]
    fn a_quoted_line_end_does_not_end_a_row() {
        let text = b"a,b\n1,\"x\ny\"\n2,z\n";
        for size in 1..text.len() {
            let found: Vec<_> = blocks(text, size)
                .iter()
                .flat_map(|block| rows(&block.text, block.line).unwrap())
                .collect();
            assert_eq!(Some(found), rows(text, 1), "{size}");
        }
    }

    #[test]
    fn endless_rows_end_early() {
        for byte in [b'x', b'"'] {
            let mut blocks = Blocks::new(io::repeat(byte), Vec::new(), 1, b',');
            let block = blocks.read().unwrap().unwrap();
            assert!(block.text.len() <= 2 * MAX_ROW_BYTES + 1);
        }
    }

    proptest! {
        #[test]
        fn blocks_have_the_rows_of_the_whole(
            text in "([ab, ]|\"|\"\"|\n|\r\n){0,60}",
            size in 1usize..30,
        ) {
            let Some(expected) = rows(text.as_bytes(), 1) else { return Ok(()) };
            let blocks = blocks(text.as_bytes(), size);
            let joined: Vec<u8> = blocks.iter().flat_map(|block| block.text.clone()).collect();
            prop_assert_eq!(&joined, text.as_bytes());
            let mut found = Vec::new();
            for block in &blocks {
                found.extend(rows(&block.text, block.line).unwrap());
            }
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn old_line_ends_are_found(text in "[ab,]{0,9}(\r[ab,]{0,9}){0,9}", size in 1usize..30) {
            let expected = rows(text.as_bytes(), 1).unwrap();
            let mut found = Vec::new();
            for block in &blocks(text.as_bytes(), size) {
                found.extend(rows(&block.text, block.line).unwrap());
            }
            prop_assert_eq!(found, expected);
        }
    }
}
