//! The small commands around a network: score, compare, sample, fit, convert.

use crate::args::{NameArgs, ScoreArgs, ShownAs, placed, shorten};
use crate::failure::Failure;
use crate::file_roles::FileRoles;
use crate::output::{FormatArgs, OutputOptions};
use crate::provenance::ProvenanceNotes;
use crate::report::metrics_json;
use crate::table_args::TableArgs;
use crate::target::Target;
use crate::terminal::{Messages, print, print_json};
use crate::units::counted;
use clap::Args;
use rlbayes::{Network, Table};
use rlbayes_common::data::{sample, write_csv};
use rlbayes_common::fit::fit;
use rlbayes_common::graph::Cpdag;
use rlbayes_common::ids::{NodeIdx, Seed};
use rlbayes_common::io::{Format, read_document, read_network};
use rlbayes_common::network::NetworkFile;
use rlbayes_common::score::{LocalScore, Scorer, Scratch};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
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
    let (table, network) = args.table.load_for(&args.data, &args.network, |warning| {
        messages.warn(&args.data, warning);
    })?;
    // The structure is scored, the same whatever file it stands in: states that no row has do not count.
    let table = Table::from_data(table.name(), table.data().occurring());
    let dag = placed(&args.network, &network, &table)?;
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
    check_same_nodes(args, &truth, &learned)?;
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
    if only_a.len() == a.len() && !a.is_empty() && !b.is_empty() {
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
    /// The network, with probabilities (BIF, XMLBIF or JSON)
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
        let what = "has no probabilities to sample from (expected BIF, XMLBIF or JSON with them)";
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
    FileRoles::default()
        .reads("the table", &args.data)
        .reads("the network", &args.network)
        .reads("the schema", args.table.schema.as_ref())
        .writes("the result", [&args.output])
        .check()?;
    let output = args.format.output(&args.output, Format::Bif)?;
    let output = output.holding_probabilities()?;
    let (table, network) = args.table.load_for(&args.data, &args.network, |warning| {
        messages.warn(&args.data, warning);
    })?;
    let dag = placed(&args.network, &network, &table)?;
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
    let provenance = ProvenanceNotes::of_fit(&table, alpha);
    let options = OutputOptions {
        strict_names: args.names.strict_names,
        provenance: Some(&provenance),
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
    #[command(flatten)]
    names: NameArgs,
    /// Whether graphs and pictures show the network, or which edges of its class are compelled
    #[arg(id = "as", long = "as", value_enum, ignore_case = true, default_value_t = ShownAs::Dag)]
    shown_as: ShownAs,
    /// Pictures: draws only the neighbourhood of a node
    #[arg(long, value_name = "NODE")]
    around: Option<String>,
}

pub(crate) fn convert(args: &ConvertCommand) -> Result<(), Failure> {
    let messages = Messages::new(false);
    FileRoles::default()
        .reads("the network to read", &args.from)
        .writes("the one to write", [&args.to])
        .check()?;
    let read = read_document(&args.from).map_err(Failure::input)?;
    let network = read.network;
    let usual = match &network {
        NetworkFile::Parametrised(_) => Format::Bif,
        NetworkFile::Structure(_) => Format::Csv,
    };
    let output = args.format.output(&args.to, usual)?;
    let provenance = ProvenanceNotes::read(read.provenance);
    let class = Cpdag::of(network.named_dag().dag());
    let options = OutputOptions {
        strict_names: args.names.strict_names,
        class: (args.shown_as == ShownAs::Cpdag).then_some(&class),
        provenance: Some(&provenance),
        around: args.around.as_deref(),
        truth: None,
        support: None,
    };
    output.write(&network, options, |warning| messages.warning(&warning))
}
