//! What loading a table did: rows kept and dropped, and what became of each column.

use super::bins::Bins;
use super::delimiter::Delimiter;
use super::encoding::Encoding;
use super::kinds::ColumnKind;
use std::fmt;

/// What a person should know about a loaded table.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadReport {
    /// What kind of file it was.
    pub format: TableFormat,
    /// What stood between the cells, if it was text.
    pub delimiter: Option<Delimiter>,
    /// The encoding of the text, if it was not UTF-8.
    pub encoding: Option<Encoding>,
    /// Rows of the file.
    pub rows_read: usize,
    /// Rows of the table.
    pub rows_kept: usize,
    /// Rows left out for a missing cell.
    pub rows_dropped: usize,
    /// Which rows these are, from 0.
    pub dropped: Vec<usize>,
    /// The columns in the file's order.
    pub columns: Vec<ColumnReport>,
    /// What a person should look at, a sentence each.
    pub warnings: Vec<String>,
}

/// A kind of file that holds a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableFormat {
    /// Delimited text.
    #[default]
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, also called Feather.
    Arrow,
    /// One JSON object a line, or an array of them.
    JsonLines,
    /// A spreadsheet.
    Spreadsheet,
    /// Columns that a program handed over.
    Memory,
}

impl fmt::Display for TableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "text",
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
            Self::JsonLines => "JSON",
            Self::Spreadsheet => "spreadsheet",
            Self::Memory => "memory",
        })
    }
}

/// What a person should know about one column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnReport {
    /// The column's name; empty if the file has none.
    pub name: String,
    /// What the column holds.
    pub kind: ColumnKind,
    /// What became of it.
    pub used: ColumnUse,
    /// How many different values it has.
    pub distinct: usize,
    /// How many states the variable has; 0 if it is none.
    pub states: usize,
    /// How many of them occur; fewer than `states` only for a declared variable.
    pub occurring_states: usize,
    /// How many of its cells are missing.
    pub missing_cells: usize,
    /// Its most frequent values, with how often each stands.
    pub most_frequent: Vec<(String, usize)>,
    /// The increasing cut points, if its numbers were put into bins: each is the greatest value
    /// of its bin, the last bin has none.
    pub cut_points: Option<Vec<f64>>,
}

/// What becomes of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnUse {
    /// Its states, or its cut points, are declared.
    Declared,
    /// Its values are its states.
    States,
    /// Its numbers are put into bins.
    Binned(Bins),
    /// It is not in the table.
    LeftOut(LeftOut),
    /// It keeps the table from being used.
    Refused,
}

/// Why a column is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Somebody said so.
    Unwanted,
    /// It has no name and stands first.
    RowNumbers,
    /// Nearly all values are different.
    Identifier,
    /// Many different dates.
    Dates,
    /// It has no values.
    Empty,
}

impl ColumnReport {
    /// Returns whether the column is a variable whose rows all have one value.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        let is_variable = !matches!(self.used, ColumnUse::LeftOut(_) | ColumnUse::Refused);
        is_variable && self.occurring_states == 1
    }
}

impl LoadReport {
    /// Starts a report on a table with so many rows.
    pub(crate) fn of_rows(rows: usize) -> Self {
        Self {
            format: TableFormat::default(),
            delimiter: None,
            encoding: None,
            rows_read: rows,
            rows_kept: rows,
            rows_dropped: 0,
            dropped: Vec::new(),
            columns: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Returns the names of the columns with one value only, which no search can use.
    pub fn constants(&self) -> impl Iterator<Item = &str> {
        self.columns
            .iter()
            .filter(|column| column.is_constant())
            .map(|column| column.name.as_str())
    }

    /// Returns the columns that were put into bins.
    pub fn binned(&self) -> impl Iterator<Item = &ColumnReport> {
        self.columns
            .iter()
            .filter(|column| column.cut_points.is_some())
    }

    /// Returns how many cells are missing in columns that are used.
    #[must_use]
    pub fn missing_cells(&self) -> usize {
        self.columns
            .iter()
            .filter(|column| !matches!(column.used, ColumnUse::LeftOut(_)))
            .map(|column| column.missing_cells)
            .sum()
    }
}
