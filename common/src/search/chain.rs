//! RLBayes, the default search.
use super::explore::{BurstKind, Explorer, walk_in_class};
use super::position::Position;
use super::problem::{Evaluator, OutOfBudget};
use super::random::Random;
use super::recombine::recombine;
use crate::elite::{EliteRow, Structure};
use crate::ids::{NodeIdx, Seed};
use crate::score::LogScore;

/// Lab settings.
#[derive(Clone, Debug)]
pub struct Tuning {
    pub temperature: f64,
    pub stall: u64,
    pub walk: usize,
    pub region: f64,
    pub kinds: Vec<f64>,
    pub learn: bool,
}

/// One chain.
#[derive(Debug)]
pub struct Chain {
    pub evaluator: Evaluator,
    pub position: Position,
    random: Random,
    explorer: Explorer,
    pub best: EliteRow,
    pub run_best: f64,
    pub since_best: u64,
    pub episodes: u64,
    tuning: Tuning,
    pub accepted: u64,
    pub wins: [f64; 5],
    pub tries: [f64; 5],
    weight: Vec<f64>,
}

impl Chain {
    pub fn new(mut evaluator: Evaluator, start: crate::graph::Dag, seed: Seed, tuning: Tuning) -> Result<Self, OutOfBudget> {
        let mut random = Random::new(seed);
        let n = start.nodes();
        let mut position = Position::new(start, &mut evaluator)?;
        position.climb(&mut evaluator, &mut random)?;
        position.mark();
        let best = row_of(&position);
        let run_best = best.score.value();
        Ok(Self { evaluator, position, random, explorer: Explorer::default(), best, run_best, since_best: 0, episodes: 0, tuning, accepted: 0, wins: [0.0; 5], tries: [0.0; 5], weight: vec![1.0; n] })
    }

    pub fn episode(&mut self) -> Result<(), OutOfBudget> {
        self.episodes += 1;
        if self.tuning.walk > 0 && self.random.chance(0.5) {
            let steps = 1 + self.random.below(self.tuning.walk);
            walk_in_class(steps, &mut self.position, &self.evaluator, &mut self.random);
            self.position.refresh(&mut self.evaluator)?;
        }
        self.position.mark();
        let before = self.position.score().value();
        let kind = self.draw_kind();
        let place = self.draw_place();
        let bursts = if self.random.chance(0.2) { 2 } else { 1 };
        let ev0 = self.evaluator.evaluations();
        for _ in 0..bursts {
            self.explorer.burst(kind, place, &mut self.position, &self.evaluator, &mut self.random);
        }
        self.position.climb(&mut self.evaluator, &mut self.random)?;
        let after = self.position.score().value();
        let k = kind as usize;
        self.tries[k] += (self.evaluator.evaluations() - ev0) as f64;
        let delta = after - before;
        if delta > 1e-9 { self.wins[k] += 1.0; }
        if self.tuning.learn {
            let w = &mut self.weight[place.index()];
            if delta > 1e-9 { *w += 4.0; } else { *w = (*w * 0.97).max(0.2); }
        }
        let accept = delta >= 0.0 || (self.tuning.temperature > 0.0 && self.random.unit() < (delta / self.tuning.temperature).exp());
        if !accept {
            self.position.back_to_mark();
        } else { self.accepted += 1; }
        let now = self.position.score().value();
        if now > self.run_best + 1e-9 {
            self.run_best = now;
            self.since_best = 0;
            if now > self.best.score.value() + 1e-9 { self.best = row_of(&self.position); }
        } else {
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
        if !self.tuning.learn { return NodeIdx::new(self.random.below(n)); }
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
        let size = ((n as f64 * self.tuning.region) as usize).max(2);
        self.explorer.drop_region(place, size, &mut self.position, &self.evaluator, &mut self.random);
        self.position.climb(&mut self.evaluator, &mut self.random)?;
        let child = recombine(&row_of(&self.position), mate, &mut self.evaluator)?;
        self.position.move_to(child.structure.families(), &mut self.evaluator)?;
        self.position.climb(&mut self.evaluator, &mut self.random)?;
        self.position.mark();
        self.since_best = 0;
        self.run_best = self.position.score().value();
        if self.run_best > self.best.score.value() + 1e-9 { self.best = row_of(&self.position); }
        Ok(())
    }
    pub fn row(&self) -> EliteRow { row_of(&self.position) }
}

fn row_of(position: &Position) -> EliteRow {
    let families = position.benefits().iter().map(|f| f.parents().clone()).collect();
    let score: f64 = position.benefits().iter().map(|f| f.score().value()).sum();
    EliteRow { structure: Structure::from_families(families), score: LogScore::new(score) }
}
