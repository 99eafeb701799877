//! A file, a stream or a text to a [`Table`].

use super::arrow_arrays::ArrowColumn;
use super::arrow_file::read_arrow;
use super::arrow_table::ArrowTable;
use super::content::Content;
use super::csv::{CsvOptions, read_csv};
use super::decoder_guard::guarded;
use super::delimiter::Delimiter;
use super::encoding::{Decoded, Encoding};
use super::format_error::{FormatError, check_size};
use super::json_lines::read_json_lines;
use super::load_error::{LoadError, list, shown};
use super::load_report::{LoadReport, TableFormat};
use super::options::LoadOptions;
use super::parquet::read_parquet;
use super::raw_table::RawTable;
use super::variables::{Plan, is_wanted};
use super::xlsx::read_xlsx;
use crate::data::{MAX_FILE_BYTES, Source, SourceError, Table};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Field, Schema as ArrowSchema};
use std::io::{Cursor, Read};
use std::path::Path;

/// What a look at a table found, whether or not it can be used.
pub struct TableCheck {
    /// Every column and what would become of it.
    pub report: LoadReport,
    /// The table, or everything that keeps it from being used.
    pub table: Result<Table, Vec<LoadError>>,
}

/// Loads a table from a file; `-` is standard input.
///
/// # Errors
/// If the file cannot be read or holds no table that can be used.
pub fn load_table(path: &Path, options: &LoadOptions) -> Result<(Table, LoadReport), LoadError> {
    plan_of_file(path, options)?.make()
}

/// Looks at a table and tells everything about it at once.
///
/// # Errors
/// Only if the file cannot be read as a table at all.
pub fn check_table(path: &Path, options: &LoadOptions) -> Result<TableCheck, LoadError> {
    check(plan_of_file(path, options)?)
}

/// Makes a table of Arrow columns that another program hands over, by the same rules as one of a
/// file.
///
/// # Errors
/// If they hold no table that can be used.
pub fn load_batches(
    schema: &ArrowSchema,
    batches: impl IntoIterator<Item = Result<RecordBatch, ArrowError>>,
    options: &LoadOptions,
) -> Result<(Table, LoadReport), LoadError> {
    plan_of_batches(schema, batches, options)?.make()
}

fn check(plan: Plan) -> Result<TableCheck, LoadError> {
    if !plan.problems.is_empty() {
        return Ok(TableCheck {
            report: plan.report,
            table: Err(plan.problems),
        });
    }
    let (table, report) = plan.make()?;
    Ok(TableCheck {
        report,
        table: Ok(table),
    })
}

/// Parses a table from plain text; a stream from outside is best wrapped in a [`Source`] first,
/// which bounds and unpacks it.
///
/// # Errors
/// If the stream fails or its text is not a table.
///
/// ```
/// use rlbayes_common::data::{LoadOptions, parse_table};
/// let text = "smoke,asia\nyes,no\nno,no\n";
/// let (table, report) = parse_table(text.as_bytes(), &LoadOptions::default()).unwrap();
/// assert_eq!(table.schema().names().collect::<Vec<_>>(), ["asia", "smoke"]);
/// assert_eq!(report.constants().collect::<Vec<_>>(), ["asia"]);
/// ```
pub fn parse_table(
    reader: impl Read,
    options: &LoadOptions,
) -> Result<(Table, LoadReport), LoadError> {
    let options = options.with_schema();
    plan_of_text(reader, options.delimiter, &options)?.make()
}

fn plan_of_file(path: &Path, options: &LoadOptions) -> Result<Plan, LoadError> {
    let options = options.with_schema();
    let delimiter = options.delimiter.or_else(|| Delimiter::of_path(path));
    if path.as_os_str() == STANDARD_INPUT {
        // Kept, since it cannot be read a second time.
        let bytes = Source::stdin()?.into_bytes()?;
        let open = || Source::any_from_reader(Cursor::new(bytes.clone()), MAX_FILE_BYTES);
        return plan_of_source(&open, delimiter, &options);
    }
    plan_of_source(&|| Source::open_any(path), delimiter, &options)
}

/// Makes a table of columns that another program hands over one by one, each as an Arrow array, by the
/// same rules as one of a file. A column is let go as soon as its cells are taken over.
///
/// # Errors
/// If a column has another length than the first, or they make no table that can be used; `E` if the
/// other program fails.
pub fn load_columns<E: From<LoadError>>(
    columns: impl IntoIterator<Item = Result<(Field, ArrayRef), E>>,
    options: &LoadOptions,
) -> Result<(Table, LoadReport), E> {
    const WHAT: &str = "columns of another program";
    let options = options.with_schema();
    let wanted = |name: &str| name.is_empty() || is_wanted(name, &options);
    let mut table = RawTable {
        columns: Vec::new(),
        rows: 0,
    };
    for given in columns {
        let (field, array) = given?;
        if table.columns.is_empty() {
            table.rows = array.len();
        }
        let column = guarded(WHAT, || {
            if array.len() != table.rows {
                let (name, cells, rows) = (field.name(), array.len(), table.rows);
                let problem =
                    format!("column \"{name}\" has {cells} cells where the first has {rows}");
                return Err(FormatError::damaged(WHAT, problem));
            }
            check_size(table.rows, table.columns.len() + 1)?;
            let mut column = ArrowColumn::new(&field, &wanted)?;
            if column.has_levels() {
                column.add_levels(array.as_any_dictionary().values())?;
            }
            column.append(&array)?;
            Ok(column.finish())
        });
        table.columns.push(column.map_err(LoadError::from)?);
    }
    let mut plan = Plan::new(table, &options)?;
    plan.report.format = TableFormat::Memory;
    Ok(plan.make()?)
}

fn plan_of_batches(
    schema: &ArrowSchema,
    batches: impl IntoIterator<Item = Result<RecordBatch, ArrowError>>,
    options: &LoadOptions,
) -> Result<Plan, LoadError> {
    const WHAT: &str = "columns of another program";
    let options = options.with_schema();
    let wanted = |name: &str| name.is_empty() || is_wanted(name, &options);
    let mut raw = guarded(WHAT, || {
        let mut table = ArrowTable::new(WHAT, schema, &wanted, options.threads)?;
        for batch in batches {
            table.push(batch.map_err(|error| FormatError::damaged(WHAT, error))?)?;
        }
        table.finish()
    })?;
    raw.columns.sort_by_key(|column| !column.name.is_empty());
    let mut plan = Plan::new(raw, &options)?;
    plan.report.format = TableFormat::Memory;
    Ok(plan)
}

/// The name of standard input.
const STANDARD_INPUT: &str = "-";

/// Reads a source as what it is.
fn plan_of_source(
    open: &dyn Fn() -> Result<Source, SourceError>,
    delimiter: Option<Delimiter>,
    options: &LoadOptions,
) -> Result<Plan, LoadError> {
    let source = open()?;
    let wanted = |name: &str| name.is_empty() || is_wanted(name, options);
    let threads = options.threads;
    let (raw, format) = match source.content() {
        Content::Text | Content::Utf16(_) if options.encoding.is_some() => {
            let encoding = options.encoding.unwrap_or(Encoding::UTF_8);
            return plan_of_encoded(source, encoding, delimiter, options);
        }
        Content::Utf16(order) => {
            return plan_of_encoded(source, Encoding::utf_16(order), delimiter, options);
        }
        Content::Text => {
            let plan = plan_of_text(source, delimiter, options);
            return match is_not_utf8(&plan) {
                // Text that is not UTF-8 is most often what Windows writes.
                true => plan_of_encoded(open()?, Encoding::WINDOWS_1252, delimiter, options),
                false => plan,
            };
        }
        Content::Parquet => {
            let raw = read_parquet(source.into_bytes()?, &wanted, threads)?;
            (raw, TableFormat::Parquet)
        }
        Content::ArrowFile | Content::ArrowStream => {
            let raw = read_arrow(source.into_bytes()?, &wanted, threads)?;
            (raw, TableFormat::Arrow)
        }
        Content::JsonLines => (read_json_lines(source, &wanted)?, TableFormat::JsonLines),
        Content::Workbook => {
            let sheet = read_xlsx(source.into_bytes()?, &wanted)?;
            let mut plan = Plan::new(sheet.table, options)?;
            plan.report.format = TableFormat::Spreadsheet;
            if !sheet.further.is_empty() {
                plan.report.warnings.push(format!(
                    "only the first sheet, {}, is read; there are others: {}",
                    shown(&sheet.sheet),
                    list(&sheet.further)
                ));
            }
            return Ok(plan);
        }
        Content::Network(what) => return Err(LoadError::IsNetwork(what)),
        Content::Foreign(foreign) => return Err(FormatError::from(foreign).into()),
    };
    let mut raw = raw;
    // pandas stores row numbers last; here they stand first, as in text.
    raw.columns.sort_by_key(|column| !column.name.is_empty());
    let mut plan = Plan::new(raw, options)?;
    plan.report.format = format;
    Ok(plan)
}

/// Returns whether text was read as UTF-8 and is not.
fn is_not_utf8(plan: &Result<Plan, LoadError>) -> bool {
    match plan {
        Ok(plan) => plan
            .problems
            .iter()
            .any(|problem| matches!(problem, LoadError::NotUtf8(_))),
        Err(error) => matches!(error, LoadError::NotUtf8(_)),
    }
}

fn plan_of_encoded(
    source: Source,
    encoding: Encoding,
    delimiter: Option<Delimiter>,
    options: &LoadOptions,
) -> Result<Plan, LoadError> {
    if encoding == Encoding::UTF_8 {
        return plan_of_text(source, delimiter, options);
    }
    let mut plan = plan_of_text(Decoded::new(source, encoding), delimiter, options)?;
    plan.report.encoding = Some(encoding);
    Ok(plan)
}

fn plan_of_text(
    reader: impl Read,
    delimiter: Option<Delimiter>,
    options: &LoadOptions,
) -> Result<Plan, LoadError> {
    let wanted = |name: &str| name.is_empty() || is_wanted(name, options);
    let csv = CsvOptions {
        delimiter,
        decimal: options.decimal.unwrap_or_default(),
        comment: options.comment,
        header: options.header.unwrap_or(true),
        wanted: &wanted,
        threads: options.threads,
    };
    let (raw, delimiter) = read_csv(reader, &csv)?;
    let mut plan = Plan::new(raw, options)?;
    plan.report.format = TableFormat::Csv;
    plan.report.delimiter = Some(delimiter);
    Ok(plan)
}

#[cfg(test)]
mod tests;
