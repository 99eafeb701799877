//! Questions to a network with probabilities: how likely rows are, a variable given others, a column
//! predicted from the rest.

use crate::failure::Failure;
use crate::table_args::TableArgs;
use crate::terminal::{Messages, print, print_json};
use clap::Args;
use rlbayes::{LogLikelihood, Network, NetworkUseError, Predictions};
use rlbayes_common::data::quoted;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Says how likely rows are under a network's own probabilities.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Examples:\n  rlbayes fit train.csv edges.csv --alpha 1 -o model.bif\n  \
    rlbayes loglik test.csv model.bif\n  rlbayes loglik test.csv model.bif --by-row > rows.csv"
)]
pub(crate) struct LoglikCommand {
    /// The table, for example rows that the network was not learned from
    data: PathBuf,
    /// The network, with probabilities (BIF, XMLBIF or JSON)
    network: PathBuf,
    /// Prints a line for each row: row,log_likelihood
    #[arg(long)]
    by_row: bool,
    /// Prints JSON: log_likelihood (null if a row is impossible), per_row, rows, impossible_rows
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    table: TableArgs,
}

pub(crate) fn loglik(args: &LoglikCommand) -> Result<(), Failure> {
    let messages = Messages::new(args.json);
    let (table, network) = args.table.load_for(&args.data, &args.network, |warning| {
        messages.warn(&args.data, warning);
    })?;
    let found = network.log_likelihood(&table);
    let found = found.map_err(|error| about(&args.data, &args.network, &error))?;
    let rows = table.rows();
    #[expect(clippy::cast_precision_loss, reason = "at most 2^28 rows")]
    let per_row = found.total() / rows as f64;
    if args.json {
        let mut result = json!({
            // JSON has no infinity.
            "log_likelihood": found.total(),
            "per_row": per_row,
            "rows": rows,
            "impossible_rows": found.impossible_rows(),
            "log_likelihood_of_possible_rows": found.of_possible_rows(),
        });
        if args.by_row {
            result["by_row"] = json!(found.by_row);
        }
        return print_json(&result);
    }
    let mut text = String::new();
    if args.by_row {
        text += "row,log_likelihood\n";
        for (row, number) in found.by_row.iter().enumerate() {
            let _ = writeln!(text, "{},{number}", row + 1);
        }
        if let Some(sentence) = impossible(&found) {
            messages.warn(&args.data, sentence);
        }
        return print(&text);
    }
    let _ = writeln!(text, "log-likelihood  {:.6}", found.total());
    let _ = writeln!(text, "per row         {per_row:.6}");
    let _ = writeln!(text, "rows            {rows}");
    if let Some(sentence) = impossible(&found) {
        let _ = writeln!(text, "{sentence}");
    }
    print(&text)
}

/// Says which rows the network excludes.
fn impossible(found: &LogLikelihood) -> Option<String> {
    let (row, node, state) = found.first_impossible.as_ref()?;
    Some(format!(
        "{} of {} rows have the probability 0 (first: row {row}, {node} = {state}); the others sum to {:.6}. Smoothing avoids this: fit --alpha 1",
        found.impossible_rows(),
        found.by_row.len(),
        found.of_possible_rows()
    ))
}

/// Says what a network tells about variables, given others.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Examples:\n  rlbayes query data/networks/asia.bif --evidence smoke=yes lung\n  \
    rlbayes query data/networks/asia.bif --evidence xray=yes --evidence asia=no lung tub --json"
)]
pub(crate) struct QueryCommand {
    /// The network, with probabilities (BIF, XMLBIF or JSON)
    network: PathBuf,
    /// The variables that are asked for
    #[arg(required = true)]
    targets: Vec<String>,
    /// What is known: NAME=STATE; may be given several times
    #[arg(long, value_name = "NAME=STATE")]
    evidence: Vec<String>,
    /// Prints JSON: posterior (by variable and state), log_evidence
    #[arg(long)]
    json: bool,
}

pub(crate) fn query(args: &QueryCommand) -> Result<(), Failure> {
    let network = Network::read(&args.network).map_err(Failure::input)?;
    let nodes = network.nodes();
    let mut evidence = Vec::new();
    for given in &args.evidence {
        evidence.push(name_and_state(given, &nodes)?);
    }
    let mut posteriors = Map::new();
    let mut text = String::new();
    let mut log_evidence = Value::Null;
    for target in &args.targets {
        let answer = network.query(target, &evidence);
        let answer = answer.map_err(|error| Failure::file(&args.network, error))?;
        log_evidence = json!(answer.log_evidence);
        let given = match args.evidence.is_empty() {
            true => String::new(),
            false => format!(" given {}", args.evidence.join(", ")),
        };
        let _ = writeln!(text, "{target}{given}");
        for (state, probability) in &answer.states {
            let _ = writeln!(text, "  {probability:.6}  {state}");
        }
        let states = answer.states.into_iter();
        let states = states.map(|(state, probability)| (state, json!(probability)));
        posteriors.insert(target.clone(), Value::Object(states.collect()));
    }
    match args.json {
        true => print_json(&json!({ "posterior": posteriors, "log_evidence": log_evidence })),
        false => print(&text),
    }
}

/// Splits NAME=STATE; a name may hold the sign itself.
fn name_and_state<'a>(given: &'a str, nodes: &[&str]) -> Result<(&'a str, &'a str), Failure> {
    let mut splits = given
        .match_indices('=')
        .map(|(at, _)| (&given[..at], &given[at + 1..]));
    let first = splits.clone().next();
    let known = splits.find(|(name, _)| nodes.contains(name));
    known
        .or(first)
        .ok_or_else(|| Failure::input(format!("--evidence {given}: expected NAME=STATE")))
}

/// Predicts a column of a table from the others.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Examples:\n  rlbayes predict test.csv model.bif --target lung\n  \
    rlbayes predict test.csv model.bif --target lung --by-row > predicted.csv"
)]
pub(crate) struct PredictCommand {
    /// The table; where it has the target's column, the prediction is compared with it
    data: PathBuf,
    /// The network, with probabilities (BIF, XMLBIF or JSON)
    network: PathBuf,
    /// The variable to predict
    #[arg(long, value_name = "NAME")]
    target: String,
    /// Prints a line for each row: the likeliest state and the probability of each
    #[arg(long)]
    by_row: bool,
    /// Prints JSON: accuracy, log_loss (null if infinite), rows
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    table: TableArgs,
}

pub(crate) fn predict(args: &PredictCommand) -> Result<(), Failure> {
    let messages = Messages::new(args.json);
    let (table, network) = args.table.load_for(&args.data, &args.network, |warning| {
        messages.warn(&args.data, warning);
    })?;
    let found = network.predict(&table, &args.target);
    let found = found.map_err(|error| about(&args.data, &args.network, &error))?;
    let rows = table.rows();
    if args.json {
        let mut result = json!({
            "target": args.target,
            "rows": rows,
            "accuracy": found.accuracy(),
            "log_loss": found.log_loss(),
        });
        if args.by_row {
            result["states"] = json!(found.states);
            result["by_row"] = json!(found.probabilities);
        }
        return print_json(&result);
    }
    let excluded = excluded(&found);
    match (found.accuracy(), found.log_loss()) {
        (Some(accuracy), Some(log_loss)) if !args.by_row => print(&format!(
            "accuracy  {accuracy:.6}\nlog loss  {log_loss:.6}\nrows      {rows}\n{}",
            excluded.map_or_else(String::new, |sentence| sentence + "\n")
        )),
        _ => {
            if let Some(sentence) = excluded {
                messages.warn(&args.data, sentence);
            }
            print(&by_row(&found))
        }
    }
}

/// Says in how many rows the network excludes the state that is there, which makes the loss infinite.
fn excluded(found: &Predictions) -> Option<String> {
    let first = found.excluded_rows().next()?;
    Some(format!(
        "{} of {} rows have a state of the probability 0 (first: row {first}). Smoothing avoids this: fit --alpha 1",
        found.excluded_rows().count(),
        found.probabilities.len()
    ))
}

/// Returns the predictions as CSV.
fn by_row(found: &Predictions) -> String {
    let mut text = String::from("row,predicted");
    for state in &found.states {
        let _ = write!(text, ",{}", quoted(&format!("P({state})")));
    }
    text.push('\n');
    for (row, probabilities) in found.probabilities.iter().enumerate() {
        let predicted = quoted(&found.states[found.likeliest(row)]);
        let _ = write!(text, "{},{predicted}", row + 1);
        for probability in probabilities {
            let _ = write!(text, ",{probability}");
        }
        text.push('\n');
    }
    text
}

/// Names the file that an error is about: the table's rows, or the network.
fn about(data: &Path, network: &Path, error: &NetworkUseError) -> Failure {
    match error {
        NetworkUseError::Mapping(_) | NetworkUseError::ImpossibleRow(_) => {
            Failure::file(data, error)
        }
        _ => Failure::file(network, error),
    }
}
