//! Replicates follow a search while workers are lost, the network fails and the coordinator crashes:
//! at the end they are those that one machine finds, and none that was acknowledged was ever lost.

use crate::run::Cluster;
use crate::search::{Ends, Search};
use crate::{setting, table_of};
use rlbayes::identity::search_id;
use rlbayes::{BootstrapRequest, BootstrapSettings, Replicate, SearchSettings, StopHandle, Table};
use rlbayes_common::exchange::{Pace, ReplicateDescription, SearchDescription};
use rlbayes_common::ids::Seed;
use rlbayes_coordinator::replicate_work::ReplicateWork;
use std::collections::BTreeMap;
use std::sync::Arc;

/// So few workers and so many replicates that the trouble does not outlast them.
const WORKERS: usize = 8;
const REPLICATES: u32 = 60;
const EVALUATIONS: u64 = 2_000;
const CHAINS: u32 = 2;

impl Search {
    /// Makes it a short one, with replicates that follow.
    fn followed_by_replicates(mut self) -> Self {
        let whole = self.plan.budget.evaluations;
        self.plan.budget.evaluations = whole.map(|evaluations| evaluations / 8);
        self.plan.replicates = REPLICATES;
        self.settings = vec![("plan".to_owned(), format!("{:?}", self.plan))];
        self.description.id = search_id(&self.settings);
        let settings = BootstrapSettings {
            replicates: REPLICATES,
            evaluations: Some(EVALUATIONS),
            search: SearchSettings {
                seed: self.plan.seed.0,
                chains: Some(CHAINS),
                threads: Some(1),
                memory: Some(64 << 20),
                ..SearchSettings::default()
            },
            ..BootstrapSettings::default()
        };
        let table = Table::from_data("simulated", Arc::clone(self.table()));
        let request = BootstrapRequest::new(&table, &settings).unwrap();
        let description = SearchDescription {
            id: search_id(&[("work".to_owned(), "replicates".to_owned())]),
            ladder: CHAINS,
            pace: Pace::Free,
            round_evaluations: 20_000,
            replicates: Some(ReplicateDescription {
                resampling: request.resampling(),
                evaluations: request.evaluations(),
            }),
            ..self.description.clone()
        };
        self.replicates = Some(ReplicateWork {
            description,
            request: Arc::new(request),
        });
        self
    }

    /// What one machine finds.
    fn replicates_of_one_machine(&self) -> BTreeMap<u32, Replicate> {
        let request = &self.replicates.as_ref().unwrap().request;
        let never = StopHandle::default();
        (0..REPLICATES)
            .map(|number| (number, request.replicate(number, &never).unwrap()))
            .collect()
    }
}

#[test]
fn replicates_of_seeds_with_faults_are_those_of_one_machine() {
    let first = setting("RLBAYES_SIM_FIRST", 0);
    let seeds = setting("RLBAYES_SIM_SEEDS", 20).div_ceil(5);
    let mut known: BTreeMap<u64, BTreeMap<u32, Replicate>> = BTreeMap::new();
    for seed in first..first + seeds {
        let table = table_of(seed);
        let search = Search::new(Ends::LockstepByEvaluations, Seed(table));
        let search = search.followed_by_replicates();
        let expected = known
            .entry(table)
            .or_insert_with(|| search.replicates_of_one_machine());
        let cluster = Cluster {
            seed: Seed(seed),
            workers: WORKERS,
            faults: true,
            greed: None,
        };
        let begun = std::time::Instant::now();
        let run = cluster.run(&search);
        println!("seed {seed}: {run} in {:.2?}", begun.elapsed());
        assert_eq!(run.broken, [""; 0], "seed {seed}");
        let found = run.outcome.replicates.iter();
        let found: BTreeMap<u32, Replicate> = found.map(|(&at, it)| (at, (**it).clone())).collect();
        assert!(found == *expected, "seed {seed}: other replicates");
    }
}
