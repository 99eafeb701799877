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

/// Compares one thread with two, in turns, by the clock on the wall and by processor time.
pub(super) fn speed_up(setup: &Setup) -> Result<String, Failure> {
    let table = draw(setup)?;
    let mut best = [(f64::INFINITY, f64::INFINITY); 2];
    for _ in 0..3 {
        for (at, threads) in [1, 2].into_iter().enumerate() {
            let (wall, cpu) = (Instant::now(), machine::cpu_seconds().unwrap_or(0.0));
            let bootstrap = Bootstrap::with(&table, settings(setup, threads));
            bootstrap.run().map_err(Failure::input)?;
            let cpu = machine::cpu_seconds().unwrap_or(0.0) - cpu;
            best[at].0 = best[at].0.min(wall.elapsed().as_secs_f64());
            best[at].1 = best[at].1.min(cpu);
        }
    }
    let [(one, one_cpu), (two, two_cpu)] = best;
    Ok(format!(
        "\nTwo threads against one, {} with {} replicates, best of three in turns: {:.2} times the replicates \
         per second ({one:.2} and {two:.2} s), with {:.2} times the processor time ({one_cpu:.2} and {two_cpu:.2} s)\n",
        setup.network,
        setup.replicates,
        one / two,
        two_cpu / one_cpu
    ))
}
