//! JSON: one object per line, or a list of objects. A column for each key, in order of first
//! appearance; an object that lacks a key has no value there.
//!
//! Read as a stream, with a parser of its own, since numbers stay as they are written: `1.50` and
//! `1.5` are two texts, as in a CSV file. Memory is bounded by [`check_size`] for rows and columns
//! and by [`MAX_CELL_BYTES`] for keys and values; values that nobody wants are skipped, however
//! deep they are.

use super::MAX_CELL_BYTES;
use super::cells::Cells;
use super::encoding::NoText;
use super::format_error::{FormatError, check_size};
use super::number::DecimalMark;
use super::raw_table::{RawColumn, RawTable};
use super::value_text::{FALSE, TRUE};
use crate::data::source::SourceError;
use rustc_hash::FxHashMap;
use std::io::{self, Read};
use thiserror::Error;

const POINT: DecimalMark = DecimalMark::Point;

/// Size of the read buffer.
const BUFFER_BYTES: usize = 64 << 10;

/// Most characters of a key that a message shows.
const MAX_SHOWN: usize = 60;

/// Why JSON makes no table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JsonError {
    /// It breaks JSON's rules, or is none of the two forms.
    #[error("line {line}: {found}; expected {expected}")]
    Syntax {
        /// The line.
        line: u64,
        /// What stands there.
        found: String,
        /// What could.
        expected: &'static str,
    },
    /// A value is a list or an object.
    #[error(
        "line {line}, key {}: the value is {held}; expected a table of single values, one object \
         for each row (pandas: to_json(..., orient=\"records\", lines=True))",
        shown(.key)
    )]
    Nested {
        /// The line.
        line: u64,
        /// The key.
        key: String,
        /// `a list` or `an object`.
        held: &'static str,
    },
    /// An object has a key twice.
    #[error("line {line}: the object has the key {} twice; expected different keys", shown(.key))]
    KeyTwice {
        /// The line.
        line: u64,
        /// The key.
        key: String,
    },
    /// A key or a value is too long.
    #[error("line {line}: a text is longer than {MAX_CELL_BYTES} bytes, the most that is possible")]
    TooLong {
        /// The line.
        line: u64,
    },
    /// A text is not UTF-8.
    #[error("line {line}: a text is not valid UTF-8; expected UTF-8, as all JSON is")]
    NotUtf8 {
        /// The line.
        line: u64,
    },
}

fn shown(key: &str) -> String {
    let cut: String = key.chars().take(MAX_SHOWN).collect();
    let more = if cut.len() < key.len() { "…" } else { "" };
    format!("\"{}{more}\"", cut.escape_debug())
}

/// Reads the wanted columns.
///
/// # Errors
/// If the stream fails, is no JSON of the two forms, or has a wanted value that is no single one.
pub(crate) fn read_json_lines(
    input: impl Read,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<RawTable, FormatError> {
    let mut scanner = Scanner {
        input,
        buffer: vec![0; BUFFER_BYTES],
        start: 0,
        end: 0,
        line: 1,
    };
    let mut table = JsonTable {
        wanted,
        columns: Vec::new(),
        by_name: FxHashMap::default(),
        rows: 0,
    };
    scanner.skip_byte_order_mark()?;
    if scanner.next_token()? == Some(b'[') {
        scanner.advance();
        read_list(&mut scanner, &mut table)?;
    } else {
        while scanner.next_token()?.is_some() {
            read_object(&mut scanner, &mut table)?;
        }
    }
    let columns = table.columns.into_iter().map(|column| column.raw).collect();
    Ok(RawTable {
        columns,
        rows: table.rows,
    })
}

fn read_list<R: Read>(
    scanner: &mut Scanner<R>,
    table: &mut JsonTable<'_>,
) -> Result<(), FormatError> {
    if scanner.next_token()? == Some(b']') {
        scanner.advance();
    } else {
        loop {
            read_object(scanner, table)?;
            match scanner.next_token()? {
                Some(b',') => scanner.advance(),
                Some(b']') => {
                    scanner.advance();
                    break;
                }
                found => return Err(scanner.syntax(found, "`,` or `]` behind an object")),
            }
        }
    }
    match scanner.next_token()? {
        None => Ok(()),
        found => Err(scanner.syntax(found, "nothing behind the list of objects")),
    }
}

fn read_object<R: Read>(
    scanner: &mut Scanner<R>,
    table: &mut JsonTable<'_>,
) -> Result<(), FormatError> {
    match scanner.next_token()? {
        Some(b'{') => scanner.advance(),
        found => return Err(scanner.syntax(found, "an object, `{`")),
    }
    let line = scanner.line;
    let row = table.rows;
    let mut key = Vec::new();
    let mut text = Vec::new();
    let mut next_column = 0;
    if scanner.next_token()? == Some(b'}') {
        scanner.advance();
    } else {
        loop {
            match scanner.next_token()? {
                Some(b'"') => scanner.string(&mut key)?,
                found => return Err(scanner.syntax(found, "a key in quotes")),
            }
            match scanner.next_token()? {
                Some(b':') => scanner.advance(),
                found => return Err(scanner.syntax(found, "`:` behind a key")),
            }
            let column = table.column(&key, next_column)?;
            next_column = column + 1;
            let column = &mut table.columns[column];
            if column.filled > row {
                return Err(JsonError::KeyTwice {
                    line: scanner.line,
                    key: column.raw.name.clone(),
                }
                .into());
            }
            column.filled = row + 1;
            let cells = &mut column.raw.cells;
            let is_unwanted = matches!(cells, Cells::Unwanted);
            match scanner.value(&mut text)? {
                Value::Null => cells.push_null(),
                Value::Text => cells.push(&text, line, POINT),
                Value::Nested(_) if is_unwanted => scanner.skip_nested()?,
                Value::Nested(held) => {
                    return Err(JsonError::Nested {
                        line: scanner.line,
                        key: column.raw.name.clone(),
                        held,
                    }
                    .into());
                }
            }
            match scanner.next_token()? {
                Some(b',') => scanner.advance(),
                Some(b'}') => {
                    scanner.advance();
                    break;
                }
                found => return Err(scanner.syntax(found, "`,` or `}` behind a value")),
            }
        }
    }
    table.end_row()
}

/// The table so far.
struct JsonTable<'w> {
    wanted: &'w dyn Fn(&str) -> bool,
    columns: Vec<JsonColumn>,
    by_name: FxHashMap<Vec<u8>, usize>,
    rows: usize,
}

struct JsonColumn {
    raw: RawColumn,
    /// The number of the last row with a value here, counted from 1.
    filled: usize,
}

impl JsonTable<'_> {
    /// Returns the column of a key, which mostly is the one behind the last; a new one is added.
    fn column(&mut self, key: &[u8], guess: usize) -> Result<usize, FormatError> {
        let guessed = self.columns.get(guess);
        if guessed.is_some_and(|column| column.raw.name.as_bytes() == key) {
            return Ok(guess);
        }
        if let Some(&column) = self.by_name.get(key) {
            return Ok(column);
        }
        check_size(self.rows, self.columns.len() + 1)?;
        let name = String::from_utf8_lossy(key).into_owned();
        let mut cells = Cells::Unwanted;
        if (self.wanted)(&name) {
            cells = Cells::default();
            for _ in 0..self.rows {
                cells.push_null();
            }
        }
        let column = self.columns.len();
        self.by_name.insert(key.to_vec(), column);
        self.columns.push(JsonColumn {
            raw: RawColumn {
                name,
                cells,
                levels: None,
            },
            filled: 0,
        });
        Ok(column)
    }

    fn end_row(&mut self) -> Result<(), FormatError> {
        self.rows += 1;
        check_size(self.rows, self.columns.len())?;
        for column in &mut self.columns {
            if column.filled < self.rows {
                column.raw.cells.push_null();
            }
        }
        Ok(())
    }
}

/// A value behind a key.
enum Value {
    Null,
    Text,
    /// The beginning of a list or an object, not yet taken.
    Nested(&'static str),
}

/// The characters of the input.
struct Scanner<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    line: u64,
}

impl<R: Read> Scanner<R> {
    fn peek(&mut self) -> Result<Option<u8>, FormatError> {
        if self.start == self.end && !self.fill()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.start]))
    }

    #[cold]
    fn fill(&mut self) -> Result<bool, FormatError> {
        loop {
            match self.input.read(&mut self.buffer) {
                Ok(count) => {
                    (self.start, self.end) = (0, count);
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(match error.downcast::<NoText>() {
                        Ok(no_text) => no_text.into(),
                        Err(error) => SourceError::from(error).into(),
                    });
                }
            }
        }
    }

    /// Takes the byte that was looked at.
    fn advance(&mut self) {
        self.start += 1;
    }

    fn skip_byte_order_mark(&mut self) -> Result<(), FormatError> {
        if self.peek()? == Some(0xef) {
            for expected in [0xef, 0xbb, 0xbf] {
                let found = self.peek()?;
                if found != Some(expected) {
                    return Err(self.syntax(found, "an object, `{`"));
                }
                self.advance();
            }
        }
        Ok(())
    }

    /// Returns the first byte behind spaces and line ends, without taking it.
    fn next_token(&mut self) -> Result<Option<u8>, FormatError> {
        loop {
            match self.peek()? {
                Some(b'\n') => self.line += 1,
                Some(b' ' | b'\t' | b'\r') => {}
                found => return Ok(found),
            }
            self.advance();
        }
    }

    /// Reads a value; its text, if it has one, goes to `text`.
    fn value(&mut self, text: &mut Vec<u8>) -> Result<Value, FormatError> {
        match self.next_token()? {
            Some(b'"') => {
                self.string(text)?;
                Ok(Value::Text)
            }
            Some(b'{') => Ok(Value::Nested("an object")),
            Some(b'[') => Ok(Value::Nested("a list")),
            found => self.word(found, text),
        }
    }

    /// Reads a number, a truth value or a null.
    fn word(&mut self, found: Option<u8>, text: &mut Vec<u8>) -> Result<Value, FormatError> {
        text.clear();
        while let Some(byte) = self.peek()? {
            if !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'-' | b'.') {
                break;
            }
            self.push(text, byte)?;
            self.advance();
        }
        match text.as_slice() {
            b"" => return Err(self.syntax(found, "a value")),
            b"null" => return Ok(Value::Null),
            b"true" => *text = TRUE.to_vec(),
            b"false" => *text = FALSE.to_vec(),
            // What Python's json writes for numbers that JSON does not have.
            b"NaN" => *text = b"nan".to_vec(),
            b"Infinity" => *text = b"inf".to_vec(),
            b"-Infinity" => *text = b"-inf".to_vec(),
            number if is_number(number) => {}
            other => {
                return Err(JsonError::Syntax {
                    line: self.line,
                    found: format!("{} is no value", shown(&String::from_utf8_lossy(other))),
                    expected: "a number, true, false, null or a text in quotes",
                }
                .into());
            }
        }
        Ok(Value::Text)
    }

    /// Reads a text in quotes.
    fn string(&mut self, text: &mut Vec<u8>) -> Result<(), FormatError> {
        text.clear();
        self.advance();
        let mut ascii = true;
        loop {
            match self.peek()? {
                Some(b'"') => {
                    self.advance();
                    break;
                }
                Some(b'\\') => {
                    self.advance();
                    ascii &= self.escape(text)?;
                }
                Some(byte) if byte >= b' ' => {
                    ascii &= byte.is_ascii();
                    self.push(text, byte)?;
                    self.advance();
                }
                found => return Err(self.syntax(found, "a closing quote")),
            }
        }
        if !ascii && std::str::from_utf8(text).is_err() {
            return Err(JsonError::NotUtf8 { line: self.line }.into());
        }
        Ok(())
    }

    /// Reads what is behind a backslash; returns whether it is ASCII.
    fn escape(&mut self, text: &mut Vec<u8>) -> Result<bool, FormatError> {
        let found = self.peek()?;
        let byte = match found {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.advance();
                let character = self.unicode()?;
                let mut bytes = [0; 4];
                for &byte in character.encode_utf8(&mut bytes).as_bytes() {
                    self.push(text, byte)?;
                }
                return Ok(character.is_ascii());
            }
            found => return Err(self.syntax(found, "one of \"\\/bfnrtu behind a backslash")),
        };
        self.push(text, byte)?;
        self.advance();
        Ok(true)
    }

    /// Reads the digits behind `\u`, of two such escapes if one is half a character.
    fn unicode(&mut self) -> Result<char, FormatError> {
        let first = self.hexadecimal()?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        let mut second = None;
        if first < 0xdc00 && self.peek()? == Some(b'\\') {
            self.advance();
            if self.peek()? == Some(b'u') {
                self.advance();
                second =
                    Some(self.hexadecimal()?).filter(|second| (0xdc00..0xe000).contains(second));
            }
        }
        let whole = second.map(|second| 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00));
        whole.and_then(char::from_u32).ok_or_else(|| {
            JsonError::Syntax {
                line: self.line,
                found: format!("`\\u{first:04x}` is half a character"),
                expected: "the other half beside it",
            }
            .into()
        })
    }

    fn hexadecimal(&mut self) -> Result<u32, FormatError> {
        let mut number = 0;
        for _ in 0..4 {
            let found = self.peek()?;
            let digit = found.and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.syntax(found, "four hexadecimal digits behind `\\u`"));
            };
            number = 16 * number + digit;
            self.advance();
        }
        Ok(number)
    }

    /// Skips a list or an object; nobody looks at it, so only its end is looked for.
    fn skip_nested(&mut self) -> Result<(), FormatError> {
        let mut depth = 0u64;
        let mut text = Vec::new();
        loop {
            match self.next_token()? {
                Some(b'{' | b'[') => depth += 1,
                Some(b'}' | b']') => depth -= 1,
                Some(b'"') => {
                    self.string(&mut text)?;
                    continue;
                }
                Some(_) => {}
                None => return Err(self.syntax(None, "the end of a nested value")),
            }
            self.advance();
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn push(&self, text: &mut Vec<u8>, byte: u8) -> Result<(), FormatError> {
        if text.len() == MAX_CELL_BYTES {
            return Err(JsonError::TooLong { line: self.line }.into());
        }
        text.push(byte);
        Ok(())
    }

    fn syntax(&self, found: Option<u8>, expected: &'static str) -> FormatError {
        let found = match found {
            None => "the file ends".to_string(),
            Some(byte) if byte.is_ascii_graphic() => format!("there is `{}`", char::from(byte)),
            Some(byte) if byte.is_ascii() => {
                format!("there is `{}`", char::from(byte).escape_debug())
            }
            Some(byte) => format!("there is the byte {byte}"),
        };
        JsonError::Syntax {
            line: self.line,
            found,
            expected,
        }
        .into()
    }
}

/// Says whether a text is a number by JSON's rules.
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || (whole > 1 && text[0] == b'0') {
        return false;
    }
    let mut rest = &text[whole..];
    if let Some(behind) = rest.strip_prefix(b".") {
        let count = digits(behind);
        if count == 0 {
            return false;
        }
        rest = &behind[count..];
    }
    if let Some((b'e' | b'E', behind)) = rest.split_first() {
        let behind = behind
            .strip_prefix(b"+")
            .or_else(|| behind.strip_prefix(b"-"))
            .unwrap_or(behind);
        let count = digits(behind);
        return count > 0 && count == behind.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests;
