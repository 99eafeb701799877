//! Repair of a network that a crossover made cyclic: while there is a cycle, a random arc of it is
//! deleted, never a required one.

use super::individual::Individual;
use crate::ids::NodeIdx;
use crate::search::{Constraints, Random};

/// Deletes random arcs of cycles until there is none. Required arcs stay: they hold no cycle, so
/// every cycle has another arc. The walk starts at a random node, so that the order of columns
/// does not choose the cycles.
pub(in crate::search::baseline) fn repair(
    individual: &mut Individual,
    constraints: &Constraints,
    random: &mut Random,
) {
    let n = individual.nodes();
    if n == 0 {
        return;
    }
    let first = random.below(n);
    let mut walk = Walk {
        marks: vec![Mark::New; n],
        path: Vec::new(),
    };
    for offset in 0..n {
        let root = NodeIdx::new((first + offset) % n);
        while let Some(cycle) = walk.find_cycle(individual, root) {
            let deletable: Vec<_> = cycle
                .into_iter()
                .filter(|&(from, to)| !constraints.is_required(from, to))
                .collect();
            let Some(&(from, to)) = random.pick(&deletable) else {
                debug_assert!(false, "required arcs hold no cycle");
                return;
            };
            let rest = individual
                .parents(to)
                .iter()
                .copied()
                .filter(|&parent| parent != from);
            let rest = rest.collect();
            individual.set_family(to, rest);
        }
    }
}

/// A walk against the arcs. What is done stays done: deleting arcs closes no cycle.
struct Walk {
    marks: Vec<Mark>,
    /// Nodes from the root on, each with the number of its parents that were looked at.
    path: Vec<(NodeIdx, usize)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    OnPath,
    Done,
}

impl Walk {
    /// Returns the arcs of a cycle that can be reached from `root` against the arcs, if any.
    fn find_cycle(
        &mut self,
        individual: &Individual,
        root: NodeIdx,
    ) -> Option<Vec<(NodeIdx, NodeIdx)>> {
        self.path.clear();
        self.enter(root);
        while let Some((node, looked)) = self.path.last_mut() {
            let Some(&parent) = individual.parents(*node).get(*looked) else {
                self.marks[node.index()] = Mark::Done;
                self.path.pop();
                continue;
            };
            *looked += 1;
            match self.marks[parent.index()] {
                Mark::New => self.enter(parent),
                Mark::Done => {}
                Mark::OnPath => return Some(self.cycle_at(parent)),
            }
        }
        None
    }

    fn enter(&mut self, node: NodeIdx) {
        if self.marks[node.index()] == Mark::New {
            self.marks[node.index()] = Mark::OnPath;
            self.path.push((node, 0));
        }
    }

    /// Returns the arcs of the cycle that `closing`, a parent of the last node of the path, closes,
    /// and forgets the path.
    fn cycle_at(&mut self, closing: NodeIdx) -> Vec<(NodeIdx, NodeIdx)> {
        for &(node, _) in &self.path {
            self.marks[node.index()] = Mark::New;
        }
        let start = self
            .path
            .iter()
            .position(|&(node, _)| node == closing)
            .unwrap_or(0);
        let nodes = &self.path[start..];
        let parents = nodes[1..].iter().chain(&nodes[..1]);
        parents
            .zip(nodes)
            .map(|(&(parent, _), &(node, _))| (parent, node))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Dag;
    use crate::ids::Seed;
    use crate::search::baseline::testing::{random_constraints, table_of};
    use std::sync::Arc;

    fn families(sets: &[&[usize]]) -> Vec<Arc<[NodeIdx]>> {
        let family = |set: &&[usize]| set.iter().map(|&index| NodeIdx::new(index)).collect();
        sets.iter().map(family).collect()
    }

    #[test]
    fn one_arc_of_a_single_cycle_goes_and_each_has_a_chance() {
        let constraints = Constraints::none(4);
        let mut random = Random::new(Seed(5));
        let mut gone = [0; 3];
        for _ in 0..300 {
            // 0 -> 1 -> 2 -> 0, and 2 -> 3 which lies on no cycle.
            let cyclic = families(&[&[2], &[0], &[1], &[2]]);
            let mut individual = Individual::from_families(cyclic, []);
            repair(&mut individual, &constraints, &mut random);
            assert_eq!(individual.edges().count(), 3);
            assert!(individual.has_edge(NodeIdx::new(2), NodeIdx::new(3)));
            for (node, count) in gone.iter_mut().enumerate() {
                *count += u32::from(individual.parents(NodeIdx::new(node)).is_empty());
            }
        }
        assert!(
            gone.iter().all(|count| (60..140).contains(count)),
            "{gone:?}"
        );
    }

    #[test]
    fn an_acyclic_network_stays_as_it_is() {
        let acyclic = families(&[&[], &[0], &[0, 1], &[0, 1, 2]]);
        let mut individual = Individual::from_families(acyclic.clone(), []);
        repair(
            &mut individual,
            &Constraints::none(4),
            &mut Random::new(Seed(5)),
        );
        assert_eq!(individual, Individual::from_families(acyclic, []));
    }

    #[test]
    fn random_graphs_end_acyclic_with_all_required_arcs() {
        let table = table_of(7, 3);
        let mut random = Random::new(Seed(6));
        for _ in 0..300 {
            let constraints = random_constraints(&table, &mut random);
            let density = random.unit();
            let mut sets = vec![Vec::new(); 7];
            for (to, set) in sets.iter_mut().enumerate() {
                for from in (0..7).filter(|&from| from != to) {
                    let (from, to) = (NodeIdx::new(from), NodeIdx::new(to));
                    if constraints.is_required(from, to) || random.chance(density) {
                        set.push(from);
                    }
                }
            }
            let cyclic: Vec<Arc<[NodeIdx]>> = sets.into_iter().map(Arc::from).collect();
            let before = Individual::from_families(cyclic, []);
            let mut after = before.clone();
            repair(&mut after, &constraints, &mut random);
            assert!(Dag::from_edges(7, after.edges()).is_ok());
            assert!(after.edges().all(|(from, to)| before.has_edge(from, to)));
            assert!(
                constraints
                    .required()
                    .edges()
                    .all(|(from, to)| after.has_edge(from, to))
            );
        }
    }
}
