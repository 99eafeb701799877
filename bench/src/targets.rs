//! `targets`: how near the default search comes to the best networks known, and how fast.

use crate::failure::Failure;
use crate::gap_plot::{self, Panel};
use crate::reference_scores::{ChosenTable, TableChoice};
use crate::report_table::{Grid, OutFolder, heading, nats};
use crate::statistics::median;
use crate::terminal::{bar_over, print};
use clap::Args;
use indicatif::ProgressBar;
use rlbayes::units::{parse_size, parse_time, show_bytes, show_count};
use rlbayes::{
    Budget, Progress, Search, SearchSettings, Stagnation, StopHandle, StoppedBy, Table, machine,
};
use rlbayes_common::score::LogScore;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Runs the default search as `learn` does and compares it with the best scores known.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TargetsArgs {
    #[command(flatten)]
    choice: TableChoice,
    /// Time of each run
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    time: Duration,
    /// --time counts processor seconds, for machines that do other work as well
    #[arg(long)]
    cpu: bool,
    /// Runs per table, with seeds 1, 2, 3, …
    #[arg(long, value_name = "N", default_value_t = 5)]
    seeds: u64,
    /// Threads of the search
    #[arg(long, value_name = "T", default_value_t = 1)]
    threads: u32,
    /// Memory of the search [default: as learn]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<usize>,
    /// Continues after a proven optimum is reached
    #[arg(long)]
    full: bool,
    /// Folder for runs.csv, report.md and gap.svg
    #[arg(long, value_name = "DIR", default_value = "bench-targets")]
    out: PathBuf,
}

const EXAMPLES: &str = "\
Each run is `rlbayes learn FILE --threads T --seed S --time TIME`; it ends early at a proven optimum
unless --full is given. The gap of a table without a known best score is that to the best of its
runs. Peak memory is the process's: what the allocator keeps of earlier runs is part of it.

Examples:
  cargo run --release -p rlbayes-bench -- targets                                    (all 15 tables: up to 75 min)
  cargo run --release -p rlbayes-bench -- targets --time 15s --seeds 3 data/alarm_n1000_s1.csv.gz data/pigs_n1000_s1.csv.gz
  cargo run --release -p rlbayes-bench -- targets --time 120s --cpu data/andes_n1000_s1.csv.gz
  cargo run --release -p rlbayes-bench -- targets --time 5m --threads 8 my-table.csv";

/// What one run did.
#[derive(Clone, Debug)]
struct Run {
    table: usize,
    seed: u64,
    score: f64,
    records: Vec<RecordAt>,
    seconds: f64,
    cpu: f64,
    evaluations: f64,
    computed: f64,
    peak: Option<usize>,
    stopped_by: &'static str,
}

/// A record on the way.
#[derive(Clone, Copy, Debug)]
struct RecordAt {
    seconds: f64,
    cpu: f64,
    score: f64,
}

/// Runs the command.
pub(crate) fn run(args: &TargetsArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    let mut tables = args.choice.tables(|_| true)?;
    let out = OutFolder::new(Some(&args.out))?;
    let bar = bar_over(tables.len() * usize::try_from(args.seeds).unwrap_or(usize::MAX));
    let mut runs: Vec<Run> = Vec::new();
    print(&line(&RUN_HEAD.map(str::to_owned)))?;
    for (number, chosen) in tables.iter_mut().enumerate() {
        if interrupt.load(Relaxed) {
            break;
        }
        let table = Table::read(&chosen.path).map_err(Failure::input)?;
        chosen.check(&table);
        for seed in 1..=args.seeds {
            if interrupt.load(Relaxed) {
                break;
            }
            let run = run_once(args, chosen, number, &table, seed, &bar, interrupt)?;
            let gap = chosen.known.as_ref().map(|known| known.score - run.score);
            let cells = run_cells(&run, chosen, gap);
            bar.suspend(|| print(&line(&cells)))?;
            runs.push(run);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let summary = summary(&tables, &runs);
    let mut report = heading("The default search against the best networks known");
    report += &summary.markdown();
    report += NOTES;
    report += "\n## Runs\n\n";
    let all = grid_of_runs(&tables, &runs);
    report += &all.markdown();
    print(&format!("\n{}", summary.markdown()))?;
    out.write("runs.csv", &csv_of_runs(&tables, &runs).csv())?;
    out.write("report.md", &report)?;
    let limit = args.time.as_secs_f64();
    let picture = gap_plot::draw(&panels(&tables, &runs), limit).map_err(Failure::Bug)?;
    out.write("gap.svg", &picture)?;
    if interrupt.load(Relaxed) {
        return Err(Failure::Interrupted);
    }
    Ok(())
}

const NOTES: &str = "
Gaps are nats below the best score known (the optimum where it is proven); a negative gap is a new
record. Reached: within 0.001 of it, or half of its last known digit. Found after: processor seconds
to the last record.
";

fn run_once(
    args: &TargetsArgs,
    chosen: &ChosenTable,
    number: usize,
    table: &Table,
    seed: u64,
    bar: &ProgressBar,
    interrupt: &AtomicBool,
) -> Result<Run, Failure> {
    let optimum = chosen
        .known
        .as_ref()
        .filter(|known| known.proven && !args.full);
    let settings = SearchSettings {
        seed,
        threads: Some(args.threads),
        memory: args.memory,
        budget: Budget {
            time: (!args.cpu).then_some(args.time),
            // Under --cpu neither the clock nor stagnation ends the run, but the watch.
            stagnation: args.cpu.then_some(Stagnation::Never),
            target: optimum.map(|known| LogScore::new(known.score - known.tolerance)),
            ..Budget::default()
        },
        ..SearchSettings::default()
    };
    machine::reset_peak_memory();
    let cpu_before = machine::cpu_seconds().unwrap_or(0.0);
    let stop = StopHandle::default();
    let mut watch = Watch {
        name: format!("{}, seed {seed}", chosen.name),
        bar,
        interrupt,
        stop: stop.clone(),
        cpu_before,
        cpu_limit: args.cpu.then_some(args.time.as_secs_f64()),
        records: Vec::new(),
    };
    let outcome = Search::with(table, settings)
        .stop_with(&stop)
        .on_progress(|progress| watch.observe(progress))
        .run()
        .map_err(Failure::input)?;
    let stopped_by = match outcome.stopped_by() {
        StoppedBy::Interrupt if !interrupt.load(Relaxed) => "cpu time",
        reason => reason.as_str(),
    };
    Ok(Run {
        table: number,
        seed,
        score: outcome.score(),
        records: watch.records,
        seconds: outcome.elapsed().as_secs_f64(),
        cpu: machine::cpu_seconds().unwrap_or(0.0) - cpu_before,
        evaluations: outcome.evaluations() as f64,
        computed: outcome.computed() as f64,
        peak: machine::peak_memory(),
        stopped_by,
    })
}

/// Collects the records of a run, and ends it on Ctrl-C or when its processor time is up.
struct Watch<'a> {
    name: String,
    bar: &'a ProgressBar,
    interrupt: &'a AtomicBool,
    stop: StopHandle,
    cpu_before: f64,
    cpu_limit: Option<f64>,
    records: Vec<RecordAt>,
}

impl Watch<'_> {
    fn cpu(&self) -> f64 {
        machine::cpu_seconds().unwrap_or(0.0) - self.cpu_before
    }

    fn observe(&mut self, progress: &Progress) {
        let over = self.cpu_limit.is_some_and(|limit| self.cpu() >= limit);
        if over || self.interrupt.load(Relaxed) {
            self.stop.stop();
        }
        let Some(score) = progress.best_score else {
            return;
        };
        self.bar.set_message(format!("{}: {score:.3}", self.name));
        if progress.improved {
            self.records.push(RecordAt {
                seconds: progress.best_at.as_secs_f64(),
                cpu: self.cpu(),
                score,
            });
        }
    }
}

const RUN_HEAD: [&str; 12] = [
    "table",
    "seed",
    "score",
    "gap",
    "found after",
    "cpu s",
    "found at cpu s",
    "evaluations",
    "evaluations/s",
    "counted/s",
    "peak memory",
    "stopped by",
];

/// Lays out one line of the running output.
fn line(cells: &[String; 12]) -> String {
    const WIDTHS: [usize; 12] = [22, 4, 14, 9, 11, 8, 14, 11, 13, 9, 11, 10];
    let padded: Vec<String> = cells
        .iter()
        .zip(WIDTHS)
        .enumerate()
        .map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        })
        .collect();
    padded.join("  ") + "\n"
}

fn run_cells(run: &Run, table: &ChosenTable, gap: Option<f64>) -> [String; 12] {
    let last = run.records.last();
    [
        table.name.clone(),
        run.seed.to_string(),
        format!("{:.3}", run.score),
        gap.map_or("-".to_owned(), nats),
        last.map_or("-".to_owned(), |last| format!("{:.2} s", last.seconds)),
        format!("{:.2}", run.cpu),
        last.map_or("-".to_owned(), |last| format!("{:.2}", last.cpu)),
        show_count(run.evaluations),
        show_count(run.evaluations / run.cpu.max(0.01)),
        show_count(run.computed / run.cpu.max(0.01)),
        run.peak.map_or("-".to_owned(), show_bytes),
        run.stopped_by.to_owned(),
    ]
}

fn grid_of_runs(tables: &[ChosenTable], runs: &[Run]) -> Grid {
    let mut grid = Grid::new(&RUN_HEAD);
    for run in runs {
        let gap = reference(tables, runs, run.table) - run.score;
        grid.row(run_cells(run, &tables[run.table], Some(gap)));
    }
    grid
}

fn csv_of_runs(tables: &[ChosenTable], runs: &[Run]) -> Grid {
    let mut grid = Grid::new(&[
        "table",
        "seed",
        "score",
        "gap",
        "record_seconds",
        "record_cpu_seconds",
        "seconds",
        "cpu_seconds",
        "evaluations",
        "computed",
        "peak_bytes",
        "stopped_by",
    ]);
    for run in runs {
        let last = run.records.last();
        grid.row([
            tables[run.table].name.clone(),
            run.seed.to_string(),
            run.score.to_string(),
            format!("{:.4}", reference(tables, runs, run.table) - run.score),
            last.map_or(String::new(), |last| format!("{:.3}", last.seconds)),
            last.map_or(String::new(), |last| format!("{:.2}", last.cpu)),
            format!("{:.3}", run.seconds),
            format!("{:.2}", run.cpu),
            run.evaluations.to_string(),
            run.computed.to_string(),
            run.peak.map_or(String::new(), |peak| peak.to_string()),
            run.stopped_by.to_owned(),
        ]);
    }
    grid
}

/// Returns the score that gaps of a table are measured from.
fn reference(tables: &[ChosenTable], runs: &[Run], table: usize) -> f64 {
    match &tables[table].known {
        Some(known) => known.score,
        None => of_table(runs, table)
            .map(|run| run.score)
            .fold(f64::NEG_INFINITY, f64::max),
    }
}

fn of_table(runs: &[Run], table: usize) -> impl Iterator<Item = &Run> {
    runs.iter().filter(move |run| run.table == table)
}

fn summary(tables: &[ChosenTable], runs: &[Run]) -> Grid {
    let mut grid = Grid::new(&[
        "table",
        "best known",
        "proven",
        "best gap",
        "median gap",
        "worst gap",
        "reached",
        "found after, median",
        "worst",
        "evaluations/s",
        "peak memory",
    ]);
    for (number, table) in tables.iter().enumerate() {
        let reference = reference(tables, runs, number);
        let mine: Vec<&Run> = of_table(runs, number).collect();
        let Some(median_gap) = median(mine.iter().map(|run| reference - run.score)) else {
            continue;
        };
        let gaps = || mine.iter().map(|run| reference - run.score);
        let tolerance = table.known.as_ref().map_or(0.001, |known| known.tolerance);
        let reached = gaps().filter(|&gap| gap <= tolerance).count();
        let found = || mine.iter().filter_map(|run| Some(run.records.last()?.cpu));
        let rate = median(mine.iter().map(|run| run.evaluations / run.cpu.max(0.01)));
        let peak = mine.iter().filter_map(|run| run.peak).max();
        let seconds = |value: Option<f64>| value.map_or("-".to_owned(), |s| format!("{s:.2} s"));
        grid.row([
            table.name.clone(),
            match &table.known {
                Some(known) => format!("{:.3}", known.score),
                None => format!("{reference:.3} (here)"),
            },
            match &table.known {
                Some(known) if known.proven => "yes",
                _ => "no",
            }
            .to_owned(),
            nats(gaps().fold(f64::INFINITY, f64::min)),
            nats(median_gap),
            nats(gaps().fold(f64::NEG_INFINITY, f64::max)),
            format!("{reached}/{}", mine.len()),
            seconds(median(found())),
            seconds(found().reduce(f64::max)),
            show_count(rate.unwrap_or(0.0)),
            peak.map_or("-".to_owned(), show_bytes),
        ]);
    }
    grid
}

fn panels(tables: &[ChosenTable], runs: &[Run]) -> Vec<Panel> {
    tables
        .iter()
        .enumerate()
        .map(|(number, table)| {
            let reference = reference(tables, runs, number);
            Panel {
                title: table.name.clone(),
                runs: of_table(runs, number)
                    .map(|run| {
                        run.records
                            .iter()
                            .map(|record| {
                                (
                                    record.cpu.max(record.seconds.min(0.01)),
                                    reference - record.score,
                                )
                            })
                            .collect()
                    })
                    .collect(),
            }
        })
        .filter(|panel| !panel.runs.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(table: usize, seed: u64, score: f64) -> Run {
        let record = RecordAt {
            seconds: 1.0,
            cpu: 0.5,
            score,
        };
        Run {
            table,
            seed,
            score,
            records: vec![record],
            seconds: 2.0,
            cpu: 2.0,
            evaluations: 4e6,
            computed: 1e5,
            peak: Some(50 << 20),
            stopped_by: "time",
        }
    }

    #[test]
    fn a_table_without_a_known_best_is_measured_against_its_best_run() {
        let tables = [ChosenTable {
            path: "mine.csv".into(),
            name: "mine".into(),
            known: None,
        }];
        let runs = [run(0, 1, -100.0), run(0, 2, -103.0), run(0, 3, -100.0005)];
        let text = summary(&tables, &runs).csv();
        let row = text.lines().nth(1).unwrap();
        assert_eq!(
            row,
            "mine,-100.000 (here),no,0.000,0.001,3.000,2/3,0.50 s,0.50 s,2.0 M,50.0 MiB"
        );
        assert!(
            csv_of_runs(&tables, &runs)
                .csv()
                .contains("mine,2,-103,3.0000,1.000,0.50,")
        );
    }
}
