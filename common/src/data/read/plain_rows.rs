//! The fast way to split rows: text without quotes, NUL bytes and old line ends, where every row has
//! as many cells as there are columns.
//!
//! Eight bytes are looked at at once; a cell of up to seven bytes, which most are, is then known by
//! its word alone. Whatever is unusual makes this way give up, and the block is split again by
//! [`Records`](super::records::Records), which says what is wrong if something is.

use super::cells::Cells;
use super::number::DecimalMark;
use memchr::memchr2;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Appends the rows of a block to the columns and returns how many there are; `None` if the block
/// has to go the plain way (the columns are then of no use).
pub(crate) fn split(
    text: &[u8],
    first_line: u64,
    delimiter: u8,
    columns: &mut [Cells],
    decimal: DecimalMark,
) -> Option<usize> {
    if delimiter == b' ' || memchr2(b'"', 0, text).is_some() {
        return None;
    }
    let delimiters = ONES * u64::from(delimiter);
    let (mut position, mut line, mut rows) = (0, first_line, 0);
    let last = columns.len().checked_sub(1)?;
    while position < text.len() {
        // An empty line is not a row.
        match text[position] {
            b'\n' => {
                position += 1;
                line += 1;
                continue;
            }
            b'\r' if text.get(position + 1) == Some(&b'\n') => {
                position += 2;
                line += 1;
                continue;
            }
            _ => {}
        }
        for (at, column) in columns.iter_mut().enumerate() {
            let end = position + cell_length(&text[position..], delimiters);
            let ended_by_delimiter = text.get(end) == Some(&delimiter);
            if ended_by_delimiter == (at == last) {
                return None;
            }
            column.push(trimmed(&text[position..end])?, line, decimal);
            position = end + 1;
            if at == last {
                match text.get(end) {
                    Some(b'\r') if text.get(end + 1) == Some(&b'\n') => position = end + 2,
                    Some(b'\r') => return None,
                    _ => {}
                }
            }
        }
        line += 1;
        rows += 1;
    }
    Some(rows)
}

/// Returns how many bytes there are before the next delimiter or line end.
#[inline]
fn cell_length(text: &[u8], delimiters: u64) -> usize {
    let mut start = 0;
    while let Some(eight) = text[start..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*eight);
        let found = zero_bytes(word ^ delimiters)
            | zero_bytes(word ^ (ONES * u64::from(b'\n')))
            | zero_bytes(word ^ (ONES * u64::from(b'\r')));
        if found != 0 {
            return start + found.trailing_zeros() as usize / 8;
        }
        start += 8;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the lowest byte is the delimiter"
    )]
    let delimiter = delimiters as u8;
    let rest = &text[start..];
    let end = rest
        .iter()
        .position(|&byte| byte == delimiter || matches!(byte, b'\n' | b'\r'));
    start + end.unwrap_or(rest.len())
}

/// Returns a word whose lowest set bit is the high bit of the first byte that is zero.
#[inline]
const fn zero_bytes(word: u64) -> u64 {
    // Bits above the first zero byte may be wrong; only the lowest is used.
    word.wrapping_sub(ONES) & !word & HIGHS
}

/// Cuts off white space; `None` for a cell that is longer than any may be.
#[inline]
fn trimmed(cell: &[u8]) -> Option<&[u8]> {
    if cell.len() > super::MAX_CELL_BYTES {
        return None;
    }
    let blank = |byte: Option<&u8>| byte.is_some_and(|&byte| byte <= b' ');
    if blank(cell.first()) || blank(cell.last()) {
        return Some(cell.trim_ascii());
    }
    Some(cell)
}

#[cfg(test)]
mod tests {
    use super::super::delimiter::Delimiter;
    use super::super::records::{Record, Records};
    use super::*;
    use proptest::prelude::*;

    fn texts(cells: &Cells) -> Vec<(Vec<u8>, u64)> {
        let Cells::Texts { dictionary, codes } = cells else {
            panic!("texts expected")
        };
        let all: Vec<_> = dictionary.texts().collect();
        codes
            .iter()
            .map(|code| (all[usize::from(code)].0.to_vec(), all[usize::from(code)].1))
            .collect()
    }

    /// The plain way to the same columns.
    fn plainly(text: &[u8], columns: &mut [Cells]) -> Option<usize> {
        let mut records = Records::new(text, 5, Delimiter::COMMA);
        let mut record = Record::default();
        let mut rows = 0;
        while records.read(&mut record, 100).ok()? {
            if record.len() != columns.len() {
                return None;
            }
            rows += 1;
            for (cell, column) in record.cells().zip(columns.iter_mut()) {
                column.push(cell, record.line(), DecimalMark::Point);
            }
        }
        Some(rows)
    }

    proptest! {
        #[test]
        fn the_fast_way_is_the_plain_way(
            text in "([ab, \t]{0,12}(\n|\r\n|\r)){0,8}[ab,]{0,5}",
            count in 1usize..4,
        ) {
            let mut fast = vec![Cells::default(); count];
            let mut plain = vec![Cells::default(); count];
            let found = split(text.as_bytes(), 5, b',', &mut fast, DecimalMark::Point);
            if let Some(rows) = found {
                prop_assert_eq!(Some(rows), plainly(text.as_bytes(), &mut plain));
                for (fast, plain) in fast.iter().zip(&plain) {
                    prop_assert_eq!(texts(fast), texts(plain));
                }
            }
        }

        #[test]
        fn ordinary_rows_go_the_fast_way(
            rows in prop::collection::vec(prop::collection::vec("[a-z]{1,20}|[0-9]{1,3}", 3), 1..20),
            end in "\n|\r\n",
        ) {
            let lines: Vec<String> = rows.iter().map(|row| row.join(",")).collect();
            let text = lines.join(&end);
            let mut columns = vec![Cells::default(); 3];
            let found = split(text.as_bytes(), 1, b',', &mut columns, DecimalMark::Point);
            prop_assert_eq!(found, Some(rows.len()));
            for (at, column) in columns.iter().enumerate() {
                let expected: Vec<_> = rows.iter().map(|row| row[at].as_bytes().to_vec()).collect();
                let found: Vec<_> = texts(column).into_iter().map(|(text, _)| text).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn what_is_unusual_is_left_to_the_plain_way() {
        for text in [
            "a,\"b\"\n",
            "a\n",
            "a,b,c\n",
            "a,b\rc,d\n",
            "a,b\0\n",
            "a,b\n,\rc",
        ] {
            let mut columns = vec![Cells::default(); 2];
            let found = split(text.as_bytes(), 1, b',', &mut columns, DecimalMark::Point);
            assert_eq!(found, None, "{text:?}");
        }
    }
}
