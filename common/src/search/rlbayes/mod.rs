//! lab
mod explore; mod recombine;
pub use explore::*; pub use recombine::recombine;
use super::*;
use crate::elite::EliteRow;
use crate::ids::{NodeIdx, Seed};
use std::collections::BTreeMap;

/// Lab settings.
#[derive(Clone, Debug)]
pub struct Tuning {
    pub temperature: f64, pub stall: u64, pub walk: usize, pub region: f64, pub kinds: Vec<f64>, pub learn: u32, pub theta: f64, pub two: f64, pub reseed: u32,
}

/// One chain.
#[derive(Debug)]
pub struct Lab {
    pub evaluator: Evaluator, pub position: Position, random: Random, explorer: Explorer,
    pub best: EliteRow, pub run_best: f64, pub run_row: EliteRow, pub since_best: u64, pub episodes: u64, tuning: Tuning, pub accepted: u64,
    pub wins: [f64; 5], pub tries: [f64; 5], weight: Vec<f64>, trace: Vec<f64>, recent: std::collections::VecDeque<NodeIdx>,
    failures: BTreeMap<(u64, usize, usize), u32>,
}

impl Lab {
    pub fn new(mut evaluator: Evaluator, start: crate::graph::Dag, seed: Seed, tuning: Tuning) -> Result<Self, OutOfBudget> {
        let mut random = Random::new(seed);
        let n = start.nodes();
        let mut position = Position::new(start, &mut evaluator)?;
        position.climb(&mut evaluator, &mut random)?;
        position.mark();
        let best = position.row();
        let run_best = best.score.value();
        Ok(Self { evaluator, position, random, explorer: Explorer::default(), run_row: best.clone(), best, run_best, since_best: 0, episodes: 0, tuning, accepted: 0, wins: [0.0; 5], tries: [0.0; 5], weight: vec![1.0; n], trace: vec![0.0; n], recent: Default::default(), failures: BTreeMap::new() })
    }

    pub fn episode(&mut self) -> Result<(), OutOfBudget> {
        self.episodes += 1;
        if self.tuning.theta > 0.0 && self.random.chance(self.tuning.theta) {
            let fam = self.run_row.structure.families().to_vec();
            self.position.move_to(&fam, &mut self.evaluator)?;
        }
        if self.tuning.walk > 0 && self.random.chance(0.5) {
            let steps = 1 + self.random.below(self.tuning.walk);
            walk_in_class(steps, &mut self.position, &self.evaluator, &mut self.random);
            self.position.refresh(&mut self.evaluator)?;
        }
        self.position.mark();
        let before = self.position.score().value();
        let here = before.to_bits();
        let mut kind = self.draw_kind();
        let mut place = self.draw_place();
        if self.tuning.learn == 3 {
            let (k2, p2) = (self.draw_kind(), self.draw_place());
            let f = |k: BurstKind, p: NodeIdx| self.failures.get(&(here, k as usize, p.index())).copied().unwrap_or(0);
            if f(k2, p2) < f(kind, place) { kind = k2; place = p2; }
        }
        let bursts = if self.random.chance(self.tuning.two) { 2 } else { 1 };
        let ev0 = self.evaluator.evaluations();
        for b in 0..bursts {
            let at = if b == 0 { place } else { self.draw_place() };
            self.explorer.burst(kind, at, &mut self.position, &self.evaluator, &mut self.random);
        }
        self.position.climb(&mut self.evaluator, &mut self.random)?;
        let after = self.position.score().value();
        let k = kind as usize;
        self.tries[k] += (self.evaluator.evaluations() - ev0) as f64;
        let delta = after - before;
        if delta > 1e-9 { self.wins[k] += 1.0; }
        if self.tuning.learn == 1 {
            let w = &mut self.weight[place.index()];
            if delta > 1e-9 { *w += 4.0; } else { *w = (*w * 0.97).max(0.2); }
        }
        if self.tuning.learn == 3 && delta <= 1e-9 {
            if self.failures.len() > 20000 { self.failures.clear(); }
            *self.failures.entry((here, k, place.index())).or_insert(0) += 1;
        }
        let accept = delta >= 0.0 || (self.tuning.temperature > 0.0 && self.random.unit() < libm::exp(delta / self.tuning.temperature));
        if !accept { self.position.back_to_mark(); } else {
            self.accepted += 1;
            if delta.abs() > 1e-9 { self.recent.push_back(place); if self.recent.len() > 8 { self.recent.pop_front(); } }
        }
        let now = self.position.score().value();
        if now > self.run_best + 1e-9 {
            if self.tuning.learn == 2 || self.tuning.learn == 4 {
                for &p in &self.recent { let w = &mut self.weight[p.index()]; *w = (*w + 1.0).min(5.0); }
                if self.tuning.learn == 4 { let w = &mut self.weight[place.index()]; *w = (*w + 3.0).min(8.0); }
            }
            self.run_best = now; self.since_best = 0;
            self.run_row = self.position.row();
            if now > self.best.score.value() + 1e-9 { self.best = self.run_row.clone(); }
        } else {
            if self.tuning.learn == 2 || self.tuning.learn == 4 { let w = &mut self.weight[place.index()]; *w = 1.0 + (*w - 1.0) * 0.95; }
            self.since_best += 1;
        }
        Ok(())
    }
    fn draw_kind(&mut self) -> BurstKind {
        let total: f64 = self.tuning.kinds.iter().sum();
        let mut x = self.random.unit() * total;
        for (k, w) in BurstKind::ALL.iter().zip(&self.tuning.kinds) { if x < *w { return *k; } x -= w; }
        BurstKind::Cluster
    }
    fn draw_place(&mut self) -> NodeIdx {
        let n = self.position.dag().nodes();
        if self.tuning.learn == 0 || self.tuning.learn == 3 { return NodeIdx::new(self.random.below(n)); }
        loop {
            let at = self.random.below(n);
            if self.random.unit() * 5.0 < self.weight[at] { return NodeIdx::new(at); }
        }
    }
    pub fn stalled(&self) -> bool { self.since_best >= self.tuning.stall }
    pub fn reseed(&mut self, base: &EliteRow, mate: &EliteRow) -> Result<(), OutOfBudget> {
        self.position.move_to(base.structure.families(), &mut self.evaluator)?;
        let n = self.position.dag().nodes();
        let place = NodeIdx::new(self.random.below(n));
        let r = self.tuning.region;
        let size = ((n as f64 * r) as usize).max(2);
        self.explorer.drop_region(place, size, &mut self.position, &self.evaluator, &mut self.random);
        self.position.climb(&mut self.evaluator, &mut self.random)?;
        if self.tuning.reseed == 0 {
        let child = recombine(&self.position.row(), mate, &mut self.evaluator)?;
        self.position.move_to(child.structure.families(), &mut self.evaluator)?;
        self.position.climb(&mut self.evaluator, &mut self.random)?;
        }
        self.position.mark();
        self.since_best = 0;
        self.run_row = self.position.row();
        self.run_best = self.position.score().value();
        if self.run_best > self.best.score.value() + 1e-9 { self.best = self.position.row(); }
        Ok(())
    }
    pub fn row(&self) -> EliteRow { self.run_row.clone() }
}
