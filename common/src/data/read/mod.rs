//! Reading tables: a *source* turns bytes into columns of cells, a *schema* turns columns into
//! variables.

mod arrow_arrays;
mod arrow_file;
mod arrow_values;
mod cells;
mod column_threads;
mod content;
mod decoder_guard;
mod dictionary;
mod encoding;
mod format_error;
mod json_lines;
mod key_codes;
mod number;
mod parquet;
mod raw_table;
#[cfg(test)]
mod shown_table;
mod value_text;
mod xlsx;

pub(crate) use content::Content;
pub use content::Foreign;
pub use decoder_guard::is_guarded;
pub use encoding::{Encoding, EncodingError, NoText};
pub use format_error::FormatError;
pub use json_lines::JsonError;
pub use number::{DecimalMark, DecimalMarkError};
