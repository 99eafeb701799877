//! Exploration bursts, one function each: short disturbances of a local optimum from which the
//! next climb starts. A burst has a kind and a place.

use crate::graph::Dag;
use crate::ids::NodeIdx;
use crate::search::{Evaluator, Operation, OutOfBudget, Position, Random};

/// How a burst disturbs the network around its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BurstKind {
    /// One to four operations on edges near the place.
    Shake,
    /// All edges of the node are dropped.
    Isolate,
    /// The edges inside a small connected cluster are dropped, some at its border turned round.
    Cluster,
    /// About half of the node's edges are turned round or dropped.
    Halve,
    /// One to three operations near the place, drawn among those that lose least: what two families
    /// gain together where each step alone loses.
    Concede,
}

impl BurstKind {
    /// How often each kind is drawn.
    pub const MIX: [(Self, u32); 5] = [
        (Self::Shake, 10),
        (Self::Isolate, 3),
        (Self::Cluster, 20),
        (Self::Halve, 10),
        (Self::Concede, 8),
    ];
}

/// Scratch space of the bursts.
#[derive(Debug, Default)]
pub struct Explorer {
    edges: Vec<(NodeIdx, NodeIdx)>,
    operations: Vec<(f64, Operation)>,
    members: Vec<NodeIdx>,
    is_member: Vec<bool>,
}

impl Explorer {
    /// Disturbs the network.
    ///
    /// # Errors
    /// If the budget does not reach for the scores that the burst looks at.
    pub fn burst(
        &mut self,
        kind: BurstKind,
        place: NodeIdx,
        position: &mut Position,
        evaluator: &mut Evaluator,
        random: &mut Random,
    ) -> Result<(), OutOfBudget> {
        match kind {
            BurstKind::Shake => self.shake(place, position, evaluator, random),
            BurstKind::Isolate => self.isolate(place, position, evaluator),
            BurstKind::Cluster => {
                let size = 2 + random.below(4);
                self.drop_region(place, size, position, evaluator, random);
            }
            BurstKind::Halve => self.halve(place, position, evaluator, random),
            BurstKind::Concede => return self.concede(place, position, evaluator, random),
        }
        Ok(())
    }

    /// The n-th best operation on a family is drawn with a chance that falls by a quarter from one to
    /// the next, whatever they lose: tall tables lose more by each. What the burst has done is not undone by it.
    fn concede(
        &mut self,
        place: NodeIdx,
        position: &mut Position,
        evaluator: &mut Evaluator,
        random: &mut Random,
    ) -> Result<(), OutOfBudget> {
        self.edges.clear();
        let mut node = place;
        for _ in 0..1 + random.below(3) {
            position.refresh(evaluator)?;
            position.list_operations(node, &mut self.operations);
            let done = &self.edges;
            self.operations.retain(|(_, operation)| {
                let (from, to) = operation.edge();
                !done.contains(&(from, to)) && !done.contains(&(to, from))
            });
            if self.operations.is_empty() {
                break;
            }
            let mut rank = 0;
            while rank + 1 < self.operations.len() && random.chance(0.75) {
                rank += 1;
            }
            let best_first = |a: &(f64, Operation), b: &(f64, Operation)| {
                b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
            };
            let (_, &mut (_, operation), _) =
                self.operations.select_nth_unstable_by(rank, best_first);
            position.apply(operation, evaluator);
            let (from, to) = operation.edge();
            self.edges.push((from, to));
            if random.chance(0.5) {
                node = if from == node { to } else { from };
            }
        }
        Ok(())
    }

    fn shake(
        &mut self,
        place: NodeIdx,
        position: &mut Position,
        evaluator: &Evaluator,
        random: &mut Random,
    ) {
        let operations = 1 + random.below(4);
        let mut node = place;
        for _ in 0..operations {
            self.list_edges_of(node, position.dag());
            if let Some(&(from, to)) = random.pick(&self.edges)
                && random.chance(0.8)
            {
                if !random.chance(0.5) || !position.reverse(from, to, evaluator) {
                    position.remove(from, to, evaluator);
                }
                node = if from == node { to } else { from };
            } else {
                let other = NodeIdx::new(random.below(position.dag().nodes()));
                if other != node && !position.dag().has_edge(node, other) {
                    position.add(other, node, evaluator);
                }
            }
        }
    }

    fn isolate(&mut self, place: NodeIdx, position: &mut Position, evaluator: &Evaluator) {
        self.list_edges_of(place, position.dag());
        for &(from, to) in &self.edges {
            position.remove(from, to, evaluator);
        }
    }

    fn halve(
        &mut self,
        place: NodeIdx,
        position: &mut Position,
        evaluator: &Evaluator,
        random: &mut Random,
    ) {
        self.list_edges_of(place, position.dag());
        for at in 0..self.edges.len() {
            let (from, to) = self.edges[at];
            if random.chance(0.5) && (random.chance(0.5) || !position.reverse(from, to, evaluator))
            {
                position.remove(from, to, evaluator);
            }
        }
    }

    /// Drops the edges inside a connected region of about `size` nodes that holds `place`, and
    /// turns about a third of the edges at its border round.
    pub fn drop_region(
        &mut self,
        place: NodeIdx,
        size: usize,
        position: &mut Position,
        evaluator: &Evaluator,
        random: &mut Random,
    ) {
        self.grow_region(place, size, position.dag(), random);
        for at in 0..self.members.len() {
            let node = self.members[at];
            self.list_edges_of(node, position.dag());
            for &(from, to) in &self.edges {
                let other = if from == node { to } else { from };
                if self.is_member[other.index()] {
                    position.remove(from, to, evaluator);
                } else if random.chance(0.3) {
                    position.reverse(from, to, evaluator);
                }
            }
        }
    }

    /// Returns the nodes of the region that was dropped last.
    pub fn region(&self) -> &[NodeIdx] {
        &self.members
    }

    /// Collects a random connected region.
    fn grow_region(&mut self, place: NodeIdx, size: usize, dag: &Dag, random: &mut Random) {
        self.is_member.clear();
        self.is_member.resize(dag.nodes(), false);
        self.members.clear();
        self.members.push(place);
        self.is_member[place.index()] = true;
        let mut misses = 0;
        while self.members.len() < size && misses < 4 * size + 16 {
            let node = self.members[random.below(self.members.len())];
            let (parents, children) = (dag.parents(node), dag.children(node));
            let degree = parents.len() + children.len();
            if degree == 0 {
                misses += 1;
                continue;
            }
            let at = random.below(degree);
            let next = parents
                .get(at)
                .copied()
                .unwrap_or_else(|| children[at - parents.len()]);
            if self.is_member[next.index()] {
                misses += 1;
            } else {
                self.is_member[next.index()] = true;
                self.members.push(next);
            }
        }
    }

    fn list_edges_of(&mut self, node: NodeIdx, dag: &Dag) {
        self.edges.clear();
        self.edges
            .extend(dag.parents(node).iter().map(|&parent| (parent, node)));
        self.edges
            .extend(dag.children(node).iter().map(|&child| (node, child)));
    }
}

/// Turns covered edges round at random: the network stays in its equivalence class, and its score
/// stays the same. An edge `from -> to` is covered if `to` has the parents of `from`, and `from`.
pub fn walk_in_class(
    steps: usize,
    position: &mut Position,
    evaluator: &Evaluator,
    random: &mut Random,
) {
    for _ in 0..steps {
        let to = NodeIdx::new(random.below(position.dag().nodes()));
        let Some(&from) = random.pick(position.dag().parents(to)) else {
            continue;
        };
        if is_covered(position.dag(), from, to) {
            position.reverse(from, to, evaluator);
        }
    }
}

fn is_covered(dag: &Dag, from: NodeIdx, to: NodeIdx) -> bool {
    let (above, below) = (dag.parents(from), dag.parents(to));
    below.len() == above.len() + 1
        && above
            .iter()
            .all(|parent| below.binary_search(parent).is_ok())
}
