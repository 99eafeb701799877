//! Tables of discrete data and what is counted from them.

mod schema;
mod table;

pub use schema::{Schema, SchemaError, Variable};
pub use table::{Table, TableError};
