//! The small commands around a network: score, compare, sample, fit, convert, check.

use crate::args::{NameArgs, ScoreArgs, ShownAs, TableArgs, read_structure, shorten};
use crate::failure::Failure;
use crate::output::{Output, OutputOptions};
use crate::provenance::ProvenanceNotes;
use crate::report::metrics_json;
use crate::terminal::{Messages, print, print_json};
use crate::units::show_bytes;
use clap::Args;
use rlbayes::memory_layout::MemoryLayout;
use rlbayes::{Algorithm, Network, machine};
use rlbayes_common::data::{sample, write_csv};
use rlbayes_common::files::write_whole;
use rlbayes_common::fit::fit;
use rlbayes_common::graph::Cpdag;
use rlbayes_common::ids::{NodeIdx, Seed};
use rlbayes_common::io::{read_document, read_network};
use rlbayes_common::network::NetworkFile;
use rlbayes_common::score::{LocalScore, ScoreSpec, Scorer, Scratch};
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// Scores the structure of a network on a table; probabilities are counted anew (see loglik).
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
    text +=
        "(of the structure, counted from this table; `loglik` uses the network's probabilities)\n";
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
    /// Prints JSON: f1_directed, auc, f1_skeleton, shd_cpdag, differences
    #[arg(long)]
    json: bool,
}

pub(crate) fn compare_networks(args: &CompareCommand) -> Result<(), Failure> {
    let read = |path| Network::read(path).map_err(Failure::input);
    let (truth, learned) = (read(&args.truth)?, read(&args.learned)?);
    let (true_nodes, nodes) = (truth.nodes(), learned.nodes());
    if let (Some(first), Some(second)) = (true_nodes.first(), nodes.first())
        && !true_nodes.iter().any(|name| nodes.contains(name))
    {
        return Err(Failure::input(format!(
            "the networks have no node in common: {} has {first:?}, {} has {second:?}",
            args.truth.display(),
            args.learned.display()
        )));
    }
    let metrics = truth.compare(&learned);
    let differences = truth.class_differences(&learned);
    if args.json {
        let mut json = metrics_json(&metrics);
        let pairs = differences.iter().map(|(one, two, [true_way, learned_way])| {
            json!({ "nodes": [one, two], "truth": true_way, "learned": learned_way })
        });
        json["differences"] = pairs.collect();
        return print_json(&json);
    }
    let mut text = format!(
        "directed F1  {:.4}\nAUC          {:.4}\nskeleton F1  {:.4}\nSHD (CPDAG)  {}\n",
        metrics.f1_directed, metrics.auc, metrics.f1_skeleton, metrics.shd_cpdag
    );
    if !differences.is_empty() {
        text += "\nWhat differs between the classes (true network | learned network):\n";
    }
    for (one, two, joined) in &differences {
        let [truth, learned] = joined.map(|joined| if joined.is_empty() { "  " } else { joined });
        let _ = writeln!(text, "  {truth} | {learned}  {one}, {two}");
    }
    print(&text)
}

/// Draws rows from a network.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Example:\n  rlbayes sample data/networks/asia.bif --rows 5000 --seed 7 -o asia.csv"
)]
pub(crate) struct SampleCommand {
    /// The network, with probabilities (BIF, XMLBIF or JSON)
    network: PathBuf,
    /// How many rows
    #[arg(long, value_name = "N")]
    rows: usize,
    /// Seed of the random draws
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The table to write (CSV)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(crate) fn sample_rows(args: &SampleCommand) -> Result<(), Failure> {
    let NetworkFile::Parametrised(network) = read_network(&args.network).map_err(Failure::input)?
    else {
        let what = "has no probabilities to sample from (expected BIF, XMLBIF or JSON with them)";
        return Err(Failure::file(&args.network, what));
    };
    let table = sample(&network, args.rows, Seed(args.seed)).map_err(Failure::input)?;
    let mut bytes = Vec::new();
    write_csv(&table, &mut bytes)
        .and_then(|()| write_whole(&args.output, &bytes))
        .map_err(|error| Failure::file(&args.output, error))
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
    /// The result: .bif, .xml, .bifxml or .json
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Number that is added to every count (0: maximum likelihood), or auto: chosen by the
    /// log-likelihood of rows held out
    #[arg(long, value_name = "ALPHA", default_value = "0")]
    alpha: Alpha,
    #[command(flatten)]
    names: NameArgs,
    #[command(flatten)]
    table: TableArgs,
}

/// What is added to every count.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Alpha {
    Auto,
    Number(f64),
}

impl FromStr for Alpha {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Self::Auto),
            (_, Ok(number)) => Ok(Self::Number(number)),
            _ => Err("expected a number or auto".into()),
        }
    }
}

pub(crate) fn fit_network(args: &FitCommand) -> Result<(), Failure> {
    let messages = Messages::new(false);
    let output = Output::new(&args.output)?;
    if !output.needs_parameters() {
        let what = "holds no probabilities (expected .bif, .xml, .bifxml or .json)";
        return Err(Failure::file(&args.output, what));
    }
    let table = args
        .table
        .load(&args.data, |warning| messages.warn(&args.data, warning))?;
    let dag = read_structure(&args.network, &table)?;
    let alpha = match args.alpha {
        Alpha::Number(alpha) => alpha,
        Alpha::Auto => {
            let structure = Network::of(&table, dag.clone());
            let alpha = structure.choose_alpha(&table, 1).map_err(Failure::input)?;
            messages.note(&format!("alpha {alpha} fits rows held out best"));
            alpha
        }
    };
    let network = fit(table.data(), &dag, alpha).map_err(Failure::input)?;
    let options = OutputOptions {
        strict_names: args.names.strict_names,
        ..Default::default()
    };
    output.write(&NetworkFile::Parametrised(network), options, |warning| {
        messages.warn(output.path(), warning);
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
    /// The file to write
    to: PathBuf,
    #[command(flatten)]
    names: NameArgs,
    /// Whether graphs and pictures show the network, or which edges of its class are compelled
    #[arg(long = "as", value_enum, default_value_t = ShownAs::Dag)]
    shown_as: ShownAs,
    /// SVG: draws only the neighbourhood of a node
    #[arg(long, value_name = "NODE")]
    around: Option<String>,
}

pub(crate) fn convert(args: &ConvertCommand) -> Result<(), Failure> {
    let messages = Messages::new(false);
    let read = read_document(&args.from).map_err(Failure::input)?;
    let network = read.network;
    let output = Output::new(&args.to)?;
    let provenance = ProvenanceNotes::read(read.provenance);
    let class = Cpdag::of(network.named_dag().dag());
    let options = OutputOptions {
        strict_names: args.names.strict_names,
        class: (args.shown_as == ShownAs::Cpdag).then_some(&class),
        provenance: Some(&provenance),
        around: args.around.as_deref(),
        truth: None,
    };
    output.write(&network, options, |warning| {
        messages.warn(output.path(), warning)
    })
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
        "memory    at least {} for {chains} chains; more makes it faster",
        show_bytes(needed)
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
