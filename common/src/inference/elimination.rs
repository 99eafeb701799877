//! Variable elimination (Zhang and Poole 1994): nodes that cannot matter are left out, the others are
//! summed out one by one, the cheapest first.

use super::factor::Factor;
use crate::ids::NodeIdx;
use crate::network::Network;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// The most numbers that all factors together may hold: 256 MiB.
pub const MAX_HELD: usize = 1 << 25;

/// What is known: a state for each of some nodes.
pub type Evidence = BTreeMap<NodeIdx, usize>;

/// What a network says about a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Posterior {
    /// The probability of each of the node's states, given the evidence.
    pub probabilities: Vec<f64>,
    /// The natural logarithm of the probability of the evidence.
    pub log_evidence: f64,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InferenceError {
    /// The network gives what is known the probability 0.
    #[error("the network gives this evidence the probability 0")]
    Impossible,
    /// The network is too densely connected for an exact answer.
    #[error(
        "an exact answer would take more than {MAX_HELD} numbers in memory: the network is too densely connected around {node:?}; more evidence helps"
    )]
    TooLarge {
        /// The node whose elimination would take them.
        node: String,
    },
}

/// Returns the distribution of a node, given evidence about others (or about itself).
///
/// # Errors
/// If the evidence is impossible, or the answer would take too much memory.
pub fn posterior(
    network: &Network,
    target: NodeIdx,
    evidence: &Evidence,
) -> Result<Posterior, InferenceError> {
    let arity = |node: NodeIdx| network.schema().variable(node).arity();
    let relevant = ancestors(network, target, evidence);
    let mut factors: Vec<Factor> = Vec::with_capacity(relevant.len());
    for &node in &relevant {
        let family: Vec<NodeIdx> = network
            .dag()
            .parents(node)
            .iter()
            .copied()
            .chain([node])
            .collect();
        let arities: Vec<usize> = family.iter().map(|&member| arity(member)).collect();
        let mut factor = Factor::sorted(&family, &arities, &network.cpt(node).probabilities);
        for &member in &family {
            if let Some(&state) = evidence.get(&member) {
                factor = factor.given(member, state);
            }
        }
        factors.push(factor);
    }
    let mut left: BTreeSet<NodeIdx> = relevant;
    left.retain(|node| *node != target && !evidence.contains_key(node));
    let mut log_scale = 0.0;
    while let Some((node, cost)) = cheapest(&left, &factors, arity) {
        let held: usize = factors.iter().map(|factor| factor.values.len()).sum();
        if cost.saturating_mul(2).saturating_add(held) > MAX_HELD {
            let node = network.schema().variable(node).name().to_owned();
            return Err(InferenceError::TooLarge { node });
        }
        left.remove(&node);
        let has_node = |factor: &Factor| factor.variables.binary_search(&node).is_ok();
        let (with, without): (Vec<Factor>, Vec<Factor>) = factors.into_iter().partition(has_node);
        factors = without;
        let mut sum = Factor::product_without(&with, node, arity(node));
        log_scale += sum.rescale().ok_or(InferenceError::Impossible)?;
        factors.push(sum);
    }
    finish(&factors, target, arity(target), evidence, log_scale)
}

/// Multiplies what is left, which is about the target alone.
fn finish(
    factors: &[Factor],
    target: NodeIdx,
    states: usize,
    evidence: &Evidence,
    mut log_scale: f64,
) -> Result<Posterior, InferenceError> {
    let mut probabilities = vec![1.0; states];
    if let Some(&known) = evidence.get(&target) {
        for (state, probability) in probabilities.iter_mut().enumerate() {
            *probability = f64::from(u8::from(state == known));
        }
    }
    for factor in factors {
        for (state, probability) in probabilities.iter_mut().enumerate() {
            *probability *= match factor.variables.is_empty() {
                true => factor.values[0],
                false => factor.values[state],
            };
        }
        let largest = probabilities.iter().copied().fold(0.0, f64::max);
        if largest <= 0.0 {
            return Err(InferenceError::Impossible);
        }
        log_scale += largest.ln();
        for probability in &mut probabilities {
            *probability /= largest;
        }
    }
    let sum: f64 = probabilities.iter().sum();
    for probability in &mut probabilities {
        *probability /= sum;
    }
    Ok(Posterior {
        probabilities,
        log_evidence: log_scale + sum.ln(),
    })
}

/// Returns the target, what is known, and all their ancestors: other nodes sum to 1.
fn ancestors(network: &Network, target: NodeIdx, evidence: &Evidence) -> BTreeSet<NodeIdx> {
    let mut found: BTreeSet<NodeIdx> = BTreeSet::new();
    let mut waiting: Vec<NodeIdx> = evidence.keys().copied().chain([target]).collect();
    while let Some(node) = waiting.pop() {
        if found.insert(node) {
            waiting.extend(network.dag().parents(node));
        }
    }
    found
}

/// Returns the node whose elimination makes the smallest factor, the first of equals, and that size.
fn cheapest(
    left: &BTreeSet<NodeIdx>,
    factors: &[Factor],
    arity: impl Fn(NodeIdx) -> usize,
) -> Option<(NodeIdx, usize)> {
    let mut together: BTreeMap<NodeIdx, BTreeSet<NodeIdx>> = BTreeMap::new();
    for factor in factors {
        for &node in factor.variables.iter().filter(|node| left.contains(node)) {
            let others = together.entry(node).or_default();
            others.extend(factor.variables.iter().copied());
        }
    }
    let size = |node: NodeIdx| {
        let others = together.get(&node).into_iter().flatten();
        let others = others.filter(|&&other| other != node);
        others.fold(1_usize, |size, &other| size.saturating_mul(arity(other)))
    };
    let sizes = left.iter().map(|&node| (node, size(node)));
    sizes.min_by_key(|&(node, size)| (size, node))
}
