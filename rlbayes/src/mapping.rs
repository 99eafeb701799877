//! A table's columns and states as a network numbers them, by name: the one place where rows meet a
//! network's own probabilities.

use crate::table::Table;
use rlbayes_common::data::Schema;
use rlbayes_common::ids::NodeIdx;
use thiserror::Error;

/// Why rows do not fit a network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MappingError {
    /// The table lacks a variable of the network.
    #[error("the table has no column {0:?}, which is a node of the network")]
    MissingColumn(String),
    /// A cell holds a state that the network does not have.
    #[error("row {row}, column {column:?}: the network has no state {state:?}{known}")]
    UnknownState {
        /// The row, counted from 1 without the header.
        row: usize,
        /// The column.
        column: String,
        /// What stands there.
        state: String,
        /// The states that the network has, for the message.
        known: String,
    },
}

/// The cells of a table by node of a network; a node that the table lacks has none.
#[derive(Clone, Debug)]
pub(crate) struct MappedRows {
    columns: Vec<Option<Vec<u8>>>,
    rows: usize,
}

impl MappedRows {
    /// Finds the network's variables and states in a table. Columns that the network lacks are left
    /// out.
    pub(crate) fn new(table: &Table, network: &Schema) -> Result<Self, MappingError> {
        let own = table.data().schema();
        let mut columns = Vec::with_capacity(network.len());
        for variable in network.variables() {
            let Some(node) = own.find(variable.name()) else {
                columns.push(None);
                continue;
            };
            let states = own.variable(node).states().iter();
            let numbers: Vec<Option<u8>> = states
                .map(|state| {
                    variable
                        .state_index(state)
                        .and_then(|found| u8::try_from(found).ok())
                })
                .collect();
            let cells = table
                .data()
                .column(node)
                .iter()
                .enumerate()
                .map(|(row, &cell)| {
                    numbers[usize::from(cell)].ok_or_else(|| MappingError::UnknownState {
                        row: row + 1,
                        column: variable.name().to_owned(),
                        state: own.variable(node).states()[usize::from(cell)].clone(),
                        known: first_states(variable.states()),
                    })
                });
            columns.push(Some(cells.collect::<Result<_, _>>()?));
        }
        Ok(Self {
            columns,
            rows: table.rows(),
        })
    }

    /// Checks that the table has every node of the network.
    pub(crate) fn complete(self, network: &Schema) -> Result<Self, MappingError> {
        let lacking = self.columns.iter().position(Option::is_none);
        match lacking {
            Some(index) => {
                let name = network.variable(NodeIdx::new(index)).name();
                Err(MappingError::MissingColumn(name.to_owned()))
            }
            None => Ok(self),
        }
    }

    /// Returns how many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the state of a node in a row, if the table has it.
    pub(crate) fn state(&self, row: usize, node: NodeIdx) -> Option<usize> {
        let column = self.columns[node.index()].as_ref()?;
        Some(usize::from(column[row]))
    }
}

/// Lists a few states for a message.
fn first_states(states: &[String]) -> String {
    let shown: Vec<&str> = states.iter().take(6).map(String::as_str).collect();
    let more = if states.len() > 6 { ", ..." } else { "" };
    format!(" (it has {}{more})", shown.join(", "))
}
