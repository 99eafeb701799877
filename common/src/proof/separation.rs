//! Finds cuts that a solution of the relaxation violates.

use super::cuts::{Cut, CutKind};
use super::model::{Model, has, members, set, unset};
use crate::ids::{NodeIdx, Seed};
use crate::random::Random;
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

/// Looks for clusters around every variable that lies on a cycle of edges in use: one is grown by the
/// variable that lowers most, or raises least, what the cluster's variables choose without parents
/// inside. Where that finds few, it is repeated with some variables left out at random.
fn clusters(model: &Model, support: &Support, found: &mut BTreeMap<Cut, f64>) {
    const FEW: usize = 8;
    const REPEATS: usize = 6;
    let edges = support.edges(model);
    let core = cyclic_core(model.nodes(), &edges);
    let mut beside = vec![Vec::new(); model.nodes()];
    for &(from, to) in edges.keys() {
        if core[from.index()] && core[to.index()] {
            beside[from.index()].push(to);
            beside[to.index()].push(from);
        }
    }
    let mut random = Random::new(Seed(1));
    for repeat in 0..REPEATS {
        for start in NodeIdx::all(model.nodes()).filter(|node| core[node.index()]) {
            let mut cluster = Growing::new(model, support);
            cluster.add(start);
            while cluster.members.len() < MOST_MEMBERS {
                let mut best: Option<(NodeIdx, f64)> = None;
                for next in cluster.neighbours(&beside) {
                    let sum = cluster.sum_with(next);
                    let is_left_out = repeat > 0 && random.chance(0.3);
                    if !is_left_out && best.is_none_or(|(_, least)| sum < least - 1e-12) {
                        best = Some((next, sum));
                    }
                }
                let Some((next, _)) = best else { break };
                cluster.add(next);
                if cluster.sum < 1.0 - LEAST_VIOLATION {
                    let mut smaller = cluster.clone();
                    smaller.shrink();
                    let members = smaller.members.iter().copied();
                    let cut = Cut::new(CutKind::Cluster, model.words(), members);
                    found.insert(cut, 1.0 - smaller.sum);
                }
            }
        }
        if found.len() >= FEW {
            break;
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
    /// How much of that has the variable as a parent, by variable.
    with_parent: Vec<f64>,
}

impl<'a> Growing<'a> {
    fn new(model: &'a Model, support: &'a Support) -> Self {
        Self {
            model,
            support,
            members: Vec::new(),
            bits: vec![0; model.words()],
            sum: 0.0,
            with_parent: vec![0.0; model.nodes()],
        }
    }

    /// Lists the families in use of a variable that have no parent inside.
    fn outside(&self, child: NodeIdx) -> impl Iterator<Item = (usize, f64)> + '_ {
        let families = self.support.of(child).iter().copied();
        families.filter(|(family, _)| {
            let mut words = self.model.parents(*family).iter().zip(&self.bits);
            words.all(|(parents, bits)| parents & bits == 0)
        })
    }

    fn sum_with(&self, next: NodeIdx) -> f64 {
        let of_next: f64 = self.outside(next).map(|(_, value)| value).sum();
        self.sum - self.with_parent[next.index()] + of_next
    }

    fn add(&mut self, next: NodeIdx) {
        set(&mut self.bits, next);
        self.members.push(next);
        self.recount();
    }

    fn recount(&mut self) {
        let mut sum = 0.0;
        let mut with_parent = std::mem::take(&mut self.with_parent);
        with_parent.fill(0.0);
        for &member in &self.members {
            for (family, value) in self.outside(member) {
                sum += value;
                for parent in members(self.model.parents(family)) {
                    with_parent[parent.index()] += value;
                }
            }
        }
        self.sum = sum;
        self.with_parent = with_parent;
    }

    /// Drops members that the violation does not need.
    fn shrink(&mut self) {
        let mut at = 0;
        while at < self.members.len() && self.members.len() > 2 {
            let before = self.sum;
            let member = self.members.remove(at);
            unset(&mut self.bits, member);
            self.recount();
            if self.sum > before + 1e-9 {
                set(&mut self.bits, member);
                self.members.insert(at, member);
                self.recount();
                at += 1;
            }
        }
    }

    /// Lists variables beside the cluster: parents and children of its members in use.
    fn neighbours(&self, beside: &[Vec<NodeIdx>]) -> Vec<NodeIdx> {
        let members = self.members.iter();
        let mut all: Vec<NodeIdx> = members
            .flat_map(|member| beside[member.index()].iter().copied())
            .filter(|&node| !has(&self.bits, node))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
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
