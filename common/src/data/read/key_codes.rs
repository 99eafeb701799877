//! Cells that are keys into a list of values, to codes: the text of a value is made when its key
//! is first met, and a cell costs one look into a table.

use super::MAX_CELL_BYTES;
use super::cells::{Cells, Codes};
use super::dictionary::{Dictionary, NULL, TextCode};
use arrow_buffer::NullBuffer;

/// A key that has not been met yet.
const UNMET: u32 = u32::MAX;

/// Most different codes that fit a byte; one more stands for a cell without a value.
const MAX_BYTE_CODES: usize = u8::MAX as usize;

/// Cells that are keys into a list of `count` values.
pub(super) struct Keys<'a, K> {
    pub(super) rows: usize,
    pub(super) nulls: Option<&'a NullBuffer>,
    pub(super) count: usize,
    pub(super) key: K,
}

/// Why keys have no codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotCoded {
    /// There are more different texts than are kept.
    TooManyTexts,
    /// A text is too long, that of this row of the piece.
    TextTooLong(usize),
    /// A key is beyond the list.
    NoSuchKey,
}

/// Returns the cells of a piece of a column that begins behind so many rows. `write` writes the
/// text of a value, or says that there is none.
pub(super) fn cells_of_keys(
    keys: &Keys<'_, impl Fn(usize) -> usize>,
    rows_before: u64,
    write: impl Fn(usize, &mut Vec<u8>) -> bool,
) -> Result<Cells, NotCoded> {
    let mut table = CodeTable {
        codes: vec![UNMET; keys.count],
        dictionary: Dictionary::default(),
        text: Vec::new(),
        rows_before,
        write,
    };
    let codes = if keys.count <= MAX_BYTE_CODES {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "codes fit, and the lowest byte of NULL is what stands for it among bytes"
        )]
        Codes::Bytes(table.codes_of(keys, |code| code as u8)?)
    } else {
        codes_from(table.codes_of(keys, |code| code)?, &table.dictionary)
    };
    Ok(Cells::Texts {
        dictionary: table.dictionary,
        codes,
    })
}

/// Returns codes in as few bytes as a dictionary allows.
fn codes_from(codes: Vec<TextCode>, dictionary: &Dictionary) -> Codes {
    if dictionary.len() > MAX_BYTE_CODES {
        return Codes::Words(codes);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "codes fit, and the lowest byte of NULL is what stands for it among bytes"
    )]
    Codes::Bytes(codes.iter().map(|&code| code as u8).collect())
}

/// The code of each key that has been met.
struct CodeTable<W> {
    codes: Vec<u32>,
    dictionary: Dictionary,
    text: Vec<u8>,
    rows_before: u64,
    write: W,
}

impl<W: Fn(usize, &mut Vec<u8>) -> bool> CodeTable<W> {
    fn codes_of<C>(
        &mut self,
        keys: &Keys<'_, impl Fn(usize) -> usize>,
        as_stored: impl Fn(TextCode) -> C,
    ) -> Result<Vec<C>, NotCoded> {
        let mut codes = Vec::with_capacity(keys.rows);
        match keys.nulls {
            None => {
                for row in 0..keys.rows {
                    codes.push(as_stored(self.code((keys.key)(row), row)?));
                }
            }
            Some(nulls) => {
                for row in 0..keys.rows {
                    let code = if nulls.is_null(row) {
                        NULL
                    } else {
                        self.code((keys.key)(row), row)?
                    };
                    codes.push(as_stored(code));
                }
            }
        }
        Ok(codes)
    }

    #[inline]
    fn code(&mut self, key: usize, row: usize) -> Result<TextCode, NotCoded> {
        match self.codes.get(key) {
            #[expect(clippy::cast_possible_truncation, reason = "codes are this wide")]
            Some(&known) if known != UNMET => Ok(known as TextCode),
            _ => self.new_code(key, row),
        }
    }

    #[cold]
    fn new_code(&mut self, key: usize, row: usize) -> Result<TextCode, NotCoded> {
        if key >= self.codes.len() {
            return Err(NotCoded::NoSuchKey);
        }
        self.text.clear();
        let code = if !(self.write)(key, &mut self.text) {
            NULL
        } else if self.text.len() > MAX_CELL_BYTES {
            return Err(NotCoded::TextTooLong(row));
        } else {
            let row = self.rows_before + row as u64 + 1;
            let code = self.dictionary.code(&self.text, row);
            code.ok_or(NotCoded::TooManyTexts)?
        };
        self.codes[key] = u32::from(code);
        Ok(code)
    }
}
