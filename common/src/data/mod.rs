//! Tables of discrete data and what is counted from them.

mod bit_columns;
mod counts;
mod csv_write;
mod grouping;
mod lanes;
mod pair_counts;
mod processor;
mod read;
mod sample;
mod schema;
mod source;
mod table;

pub use counts::{CountIndex, Counter, Kernel, TermSums, Terms};
pub use csv_write::{quoted, write_csv};
pub use pair_counts::PairCounts;
pub use read::{
    BinMethod, BinRules, Bins, BinsError, ColumnKind, ColumnReport, ColumnUse, DecimalMark,
    DecimalMarkError, DeclaredSchema, DeclaredSchemaError, Delimiter, DelimiterError, Encoding,
    EncodingError, Foreign, FormatError, JsonError, LeftOut, LoadError, LoadOptions, LoadReport,
    MAX_CELL_BYTES, MAX_NAME_BYTES, MISSING_MARKERS, MissingPolicy, MissingPolicyError, NoText,
    Place, PlaceColumn, Reading, TableCheck, TableFormat, TablePurpose, check_table, is_guarded,
    load_batches, load_columns, load_table, parse_table,
};
pub use sample::sample;
pub use schema::{CutPoints, Schema, SchemaError, Variable};
#[cfg(test)]
pub(crate) use source::gzip;
pub use source::{MAX_FILE_BYTES, MAX_STREAM_BYTES, Packing, Source, SourceError};
pub use table::{Table, TableError};
