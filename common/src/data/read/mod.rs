//! Reading tables, in two steps: a *source* turns bytes into columns of cells (`csv`; one file per
//! format), and a *schema* turns columns into variables (`kinds` looks at them, `variables` decides).

mod bins;
mod blocks;
mod cells;
mod comments;
mod csv;
mod dates;
mod declared_schema;
mod delimiter;
mod dictionary;
mod kinds;
mod load;
mod load_error;
mod load_report;
mod missing;
mod number;
mod options;
mod plain_rows;
mod raw_table;
mod records;
mod variables;
mod warnings;

pub use bins::{BinMethod, BinRules, Bins, BinsError};
pub use declared_schema::{DeclaredSchema, DeclaredSchemaError, Reading};
pub use delimiter::{Delimiter, DelimiterError};
pub use kinds::ColumnKind;
pub use load::{TableCheck, check_table, load_table, parse_table};
pub use load_error::{LoadError, Place, PlaceColumn};
pub use load_report::{ColumnReport, ColumnUse, LeftOut, LoadReport, TableFormat};
pub use missing::{MISSING_MARKERS, MissingPolicy, MissingPolicyError};
pub use number::{DecimalMark, DecimalMarkError};
pub use options::LoadOptions;

/// Longest cell.
pub const MAX_CELL_BYTES: usize = 64 << 10;

/// Longest name in the header.
pub const MAX_NAME_BYTES: usize = 1024;

/// Fewest rows: from one row nothing can be learned.
pub const MIN_ROWS: usize = 2;
