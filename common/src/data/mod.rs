//! Tables of discrete data and what is counted from them.

mod sample;
mod schema;
mod table;

pub use sample::sample;
pub use schema::{Schema, SchemaError, Variable};
pub use table::{Table, TableError};
