//! `rlbayes learn`: from a table to the best network that was found.

use crate::args::{TableArgs, read_structure};
use crate::failure::Failure;
use crate::file_roles::FileRoles;
use crate::output::{FormatArgs, Output, OutputOptions, network_for};
use crate::progress::SearchBar;
use crate::report::{Comparison, as_json, report};
use crate::search_flags::SearchFlags;
use crate::terminal::{Messages, print_json};
use clap::{Args, ValueEnum};
use rlbayes::coordination::Cooperation;
use rlbayes::{
    Outcome, Proving, RunError, Runners, Search, SearchError, StopHandle, StoppedBy, Table,
};
use rlbayes_common::graph::Dag;
use rlbayes_common::network::NamedDag;
use std::path::PathBuf;

/// Learns the structure of a Bayesian network from a table of discrete data.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct LearnArgs {
    /// The table: CSV or TSV with a header, also gzipped
    data: PathBuf,
    /// A result file; may be given several times. The ending chooses the format: .bif .xml .bifxml
    /// .dot .json .svg .csv (edge list) .graphml .txt (model string); - is standard output
    #[arg(short, long = "output", value_name = "FILE")]
    output: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
    /// The true network, to compare the result with
    #[arg(long, value_name = "NET")]
    truth: Option<PathBuf>,
    /// Folder that keeps the search: the same command resumes it
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Prints one JSON object on stdout at the end
    #[arg(long)]
    json: bool,
    /// Prints neither progress nor report, only warnings
    #[arg(long)]
    quiet: bool,
    /// Number that is added to every count when probabilities are estimated for result files (0:
    /// maximum likelihood)
    #[arg(long, value_name = "ALPHA", default_value_t = 0.0)]
    alpha: f64,
    /// BIF: maps names that other programs refuse, with the originals as comments
    #[arg(long)]
    portable_names: bool,
    /// Whether a prover runs beside the search and ends it when no better network is possible: off, or
    /// auto (where the table is small enough and no limit of evaluations or iterations is given)
    #[arg(long, value_enum, ignore_case = true, default_value_t = ProveMode::Auto)]
    prove: ProveMode,
    /// SVG: draws only the neighbourhood of a node
    #[arg(long, value_name = "NODE")]
    around: Option<String>,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    search: SearchFlags,
}

/// See [`Proving`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProveMode {
    /// No prover.
    Off,
    /// Where it is worth it.
    Auto,
}

const EXAMPLES: &str = "\
Examples:
  rlbayes learn data/alarm.csv -o alarm.bif -o alarm.svg
  rlbayes learn data/alarm.csv --truth data/networks/alarm.bif --time 10s
  rlbayes learn survey.tsv.gz --bins quantile:4 --missing drop-rows --score bdeu --ess 10
  rlbayes learn big.csv --state run1 --time 8h      (after Ctrl-C, the same command resumes)
  rlbayes learn data.csv --search paper --iterations 500000 --seed 7 --json";

/// Runs the command.
pub(crate) fn run(args: &LearnArgs, stop: &StopHandle) -> Result<(), Failure> {
    let messages = Messages::new(args.quiet);
    let roles = FileRoles::default()
        .reads("the table", &args.data)
        .reads("the true network", args.truth.as_ref())
        .reads("the schema", args.table.schema.as_ref())
        .keeps(args.state.as_ref())
        .writes("the result", &args.output);
    args.search.reads(roles).check()?;
    let outputs = args.format.outputs(&args.output, args.json)?;
    let table = args
        .table
        .load(&args.data, |warning| messages.warn(&args.data, warning))?;
    let truth = match &args.truth {
        Some(path) => Some(read_structure(path, &table)?),
        None => None,
    };
    if let Some(node) = &args.around
        && table.states(node).is_none()
    {
        return Err(Failure::input(format!(
            "--around {node}: there is no such column"
        )));
    }
    let with_parameters = outputs.iter().any(Output::needs_parameters);
    let empty = Dag::empty(table.data().nodes());
    let unlearned = network_for(table.data(), &empty, args.alpha, with_parameters)?;
    let options = OutputOptions {
        portable_names: args.portable_names,
        around: args.around.as_deref(),
        truth: None,
    };
    for output in &outputs {
        output.check(&unlearned, options)?;
    }
    let (mut settings, _) = args
        .search
        .request(&table, Runners::Threads, Cooperation::On)?;
    settings.prove = match args.prove {
        ProveMode::Off => Proving::Off,
        ProveMode::Auto => Proving::Auto,
    };
    let mut bar = SearchBar::new(!args.quiet);
    let mut search = Search::with(&table, settings)
        .stop_with(stop)
        .on_progress(|progress| bar.show(progress))
        .on_warning(|warning| messages.warning(&warning));
    if let Some(folder) = &args.state {
        search = search.state(folder);
    }
    let outcome = search.run().map_err(refused)?;
    bar.finish();
    if outcome.had_ended_before() {
        messages.note("this search is already over; here is its result");
    }
    finish(args, &table, truth.as_ref(), &outcome, &outputs, messages)
}

/// Returns why there is no result, naming the flag.
fn refused(error: SearchError) -> Failure {
    match error {
        SearchError::Run(RunError::StateFolder(
            error @ rlbayes::StateFolderError::AnotherSearch { .. },
        )) => Failure::input(format!("{error}. Use another --state")),
        error => Failure::input(error),
    }
}

fn finish(
    args: &LearnArgs,
    table: &Table,
    truth: Option<&Dag>,
    outcome: &Outcome,
    outputs: &[Output],
    messages: Messages,
) -> Result<(), Failure> {
    let best = outcome.best();
    let dag = best
        .structure
        .to_dag()
        .map_err(|error| Failure::Bug(error.to_string()))?;
    let comparison = truth.map(|truth| {
        let problem = outcome.request().problem();
        Comparison::new(&problem, truth, &dag)
    });
    let with_parameters = outputs.iter().any(Output::needs_parameters);
    // One file that can't be written keeps neither the others nor the report back.
    let mut failed = None;
    let network = match network_for(table.data(), &dag, args.alpha, with_parameters) {
        Ok(network) => network,
        Err(failure) => {
            failed = Some(failure);
            network_for(table.data(), &dag, args.alpha, false)?
        }
    };
    let truth_named = truth.map(|truth| NamedDag::of(table.data().schema(), truth.clone()));
    let options = OutputOptions {
        portable_names: args.portable_names,
        around: args.around.as_deref(),
        truth: truth_named.as_ref(),
    };
    let mut written = Vec::new();
    for output in outputs {
        let done = output.write(&network, options, |warning| messages.warning(&warning));
        match done {
            Ok(()) => written.push(output.target()),
            Err(failure) => {
                failed.get_or_insert(failure);
            }
        }
    }
    if !args.quiet {
        report(outcome, comparison.as_ref(), messages);
        for target in written {
            messages.line(&format!("  written      {target}"));
        }
        if let Some(folder) = &args.state {
            let hint = match outcome.stopped_by() {
                StoppedBy::Interrupt => " (the same command continues from here)",
                _ => "",
            };
            messages.line(&format!("  state        {}{hint}", folder.display()));
        }
    }
    if args.json {
        let view = outcome.view();
        let mut result = as_json(outcome.request(), view, best, comparison.as_ref());
        result["proven"] = outcome.is_proven().into();
        result["gap"] = outcome.gap().into();
        print_json(&result)?;
    }
    match (failed, outcome.stopped_by()) {
        (Some(failure), _) => Err(failure),
        (None, StoppedBy::Interrupt) => Err(Failure::Interrupted),
        (None, _) => Ok(()),
    }
}
