//! Why text does not make a table. Each message is one sentence that says where, what, and what
//! was expected; the path is left to the caller, who knows it.

use super::format_error::FormatError;
use super::kinds::MAX_NUMERIC_STATES;
use super::{MAX_CELL_BYTES, MAX_NAME_BYTES};
use crate::data::{SchemaError, SourceError, TableError, Variable};
use crate::ids::NodeIdx;
use std::fmt;
use thiserror::Error;

/// Most states and characters that a message shows of a long list or text.
const MAX_SHOWN_STATES: usize = 12;
const MAX_SHOWN_CHARACTERS: usize = 60;

/// Most texts that a message shows with how often they stand.
const MAX_COUNTED: usize = 4;

/// A cell of the file, as a person counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line of the file on which the row begins; the first line, mostly the header, is 1.
    pub row: u64,
    /// The column.
    pub column: PlaceColumn,
}

/// A column, by name where it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceColumn {
    /// A column with a name.
    Named(String),
    /// A cell of the header, or one for which the header has no name, counted from 1.
    Numbered(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.column {
            PlaceColumn::Named(name) => write!(f, "row {}, column {}", self.row, shown(name)),
            PlaceColumn::Numbered(number) => write!(f, "row {}, column {number}", self.row),
        }
    }
}

/// Why a table cannot be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The bytes cannot be had.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A file in another format than text holds no table.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// There is no header.
    #[error("the file is empty; expected a header line and rows below it")]
    Empty,
    /// There are not enough rows.
    #[error("{}; expected at least {}", few_rows(*.read, *.kept), rows(*.least))]
    TooFewRows {
        /// How many rows the file has below the header.
        read: usize,
        /// How many of them have no missing cell.
        kept: usize,
        /// How many there must be.
        least: usize,
    },
    /// There are more rows than a table can hold.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The header makes no schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A row is longer or shorter than the header.
    #[error(
        "row {row} has {found} {} where the header has {expected}",
        if *.found == 1 { "cell" } else { "cells" }
    )]
    Ragged {
        /// The line of the file.
        row: u64,
        /// How many cells it has.
        found: usize,
        /// How many the header has.
        expected: usize,
        /// It, or the header, looks like a comment.
        is_comment: bool,
    },
    /// A row has more cells than there can be variables.
    #[error("row {row} has more than {max} cells; at most {max} columns are possible", max = NodeIdx::MAX_NODES)]
    TooManyCells {
        /// The line of the file.
        row: u64,
    },
    /// Two columns have one name.
    #[error(
        "the header has the name {} twice, in columns {first} and {second}; expected different names",
        shown(.name)
    )]
    DuplicateName {
        /// The name.
        name: String,
        /// The first column with it, counted from 1.
        first: usize,
        /// The second.
        second: usize,
    },
    /// A column has no name.
    #[error("the header has no name for column {column}; expected a name for every column")]
    EmptyName {
        /// The column, counted from 1.
        column: usize,
    },
    /// A declared variable is not in the file.
    #[error("the schema declares the variable {}, but the table has no such column", shown(.0))]
    MissingVariable(String),
    /// Somebody named a column that is not there.
    #[error("no column is called {}, which is named {wish}", shown(.name))]
    UnknownColumn {
        /// The name.
        name: String,
        /// What was to be done with it.
        wish: &'static str,
    },
    /// The table has one column.
    #[error("{}; expected at least two columns", one_column(.name))]
    OneColumn {
        /// Its name.
        name: String,
    },
    /// Too few columns are used.
    #[error(
        "{} of {of} columns {} left; expected at least {least}",
        if *.left == 0 { "none".to_string() } else { left.to_string() },
        if *.left == 1 { "is" } else { "are" }
    )]
    TooFewColumns {
        /// How many are used.
        left: usize,
        /// How many the table has.
        of: usize,
        /// How many there must be.
        least: usize,
    },
    /// The file is a network.
    #[error("it is a network ({0}); expected a table")]
    IsNetwork(&'static str),
    /// Several columns cannot be used.
    #[error("{first} (and {more} more {})", if *.more == 1 { "problem" } else { "problems" })]
    Several {
        /// The first problem.
        first: Box<LoadError>,
        /// How many more there are.
        more: usize,
    },
    /// A cell is not UTF-8.
    #[error("cannot parse {0}: the cell is not valid UTF-8; expected UTF-8 text")]
    NotUtf8(Place),
    /// A NUL byte.
    #[error("cannot parse {0}: the cell holds a NUL byte; expected text, not binary data")]
    Nul(Place),
    /// A cell is too long.
    #[error(
        "cannot parse {place}: the cell is longer than {limit} bytes, the most that is possible{}",
        if *.quoted { " (a closing quote may be missing)" } else { "" }
    )]
    CellTooLong {
        /// Where.
        place: Place,
        /// The limit that it passes.
        limit: usize,
        /// Whether it began with a quote.
        quoted: bool,
    },
    /// Text between a closing quote and the delimiter.
    #[error(
        "cannot parse {0}: there is text behind the closing quote; expected the next cell \
         (a quote inside a quoted cell is written as two)"
    )]
    TextAfterQuote(Place),
    /// The file ends inside a quoted cell.
    #[error("cannot parse {0}: the file ends inside the quoted cell; expected a closing quote")]
    OpenQuote(Place),
    /// A cell is none of the declared states.
    #[error(
        "cannot parse {place}: state {} is not in the schema (expected {}one of: {})",
        shown(.found), if *.cuts { "a number or " } else { "" }, list(.expected)
    )]
    UnknownState {
        /// Where.
        place: Place,
        /// What stands there.
        found: String,
        /// The declared states.
        expected: Vec<String>,
        /// The states are intervals of numbers.
        cuts: bool,
    },
    /// A column has more states than a table cell can hold.
    #[error(
        "column {} has more than {max} different values; expected a discrete variable{}",
        shown(.column),
        if *.decimal_commas { " (its values look like numbers with a decimal comma)" } else { "" },
        max = Variable::MAX_STATES
    )]
    TooManyStates {
        /// The column.
        column: String,
        /// With a comma for a decimal mark they would be numbers.
        decimal_commas: bool,
    },
    /// A column holds measurements rather than states.
    #[error(
        "column {} holds {distinct} different numbers; expected at most \
         {MAX_NUMERIC_STATES}: put them into bins, or declare the column's states",
        shown(.column)
    )]
    ManyNumbers {
        /// The column.
        column: String,
        /// How many different numbers it has.
        distinct: usize,
    },
    /// A column of many numbers holds other texts too.
    #[error(
        "column {} holds numbers, but also {}; expected numbers only",
        shown(.column), counted(.odd)
    )]
    OddValues {
        /// The column.
        column: String,
        /// The texts that are no numbers, with how often each stands, most frequent first.
        odd: Vec<(String, usize)>,
    },
    /// A column that is to be put into bins holds other texts than numbers.
    #[error(
        "column {} is to be put into bins, but holds {}; expected numbers",
        shown(.column), shown(.example)
    )]
    NotNumbers {
        /// The column.
        column: String,
        /// One of the texts.
        example: String,
    },
    /// There are missing cells, and none are allowed.
    #[error(
        "{} missing (as {}), most in {}, the first at {first}; expected complete rows: without such \
         rows {} of {of} would be left",
        missing(*.cells, *.rows), counted(.markers), counted_columns(.columns), of - rows
    )]
    Missing {
        /// How many cells.
        cells: usize,
        /// How many rows have one.
        rows: usize,
        /// How many rows there are.
        of: usize,
        /// The columns with missing cells and how many each has, most first.
        columns: Vec<(String, usize)>,
        /// What stands in these cells, and how often.
        markers: Vec<(String, usize)>,
        /// Where the first is.
        first: Place,
    },
}

impl LoadError {
    pub(super) fn name_too_long(place: Place, quoted: bool) -> Self {
        Self::CellTooLong {
            place,
            limit: MAX_NAME_BYTES,
            quoted,
        }
    }

    pub(super) fn cell_too_long(place: Place, quoted: bool) -> Self {
        Self::CellTooLong {
            place,
            limit: MAX_CELL_BYTES,
            quoted,
        }
    }
}

/// Quotes text from a file for a message: control characters are escaped, long text is cut.
pub(crate) fn shown(text: &str) -> String {
    let mut quoted = String::from("\"");
    for (position, character) in text.chars().enumerate() {
        if position == MAX_SHOWN_CHARACTERS {
            quoted.push('…');
            break;
        }
        quoted.extend(character.escape_debug());
    }
    quoted.push('"');
    quoted
}

pub(crate) fn list(states: &[String]) -> String {
    let names: Vec<String> = states
        .iter()
        .take(MAX_SHOWN_STATES)
        .map(|state| {
            let quoted = shown(state);
            let plain = &quoted[1..quoted.len() - 1];
            // Quotes only where the list would be unclear without them.
            let unclear = plain.is_empty() || plain.contains([',', ' ', '\\']);
            if unclear { quoted } else { plain.to_string() }
        })
        .collect();
    let more = states.len().saturating_sub(MAX_SHOWN_STATES);
    let names = names.join(", ");
    if more == 0 {
        names
    } else {
        format!("{names} and {more} more")
    }
}

fn rows(count: usize) -> String {
    match count {
        1 => "1 row".to_owned(),
        _ => format!("{count} rows"),
    }
}

fn few_rows(read: usize, kept: usize) -> String {
    match (read, kept) {
        (0, _) => "the file has a header but no rows".to_string(),
        (1, 1) => "the file has only 1 row below the header".to_string(),
        (_, 1) => format!("only 1 of {read} rows has no missing cell"),
        _ => format!("each of the {read} rows has a missing cell"),
    }
}

fn missing(cells: usize, rows: usize) -> String {
    match (cells, rows) {
        (1, _) => "1 cell is".to_string(),
        (_, 1) => format!("{cells} cells in 1 row are"),
        _ => format!("{cells} cells in {rows} rows are"),
    }
}

/// Lists the first few texts with how often each stands.
fn counted(texts: &[(String, usize)]) -> String {
    let shown_texts = texts.iter().take(MAX_COUNTED).map(|(text, count)| {
        let text = if text.is_empty() {
            "empty".to_string()
        } else {
            shown(text)
        };
        format!("{text} {count}x")
    });
    with_more(shown_texts.collect(), texts.len())
}

/// Lists the first few columns with how many cells of each.
fn counted_columns(columns: &[(String, usize)]) -> String {
    let shown_columns = columns
        .iter()
        .take(MAX_COUNTED)
        .map(|(name, count)| format!("{} ({count})", shown(name)));
    with_more(shown_columns.collect(), columns.len())
}

fn with_more(shown: Vec<String>, of: usize) -> String {
    let more = of - shown.len();
    let shown = shown.join(", ");
    if more == 0 {
        shown
    } else {
        format!("{shown} and {more} more")
    }
}

/// Says that there is one column, and what in its name looks like a separator.
fn one_column(name: &str) -> String {
    let separators = [";", "|", "\t", ":", "/", ","];
    let found = separators.iter().find(|mark| name.contains(**mark));
    match found {
        Some(mark) => format!(
            "the table has one column, {}, whose name holds {}: that may be the separator",
            shown(name),
            shown(mark)
        ),
        None => format!("the table has one column, {}", shown(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_files_is_shown_safely() {
        assert_eq!(shown("né\u{1b}[1m\n"), "\"né\\u{1b}[1m\\n\"");
        assert_eq!(shown(&"x".repeat(100)), format!("\"{}…\"", "x".repeat(60)));
    }

    #[test]
    fn long_lists_are_cut() {
        let states: Vec<String> = (0..15).map(|state| state.to_string()).collect();
        assert_eq!(
            list(&states),
            "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 3 more"
        );
        assert_eq!(
            list(&["a b".into(), String::new(), "c".into()]),
            "\"a b\", \"\", c"
        );
    }

    #[test]
    fn few_rows_are_counted_in_words() {
        let error = |read, kept| {
            let least = 2;
            LoadError::TooFewRows { read, kept, least }.to_string()
        };
        assert_eq!(
            error(9, 1),
            "only 1 of 9 rows has no missing cell; expected at least 2 rows"
        );
        assert_eq!(
            error(9, 0),
            "each of the 9 rows has a missing cell; expected at least 2 rows"
        );
    }
}
