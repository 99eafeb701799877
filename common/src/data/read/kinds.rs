//! What a column holds, as far as its cells tell.

use super::cells::{Cells, other_code};
use super::dates::is_date;
use super::dictionary::{Dictionary, NULL, TextCode};
use super::missing::MissingMarkers;
use super::number::DecimalMark;
use super::raw_table::RawColumn;
use crate::data::Variable;
use std::fmt;

/// Most states of a column of numbers that is taken as discrete; above it, numbers are likely
/// measurements, and each would be a state of its own.
pub(crate) const MAX_NUMERIC_STATES: usize = 32;

/// Fewest cells from which a column can be told to be an identifier.
const MIN_IDENTIFIERS: usize = 20;

/// Digits from which whole numbers that are all equally long are taken for numbers of cases,
/// telephones or seconds rather than for measurements.
const IDENTIFIER_DIGITS: usize = 8;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Texts of which each may stand in many rows.
    Category,
    /// Whole numbers.
    WholeNumber,
    /// Numbers.
    Number,
    /// Many different numbers, and some texts that are none.
    Mixed,
    /// Dates.
    Date,
    /// Nearly every cell is different, and tells a row from the others.
    Identifier,
    /// One value in all rows.
    Constant,
    /// No value in any row.
    Empty,
}

impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Category => "category",
            Self::WholeNumber => "whole number",
            Self::Number => "number",
            Self::Mixed => "numbers and words",
            Self::Date => "date",
            Self::Identifier => "identifier",
            Self::Constant => "constant",
            Self::Empty => "empty",
        })
    }
}

/// What was found out about a column.
pub(crate) struct Study {
    pub(crate) kind: ColumnKind,
    /// How many different values there are; numbers that are equal are one.
    pub(crate) distinct: usize,
    /// How many cells have no value.
    pub(crate) missing: usize,
    /// The row of the first of them.
    pub(crate) first_missing: Option<u64>,
    /// The texts that stand for a missing cell, with how often.
    pub(crate) markers: Vec<(String, usize)>,
    /// By text: whether it stands for a missing cell.
    pub(crate) is_marker: Vec<bool>,
    /// By text: in how many cells it stands.
    pub(crate) counts: Vec<usize>,
    /// Texts that are no numbers in a column of many numbers, most frequent first.
    pub(crate) odd: Vec<(String, usize)>,
    /// Whether all values are numbers.
    pub(crate) is_numeric: bool,
    /// A text that is not valid: why, and its row.
    pub(crate) invalid: Option<(InvalidText, u64)>,
}

/// Why a text cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvalidText {
    NotUtf8,
}

/// Looks at a column.
pub(crate) fn study(
    column: &RawColumn,
    rows: usize,
    markers: &MissingMarkers<'_>,
    decimal: DecimalMark,
) -> Study {
    match &column.cells {
        Cells::Texts { dictionary, codes } => {
            let mut counts = vec![0; usize::from(NULL) + 1];
            let mut first_null = None;
            for (row, code) in (1..).zip(codes.iter()) {
                counts[usize::from(code)] += 1;
                if code == NULL && first_null.is_none() {
                    first_null = Some(row);
                }
            }
            let mut study = Study::of_texts(dictionary, &counts, first_null, markers);
            study.judge_texts(column, dictionary, decimal);
            study
        }
        Cells::Numbers { values, others } => {
            let mut counts = vec![0; usize::from(NULL) + 1];
            let mut first_null = None;
            for (row, code) in (1..)
                .zip(values)
                .filter_map(|(row, &value)| Some((row, other_code(value)?)))
            {
                counts[usize::from(code)] += 1;
                if code == NULL && first_null.is_none() {
                    first_null = Some(row);
                }
            }
            let mut study = Study::of_texts(others, &counts, first_null, markers);
            study.judge_numbers(column, values, others);
            study
        }
        Cells::TooMany { rows: rows_then } => {
            let nearly_all = is_nearly_all(Dictionary::MAX_TEXTS, *rows_then);
            Study::nothing(
                if nearly_all {
                    ColumnKind::Identifier
                } else {
                    ColumnKind::Category
                },
                Dictionary::MAX_TEXTS + 1,
            )
        }
        Cells::Unwanted => Study::nothing(ColumnKind::Category, rows.min(1)),
    }
}

/// Returns whether nearly every cell is different.
fn is_nearly_all(distinct: usize, cells: usize) -> bool {
    cells >= MIN_IDENTIFIERS && 10 * distinct >= 9 * cells
}

impl Study {
    fn nothing(kind: ColumnKind, distinct: usize) -> Self {
        Self {
            kind,
            distinct,
            missing: 0,
            first_missing: None,
            markers: Vec::new(),
            is_marker: Vec::new(),
            counts: Vec::new(),
            odd: Vec::new(),
            is_numeric: false,
            invalid: None,
        }
    }

    /// Counts texts and missing cells.
    fn of_texts(
        dictionary: &Dictionary,
        counts: &[usize],
        first_null: Option<u64>,
        markers: &MissingMarkers<'_>,
    ) -> Self {
        let mut study = Self::nothing(ColumnKind::Empty, 0);
        study.first_missing = first_null;
        study.missing = counts[usize::from(NULL)];
        if study.missing > 0 {
            study.markers.push((String::new(), study.missing));
        }
        study.counts = counts[..dictionary.len()].to_vec();
        for ((text, row), &count) in dictionary.texts().zip(counts) {
            let is_marker = markers.has(text);
            study.is_marker.push(is_marker);
            if is_marker && count > 0 {
                study.missing += count;
                study.markers.push((lossy(text), count));
                let first = study.first_missing.map_or(row, |first| first.min(row));
                study.first_missing = Some(first);
            }
            if std::str::from_utf8(text).is_err() && study.invalid.is_none() {
                study.invalid = Some((InvalidText::NotUtf8, row));
            }
        }
        study
    }

    /// Returns the codes of the texts that stand in cells and are values.
    fn present(&self) -> impl Iterator<Item = (TextCode, usize)> {
        (0..)
            .zip(&self.counts)
            .zip(&self.is_marker)
            .filter(|((_, count), is_marker)| **count > 0 && !**is_marker)
            .map(|((code, count), _)| (code, *count))
    }

    fn judge_texts(&mut self, column: &RawColumn, dictionary: &Dictionary, decimal: DecimalMark) {
        let texts: Vec<(&[u8], usize)> = self
            .present()
            .map(|(code, count)| (dictionary.text(code), count))
            .collect();
        let cells: usize = texts.iter().map(|(_, count)| count).sum();
        let mut numbers = Vec::new();
        let mut number_cells = 0;
        let mut odd = Vec::new();
        for &(text, count) in &texts {
            match decimal.number(text) {
                Some(number) => {
                    numbers.push(number);
                    number_cells += count;
                }
                None => odd.push((lossy(text), count)),
            }
        }
        // 007 is a code, not a number.
        let codes = texts.iter().any(|(text, _)| has_leading_zero(text));
        let distinct_numbers = distinct(&mut numbers);
        self.distinct = texts.len();
        self.is_numeric = number_cells == cells && cells > 0 && !codes;
        if self.is_numeric {
            self.distinct = distinct_numbers;
        }
        self.kind = if cells == 0 {
            ColumnKind::Empty
        } else if texts.len() == 1 {
            ColumnKind::Constant
        } else if self.is_numeric {
            self.kind_of_numbers(column, &numbers, cells)
        } else if !codes && 2 * number_cells > cells && distinct_numbers > MAX_NUMERIC_STATES {
            odd.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            self.odd = odd;
            ColumnKind::Mixed
        } else if texts
            .iter()
            .all(|(text, _)| std::str::from_utf8(text).is_ok_and(is_date))
        {
            ColumnKind::Date
        } else if is_nearly_all(self.distinct, cells) {
            ColumnKind::Identifier
        } else {
            ColumnKind::Category
        };
    }

    fn judge_numbers(&mut self, column: &RawColumn, values: &[f64], others: &Dictionary) {
        let mut numbers: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
        let cells = numbers.len();
        let mut odd: Vec<(String, usize)> = self
            .present()
            .map(|(code, count)| (lossy(others.text(code)), count))
            .collect();
        self.distinct = distinct(&mut numbers) + odd.len();
        self.is_numeric = odd.is_empty();
        self.kind = if self.is_numeric {
            self.kind_of_numbers(column, &numbers, cells)
        } else {
            odd.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            self.odd = odd;
            ColumnKind::Mixed
        };
    }

    /// Tells measurements from identifiers; `numbers` are in order, each once.
    fn kind_of_numbers(&self, column: &RawColumn, numbers: &[f64], cells: usize) -> ColumnKind {
        if numbers.iter().any(|number| number.fract() != 0.0) {
            return ColumnKind::Number;
        }
        let (Some(&least), Some(&greatest)) = (numbers.first(), numbers.last()) else {
            return ColumnKind::Empty;
        };
        let dense = greatest - least < 1.2 * numbers.len() as f64;
        let digits = |number: f64| format!("{number:.0}").len();
        let long =
            least > 0.0 && digits(least) >= IDENTIFIER_DIGITS && digits(least) == digits(greatest);
        if is_nearly_all(numbers.len(), cells) && (dense || long || names_identifier(&column.name))
        {
            return ColumnKind::Identifier;
        }
        ColumnKind::WholeNumber
    }

    /// Returns the most frequent values with how often each stands.
    pub(crate) fn most_frequent(&self, cells: &Cells, most: usize) -> Vec<(String, usize)> {
        let Cells::Texts { dictionary, .. } = cells else {
            return Vec::new();
        };
        let mut present: Vec<(TextCode, usize)> = self.present().collect();
        present.sort_by(|a, b| {
            b.1.cmp(&a.1)
                .then_with(|| dictionary.text(a.0).cmp(dictionary.text(b.0)))
        });
        present
            .into_iter()
            .take(most)
            .map(|(code, count)| (lossy(dictionary.text(code)), count))
            .collect()
    }

    /// Returns whether the column can be a variable with its values as states.
    pub(crate) fn has_few_states(&self) -> bool {
        self.distinct <= Variable::MAX_STATES
    }
}

/// Sorts numbers, leaves each once and returns how many there are; 0 and -0 are one.
fn distinct(numbers: &mut Vec<f64>) -> usize {
    for number in numbers.iter_mut() {
        *number += 0.0;
    }
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.dedup_by(|a, b| a.total_cmp(b).is_eq());
    numbers.len()
}

/// Returns whether a text begins with a zero and another digit.
fn has_leading_zero(text: &[u8]) -> bool {
    matches!(text, [b'0', second, ..] if second.is_ascii_digit())
}

/// Returns whether a name says that the column tells rows apart: `id`, `patient_id`, `caseID`, `uuid`.
fn names_identifier(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for character in name.chars() {
        let begins_word = character.is_uppercase() && before.is_lowercase();
        if !character.is_alphanumeric() || begins_word {
            words.push(String::new());
        }
        if character.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(character.to_lowercase());
        }
        before = character;
    }
    words.iter().any(|word| {
        [
            "id", "ids", "uuid", "guid", "index", "idx", "key", "row", "rownum", "rowid", "record",
        ]
        .contains(&word.as_str())
    })
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn studied(name: &str, cells: impl IntoIterator<Item = String>) -> Study {
        let mut column = RawColumn {
            name: name.into(),
            cells: Cells::default(),
            levels: None,
        };
        let mut rows = 0;
        for (row, cell) in (2..).zip(cells) {
            column.cells.push(cell.as_bytes(), row, DecimalMark::Point);
            rows += 1;
        }
        study(
            &column,
            rows,
            &MissingMarkers::new(None),
            DecimalMark::Point,
        )
    }

    fn kind(name: &str, cells: impl IntoIterator<Item = String>) -> ColumnKind {
        studied(name, cells).kind
    }

    fn texts<const N: usize>(cells: [&str; N]) -> [String; N] {
        cells.map(String::from)
    }

    #[test]
    fn kinds_are_told() {
        use ColumnKind::*;
        assert_eq!(kind("a", texts(["x", "y", "x"])), Category);
        assert_eq!(kind("a", texts(["x", "", "x"])), Constant);
        assert_eq!(kind("a", texts(["NA", "", "?"])), Empty);
        assert_eq!(kind("a", texts(["1", "2", "3"])), WholeNumber);
        assert_eq!(kind("a", texts(["1", "2.5", "1e3"])), Number);
        assert_eq!(kind("a", texts(["007", "012", "3"])), Category);
        assert_eq!(kind("a", texts(["2024-01-31", "2024-02-01"])), Date);
        let names = (0..30).map(|number| format!("person {number}"));
        assert_eq!(kind("name", names), Identifier);
    }

    #[test]
    fn row_numbers_and_long_codes_are_identifiers_and_measurements_are_not() {
        use ColumnKind::*;
        assert_eq!(kind("nr", (1..=100).map(|n| n.to_string())), Identifier);
        let spread = |factor: u64| (1..=100u64).map(move |n| (20_000 + n * n * factor).to_string());
        assert_eq!(kind("income", spread(7)), WholeNumber);
        assert_eq!(kind("Patient ID", spread(7)), Identifier);
        assert_eq!(kind("patientId", spread(7)), Identifier);
        assert_eq!(
            kind(
                "phone",
                (1..=100u64).map(|n| (10_000_000 + 9173 * n).to_string())
            ),
            Identifier
        );
        assert_eq!(kind("idea", spread(7)), WholeNumber);
        assert_eq!(kind("height", (1..=100).map(|n| format!("1.{n}"))), Number);
        // Few cells tell nothing.
        assert_eq!(kind("nr", (1..=10).map(|n| n.to_string())), WholeNumber);
    }

    #[test]
    fn words_among_many_numbers_are_named() {
        let mut cells: Vec<String> = (0..200).map(|n| (n % 42).to_string()).collect();
        cells.extend(texts(["unknown", "unknown", "ninety", "NA"]));
        let found = studied("age", cells);
        assert_eq!(found.kind, ColumnKind::Mixed);
        let odd = [("unknown".to_string(), 2), ("ninety".to_string(), 1)];
        assert_eq!(found.odd, odd);
        assert_eq!(found.missing, 1);
        assert_eq!(found.first_missing, Some(205));
        // A short scale may have a word.
        let scale = ["0", "1", "2", "3+"].map(String::from);
        assert_eq!(kind("children", scale), ColumnKind::Category);
    }

    #[test]
    fn columns_beyond_the_dictionary_are_judged_too() {
        let many = 80_000u64;
        let found = studied("income", (0..many).map(|n| (n * 37).to_string()));
        assert_eq!(found.kind, ColumnKind::WholeNumber);
        assert_eq!(found.distinct, 80_000);
        let rows = studied("nr", (0..many).map(|n| n.to_string()));
        assert_eq!(rows.kind, ColumnKind::Identifier);
        let names = studied("name", (0..many).map(|n| format!("n{n}")));
        assert_eq!(names.kind, ColumnKind::Identifier);
        let odd = studied(
            "income",
            (0..many).map(|n| n.to_string()).chain(texts(["much"])),
        );
        assert_eq!(odd.kind, ColumnKind::Mixed);
    }
}
