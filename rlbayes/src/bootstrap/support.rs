//! What a bootstrap has found: how many replicates have each edge.

use super::replicate::Replicate;
use super::request::BootstrapRequest;
use crate::network::Network;
use crate::progress::StopHandle;
use rlbayes_common::graph::{Cpdag, Dag};
use rlbayes_common::support::{Alternative, PairSupport, SupportTable, alternatives};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The support of every edge: the share of resampled tables whose best network has it.
#[derive(Clone, Debug)]
pub struct Support {
    request: BootstrapRequest,
    replicates: BTreeMap<u32, Arc<Replicate>>,
    classes: Vec<Cpdag>,
    table: SupportTable,
}

impl Support {
    /// Counts replicates; `best` is the network on the full table, to be marked.
    #[doc(hidden)]
    #[must_use]
    pub fn new(
        request: &BootstrapRequest,
        replicates: BTreeMap<u32, Arc<Replicate>>,
        best: Option<Dag>,
    ) -> Self {
        // The structures of replicates are acyclic: made by searches, or checked when they were read.
        let dags = replicates
            .values()
            .filter_map(|it| it.structure.to_dag().ok());
        let classes: Vec<Cpdag> = dags.map(|dag| request.class_of(&dag)).collect();
        let names = request.table().data().schema().names();
        let table = SupportTable::of(names.map(str::to_owned).collect(), &classes)
            .with_best(best)
            .with_required(request.required());
        Self {
            request: request.clone(),
            replicates,
            classes,
            table,
        }
    }

    /// Returns how many replicates it is based on: all, or those that were done when it was stopped.
    #[must_use]
    pub fn replicates(&self) -> u32 {
        self.table.tally().networks()
    }

    /// Returns how many replicates had too few evaluations for their first climb, and were given
    /// more.
    #[must_use]
    pub fn replicates_unfinished(&self) -> usize {
        self.replicates.values().filter(|it| !it.finished).count()
    }

    /// Returns the share of replicates with an edge between two variables, whichever way it points;
    /// none if there is no such variable.
    #[must_use]
    pub fn strength(&self, a: &str, b: &str) -> Option<f64> {
        Some(self.pair(a, b)?.strength())
    }

    /// Returns everything about two variables, seen from the first.
    #[must_use]
    pub fn pair(&self, from: &str, to: &str) -> Option<PairSupport> {
        let schema = self.request.table().data().schema();
        Some(self.table.pair(schema.find(from)?, schema.find(to)?))
    }

    /// Returns the support of all pairs.
    #[must_use]
    pub fn table(&self) -> &SupportTable {
        &self.table
    }

    /// Returns edges of which nearly every replicate has exactly one: equal alternatives, each near
    /// 0.5.
    #[must_use]
    pub fn alternatives(&self) -> Vec<Alternative> {
        alternatives(self.table.pairs(), &self.classes)
    }

    /// Returns the equivalence class of each replicate's network.
    #[doc(hidden)]
    #[must_use]
    pub fn classes(&self) -> &[Cpdag] {
        &self.classes
    }

    /// Returns how many different equivalence classes the replicates have.
    #[must_use]
    pub fn distinct_classes(&self) -> usize {
        let edges = |class: &Cpdag| (class.directed().clone(), class.undirected().clone());
        let distinct: BTreeSet<_> = self.classes.iter().map(edges).collect();
        distinct.len()
    }

    /// Returns the networks of the replicates with their numbers and scores.
    #[must_use]
    pub fn networks(&self) -> Vec<(u32, f64, Network)> {
        let table = self.request.table();
        let networks = self.replicates.iter().filter_map(|(&number, found)| {
            let dag = found.structure.to_dag().ok()?;
            Some((number, found.score.value(), Network::of(table, dag)))
        });
        networks.collect()
    }

    /// Searches the full table for the best network among the pairs at or above the threshold, and
    /// required edges: a network for inference. It takes as long as about ten replicates; where these
    /// were cut short, as long as one. None if it was stopped.
    #[must_use]
    pub fn relearn(&self, stop: &StopHandle) -> Option<Network> {
        let threshold = self.request.threshold();
        let keeps = |from, to| self.table.pair(from, to).strength() >= threshold;
        let budget = match self.replicates() < self.request.replicates() {
            true => self.request.replicate_budget(),
            false => self.request.full_table_budget(),
        };
        let dag = self.request.relearn(keeps, budget, stop)?;
        Some(Network::of(self.request.table(), dag))
    }

    /// Returns the bootstrap that this is the result of.
    #[must_use]
    pub fn request(&self) -> &BootstrapRequest {
        &self.request
    }
}
