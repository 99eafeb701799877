//! The command `rlbayes`: learns the structure of Bayesian networks, on one machine or on many. A
//! library, so that the Python package can have the same command without a second copy of the engine.

mod args;
mod average;
mod bootstrap;
mod check;
mod cluster;
mod constraint_args;
mod cv;
mod directions;
mod edge_lines;
mod failure;
mod file_roles;
mod flag_hints;
mod html_report;
mod invocation;
mod learn;
mod manual;
mod model;
mod no_effect;
mod other_searches;
mod output;
mod progress;
mod prove;
mod replicate_args;
mod report;
mod search_flags;
mod status_line;
mod support_files;
mod support_report;
mod table_args;
mod target;
mod terminal;
mod tools;

use clap::ArgAction;
use clap::builder::BoolishValueParser;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use failure::Failure;
use invocation::Invocation;
use rlbayes::{Outcome, Support, provenance, units};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Learns the structure of Bayesian networks from tables of discrete data.
#[derive(Parser, Debug)]
#[command(name = "rlbayes", version, after_long_help = AFTER_HELP, disable_help_subcommand = true)]
struct Cli {
    /// How the log on stderr looks
    #[arg(long, global = true, value_enum, ignore_case = true, default_value_t = LogFormat::Text, hide_short_help = true)]
    log_format: LogFormat,
    #[command(subcommand)]
    command: Command,
}

/// How the log looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// A line of text for each event.
    Text,
    /// A JSON object for each event.
    Json,
}

const AFTER_HELP: &str = "\
Every flag can also be set by an environment variable: --max-parents 4 is RLBAYES_MAX_PARENTS=4.
RLBAYES_LOG=info shows a log on stderr.

Exit codes: 0 done, 1 bug, 2 bad flags or input, 3 coordinator out of reach, 4 protocol mismatch,
130 interrupted after saving.

Example:
  rlbayes learn data/alarm.csv --truth data/networks/alarm.bif -o alarm.bif -o alarm.svg";

#[derive(Subcommand, Debug)]
enum Command {
    Learn(Box<learn::LearnArgs>),
    Bootstrap(Box<bootstrap::BootstrapCommand>),
    Average(average::AverageCommand),
    Prove(Box<prove::ProveCommand>),
    CheckProof(prove::CheckProofCommand),
    Score(tools::ScoreCommand),
    Compare(tools::CompareCommand),
    Sample(tools::SampleCommand),
    Fit(tools::FitCommand),
    Convert(tools::ConvertCommand),
    Loglik(model::LoglikCommand),
    Query(model::QueryCommand),
    Predict(model::PredictCommand),
    Cv(Box<cv::CvCommand>),
    Check(check::CheckCommand),
    Coordinator(Box<cluster::CoordinatorArgs>),
    Worker(Box<cluster::WorkerArgs>),
    Status(cluster::StatusArgs),
    Watch(cluster::WatchArgs),
    /// Ends a search; its result can still be fetched
    #[command(after_long_help = "Example:\n  rlbayes stop http://localhost:7400")]
    Stop(cluster::StatusArgs),
    Result(cluster::ResultArgs),
    Health(cluster::HealthArgs),
    Drain(cluster::DrainArgs),
    Certs(cluster::CertsArgs),
    /// Prints completions for a shell
    #[command(
        after_long_help = "Example:\n  rlbayes completions bash > ~/.local/share/bash-completion/completions/rlbayes"
    )]
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
    Man(manual::ManCommand),
}

/// Runs the command with its arguments, of which the first is its name, and returns the exit code. It
/// is meant to be all that a process does: it handles signals, and a panic ends the process.
#[must_use]
pub fn run_command(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let words: Vec<OsString> = arguments.into_iter().collect();
    let parsed = with_environment_variables(Cli::command())
        .try_get_matches_from(&words)
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return not_understood(&error),
    };
    start_log(&cli);
    end_on_panic();
    if let Some(command) = matches.subcommand() {
        for warning in no_effect::warnings(command) {
            terminal::Messages::new(false).warning(&warning);
        }
    }
    let called = Invocation::new(&words, &matches, |variable| std::env::var_os(variable));
    let done = match called {
        Some(called) => run(&cli.command, &called),
        None => Err(Failure::Bug("there is no command".into())),
    };
    match done {
        Ok(()) => 0,
        Err(failure) => {
            terminal::print_failure(&failure);
            failure.exit_code()
        }
    }
}

/// Returns the page that `learn -o report.html` writes.
#[must_use]
pub fn report_page(outcome: &Outcome, support: Option<&Support>, alpha: f64) -> String {
    let report = outcome.request().table().report();
    html_report::html(&html_report::Learned {
        outcome,
        support,
        class: Some(&outcome.found().class),
        alpha,
        warnings: report.map_or(&[], |report| &report.warnings),
        command: None,
    })
}

/// Makes a panic the end of the process, with the exit code of a bug, whatever thread it happens in:
/// the journal brings the search back. Reading a damaged journal or table is the one exception.
fn end_on_panic() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |what| {
        if !rlbayes::journal::is_guarded() && !rlbayes_common::data::is_guarded() {
            usual(what);
            std::process::exit(1);
        }
    }));
}

/// Starts the log on stderr: coordinator and worker log at `info`, the other commands only warnings.
fn start_log(cli: &Cli) {
    let serves = matches!(cli.command, Command::Coordinator(_) | Command::Worker(_));
    let usual = if serves { Level::INFO } else { Level::WARN };
    let wanted = std::env::var("RLBAYES_LOG").unwrap_or_default();
    let wanted = Some(wanted).filter(|wanted| !wanted.is_empty());
    let filter: Option<Targets> = wanted.and_then(|wanted| wanted.parse().ok());
    let filter = filter.unwrap_or_else(|| Targets::new().with_default(usual));
    let log = tracing_subscriber::fmt::layer().with_writer(status_line::stderr);
    let log = match cli.log_format {
        LogFormat::Text => log.with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogFormat::Json => {
            if serves {
                terminal::send_messages_to_the_log();
            }
            log.json().boxed()
        }
    };
    tracing_subscriber::registry()
        .with(log.with_filter(filter))
        .init();
}

/// Shows the help that was asked for, or one sentence about what is wrong with the flags.
fn not_understood(error: &clap::Error) -> u8 {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    let text = error.to_string();
    let mut paragraphs = text.split("\n\n").map(|paragraph| {
        let lines: Vec<&str> = paragraph.lines().map(str::trim).collect();
        lines.join(" ")
    });
    let first = paragraphs.next().unwrap_or_default();
    let mut sentence = expectation(first.trim_start_matches("error: "));
    let similar = paragraphs.find(|paragraph| paragraph.contains("similar"));
    if let Some(tip) = similar {
        sentence = format!("{sentence} ({})", tip.trim_start_matches("tip: "));
    }
    let failure = Failure::input(format!("{sentence}; try --help"));
    terminal::print_failure(&failure);
    failure.exit_code()
}

/// Says what is expected where the standard library says what it stumbled on.
fn expectation(sentence: &str) -> String {
    let mut sentence = sentence.to_owned();
    for (found, expected) in [
        (
            "invalid digit found in string",
            "expected a whole number that is not negative",
        ),
        (
            "cannot parse integer from empty string",
            "expected a whole number",
        ),
        (
            "number too large to fit in target type",
            "expected a smaller number",
        ),
        ("invalid float literal", "expected a number"),
        ("cannot parse float from empty string", "expected a number"),
    ] {
        sentence = sentence.replace(found, expected);
    }
    sentence
}

fn run(command: &Command, called: &Invocation) -> Result<(), Failure> {
    match command {
        Command::Learn(args) => learn::run(args, called, &interrupt_flag()?.into()),
        Command::Bootstrap(args) => bootstrap::run(args, called, &interrupt_flag()?.into()),
        Command::Average(args) => average::run(args),
        Command::Prove(args) => prove::run(args, &interrupt_flag()?.into()),
        Command::CheckProof(args) => prove::check(args),
        Command::Score(args) => tools::score(args),
        Command::Compare(args) => tools::compare_networks(args),
        Command::Sample(args) => tools::sample_rows(args),
        Command::Fit(args) => tools::fit_network(args),
        Command::Convert(args) => tools::convert(args),
        Command::Loglik(args) => model::loglik(args),
        Command::Query(args) => model::query(args),
        Command::Predict(args) => model::predict(args),
        Command::Cv(args) => cv::run(args, called, &interrupt_flag()?.into()),
        Command::Check(args) => check::run(args),
        Command::Coordinator(args) => cluster::coordinator(args),
        Command::Worker(args) => cluster::worker(args),
        Command::Status(args) => cluster::status(args),
        Command::Watch(args) => cluster::watch(args),
        Command::Stop(args) => cluster::stop(args),
        Command::Result(args) => cluster::result(args),
        Command::Health(args) => cluster::health(args),
        Command::Drain(args) => cluster::drain(args),
        Command::Certs(args) => cluster::certs(args),
        Command::Completions { shell } => {
            let mut bytes = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "rlbayes", &mut bytes);
            terminal::print(&String::from_utf8_lossy(&bytes))
        }
        Command::Man(args) => manual::print_or_write(args, Cli::command()),
    }
}

/// Returns a flag that Ctrl-C and SIGTERM set; the second signal ends the program at once.
fn interrupt_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(|error| Failure::Bug(error.to_string()))?;
    }
    Ok(flag)
}

/// Gives every long flag of every command its environment variable. An empty one counts as not set:
/// that is how people and settings files leave a flag out. A flag without a value is set by 1, yes, on
/// and true. A number may be negative: whoever reads it says what is expected instead.
fn with_environment_variables(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| {
            let variable = match arg.get_long() {
                Some(long) if !matches!(long, "help" | "version") => invocation::variable(long),
                _ => return arg,
            };
            let arg = match arg.get_action() {
                ArgAction::SetTrue => arg.value_parser(BoolishValueParser::new()),
                ArgAction::Set | ArgAction::Append => arg.allow_negative_numbers(true),
                _ => arg,
            };
            if std::env::var_os(&variable).is_some_and(|value| value.is_empty()) {
                return arg;
            }
            arg.env(clap::builder::OsStr::from(variable)).hide_env(true)
        })
        .mut_subcommands(with_environment_variables)
}
