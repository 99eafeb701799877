//! Tables of discrete data and what is counted from them.

mod bins;
mod bit_columns;
mod column;
mod counts;
mod csv;
mod csv_write;
mod declared_schema;
mod delimiter;
mod load_error;
mod load_report;
mod missing;
mod read;
mod records;
mod sample;
mod schema;
mod source;
mod table;

pub use bins::{BinMethod, Bins, BinsError};
pub use counts::{CountIndex, Counter, Kernel, TermSums};
pub use csv::{LoadOptions, MAX_CELL_BYTES, MAX_NAME_BYTES, MIN_ROWS, load_table, parse_table};
pub use csv_write::{quoted, write_csv};
pub use declared_schema::{DeclaredSchema, DeclaredSchemaError};
pub use delimiter::{Delimiter, DelimiterError};
pub use load_error::{LoadError, Place, PlaceColumn};
pub use load_report::{ColumnReport, LoadReport};
pub use missing::{MissingPolicy, MissingPolicyError};
pub use read::{
    DecimalMark, DecimalMarkError, Encoding, EncodingError, Foreign, FormatError, JsonError,
    NoText, is_guarded,
};
pub use sample::sample;
pub use schema::{Schema, SchemaError, Variable};
#[cfg(test)]
pub(crate) use source::gzip;
pub use source::{MAX_FILE_BYTES, MAX_STREAM_BYTES, Packing, Source, SourceError};
pub use table::{Table, TableError};
