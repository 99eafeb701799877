//! `scores`: how many local scores hill climbing counts from the data per second, and how
//! many instructions each takes.

use crate::failure::Failure;
use crate::processes::{Program, ProgramArgs};
use crate::reference_scores::TableChoice;
use crate::report_table::{Grid, OutFolder, heading};
use crate::runs::{climb, hill_climbing};
use crate::terminal::{bar_over, print};
use clap::Args;
use rlbayes::units::show_count;
use rlbayes::{SearchRequest, Table};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

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
    #[command(flatten)]
    program: ProgramArgs,
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
  cargo run --release -p rlbayes-bench -- scores
  cargo run --release -p rlbayes-bench -- scores --no-callgrind data/link_n1000_s1.csv.gz";

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
    let program = match args.no_callgrind {
        true => None,
        false => Some(args.program.program()?),
    };
    let out = OutFolder::new(args.out.as_deref())?;
    let bar = bar_over(2 * tables.len());
    let mut grid = Grid::new(&[
        "table",
        "rows",
        "variables",
        "climbs",
        "local scores per climb",
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
        let table = Table::read(&chosen.path).map_err(Failure::input)?;
        let request = SearchRequest::new(&table, &hill_climbing()).map_err(Failure::input)?;
        let speed = climb_for(&request, args.at_least, interrupt);
        bar.inc(1);
        bar.set_message(format!("{}: counting instructions", chosen.name));
        let instructions = match &program {
            Some(program) if !interrupt.load(Relaxed) => {
                instructions_per_score(program, &chosen.path)?
            }
            _ => None,
        };
        bar.inc(1);
        grid.row([
            chosen.name.clone(),
            table.rows().to_string(),
            table.variables().len().to_string(),
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
fn climb_for(request: &SearchRequest, at_least: f64, interrupt: &AtomicBool) -> Speed {
    let mut speed = Speed::default();
    while speed.seconds < at_least
        && let Some(climb) = climb(request, interrupt)
    {
        speed.seconds += climb.seconds.max(1e-6);
        speed.climbs += 1;
        speed.computed += climb.computed;
        speed.evaluations += climb.evaluations;
    }
    speed
}

/// Runs the program's hill climbing under callgrind; none where there is no valgrind.
fn instructions_per_score(program: &Program, table: &Path) -> Result<Option<f64>, Failure> {
    let problem = |what: String| Failure::input(format!("valgrind: {what}"));
    let folder = tempfile::tempdir().map_err(|error| problem(error.to_string()))?;
    let profile = folder.path().join("callgrind.out");
    let run = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program.path())
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
