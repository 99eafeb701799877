//! `rlbayes learn`: from a table to the best network that was found.

use crate::args::{NameArgs, ShownAs, read_structure};
use crate::bootstrap::replicate;
use crate::failure::Failure;
use crate::file_roles::FileRoles;
use crate::html_report::{self, Learned, is_report};
use crate::invocation::Invocation;
use crate::output::{FormatArgs, Output, OutputOptions, network_for};
use crate::progress::SearchBar;
use crate::prove::sentence;
use crate::provenance::ProvenanceNotes;
use crate::replicate_args::ReplicateArgs;
use crate::report::{Comparison, Shown, as_json, report};
use crate::search_flags::SearchFlags;
use crate::support_report;
use crate::table_args::TableArgs;
use crate::target::Target;
use crate::terminal::{Messages, print, print_json};
use clap::{Args, ValueEnum};
use rlbayes::coordination::Cooperation;
use rlbayes::{
    Outcome, Proving, RunError, Runners, Search, SearchError, StopHandle, StoppedBy, Support, Table,
};
use rlbayes_common::graph::Dag;
use rlbayes_common::network::NamedDag;
use std::path::PathBuf;

/// Learns the structure of a Bayesian network from a table of discrete data.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct LearnArgs {
    /// The table: CSV, Parquet, Arrow, JSON lines or Excel; - is standard input
    data: PathBuf,
    /// A result file; may be given several times. The ending chooses the format: .bif .xml .bifxml
    /// .dot .json .svg .png .pdf .csv (edge list) .graphml .txt (model string) .html (a report to
    /// open in a browser); - is standard output
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
    /// Adds what the engine did to the report: chains, local scores, elite pool
    #[arg(short, long)]
    verbose: bool,
    /// Prints neither progress nor report, only warnings
    #[arg(long)]
    quiet: bool,
    /// Number that is added to every count when probabilities are estimated for result files (0:
    /// maximum likelihood)
    #[arg(long, value_name = "ALPHA", default_value_t = 0.0)]
    alpha: f64,
    #[command(flatten)]
    names: NameArgs,
    /// Whether a prover runs beside the search and ends it when no better network is possible: off,
    /// auto (where the table is small enough and no limit of evaluations or iterations is given), or
    /// only (a short search, then a proof of what it found in the rest of --time, 60s by default)
    #[arg(long, value_enum, ignore_case = true, default_value_t = ProveMode::Auto)]
    prove: ProveMode,
    /// Whether graphs and pictures (SVG, PNG, PDF, DOT, GraphML, edge list) show which edges may point either
    /// way, or the written network alone
    #[arg(id = "as", long = "as", value_enum, ignore_case = true, default_value_t = ShownAs::Cpdag)]
    shown_as: ShownAs,
    /// Pictures: draws only the neighbourhood of a node
    #[arg(long, value_name = "NODE")]
    around: Option<String>,
    #[command(flatten)]
    replicates: ReplicateArgs,
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
    /// Instead of a long search.
    Only,
}

const EXAMPLES: &str = "\
Examples:
  rlbayes learn data/alarm.csv -o alarm.bif -o alarm.svg
  rlbayes learn data/alarm.csv -o report.html       (network, edges and columns in a browser)
  rlbayes learn data/alarm.csv --truth data/networks/alarm.bif --time 10s
  rlbayes learn survey.tsv.gz --bins quantile:4 --missing drop-rows --score bdeu --ess 10
  rlbayes learn big.csv --state run1 --time 8h      (after Ctrl-C, the same command resumes)
  rlbayes learn data/alarm.csv --replicates 200      (adds how far each edge can be trusted)
  rlbayes learn data.csv --search paper --iterations 500000 --seed 7 --json";

/// Runs the command.
pub(crate) fn run(args: &LearnArgs, called: &Invocation, stop: &StopHandle) -> Result<(), Failure> {
    let messages = Messages::new(args.quiet);
    let roles = FileRoles::default()
        .reads("the table", &args.data)
        .reads("the true network", args.truth.as_ref())
        .reads("the schema", args.table.schema.as_ref())
        .keeps(args.state.as_ref())
        .writes("the result", &args.output);
    args.search.reads(roles).check()?;
    let reports = html_report::reports(&args.output)?;
    let networks: Vec<PathBuf> = args
        .output
        .iter()
        .filter(|path| !is_report(path))
        .cloned()
        .collect();
    let outputs = args.format.outputs(&networks, args.json)?;
    let mut warnings = Vec::new();
    let table = args.table.load(&args.data, |warning| {
        warnings.push(warning.clone());
        messages.warn(&args.data, warning);
    })?;
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
        strict_names: args.names.strict_names,
        around: args.around.as_deref(),
        ..OutputOptions::default()
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
        ProveMode::Only => Proving::Only,
    };
    if settings.prove == Proving::Only && args.state.is_some() {
        let what = "--prove only keeps nothing in --state: use `rlbayes prove --state`";
        return Err(Failure::input(what));
    }
    let replicates = match args.replicates.replicates {
        Some(replicates) => {
            let settings = args.replicates.settings(settings.clone(), replicates);
            ReplicateArgs::check(&table, &settings)?;
            Some(settings)
        }
        None => None,
    };
    if args.quiet && args.output.is_empty() && !args.json && args.state.is_none() {
        messages.warning(
            "what is found is lost: --quiet prints nothing, and there is no -o, --json or --state",
        );
    }
    let mut bar = SearchBar::new(args.quiet);
    let mut search = Search::with(&table, settings)
        .stop_with(stop)
        .on_progress(|progress| bar.show(progress))
        .on_warning(|warning| messages.warning(&warning));
    if let Some(folder) = &args.state {
        search = search.state(folder);
    }
    let outcome = search.run().map_err(refused);
    bar.finish();
    let outcome = outcome?;
    if outcome.had_ended_before() {
        messages.note("this search is already over; here is its result");
    }
    let support = match replicates {
        Some(settings) if outcome.stopped_by() != StoppedBy::Interrupt => {
            let state = args.state.as_deref();
            replicate(&table, settings, &outcome, state, stop, messages)?
        }
        _ => None,
    };
    finish(
        args,
        &table,
        truth.as_ref(),
        (&outcome, support.as_ref()),
        Files {
            outputs: &outputs,
            reports: &reports,
            warnings: &warnings,
            command: &called.repeated(),
        },
        messages,
    )?;
    match stop.is_stopped() {
        true => Err(Failure::Interrupted),
        false => Ok(()),
    }
}

/// Returns why there is no result, naming the flag.
pub(crate) fn refused(error: SearchError) -> Failure {
    match error {
        SearchError::Run(RunError::StateFolder(
            error @ rlbayes::StateFolderError::AnotherSearch { .. },
        )) => Failure::input(format!("{error}. Use another --state")),
        error => Failure::input(error),
    }
}

/// What is written at the end.
#[derive(Clone, Copy)]
struct Files<'a> {
    outputs: &'a [Output],
    reports: &'a [Target],
    /// What was said about the table.
    warnings: &'a [String],
    /// The command that repeats the search.
    command: &'a str,
}

fn finish(
    args: &LearnArgs,
    table: &Table,
    truth: Option<&Dag>,
    (outcome, support): (&Outcome, Option<&Support>),
    files: Files<'_>,
    messages: Messages,
) -> Result<(), Failure> {
    let outputs = files.outputs;
    let found = outcome.found();
    let dag = &found.dag;
    let comparison = truth.map(|truth| {
        let problem = outcome.request().problem();
        Comparison::new(&problem, truth, dag)
    });
    let with_parameters = outputs.iter().any(Output::needs_parameters);
    // One file that can't be written keeps neither the others nor the report back.
    let mut failed = None;
    let network = match network_for(table.data(), dag, args.alpha, with_parameters) {
        Ok(network) => network,
        Err(failure) => {
            failed = Some(failure);
            network_for(table.data(), dag, args.alpha, false)?
        }
    };
    let truth_named = truth.map(|truth| NamedDag::of(table.data().schema(), truth.clone()));
    let provenance = ProvenanceNotes::of_search(outcome, args.alpha);
    let options = OutputOptions {
        strict_names: args.names.strict_names,
        class: (args.shown_as == ShownAs::Cpdag).then_some(&found.class),
        support: support.map(Support::table),
        provenance: Some(&provenance),
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
    if !files.reports.is_empty() {
        let page = html_report::html(&Learned {
            outcome,
            support,
            class: options.class,
            alpha: args.alpha,
            warnings: files.warnings,
            command: Some(files.command),
        });
        for target in files.reports {
            match target.write(page.clone().into_bytes()) {
                Ok(()) => written.push(target),
                Err(failure) => {
                    failed.get_or_insert(failure);
                }
            }
        }
    }
    if !args.quiet {
        let shown = Shown {
            all_edges: outputs.is_empty() && files.reports.is_empty() && !args.json,
            inner_figures: args.verbose,
        };
        let mut text = heading(args, outcome);
        text += &report(
            outcome,
            comparison.as_ref(),
            support.map(Support::table),
            shown,
        );
        if args.prove == ProveMode::Only
            && let Some(proof) = outcome.proof().filter(|proof| !proof.covers_all())
        {
            text += &format!("  proof        {}\n", sentence(proof));
        }
        if let Some(support) = support {
            text += &format!("\n{}", support_report::report(support));
        }
        for target in written {
            text += &format!("  written      {target}\n");
        }
        if let Some(folder) = &args.state {
            let hint = match outcome.stopped_by() {
                StoppedBy::Interrupt => " (the same command continues from here)",
                _ => "",
            };
            text += &format!("  state        {}{hint}\n", folder.display());
        }
        // Standard output is the script's if it asked for JSON, or the network's.
        match args.json || outputs.iter().any(Output::is_stdout) {
            true => messages.line(text.trim_end()),
            false => print(&text)?,
        }
    }
    if args.json {
        let view = outcome.view();
        let mut result = as_json(outcome.request(), view, found, comparison.as_ref());
        result["proven"] = outcome.is_proven().into();
        result["gap"] = outcome.gap().into();
        if let Some(support) = support {
            result["support"] =
                support_report::as_json(support, None, args.replicates.keep_networks);
        }
        if args.prove == ProveMode::Only {
            result["proof"] = outcome.proof().map(crate::prove::as_json).into();
        }
        print_json(&result)?;
    }
    match (failed, outcome.stopped_by()) {
        (Some(failure), _) => Err(failure),
        (None, StoppedBy::Interrupt) => Err(Failure::Interrupted),
        (None, _) => Ok(()),
    }
}

/// Returns the first line of a report.
fn heading(args: &LearnArgs, outcome: &Outcome) -> String {
    let table = outcome.request().table();
    let name = args.data.file_name().unwrap_or(args.data.as_os_str());
    format!(
        "{}: {} rows, {} variables\n",
        name.to_string_lossy(),
        table.rows(),
        table.data().nodes()
    )
}
