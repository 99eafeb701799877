//! A file, a stream or a text to a [`Table`].

use super::csv::{CsvOptions, read_csv};
use super::delimiter::Delimiter;
use super::load_error::LoadError;
use super::load_report::{LoadReport, TableFormat};
use super::options::LoadOptions;
use super::variables::{Plan, is_wanted};
use crate::data::{Source, Table};
use std::io::Read;
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
    let plan = plan_of_file(path, options)?;
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
    plan_of_text(Source::open(path)?, delimiter, &options)
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
