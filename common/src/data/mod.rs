//! Tables of discrete data and what is counted from them.

mod bit_columns;
mod counts;
mod schema;
mod table;

pub use counts::{CountIndex, Counter, Kernel, TermSums};
pub use schema::{Schema, SchemaError, Variable};
pub use table::{Table, TableError};
