//! Why a file in a format other than text does not make a table.

use super::MAX_CELL_BYTES;
use super::content::Foreign;
use super::encoding::NoText;
use super::json_lines::JsonError;
use crate::data::{SourceError, Table};
use crate::ids::NodeIdx;
use thiserror::Error;

/// Most cells of a table, rows times columns: formats with types hold a column without values in
/// a few bytes, and each of its cells takes a byte here.
pub(crate) const MAX_CELLS: u64 = 4 << 30;

/// Why a file does not make a table.
#[derive(Debug, Error)]
pub enum FormatError {
    /// The bytes cannot be had.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The format is not read.
    #[error("cannot read the file: {0}")]
    Foreign(#[from] Foreign),
    /// The bytes are no text in the encoding.
    #[error("cannot read the file: {0}")]
    NoText(#[from] NoText),
    /// The file breaks the rules of its format.
    #[error("cannot read the {format}: {problem}; the file is damaged or of an unknown kind")]
    Damaged {
        /// What it is.
        format: &'static str,
        /// What its reader says.
        problem: String,
    },
    /// A column holds what is no value of a variable.
    #[error(
        "column \"{}\" holds {held}, not single values; leave the column out",
        .column.escape_debug()
    )]
    NoValues {
        /// The column.
        column: String,
        /// What it holds: lists, bytes.
        held: String,
    },
    /// There are more rows than a table can hold.
    #[error("the file has more than {max} rows, the most that is possible", max = Table::MAX_ROWS)]
    TooManyRows,
    /// There are more columns than variables are possible.
    #[error("the file has {0} columns; at most {max} are possible", max = NodeIdx::MAX_NODES)]
    TooManyColumns(usize),
    /// Rows times columns is too much.
    #[error("the file has more than {MAX_CELLS} cells, the most that is possible")]
    TooManyCells,
    /// The file unpacks to too many bytes.
    #[error("the {format} unpacks to more than {limit} bytes, the most that is taken")]
    TooLarge {
        /// What it is.
        format: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A cell's text is too long.
    #[error(
        "row {row}, column \"{}\": the cell is longer than {MAX_CELL_BYTES} bytes, the most that is possible",
        .column.escape_debug()
    )]
    CellTooLong {
        /// The row, counted from 1.
        row: u64,
        /// The column.
        column: String,
    },
    /// JSON lines that are none.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A workbook without a sheet that has a cell.
    #[error("the first sheet of the workbook is empty; expected a header and rows")]
    EmptySheet,
}

impl FormatError {
    pub(super) fn damaged(format: &'static str, problem: impl std::fmt::Display) -> Self {
        Self::Damaged {
            format,
            problem: problem.to_string(),
        }
    }
}

/// Says whether a table of this size can be held.
pub(super) fn check_size(rows: usize, columns: usize) -> Result<(), FormatError> {
    if columns > NodeIdx::MAX_NODES {
        return Err(FormatError::TooManyColumns(columns));
    }
    if rows > Table::MAX_ROWS {
        return Err(FormatError::TooManyRows);
    }
    if (rows as u64).saturating_mul(columns as u64) > MAX_CELLS {
        return Err(FormatError::TooManyCells);
    }
    Ok(())
}
