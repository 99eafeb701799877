//! The linear relaxation: families may be chosen in parts, cuts must hold. Solved by the dual simplex
//! method on a dense dictionary, which goes on from where it was when a cut is added or families are
//! removed.
//!
//! Nothing here is trusted: only its multipliers are used, and the bound that they give is computed
//! in whole units elsewhere (`cuts::bound`).

use super::cuts::{Cut, CutKind, Multipliers};
use super::model::{Alive, Model};
use crate::ids::{NodeIdx, Seed};
use crate::random::Random;
use std::sync::Arc;

/// A variable of the linear programme: a family, or the slack of a cut (numbered after them).
type Variable = usize;

/// The dictionary: each basic variable = value - sum of row x non-basic variables.
#[derive(Clone, Debug)]
pub(super) struct Relaxation {
    families: usize,
    /// Units per unit of the costs here, so that those are of the size of nats.
    scale: f64,
    basic: Vec<Variable>,
    value: Vec<f64>,
    rows: Vec<Vec<f64>>,
    nonbasic: Vec<Variable>,
    reduced: Vec<f64>,
    objective: f64,
    cuts: Vec<Arc<Cut>>,
    /// Which families may not be used any more but are still basic.
    removed: Vec<bool>,
}

/// How solving ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Solved {
    /// At the optimum.
    Optimal,
    /// A row shows that no solution is left, as far as floating point can tell.
    Infeasible(usize),
    /// After the pivots that were allowed.
    Unfinished,
}

/// Numbers smaller than this count as 0.
const ZERO: f64 = 1e-9;
/// The smallest number that is divided by.
const LEAST_PIVOT: f64 = 1e-7;
/// How much the costs are disturbed in all, so that ties do not stall the method; in nats.
const DISTURBANCE: f64 = 2e-7;

impl Relaxation {
    /// Begins with the cheapest family of each variable. `units_per_nat` sets the scale.
    pub(super) fn new(model: &Model, alive: &Alive, units_per_nat: f64) -> Self {
        let mut random = Random::new(Seed(1));
        let disturbed = |units: i64, random: &mut Random| {
            to_float(units) / units_per_nat
                + DISTURBANCE / to_float(count(model.nodes())) * (0.5 + random.unit() / 2.0)
        };
        let mut relaxation = Self {
            families: model.len(),
            scale: units_per_nat,
            basic: Vec::new(),
            value: Vec::new(),
            rows: Vec::new(),
            nonbasic: Vec::new(),
            reduced: Vec::new(),
            objective: 0.0,
            cuts: Vec::new(),
            removed: vec![false; model.len()],
        };
        let mut column_of_child = Vec::new();
        for child in NodeIdx::all(model.nodes()) {
            // Families are sorted by cost: the first left is the cheapest.
            let mut families = alive.of(model, child);
            let Some(cheapest) = families.next() else {
                continue;
            };
            let least = model.cost(cheapest);
            relaxation.basic.push(cheapest);
            relaxation.value.push(1.0);
            relaxation.objective += to_float(least) / units_per_nat;
            let first = relaxation.nonbasic.len();
            for family in families {
                relaxation.nonbasic.push(family);
                let more = model.cost(family) - least;
                relaxation.reduced.push(disturbed(more, &mut random));
            }
            column_of_child.push(first..relaxation.nonbasic.len());
        }
        for columns in column_of_child {
            let mut row = vec![0.0; relaxation.nonbasic.len()];
            row[columns].fill(1.0);
            relaxation.rows.push(row);
        }
        relaxation
    }

    pub(super) fn objective(&self) -> f64 {
        self.objective
    }

    /// Returns how many numbers the dictionary holds.
    pub(super) fn size(&self) -> usize {
        self.rows.len() * self.nonbasic.len()
    }

    /// Returns the families that the solution uses, and how much of each.
    pub(super) fn solution(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.basic
            .iter()
            .zip(&self.value)
            .filter(|&(&variable, &value)| variable < self.families && value > ZERO)
            .map(|(&family, &value)| (family, value))
    }

    /// Adds a cut.
    pub(super) fn add(&mut self, model: &Model, cut: Arc<Cut>) {
        // slack = sum of families that count - 1 for clusters, 1 - sum for packings.
        let sign = match cut.kind {
            CutKind::Cluster => 1.0,
            CutKind::Packing => -1.0,
        };
        let mut value = -sign;
        let mut row: Vec<f64> = self
            .nonbasic
            .iter()
            .map(|&variable| {
                let counts = variable < self.families && cut.counts(model, variable);
                if counts { -sign } else { 0.0 }
            })
            .collect();
        for (at, &variable) in self.basic.iter().enumerate() {
            if variable < self.families && cut.counts(model, variable) {
                value += sign * self.value[at];
                for (sum, part) in row.iter_mut().zip(&self.rows[at]) {
                    *sum += sign * part;
                }
            }
        }
        self.basic.push(self.families + self.cuts.len());
        self.cuts.push(cut);
        self.value.push(value);
        self.rows.push(row);
    }

    /// Removes families that are not left; those that are basic leave when the problem is solved.
    pub(super) fn keep(&mut self, alive: &Alive) {
        let families = self.families;
        let stays = |variable: Variable| variable >= families || alive.has(variable);
        for &variable in &self.basic {
            if !stays(variable) {
                self.removed[variable] = true;
            }
        }
        let kept: Vec<usize> = (0..self.nonbasic.len())
            .filter(|&column| stays(self.nonbasic[column]))
            .collect();
        self.keep_columns(&kept);
    }

    fn keep_columns(&mut self, kept: &[usize]) {
        if kept.len() == self.nonbasic.len() {
            return;
        }
        self.nonbasic = kept.iter().map(|&column| self.nonbasic[column]).collect();
        self.reduced = kept.iter().map(|&column| self.reduced[column]).collect();
        for row in &mut self.rows {
            *row = kept.iter().map(|&column| row[column]).collect();
        }
    }

    /// Drops cuts that are far from binding.
    pub(super) fn drop_loose_cuts(&mut self) {
        let mut at = 0;
        while at < self.basic.len() {
            if self.basic[at] >= self.families && self.value[at] > 0.05 {
                self.basic.swap_remove(at);
                self.value.swap_remove(at);
                self.rows.swap_remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Returns the cuts that are still in the dictionary.
    pub(super) fn cuts_in_use(&self) -> Vec<Arc<Cut>> {
        let variables = self.basic.iter().chain(&self.nonbasic);
        let mut used: Vec<Variable> = variables
            .copied()
            .filter(|&variable| variable >= self.families)
            .collect();
        used.sort_unstable();
        used.iter()
            .map(|&variable| Arc::clone(&self.cuts[variable - self.families]))
            .collect()
    }

    /// Solves, with at most so many pivots; `go_on` is asked now and then.
    pub(super) fn solve(&mut self, most_pivots: usize, go_on: &dyn Fn() -> bool) -> Solved {
        for pivots in 0..most_pivots {
            if pivots % 16 == 15 && !go_on() {
                return Solved::Unfinished;
            }
            let Some((row, rising)) = self.leaving() else {
                return Solved::Optimal;
            };
            let Some(column) = self.entering(row, rising) else {
                return Solved::Infeasible(row);
            };
            self.pivot(row, column);
        }
        Solved::Unfinished
    }

    /// Finds the basic variable that is furthest from what it may be, and whether it has to rise.
    fn leaving(&self) -> Option<(usize, bool)> {
        let mut worst: Option<(usize, bool, f64)> = None;
        for (at, (&variable, &value)) in self.basic.iter().zip(&self.value).enumerate() {
            let is_removed = variable < self.families && self.removed[variable];
            let (rising, by) = match (value < 0.0, is_removed) {
                (true, _) => (true, -value),
                (false, true) => (false, value),
                _ => continue,
            };
            if by > ZERO && worst.is_none_or(|(_, _, most)| by > most) {
                worst = Some((at, rising, by));
            }
        }
        worst.map(|(at, rising, _)| (at, rising))
    }

    /// Finds the non-basic variable that keeps all reduced costs at least 0: by the smallest ratio, and
    /// among those that are about as small by the largest pivot (Harris).
    fn entering(&self, row: usize, rising: bool) -> Option<usize> {
        const TOLERANCE: f64 = 1e-9;
        let pivots = || {
            let signed = self.rows[row]
                .iter()
                .map(move |&number| if rising { -number } else { number });
            signed.zip(&self.reduced).enumerate()
        };
        let mut limit = f64::INFINITY;
        for (_, (pivot, &reduced)) in pivots() {
            if pivot > LEAST_PIVOT {
                limit = limit.min((reduced.max(0.0) + TOLERANCE) / pivot);
            }
        }
        let mut best: Option<(usize, f64)> = None;
        for (column, (pivot, &reduced)) in pivots() {
            if pivot > LEAST_PIVOT
                && reduced.max(0.0) <= limit * pivot
                && best.is_none_or(|(_, largest)| pivot > largest)
            {
                best = Some((column, pivot));
            }
        }
        best.map(|(column, _)| column)
    }

    fn pivot(&mut self, row: usize, column: usize) {
        let pivot = self.rows[row][column];
        let leaving = self.basic[row];
        let mut through = std::mem::take(&mut self.rows[row]);
        for number in &mut through {
            *number /= pivot;
        }
        through[column] = 1.0 / pivot;
        self.value[row] /= pivot;
        let value = self.value[row];
        for (other, numbers) in self.rows.iter_mut().enumerate() {
            if other == row {
                continue;
            }
            let factor = numbers[column];
            if factor.abs() <= 1e-13 {
                numbers[column] = 0.0;
                continue;
            }
            for (number, part) in numbers.iter_mut().zip(&through) {
                *number -= factor * part;
            }
            numbers[column] = -factor / pivot;
            self.value[other] -= factor * value;
        }
        let factor = self.reduced[column];
        for (reduced, part) in self.reduced.iter_mut().zip(&through) {
            *reduced -= factor * part;
        }
        self.reduced[column] = -factor / pivot;
        self.objective += factor * value;
        self.rows[row] = through;
        self.basic[row] = self.nonbasic[column];
        self.nonbasic[column] = leaving;
        if leaving < self.families && self.removed[leaving] {
            let kept: Vec<usize> = (0..self.nonbasic.len())
                .filter(|&at| at != column)
                .collect();
            self.keep_columns(&kept);
        }
    }

    /// Returns the multipliers of the cuts in whole units. After an infeasible end they are moved
    /// along the row that shows it, until the bound has risen by `more` units.
    pub(super) fn multipliers(&self, solved: Solved, more: i64) -> Multipliers {
        let (ray, length) = match solved {
            Solved::Infeasible(row) => {
                let by = self.value[row].abs().max(ZERO);
                let sign = if self.value[row] < 0.0 { 1.0 } else { -1.0 };
                (
                    Some((row, sign)),
                    to_float(more.max(0)) / self.scale / by * 1.01,
                )
            }
            _ => (None, 0.0),
        };
        let mut found = Vec::new();
        let mut note = |variable: Variable, nats: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "saturates, far outside the range"
            )]
            let units = (nats * self.scale) as i64;
            if variable >= self.families && units > 0 {
                found.push((Arc::clone(&self.cuts[variable - self.families]), units));
            }
        };
        for (column, (&variable, &reduced)) in self.nonbasic.iter().zip(&self.reduced).enumerate() {
            let along = ray.map_or(0.0, |(row, sign)| sign * self.rows[row][column] * length);
            note(variable, reduced + along);
        }
        if let Some((row, _)) = ray {
            note(self.basic[row], length);
        }
        found.sort();
        found.into()
    }
}

#[expect(clippy::cast_precision_loss, reason = "costs are below 2^53 units")]
fn to_float(units: i64) -> f64 {
    units as f64
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
