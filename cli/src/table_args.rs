//! How a table is read, as flags; the same in every command that reads one.

use crate::args::shorten;
use crate::failure::Failure;
use crate::flag_hints::FlagHint;
use clap::Args;
use rlbayes::{
    BinRules, ColumnReport, ColumnUse, DecimalMark, DeclaredSchema, Delimiter, Encoding, LoadError,
    LoadOptions, LoadReport, MissingPolicy, Network, Table, TableError, TablePurpose,
};
use rlbayes_common::io::parse_name_lists;
use rlbayes_common::network::NetworkFile;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// How a table is read.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading the table")]
pub(crate) struct TableArgs {
    /// What `check --write-schema` wrote: states and their order, cut points, columns left out,
    /// missing markers; or only smoker = ["no", "yes"] for some columns
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Columns to leave out, separated by commas
    #[arg(long, value_name = "NAMES")]
    pub(crate) drop: Vec<String>,
    /// The only columns to use, separated by commas
    #[arg(long, value_name = "NAMES")]
    pub(crate) columns: Vec<String>,
    /// Cuts numbers into K intervals (quantile:K or width:K): columns with more than 32 different
    /// ones, or those named, as in age=quantile:4,income=width:5
    #[arg(long, value_name = "[COLUMN=]METHOD:K")]
    pub(crate) bins: Vec<BinRules>,
    /// What to do about missing cells: error or drop-rows
    #[arg(long, value_name = "POLICY", default_value = "error")]
    pub(crate) missing: MissingPolicy,
    /// A cell that counts as missing; may be given several times, and replaces the usual ones
    /// [default: empty, ?, NA, N/A, NaN, null, None, #N/A and what else pandas takes]
    #[arg(long, value_name = "TEXT")]
    pub(crate) missing_marker: Vec<String>,
    /// What stands between cells: comma, semicolon, tab, space or a character [default: guessed]
    #[arg(long, value_name = "CHARACTER")]
    pub(crate) separator: Option<Delimiter>,
    /// What stands before the fraction of a number: . or , [default: .]
    #[arg(long, value_name = "CHARACTER")]
    pub(crate) decimal: Option<DecimalMark>,
    /// What begins a comment that runs to the end of its line, such as #
    #[arg(long, value_name = "CHARACTER", value_parser = parse_comment)]
    pub(crate) comment: Option<u8>,
    /// The encoding of a text that is not UTF-8, such as windows-1252 or utf-16 [default: told by its
    /// bytes]
    #[arg(long, value_name = "NAME")]
    pub(crate) encoding: Option<Encoding>,
    /// The first row has no names: columns are called V1, V2, ...
    #[arg(long)]
    pub(crate) no_header: bool,
}

/// Reads the character that begins a comment.
fn parse_comment(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        &[byte] if byte.is_ascii_punctuation() && byte != b'"' => Ok(byte),
        _ => Err("expected one character such as #".to_owned()),
    }
}

impl TableArgs {
    /// Returns how a table is to be read.
    pub(crate) fn options(&self) -> Result<LoadOptions, Failure> {
        let schema = self
            .schema
            .as_deref()
            .map(|path| DeclaredSchema::load(path).map_err(|error| Failure::file(path, error)))
            .transpose()?;
        let bins = self.bins.iter().cloned();
        Ok(LoadOptions {
            delimiter: self.separator,
            decimal: self.decimal,
            comment: self.comment,
            header: self.no_header.then_some(false),
            encoding: self.encoding,
            drop: names("--drop", &self.drop)?,
            columns: names("--columns", &self.columns)?,
            schema,
            bins: bins.fold(BinRules::default(), BinRules::and),
            missing: self.missing,
            missing_markers: (!self.missing_marker.is_empty()).then(|| self.missing_marker.clone()),
            ..LoadOptions::default()
        })
    }

    /// Reads a table; warnings about it go to `warn`.
    pub(crate) fn load(&self, path: &Path, warn: impl FnMut(String)) -> Result<Table, Failure> {
        let options = self.options()?;
        told(Table::read_with(path, &options), options.purpose, warn)
    }

    /// Reads a network and a table for it: columns that the network has take its states, and its cut
    /// points where these are labels of intervals, unless a schema says otherwise. A state that the
    /// network does not have is an error with row and column.
    pub(crate) fn load_for(
        &self,
        path: &Path,
        network: &Path,
        warn: impl FnMut(String),
    ) -> Result<(Table, Network), Failure> {
        let mut options = self.options()?;
        options.purpose = TablePurpose::Asking;
        let network =
            Network::read(network).map_err(|error| match Table::check(path, &options) {
                Err(refused) if is_network(&refused) => swapped(&refused),
                _ => Failure::input(error),
            })?;
        if options.schema.is_none()
            && let NetworkFile::Parametrised(network) = network.file()
        {
            options.schema = Some(DeclaredSchema::from(network.schema().as_ref().clone()));
        }
        match Table::read_with(path, &options) {
            Err(refused) if is_network(&refused) => Err(swapped(&refused)),
            read => Ok((told(read, options.purpose, warn)?, network)),
        }
    }
}

fn is_network(error: &TableError) -> bool {
    matches!(*error.problem, LoadError::IsNetwork(_))
}

fn swapped(error: &TableError) -> Failure {
    Failure::input(format!("{error} (are the two files swapped?)"))
}

/// Tells what a person should know of a table, or the flags that help against what is wrong with it.
fn told(
    read: Result<Table, TableError>,
    purpose: TablePurpose,
    warn: impl FnMut(String),
) -> Result<Table, Failure> {
    let table = read.map_err(|error| Failure::file(&error.path, error.problem.with_flags()))?;
    if let Some(report) = table.report() {
        tell(report, purpose, warn);
    }
    Ok(table)
}

/// Reads names that are separated by commas and may be quoted.
fn names(flag: &str, lists: &[String]) -> Result<Vec<String>, Failure> {
    let mut all = Vec::new();
    for list in lists {
        let parsed = parse_name_lists(list)
            .map_err(|error| Failure::input(format!("{flag} {list}: {error}")))?;
        all.extend(parsed.into_iter().flat_map(|(_, names)| names));
    }
    Ok(all)
}

/// Says which columns rows were dropped for.
fn where_missing(report: &LoadReport) -> String {
    let used = |column: &&ColumnReport| !matches!(column.used, ColumnUse::LeftOut(_));
    let columns = report.columns.iter().filter(used);
    let mut missing: Vec<(usize, &str)> = columns
        .map(|column| (column.missing_cells, column.name.as_str()))
        .filter(|&(cells, _)| cells > 0)
        .collect();
    missing.sort_by_key(|&(cells, _)| Reverse(cells));
    let most = missing.iter().take(3);
    let most: Vec<String> = most
        .map(|(cells, name)| format!("\"{name}\" {cells}"))
        .collect();
    let mut text = format!("cells missing: {}", most.join(", "));
    if missing.len() > most.len() {
        text += &format!(" and in {} more columns", missing.len() - most.len());
    }
    text
}

/// Tells what a person should know of a table that was read.
pub(crate) fn tell(report: &LoadReport, purpose: TablePurpose, mut warn: impl FnMut(String)) {
    for warning in &report.warnings {
        warn(warning.clone());
    }
    for column in report.binned() {
        let cuts = column.cut_points.as_deref().unwrap_or_default();
        let cuts: Vec<String> = cuts.iter().map(ToString::to_string).collect();
        let cuts: Vec<&str> = cuts.iter().map(String::as_str).collect();
        warn(format!(
            "column \"{}\" was cut into {} intervals at {}",
            column.name,
            column.states,
            shorten(&cuts)
        ));
    }
    if report.rows_dropped > 0 {
        warn(format!(
            "{} of {} rows have missing cells and were dropped ({})",
            report.rows_dropped,
            report.rows_read,
            where_missing(report)
        ));
    }
    let constants: Vec<&str> = report.constants().collect();
    // Where a network is known there is no search, and such a column is evidence as others are.
    if purpose == TablePurpose::Learning && !constants.is_empty() {
        warn(format!(
            "{} out of the search: {}",
            if constants.len() == 1 {
                "a column holds a single value and stays"
            } else {
                "columns hold a single value and stay"
            },
            shorten(&constants)
        ));
    }
}
