//! What a search has found.

use crate::coordination::{State, View};
use crate::found::{Found, FoundEdge};
use crate::network::{Fit, Network, NetworkUseError};
use crate::proof::{Proof, gap_below};
use crate::request::SearchRequest;
use rlbayes_common::elite::EliteRow;
use rlbayes_common::graph::Dag;
use rlbayes_common::search::{Problem, StoppedBy};
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

/// The result of a search: the best network, its score, and how it was found.
#[derive(Clone, Debug)]
pub struct Outcome {
    request: SearchRequest,
    found: Found,
    pool: Vec<EliteRow>,
    stopped_by: StoppedBy,
    ended_before: bool,
    view: View,
    proof: Option<Arc<Proof>>,
}

/// A new best on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracePoint {
    /// Time spent searching.
    pub time: Duration,
    /// Local scores that had been asked for, cached or not.
    pub evaluations: u64,
    /// The score.
    pub score: f64,
}

impl Outcome {
    pub(crate) fn new(
        request: &SearchRequest,
        problem: &Arc<Problem>,
        state: State,
        ended_before: bool,
    ) -> Self {
        let best = state.best().and_then(|row| Found::new(problem, row).ok());
        let found = best.unwrap_or_else(|| {
            let score = request.start_row(problem).score;
            Found::of(problem, problem.start(), score)
        });
        let mut pool: Vec<EliteRow> = state.pool().rows().into_iter().cloned().collect();
        pool.sort_by_key(|row| Reverse(row.score));
        Self {
            request: request.clone(),
            found,
            pool,
            stopped_by: state.stopped_by().unwrap_or(StoppedBy::Stop),
            ended_before,
            view: state.view(Duration::ZERO, None),
            proof: None,
        }
    }

    pub(crate) fn with_proof(self, proof: Option<Proof>) -> Self {
        Self {
            proof: proof.map(Arc::new),
            ..self
        }
    }

    /// Returns whether it is proven that no network scores higher, by more than a millionth of a nat.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.gap().is_some_and(|gap| gap <= 0.0)
    }

    /// Returns how much higher a network could score at most, in nats, if that was shown for all
    /// networks.
    #[must_use]
    pub fn gap(&self) -> Option<f64> {
        match self.proof() {
            Some(proof) if proof.covers_all() => gap_below(proof.bound(), self.score()),
            Some(_) => None,
            // A search that had ended before, by a proof that is not kept.
            None => (self.stopped_by == StoppedBy::Proven).then_some(0.0),
        }
    }

    /// Returns what the prover has shown, where one ran.
    #[must_use]
    pub fn proof(&self) -> Option<&Proof> {
        self.proof.as_deref()
    }

    pub(crate) fn dag(&self) -> &Dag {
        &self.found.dag
    }

    /// Takes over a proof that was made after the search.
    pub(crate) fn proven_by(mut self, proof: Proof, stopped_by: StoppedBy) -> Self {
        if let Some(row) = proof.better_row() {
            self.found = Found::of(&self.request.problem(), proof.dag(), row.score);
            self.view.best = Some(row);
        }
        self.stopped_by = stopped_by;
        self.view.stopped_by = Some(stopped_by);
        self.view.elapsed += proof.elapsed();
        self.with_proof(Some(proof))
    }

    /// Returns the score of the best network.
    #[must_use]
    pub fn score(&self) -> f64 {
        self.found.best.score.value()
    }

    /// Returns the edges (from, to) of the best network, ordered by child, then parent. Of its
    /// equivalence class it is the canonical member: the same class gives the same edges, whatever
    /// the threads and the seed.
    #[must_use]
    pub fn edges(&self) -> Vec<(&str, &str)> {
        let edges = self.found_edges();
        edges.iter().map(|edge| (edge.from, edge.to)).collect()
    }

    /// Returns the edges of the best network in the same order, each with what it is worth and with
    /// whether its direction is compelled.
    #[must_use]
    pub fn found_edges(&self) -> Vec<FoundEdge<'_>> {
        let schema = self.request.table().data().schema();
        let name = |node| schema.variable(node).name();
        let edges = self.found.dag.edges().zip(&self.found.gains);
        edges
            .map(|((from, to), &gain)| FoundEdge {
                from: name(from),
                to: name(to),
                is_compelled: self.found.is_compelled(from, to),
                gain,
            })
            .collect()
    }

    /// Returns the best network with probabilities counted from the table.
    ///
    /// # Errors
    /// If a node has so many parents that its table of probabilities would be too large.
    pub fn network(&self, how: Fit) -> Result<Network, NetworkUseError> {
        self.structure().fit(self.request.table(), how)
    }

    /// Returns the best network without probabilities.
    #[must_use]
    pub fn structure(&self) -> Network {
        Network::of(self.request.table(), self.found.dag.clone())
    }

    /// Returns the networks of the elite pool with their scores, best first: what the chains of the
    /// search found besides, each as the canonical member of its class.
    #[must_use]
    pub fn pool(&self) -> Vec<(f64, Network)> {
        let table = self.request.table();
        self.pool
            .iter()
            .filter_map(|row| {
                let dag = row.structure.to_dag().ok()?;
                let member = self.request.class_of(&dag).first_member();
                Some((row.score.value(), Network::of(table, member)))
            })
            .collect()
    }

    /// Returns the best score over time, thinned out where it improved often.
    #[must_use]
    pub fn trace(&self) -> Vec<TracePoint> {
        let points = self.view.curve.iter();
        points
            .map(|point| TracePoint {
                time: point.at,
                evaluations: point.evaluations,
                score: point.score.value(),
            })
            .collect()
    }

    /// Returns why the search ended.
    #[must_use]
    pub fn stopped_by(&self) -> StoppedBy {
        self.stopped_by
    }

    /// Returns whether the state folder held a search that had ended before, so that nothing was run.
    #[must_use]
    pub fn had_ended_before(&self) -> bool {
        self.ended_before
    }

    /// Returns the time spent searching, earlier runs of the same state folder included.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.view.elapsed
    }

    /// Returns when the best network was found, in time spent searching.
    #[must_use]
    pub fn best_at(&self) -> Duration {
        self.view.best_at
    }

    /// Returns how many local scores were asked for, cached or not.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        self.view.counters.evaluations
    }

    /// Returns how many local scores were counted from the data.
    #[must_use]
    pub fn computed(&self) -> u64 {
        self.view.counters.computed
    }

    /// Returns how many steps all chains made: episodes of the default algorithm.
    #[must_use]
    pub fn iterations(&self) -> u64 {
        self.view.counters.iterations
    }

    /// Returns the search that this is the result of.
    #[must_use]
    pub fn request(&self) -> &SearchRequest {
        &self.request
    }

    /// Returns the best network as results show it.
    #[doc(hidden)]
    #[must_use]
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// Returns the search as a status shows it.
    #[doc(hidden)]
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }
}
