//! A table as a file has it: named columns of cells that nobody has given a meaning yet.
//!
//! Every source (CSV, Parquet, Arrow, JSON lines, Excel) makes one of these; `variables` then turns
//! its columns into variables, by the same rules for all.

use super::cells::Cells;

/// What was read.
#[derive(Clone, Debug)]
pub(crate) struct RawTable {
    /// The columns in the file's order.
    pub(crate) columns: Vec<RawColumn>,
    pub(crate) rows: usize,
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct RawColumn {
    /// The name; empty if the file has none.
    pub(crate) name: String,
    pub(crate) cells: Cells,
    /// The file lists the values that the column may have, in this order: its first so many texts.
    pub(crate) levels: Option<usize>,
}
