//! Splits delimited text into rows of cells with bounded memory.
//!
//! The rules: a row ends at LF, CRLF or CR; an empty line is not a row; a leading UTF-8 byte-order
//! mark is skipped. A cell that begins with a double quote runs to the closing quote, may hold
//! delimiters and line ends, and writes a quote as two. White space around an unquoted cell is cut
//! off, that inside quotes is kept. What cells mean, and whether they are UTF-8, is left to others.
//!
//! No row can fill the memory: a cell has at most a given number of bytes, a row at most
//! [`NodeIdx::MAX_NODES`] cells. A NUL byte ends the reading, since no text holds one.
//!
//! Why not `csv-core`: it is twice as fast (22 MB of short cells in 75 ms against 150), but it does
//! not say which cells were quoted, so white space could not be cut off outside quotes alone; it
//! takes `"a"b` for `ab`, a quote that is never closed for one cell up to the end of the file, and a
//! quote behind a blank for text. In a table each of these is a wrong state that nobody notices;
//! here it is read as meant or an error that names line and column.

use super::delimiter::Delimiter;
use super::source::SourceError;
use crate::ids::NodeIdx;
use std::io::{self, Read};

/// Size of the read buffer; the header line is looked for in its first filling.
const BUFFER_BYTES: usize = 64 << 10;

/// The UTF-8 byte-order mark that some editors put first.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One row: its cells in one run of bytes, reused from row to row.
#[derive(Debug, Default)]
pub(crate) struct Record {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    line: u64,
}

impl Record {
    /// Returns the line of the file on which the row begins, counted from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Returns the number of cells.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the cells in order.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let cell = &self.bytes[start..end];
            start = end;
            cell
        })
    }

    fn clear(&mut self, line: u64) {
        self.bytes.clear();
        self.ends.clear();
        self.line = line;
    }

    fn cell_start(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Ends the cell that began at the last end.
    fn end_cell(&mut self, quoting: Quoting) {
        if quoting == Quoting::Outside {
            let start = self.cell_start();
            while self.bytes.len() > start && self.bytes[self.bytes.len() - 1].is_ascii_whitespace()
            {
                self.bytes.pop();
            }
            let cell = &self.bytes[start..];
            if cell.first().is_some_and(u8::is_ascii_whitespace) {
                let blank = cell.len() - cell.trim_ascii_start().len();
                self.bytes.drain(start..start + blank);
            }
        }
        self.ends.push(self.bytes.len());
    }
}

/// Why a row cannot be split; cells are counted from 0.
#[derive(Debug)]
pub(crate) enum RecordError {
    /// The bytes ended in an error.
    Source(SourceError),
    /// A NUL byte.
    Nul { line: u64, cell: usize },
    /// A cell is longer than the limit.
    CellTooLong {
        line: u64,
        cell: usize,
        quoted: bool,
    },
    /// A row has more than [`NodeIdx::MAX_NODES`] cells.
    TooManyCells { line: u64 },
    /// Text between a closing quote and the delimiter.
    TextAfterQuote { line: u64, cell: usize },
    /// The text ends inside a quoted cell.
    OpenQuote { line: u64, cell: usize },
}

/// Where in a cell the reader stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    /// In a cell without quotes.
    Outside,
    /// Between the quotes.
    Inside,
    /// Behind a quote that either closes the cell or is the first of two.
    AtQuote,
    /// Behind the closing quote.
    Behind,
}

/// Reads rows from a stream.
pub(crate) struct RecordReader<R> {
    input: R,
    buffer: Vec<u8>,
    /// What of the buffer is read from the input but not yet split.
    position: usize,
    filled: usize,
    line: u64,
    delimiter: Delimiter,
    /// The bytes that mean something outside quotes.
    special: [bool; 256],
    /// The last row ended with CR: an LF that follows belongs to it.
    after_cr: bool,
}

impl<R: Read> RecordReader<R> {
    /// Starts reading; without a delimiter it is guessed from the first line.
    pub(crate) fn new(input: R, delimiter: Option<Delimiter>) -> Result<Self, SourceError> {
        let mut reader = Self {
            input,
            buffer: vec![0; BUFFER_BYTES],
            position: 0,
            filled: 0,
            line: 1,
            delimiter: Delimiter::COMMA,
            special: [false; 256],
            after_cr: false,
        };
        let header_end = reader.fill_to_line_end()?;
        if reader.buffer[..reader.filled].starts_with(BYTE_ORDER_MARK) {
            reader.position = BYTE_ORDER_MARK.len();
        }
        reader.delimiter =
            delimiter.unwrap_or_else(|| Delimiter::guess(&reader.buffer[..header_end]));
        for byte in [reader.delimiter.byte(), b'"', b'\r', b'\n', 0] {
            reader.special[usize::from(byte)] = true;
        }
        Ok(reader)
    }

    /// Returns the delimiter in use.
    pub(crate) fn delimiter(&self) -> Delimiter {
        self.delimiter
    }

    /// Reads the next row into `record`; `false` at the end of the text.
    pub(crate) fn read(
        &mut self,
        record: &mut Record,
        max_cell_bytes: usize,
    ) -> Result<bool, RecordError> {
        record.clear(self.line);
        let mut quoting = Quoting::Outside;
        // Not kept, but counted, so that white space without end is a cell that is too long.
        let mut blanks_behind_quote = 0;
        loop {
            if self.position == self.filled && self.fill().map_err(RecordError::Source)? == 0 {
                return self.end_of_text(record, quoting);
            }
            let cell = record.ends.len();
            let line = self.line;
            let chunk = &self.buffer[self.position..self.filled];
            let (run, next) = match quoting {
                Quoting::Outside => split_at(chunk, |byte| self.special[usize::from(byte)]),
                Quoting::Inside => split_at(chunk, |byte| matches!(byte, b'"' | b'\n' | 0)),
                Quoting::AtQuote | Quoting::Behind => (&[][..], chunk.first().copied()),
            };
            record.bytes.extend_from_slice(run);
            let length = record.bytes.len() - record.cell_start() + blanks_behind_quote;
            if length > max_cell_bytes {
                let quoted = quoting != Quoting::Outside;
                return Err(RecordError::CellTooLong {
                    line: record.line,
                    cell,
                    quoted,
                });
            }
            self.position += run.len();
            let Some(byte) = next else { continue };
            if quoting == Quoting::AtQuote && byte != b'"' {
                quoting = Quoting::Behind;
            }
            self.position += 1;
            let after_cr = std::mem::take(&mut self.after_cr);
            match (quoting, byte) {
                (_, 0) => return Err(RecordError::Nul { line, cell }),
                (Quoting::Inside, b'"') => quoting = Quoting::AtQuote,
                (Quoting::AtQuote, _) => {
                    record.bytes.push(byte);
                    quoting = Quoting::Inside;
                }
                (Quoting::Inside, _) => {
                    self.line += 1;
                    record.bytes.push(byte);
                }
                (_, b'\n' | b'\r') => {
                    let empty = quoting == Quoting::Outside && cell == 0 && length == 0;
                    if !(byte == b'\n' && after_cr && empty) {
                        self.line += 1;
                    }
                    self.after_cr = byte == b'\r';
                    if empty {
                        record.clear(self.line);
                        continue;
                    }
                    record.end_cell(quoting);
                    return Ok(true);
                }
                (_, byte) if byte == self.delimiter.byte() => {
                    if cell + 1 == NodeIdx::MAX_NODES {
                        return Err(RecordError::TooManyCells { line: record.line });
                    }
                    record.end_cell(quoting);
                    quoting = Quoting::Outside;
                    blanks_behind_quote = 0;
                }
                (Quoting::Outside, _) => {
                    let start = record.cell_start();
                    if record.bytes[start..].iter().all(u8::is_ascii_whitespace) {
                        record.bytes.truncate(start);
                        quoting = Quoting::Inside;
                    } else {
                        // A quote inside an unquoted cell stands for itself.
                        record.bytes.push(byte);
                    }
                }
                (Quoting::Behind, byte) if byte.is_ascii_whitespace() => blanks_behind_quote += 1,
                (Quoting::Behind, _) => return Err(RecordError::TextAfterQuote { line, cell }),
            }
        }
    }

    /// Ends the last row, which may lack its line end.
    fn end_of_text(&self, record: &mut Record, quoting: Quoting) -> Result<bool, RecordError> {
        let cell = record.ends.len();
        match quoting {
            Quoting::Inside => Err(RecordError::OpenQuote {
                line: record.line,
                cell,
            }),
            Quoting::Outside if cell == 0 && record.bytes.is_empty() => Ok(false),
            _ => {
                record.end_cell(quoting);
                Ok(true)
            }
        }
    }

    /// Refills the empty buffer and returns how many bytes came.
    fn fill(&mut self) -> Result<usize, SourceError> {
        self.position = 0;
        self.filled = read_some(&mut self.input, &mut self.buffer)?;
        Ok(self.filled)
    }

    /// Fills the buffer until it holds a line end outside quotes; returns where the line ends.
    fn fill_to_line_end(&mut self) -> Result<usize, SourceError> {
        let (mut quoted, mut named) = (false, false);
        let mut looked_at = 0;
        loop {
            let count = read_some(&mut self.input, &mut self.buffer[self.filled..])?;
            self.filled += count;
            for (offset, &byte) in self.buffer[looked_at..self.filled].iter().enumerate() {
                quoted ^= byte == b'"';
                let line_end = matches!(byte, b'\n' | b'\r');
                // Line ends before the first name are empty lines.
                if line_end && named && !quoted {
                    return Ok(looked_at + offset);
                }
                named |= !line_end;
            }
            looked_at = self.filled;
            if count == 0 || self.filled == self.buffer.len() {
                return Ok(self.filled);
            }
        }
    }
}

/// Returns the bytes before the first that is special, and that one.
#[inline]
fn split_at(chunk: &[u8], is_special: impl Fn(u8) -> bool) -> (&[u8], Option<u8>) {
    match chunk.iter().position(|&byte| is_special(byte)) {
        Some(length) => (&chunk[..length], Some(chunk[length])),
        None => (chunk, None),
    }
}

/// Reads once, again after an interruption.
fn read_some(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize, SourceError> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome.map_err(SourceError::from),
        }
    }
}

#[cfg(test)]
mod tests;
