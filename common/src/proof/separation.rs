//! Finds cuts that a solution of the relaxation violates.

use super::cuts::{Cut, CutKind};
use super::model::{Model, members};
use crate::ids::NodeIdx;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A cut counts as violated if its sum is off by more than this.
const LEAST_VIOLATION: f64 = 1e-3;

/// A solution, by variable: the families in use and how much of each.
pub(super) struct Support {
    families: Vec<Vec<(usize, f64)>>,
}

impl Support {
    pub(super) fn new(model: &Model, solution: impl Iterator<Item = (usize, f64)>) -> Self {
        let mut families = vec![Vec::new(); model.nodes()];
        for (family, value) in solution {
            families[model.child(family).index()].push((family, value));
        }
        for families in &mut families {
            families.sort_by_key(|&(family, _)| family);
        }
        Self { families }
    }

    /// Returns the families of a variable that are in use.
    pub(super) fn of(&self, child: NodeIdx) -> &[(usize, f64)] {
        &self.families[child.index()]
    }

    /// Returns how much of each edge (from, to) is in use, in order.
    pub(super) fn edges(&self, model: &Model) -> BTreeMap<(NodeIdx, NodeIdx), f64> {
        let mut edges = BTreeMap::new();
        for child in NodeIdx::all(model.nodes()) {
            for &(family, value) in self.of(child) {
                for parent in members(model.parents(family)) {
                    *edges.entry((parent, child)).or_insert(0.0) += value;
                }
            }
        }
        edges
    }

    /// Returns the families if each variable uses one only.
    pub(super) fn whole(&self) -> Option<Vec<usize>> {
        let one = |families: &Vec<(usize, f64)>| match families[..] {
            [(family, value)] if value > 1.0 - 1e-6 => Some(family),
            _ => {
                let (family, value) = families.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
                (*value > 1.0 - 1e-6).then_some(*family)
            }
        };
        self.families.iter().map(one).collect()
    }
}

/// Returns cuts that the solution violates, the most violated first, at most `most`.
pub(super) fn violated(model: &Model, support: &Support, most: usize) -> Vec<Arc<Cut>> {
    let mut found: BTreeMap<Cut, f64> = BTreeMap::new();
    clusters(model, support, &mut found);
    packings(model, support, &mut found);
    let mut cuts: Vec<(Cut, f64)> = found.into_iter().collect();
    cuts.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    cuts.truncate(most);
    cuts.into_iter().map(|(cut, _)| Arc::new(cut)).collect()
}

/// Grows clusters from every edge that lies on a cycle of edges in use: the variable is added that
/// lowers most what the cluster's variables choose without parents inside.
fn clusters(model: &Model, support: &Support, found: &mut BTreeMap<Cut, f64>) {
    let edges = support.edges(model);
    let core = cyclic_core(model.nodes(), &edges);
    let mut children = vec![Vec::new(); model.nodes()];
    for &(from, to) in edges.keys() {
        children[from.index()].push(to);
    }
    let starts = edges
        .keys()
        .filter(|(from, to)| core[from.index()] && core[to.index()]);
    for &(from, to) in starts {
        let mut cluster = Growing::new(model, support);
        cluster.add(from);
        cluster.add(to);
        loop {
            if cluster.sum < 1.0 - LEAST_VIOLATION {
                let mut smaller = cluster.clone();
                smaller.shrink();
                let cut = Cut::new(
                    CutKind::Cluster,
                    model.words(),
                    smaller.members.iter().copied(),
                );
                found.insert(cut, 1.0 - smaller.sum);
            }
            let mut best: Option<(NodeIdx, f64)> = None;
            for next in cluster.neighbours(&children, &core) {
                let sum = cluster.sum_with(next);
                if best.is_none_or(|(_, least)| sum < least - 1e-12) {
                    best = Some((next, sum));
                }
            }
            match best {
                Some((next, sum))
                    if sum < cluster.sum - 1e-9 || (cluster.members.len() < 4 && sum < 1.5) =>
                {
                    cluster.add(next);
                }
                _ => break,
            }
            if cluster.members.len() > MOST_MEMBERS {
                break;
            }
        }
    }
}

/// Clusters do not grow beyond this.
const MOST_MEMBERS: usize = 40;

/// A cluster while it grows.
#[derive(Clone)]
struct Growing<'a> {
    model: &'a Model,
    support: &'a Support,
    members: Vec<NodeIdx>,
    bits: Vec<u64>,
    /// How much its variables choose without parents inside.
    sum: f64,
}

impl<'a> Growing<'a> {
    fn new(model: &'a Model, support: &'a Support) -> Self {
        Self {
            model,
            support,
            members: Vec::new(),
            bits: vec![0; model.words()],
            sum: 0.0,
        }
    }

    fn outside(&self, child: NodeIdx, bits: &[u64]) -> f64 {
        let families = self.support.of(child).iter();
        families
            .filter(|(family, _)| {
                let mut words = self.model.parents(*family).iter().zip(bits);
                words.all(|(parents, bits)| parents & bits == 0)
            })
            .map(|(_, value)| value)
            .sum()
    }

    fn sum_of(&self, bits: &[u64]) -> f64 {
        members(bits).map(|child| self.outside(child, bits)).sum()
    }

    fn sum_with(&mut self, next: NodeIdx) -> f64 {
        let (word, bit) = (next.index() / 64, 1 << (next.index() % 64));
        self.bits[word] |= bit;
        let sum = self.sum_of(&self.bits);
        self.bits[word] &= !bit;
        sum
    }

    fn add(&mut self, next: NodeIdx) {
        self.bits[next.index() / 64] |= 1 << (next.index() % 64);
        self.members.push(next);
        self.sum = self.sum_of(&self.bits);
    }

    /// Drops members that the violation does not need.
    fn shrink(&mut self) {
        let mut at = 0;
        while at < self.members.len() && self.members.len() > 2 {
            let member = self.members[at];
            let (word, bit) = (member.index() / 64, 1 << (member.index() % 64));
            self.bits[word] &= !bit;
            let sum = self.sum_of(&self.bits);
            if sum <= self.sum + 1e-9 {
                self.members.remove(at);
                self.sum = sum;
            } else {
                self.bits[word] |= bit;
                at += 1;
            }
        }
    }

    /// Lists variables beside the cluster: parents and children of its members in use.
    fn neighbours(&self, children: &[Vec<NodeIdx>], core: &[bool]) -> Vec<NodeIdx> {
        let mut beside = Vec::new();
        for &member in &self.members {
            for &(family, _) in self.support.of(member) {
                beside.extend(members(self.model.parents(family)));
            }
            beside.extend(&children[member.index()]);
        }
        beside.sort_unstable();
        beside.dedup();
        beside.retain(|node| core[node.index()] && !self.members.contains(node));
        beside
    }
}

/// Tells which variables may lie on a cycle of edges in use: what is left after taking away, again
/// and again, variables without parents or without children.
fn cyclic_core(nodes: usize, edges: &BTreeMap<(NodeIdx, NodeIdx), f64>) -> Vec<bool> {
    let mut core = vec![true; nodes];
    loop {
        let (mut has_parent, mut has_child) = (vec![false; nodes], vec![false; nodes]);
        for (from, to) in edges.keys() {
            if core[from.index()] && core[to.index()] {
                has_child[from.index()] = true;
                has_parent[to.index()] = true;
            }
        }
        let mut changed = false;
        for node in 0..nodes {
            if core[node] && !(has_parent[node] && has_child[node]) {
                core[node] = false;
                changed = true;
            }
        }
        if !changed {
            return core;
        }
    }
}

/// Sums, for every three or four variables, what has one of them with all others as parents.
fn packings(model: &Model, support: &Support, found: &mut BTreeMap<Cut, f64>) {
    let mut sums: BTreeMap<Vec<NodeIdx>, f64> = BTreeMap::new();
    for child in NodeIdx::all(model.nodes()) {
        for &(family, value) in support.of(child) {
            let parents = model.parent_list(family);
            let mut note = |others: &[NodeIdx]| {
                let mut members: Vec<NodeIdx> = others.to_vec();
                members.push(child);
                members.sort_unstable();
                *sums.entry(members).or_insert(0.0) += value;
            };
            for (at, &a) in parents.iter().enumerate() {
                for (then, &b) in parents.iter().enumerate().skip(at + 1) {
                    note(&[a, b]);
                    for &c in &parents[then + 1..] {
                        note(&[a, b, c]);
                    }
                }
            }
        }
    }
    for (members, sum) in sums {
        if sum > 1.0 + LEAST_VIOLATION {
            found.insert(
                Cut::new(CutKind::Packing, model.words(), members),
                sum - 1.0,
            );
        }
    }
}
