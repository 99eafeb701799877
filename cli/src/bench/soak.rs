//! `bench soak`: a cluster on loopback for a long time; the memory of all processes must be flat
//! after warm-up, and the best score must never go down.

use super::processes::{Process, address, resident, words};
use super::written::{Grid, OutFolder, heading};
use crate::failure::Failure;
use crate::terminal::{Say, print};
use crate::units::{parse_time, show_bytes, show_time};
use clap::Args;
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
    /// Memory of each worker
    #[arg(long, value_name = "SIZE", default_value = "192MiB")]
    memory: String,
    /// How much more memory a process may hold in the end than in the middle of the run
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0)]
    growth: f64,
    /// Folder for memory.csv and report.md
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
The first half of the run is warm-up; after it no process may grow by more than --growth percent.

Examples:
  rlbayes bench soak                              (30 minutes, 4 workers, link)
  rlbayes bench soak --time 2m --out soak";

/// What was seen at one time.
struct Sample {
    at: f64,
    memory: Vec<u64>,
    best: f64,
}

/// Runs the command.
pub(crate) fn run(args: &SoakArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    let out = OutFolder::new(args.out.as_deref())?;
    let place = tempfile::tempdir().map_err(|error| Failure::input(error.to_string()))?;
    let path = |name: &str| place.path().join(name).display().to_string();
    let mut coordinator = words(&[
        "coordinator",
        "--listen",
        "127.0.0.1:0",
        "--when-done",
        "wait",
    ]);
    for (flag, value) in [
        ("--data", args.data.display().to_string()),
        ("--state", path("state")),
        ("--out", path("out")),
        ("--address-file", path("address")),
        ("--time", format!("{}s", args.time.as_secs() + 3600)),
    ] {
        coordinator.push(format!("{flag}={value}"));
    }
    let coordinator = Process::start(&coordinator, None)?;
    let url = address(&place.path().join("address"))?;
    let mut processes = vec![coordinator];
    for number in 0..args.workers {
        let state = format!("--state={}", path(&format!("worker{number}")));
        let memory = format!("--memory={}", args.memory);
        let worker = [
            "worker",
            "--threads",
            "1",
            &state,
            &memory,
            "--coordinator",
            &url,
        ];
        processes.push(Process::start(&words(&worker), None)?);
    }
    let samples = watch(args, &processes, &url, interrupt)?;
    if interrupt.load(Relaxed) {
        return Err(Failure::Interrupted);
    }
    report(args, &samples, &out)
}

fn watch(
    args: &SoakArgs,
    processes: &[Process],
    url: &str,
    interrupt: &AtomicBool,
) -> Result<Vec<Sample>, Failure> {
    let bar = crate::progress::bar_over(usize::try_from(args.time.as_secs()).unwrap_or(1), true);
    let begun = Instant::now();
    let every = (args.time / 200).max(Duration::from_secs(1));
    let mut samples: Vec<Sample> = Vec::new();
    while begun.elapsed() < args.time && !interrupt.load(Relaxed) {
        std::thread::sleep(every.min(args.time.saturating_sub(begun.elapsed())));
        bar.set_position(begun.elapsed().as_secs());
        let memory: Vec<u64> = processes
            .iter()
            .map(|process| resident(process.id()))
            .collect();
        if memory.contains(&0) {
            return Err(Failure::input("a process has ended before its time"));
        }
        let status = Process::start(&words(&["status", url, "--json"]), None)?;
        let printed = status.wait(|| true)?.unwrap_or_default();
        let best = serde_json::from_str::<serde_json::Value>(&printed)
            .ok()
            .and_then(|json| json["best_score"].as_f64())
            .unwrap_or(f64::NEG_INFINITY);
        if let Some(last) = samples.last()
            && best < last.best
        {
            return Err(Failure::Bug(format!(
                "the best went down: {} to {best}",
                last.best
            )));
        }
        bar.set_message(format!("best {best:.3}, {}", shown(&memory)));
        samples.push(Sample {
            at: begun.elapsed().as_secs_f64(),
            memory,
            best,
        });
    }
    bar.finish_and_clear();
    Ok(samples)
}

fn report(args: &SoakArgs, samples: &[Sample], out: &OutFolder) -> Result<(), Failure> {
    let half = samples.len() / 2;
    let mut grid = Grid::new(&[
        "process",
        "in the middle",
        "at most after it",
        "in the end",
        "growth",
    ]);
    let mut grown = None;
    let (Some(middle), Some(last)) = (samples.get(half), samples.last()) else {
        return Err(Failure::input("the run was too short to tell anything"));
    };
    for process in 0..=args.workers {
        let name = match process {
            0 => "coordinator".to_owned(),
            worker => format!("worker {worker}"),
        };
        // The middle is what was held at most in the quarter before it: allocators breathe.
        let quarter = &samples[half / 2..=half];
        let base = quarter.iter().map(|sample| sample.memory[process]).max();
        let base = base.unwrap_or(middle.memory[process]).max(1);
        let most = samples[half..]
            .iter()
            .map(|sample| sample.memory[process])
            .max();
        let most = most.unwrap_or(0);
        #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
        let growth = 100.0 * (most as f64 / base as f64 - 1.0);
        // A few hundred KiB are noise whatever the share.
        if growth > args.growth && most > base + (1 << 20) {
            grown = Some(name.clone());
        }
        grid.row([
            name,
            bytes(base),
            bytes(most),
            bytes(last.memory[process]),
            format!("{growth:+.1} %"),
        ]);
    }
    let text = format!(
        "{}\nbest {:.3} after {}\n",
        grid.markdown(),
        last.best,
        show_time(args.time)
    );
    print(&text)?;
    out.write(
        "report.md",
        &(heading("Memory of a cluster over time") + &text),
    )?;
    let mut head = vec![
        "seconds".to_owned(),
        "best".to_owned(),
        "coordinator".to_owned(),
    ];
    head.extend((1..=args.workers).map(|worker| format!("worker_{worker}")));
    let mut csv = Grid::new(&head.iter().map(String::as_str).collect::<Vec<_>>());
    for sample in samples {
        let figures = sample.memory.iter().map(u64::to_string);
        csv.row(
            [format!("{:.1}", sample.at), sample.best.to_string()]
                .into_iter()
                .chain(figures),
        );
    }
    out.write("memory.csv", &csv.csv())?;
    match grown {
        Some(name) => Err(Failure::Bug(format!(
            "{name} grew by more than {} percent after warm-up",
            args.growth
        ))),
        None => {
            Say::new(false).line("memory is flat after warm-up; the best never went down");
            Ok(())
        }
    }
}

fn bytes(bytes: u64) -> String {
    show_bytes(usize::try_from(bytes).unwrap_or(usize::MAX))
}

fn shown(memory: &[u64]) -> String {
    memory
        .iter()
        .map(|&held| bytes(held))
        .collect::<Vec<_>>()
        .join(", ")
}
