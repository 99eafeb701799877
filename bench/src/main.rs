//! `rlbayes bench`: the commands that check this program's claims. One file a benchmark; what they
//! share stands in the files that are not named after one.

mod cooperation;
mod exchange_load;
mod gap_plot;
mod growth;
mod learning;
mod memory;
mod paper;
mod process_cooperation;
mod processes;
mod reference_scores;
mod report_table;
mod runs;
mod scores;
mod soak;
mod statistics;
mod targets;
mod tiles;
mod virtual_time;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use std::sync::atomic::AtomicBool;

/// Measures what this program claims.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct BenchCommand {
    #[command(subcommand)]
    benchmark: Benchmark,
}

const EXAMPLES: &str = "\
Results go to stdout as they come and into the folder --out at the end. Ctrl-C stops a benchmark;
what was measured by then is written all the same.

Examples:
  rlbayes bench targets --time 60s --seeds 5
  rlbayes bench cooperation data/win95pts_n1000_s1.csv.gz --threads 2
  rlbayes bench growth
  rlbayes bench learning --evaluations 50000000
  rlbayes bench scores
  rlbayes bench paper --networks asia,child --seeds 3 --budget evaluations:20000

  rlbayes bench exchange --workers 1000
  rlbayes bench soak --time 2m";

#[derive(Subcommand, Clone, Debug)]
enum Benchmark {
    Targets(targets::TargetsArgs),
    Cooperation(cooperation::CooperationArgs),
    Growth(growth::GrowthArgs),
    Learning(learning::LearningArgs),
    Scores(scores::ScoresArgs),
    Paper(paper::PaperArgs),
    Exchange(exchange_load::ExchangeArgs),
    Soak(soak::SoakArgs),
}

/// Runs a benchmark.
pub(crate) fn run(command: &BenchCommand, interrupt: &AtomicBool) -> Result<(), Failure> {
    match &command.benchmark {
        Benchmark::Targets(args) => targets::run(args, interrupt),
        Benchmark::Cooperation(args) => cooperation::run(args, interrupt),
        Benchmark::Growth(args) => growth::run(args, interrupt),
        Benchmark::Learning(args) => learning::run(args, interrupt),
        Benchmark::Scores(args) => scores::run(args, interrupt),
        Benchmark::Paper(args) => paper::run(args, interrupt),
        Benchmark::Exchange(args) => exchange_load::run(args, interrupt),
        Benchmark::Soak(args) => soak::run(args, interrupt),
    }
}
