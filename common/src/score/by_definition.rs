//! Every score straight from its formula, slow and obvious: what the fast ones are tested against.
//! Counts are made row by row into a map; logarithms are taken count by count.

use super::log_score::LogScore;
use super::spec::{ScoreName, ScoreSpec};
use crate::data::Table;
use crate::graph::Dag;
use crate::ids::NodeIdx;
use std::collections::BTreeMap;

/// Returns the local score of a node with a set of parents, by definition.
#[must_use]
pub fn local(table: &Table, spec: &ScoreSpec, node: NodeIdx, parents: &[NodeIdx]) -> LogScore {
    let states = table.arity(node);
    // Configuration of the parents -> how often each state of the node came with it.
    let mut counts: BTreeMap<Vec<u8>, Vec<f64>> = BTreeMap::new();
    for row in 0..table.rows() {
        let configuration = parents
            .iter()
            .map(|&parent| table.column(parent)[row])
            .collect();
        counts
            .entry(configuration)
            .or_insert_with(|| vec![0.0; states])[usize::from(table.column(node)[row])] += 1.0;
    }
    let number = |count: usize| {
        #[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
        let number = count as f64;
        number
    };
    let configurations: f64 = parents
        .iter()
        .map(|&parent| number(table.arity(parent)))
        .product();
    let parameters = configurations * (number(states) - 1.0);
    let log_likelihood = || -> f64 {
        counts
            .values()
            .flat_map(|by_state| {
                let total: f64 = by_state.iter().sum();
                by_state
                    .iter()
                    .filter(|&&n| n > 0.0)
                    .map(move |n| n * libm::log(n / total))
            })
            .sum()
    };
    let dirichlet = |alpha: f64| -> f64 {
        counts
            .values()
            .map(|by_state| {
                let total: f64 = by_state.iter().sum();
                let all_alpha = alpha * number(states);
                let fit: f64 = by_state
                    .iter()
                    .map(|n| libm::lgamma(n + alpha) - libm::lgamma(alpha))
                    .sum();
                libm::lgamma(all_alpha) - libm::lgamma(total + all_alpha) + fit
            })
            .sum()
    };
    let scale = spec.penalty_scale();
    LogScore::new(match spec.name() {
        ScoreName::LogLik => log_likelihood(),
        ScoreName::Aic => log_likelihood() - scale * parameters,
        ScoreName::Bic => {
            log_likelihood() - scale * libm::log(number(table.rows())) / 2.0 * parameters
        }
        ScoreName::Bdeu => dirichlet(spec.ess() / (configurations * number(states))),
        ScoreName::K2 => dirichlet(1.0),
    })
}

/// Returns the score of a structure, by definition.
#[must_use]
pub fn structure(table: &Table, spec: &ScoreSpec, dag: &Dag) -> LogScore {
    let sum = NodeIdx::all(dag.nodes())
        .map(|node| local(table, spec, node, dag.parents(node)).value())
        .sum();
    LogScore::new(sum)
}
