//! Two elites become a child that is at least as good as the better of them: on networks of
//! hundreds of nodes chains improve different regions, and this adds their gains up.
//!
//! The two differ in some families. Nodes whose differing families pull one edge in opposite
//! directions are joined into a group, which can only be switched as a whole; the gain of a group
//! is a sum of known local scores. Every group that gains and keeps the graph acyclic is taken,
//! largest gain first.

use crate::elite::{EliteRow, Structure};
use crate::graph::{Dag, ReachScratch};
use crate::ids::NodeIdx;
use crate::score::LogScore;
use crate::search::{Evaluator, OutOfBudget};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Recombines two rows; the result is the better row with every group of the other that gains.
///
/// # Errors
/// If the budget does not reach for the local scores of the families that differ.
pub fn recombine(
    a: &EliteRow,
    b: &EliteRow,
    evaluator: &mut Evaluator,
) -> Result<EliteRow, OutOfBudget> {
    let (base, donor) = if a.score >= b.score { (a, b) } else { (b, a) };
    let differing: Vec<NodeIdx> = base.structure.differing(&donor.structure).collect();
    let groups = group_by_conflict(&differing, &base.structure, &donor.structure);
    let mut gaining = Vec::new();
    for group in groups {
        let mut gain = 0.0;
        for &node in &group {
            gain += evaluator.local(node, donor.structure.parents(node))?
                - evaluator.local(node, base.structure.parents(node))?;
        }
        if gain > LogScore::MIN_GAIN {
            gaining.push((gain, group));
        }
    }
    gaining.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let Ok(mut dag) = base.structure.to_dag() else {
        return Ok(base.clone());
    };
    let mut families: Vec<Arc<[NodeIdx]>> = base.structure.families().to_vec();
    let mut score = base.score.value();
    let mut reach = ReachScratch::default();
    for (gain, group) in gaining {
        if switch(&mut dag, &group, &donor.structure, &mut reach) {
            score += gain;
            for node in group {
                families[node.index()] = Arc::clone(&donor.structure.families()[node.index()]);
            }
        }
    }
    Ok(EliteRow {
        structure: Structure::from_families(families),
        score: LogScore::new(score),
    })
}

/// Joins nodes between which the two structures hold one edge in opposite directions.
fn group_by_conflict(
    differing: &[NodeIdx],
    base: &Structure,
    donor: &Structure,
) -> Vec<Vec<NodeIdx>> {
    let place: BTreeMap<NodeIdx, usize> = differing
        .iter()
        .enumerate()
        .map(|(at, &node)| (node, at))
        .collect();
    let mut leader: Vec<usize> = (0..differing.len()).collect();
    fn find(leader: &mut [usize], mut at: usize) -> usize {
        while leader[at] != at {
            leader[at] = leader[leader[at]];
            at = leader[at];
        }
        at
    }
    for (at, &node) in differing.iter().enumerate() {
        for &parent in donor.parents(node) {
            let turned = base.parents(parent).binary_search(&node).is_ok();
            if let (true, Some(&other)) = (turned, place.get(&parent)) {
                let (a, b) = (find(&mut leader, at), find(&mut leader, other));
                leader[a.max(b)] = a.min(b);
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<NodeIdx>> = BTreeMap::new();
    for (at, &node) in differing.iter().enumerate() {
        groups.entry(find(&mut leader, at)).or_default().push(node);
    }
    groups.into_values().collect()
}

/// Gives the group the donor's families if the graph stays acyclic; else leaves it as it was.
fn switch(dag: &mut Dag, group: &[NodeIdx], donor: &Structure, reach: &mut ReachScratch) -> bool {
    let before: Vec<Vec<NodeIdx>> = group
        .iter()
        .map(|&node| dag.parents(node).to_vec())
        .collect();
    let clear = |dag: &mut Dag| {
        for &node in group {
            while let Some(&parent) = dag.parents(node).last() {
                let _ = dag.remove_edge(parent, node);
            }
        }
    };
    clear(dag);
    let acyclic = group.iter().all(|&node| {
        donor
            .parents(node)
            .iter()
            .all(|&parent| dag.add_edge_with(parent, node, reach).is_ok())
    });
    if !acyclic {
        clear(dag);
        for (&node, parents) in group.iter().zip(&before) {
            for &parent in parents {
                let _ = dag.add_edge_with(parent, node, reach);
            }
        }
    }
    acyclic
}
