//! Splits delimited text into rows of cells.
//!
//! The rules: a row ends at LF, CRLF or CR; an empty line is not a row. A cell that begins with a
//! double quote runs to the closing quote, may hold delimiters and line ends, and writes a quote as
//! two. White space around an unquoted cell is cut off, that inside quotes is kept. Where blanks are
//! the delimiter, any number of them is one. What cells mean, and whether they are UTF-8, is left to
//! others.
//!
//! A cell has at most a given number of bytes, a row at most [`NodeIdx::MAX_NODES`] cells. A NUL byte
//! ends the reading, since no text holds one.
//!
//! This is the plain way; text without quotes goes a faster one (`plain_rows`), which leaves
//! everything unusual to this one.
//!
//! Why not `csv-core`: it does not say which cells were quoted, so white space could not be cut off
//! outside quotes alone; it takes `"a"b` for `ab`, a quote that is never closed for one cell up to
//! the end of the file, and a quote behind a blank for text. In a table each of these is a wrong
//! state that nobody notices; here it is read as meant or an error that names line and column.

use super::delimiter::Delimiter;
use crate::ids::NodeIdx;

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

    /// Returns how many bytes the cell has that is not ended yet.
    fn open_bytes(&self) -> usize {
        self.bytes.len() - self.cell_start()
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

/// The rows of a text.
pub(crate) struct Records<'t> {
    text: &'t [u8],
    position: usize,
    line: u64,
    delimiter: Delimiter,
    /// The bytes that mean something outside quotes.
    special: [bool; 256],
}

impl<'t> Records<'t> {
    /// Starts splitting a text whose first line has a number.
    pub(crate) fn new(text: &'t [u8], line: u64, delimiter: Delimiter) -> Self {
        let mut special = [false; 256];
        for byte in [delimiter.byte(), b'"', b'\r', b'\n', 0] {
            special[usize::from(byte)] = true;
        }
        Self {
            text,
            position: 0,
            line,
            delimiter,
            special,
        }
    }

    /// Returns how many bytes have been split.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Returns the line on which the next row begins.
    pub(crate) fn line(&self) -> u64 {
        self.line
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
            let rest = &self.text[self.position..];
            if rest.is_empty() {
                return self.end_of_text(record, quoting);
            }
            let cell = record.ends.len();
            let line = self.line;
            let (run, next) = match quoting {
                Quoting::Outside => split_at(rest, |byte| self.special[usize::from(byte)]),
                Quoting::Inside => split_at(rest, |byte| matches!(byte, b'"' | b'\n' | 0)),
                Quoting::AtQuote | Quoting::Behind => (&[][..], rest.first().copied()),
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
                    self.line += 1;
                    if byte == b'\r' && self.text.get(self.position) == Some(&b'\n') {
                        self.position += 1;
                    }
                    if quoting == Quoting::Outside && cell == 0 && length == 0 {
                        record.clear(self.line);
                        continue;
                    }
                    if !self.is_blank_end(quoting, cell, length) {
                        record.end_cell(quoting);
                    }
                    return Ok(true);
                }
                (_, byte) if byte == self.delimiter.byte() => {
                    if self.delimiter.is_blank() && quoting == Quoting::Outside && length == 0 {
                        continue;
                    }
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
            Quoting::Outside if self.is_blank_end(quoting, cell, record.open_bytes()) => Ok(true),
            _ => {
                record.end_cell(quoting);
                Ok(true)
            }
        }
    }

    /// Returns whether blanks separate cells and a row ends behind such, where no cell is.
    fn is_blank_end(&self, quoting: Quoting, cell: usize, length: usize) -> bool {
        self.delimiter.is_blank() && quoting == Quoting::Outside && cell > 0 && length == 0
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

#[cfg(test)]
mod tests;
