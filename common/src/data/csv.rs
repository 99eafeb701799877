//! Text to [`Table`]: CSV and TSV, plain or gzipped, with a header line.
//!
//! Every column becomes a discrete variable whose states are the different texts of its cells.
//! White space around a cell is cut off unless the cell is quoted; a missing-value marker counts
//! as missing quoted or not. States of rows that are dropped do not count. How rows are split is
//! described in `records`, how columns of numbers are treated in `bins` and `column`.
//!
//! The file is read once, and memory stays near one byte per cell.

use super::bins::Bins;
use super::column::{CellError, ColumnBuilder, ColumnError};
use super::declared_schema::DeclaredSchema;
use super::delimiter::Delimiter;
use super::load_error::{LoadError, Place, PlaceColumn};
use super::load_report::{ColumnReport, LoadReport};
use super::missing::{MissingCount, MissingMarkers, MissingPolicy};
use super::records::{Record, RecordError, RecordReader};
use super::schema::{Schema, Variable};
use super::source::Source;
use super::table::{Table, TableError};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Longest cell: no state has more, and a row of the largest table stays below 64 MiB.
pub const MAX_CELL_BYTES: usize = 4096;

/// Longest name in the header.
pub const MAX_NAME_BYTES: usize = 1024;

/// Fewest rows: from one row nothing can be learned.
pub const MIN_ROWS: usize = 2;

/// How text is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// The delimiter of cells; if not given, it follows from the file's ending, or else is guessed
    /// from the header line.
    pub delimiter: Option<Delimiter>,
    /// The states of some variables.
    pub schema: Option<DeclaredSchema>,
    /// How columns of numbers are put into bins.
    pub bins: Option<Bins>,
    /// What happens to rows with missing cells.
    pub missing: MissingPolicy,
    /// The texts that stand for a missing cell.
    pub missing_markers: Vec<String>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            delimiter: None,
            schema: None,
            bins: None,
            missing: MissingPolicy::default(),
            missing_markers: ["", "NA", "NaN", "?"].map(String::from).to_vec(),
        }
    }
}

/// Loads a table from a file.
///
/// # Errors
/// If the file cannot be read or its text is not a table.
pub fn load_table(path: &Path, options: &LoadOptions) -> Result<(Table, LoadReport), LoadError> {
    let delimiter = options.delimiter.or_else(|| Delimiter::of_path(path));
    read_table(Source::open(path)?, delimiter, options)
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
    read_table(reader, options.delimiter, options)
}

fn read_table(
    reader: impl Read,
    delimiter: Option<Delimiter>,
    options: &LoadOptions,
) -> Result<(Table, LoadReport), LoadError> {
    let mut reader = RecordReader::new(reader, delimiter)?;
    let mut record = Record::default();
    let names = read_header(&mut reader, &mut record)?;
    let declared = declared_columns(&names, options.schema.as_ref())?;
    let body = read_body(&mut reader, &mut record, &names, &declared, options)?;

    let missing = &body.missing;
    if let (MissingPolicy::Error, Some((line, column))) = (options.missing, missing.first) {
        let first = place(line, column, &names);
        return Err(LoadError::Missing {
            cells: missing.cells(),
            rows: missing.rows,
            first,
        });
    }
    let dropped = missing.rows;
    let kept = body.rows - dropped;
    if kept < MIN_ROWS {
        return Err(LoadError::TooFewRows {
            read: body.rows,
            kept,
        });
    }
    let rows_read = body.rows;
    let (table, columns) = make_table(body, names, &declared, options.bins)?;
    let report = LoadReport {
        delimiter: reader.delimiter(),
        rows_read,
        rows_kept: kept,
        rows_dropped: dropped,
        columns,
    };
    Ok((table, report))
}

/// Reads the names of the columns, in the file's order.
fn read_header<R: Read>(
    reader: &mut RecordReader<R>,
    record: &mut Record,
) -> Result<Vec<String>, LoadError> {
    let found = reader
        .read(record, MAX_NAME_BYTES)
        .map_err(|error| match error {
            RecordError::CellTooLong { line, cell, quoted } => {
                LoadError::name_too_long(place(line, cell, &[]), quoted)
            }
            other => record_error(other, &[]),
        })?;
    if !found {
        return Err(LoadError::Empty);
    }
    let mut names = Vec::with_capacity(record.len());
    let mut positions = BTreeMap::new();
    for (column, cell) in record.cells().enumerate() {
        let name = std::str::from_utf8(cell)
            .map_err(|_| LoadError::NotUtf8(place(record.line(), column, &[])))?;
        if name.is_empty() {
            return Err(LoadError::EmptyName { column: column + 1 });
        }
        if let Some(first) = positions.insert(name, column + 1) {
            let name = name.to_string();
            return Err(LoadError::DuplicateName {
                name,
                first,
                second: column + 1,
            });
        }
        names.push(name.to_string());
    }
    Ok(names)
}

/// Finds the declaration of each column.
fn declared_columns<'s>(
    names: &[String],
    schema: Option<&'s DeclaredSchema>,
) -> Result<Vec<Option<&'s Variable>>, LoadError> {
    let declared: Vec<_> = names
        .iter()
        .map(|name| schema.and_then(|schema| schema.variable(name)))
        .collect();
    let variables = schema.map_or(&[][..], DeclaredSchema::variables);
    if declared.iter().flatten().count() < variables.len()
        && let Some(absent) = variables.iter().find(|variable| {
            !declared
                .iter()
                .flatten()
                .any(|column| column.name() == variable.name())
        })
    {
        return Err(LoadError::MissingVariable(absent.name().to_string()));
    }
    Ok(declared)
}

/// The rows below the header, in the file's column order.
struct Body {
    rows: usize,
    missing: MissingCount,
    columns: Vec<ColumnBuilder>,
}

fn read_body<R: Read>(
    reader: &mut RecordReader<R>,
    record: &mut Record,
    names: &[String],
    declared: &[Option<&Variable>],
    options: &LoadOptions,
) -> Result<Body, LoadError> {
    let markers = MissingMarkers::new(&options.missing_markers);
    let mut body = Body {
        rows: 0,
        missing: MissingCount::new(names.len()),
        columns: declared
            .iter()
            .map(|variable| ColumnBuilder::new(*variable))
            .collect(),
    };
    while reader
        .read(record, MAX_CELL_BYTES)
        .map_err(|error| record_error(error, names))?
    {
        let (row, found) = (record.line(), record.len());
        if found != names.len() {
            return Err(LoadError::Ragged {
                row,
                found,
                expected: names.len(),
            });
        }
        body.rows += 1;
        if body.rows > Table::MAX_ROWS {
            return Err(TableError::TooManyRows(body.rows).into());
        }
        if body
            .missing
            .count_row(row, record.cells(), declared, &markers)
        {
            continue;
        }
        for (column, (cell, builder)) in record.cells().zip(&mut body.columns).enumerate() {
            if let Err(error) = builder.push(cell, row) {
                return Err(cell_error(
                    error,
                    place(row, column, names),
                    declared[column],
                ));
            }
        }
    }
    Ok(body)
}

/// Orders columns by name and makes the table, with a report on each column.
fn make_table(
    body: Body,
    names: Vec<String>,
    declared: &[Option<&Variable>],
    bins: Option<Bins>,
) -> Result<(Table, Vec<ColumnReport>), LoadError> {
    let missing = body.missing.per_column;
    let mut columns: Vec<_> = names.into_iter().zip(body.columns).enumerate().collect();
    columns.sort_unstable_by(|(_, (left, _)), (_, (right, _))| left.cmp(right));

    let mut variables = Vec::with_capacity(columns.len());
    let mut cells = Vec::with_capacity(columns.len());
    let mut reports = Vec::with_capacity(columns.len());
    for (position, (name, builder)) in columns {
        let column = builder
            .finish(bins)
            .map_err(|error| column_error(error, &name))?;
        let mut occurs = [false; Variable::MAX_STATES];
        for &code in &column.codes {
            occurs[usize::from(code)] = true;
        }
        reports.push(ColumnReport {
            name: name.clone(),
            states: column.states.len(),
            occurring_states: occurs.iter().filter(|&&occurs| occurs).count(),
            declared: declared[position].is_some(),
            missing_cells: missing[position],
            cut_points: column.cuts,
        });
        variables.push(Variable::new(name, column.states)?);
        cells.push(column.codes);
    }
    Ok((Table::new(Schema::new(variables)?, cells)?, reports))
}

/// Names a cell; `names` is empty while the header is read.
fn place(row: u64, column: usize, names: &[String]) -> Place {
    let column = match names.get(column) {
        Some(name) => PlaceColumn::Named(name.clone()),
        None => PlaceColumn::Numbered(column + 1),
    };
    Place { row, column }
}

fn record_error(error: RecordError, names: &[String]) -> LoadError {
    let at = |line, cell| place(line, cell, names);
    match error {
        RecordError::Source(error) => LoadError::Source(error),
        RecordError::Nul { line, cell } => LoadError::Nul(at(line, cell)),
        RecordError::CellTooLong { line, cell, quoted } => {
            LoadError::cell_too_long(at(line, cell), quoted)
        }
        RecordError::TooManyCells { line } => LoadError::TooManyCells { row: line },
        RecordError::TextAfterQuote { line, cell } => LoadError::TextAfterQuote(at(line, cell)),
        RecordError::OpenQuote { line, cell } => LoadError::OpenQuote(at(line, cell)),
    }
}

fn cell_error(error: CellError, place: Place, declared: Option<&Variable>) -> LoadError {
    match error {
        CellError::NotUtf8 => LoadError::NotUtf8(place),
        CellError::TooManyStates => LoadError::TooManyStates(place),
        CellError::UnknownState(found) => {
            let expected = declared.map_or_else(Vec::new, |variable| variable.states().to_vec());
            LoadError::UnknownState {
                place,
                found,
                expected,
            }
        }
    }
}

fn column_error(error: ColumnError, name: &str) -> LoadError {
    let column = name.to_string();
    match error {
        ColumnError::ManyNumbers { distinct } => LoadError::ManyNumbers { column, distinct },
        ColumnError::NotFinite(found) => LoadError::NotFinite {
            place: Place {
                row: found.line,
                column: PlaceColumn::Named(column),
            },
            cell: found.cell,
        },
    }
}

#[cfg(test)]
mod tests;
