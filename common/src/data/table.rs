//! The discrete table that everything is counted from: column-major, one byte per cell, built once
//! and then read-only.

use super::schema::{Schema, Variable};
use crate::ids::NodeIdx;
use std::sync::Arc;
use thiserror::Error;

/// Why columns do not make a table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    /// There is no row.
    #[error("the table has no rows")]
    NoRows,
    /// There is no column.
    #[error("the table has no columns")]
    NoColumns,
    /// More rows than counts can hold.
    #[error("the table has {0} rows; at most {max} are possible", max = Table::MAX_ROWS)]
    TooManyRows(usize),
    /// The number of columns is not the schema's.
    #[error("{found} columns for {expected} variables")]
    ColumnCount {
        /// How many the schema has.
        expected: usize,
        /// How many came.
        found: usize,
    },
    /// A column's length differs from the first one's.
    #[error("column {column} has {found} cells where {expected} were expected")]
    ColumnLength {
        /// Which column.
        column: usize,
        /// How many cells the first has.
        expected: usize,
        /// How many this one has.
        found: usize,
    },
    /// A cell names a state that the variable does not have.
    #[error("column {column}, row {row}: state {found} of {states}")]
    UnknownState {
        /// Which column.
        column: usize,
        /// Which row.
        row: usize,
        /// The state's number.
        found: u8,
        /// How many states the variable has.
        states: usize,
    },
}

/// A discrete data set: for each variable of the schema, the state number in each row.
///
/// ```
/// use rlbayes_common::data::{Schema, Table, Variable};
/// let coin = Variable::new("coin", vec!["heads".into(), "tails".into()]).unwrap();
/// let table = Table::new(Schema::new(vec![coin]).unwrap(), vec![vec![0, 1, 1]]).unwrap();
/// assert_eq!(table.rows(), 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    schema: Arc<Schema>,
    columns: Vec<Vec<u8>>,
    rows: usize,
}

impl Table {
    /// Largest number of rows: counts and row numbers are 32 bits wide.
    pub const MAX_ROWS: usize = 1 << 28;

    /// Makes a table from one column of state numbers per variable, in the schema's order.
    ///
    /// # Errors
    /// If the columns do not fit the schema.
    pub fn new(schema: impl Into<Arc<Schema>>, columns: Vec<Vec<u8>>) -> Result<Self, TableError> {
        let schema = schema.into();
        if columns.len() != schema.len() {
            return Err(TableError::ColumnCount {
                expected: schema.len(),
                found: columns.len(),
            });
        }
        let rows = columns.first().ok_or(TableError::NoColumns)?.len();
        if rows == 0 {
            return Err(TableError::NoRows);
        }
        if rows > Self::MAX_ROWS {
            return Err(TableError::TooManyRows(rows));
        }
        for (column, (cells, variable)) in columns.iter().zip(schema.variables()).enumerate() {
            if cells.len() != rows {
                let found = cells.len();
                return Err(TableError::ColumnLength {
                    column,
                    expected: rows,
                    found,
                });
            }
            let states = variable.arity();
            if let Some(row) = cells.iter().position(|&cell| usize::from(cell) >= states) {
                return Err(TableError::UnknownState {
                    column,
                    row,
                    found: cells[row],
                    states,
                });
            }
        }
        Ok(Self {
            schema,
            columns,
            rows,
        })
    }

    /// Returns the table with the states that occur in it, in their order.
    #[must_use]
    pub fn occurring(&self) -> Self {
        let mut variables = Vec::with_capacity(self.nodes());
        let mut columns = Vec::with_capacity(self.nodes());
        for (variable, column) in self.schema.variables().iter().zip(&self.columns) {
            let mut occurs = [false; Variable::MAX_STATES];
            for &cell in column {
                occurs[usize::from(cell)] = true;
            }
            let mut new_codes = [0; Variable::MAX_STATES];
            let mut states = Vec::new();
            let mut next = 0u8;
            for (old, state) in variable
                .states()
                .iter()
                .enumerate()
                .filter(|(old, _)| occurs[*old])
            {
                new_codes[old] = next;
                next = next.wrapping_add(1);
                states.push(state.clone());
            }
            // Some of the states of a variable, in order.
            let fewer = Variable::in_order(variable.name(), states);
            variables.push(fewer.unwrap_or_else(|_| variable.clone()));
            columns.push(
                column
                    .iter()
                    .map(|&cell| new_codes[usize::from(cell)])
                    .collect(),
            );
        }
        match Schema::new(variables)
            .map_err(|_| ())
            .and_then(|schema| Self::new(schema, columns).map_err(|_| ()))
        {
            Ok(table) => table,
            Err(()) => self.clone(),
        }
    }

    /// Returns the variables.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of variables.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.columns.len()
    }

    /// Returns a variable's state number in every row.
    #[must_use]
    pub fn column(&self, node: NodeIdx) -> &[u8] {
        &self.columns[node.index()]
    }

    /// Returns how many states a variable has.
    #[must_use]
    pub fn arity(&self, node: NodeIdx) -> usize {
        self.schema.variable(node).arity()
    }

    /// Returns whether a column holds one value only; such a variable stays out of the search.
    #[must_use]
    pub fn is_constant(&self, node: NodeIdx) -> bool {
        let column = self.column(node);
        column.iter().all(|&cell| cell == column[0])
    }

    /// Returns a fingerprint of names, states and cells: equal for equal data, whatever the column
    /// order of the file.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        let mut text = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        for (variable, column) in self.schema.variables().iter().zip(&self.columns) {
            text(variable.name().as_bytes());
            text(&(variable.arity() as u64).to_le_bytes());
            for state in variable.states() {
                text(state.as_bytes());
            }
            text(column);
        }
        *hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_that_no_row_has_are_left_out() {
        let states = ["low", "mid", "high"].map(String::from).to_vec();
        let level = Variable::in_order("level", states).unwrap();
        let schema = Schema::new(vec![level]).unwrap();
        let table = Table::new(schema, vec![vec![2, 0, 2]]).unwrap();
        let fewer = table.occurring();
        assert_eq!(
            fewer.schema().variable(NodeIdx::new(0)).states(),
            ["low", "high"]
        );
        assert_eq!(fewer.column(NodeIdx::new(0)), [1, 0, 1]);
        assert_eq!(fewer.occurring(), fewer);
    }
}
