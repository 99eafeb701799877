//! A table divided into folds: each row is held out once.

use crate::network::NetworkUseError;
use crate::table::Table;
use rlbayes_common::data;
use rlbayes_common::ids::{NodeIdx, Seed};
use rlbayes_common::random::Random;

/// Which fold each row is in: sizes differ by one at most, and who is where depends on the seed alone.
#[derive(Clone, Debug)]
pub(crate) struct Folds {
    of_row: Vec<usize>,
    count: usize,
}

impl Folds {
    pub(crate) fn new(rows: usize, folds: usize, seed: u64) -> Result<Self, NetworkUseError> {
        if folds < 2 || folds > rows {
            return Err(NetworkUseError::Folds { rows, folds });
        }
        let mut of_row: Vec<usize> = (0..rows).map(|row| row % folds).collect();
        Random::new(Seed(seed)).shuffle(&mut of_row);
        Ok(Self {
            of_row,
            count: folds,
        })
    }

    /// Returns how many folds there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the rows outside a fold and those in it, both with the states of the whole table.
    pub(crate) fn split(&self, table: &Table, fold: usize) -> Option<(Table, Table)> {
        let part = |held_out: bool| {
            let columns = NodeIdx::all(table.data().nodes()).map(|node| {
                let cells = table.data().column(node).iter().zip(&self.of_row);
                let wanted = cells.filter(|(_, of)| (**of == fold) == held_out);
                wanted.map(|(&cell, _)| cell).collect()
            });
            let rows = data::Table::new(table.data().schema().clone(), columns.collect());
            rows.ok().map(|rows| Table::from_data(table.name(), rows))
        };
        Some((part(false)?, part(true)?))
    }
}
