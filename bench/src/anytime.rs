//! `anytime`: the default search beside hill climbing, at every moment and on networks of every size.

use crate::failure::Failure;
use crate::report_table::{Grid, OutFolder, heading};
use crate::runs::hill_climbing;
use crate::terminal::{bar_over, print};
use crate::tiles::{read_pattern, tile};
use clap::Args;
use rlbayes::units::{parse_time, show_bytes};
use rlbayes::{Search, SearchSettings, StopHandle, Table, machine};
use rlbayes_common::data::sample;
use rlbayes_common::ids::{NodeIdx, Seed};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Compares the default search with hill climbing, by processor time.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct AnytimeArgs {
    /// Tables of your own instead of sampled ones
    files: Vec<PathBuf>,
    /// Numbers of variables of the sampled tables
    #[arg(
        long,
        value_name = "N,N,…",
        value_delimiter = ',',
        default_value = "10,30,100,300,1000,2000"
    )]
    sizes: Vec<usize>,
    /// Rows that are sampled
    #[arg(long, value_name = "N", default_value_t = 1000)]
    rows: usize,
    /// The network whose copies make the larger ones
    #[arg(long, value_name = "NET", default_value = "data/networks/alarm.bif")]
    network: PathBuf,
    /// Processor time of the default search, at least that of hill climbing
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    cpu_time: Duration,
    /// Seed of the tables and of the searches
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Folder for curves.csv and report.md
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Both searches run on one thread. Hill climbing runs to its end; the default search gets the same
processor time, or --cpu-time if that is more. Large tables are sampled from copies of a network, as
`growth` makes them.

Examples:
  cargo run --release -p rlbayes-bench -- anytime
  cargo run --release -p rlbayes-bench -- anytime --sizes 10000 --cpu-time 120s
  cargo run --release -p rlbayes-bench -- anytime my-table.csv --cpu-time 60s";

/// The best score by processor seconds: what a search had to show.
type Curve = Vec<(f64, f64)>;

/// Both searches on one table.
struct Compared {
    table: String,
    variables: usize,
    climbing: Curve,
    default: Curve,
    peak_bytes: Option<usize>,
}

/// Runs the command.
pub(crate) fn run(args: &AnytimeArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    let out = OutFolder::new(args.out.as_deref())?;
    let mut tables = Vec::new();
    for file in &args.files {
        tables.push(Table::read(file).map_err(Failure::input)?);
    }
    if args.files.is_empty() {
        let pattern = read_pattern(&args.network)?;
        for &nodes in &args.sizes {
            if nodes == 0 || nodes > NodeIdx::MAX_NODES {
                let most = NodeIdx::MAX_NODES;
                let refused = format!("--sizes {nodes}: expected numbers from 1 to {most}");
                return Err(Failure::input(refused));
            }
            let network = tile(&pattern, nodes, Seed(args.seed))?;
            let rows = sample(&network, args.rows, Seed(args.seed)).map_err(Failure::input)?;
            tables.push(Table::from_data(&format!("{nodes} variables"), rows));
        }
    }
    let bar = bar_over(tables.len());
    let mut compared = Vec::new();
    for table in &tables {
        bar.set_message(table.name().to_owned());
        match compare(table, args, interrupt)? {
            Some(both) => compared.push(both),
            None => break,
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let text = summary(&compared).markdown();
    print(&text)?;
    let report = heading("The default search beside hill climbing") + &text;
    out.write("report.md", &report)?;
    out.write("curves.csv", &curves(&compared).csv())?;
    if interrupt.load(Relaxed) {
        return Err(Failure::Interrupted);
    }
    Ok(())
}

/// Runs both searches on a table; none if interrupted.
fn compare(
    table: &Table,
    args: &AnytimeArgs,
    interrupt: &AtomicBool,
) -> Result<Option<Compared>, Failure> {
    let seed = args.seed;
    let climbing = SearchSettings {
        seed,
        ..hill_climbing()
    };
    let climbing = curve(Search::with(table, climbing), interrupt)?;
    let took = climbing.last().map_or(0.0, |&(at, _)| at);
    machine::reset_peak_memory();
    let default = SearchSettings {
        seed,
        threads: Some(1),
        ..SearchSettings::default()
    };
    let cpu_time = args.cpu_time.max(Duration::from_secs_f64(took));
    let default = curve(Search::with(table, default).cpu_time(cpu_time), interrupt)?;
    Ok((!interrupt.load(Relaxed)).then(|| Compared {
        table: table.name().to_owned(),
        variables: table.variables().len(),
        climbing,
        default,
        peak_bytes: machine::peak_memory(),
    }))
}

fn curve(search: Search<'_>, interrupt: &AtomicBool) -> Result<Curve, Failure> {
    let stop = StopHandle::default();
    let stopping = stop.clone();
    let now = || machine::cpu_seconds().unwrap_or(0.0);
    let begun = now();
    let mut curve = Curve::new();
    let outcome = search
        .stop_with(&stop)
        .on_progress(|progress| {
            if interrupt.load(Relaxed) {
                stopping.stop();
            }
            if let (true, Some(best)) = (progress.improved, progress.best_score) {
                curve.push((now() - begun, best));
            }
        })
        .run()
        .map_err(Failure::input)?;
    curve.push((now() - begun, outcome.score()));
    Ok(curve)
}

/// Returns the best score that a search had at a moment.
fn best_at(curve: &Curve, seconds: f64) -> Option<f64> {
    let known = curve.iter().take_while(|&&(at, _)| at <= seconds);
    known.map(|&(_, best)| best).reduce(f64::max)
}

/// Returns by how much hill climbing was ahead at worst, and when: looked at whenever it improved,
/// a tenth of a second and a tenth of its time later, since reports come in slices.
fn worst_moment(climbing: &Curve, default: &Curve) -> (f64, f64) {
    let end = default.last().map_or(0.0, |&(at, _)| at);
    let shortfalls = climbing.iter().map(|&(at, best)| {
        let later = (1.1 * at + 0.1).min(end);
        let had = best_at(default, later).unwrap_or(f64::NEG_INFINITY);
        (best - had, at)
    });
    let behind = shortfalls.filter(|&(nats, _)| nats > 0.0);
    let worst = behind.max_by(|a, b| a.0.total_cmp(&b.0));
    worst.unwrap_or((0.0, 0.0))
}

fn summary(compared: &[Compared]) -> Grid {
    let mut grid = Grid::new(&[
        "table",
        "variables",
        "hc, CPU s",
        "hc",
        "default in that time",
        "default in the end",
        "CPU s",
        "nats ahead of hc",
        "worst moment, nats behind",
        "peak memory",
    ]);
    for both in compared {
        let (took, climbed) = both.climbing.last().copied().unwrap_or_default();
        let (spent, best) = both.default.last().copied().unwrap_or_default();
        let (behind, at) = worst_moment(&both.climbing, &both.default);
        let then = best_at(&both.default, took).unwrap_or(f64::NEG_INFINITY);
        grid.row([
            both.table.clone(),
            both.variables.to_string(),
            format!("{took:.2}"),
            format!("{climbed:.1}"),
            format!("{then:.1}"),
            format!("{best:.1}"),
            format!("{spent:.1}"),
            format!("{:.1}", best - climbed),
            match behind {
                0.0 => "never behind".to_owned(),
                nats => format!("{nats:.1} after {at:.2} s"),
            },
            both.peak_bytes.map_or_else(|| "-".to_owned(), show_bytes),
        ]);
    }
    grid
}

fn curves(compared: &[Compared]) -> Grid {
    let mut grid = Grid::new(&["table", "search", "cpu_seconds", "score"]);
    for both in compared {
        for (search, curve) in [("hc", &both.climbing), ("rlbayes", &both.default)] {
            for (at, best) in curve {
                grid.row([
                    both.table.clone(),
                    search.to_owned(),
                    format!("{at:.3}"),
                    format!("{best:.3}"),
                ]);
            }
        }
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_moment_is_where_hill_climbing_is_furthest_ahead() {
        let climbing = vec![(1.0, -10.0), (2.0, -5.0), (3.0, -4.0)];
        let ahead = vec![(0.5, -10.0), (1.5, -4.0), (10.0, -1.0)];
        assert_eq!(worst_moment(&climbing, &ahead), (0.0, 0.0));
        let behind = vec![(0.5, -10.0), (2.5, -6.0), (10.0, -1.0)];
        let (nats, at) = worst_moment(&climbing, &behind);
        assert_eq!((nats, at), (5.0, 2.0));
        assert_eq!(best_at(&climbing, 0.5), None);
    }
}
