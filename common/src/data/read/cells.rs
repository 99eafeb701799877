//! The cells of a column as a file has them, before anybody decides what they mean.
//!
//! A column keeps the number of each cell's text, and each different text once. A column with more
//! than [`Dictionary::MAX_TEXTS`] different texts keeps numbers instead, eight bytes each, and texts
//! only for the cells that are no numbers; if these are too many as well, it keeps nothing more: it
//! can be no variable. Which of the three it is follows from the cells alone, not from how they were
//! divided into pieces to be read on several threads.

use super::dictionary::{Dictionary, NULL, TextCode};
use super::number::DecimalMark;

/// The cells of a column, or of a piece of it.
#[derive(Clone, Debug)]
pub(crate) enum Cells {
    /// The text of each cell by its number.
    Texts {
        dictionary: Dictionary,
        codes: Codes,
    },
    /// The number in each cell; what is not a number is a NaN that holds the code of its text.
    Numbers {
        values: Vec<f64>,
        others: Dictionary,
    },
    /// Too many different texts.
    TooMany {
        /// How many cells had been read by then.
        rows: usize,
    },
    /// Nobody wants this column.
    Unwanted,
}

/// The code of each cell: a byte as long as that is enough.
#[derive(Clone, Debug)]
pub(crate) enum Codes {
    Bytes(Vec<u8>),
    Words(Vec<TextCode>),
}

/// [`NULL`] as a byte.
const NULL_BYTE: u8 = u8::MAX;

impl Codes {
    /// Returns how many cells there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bytes(codes) => codes.len(),
            Self::Words(codes) => codes.len(),
        }
    }

    #[inline]
    fn push(&mut self, code: TextCode) {
        match self {
            Self::Bytes(codes) => match as_byte(code) {
                Some(byte) => codes.push(byte),
                None => {
                    self.widen();
                    self.push(code);
                }
            },
            Self::Words(codes) => codes.push(code),
        }
    }

    #[cold]
    fn widen(&mut self) {
        let words = self.iter().collect();
        *self = Self::Words(words);
    }

    /// Appends other codes, each as `new_codes` says.
    fn append(&mut self, other: &Self, new_codes: &[TextCode]) {
        let new_code = |code: TextCode| {
            if code == NULL {
                NULL
            } else {
                new_codes[usize::from(code)]
            }
        };
        if new_codes.iter().any(|&code| as_byte(code).is_none()) && matches!(self, Self::Bytes(_)) {
            self.widen();
        }
        match (self, other) {
            (Self::Bytes(codes), Self::Bytes(more)) => {
                let mut bytes = [NULL_BYTE; 256];
                for (byte, &code) in bytes.iter_mut().zip(new_codes) {
                    *byte = as_byte(code).unwrap_or(NULL_BYTE);
                }
                bytes[usize::from(NULL_BYTE)] = NULL_BYTE;
                codes.extend(more.iter().map(|&code| bytes[usize::from(code)]));
            }
            (codes, more) => {
                for code in more.iter() {
                    codes.push(new_code(code));
                }
            }
        }
    }

    /// Returns the codes in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = TextCode> {
        let (bytes, words) = match self {
            Self::Bytes(codes) => (codes.as_slice(), &[][..]),
            Self::Words(codes) => (&[][..], codes.as_slice()),
        };
        let bytes = bytes.iter().map(|&byte| {
            if byte == NULL_BYTE {
                NULL
            } else {
                TextCode::from(byte)
            }
        });
        bytes.chain(words.iter().copied())
    }
}

#[inline]
fn as_byte(code: TextCode) -> Option<u8> {
    if code == NULL {
        return Some(NULL_BYTE);
    }
    u8::try_from(code).ok().filter(|&byte| byte != NULL_BYTE)
}

/// Returns a NaN that holds a code.
fn not_a_number(code: TextCode) -> f64 {
    f64::from_bits(0x7ff8_0000_0000_0000 | u64::from(code))
}

/// Returns the code that a NaN holds; `None` for a number.
pub(crate) fn other_code(value: f64) -> Option<TextCode> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the lowest bits hold the code"
    )]
    value.is_nan().then(|| value.to_bits() as TextCode)
}

impl Default for Cells {
    fn default() -> Self {
        Self::Texts {
            dictionary: Dictionary::default(),
            codes: Codes::Bytes(Vec::new()),
        }
    }
}

impl Cells {
    /// Starts a piece of a column that is known to hold many numbers: texts are not kept.
    pub(crate) fn of_numbers() -> Self {
        Self::Numbers {
            values: Vec::new(),
            others: Dictionary::default(),
        }
    }

    /// Returns an empty piece of the kind that should follow this one.
    pub(crate) fn next_piece(&self) -> Self {
        match self {
            Self::Texts { .. } => Self::default(),
            Self::Numbers { .. } => Self::of_numbers(),
            Self::TooMany { .. } | Self::Unwanted => Self::Unwanted,
        }
    }

    /// Appends a cell; `row` is where it stands in the file.
    #[inline]
    pub(crate) fn push(&mut self, text: &[u8], row: u64, decimal: DecimalMark) {
        if let Self::Texts { dictionary, codes } = self
            && let Some(code) = dictionary.code(text, row)
        {
            codes.push(code);
        } else {
            self.push_other(text, row, decimal);
        }
    }

    /// Appends a cell without a value.
    pub(crate) fn push_null(&mut self) {
        match self {
            Self::Texts { codes, .. } => codes.push(NULL),
            Self::Numbers { values, .. } => values.push(not_a_number(NULL)),
            Self::TooMany { .. } | Self::Unwanted => {}
        }
    }

    #[cold]
    fn push_other(&mut self, text: &[u8], row: u64, decimal: DecimalMark) {
        if matches!(self, Self::Texts { .. }) {
            self.make_numbers(decimal);
        }
        if let Self::Numbers { values, others } = self {
            match number_or_code(text, row, others, decimal) {
                Some(value) => values.push(value),
                None => {
                    *self = Self::TooMany {
                        rows: values.len() + 1,
                    };
                }
            }
        }
    }

    /// Turns texts into numbers.
    fn make_numbers(&mut self, decimal: DecimalMark) {
        let Self::Texts { dictionary, codes } = self else {
            return;
        };
        let rows = codes.len();
        let mut others = Dictionary::default();
        let Some(of_text) = values_of(dictionary, &mut others, decimal) else {
            *self = Self::TooMany { rows };
            return;
        };
        let values = codes.iter().map(|code| value_of(code, &of_text)).collect();
        *self = Self::Numbers { values, others };
    }

    /// Appends the piece of the column that follows.
    pub(crate) fn append(&mut self, piece: Self, decimal: DecimalMark) {
        if let Self::Texts { dictionary, codes } = self
            && let Self::Texts {
                dictionary: more,
                codes: more_codes,
            } = &piece
        {
            let new_codes: Option<Vec<TextCode>> = more
                .texts()
                .map(|(text, row)| dictionary.code(text, row))
                .collect();
            if let Some(new_codes) = new_codes {
                codes.append(more_codes, &new_codes);
                return;
            }
        }
        // Here the column has more texts than a dictionary holds.
        self.make_numbers(decimal);
        let before = match self {
            Self::Numbers { values, .. } => values.len(),
            _ => return,
        };
        match piece {
            Self::Texts { .. } => {
                let mut piece = piece;
                piece.make_numbers(decimal);
                self.append_numbers(piece, before);
            }
            piece => self.append_numbers(piece, before),
        }
    }

    fn append_numbers(&mut self, piece: Self, before: usize) {
        let Self::Numbers { values, others } = self else {
            return;
        };
        match piece {
            Self::Numbers {
                values: more,
                others: more_others,
            } => {
                let new_codes: Option<Vec<TextCode>> = more_others
                    .texts()
                    .map(|(text, row)| others.code(text, row))
                    .collect();
                let Some(new_codes) = new_codes else {
                    *self = Self::TooMany {
                        rows: before + more.len(),
                    };
                    return;
                };
                values.extend(more.iter().map(|&value| match other_code(value) {
                    Some(NULL) | None => value,
                    Some(code) => not_a_number(new_codes[usize::from(code)]),
                }));
            }
            Self::TooMany { rows } => {
                *self = Self::TooMany {
                    rows: before + rows,
                };
            }
            Self::Texts { .. } | Self::Unwanted => {}
        }
    }
}

/// Returns the number that each text stands for, and adds those that are none to `others`.
fn values_of(
    dictionary: &Dictionary,
    others: &mut Dictionary,
    decimal: DecimalMark,
) -> Option<Vec<f64>> {
    dictionary
        .texts()
        .map(|(text, row)| number_or_code(text, row, others, decimal))
        .collect()
}

fn number_or_code(
    text: &[u8],
    row: u64,
    others: &mut Dictionary,
    decimal: DecimalMark,
) -> Option<f64> {
    match decimal.number(text) {
        Some(number) => Some(number),
        None => others.code(text, row).map(not_a_number),
    }
}

fn value_of(code: TextCode, of_text: &[f64]) -> f64 {
    if code == NULL {
        not_a_number(NULL)
    } else {
        of_text[usize::from(code)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POINT: DecimalMark = DecimalMark::Point;

    fn cells(texts: &[String], first_row: u64) -> Cells {
        let mut cells = Cells::default();
        for (row, text) in (first_row..).zip(texts) {
            cells.push(text.as_bytes(), row, POINT);
        }
        cells
    }

    /// What a column holds, in a form that can be compared.
    fn content(cells: &Cells) -> String {
        match cells {
            Cells::Texts { dictionary, codes } => {
                let texts: Vec<_> = dictionary.texts().collect();
                format!("texts {texts:?} {:?}", codes.iter().collect::<Vec<_>>())
            }
            Cells::Numbers { values, others } => {
                let others: Vec<_> = others.texts().collect();
                let bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
                format!("numbers {others:?} {bits:?}")
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn codes_widen_when_a_byte_is_not_enough() {
        let texts: Vec<String> = (0..300).map(|number| format!("t{number}")).collect();
        let mut cells = cells(&texts, 2);
        cells.push_null();
        cells.push(b"t7", 999, POINT);
        let Cells::Texts { codes, .. } = cells else {
            panic!("texts expected")
        };
        let expected: Vec<TextCode> = (0..300).chain([NULL, 7]).collect();
        assert_eq!(codes.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn very_many_numbers_are_kept_as_numbers_with_the_odd_texts_beside_them() {
        let mut texts: Vec<String> = (0..70_000).map(|number| number.to_string()).collect();
        texts[3] = "unknown".into();
        texts.push("NA".into());
        let Cells::Numbers { values, others } = cells(&texts, 2) else {
            panic!("numbers expected")
        };
        assert_eq!(values.len(), 70_001);
        assert_eq!(values[69_999].to_bits(), 69_999f64.to_bits());
        assert_eq!(other_code(values[3]), Some(0));
        let others: Vec<_> = others.texts().collect();
        assert_eq!(others, [(&b"unknown"[..], 5), (b"NA", 70_002)]);
    }

    #[test]
    fn very_many_texts_are_not_kept() {
        let texts: Vec<String> = (0..70_000).map(|number| format!("id{number}")).collect();
        assert!(matches!(cells(&texts, 2), Cells::TooMany { rows: 65_536 }));
    }

    #[test]
    fn pieces_make_the_same_column_as_the_whole_also_beyond_the_limits() {
        let limit = Dictionary::MAX_TEXTS;
        let mut mixed: Vec<String> = (0..limit).map(|number| format!("{number}.5")).collect();
        mixed.extend((0..1000).map(|number| format!("odd{number}")));
        let many: Vec<String> = (0..limit + 1000)
            .map(|number| format!("id{number}"))
            .collect();
        for texts in [mixed, many] {
            let whole = content(&cells(&texts, 2));
            for at in [1, 500, limit / 2, limit, limit + 1, limit + 900] {
                let mut joined = cells(&texts[..at], 2);
                joined.append(cells(&texts[at..], 2 + at as u64), POINT);
                match (&joined, whole.starts_with("TooMany")) {
                    (Cells::TooMany { .. }, true) => {}
                    _ => assert!(content(&joined) == whole, "{at}"),
                }
            }
        }
    }

    #[test]
    fn a_piece_of_numbers_follows_numbers() {
        let mut column = cells(
            &(0..70_000)
                .map(|number| number.to_string())
                .collect::<Vec<_>>(),
            2,
        );
        let mut piece = Cells::of_numbers();
        piece.push(b"x", 70_002, POINT);
        piece.push(b"1.50", 70_003, POINT);
        piece.push_null();
        column.append(piece, POINT);
        let Cells::Numbers { values, others } = column else {
            panic!("numbers expected")
        };
        assert_eq!(others.texts().collect::<Vec<_>>(), [(&b"x"[..], 70_002)]);
        assert_eq!(other_code(values[70_000]), Some(0));
        assert_eq!(values[70_001].to_bits(), 1.5f64.to_bits());
        assert_eq!(other_code(values[70_002]), Some(NULL));
    }

    proptest! {
        #[test]
        fn a_column_does_not_depend_on_its_pieces(
            texts in prop::collection::vec("[a-d]{0,2}|[0-9]{1,3}|[a-b]{9}", 1..600),
            cuts in prop::collection::vec(0usize..600, 0..5),
        ) {
            let whole = content(&cells(&texts, 2));
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(texts.len())).collect();
            cuts.extend([0, texts.len()]);
            cuts.sort_unstable();
            let mut joined = Cells::default();
            for cut in cuts.windows(2) {
                joined.append(cells(&texts[cut[0]..cut[1]], 2 + cut[0] as u64), POINT);
            }
            prop_assert_eq!(content(&joined), whole);
        }
    }
}
