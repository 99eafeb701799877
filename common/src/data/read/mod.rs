//! Reading tables: a *source* turns bytes into columns of cells, a *schema* turns columns into
//! variables.

mod cells;
mod dictionary;
mod number;
mod raw_table;

pub use number::{DecimalMark, DecimalMarkError};
