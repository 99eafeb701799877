//! One table: drawn, searched, resampled, and compared with the network that it came from.

use super::measures::{Judged, Measures, judge};
use crate::failure::Failure;
use crate::tiles::read_pattern;
use rlbayes::{
    Bootstrap, BootstrapSettings, LoadOptions, Network, Search, SearchSettings, StopHandle,
    Support, Table, machine,
};
use rlbayes_common::data::{sample, write_csv};
use rlbayes_common::ids::Seed;
use std::path::PathBuf;
use std::time::Instant;

/// A table and how often it is resampled.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) path: PathBuf,
    pub(super) network: String,
    pub(super) rows: usize,
    /// The seed that the table is drawn with.
    pub(super) seed: u64,
    /// The seed of its bootstrap.
    pub(super) bootstrap_seed: u64,
    pub(super) replicates: u32,
}

/// What came of it.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) setup: Setup,
    pub(super) measures: Measures,
    pub(super) pairs: Vec<Judged>,
    pub(super) support: Support,
    pub(super) unfinished: usize,
    /// Processor seconds of all replicates.
    pub(super) seconds: f64,
}

/// Measures a table on one thread.
pub(super) fn run_trial(setup: &Setup, stop: &StopHandle) -> Result<Trial, Failure> {
    let table = draw(setup)?;
    let truth = Network::read(&setup.path).map_err(Failure::input)?;
    let truth = truth.placed_on(&table).map_err(Failure::input)?;
    let settings = settings(setup, 1);
    let bootstrap = Bootstrap::with(&table, settings).stop_with(stop);
    let request = bootstrap.request().map_err(Failure::input)?;
    let full = SearchSettings {
        budget: request.full_table_budget(),
        threads: Some(1),
        round_evaluations: 20_000,
        ..SearchSettings::default()
    };
    let best = Search::with(&table, full).run().map_err(Failure::input)?;
    let begun = machine::cpu_seconds().unwrap_or(0.0);
    let support = bootstrap.run().map_err(Failure::input)?;
    let seconds = machine::cpu_seconds().unwrap_or(0.0) - begun;
    let pairs = judge(support.table(), &truth);
    let best = best.structure().placed_on(&table).map_err(Failure::input)?;
    Ok(Trial {
        setup: setup.clone(),
        measures: Measures::of(&pairs, support.table(), &truth, &best),
        unfinished: support.replicates_unfinished(),
        pairs,
        support,
        seconds,
    })
}

/// Draws the table as `rlbayes sample` writes it: states that do not occur are not known.
fn draw(setup: &Setup) -> Result<Table, Failure> {
    let network = read_pattern(&setup.path)?;
    let drawn = sample(&network, setup.rows, Seed(setup.seed)).map_err(Failure::input)?;
    let mut text = Vec::new();
    write_csv(&drawn, &mut text).map_err(Failure::input)?;
    Table::parse(&setup.network, text.as_slice(), &LoadOptions::default()).map_err(Failure::input)
}

fn settings(setup: &Setup, threads: u32) -> BootstrapSettings {
    BootstrapSettings {
        search: SearchSettings {
            threads: Some(threads),
            seed: setup.bootstrap_seed,
            ..SearchSettings::default()
        },
        replicates: setup.replicates,
        ..BootstrapSettings::default()
    }
}

/// Compares one thread with two, in turns: by the clock on the wall, by the processor time of both
/// threads, and by that of the busier one, which is what an idle machine would need.
pub(super) fn speed_up(setup: &Setup) -> Result<String, Failure> {
    let table = draw(setup)?;
    let mut best = [[f64::INFINITY; 3]; 2];
    for _ in 0..3 {
        for (best, threads) in best.iter_mut().zip([1, 2]) {
            let (wall, cpu) = (Instant::now(), machine::cpu_seconds().unwrap_or(0.0));
            let mut busiest = 0f64;
            let bootstrap = Bootstrap::with(&table, settings(setup, threads));
            let bootstrap = bootstrap.on_progress(|_| busiest = busiest.max(busiest_thread()));
            bootstrap.run().map_err(Failure::input)?;
            let cpu = machine::cpu_seconds().unwrap_or(0.0) - cpu;
            for (best, new) in best
                .iter_mut()
                .zip([wall.elapsed().as_secs_f64(), cpu, busiest])
            {
                *best = best.min(new);
            }
        }
    }
    let [one, two] = best;
    Ok(format!(
        "\nTwo threads against one, {} with {} replicates, best of three in turns: {:.2} times the replicates \
         per second ({:.2} and {:.2} s by the clock); processor time {:.2} and {:.2} s, of the busiest thread {:.2} \
         and {:.2} s: {:.2} times the replicates per second on an idle machine\n",
        setup.network,
        setup.replicates,
        one[0] / two[0],
        one[0],
        two[0],
        one[1],
        two[1],
        one[2],
        two[2],
        one[2] / two[2]
    ))
}

/// Returns the processor seconds of the busiest thread that runs replicates now.
fn busiest_thread() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let seconds = tasks.filter_map(|task| {
        let read = |file: &str| std::fs::read_to_string(task.path().join(file)).ok();
        let runs_replicates = read("comm")?.starts_with("replicate-");
        let nanoseconds: f64 = read("schedstat")?.split_whitespace().next()?.parse().ok()?;
        runs_replicates.then_some(nanoseconds / 1e9)
    });
    seconds.fold(0.0, f64::max)
}
