//! The table that a search is about.

use rlbayes_common::data::{
    self, LoadError, LoadOptions, LoadReport, TableCheck, check_table, load_table, parse_table,
};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// A table of discrete data: for each variable a state in each row. Variables are ordered by name, so
/// that the order of columns never changes a result. Cheap to clone.
///
/// ```
/// let text = "smoke,cough\nyes,yes\nno,no\nyes,yes\nno,yes\n";
/// let table = rlbayes::Table::parse("survey", text.as_bytes(), &Default::default())?;
/// assert_eq!(table.variables(), ["cough", "smoke"]);
/// assert_eq!(table.states("smoke"), Some(["no".to_owned(), "yes".to_owned()].as_slice()));
/// assert_eq!(table.rows(), 4);
/// # Ok::<(), rlbayes::TableError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    name: Arc<str>,
    data: Arc<data::Table>,
    report: Option<Arc<LoadReport>>,
}

/// Why there is no table.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
pub struct TableError {
    /// The file, or the name that was given.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub problem: Box<LoadError>,
}

impl Table {
    /// Reads a table from a file: CSV and its relatives, Parquet, Arrow, JSON lines, a spreadsheet,
    /// also packed. `-` is standard input.
    ///
    /// # Errors
    /// If the file cannot be read or is not a table of discrete data; the message names row and
    /// column.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TableError> {
        Self::read_with(path, &LoadOptions::default())
    }

    /// Reads a table from a file: declared states, bins for numbers, missing cells.
    ///
    /// ```no_run
    /// use rlbayes::{BinRules, LoadOptions, MissingPolicy, Table};
    /// let options = LoadOptions {
    ///     bins: "age=quantile:4".parse::<BinRules>()?,
    ///     drop: vec!["id".into()],
    ///     missing: MissingPolicy::DropRows,
    ///     ..Default::default()
    /// };
    /// let table = Table::read_with("survey.csv", &options)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read or is not a table of discrete data.
    pub fn read_with(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Self, TableError> {
        let path = path.as_ref();
        let (table, report) = load_table(path, options).map_err(|problem| TableError {
            path: path.to_owned(),
            problem: Box::new(problem),
        })?;
        Ok(Self::loaded(&table_name(path), table, report))
    }

    /// Reads a table from text.
    ///
    /// # Errors
    /// If the text is not a table of discrete data.
    pub fn parse(name: &str, text: impl Read, options: &LoadOptions) -> Result<Self, TableError> {
        let (table, report) = parse_table(text, options).map_err(|problem| TableError {
            path: name.into(),
            problem: Box::new(problem),
        })?;
        Ok(Self::loaded(name, table, report))
    }

    /// Looks at a file and tells everything about it at once, whether or not it can be used.
    ///
    /// # Errors
    /// Only if the file cannot be read as a table at all.
    pub fn check(path: impl AsRef<Path>, options: &LoadOptions) -> Result<TableCheck, TableError> {
        let path = path.as_ref();
        check_table(path, options).map_err(|problem| TableError {
            path: path.to_owned(),
            problem: Box::new(problem),
        })
    }

    /// Makes a table of what `make` returns, under a name.
    ///
    /// # Errors
    /// Whatever `make` finds wrong.
    #[doc(hidden)]
    pub fn made_by(
        name: &str,
        make: impl FnOnce() -> Result<(data::Table, LoadReport), LoadError>,
    ) -> Result<Self, LoadError> {
        let (table, report) = make()?;
        Ok(Self::loaded(name, table, report))
    }

    /// Takes over a table that was made elsewhere.
    #[doc(hidden)]
    #[must_use]
    pub fn from_data(name: &str, data: impl Into<Arc<data::Table>>) -> Self {
        Self {
            name: name.into(),
            data: data.into(),
            report: None,
        }
    }

    fn loaded(name: &str, table: data::Table, report: LoadReport) -> Self {
        Self {
            report: Some(Arc::new(report)),
            ..Self::from_data(name, table)
        }
    }

    /// Returns the table's name: the file's without its endings.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.data.rows()
    }

    /// Returns the names of the variables, in order.
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        self.data.schema().names().collect()
    }

    /// Returns the states of a variable, in order.
    #[must_use]
    pub fn states(&self, variable: &str) -> Option<&[String]> {
        let schema = self.data.schema();
        let node = schema.find(variable)?;
        Some(schema.variable(node).states())
    }

    /// Returns what reading the table did: rows dropped, columns binned, columns that are constant.
    /// A table that was not read from text has none.
    #[must_use]
    pub fn report(&self) -> Option<&LoadReport> {
        self.report.as_deref()
    }

    /// Returns the table itself.
    #[doc(hidden)]
    #[must_use]
    pub fn data(&self) -> &Arc<data::Table> {
        &self.data
    }
}

/// Returns a data file's name without its endings.
fn table_name(path: &Path) -> String {
    let mut name = path.file_name().map_or_else(
        || "data".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    if name == "-" {
        return "stdin".to_owned();
    }
    const PACKED: &[&str] = &[".gz", ".zst", ".xz"];
    const TABLES: &[&str] = &[
        ".csv", ".tsv", ".tab", ".txt", ".parquet", ".arrow", ".feather", ".ipc", ".jsonl",
        ".ndjson", ".json", ".xlsx", ".ods",
    ];
    for endings in [PACKED, TABLES] {
        let shorter = endings.iter().find_map(|ending| name.strip_suffix(ending));
        if let Some(shorter) = shorter.filter(|shorter| !shorter.is_empty()) {
            name = shorter.to_owned();
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_after_its_file() {
        for (path, name) in [
            ("data/alarm.csv", "alarm"),
            ("x/big.tsv.gz", "big"),
            ("x/big.parquet", "big"),
            ("-", "stdin"),
            ("plain", "plain"),
            (".csv", ".csv"),
        ] {
            assert_eq!(table_name(Path::new(path)), name);
        }
    }
}
