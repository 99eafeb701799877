//! A bound by dual ascent: one cluster after the other gets a multiplier, as large as keeps every
//! reduced cost at 0 or above. All in whole units. Weaker than the relaxation, but it needs no
//! dictionary, so it works for any number of families.

use super::cuts::{Cut, CutKind, Multipliers, bound};
use super::model::{Alive, Model, has, members};
use crate::ids::{NodeIdx, Seed};
use crate::random::Random;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Raises the bound until it stops rising, or `go_on` says no. Returns the multipliers and the cost
/// that no network is below.
pub fn ascend(model: &Model, threshold: i64, go_on: &dyn Fn() -> bool) -> (Multipliers, i64) {
    let alive = model.all();
    let mut ascent = Ascent {
        reduced: bound(model, &alive, &[]).reduced,
        model,
        alive,
        random: Random::new(Seed(1)),
        multipliers: BTreeMap::new(),
    };
    let mut cost = bound(model, &ascent.alive, &[]).cost;
    while cost < threshold && go_on() {
        let risen = ascent.round();
        if risen == 0 {
            break;
        }
        cost = cost.saturating_add(risen);
    }
    let multipliers: Multipliers = ascent
        .multipliers
        .into_iter()
        .map(|(cut, by)| (Arc::new(cut), by))
        .collect();
    let exact = bound(model, &model.all(), &multipliers).cost;
    (multipliers, exact)
}

struct Ascent<'m> {
    model: &'m Model,
    alive: Alive,
    reduced: Vec<i64>,
    random: Random,
    multipliers: BTreeMap<Cut, i64>,
}

impl Ascent<'_> {
    /// Raises one multiplier; returns by how much the bound rose.
    fn round(&mut self) -> i64 {
        let rest = self.unplaced();
        if rest.is_empty() {
            return 0;
        }
        let mut best: Option<(i64, Vec<u64>)> = None;
        for _ in 0..4 {
            let Some(&start) = self.random.pick(&rest) else {
                return 0;
            };
            let cluster = self.grow(start);
            let rise = self.rise(&cluster);
            if best.as_ref().is_none_or(|(most, _)| rise > *most) {
                best = Some((rise, cluster));
            }
        }
        let Some((rise, cluster)) = best else {
            return 0;
        };
        if rise <= 0 {
            return 0;
        }
        let cut = Cut::new(CutKind::Cluster, self.model.words(), members(&cluster));
        for child in members(&cluster) {
            for family in self.model.of(child) {
                if cut.counts(self.model, family) {
                    self.reduced[family] -= rise;
                }
            }
        }
        *self.multipliers.entry(cut).or_insert(0) += rise;
        rise
    }

    fn tight(&self, child: NodeIdx) -> impl Iterator<Item = usize> + '_ {
        self.alive
            .of(self.model, child)
            .filter(|&family| self.reduced[family] == 0)
    }

    /// Lists the variables that cannot be placed, one after the other, with families of reduced cost
    /// 0: every one of those has a parent among them.
    fn unplaced(&self) -> Vec<NodeIdx> {
        let mut placed = vec![0_u64; self.model.words()];
        let mut rest: Vec<NodeIdx> = NodeIdx::all(self.model.nodes()).collect();
        loop {
            let before = rest.len();
            rest.retain(|&child| {
                let fits = self.tight(child).any(|family| {
                    let mut words = self.model.parents(family).iter().zip(&placed);
                    words.all(|(parents, placed)| parents & !placed == 0)
                });
                if fits {
                    placed[child.index() / 64] |= 1 << (child.index() % 64);
                }
                !fits
            });
            if rest.len() == before {
                return rest;
            }
        }
    }

    /// Grows a cluster from a variable until each tight family of its variables has a parent inside,
    /// then drops what it does not need.
    fn grow(&mut self, start: NodeIdx) -> Vec<u64> {
        let rest = self.unplaced();
        let mut inside = vec![0_u64; self.model.words()];
        inside[start.index() / 64] |= 1 << (start.index() % 64);
        let mut queue = vec![start];
        while let Some(child) = queue.pop() {
            let outside: Vec<usize> = self
                .tight(child)
                .filter(|&family| disjoint(self.model.parents(family), &inside))
                .collect();
            for family in outside {
                if !disjoint(self.model.parents(family), &inside) {
                    continue;
                }
                let choices: Vec<NodeIdx> = members(self.model.parents(family))
                    .filter(|parent| rest.binary_search(parent).is_ok())
                    .collect();
                if let Some(&next) = self.random.pick(&choices) {
                    inside[next.index() / 64] |= 1 << (next.index() % 64);
                    queue.push(next);
                }
            }
            if !has(&inside, child) {
                inside[child.index() / 64] |= 1 << (child.index() % 64);
            }
        }
        let mut order: Vec<NodeIdx> = members(&inside).collect();
        self.random.shuffle(&mut order);
        for member in order {
            inside[member.index() / 64] &= !(1 << (member.index() % 64));
            let is_needed = members(&inside).any(|child| {
                self.tight(child)
                    .any(|family| disjoint(self.model.parents(family), &inside))
            });
            if is_needed || inside.iter().all(|&word| word == 0) {
                inside[member.index() / 64] |= 1 << (member.index() % 64);
            }
        }
        inside
    }

    /// By how much the cluster's multiplier can rise.
    fn rise(&self, cluster: &[u64]) -> i64 {
        let least = |child: NodeIdx| {
            let families = self.alive.of(self.model, child);
            families
                .filter(|&family| disjoint(self.model.parents(family), cluster))
                .map(|family| self.reduced[family])
                .min()
                .unwrap_or(i64::MAX)
        };
        members(cluster)
            .map(least)
            .min()
            .unwrap_or(0)
            .clamp(0, i64::MAX / 8)
    }
}

fn disjoint(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a & b == 0)
}
