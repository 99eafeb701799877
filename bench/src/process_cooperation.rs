//! `cooperation --processes`: what workers gain from each other across processes. Chains run
//! in lockstep with short rounds, so that episodes are counted the same on any number of cores.

use crate::failure::Failure;
use crate::processes::{Program, coordinator, worker};
use crate::reference_scores::ChosenTable;
use crate::report_table::Grid;
use crate::statistics::median;
use indicatif::ProgressBar;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What is run.
pub(crate) struct Plan {
    /// What runs as coordinator and as workers.
    pub(crate) program: Program,
    /// Workers of one chain each.
    pub(crate) workers: u32,
    /// Seeds 1, 2, 3, …
    pub(crate) seeds: u64,
    /// Episodes of each chain at most.
    pub(crate) limit: u64,
    /// The score to reach.
    pub(crate) target: f64,
}

/// Evaluations of a chain between two exchanges: some fifty episodes.
const ROUND: &str = "10000";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    One,
    Together,
    Alone,
}

/// Runs a table and returns a row of results for each kind of run, and what they come to.
pub(crate) fn measure(
    chosen: &ChosenTable,
    plan: &Plan,
    bar: &ProgressBar,
    interrupt: &AtomicBool,
) -> Result<String, Failure> {
    let mut grid = Grid::new(&[
        "table",
        "workers",
        "reached",
        "median episodes of a chain",
        "ratio",
    ]);
    let mut medians = Vec::new();
    for kind in [Kind::One, Kind::Together, Kind::Alone] {
        let mut episodes = Vec::new();
        for seed in 1..=plan.seeds {
            if interrupt.load(Relaxed) {
                return Err(Failure::Interrupted);
            }
            episodes.push(run_once(chosen, plan, kind, seed, interrupt)?);
            bar.inc(1);
        }
        let reached = episodes
            .iter()
            .filter(|episodes| episodes.is_finite())
            .count();
        let middle = median(episodes.iter().copied()).unwrap_or(f64::INFINITY);
        medians.push(middle);
        let name = match kind {
            Kind::One => "1".to_owned(),
            Kind::Together => format!("{} that exchange", plan.workers),
            Kind::Alone => format!("{} that do not", plan.workers),
        };
        let shown = |number: f64| {
            if number.is_finite() {
                format!("{number:.0}")
            } else {
                format!("> {}", plan.limit)
            }
        };
        let ratio = Some(middle / medians[0]).filter(|ratio| ratio.is_finite());
        grid.row([
            chosen.name.clone(),
            name,
            format!("{reached}/{}", episodes.len()),
            shown(middle),
            ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
        ]);
    }
    let pays = medians[1] < medians[0] && medians[1] < medians[2];
    let verdict = match pays {
        true => {
            "Workers that exchange reach it in fewer episodes than one alone and than those that do not."
        }
        false => "Workers that exchange do NOT reach it in fewer episodes than both others.",
    };
    Ok(format!("{}\n{verdict}\n", grid.markdown()))
}

fn run_once(
    chosen: &ChosenTable,
    plan: &Plan,
    kind: Kind,
    seed: u64,
    interrupt: &AtomicBool,
) -> Result<f64, Failure> {
    let workers = if kind == Kind::One { 1 } else { plan.workers };
    let place = tempfile::tempdir().map_err(|error| Failure::input(error.to_string()))?;
    let mut flags = vec![
        ("--when-done", "exit".to_owned()),
        ("--deterministic", String::new()),
        ("--round-evaluations", ROUND.to_owned()),
        ("--memory", "1GiB".to_owned()),
        ("--chains", workers.to_string()),
        ("--seed", seed.to_string()),
        ("--target", plan.target.to_string()),
        (
            "--iterations",
            (plan.limit * u64::from(workers)).to_string(),
        ),
    ];
    if kind == Kind::Alone {
        flags.push(("--no-cooperation", String::new()));
    }
    let (coordinator, url) = coordinator(&plan.program, place.path(), &chosen.path, &flags, None)?;
    let mut running = Vec::new();
    for _ in 0..workers {
        let memory = [("--memory", "512MiB".to_owned())];
        running.push(worker(&plan.program, &url, &memory)?);
    }
    coordinator.wait(|| !interrupt.load(Relaxed))?;
    for worker in running {
        worker.wait(|| !interrupt.load(Relaxed))?;
    }
    if interrupt.load(Relaxed) {
        return Err(Failure::Interrupted);
    }
    let files = std::fs::read_dir(place.path().join("out"))
        .into_iter()
        .flatten()
        .flatten();
    let json = files
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|ending| ending == "json"))
        .and_then(|path| std::fs::read_to_string(path).ok())
        .and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok())
        .ok_or_else(|| Failure::input("the coordinator left no result"))?;
    let is_reached = json["stopped_by"] == "target";
    let episodes = json["iterations"].as_f64().unwrap_or(f64::INFINITY) / f64::from(workers);
    Ok(if is_reached { episodes } else { f64::INFINITY })
}
