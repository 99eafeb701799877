//! `bench scores`: how many local scores hill climbing counts from the data in a second, and how
//! many instructions each takes.

use super::reference_scores::TableChoice;
use super::report_table::{Grid, OutFolder, heading};
use super::runs::learn_args;
use crate::failure::Failure;
use crate::learn;
use crate::progress::bar_over;
use crate::terminal::print;
use crate::units::show_count;
use clap::Args;
use rlbayes::machine;
use rlbayes_common::data::Table;
use rlbayes_common::ids::{ChainId, Seed};
use rlbayes_common::search::StepOutcome;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// Measures how fast local scores are counted from the data.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ScoresArgs {
    #[command(flatten)]
    choice: TableChoice,
    /// Processor seconds of climbing on each table, at least
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    at_least: f64,
    /// Does not count instructions
    #[arg(long)]
    no_callgrind: bool,
    /// Folder for scores.csv and report.md
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
The climb of `learn --search hc --threads 1` is repeated with empty caches; reading the table is not
part of the time. Instructions are those of a whole `learn --search hc` under valgrind's callgrind,
reading the table included, divided by its local scores; - where valgrind is not installed. Without
FILES: andes with 1000 rows, alarm and win95pts with 10000.

Examples:
  rlbayes bench scores
  rlbayes bench scores --no-callgrind data/link_n1000_s1.csv.gz";

/// The tables whose speed is promised.
const USUAL: [&str; 3] = [
    "andes_n1000_s1.csv.gz",
    "alarm_n10000_s1.csv.gz",
    "win95pts_n10000_s1.csv.gz",
];

#[derive(Clone, Copy, Debug, Default)]
struct Speed {
    climbs: u64,
    computed: u64,
    evaluations: u64,
    seconds: f64,
}

/// Runs the command.
pub(crate) fn run(args: &ScoresArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    let mut choice = args.choice.clone();
    if choice.files.is_empty() {
        choice.files = USUAL.iter().map(|file| choice.data.join(file)).collect();
    }
    let tables = choice.tables(|_| true)?;
    let out = OutFolder::new(args.out.as_deref())?;
    let bar = bar_over(2 * tables.len(), true);
    let mut grid = Grid::new(&[
        "table",
        "rows",
        "variables",
        "climbs",
        "local scores a climb",
        "cpu seconds",
        "local scores/s",
        "evaluations/s",
        "instructions/local score",
    ]);
    for chosen in &tables {
        if interrupt.load(Relaxed) {
            break;
        }
        bar.set_message(format!("{}: climbing", chosen.name));
        let learn = learn_args(&chosen.path, &["--search", "hc", "--threads", "1"])?;
        let (table, _) = learn.table.load(&chosen.path, |_| {})?;
        let speed = climb_for(&learn, &table, args.at_least, interrupt)?;
        bar.inc(1);
        bar.set_message(format!("{}: counting instructions", chosen.name));
        let instructions = if args.no_callgrind || interrupt.load(Relaxed) {
            None
        } else {
            instructions_a_score(&chosen.path)?
        };
        bar.inc(1);
        grid.row([
            chosen.name.clone(),
            table.rows().to_string(),
            table.nodes().to_string(),
            speed.climbs.to_string(),
            (speed.computed / speed.climbs.max(1)).to_string(),
            format!("{:.2}", speed.seconds),
            format!("{:.0}", speed.computed as f64 / speed.seconds),
            show_count(speed.evaluations as f64 / speed.seconds),
            instructions.map_or("-".to_owned(), |count| format!("{count:.0}")),
        ]);
    }
    bar.finish_and_clear();
    print(&grid.markdown())?;
    let report = heading("Local scores counted from the data by hill climbing") + &grid.markdown();
    out.write("report.md", &report)?;
    out.write("scores.csv", &grid.csv())?;
    if interrupt.load(Relaxed) {
        return Err(Failure::Interrupted);
    }
    Ok(())
}

/// Climbs again and again with empty caches.
fn climb_for(
    learn: &learn::LearnArgs,
    table: &Arc<Table>,
    at_least: f64,
    interrupt: &AtomicBool,
) -> Result<Speed, Failure> {
    let mut speed = Speed::default();
    while speed.seconds < at_least && !interrupt.load(Relaxed) {
        let prepared = learn::prepare(learn, table)?;
        let begun = Instant::now();
        let before = machine::thread_cpu_seconds();
        let mut chain = prepared
            .spec
            .start(&prepared.problem, ChainId(0), 1, Seed(1));
        while chain.step() == StepOutcome::Ran && !interrupt.load(Relaxed) {}
        let wall = begun.elapsed().as_secs_f64();
        let cpu = machine::thread_cpu_seconds().zip(before);
        speed.seconds += cpu.map_or(wall, |(after, before)| after - before).max(1e-6);
        speed.climbs += 1;
        speed.computed += chain.core().evaluator.computed();
        speed.evaluations += chain.core().evaluator.evaluations();
    }
    Ok(speed)
}

/// Runs this program's hill climbing under callgrind; none where there is no valgrind.
fn instructions_a_score(table: &Path) -> Result<Option<f64>, Failure> {
    let problem = |what: String| Failure::input(format!("valgrind: {what}"));
    let folder = tempfile::tempdir().map_err(|error| problem(error.to_string()))?;
    let profile = folder.path().join("callgrind.out");
    let program = std::env::current_exe().map_err(|error| problem(error.to_string()))?;
    let run = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program)
        .arg("learn")
        .arg(table)
        .args(["--search", "hc", "--threads", "1", "--quiet", "--json"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let output = match run {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(problem(error.to_string())),
    };
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let profile = std::fs::read_to_string(&profile).unwrap_or_default();
    match (instructions(&profile), result["computed"].as_f64()) {
        (Some(instructions), Some(computed)) => Ok(Some(instructions / computed)),
        _ => Err(problem(format!("the run failed ({})", output.status))),
    }
}

/// Reads the total from a file of callgrind.
fn instructions(profile: &str) -> Option<f64> {
    let total = |name| profile.lines().find_map(|line| line.strip_prefix(name));
    let line = total("totals:").or_else(|| total("summary:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_profile_is_read() {
        let profile = "version: 1\nevents: Ir\nsummary: 41\n\nfn=(1)\n0 5\n\ntotals: 42\n";
        assert_eq!(instructions(profile), Some(42.0));
        assert_eq!(instructions("events: Ir\nsummary: 41\n"), Some(41.0));
        assert_eq!(instructions(""), None);
    }
}
