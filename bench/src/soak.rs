//! `soak`: a cluster on loopback for a long time; the memory of all processes must be flat
//! after warm-up, and the best score must never go down.

use crate::failure::Failure;
use crate::memory::{MemoryCurve, shown};
use crate::processes::{Process, Program, ProgramArgs, coordinator, words, worker};
use crate::report_table::{Grid, OutFolder, heading};
use crate::terminal::{bar_over, print, remark};
use clap::Args;
use rlbayes::units::{parse_size, parse_time, show_time};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Runs a coordinator and workers for a long time and watches their memory.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SoakArgs {
    /// The table
    #[arg(default_value = "data/link_n1000_s1.csv.gz")]
    data: PathBuf,
    /// How long
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30m")]
    time: Duration,
    /// Workers of one thread each
    #[arg(long, value_name = "N", default_value_t = 4)]
    workers: usize,
    /// Memory of each process; a small one, so that caches are full early
    #[arg(long, value_name = "SIZE", default_value = "128MiB")]
    memory: String,
    /// Memory of each worker, if it is to differ [default: --memory]
    #[arg(long, value_name = "SIZE")]
    worker_memory: Option<String>,
    /// How often a worker reports without a record
    #[arg(long, value_name = "TIME", default_value = "2s")]
    exchange_every: String,
    /// How much more memory a process may hold in the last third of the run than in the middle one
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    growth: f64,
    #[command(flatten)]
    program: ProgramArgs,
    /// Folder for memory.csv and report.md
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
The first third of the run is warm-up: caches and pool fill. After it no process may grow: the
median of its memory in the last third is at most --growth percent above that in the middle third.
No worker may ever hold more than its --memory.

Examples:
  cargo run --release -p rlbayes-bench -- soak                              (30 minutes, 4 workers, link)
  cargo run --release -p rlbayes-bench -- soak --time 2m --out soak";

/// What was seen over time.
#[derive(Default)]
struct Seen {
    at: Vec<f64>,
    best: Vec<f64>,
    exchanges: Vec<u64>,
    /// Of the coordinator, and of each worker.
    memory: Vec<MemoryCurve>,
}

/// Runs the command.
pub(crate) fn run(args: &SoakArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    let program = args.program.program()?;
    let out = OutFolder::new(args.out.as_deref())?;
    let place = tempfile::tempdir().map_err(|error| Failure::input(error.to_string()))?;
    let flags = [
        ("--when-done", "wait".to_owned()),
        ("--time", format!("{}s", args.time.as_secs() + 3600)),
        ("--memory", args.memory.clone()),
        ("--exchange-every", args.exchange_every.clone()),
    ];
    let (coordinator, url) = coordinator(&program, place.path(), &args.data, &flags, None)?;
    let mut processes = vec![coordinator];
    let worker_memory = args.worker_memory.as_ref().unwrap_or(&args.memory);
    let bound = parse_size(worker_memory).map_err(Failure::input)?;
    for number in 0..args.workers {
        let state = place.path().join(format!("worker{number}"));
        let flags = [
            ("--state", state.display().to_string()),
            ("--memory", worker_memory.clone()),
        ];
        processes.push(worker(&program, &url, &flags)?);
    }
    let seen = watch(args, &program, &processes, &url, interrupt)?;
    if interrupt.load(Relaxed) {
        return Err(Failure::Interrupted);
    }
    report(args, &seen, bound, &out)
}

fn watch(
    args: &SoakArgs,
    program: &Program,
    processes: &[Process],
    url: &str,
    interrupt: &AtomicBool,
) -> Result<Seen, Failure> {
    let bar = bar_over(usize::try_from(args.time.as_secs()).unwrap_or(1));
    let begun = Instant::now();
    let every = (args.time / 200).max(Duration::from_secs(1));
    let mut seen = Seen {
        memory: vec![MemoryCurve::default(); processes.len()],
        ..Seen::default()
    };
    while begun.elapsed() < args.time && !interrupt.load(Relaxed) {
        std::thread::sleep(every.min(args.time.saturating_sub(begun.elapsed())));
        bar.set_position(begun.elapsed().as_secs());
        for (process, curve) in processes.iter().zip(&mut seen.memory) {
            if !curve.sample(process.id()) {
                return Err(Failure::input("a process has ended before its time"));
            }
        }
        let status = Process::start(program, &words(&["status", url, "--json"]), None)?;
        let printed = status.wait(|| true)?.unwrap_or_default();
        let status: serde_json::Value = serde_json::from_str(&printed)
            .map_err(|error| Failure::Bug(format!("{error}: {printed}")))?;
        let best = status["best_score"].as_f64().unwrap_or(f64::NEG_INFINITY);
        if let Some(&last) = seen.best.last()
            && best < last
        {
            return Err(Failure::Bug(format!(
                "the best went down: {last} to {best}"
            )));
        }
        bar.set_message(format!("best {best:.3}"));
        seen.at.push(begun.elapsed().as_secs_f64());
        seen.best.push(best);
        seen.exchanges
            .push(status["exchanges"].as_u64().unwrap_or(0));
    }
    bar.finish_and_clear();
    Ok(seen)
}

fn report(args: &SoakArgs, seen: &Seen, bound: usize, out: &OutFolder) -> Result<(), Failure> {
    let (Some(best), Some(exchanges)) = (seen.best.last(), seen.exchanges.last()) else {
        return Err(Failure::input("the run was too short to tell anything"));
    };
    let names: Vec<String> = std::iter::once("coordinator".to_owned())
        .chain((1..=args.workers).map(|worker| format!("worker {worker}")))
        .collect();
    let mut grid = Grid::new(&[
        "process",
        "median of the middle third",
        "of the last third",
        "growth",
        "at most",
    ]);
    let (mut grown, mut beyond) = (None, None);
    for (name, curve) in names.iter().zip(&seen.memory) {
        let ((middle, last), growth) = (curve.thirds(), curve.growth());
        if growth > args.growth {
            grown.get_or_insert(name);
        }
        let is_worker = name.starts_with("worker");
        if is_worker && curve.most() > bound as u64 {
            beyond.get_or_insert((name, curve.most()));
        }
        grid.row([
            name.clone(),
            shown(middle),
            shown(last),
            format!("{growth:+.1} %"),
            shown(curve.most()),
        ]);
    }
    let text = format!(
        "{}\nbest {best:.3} after {}, {exchanges} exchanges\n",
        grid.markdown(),
        show_time(args.time),
    );
    print(&text)?;
    out.write(
        "report.md",
        &(heading("Memory of a cluster over time") + &text),
    )?;
    let head = ["seconds", "best", "exchanges"].into_iter();
    let head: Vec<&str> = head.chain(names.iter().map(String::as_str)).collect();
    let mut csv = Grid::new(&head);
    for at in 0..seen.at.len() {
        let memory = seen
            .memory
            .iter()
            .map(|curve| curve.samples()[at].to_string());
        let first = [
            format!("{:.1}", seen.at[at]),
            seen.best[at].to_string(),
            seen.exchanges[at].to_string(),
        ];
        csv.row(first.into_iter().chain(memory));
    }
    out.write("memory.csv", &csv.csv())?;
    if let Some((name, most)) = beyond {
        let (most, bound) = (shown(most), shown(bound as u64));
        return Err(Failure::Bug(format!(
            "{name} held {most}, more than its --memory of {bound}"
        )));
    }
    match grown {
        Some(name) => Err(Failure::Bug(format!(
            "{name} grew by more than {} percent between the middle and the last third",
            args.growth
        ))),
        None => {
            remark(
                "memory is flat after warm-up, workers kept within their --memory, and the best never \
                 went down",
            );
            Ok(())
        }
    }
}
