//! `rlbayes check`: what a table holds, what would become of each column, and what a search needs.

use crate::failure::Failure;
use crate::file_roles::FileRoles;
use crate::flag_hints::FlagHint;
use crate::table_args::TableArgs;
use crate::target::Target;
use crate::terminal::{Messages, print, print_json};
use crate::units::show_bytes;
use clap::Args;
use rlbayes::memory_layout::MemoryLayout;
use rlbayes::{
    Algorithm, ColumnReport, ColumnUse, DeclaredSchema, LeftOut, LoadReport, Table, TableCheck,
    machine,
};
use rlbayes_common::data;
use rlbayes_common::score::ScoreSpec;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// Shows what a table holds, what `learn` would do with each column, and every problem at once.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Examples:\n  rlbayes check data/alarm.csv\n  \
    rlbayes check survey.xlsx --drop id --bins quantile:4 --write-schema survey.toml")]
pub(crate) struct CheckCommand {
    /// The table; - is standard input
    data: PathBuf,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// Writes down how the table is read, so that --schema reads others alike
    #[arg(long, value_name = "FILE")]
    write_schema: Option<PathBuf>,
    #[command(flatten)]
    table: TableArgs,
    /// Threads that a search would have [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<u32>,
}

/// Runs the command.
pub(crate) fn run(args: &CheckCommand) -> Result<(), Failure> {
    FileRoles::default()
        .reads("the table", &args.data)
        .reads("the schema", args.table.schema.as_ref())
        .writes("the schema to write", args.write_schema.as_ref())
        .check()?;
    let target = args.write_schema.as_deref().map(Target::new).transpose()?;
    let options = args.table.options()?;
    let check = Table::check(&args.data, &options)
        .map_err(|error| Failure::file(&error.path, error.problem.with_flags()))?;
    let needs = check
        .table
        .as_ref()
        .ok()
        .map(|table| Needs::of(table, args));
    if args.json {
        print_json(&as_json(&check, needs.as_ref()))?;
    } else {
        print(&as_text(&check, needs.as_ref()))?;
    }
    let Some(target) = target else {
        return Ok(());
    };
    let Ok(table) = &check.table else {
        let what = "is not written before all problems of the table are solved";
        return Err(Failure::input(format!("{target}: the schema {what}")));
    };
    let schema = DeclaredSchema::of(table, &check.report, &options);
    target.write(schema.to_toml().into_bytes())?;
    Messages::new(args.json).line(&format!("written   {target}"));
    Ok(())
}

/// What a search on a table needs.
struct Needs {
    bytes: usize,
    chains: u32,
}

impl Needs {
    fn of(table: &data::Table, args: &CheckCommand) -> Self {
        let spec = Algorithm::RlBayes(Default::default());
        let chains =
            spec.default_chains(args.threads.unwrap_or_else(machine::cores), table.nodes());
        let layout = MemoryLayout::new(table, ScoreSpec::BIC, &spec, usize::MAX / 2);
        Self {
            bytes: layout.needed(chains),
            chains,
        }
    }
}

fn as_json(check: &TableCheck, needs: Option<&Needs>) -> Value {
    let report = &check.report;
    let columns: Vec<Value> = report
        .columns
        .iter()
        .map(|column| {
            json!({
                "name": column.name,
                "kind": column.kind.to_string(),
                "use": used(column),
                "distinct": column.distinct,
                "states": column.states,
                "missing": column.missing_cells,
                "constant": column.is_constant(),
                "most_frequent": column.most_frequent,
                "cuts": column.cut_points,
                "counts": check.table.as_ref().ok().and_then(|table| counts(table, &column.name)),
            })
        })
        .collect();
    let problems: Vec<String> = problems(check);
    json!({
        "format": report.format.to_string(),
        "separator": report.delimiter.map(|delimiter| delimiter.to_string()),
        "encoding": report.encoding.map(|encoding| encoding.to_string()),
        "rows": report.rows_kept,
        "rows_dropped": report.rows_dropped,
        "columns": columns,
        "missing": report.missing_cells(),
        "warnings": report.warnings,
        "problems": problems,
        "memory_bytes": needs.map(|needs| needs.bytes),
    })
}

/// Returns in how many rows each state of a variable stands, in the states' order.
fn counts(table: &data::Table, name: &str) -> Option<Value> {
    let node = table.schema().find(name)?;
    let mut rows = vec![0_usize; table.arity(node)];
    for &state in table.column(node) {
        rows[usize::from(state)] += 1;
    }
    let states = table.schema().variable(node).states();
    let counts: Vec<Value> = states
        .iter()
        .zip(rows)
        .map(|(state, rows)| json!([state, rows]))
        .collect();
    Some(Value::Array(counts))
}

/// Returns what keeps the table from being used, with the flags that help.
fn problems(check: &TableCheck) -> Vec<String> {
    match &check.table {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(FlagHint::with_flags).collect(),
    }
}

/// Says what becomes of a column.
fn used(column: &ColumnReport) -> String {
    match &column.used {
        ColumnUse::Declared if column.cut_points.is_some() => {
            format!("{} intervals, as declared", column.states)
        }
        ColumnUse::Declared => format!("{}, as declared", states(column.states)),
        ColumnUse::States if column.is_constant() => "constant: no edges".to_owned(),
        ColumnUse::States => states(column.states),
        ColumnUse::Binned(bins) if column.states > 0 => {
            format!("{} intervals ({bins})", column.states)
        }
        ColumnUse::Binned(bins) => format!("intervals ({bins})"),
        ColumnUse::LeftOut(LeftOut::Unwanted) => "left out, as asked".to_owned(),
        ColumnUse::LeftOut(LeftOut::RowNumbers) => "left out: row numbers".to_owned(),
        ColumnUse::LeftOut(LeftOut::Identifier) => "left out: tells rows apart".to_owned(),
        ColumnUse::LeftOut(LeftOut::Dates) => "left out: many dates".to_owned(),
        ColumnUse::LeftOut(LeftOut::Empty) => "left out: empty".to_owned(),
        ColumnUse::Refused => "refused, see below".to_owned(),
    }
}

fn states(count: usize) -> String {
    match count {
        1 => "1 state".to_owned(),
        _ => format!("{count} states"),
    }
}

fn as_text(check: &TableCheck, needs: Option<&Needs>) -> String {
    let report = &check.report;
    let mut text = String::new();
    let _ = writeln!(text, "read      {}", how_read(report));
    let _ = writeln!(text, "rows      {}", report.rows_kept);
    if report.rows_dropped > 0 {
        let rows = report.rows_dropped;
        let _ = writeln!(text, "dropped   {rows} rows with missing cells");
    }
    let used_columns = report
        .columns
        .iter()
        .filter(|column| !matches!(column.used, ColumnUse::LeftOut(_)))
        .count();
    let _ = writeln!(
        text,
        "columns   {used_columns} of {} are used",
        report.columns.len()
    );
    let _ = writeln!(text, "missing   {} cells", report.missing_cells());
    if let Some(needs) = needs {
        let _ = writeln!(
            text,
            "memory    at least {} for {} chains; more makes it faster",
            show_bytes(needs.bytes),
            needs.chains
        );
    }
    write_columns(&mut text, report);
    write_list(&mut text, "worth a look:", &report.warnings);
    let problems = problems(check);
    write_list(
        &mut text,
        "what keeps the table from being used:",
        &problems,
    );
    text
}

fn how_read(report: &LoadReport) -> String {
    let mut how = report.format.to_string();
    if let Some(delimiter) = report.delimiter {
        let _ = write!(how, ", separated by {delimiter}");
    }
    if let Some(encoding) = report.encoding {
        let _ = write!(how, ", {encoding}");
    }
    how
}

/// Longest name and most frequent values that a line shows in full.
const NAME_WIDTH: usize = 24;
const VALUES_WIDTH: usize = 40;

fn write_columns(text: &mut String, report: &LoadReport) {
    let names = report
        .columns
        .iter()
        .map(|column| column.name.chars().count());
    let width = names.max().unwrap_or(0).clamp(6, NAME_WIDTH);
    let _ = writeln!(
        text,
        "\n{:width$}  {:17}  {:>8}  {:26}  most frequent",
        "column", "kind", "missing", "what learn does"
    );
    for column in &report.columns {
        let missing = share(column.missing_cells, report.rows_read);
        let frequent: Vec<String> = column
            .most_frequent
            .iter()
            .map(|(value, count)| format!("{value} {count}x"))
            .collect();
        let line = format!(
            "{:width$}  {:17}  {missing:>8}  {:26}  {}",
            cut(&column.name, width),
            column.kind.to_string(),
            used(column),
            cut(&frequent.join(", "), VALUES_WIDTH),
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

fn write_list(text: &mut String, heading: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{heading}");
    for sentence in sentences {
        let _ = writeln!(text, "- {sentence}");
    }
}

fn share(cells: usize, of: usize) -> String {
    match cells {
        0 => "0".to_owned(),
        cells => format!("{:.1} %", 100.0 * cells as f64 / of.max(1) as f64),
    }
}

/// Shortens a text to a width, in the middle, where names differ least.
fn cut(text: &str, width: usize) -> String {
    let plain: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let length = plain.chars().count();
    if length <= width {
        return plain;
    }
    let start: String = plain.chars().take(width / 2).collect();
    let end: String = plain
        .chars()
        .skip(length - (width - width / 2 - 1))
        .collect();
    format!("{start}…{end}")
}
