//! The cluster in simulated time on a simulated network: the real event loop, service, server,
//! session and gRPC link, with crashes, cuts, holds, delays and a failing disk, all drawn from a
//! seed. The same seed gives the same run.
//!
//! `RLBAYES_SIM_SEEDS` says how many seeds are run, `RLBAYES_SIM_FIRST` the first of them,
//! `RLBAYES_SIM_WORKERS` how many workers there are:
//!
//! ```text
//! RLBAYES_SIM_SEEDS=200 cargo test -p rlbayes-tests --test simulation seeds
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot continue has failed"
)]

mod cluster;
mod disk;
mod faults;
mod greedy;
mod greedy_laws;
mod laws;
mod replicates;
mod run;
mod search;
mod simulated_chains;
mod simulated_replicates;

use rlbayes_common::ids::Seed;
use run::{Cluster, Run};
use search::{Ends, Search};
use std::collections::BTreeMap;

/// How many tables there are.
const TABLES: u64 = 2;

fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

fn ends_of(seed: u64) -> Ends {
    Ends::ALL[usize::try_from(seed).unwrap() % Ends::ALL.len()]
}

fn table_of(seed: u64) -> u64 {
    seed / Ends::ALL.len() as u64 % TABLES
}

fn search_of(seed: u64) -> Search {
    Search::new(ends_of(seed), Seed(table_of(seed)))
}

fn cluster(seed: u64, workers: u64) -> Cluster {
    Cluster {
        seed: Seed(seed),
        workers: usize::try_from(workers).unwrap(),
        faults: true,
        greed: None,
    }
}

/// What a lockstep search finds with three workers where nothing goes wrong.
fn undisturbed(search: &Search) -> Run {
    let calm = Cluster {
        seed: Seed(0),
        workers: 3,
        faults: false,
        greed: None,
    };
    calm.run(search)
}

#[test]
fn seeds_with_faults_keep_the_laws_and_reach_the_right_result() {
    let first = setting("RLBAYES_SIM_FIRST", 0);
    let seeds = setting("RLBAYES_SIM_SEEDS", 20);
    let workers = setting("RLBAYES_SIM_WORKERS", 30);
    let mut calm: BTreeMap<(Ends, u64), Run> = BTreeMap::new();
    for seed in first..first + seeds {
        let search = search_of(seed);
        let begun = std::time::Instant::now();
        let run = cluster(seed, workers).run(&search);
        let took = begun.elapsed();
        println!("seed {seed}: {:?} {run} in {took:.2?}", search.ends);
        assert_eq!(run.broken, [""; 0], "seed {seed}");
        let best = run.outcome.best();
        if search.ends.finds_the_best() {
            assert!(best >= Some(search.optimum()), "seed {seed}: {best:?}");
        }
        if search.ends.is_counted() {
            let calm = calm
                .entry((search.ends, table_of(seed)))
                .or_insert_with(|| undisturbed(&search));
            assert_eq!(run.outcome.difference(&calm.outcome), None, "seed {seed}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let seed = setting("RLBAYES_SIM_FIRST", 0);
    for seed in seed..seed + Ends::ALL.len() as u64 {
        let search = search_of(seed);
        let runs = [0, 1].map(|_| cluster(seed, 12).run(&search));
        let [one, other] = &runs;
        let mut both = one.trace.iter().zip(&other.trace);
        if let Some(at) = both.position(|(one, other)| one != other) {
            let around = |run: &Run| {
                let shown = run.trace.iter().skip(at.saturating_sub(2)).take(4);
                shown.fold(String::new(), |text, event| text + event + "\n")
            };
            panic!(
                "seed {seed}, event {at}:\n{}and\n{}",
                around(one),
                around(other)
            );
        }
        assert_eq!(one.trace.len(), other.trace.len(), "seed {seed}");
        assert_eq!(one.outcome, other.outcome, "seed {seed}");
    }
}
