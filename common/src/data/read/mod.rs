//! Reading tables, in two steps: a *source* turns bytes into columns of cells (`csv`; one file per
//! format), and a *schema* turns columns into variables (`kinds` looks at them, `variables` decides).

mod arrow_arrays;
mod arrow_file;
mod arrow_table;
mod arrow_values;
mod bins;
mod blocks;
mod cells;
mod column_threads;
mod comments;
mod content;
mod csv;
mod dates;
mod declared_schema;
mod decoder_guard;
mod delimiter;
mod dictionary;
mod encoding;
mod format_error;
mod json_lines;
mod key_codes;
mod kinds;
mod load;
mod load_error;
mod load_report;
mod missing;
mod number;
mod options;
mod parquet;
mod plain_rows;
mod raw_table;
mod records;
#[cfg(test)]
mod shown_table;
mod value_text;
mod variables;
mod warnings;
mod xlsx;

pub use bins::{BinMethod, BinRules, Bins, BinsError};
pub(crate) use content::Content;
pub use content::Foreign;
pub use declared_schema::{DeclaredSchema, DeclaredSchemaError, Reading};
pub use decoder_guard::is_guarded;
pub use delimiter::{Delimiter, DelimiterError};
pub use encoding::{Encoding, EncodingError, NoText};
pub use format_error::FormatError;
pub use json_lines::JsonError;
pub use kinds::ColumnKind;
pub use load::{TableCheck, check_table, load_batches, load_columns, load_table, parse_table};
pub use load_error::{LoadError, Place, PlaceColumn};
pub use load_report::{ColumnReport, ColumnUse, LeftOut, LoadReport, TableFormat};
pub use missing::{MISSING_MARKERS, MissingPolicy, MissingPolicyError};
pub use number::{DecimalMark, DecimalMarkError};
pub use options::{LoadOptions, TablePurpose};

/// Longest cell.
pub const MAX_CELL_BYTES: usize = 64 << 10;

/// Longest name in the header.
pub const MAX_NAME_BYTES: usize = 1024;
