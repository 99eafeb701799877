//! `chart`: draws how far other programs and the default search are below the proven optimum. Ours
//! is run for it; the others' scores are those of `data/targets.json`.

use crate::failure::Failure;
use crate::gap_chart::{Gap, GapChart, GapPanel, draw};
use crate::reference_scores::{ChosenTable, Known, TableChoice};
use crate::report_table::{Grid, nats};
use crate::terminal::{bar_over, print, remark};
use clap::Args;
use rlbayes::units::{parse_time, show_time};
use rlbayes::{Budget, Outcome, Search, SearchSettings, StopHandle, Table, machine};
use rlbayes_common::files::write_whole;
use rlbayes_common::score::LogScore;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Draws how far the networks of several programs are below the proven optimum.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ChartArgs {
    /// Time of the default search on each table, at most: it ends at the optimum
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = parse_time)]
    time: Duration,
    /// Threads of the search [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<u32>,
    /// Folder of the bundled tables
    #[arg(long, value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// The picture
    #[arg(long, value_name = "FILE", default_value = "data/results/gaps.svg")]
    out: PathBuf,
}

const EXAMPLES: &str = "\
The six tables of 1000 rows whose optimum is proven without a limit on parents. Other programs ran
with one thread, on columns in the order of the generating network, which flatters hill climbing and
tabu search; their scores are known to one decimal.

Example:
  cargo run --release -p rlbayes-bench -- chart";

/// The tables, by the names of their networks.
const NETWORKS: [&str; 6] = ["asia", "sachs", "child", "insurance", "alarm", "hailfinder"];
/// The other programs, as `data/targets.json` names them.
const OTHERS: [&str; 7] = [
    "bnlearn hc",
    "bnlearn tabu",
    "bnlearn hc, 20 restarts",
    "pyAgrum tabu",
    "PyBNesian hc",
    "Tetrad FGES",
    "Tetrad BOSS",
];
/// What scores of other programs are rounded to lies this far from them at most.
const ROUNDED: f64 = 0.05;

/// Runs the command.
pub(crate) fn run(args: &ChartArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    let file = |network| args.data.join(format!("{network}_n1000_s1.csv.gz"));
    let choice = TableChoice {
        files: NETWORKS.map(file).into(),
        data: args.data.clone(),
    };
    let tables = choice.tables(|_| true)?;
    let bar = bar_over(tables.len());
    let mut grid = Grid::new(&["table", "optimum", "found", "gap", "after"]);
    let mut panels = Vec::new();
    for (network, mut chosen) in NETWORKS.into_iter().zip(tables) {
        bar.set_message(network);
        let table = Table::read(&chosen.path).map_err(Failure::input)?;
        chosen.check(&table);
        let known = optimum_of(&chosen)?;
        let outcome = search(args, &table, known, interrupt)?;
        if interrupt.load(Relaxed) {
            return Err(Failure::Interrupted);
        }
        grid.row([
            chosen.name.clone(),
            format!("{:.3}", known.score),
            format!("{:.3}", outcome.score()),
            nats(known.score - outcome.score()),
            show_time(outcome.best_at()),
        ]);
        panels.push(GapPanel {
            title: format!("{network}, {} variables", known.variables()),
            gaps: gaps(known, outcome.score()),
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    let threads = args.threads.unwrap_or_else(machine::cores);
    let programs = std::iter::once("RLBayes").chain(OTHERS);
    let svg = draw(&GapChart {
        programs: programs.map(str::to_owned).collect(),
        panels,
        notes: notes(args.time, threads),
    });
    print(&grid.markdown())?;
    write_whole(&args.out, svg.as_bytes()).map_err(|error| Failure::file(&args.out, error))?;
    remark(&format!("written: {}", args.out.display()));
    Ok(())
}

fn optimum_of(chosen: &ChosenTable) -> Result<&Known, Failure> {
    let proven = chosen.known.as_ref().filter(|known| known.proven);
    proven.ok_or_else(|| Failure::file(&chosen.path, "this is not the bundled table"))
}

/// Runs the default search; Ctrl-C ends it.
fn search(
    args: &ChartArgs,
    table: &Table,
    known: &Known,
    interrupt: &AtomicBool,
) -> Result<Outcome, Failure> {
    let settings = SearchSettings {
        threads: args.threads,
        budget: Budget {
            time: Some(args.time),
            target: LogScore::checked(known.score - known.tolerance),
            ..Budget::default()
        },
        ..SearchSettings::default()
    };
    let stop = StopHandle::default();
    Search::with(table, settings)
        .stop_with(&stop)
        .on_progress(|_| {
            if interrupt.load(Relaxed) {
                stop.stop();
            }
        })
        .run()
        .map_err(Failure::input)
}

/// Returns the gaps of our search and of the others, in the order of the rows.
fn gaps(known: &Known, ours: f64) -> Vec<Gap> {
    let others = OTHERS.iter().map(|name| match known.of_tool(name) {
        Some(score) => Gap::new(known.score, score, ROUNDED),
        None => Gap::Unknown,
    });
    let ours = Gap::new(known.score, ours, known.tolerance);
    std::iter::once(ours).chain(others).collect()
}

fn notes(time: Duration, threads: u32) -> Vec<String> {
    let threads = match threads {
        1 => "1 thread".to_owned(),
        threads => format!("{threads} threads"),
    };
    vec![
        format!(
            "Optimum: no network scores higher, by a mixed-integer program. RLBayes: its default \
             search, at most {} on {threads}.",
            show_time(time)
        ),
        "Others: 1 thread, columns in the generating network's order, scores known to one decimal."
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg_bounds::texts_outside;

    #[test]
    fn every_program_has_a_score_on_every_table() {
        let data = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../data"));
        let file = |network| data.join(format!("{network}_n1000_s1.csv.gz"));
        let choice = TableChoice {
            files: NETWORKS.map(file).into(),
            data: data.to_owned(),
        };
        for chosen in choice.tables(|_| true).unwrap() {
            let known = optimum_of(&chosen).unwrap();
            let gaps = gaps(known, known.score);
            assert_eq!(gaps.len(), 1 + OTHERS.len());
            assert_eq!(gaps[0], Gap::Optimum);
            assert!(!gaps.contains(&Gap::Unknown), "{}", chosen.name);
        }
    }

    #[test]
    fn no_text_leaves_the_committed_figure() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/results/gaps.svg");
        let svg = std::fs::read_to_string(path).unwrap();
        assert_eq!(texts_outside(&svg), Vec::<String>::new());
        for name in NETWORKS.iter().chain(&OTHERS) {
            assert!(svg.contains(name), "{name}");
        }
    }
}
