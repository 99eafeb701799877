//! `rlbayes bootstrap`: how far each edge can be trusted, by the same search on resampled tables.

use crate::args::{NameArgs, read_structure};
use crate::failure::Failure;
use crate::file_roles::FileRoles;
use crate::html_report::{self, Learned, is_report};
use crate::invocation::Invocation;
use crate::output::{FormatArgs, Output, OutputOptions, network_for};
use crate::progress::SearchBar;
use crate::provenance::ProvenanceNotes;
use crate::replicate_args::ReplicateArgs;
use crate::search_flags::SearchFlags;
use crate::status_line::StatusLine;
use crate::support_files::SupportFile;
use crate::support_report::{MEANING, as_json, report};
use crate::table_args::TableArgs;
use crate::target::Target;
use crate::terminal::{Messages, print, print_json};
use crate::units::show_time;
use clap::Args;
use rlbayes::coordination::Cooperation;
use rlbayes::{
    Bootstrap, BootstrapError, BootstrapProgress, BootstrapSettings, Budget, Network, Outcome,
    RunError, Runners, Search, StateFolderError, StopHandle, Support, Table,
};
use rlbayes_common::graph::Dag;
use rlbayes_common::io::Format;
use std::path::{Path, PathBuf};

/// Shows how far each edge can be trusted: its support over resampled tables.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = help())]
pub(crate) struct BootstrapCommand {
    /// The table: CSV, Parquet, Arrow, JSON lines or Excel; - is standard input
    data: PathBuf,
    /// A result file; may be given several times. .csv (bnlearn's columns first), .json, .svg, .png,
    /// .pdf, .dot and .graphml hold the support; .html is a page with the best network and its support;
    /// .bif, .xml, .bifxml and .txt hold the best network among pairs at or above the threshold
    #[arg(short, long = "output", value_name = "FILE")]
    output: Vec<PathBuf>,
    /// The true network, to colour the picture by
    #[arg(long, value_name = "NET")]
    truth: Option<PathBuf>,
    /// Folder that keeps what is done: the same command resumes, and more replicates continue it
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Prints one JSON object on stdout at the end, instead of the report
    #[arg(long)]
    json: bool,
    /// Prints neither progress nor report, only warnings
    #[arg(long)]
    quiet: bool,
    /// Number that is added to every count when probabilities are estimated for a network's file (0:
    /// maximum likelihood)
    #[arg(long, value_name = "ALPHA", default_value_t = 0.0)]
    alpha: f64,
    #[command(flatten)]
    names: NameArgs,
    #[command(flatten)]
    replicates: ReplicateArgs,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    search: SearchFlags,
}

fn help() -> String {
    format!(
        "{MEANING}\n\nThe full table is searched first, for at least ten times the evaluations of a resampled table unless a \
         budget is given; its network is the one to use. Replicates start without edges, whatever \
         --start says. Everything depends on table, flags and --seed alone, not on threads.\n\n\
         Examples:\n  rlbayes bootstrap data/alarm.csv -o support.csv -o support.svg -o report.html\n  \
         rlbayes bootstrap data/alarm.csv --replicates 500 --state run1 --json\n  \
         rlbayes bootstrap wide.csv --rows-per-replicate 0.5 --without-replacement -o support.csv"
    )
}

/// Replicates, unless told otherwise.
const REPLICATES: u32 = 200;

/// Runs the command.
pub(crate) fn run(
    args: &BootstrapCommand,
    called: &Invocation,
    stop: &StopHandle,
) -> Result<(), Failure> {
    let messages = Messages::new(args.quiet || args.json);
    args.search
        .reads(FileRoles::default())
        .reads("the table", &args.data)
        .reads("the schema", args.table.schema.as_ref())
        .reads("the true network", args.truth.as_ref())
        .keeps(args.state.as_ref())
        .writes("the result", &args.output)
        .check()?;
    let outputs: Vec<ResultFile> = args
        .output
        .iter()
        .map(|path| ResultFile::new(path))
        .collect::<Result<_, _>>()?;
    let mut warnings = Vec::new();
    let table = args.table.load(&args.data, |warning| {
        warnings.push(warning.clone());
        messages.warn(&args.data, warning);
    })?;
    let truth = match &args.truth {
        Some(path) => Some(read_structure(path, &table)?),
        None => None,
    };
    check_outputs(args, &outputs, &table)?;
    let (mut search, _) = args
        .search
        .request(&table, Runners::Threads, Cooperation::On)?;
    let replicates = args.replicates.replicates.unwrap_or(REPLICATES);
    let settings = args.replicates.settings(search.clone(), replicates);
    let request = ReplicateArgs::check(&table, &settings)?;
    // So that the result does not depend on threads.
    search.deterministic = true;
    if search.budget == Budget::default() {
        search.budget = request.full_table_budget();
        search.round_evaluations = search.round_evaluations.min(20_000);
    }
    let mut bar = SearchBar::new(args.quiet || args.json);
    let mut full = Search::with(&table, search)
        .stop_with(stop)
        .on_progress(|progress| bar.show(progress))
        .on_warning(|warning| messages.warning(&warning));
    if let Some(folder) = &args.state {
        full = full.state(folder);
    }
    let best = full.run().map_err(crate::learn::refused);
    bar.finish();
    let best = best?;
    let state = args.state.as_deref();
    let support = match stop.is_stopped() {
        true => None,
        false => replicate(&table, settings, &best, state, stop, messages)?,
    };
    let repeated = called.repeated();
    let Some(support) = support else {
        return without_support(args, &outputs, &best, &warnings, &repeated, messages);
    };
    let done = Done {
        best: &best,
        support: &support,
        truth: truth.as_ref(),
        warnings: &warnings,
        command: &repeated,
    };
    let (written, failed) = write_all(args, &outputs, &done, stop, messages);
    if args.json {
        print_json(&as_json(
            &support,
            Some(best.score()),
            args.replicates.keep_networks,
        ))?;
    } else if !args.quiet {
        // Standard output may be a result's.
        match outputs
            .iter()
            .any(|output| *output.target() == Target::Stdout)
        {
            true => messages.line(report(&support).trim_end()),
            false => print(&report(&support))?,
        }
        for target in written {
            messages.line(&format!("  written      {target}"));
        }
    }
    match failed {
        Some(failure) => Err(failure),
        None if stop.is_stopped() => Err(Failure::Interrupted),
        None => Ok(()),
    }
}

/// Runs the replicates and shows how many are done; none if there is not even one.
pub(crate) fn replicate(
    table: &Table,
    settings: BootstrapSettings,
    best: &Outcome,
    state: Option<&Path>,
    stop: &StopHandle,
    messages: Messages,
) -> Result<Option<Support>, Failure> {
    let mut status = StatusLine::new(messages.is_quiet());
    let mut bootstrap = Bootstrap::with(table, settings)
        .best(&best.structure())
        .stop_with(stop)
        .on_progress(|progress| status.show(&line(progress)))
        .on_warning(|warning| messages.warning(&warning));
    if let Some(folder) = state {
        bootstrap = bootstrap.state(folder);
    }
    let done = bootstrap.run();
    status.clear();
    match done {
        Ok(support) => Ok(Some(support)),
        Err(BootstrapError::Nothing) => Ok(None),
        Err(BootstrapError::Run(RunError::StateFolder(
            error @ StateFolderError::AnotherSearch { .. },
        ))) => Err(Failure::input(format!("{error}. Use another --state"))),
        Err(error) => Err(Failure::input(error)),
    }
}

fn line(progress: &BootstrapProgress) -> String {
    let done = format!("{} of {} replicates", progress.done, progress.of);
    match progress.time_left {
        Some(left) => format!("{done} · about {} left", show_time(left)),
        None => done,
    }
}

/// A file to be written.
enum ResultFile {
    /// The support.
    Support(SupportFile),
    /// The best network among well supported pairs.
    Network(Output),
    /// A page with the best network and its support.
    Report(Target),
}

impl ResultFile {
    fn new(path: &Path) -> Result<Self, Failure> {
        if is_report(path) {
            return Target::new(path).map(Self::Report);
        }
        let format = FormatArgs { format: None };
        Ok(match SupportFile::of(path)? {
            Some(file) => Self::Support(file),
            None => Self::Network(format.output(path, Format::Bif)?),
        })
    }

    fn target(&self) -> &Target {
        match self {
            Self::Support(file) => file.target(),
            Self::Network(output) => output.target(),
            Self::Report(target) => target,
        }
    }
}

/// Checks before the work that every file can hold what it is to hold.
fn check_outputs(
    args: &BootstrapCommand,
    outputs: &[ResultFile],
    table: &Table,
) -> Result<(), Failure> {
    let empty = Dag::empty(table.data().nodes());
    for output in outputs {
        match output {
            ResultFile::Support(file) => file.check(table)?,
            // It shows any names, and of a large network all but the picture.
            ResultFile::Report(_) => {}
            ResultFile::Network(output) => {
                let network =
                    network_for(table.data(), &empty, args.alpha, output.needs_parameters())?;
                let options = OutputOptions {
                    strict_names: args.names.strict_names,
                    ..OutputOptions::default()
                };
                output.check(&network, options)?;
            }
        }
    }
    Ok(())
}

/// What is written.
struct Done<'a> {
    best: &'a Outcome,
    support: &'a Support,
    truth: Option<&'a Dag>,
    /// What was said while the table was read.
    warnings: &'a [String],
    /// The command that repeats it.
    command: &'a str,
}

/// Writes every file, those that take a search last. Returns what was written, and the first failure.
fn write_all<'a>(
    args: &BootstrapCommand,
    outputs: &'a [ResultFile],
    done: &Done<'_>,
    stop: &StopHandle,
    messages: Messages,
) -> (Vec<&'a Target>, Option<Failure>) {
    let mut written = Vec::new();
    let mut failed = None;
    let mut note = |target: &'a Target, ended: Result<(), Failure>| match ended {
        Ok(()) => written.push(target),
        Err(failure) => {
            failed.get_or_insert(failure);
        }
    };
    let mut networks = Vec::new();
    for output in outputs {
        match output {
            ResultFile::Support(file) => note(file.target(), write_support(args, file, done)),
            ResultFile::Report(target) => note(target, write_report(args, target, done)),
            ResultFile::Network(output) => networks.push(output),
        }
    }
    if networks.is_empty() {
        return (written, failed);
    }
    let mut status = StatusLine::new(messages.is_quiet());
    status.show("relearning the network among well supported pairs");
    // What an interrupt has ended is over; only a second one, which ends the program, leaves this out.
    let relearned = match stop.is_stopped() {
        true => done.support.relearn(&StopHandle::default()),
        false => done.support.relearn(stop),
    };
    status.clear();
    for output in networks {
        match &relearned {
            Some(network) => note(
                output.target(),
                write_network_file(args, output, network, done, messages),
            ),
            None => messages.warning(&format!(
                "{}: it was interrupted, so it was not written",
                output.target()
            )),
        }
    }
    (written, failed)
}

fn write_support(
    args: &BootstrapCommand,
    file: &SupportFile,
    done: &Done<'_>,
) -> Result<(), Failure> {
    let support = done.support;
    let json = || as_json(support, None, args.replicates.keep_networks);
    let threshold = support.request().threshold();
    file.write(support.table(), threshold, done.truth, json)
}

fn write_report(args: &BootstrapCommand, target: &Target, done: &Done<'_>) -> Result<(), Failure> {
    let page = html_report::html(&Learned {
        outcome: done.best,
        support: Some(done.support),
        class: Some(&done.best.found().class),
        alpha: args.alpha,
        warnings: done.warnings,
        command: Some(done.command),
    });
    target.write(page.into_bytes())
}

fn write_network_file(
    args: &BootstrapCommand,
    output: &Output,
    relearned: &Network,
    done: &Done<'_>,
    messages: Messages,
) -> Result<(), Failure> {
    let request = done.best.request();
    let table = request.table();
    let dag = relearned.placed_on(table).map_err(Failure::Bug)?;
    let network = network_for(table.data(), &dag, args.alpha, output.needs_parameters())?;
    let score = request.score_of(&dag);
    let provenance = ProvenanceNotes::of_bootstrap(done.support, request, score, args.alpha);
    let options = OutputOptions {
        strict_names: args.names.strict_names,
        provenance: Some(&provenance),
        ..OutputOptions::default()
    };
    output.write(&network, options, |warning| {
        messages.warning(&warning);
    })
}

/// What an interrupt leaves before the first replicate is done: pages hold the best network so far.
fn without_support(
    args: &BootstrapCommand,
    outputs: &[ResultFile],
    best: &Outcome,
    warnings: &[String],
    command: &str,
    messages: Messages,
) -> Result<(), Failure> {
    let mut reports = Vec::new();
    for output in outputs {
        if let ResultFile::Report(target) = output {
            let page = html_report::html(&Learned {
                outcome: best,
                support: None,
                class: Some(&best.found().class),
                alpha: args.alpha,
                warnings,
                command: Some(command),
            });
            target.write(page.into_bytes())?;
            reports.push(target);
        }
    }
    messages.warning(match reports.is_empty() {
        true => "it was interrupted before the first replicate was done; nothing is written",
        false => {
            "it was interrupted before the first replicate was done; only the report is written, \
             with the best network so far"
        }
    });
    for target in reports {
        messages.line(&format!("  written      {target}"));
    }
    Err(Failure::Interrupted)
}
