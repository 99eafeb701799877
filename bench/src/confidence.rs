//! `confidence`: whether the support of edges tells true ones from false ones, and what it costs.

mod calibration;
mod measures;
mod trial;

use crate::failure::Failure;
use crate::report_table::{Grid, OutFolder, heading};
use crate::terminal::{bar_over, print};
use calibration::Calibration;
use clap::Args;
use measures::Measures;
use rlbayes::StopHandle;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use trial::{Setup, Trial, run_trial, speed_up};

/// Measures the support of edges against the networks that tables were drawn from.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ConfidenceArgs {
    /// Networks of data/networks to draw tables from
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        default_value = "asia,sachs,child,insurance,alarm,hailfinder"
    )]
    networks: Vec<String>,
    /// Rows of the tables
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "500,1000,5000"
    )]
    rows: Vec<usize>,
    /// Tables of each network and size; table s of N rows has the seed 1000 s + N
    #[arg(long, value_name = "N", default_value_t = 3)]
    tables: u64,
    /// Seeds of the bootstrap of each table, 1, 2, 3, …: what rows it draws changes the figures, too
    #[arg(long, value_name = "N", default_value_t = 3)]
    seeds: u64,
    /// Replicates of each table
    #[arg(long, value_name = "R", default_value_t = 50)]
    replicates: u32,
    /// Leaves out what takes other numbers of replicates: the consensus of 200, alarm with 200, andes with
    /// 20, and the comparison of threads
    #[arg(long)]
    tables_only: bool,
    /// Folder of the networks
    #[arg(long, value_name = "DIR", default_value = "data/networks")]
    folder: PathBuf,
    /// Folder for report.md, tables.csv and calibration.svg
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
A pair is true if the network that the table was drawn from joins the two. AUROC and AP (average
precision) rank all pairs by support; Brier is the mean squared error of support over all pairs, and
error per edge the same sum divided by the number of true edges; SHD compares the commonest mark of each
pair with the true equivalence class. Times are processor seconds of all replicates, on one thread.

Example:
  cargo run --release -p rlbayes-bench -- confidence --out data/results/confidence";

/// Runs the command.
pub(crate) fn run(args: &ConfidenceArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    let out = OutFolder::new(args.out.as_deref())?;
    let stop = StopHandle::default();
    let mut setups = Vec::new();
    for &rows in &args.rows {
        for network in &args.networks {
            for table in 1..=args.tables {
                setups.extend((1..=args.seeds).map(|bootstrap_seed| Setup {
                    bootstrap_seed,
                    replicates: args.replicates,
                    ..usual(args, network, table, rows)
                }));
            }
        }
    }
    let bar = bar_over(setups.len());
    let mut trials = Vec::new();
    for setup in &setups {
        if interrupt.load(Relaxed) {
            break;
        }
        bar.set_message(format!("{}, {} rows", setup.network, setup.rows));
        trials.push(run_trial(setup, &stop)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut text = means(&trials) + "\n" + &by_seed(&trials);
    let calibration = Calibration::of(trials.iter().flat_map(|trial| &trial.pairs));
    text += &format!("\n{}", calibration.markdown());
    if !args.tables_only && !interrupt.load(Relaxed) {
        text += &consensus(args, &stop)?;
        text += &single_tables(args, &stop)?;
    }
    print(&text)?;
    out.write(
        "report.md",
        &(heading("Support of edges against the truth") + &text),
    )?;
    out.write("tables.csv", &per_table(&trials).csv())?;
    let picture = calibration.picture().map_err(Failure::Bug)?;
    out.write("calibration.svg", &picture)?;
    match interrupt.load(Relaxed) {
        true => Err(Failure::Interrupted),
        false => Ok(()),
    }
}

/// A table with the bootstrap that people get who set nothing.
fn usual(args: &ConfidenceArgs, network: &str, table: u64, rows: usize) -> Setup {
    Setup {
        path: args.folder.join(format!("{network}.bif")),
        network: network.to_owned(),
        rows,
        seed: 1000 * table + rows as u64,
        bootstrap_seed: 1,
        replicates: 200,
    }
}

/// The consensus of the default bootstrap.
fn consensus(args: &ConfidenceArgs, stop: &StopHandle) -> Result<String, Failure> {
    let (mut tables, mut of_consensus, mut of_best) = (0, 0.0, 0.0);
    for network in &args.networks {
        for table in 1..=args.tables {
            let Measures {
                shd_consensus,
                shd_best,
                ..
            } = run_trial(&usual(args, network, table, 1000), stop)?.measures;
            tables += 1;
            of_consensus += shd_consensus;
            of_best += shd_best;
        }
    }
    let mean = |sum: f64| sum / measures::real(tables);
    Ok(format!(
        "\nConsensus of 200 replicates, seed 1, {tables} tables of 1000 rows: mean SHD {:.2} (single best {:.2})\n",
        mean(of_consensus),
        mean(of_best)
    ))
}

/// Means over the tables of each size.
fn means(trials: &[Trial]) -> String {
    let mut grid = Grid::new(&[
        "rows",
        "runs",
        "AUROC",
        "AP",
        "Brier",
        "error per edge",
        "SHD of consensus",
        "of the single best",
        "seconds",
    ]);
    let mut sizes: Vec<usize> = trials.iter().map(|trial| trial.setup.rows).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for rows in sizes {
        let of: Vec<&Trial> = trials.iter().filter(|it| it.setup.rows == rows).collect();
        #[expect(clippy::cast_precision_loss, reason = "a count of tables")]
        let mean = |value: &dyn Fn(&Trial) -> f64| {
            of.iter().map(|trial| value(trial)).sum::<f64>() / of.len() as f64
        };
        grid.row([
            rows.to_string(),
            of.len().to_string(),
            format!("{:.4}", mean(&|it| it.measures.auroc)),
            format!("{:.4}", mean(&|it| it.measures.average_precision)),
            format!("{:.4}", mean(&|it| it.measures.brier)),
            format!("{:.4}", mean(&|it| it.measures.error_per_edge)),
            format!("{:.2}", mean(&|it| it.measures.shd_consensus)),
            format!("{:.2}", mean(&|it| it.measures.shd_best)),
            format!("{:.1}", of.iter().map(|it| it.seconds).sum::<f64>()),
        ]);
    }
    grid.markdown()
}

/// The consensus of 1000 rows by the bootstrap's seed: how much of the figure is chance.
fn by_seed(trials: &[Trial]) -> String {
    let mut text = String::new();
    let mut seeds: Vec<u64> = trials.iter().map(|it| it.setup.bootstrap_seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    for seed in seeds {
        let of = |it: &&Trial| it.setup.rows == 1000 && it.setup.bootstrap_seed == seed;
        let of: Vec<&Trial> = trials.iter().filter(of).collect();
        if !of.is_empty() {
            let sum: f64 = of.iter().map(|it| it.measures.shd_consensus).sum();
            let mean = sum / measures::real(of.len());
            text += &format!("- seed {seed}, 1000 rows: mean SHD of the consensus {mean:.2}\n");
        }
    }
    text
}

fn per_table(trials: &[Trial]) -> Grid {
    let mut grid = Grid::new(&[
        "network",
        "rows",
        "seed",
        "bootstrap_seed",
        "replicates",
        "auroc",
        "ap",
        "brier",
        "error_per_edge",
        "shd_consensus",
        "shd_best",
        "unfinished",
        "seconds",
    ]);
    for trial in trials {
        let measures = &trial.measures;
        grid.row([
            trial.setup.network.clone(),
            trial.setup.rows.to_string(),
            trial.setup.seed.to_string(),
            trial.setup.bootstrap_seed.to_string(),
            trial.setup.replicates.to_string(),
            format!("{:.5}", measures.auroc),
            format!("{:.5}", measures.average_precision),
            format!("{:.6}", measures.brier),
            format!("{:.5}", measures.error_per_edge),
            format!("{:.0}", measures.shd_consensus),
            format!("{:.0}", measures.shd_best),
            trial.unfinished.to_string(),
            format!("{:.2}", trial.seconds),
        ]);
    }
    grid
}

/// The tables that stand for themselves: alarm with named pairs, andes, and two threads.
fn single_tables(args: &ConfidenceArgs, stop: &StopHandle) -> Result<String, Failure> {
    let setup = |network: &str, replicates| Setup {
        replicates,
        ..usual(args, network, 1, 1000)
    };
    let alarm = run_trial(&setup("alarm", 200), stop)?;
    let mut text = format!(
        "\nalarm, 1000 rows, seed 2000, 200 replicates: {:.2} processor seconds\n\n",
        alarm.seconds
    );
    for (a, b, truth) in [
        ("HREKG", "HRSAT", "false"),
        ("MINVOL", "VENTALV", "false"),
        ("INTUBATION", "MINVOL", "true"),
        ("MINVOL", "VENTLUNG", "true"),
    ] {
        let strength = alarm.support.strength(a, b).unwrap_or(f64::NAN);
        text += &format!("- {a} - {b} ({truth}): support {strength:.3}\n");
    }
    let andes = run_trial(&setup("andes", 20), stop)?;
    text += &format!(
        "\nandes, 1000 rows, seed 2000, 20 replicates: AP {:.4}, SHD of the consensus {:.0} (single \
         best {:.0}); {:.2} processor seconds, ten times that for 200: {:.0}\n",
        andes.measures.average_precision,
        andes.measures.shd_consensus,
        andes.measures.shd_best,
        andes.seconds,
        10.0 * andes.seconds
    );
    text += &speed_up(&setup("alarm", 200))?;
    Ok(text)
}
