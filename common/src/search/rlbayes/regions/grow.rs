//! Which nodes belong together: a region grows from a place by the node that has the largest share
//! of its edges inside.

use crate::graph::Dag;
use crate::ids::NodeIdx;
use crate::search::Random;
use std::collections::BTreeMap;

/// Returns a connected set of up to `size` nodes around a place, in order.
pub(super) fn grow(place: NodeIdx, size: usize, dag: &Dag, random: &mut Random) -> Vec<NodeIdx> {
    let mut members = Vec::with_capacity(size);
    // By node next to the region: how many of its edges lead inside, and a draw for ties.
    let mut frontier: BTreeMap<NodeIdx, (usize, u64)> = BTreeMap::new();
    let mut next = Some(place);
    while let Some(node) = next {
        frontier.remove(&node);
        members.push(node);
        if members.len() == size {
            break;
        }
        for &neighbour in dag.parents(node).iter().chain(dag.children(node)) {
            if !members.contains(&neighbour) {
                let known = frontier
                    .entry(neighbour)
                    .or_insert_with(|| (0, random.bits()));
                known.0 += 1;
            }
        }
        next = frontier
            .iter()
            .max_by(|(a, (inside_a, tie_a)), (b, (inside_b, tie_b))| {
                // Compares inside / degree without a division.
                (inside_a * degree(dag, **b))
                    .cmp(&(inside_b * degree(dag, **a)))
                    .then(inside_a.cmp(inside_b))
                    .then(tie_a.cmp(tie_b))
            })
            .map(|(&node, _)| node);
    }
    members.sort_unstable();
    members
}

fn degree(dag: &Dag, node: NodeIdx) -> usize {
    dag.parents(node).len() + dag.children(node).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Seed;

    #[test]
    fn a_region_is_what_hangs_together() {
        // Two cliques of four nodes, joined by one edge.
        let mut dag = Dag::empty(8);
        for clique in [0, 4] {
            for from in clique..clique + 4 {
                for to in from + 1..clique + 4 {
                    dag.add_edge(NodeIdx::new(from), NodeIdx::new(to)).unwrap();
                }
            }
        }
        dag.add_edge(NodeIdx::new(3), NodeIdx::new(4)).unwrap();
        for seed in 0..20 {
            let mut random = Random::new(Seed(seed));
            let region = grow(NodeIdx::new(1), 4, &dag, &mut random);
            assert_eq!(region, NodeIdx::all(4).collect::<Vec<_>>());
            let region = grow(NodeIdx::new(6), 20, &dag, &mut random);
            assert_eq!(region, NodeIdx::all(8).collect::<Vec<_>>());
        }
        let alone = grow(
            NodeIdx::new(0),
            5,
            &Dag::empty(2),
            &mut Random::new(Seed(1)),
        );
        assert_eq!(alone, [NodeIdx::new(0)]);
    }
}
