//! What loading a table did: rows kept and dropped, columns binned, columns that are constant.

use super::delimiter::Delimiter;

/// What a person should know about a loaded table.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadReport {
    /// What stood between the cells.
    pub delimiter: Delimiter,
    /// Rows below the header.
    pub rows_read: usize,
    /// Rows of the table.
    pub rows_kept: usize,
    /// Rows left out for a missing cell.
    pub rows_dropped: usize,
    /// The columns in the table's order, by name.
    pub columns: Vec<ColumnReport>,
}

/// What a person should know about one column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnReport {
    /// The variable's name.
    pub name: String,
    /// How many states the variable has.
    pub states: usize,
    /// How many of them occur; fewer than `states` only for a declared variable.
    pub occurring_states: usize,
    /// Whether its states were declared in a schema.
    pub declared: bool,
    /// How many of its cells are missing, in rows that were dropped.
    pub missing_cells: usize,
    /// The increasing cut points, if its numbers were put into bins: each is the greatest value
    /// of its bin, the last bin has none.
    pub cut_points: Option<Vec<f64>>,
}

impl ColumnReport {
    /// Returns whether all rows have one value.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.occurring_states == 1
    }
}

impl LoadReport {
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

    /// Returns how many cells are missing in all.
    #[must_use]
    pub fn missing_cells(&self) -> usize {
        self.columns.iter().map(|column| column.missing_cells).sum()
    }
}
