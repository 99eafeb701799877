//! The small commands around a network: score, compare, sample, fit, convert, check.

use crate::args::{ScoreArgs, TableArgs, read_structure, shorten};
use crate::failure::Failure;
use crate::file_roles::FileRoles;
use crate::output::{FormatArgs, OutputOptions};
use crate::report::metrics_json;
use crate::target::Target;
use crate::terminal::{Messages, print, print_json};
use crate::units::{counted, show_bytes};
use clap::Args;
use rlbayes::memory_layout::MemoryLayout;
use rlbayes::{Algorithm, Network, machine};
use rlbayes_common::data::{sample, write_csv};
use rlbayes_common::fit::fit;
use rlbayes_common::ids::{NodeIdx, Seed};
use rlbayes_common::io::{Format, read_network};
use rlbayes_common::network::NetworkFile;
use rlbayes_common::score::{LocalScore, ScoreSpec, Scorer, Scratch};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Scores a network on a table.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Examples:\n  rlbayes score data/alarm.csv data/networks/alarm.bif\n  \
    rlbayes score data/alarm.csv edges.csv --score bdeu --ess 10 --by-node"
)]
pub(crate) struct ScoreCommand {
    /// The table
    data: PathBuf,
    /// The network, in any readable format; variables it lacks are isolated
    network: PathBuf,
    /// Shows what each node contributes
    #[arg(long)]
    by_node: bool,
    /// Prints JSON: score, by_node
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    score: ScoreArgs,
    #[command(flatten)]
    table: TableArgs,
}

pub(crate) fn score(args: &ScoreCommand) -> Result<(), Failure> {
    let messages = Messages::new(args.json);
    let table = args
        .table
        .load(&args.data, |warning| messages.warn(&args.data, warning))?;
    let dag = read_structure(&args.network, &table)?;
    let scorer = Scorer::new(Arc::clone(table.data()), args.score.spec()?);
    let mut scratch = Scratch::default();
    let parts: Vec<f64> = NodeIdx::all(dag.nodes())
        .map(|node| scorer.local(node, dag.parents(node), &mut scratch).value())
        .collect();
    let total: f64 = parts.iter().sum();
    if args.json {
        let by_node: serde_json::Map<String, serde_json::Value> = table
            .variables()
            .into_iter()
            .zip(&parts)
            .map(|(name, part)| (name.to_owned(), json!(part)))
            .collect();
        return print_json(&json!({ "score": total, "by_node": by_node }));
    }
    let mut text = String::new();
    if args.by_node {
        for (name, part) in table.variables().into_iter().zip(&parts) {
            let _ = writeln!(text, "{part:>16.6}  {name}");
        }
    }
    let _ = writeln!(text, "{total:>16.6}  {}", args.score.score);
    print(&text)
}

/// Compares a learned network with the true one.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Examples:\n  rlbayes compare data/networks/alarm.bif alarm.bif\n  \
    rlbayes compare truth.csv learned.json --json"
)]
pub(crate) struct CompareCommand {
    /// The true network
    truth: PathBuf,
    /// The learned network
    learned: PathBuf,
    /// Prints JSON: f1_directed, auc, f1_skeleton, shd_cpdag
    #[arg(long)]
    json: bool,
}

pub(crate) fn compare_networks(args: &CompareCommand) -> Result<(), Failure> {
    let read = |path| Network::read(path).map_err(Failure::input);
    let (truth, learned) = (read(&args.truth)?, read(&args.learned)?);
    check_same_nodes(args, &truth, &learned)?;
    let metrics = truth.compare(&learned);
    if args.json {
        return print_json(&metrics_json(&metrics));
    }
    print(&format!(
        "directed F1  {:.4}\nAUC          {:.4}\nskeleton F1  {:.4}\nSHD (CPDAG)  {}\n",
        metrics.f1_directed, metrics.auc, metrics.f1_skeleton, metrics.shd_cpdag
    ))
}

/// Refuses networks without a common node, and warns about those with different ones.
fn check_same_nodes(
    args: &CompareCommand,
    truth: &Network,
    learned: &Network,
) -> Result<(), Failure> {
    let (a, b) = (truth.nodes(), learned.nodes());
    let only = |of: &[&str], other: &[&str]| -> Vec<String> {
        let other: BTreeSet<&str> = other.iter().copied().collect();
        let only = of.iter().filter(|name| !other.contains(*name));
        only.map(|name| format!("\"{name}\"")).collect()
    };
    let (only_a, only_b) = (only(&a, &b), only(&b, &a));
    let listed = |names: &[String]| shorten(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let (first, second) = (args.truth.display(), args.learned.display());
    if only_a.len() == a.len() {
        return Err(Failure::input(format!(
            "{first} and {second} have no node in common: {first} has {}; {second} has {}",
            listed(&only_a),
            listed(&only_b)
        )));
    }
    let messages = Messages::new(args.json);
    for (path, other, names) in [(&first, &second, only_a), (&second, &first, only_b)] {
        if !names.is_empty() {
            messages.warning(&format!(
                "{other} lacks {} of {path}, which counts as isolated: {}",
                counted(names.len() as u64, "node"),
                listed(&names)
            ));
        }
    }
    Ok(())
}

/// Draws rows from a network.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Example:\n  rlbayes sample data/networks/asia.bif --rows 5000 --seed 7 -o asia.csv"
)]
pub(crate) struct SampleCommand {
    /// The network, with probabilities (BIF or XMLBIF)
    network: PathBuf,
    /// How many rows
    #[arg(long, value_name = "N")]
    rows: usize,
    /// Seed of the random draws
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The table to write: .csv or .csv.gz; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(crate) fn sample_rows(args: &SampleCommand) -> Result<(), Failure> {
    FileRoles::default()
        .reads("the network", &args.network)
        .writes("the rows", [&args.output])
        .check()?;
    let target = Target::new(&args.output)?;
    let named = target.path().filter(|path| !is_special(path));
    if let Some(path) = named
        && Format::from_path(path) != Ok(Format::Csv)
    {
        let what = "sample writes CSV (expected a name that ends in .csv or .csv.gz, or -)";
        return Err(Failure::file(path, what));
    }
    let NetworkFile::Parametrised(network) = read_network(&args.network).map_err(Failure::input)?
    else {
        let what = "has no probabilities to sample from (expected BIF or XMLBIF)";
        return Err(Failure::file(&args.network, what));
    };
    let table = sample(&network, args.rows, Seed(args.seed)).map_err(Failure::input)?;
    let mut bytes = Vec::new();
    write_csv(&table, &mut bytes).map_err(|error| Failure::Bug(error.to_string()))?;
    target.write(bytes)
}

/// Returns whether there is a device or a pipe, whose name has no ending.
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| !about.is_file())
}

/// Estimates the probabilities of a network from a table.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Examples:\n  rlbayes fit data/alarm.csv edges.csv -o alarm.bif\n  \
    rlbayes fit data/alarm.csv alarm.bif --alpha 1 -o smooth.bifxml"
)]
pub(crate) struct FitCommand {
    /// The table
    data: PathBuf,
    /// The network, in any readable format
    network: PathBuf,
    /// The result: .bif, .xml, .bifxml or .json; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
    /// Number that is added to every count (0: maximum likelihood)
    #[arg(long, value_name = "ALPHA", default_value_t = 0.0)]
    alpha: f64,
    /// BIF: maps names that other programs refuse, with the originals as comments
    #[arg(long)]
    portable_names: bool,
    #[command(flatten)]
    table: TableArgs,
}

pub(crate) fn fit_network(args: &FitCommand) -> Result<(), Failure> {
    let messages = Messages::new(false);
    FileRoles::default()
        .reads("the table", &args.data)
        .reads("the network", &args.network)
        .reads("the schema", args.table.schema.as_ref())
        .writes("the result", [&args.output])
        .check()?;
    let output = args.format.output(&args.output, Format::Bif)?;
    let output = output.holding_probabilities()?;
    let table = args
        .table
        .load(&args.data, |warning| messages.warn(&args.data, warning))?;
    let dag = read_structure(&args.network, &table)?;
    let network = fit(table.data(), &dag, args.alpha).map_err(Failure::input)?;
    let options = OutputOptions {
        portable_names: args.portable_names,
        ..Default::default()
    };
    output.write(&NetworkFile::Parametrised(network), options, |warning| {
        messages.warning(&warning);
    })
}

/// Writes a network in another format.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Examples:\n  rlbayes convert data/networks/child.bif child.bifxml\n  \
    rlbayes convert data/networks/link.bif link.svg --around N59_d_g"
)]
pub(crate) struct ConvertCommand {
    /// The network to read
    from: PathBuf,
    /// The file to write; - is standard output
    to: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
    /// BIF: maps names that other programs refuse, with the originals as comments
    #[arg(long)]
    portable_names: bool,
    /// SVG: draws only the neighbourhood of a node
    #[arg(long, value_name = "NODE")]
    around: Option<String>,
}

pub(crate) fn convert(args: &ConvertCommand) -> Result<(), Failure> {
    let messages = Messages::new(false);
    FileRoles::default()
        .reads("the network to read", &args.from)
        .writes("the one to write", [&args.to])
        .check()?;
    let network = read_network(&args.from).map_err(Failure::input)?;
    let usual = match &network {
        NetworkFile::Parametrised(_) => Format::Bif,
        NetworkFile::Structure(_) => Format::Csv,
    };
    let output = args.format.output(&args.to, usual)?;
    let options = OutputOptions {
        portable_names: args.portable_names,
        around: args.around.as_deref(),
        truth: None,
    };
    output.write(&network, options, |warning| messages.warning(&warning))
}

/// Shows what a table holds and what a search on it will need.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Example:\n  rlbayes check data/alarm.csv")]
pub(crate) struct CheckCommand {
    /// The table
    data: PathBuf,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    table: TableArgs,
    /// Threads that a search would have [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<u32>,
}

pub(crate) fn check(args: &CheckCommand) -> Result<(), Failure> {
    let messages = Messages::new(args.json);
    let table = args
        .table
        .load(&args.data, |warning| messages.warn(&args.data, warning))?;
    let report = table
        .report()
        .ok_or_else(|| Failure::Bug("a table was read without a report".into()))?;
    let spec = Algorithm::RlBayes(Default::default());
    let chains = spec.default_chains(args.threads.unwrap_or_else(machine::cores));
    let layout = MemoryLayout::new(table.data(), ScoreSpec::BIC, &spec, usize::MAX / 2);
    let needed = layout.needed(chains);
    if args.json {
        let columns: Vec<_> = report
            .columns
            .iter()
            .map(|column| {
                json!({
                    "name": column.name,
                    "states": column.states,
                    "missing": column.missing_cells,
                    "constant": column.is_constant(),
                })
            })
            .collect();
        return print_json(&json!({
            "rows": table.rows(),
            "rows_dropped": report.rows_dropped,
            "columns": columns,
            "missing": report.missing_cells(),
            "memory_bytes": needed,
        }));
    }
    let mut text = String::new();
    let _ = writeln!(text, "rows      {}", table.rows());
    if report.rows_dropped > 0 {
        let _ = writeln!(
            text,
            "dropped   {} rows with missing cells",
            report.rows_dropped
        );
    }
    let _ = writeln!(text, "columns   {}", table.data().nodes());
    let states: Vec<usize> = report.columns.iter().map(|column| column.states).collect();
    let (least, most) = (
        states.iter().min().unwrap_or(&0),
        states.iter().max().unwrap_or(&0),
    );
    let _ = writeln!(
        text,
        "states    {least} to {most}, {} in all",
        states.iter().sum::<usize>()
    );
    let _ = writeln!(text, "missing   {} cells", report.missing_cells());
    let constants: Vec<&str> = report.constants().collect();
    let listed = if constants.is_empty() {
        "none".to_owned()
    } else {
        shorten(&constants)
    };
    let _ = writeln!(text, "constant  {listed}");
    let _ = writeln!(
        text,
        "memory    at least {} for {}; more makes it faster",
        show_bytes(needed),
        counted(chains, "chain")
    );
    let _ = writeln!(text, "\n{:>6}  {:>8}  column", "states", "missing");
    for column in &report.columns {
        let mark = if column.is_constant() {
            "  (constant)"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "{:>6}  {:>8}  {}{mark}",
            column.states, column.missing_cells, column.name
        );
    }
    print(&text)
}
