//! `workers`: what further workers bring, in virtual time. Each has its own caches and its own clock,
//! which counts processor seconds; they meet at the coordinator's own state machine. The number of
//! cores can't reach the result.

use crate::failure::Failure;
use crate::reference_scores::TableChoice;
use crate::report_table::{Grid, OutFolder, heading};
use crate::runs::at_least_one;
use crate::statistics::median;
use crate::terminal::{bar_over, print};
use crate::virtual_workers::{self, Crew, Sharing};
use clap::Args;
use rlbayes::Table;
use rlbayes::units::{parse_size, parse_time};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Compares several workers with one, by processor time of each.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct WorkersArgs {
    #[command(flatten)]
    choice: TableChoice,
    /// Workers that are compared with one
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = at_least_one())]
    workers: u32,
    /// Runs of each kind, with seeds 1, 2, 3, …
    #[arg(long, value_name = "N", default_value_t = 5)]
    seeds: u64,
    /// Processor time of the one worker, whose score is the target
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = parse_time)]
    time: Duration,
    /// Processor time of each of the several workers on the way to the target
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    limit: Duration,
    /// Also run as many workers that share nothing
    #[arg(long)]
    apart: bool,
    /// Memory of each worker
    #[arg(long, value_name = "BYTES", default_value = "1GiB", value_parser = parse_size)]
    memory: usize,
    /// Folder for runs.csv and report.md
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
A worker has one thread, with as many chains as in a cluster. All run on one core, the one whose
clock is behind next.
Without FILES: andes and link.

Examples:
  cargo run --release -p rlbayes-bench -- workers --apart --out workers
  cargo run --release -p rlbayes-bench -- workers my-table.csv --workers 4 --seeds 3 --time 60s";

/// The runs of one table with one seed.
struct Compared {
    table: String,
    seed: u64,
    /// What the one worker had in the end.
    target: f64,
    /// Seconds of each worker until the several had that, if they did.
    together: Option<f64>,
    /// The same for those that share nothing.
    apart: Option<f64>,
}

/// Runs the command.
pub(crate) fn run(args: &WorkersArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    let tables = args
        .choice
        .tables(|known| known.rows() == 1000 && !known.proven && known.variables() > 200)?;
    let out = OutFolder::new(args.out.as_deref())?;
    let bar = bar_over(tables.len() * usize::try_from(args.seeds).unwrap_or(usize::MAX));
    let mut compared = Vec::new();
    'tables: for chosen in &tables {
        let table = Table::read(&chosen.path).map_err(Failure::input)?;
        for seed in 1..=args.seeds {
            bar.set_message(format!("{}, seed {seed}", chosen.name));
            match compare(args, &table, &chosen.name, seed, interrupt)? {
                Some(runs) => compared.push(runs),
                None => break 'tables,
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let text = summary(args, &compared).markdown();
    print(&text)?;
    let title = format!("{} workers beside one", args.workers);
    out.write("report.md", &(heading(&title) + &text + &notes(args)))?;
    out.write("runs.csv", &csv_of_runs(&compared).csv())?;
    if interrupt.load(Relaxed) {
        return Err(Failure::Interrupted);
    }
    Ok(())
}

/// Makes the runs of one table with one seed; none if they were interrupted.
fn compare(
    args: &WorkersArgs,
    table: &Table,
    name: &str,
    seed: u64,
    interrupt: &AtomicBool,
) -> Result<Option<Compared>, Failure> {
    let crew = |workers, sharing| Crew {
        table,
        workers,
        sharing,
        seed,
        memory: args.memory,
    };
    let several = |sharing, target, limit| {
        let crew = crew(args.workers, sharing);
        let curve = virtual_workers::run(&crew, limit, Some(target), interrupt)?;
        let reached = curve.into_iter().find(|&(_, best)| best >= target);
        Ok::<_, Failure>(reached.map(|(at, _)| at))
    };
    let one = virtual_workers::run(&crew(1, Sharing::Together), args.time, None, interrupt)?;
    let Some(&(_, target)) = one.last() else {
        return Ok(None);
    };
    let together = several(Sharing::Together, target, args.limit)?;
    let apart = match args.apart {
        true => several(Sharing::Apart, target, args.limit)?,
        false => None,
    };
    Ok((!interrupt.load(Relaxed)).then(|| Compared {
        table: name.to_owned(),
        seed,
        target,
        together,
        apart,
    }))
}

/// Returns the median of times of which some may be beyond the limit.
fn median_time<'a>(times: impl Iterator<Item = &'a Option<f64>>) -> Option<f64> {
    median(times.map(|time| time.unwrap_or(f64::INFINITY)))
}

fn summary(args: &WorkersArgs, compared: &[Compared]) -> Grid {
    let several = format!("{} workers, CPU s each", args.workers);
    let apart = format!("{} that share nothing", args.workers);
    let mut grid = Grid::new(&[
        "table",
        "seeds",
        "score of one",
        "CPU s of one",
        &several,
        "one / several",
        &apart,
    ]);
    let mut names: Vec<&str> = compared.iter().map(|runs| runs.table.as_str()).collect();
    names.dedup();
    let time = |time: Option<f64>| match time {
        Some(time) if time.is_finite() => format!("{time:.1}"),
        Some(_) => format!("> {:.0}", args.limit.as_secs_f64()),
        None => "-".to_owned(),
    };
    for name in names {
        let of_table = || compared.iter().filter(|runs| runs.table == name);
        let together = median_time(of_table().map(|runs| &runs.together));
        let apart = median_time(of_table().map(|runs| &runs.apart));
        let score = median(of_table().map(|runs| runs.target));
        let seconds = args.time.as_secs_f64();
        let ratio = together.filter(|time| time.is_finite());
        grid.row([
            name.to_owned(),
            of_table().count().to_string(),
            score.map_or("-".to_owned(), |score| format!("{score:.1}")),
            format!("{seconds:.0}"),
            time(together),
            ratio.map_or("-".to_owned(), |time| format!("{:.1}", seconds / time)),
            time(apart.filter(|_| args.apart)),
        ]);
    }
    grid
}

fn notes(args: &WorkersArgs) -> String {
    format!(
        "\nHow long each of {} workers takes until one of them has the score that one worker has after \
         {:.0} processor seconds; medians over seeds.\n",
        args.workers,
        args.time.as_secs_f64()
    )
}

fn csv_of_runs(compared: &[Compared]) -> Grid {
    let mut grid = Grid::new(&["table", "seed", "score_of_one", "together", "apart"]);
    let time = |time: Option<f64>| time.map_or(String::new(), |time| format!("{time:.3}"));
    for runs in compared {
        grid.row([
            runs.table.clone(),
            runs.seed.to_string(),
            format!("{:.3}", runs.target),
            time(runs.together),
            time(runs.apart),
        ]);
    }
    grid
}
