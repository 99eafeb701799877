//! `growth`: how the time to the first local optimum grows with the number of variables.

use crate::failure::Failure;
use crate::report_table::{Grid, OutFolder, heading};
use crate::runs::{Climb, climb, hill_climbing};
use crate::statistics::{exponent, median};
use crate::terminal::{bar_over, print};
use crate::tiles::{read_pattern, tile};
use clap::{Args, ValueEnum};
use rlbayes::units::show_count;
use rlbayes::{SearchRequest, SearchSettings, Table};
use rlbayes_common::data::sample;
use rlbayes_common::ids::{NodeIdx, Seed};
use rlbayes_common::network::Network;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Times the first climb on networks of growing size.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct GrowthArgs {
    /// Numbers of variables
    #[arg(
        long,
        value_name = "N,N,…",
        value_delimiter = ',',
        default_value = "100,200,400,800,1600"
    )]
    sizes: Vec<usize>,
    /// Rows that are sampled
    #[arg(long, value_name = "N", default_value_t = 1000)]
    rows: usize,
    /// Which search climbs
    #[arg(long, value_enum, default_value_t = Climber::Rlbayes)]
    search: Climber,
    /// Networks of each size, with seeds 1, 2, 3, …
    #[arg(long, value_name = "N", default_value_t = 3)]
    seeds: u64,
    /// The network whose copies make the larger ones
    #[arg(long, value_name = "NET", default_value = "data/networks/alarm.bif")]
    network: PathBuf,
    /// Folder for runs.csv and report.md
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Whose first local optimum is waited for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Climber {
    /// The default search, one chain
    Rlbayes,
    /// Hill climbing, which looks at every edge after every step
    Hc,
}

const EXAMPLES: &str = "\
Large networks are copies of a small one with fresh names; half of the roots of a copy depend on a
random node of an earlier copy. Rows are sampled from them; time is processor time of the climb,
without reading and sampling. Short climbs are repeated with empty caches.

Examples:
  cargo run --release -p rlbayes-bench -- growth
  cargo run --release -p rlbayes-bench -- growth --search hc
  cargo run --release -p rlbayes-bench -- growth --sizes 500,1000,2000,4000 --network data/networks/hailfinder.bif --seeds 1";

#[derive(Clone, Copy, Debug)]
struct Measured {
    nodes: usize,
    seed: u64,
    /// What the climb took; of several, their mean time.
    climb: Climb,
}

/// Runs the command.
pub(crate) fn run(args: &GrowthArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    let pattern = read_pattern(&args.network)?;
    if let Some(size) = args
        .sizes
        .iter()
        .find(|&&size| size == 0 || size > NodeIdx::MAX_NODES)
    {
        return Err(Failure::input(format!(
            "--sizes {size}: expected numbers from 1 to {}",
            NodeIdx::MAX_NODES
        )));
    }
    let out = OutFolder::new(args.out.as_deref())?;
    let seeds = usize::try_from(args.seeds).unwrap_or(usize::MAX);
    let bar = bar_over(args.sizes.len().saturating_mul(seeds));
    let mut climbs = Vec::new();
    'all: for &nodes in &args.sizes {
        for seed in 1..=args.seeds {
            bar.set_message(format!("{nodes} variables, seed {seed}"));
            match measure(&pattern, nodes, args, seed, interrupt)? {
                Some(measured) => climbs.push(measured),
                None => break 'all,
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let (summary, verdict) = summary(&args.sizes, &climbs);
    let text = format!("{}\n{verdict}\n", summary.markdown());
    print(&text)?;
    out.write(
        "report.md",
        &(heading("Time to the first local optimum") + &text),
    )?;
    out.write("runs.csv", &csv_of_climbs(&climbs).csv())?;
    if interrupt.load(Relaxed) {
        return Err(Failure::Interrupted);
    }
    Ok(())
}

/// Makes a network, samples a table and climbs from nothing; none if interrupted.
fn measure(
    pattern: &Network,
    nodes: usize,
    args: &GrowthArgs,
    seed: u64,
    interrupt: &AtomicBool,
) -> Result<Option<Measured>, Failure> {
    let network = tile(pattern, nodes, Seed(seed))?;
    let table = sample(&network, args.rows, Seed(seed)).map_err(Failure::input)?;
    let table = Table::from_data("sampled", table);
    let mut settings = hill_climbing();
    settings.seed = seed;
    if let Climber::Rlbayes = args.search {
        settings.algorithm = SearchSettings::default().algorithm;
    }
    let request = SearchRequest::new(&table, &settings).map_err(Failure::input)?;
    let mut total = 0.0;
    for climbs in 1u32.. {
        let Some(last) = climb(&request, interrupt) else {
            break;
        };
        total += last.seconds;
        if total >= LEAST_SECONDS || climbs == MOST_CLIMBS {
            let climb = Climb {
                seconds: total / f64::from(climbs),
                ..last
            };
            return Ok(Some(Measured { nodes, seed, climb }));
        }
    }
    Ok(None)
}

/// Climbs are repeated for this long: the system's clock is coarse.
const LEAST_SECONDS: f64 = 0.2;
/// And at most this often, where no clock runs.
const MOST_CLIMBS: u32 = 1000;

fn summary(sizes: &[usize], climbs: &[Measured]) -> (Grid, String) {
    let mut grid = Grid::new(&[
        "variables",
        "seconds",
        "evaluations",
        "counted from data",
        "edges",
        "seconds / n^2",
        "counted / n^2",
    ]);
    let mut points = Vec::new();
    for &nodes in sizes {
        let mine = || {
            let of_size = climbs
                .iter()
                .filter(move |measured| measured.nodes == nodes);
            of_size.map(|measured| &measured.climb)
        };
        let Some(seconds) = median(mine().map(|climb| climb.seconds)) else {
            continue;
        };
        let middle = |of: &dyn Fn(&Climb) -> f64| median(mine().map(of)).unwrap_or(0.0);
        let n = nodes as f64;
        points.push((n, seconds));
        let computed = middle(&|climb| climb.computed as f64);
        grid.row([
            nodes.to_string(),
            format!("{seconds:.3}"),
            show_count(middle(&|climb| climb.evaluations as f64)),
            show_count(computed),
            format!("{:.0}", middle(&|climb| climb.edges as f64)),
            format!("{:.3e}", seconds / n / n),
            format!("{:.2}", computed / n / n),
        ]);
    }
    let verdict = match exponent(&points) {
        Some(exponent) => {
            format!("Time grows as n^{exponent:.2} (least squares on logarithms of the medians).")
        }
        None => "An exponent needs two sizes.".to_owned(),
    };
    (grid, verdict)
}

fn csv_of_climbs(climbs: &[Measured]) -> Grid {
    let mut grid = Grid::new(&[
        "variables",
        "seed",
        "seconds",
        "evaluations",
        "computed",
        "edges",
    ]);
    for Measured { nodes, seed, climb } in climbs {
        grid.row([
            nodes.to_string(),
            seed.to_string(),
            format!("{:.6}", climb.seconds),
            climb.evaluations.to_string(),
            climb.computed.to_string(),
            climb.edges.to_string(),
        ]);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadratic_times_have_exponent_two() {
        let climb = |nodes: usize| Measured {
            nodes,
            seed: 1,
            climb: Climb {
                seconds: 1e-6 * (nodes * nodes) as f64,
                evaluations: 10,
                computed: 5,
                edges: nodes,
            },
        };
        let (grid, verdict) = summary(&[100, 200, 400], &[climb(100), climb(200), climb(400)]);
        assert!(verdict.contains("n^2.00"), "{verdict}");
        assert!(grid.csv().contains("200,0.040,10,5,200,1.000e-6,0.00\n"));
        let (_, verdict) = summary(&[100, 200], &[climb(100)]);
        assert!(verdict.contains("two sizes"));
    }
}
