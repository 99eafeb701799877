//! `rlbayes-bench`: the commands that check what RLBayes claims. One file per benchmark; what they
//! share is in the files that are not named after one.

mod anytime;
mod chart;
mod confidence;
mod cooperation;
mod empty_coordinator;
mod exchange_load;
mod failure;
mod gap_chart;
mod gap_plot;
mod growth;
mod learning;
mod memory;
mod paper;
mod process_cooperation;
mod processes;
mod proof;
mod reference_scores;
mod report_table;
mod runs;
mod scores;
mod soak;
mod statistics;
#[cfg(test)]
mod svg_bounds;
mod targets;
mod terminal;
mod tiles;
mod virtual_time;
mod virtual_workers;
mod workers;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Measures what RLBayes claims.
#[derive(Parser, Debug)]
#[command(name = "rlbayes-bench", version, after_long_help = EXAMPLES, disable_help_subcommand = true)]
struct Bench {
    #[command(subcommand)]
    benchmark: Benchmark,
}

const EXAMPLES: &str = "\
Results are printed on stdout as they come and written into the folder --out at the end. Ctrl-C
stops a benchmark; what was measured by then is written all the same.

Examples:
  cargo run --release -p rlbayes-bench -- targets --time 60s --seeds 5
  cargo run --release -p rlbayes-bench -- cooperation data/win95pts_n1000_s1.csv.gz --threads 2
  cargo run --release -p rlbayes-bench -- growth
  cargo run --release -p rlbayes-bench -- anytime
  cargo run --release -p rlbayes-bench -- workers --seeds 3
  cargo run --release -p rlbayes-bench -- confidence
  cargo run --release -p rlbayes-bench -- learning --evaluations 50000000
  cargo run --release -p rlbayes-bench -- scores
  cargo run --release -p rlbayes-bench -- proof --short
  cargo run --release -p rlbayes-bench -- paper --networks asia,child --seeds 3 --budget evaluations:20000
  cargo run --release -p rlbayes-bench -- chart

Those that start processes need the program as well (cargo build --release -p rlbayes-cli):
  cargo run --release -p rlbayes-bench -- exchange --workers 1000
  cargo run --release -p rlbayes-bench -- soak --time 2m";

#[derive(Subcommand, Debug)]
enum Benchmark {
    Targets(targets::TargetsArgs),
    Cooperation(cooperation::CooperationArgs),
    Confidence(confidence::ConfidenceArgs),
    Growth(growth::GrowthArgs),
    Anytime(anytime::AnytimeArgs),
    Learning(learning::LearningArgs),
    Scores(scores::ScoresArgs),
    Proof(proof::ProofArgs),
    Paper(paper::PaperArgs),
    Exchange(exchange_load::ExchangeArgs),
    Soak(soak::SoakArgs),
    Workers(workers::WorkersArgs),
    Chart(chart::ChartArgs),
}

fn main() -> ExitCode {
    let ended = match Bench::try_parse() {
        Ok(bench) => interrupt_flag().and_then(|interrupt| run(&bench.benchmark, &interrupt)),
        Err(error) => Err(not_understood(&error)),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !matches!(failure, Failure::Interrupted) {
                terminal::remark(&format!("error: {failure}"));
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(benchmark: &Benchmark, interrupt: &AtomicBool) -> Result<(), Failure> {
    match benchmark {
        Benchmark::Targets(args) => targets::run(args, interrupt),
        Benchmark::Cooperation(args) => cooperation::run(args, interrupt),
        Benchmark::Confidence(args) => confidence::run(args, interrupt),
        Benchmark::Growth(args) => growth::run(args, interrupt),
        Benchmark::Anytime(args) => anytime::run(args, interrupt),
        Benchmark::Learning(args) => learning::run(args, interrupt),
        Benchmark::Scores(args) => scores::run(args, interrupt),
        Benchmark::Proof(args) => proof::run(args, interrupt),
        Benchmark::Paper(args) => paper::run(args, interrupt),
        Benchmark::Exchange(args) => exchange_load::run(args, interrupt),
        Benchmark::Soak(args) => soak::run(args, interrupt),
        Benchmark::Workers(args) => workers::run(args, interrupt),
        Benchmark::Chart(args) => chart::run(args, interrupt),
    }
}

/// Shows the help that was asked for, or says in one sentence what is wrong with the flags.
fn not_understood(error: &clap::Error) -> Failure {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    let sentence = words.join(" ");
    let sentence = sentence.trim_start_matches("error: ");
    Failure::input(format!("{sentence}; try --help"))
}

/// Returns a flag that Ctrl-C and SIGTERM set; the second signal ends the program at once.
fn interrupt_flag() -> Result<Arc<AtomicBool>, Failure> {
    let interrupt = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupt))
            .and_then(|_| flag::register(signal, Arc::clone(&interrupt)))
            .map_err(|error| Failure::Bug(error.to_string()))?;
    }
    Ok(interrupt)
}
