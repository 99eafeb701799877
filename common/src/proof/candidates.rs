//! Candidate parent sets of one variable: those that no subset of theirs beats or equals. No other
//! set is needed in a best network, since the smaller set scores as well and closes no new cycle.
//!
//! Sets are visited by size. A set is scored only if all its subsets with one parent less are still
//! open; it is closed, with everything above it, when one of these holds (each bound is proven for
//! real numbers; `slack` covers the rounding of terms to units):
//!
//! - *Best fit.* The fit of no larger set can exceed a limit, and that limit minus the penalty is
//!   not above the best subset. For the likelihood the limit is its value given all candidates. For
//!   BDeu every cell with rows costs at least ln r: the first of its rows has a predictive probability
//!   of (a / r) / (a + i) <= 1 / r; splitting never makes such cells fewer. For K2 every cell costs at
//!   least what it would cost as a configuration of its own: (a + s)! (b + s)! <= s! (a + b + s)!.
//! - *Gain.* Adding Y to any set that contains S raises the likelihood by at most the sum over the
//!   cells of S of min(N H(X | cell), N H(Y | cell)), which falls as cells are split. If that does
//!   not pay for the parameters that Y adds to S, every set that contains S and Y is no better than
//!   the same set without Y.

use super::partition::{Cells, ChildRows, Partition};
use crate::data::Table;
use crate::ids::NodeIdx;
use crate::score::{FamilyTerms, TermTables};
use crate::search::Constraints;
use rustc_hash::FxHashMap;

/// A parent set with its score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The parents, in order.
    pub parents: Vec<NodeIdx>,
    /// The local score in whole units of the table's fixed-point numbers.
    pub units: i64,
}

/// Which parent sets of a variable were taken into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    /// Those with up to so many parents.
    UpTo(usize),
    /// All that the constraints allow.
    All,
}

/// The candidate parent sets of one variable.
#[derive(Clone, Debug)]
pub struct Candidates {
    /// The sets, by size and then in order.
    pub families: Vec<Family>,
    /// Which sets were taken into account.
    pub coverage: Coverage,
    /// How many sets were scored.
    pub evaluations: u64,
}

/// How much may be spent on one variable.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Sets that may be scored.
    pub evaluations: u64,
    /// Bytes that open sets may take.
    pub bytes: usize,
}

impl Effort {
    /// Whatever it takes.
    pub const ANY: Self = Self {
        evaluations: u64::MAX,
        bytes: usize::MAX,
    };
}

/// Finds the candidate parent sets of `child`. `go_on` is asked now and then; where it says no, or
/// the effort is used up, what is complete so far is returned.
pub(crate) fn candidates(
    table: &Table,
    terms: &FamilyTerms,
    constraints: &Constraints,
    child: NodeIdx,
    effort: Effort,
    go_on: &dyn Fn() -> bool,
) -> Candidates {
    levels(table, terms, constraints, child, effort, go_on).run(constraints.max_parents())
}

/// Makes every bound wrong: tighter by so many units than is proven.
#[cfg(test)]
pub(super) fn candidates_with_wrong_bound(
    prover: &super::Prover,
    child: NodeIdx,
    by: i64,
) -> Candidates {
    let (table, constraints) = (prover.table(), prover.constraints());
    let terms = FamilyTerms::new(table, prover.spec());
    let mut levels = levels(table, &terms, constraints, child, Effort::ANY, &|| true);
    levels.slack -= by;
    levels.run(constraints.max_parents())
}

fn levels<'a>(
    table: &Table,
    terms: &'a FamilyTerms,
    constraints: &Constraints,
    child: NodeIdx,
    effort: Effort,
    go_on: &'a dyn Fn() -> bool,
) -> Levels<'a> {
    let required = constraints.required().parents(child).to_vec();
    let mut addable = Vec::new();
    constraints.list_addable(child, &required, &mut addable);
    let mut rows_of: Vec<NodeIdx> = addable.iter().chain(&required).copied().collect();
    rows_of.sort_unstable();
    let rows = ChildRows::new(table, child, &rows_of);
    Levels::new(table, terms, child, required, addable, rows, effort, go_on)
}

/// What is known of a set: the best score of it and its subsets, and what no larger set's fit
/// exceeds.
#[derive(Clone, Copy, Debug)]
struct Known {
    best: i64,
    most_fit: i64,
}

/// The open sets of one size: their members by rank, packed so that they sort as the sets do.
#[derive(Debug, Default)]
struct Open {
    sets: Vec<(u128, Known)>,
    by_key: FxHashMap<u128, Known>,
}

/// Bytes that an open set takes, with the room that a hash table leaves free.
const BYTES_PER_SET: usize = 2 * 2 * size_of::<(u128, Known)>();

/// Family sizes whose terms are kept.
const MOST_SIZES: usize = 64;

/// A scored set.
struct Scored {
    units: i64,
    /// What the last parent can gain at most in any larger set.
    most_gain: i64,
    /// What the fit of no larger set exceeds.
    most_fit: i64,
}

struct Levels<'a> {
    terms: &'a FamilyTerms,
    child_states: usize,
    arities: Vec<usize>,
    required: Vec<NodeIdx>,
    /// Candidates by rank, the most informative first.
    ranked: Vec<NodeIdx>,
    rows: ChildRows,
    keep: Cells,
    /// The cells of the required parents, then of each prefix of the set at hand.
    stack: Vec<Partition>,
    path: Vec<usize>,
    slack: i64,
    effort: Effort,
    go_on: &'a dyn Fn() -> bool,
    ln_states: i64,
    /// The terms, where they do not depend on the size of a family.
    fixed: Option<TermTables>,
    /// Terms of the family sizes that came up, at most [`MOST_SIZES`].
    tables: FxHashMap<u64, TermTables>,
    scratch: Vec<u32>,
    found: Vec<Family>,
    evaluations: u64,
}

impl<'a> Levels<'a> {
    #[expect(
        clippy::too_many_arguments,
        reason = "parts of one set-up, named here once"
    )]
    fn new(
        table: &Table,
        terms: &'a FamilyTerms,
        child: NodeIdx,
        required: Vec<NodeIdx>,
        addable: Vec<NodeIdx>,
        rows: ChildRows,
        effort: Effort,
        go_on: &'a dyn Fn() -> bool,
    ) -> Self {
        let keep = match terms.is_likelihood() {
            true => Cells::Impure,
            false => Cells::Occupied,
        };
        let mut base = rows.all().clone();
        for &parent in &required {
            let mut split = Partition::default();
            rows.refine(&base, parent, keep, &mut split);
            base = split;
        }
        let child_states = table.arity(child);
        Self {
            terms,
            child_states,
            arities: NodeIdx::all(table.nodes())
                .map(|node| table.arity(node))
                .collect(),
            required,
            ranked: addable,
            rows,
            keep,
            stack: vec![base],
            path: Vec::new(),
            // A fit is a sum of at most two terms for each row, each rounded by half a unit.
            slack: 4 * i64::try_from(table.rows()).unwrap_or(i64::MAX / 8) + 8,
            effort,
            go_on,
            ln_states: terms.units(libm::log(number(child_states))),
            fixed: (!terms.depend_on_size()).then(|| terms.tables(child_states, 1.0)),
            tables: FxHashMap::default(),
            scratch: Vec::new(),
            found: Vec::new(),
            evaluations: 0,
        }
    }

    fn run(mut self, max_parents: usize) -> Candidates {
        let base = self.base();
        let mut size = self.required.len();
        let limit = max_parents.min(size + self.most_packed());
        let mut coverage = Coverage::All;
        if size < limit && !self.ranked.is_empty() {
            let mut open = self.singles(base);
            size += 1;
            while !open.sets.is_empty() && size < limit {
                match self.next(&open, size - self.required.len()) {
                    Some(next) => open = next,
                    None => {
                        coverage = Coverage::UpTo(size);
                        break;
                    }
                }
                size += 1;
            }
            if !open.sets.is_empty() && coverage == Coverage::All && limit < max_parents {
                coverage = Coverage::UpTo(size);
            }
        }
        Candidates {
            families: self.found,
            coverage,
            evaluations: self.evaluations,
        }
    }

    /// How many ranks fit into a key.
    fn most_packed(&self) -> usize {
        (128 / self.rank_bits()) as usize
    }

    fn rank_bits(&self) -> u32 {
        (usize::BITS - self.ranked.len().leading_zeros()).max(1)
    }

    /// Scores the required parents alone.
    fn base(&mut self) -> Known {
        let configurations = self.configurations(&[]);
        let tables = self.tables_of(configurations);
        let mut fit = 0;
        let mut most_fit = 0;
        let mut observed = 0;
        for counts in self.stack[0].counts(self.child_states) {
            let total: u32 = counts.iter().sum();
            fit += counts
                .iter()
                .map(|&count| tables.cell[count as usize])
                .sum::<i64>()
                - tables.configuration[total as usize];
            observed += occupied(counts);
            most_fit += self.fit_of_pure_cells(&tables, counts);
        }
        let units = fit - self.penalty(configurations);
        self.found.push(Family {
            parents: self.required.clone(),
            units,
        });
        self.evaluations += 1;
        let most_fit = match self.limit_by() {
            LimitBy::Likelihood => self.fit_given_everything() + self.slack,
            LimitBy::Configurations => self.slack - observed * self.ln_states,
            LimitBy::Cells => most_fit + self.slack,
        };
        Known {
            best: units,
            most_fit,
        }
    }

    /// The likelihood given every candidate: no set has a larger one.
    fn fit_given_everything(&self) -> i64 {
        let mut cells = self.stack[0].clone();
        let mut split = Partition::default();
        for &candidate in &self.ranked {
            self.rows.refine(&cells, candidate, self.keep, &mut split);
            std::mem::swap(&mut cells, &mut split);
        }
        let tables = self.terms.tables(self.child_states, 1.0);
        cells
            .counts(self.child_states)
            .map(|counts| {
                let total: u32 = counts.iter().sum();
                counts
                    .iter()
                    .map(|&count| tables.cell[count as usize])
                    .sum::<i64>()
                    - tables.configuration[total as usize]
            })
            .sum()
    }

    /// Scores sets of one further parent, and ranks the candidates by it.
    fn singles(&mut self, base: Known) -> Open {
        let mut scored: Vec<(NodeIdx, Scored)> = Vec::new();
        for candidate in self.ranked.clone() {
            let known = self.score(&[], candidate, base);
            scored.push((candidate, known));
        }
        // By fit: the penalty says nothing about how well cells are told apart.
        let before = self.required_configurations();
        let fit = |(candidate, scored): &(NodeIdx, Scored)| {
            scored.units + self.penalty(before * number(self.arities[candidate.index()]))
        };
        scored.sort_by_key(|pair| (std::cmp::Reverse(fit(pair)), pair.0));
        self.ranked = scored.iter().map(|(candidate, _)| *candidate).collect();
        let mut open = Open::default();
        for (rank, (candidate, scored)) in scored.into_iter().enumerate() {
            self.settle(&[rank], candidate, before, scored, base, &mut open);
        }
        open
    }

    /// Scores the sets of the next size; `None` if there was not enough effort for all of them.
    fn next(&mut self, open: &Open, members: usize) -> Option<Open> {
        let bits = self.rank_bits();
        let mask = (1_u128 << bits) - 1;
        let mut next = Open::default();
        let mut ranks = Vec::new();
        let mut further: Vec<(usize, Known)> = Vec::new();
        let mut without: Vec<u128> = Vec::new();
        let mut at = 0;
        while at < open.sets.len() {
            let prefix = open.sets[at].0 >> bits;
            let siblings = open.sets[at..]
                .iter()
                .take_while(|(key, _)| key >> bits == prefix);
            let end = at + siblings.count();
            for first in at..end {
                if first % 64 == 0 && !(self.go_on)() {
                    return None;
                }
                let (key, known) = open.sets[first];
                unpack(key, bits, members, &mut ranks);
                without.clear();
                without.extend((0..members - 1).map(|left_out| {
                    let kept = ranks.iter().enumerate().filter(|(at, _)| *at != left_out);
                    kept.fold(0, |key, (_, &rank)| key << bits | rank as u128) << bits
                }));
                let configurations = self.configurations(&ranks);
                further.clear();
                for &(other, with_other) in &open.sets[first + 1..end] {
                    let rank = (other & mask) as usize;
                    let both = Known {
                        best: known.best.max(with_other.best),
                        most_fit: known.most_fit.min(with_other.most_fit),
                    };
                    // The cheap question first, with what is known already.
                    if self.can_pay(both, configurations, rank)
                        && let Some(both) = known_of_subsets(open, &without, rank, both)
                        && self.can_pay(both, configurations, rank)
                    {
                        further.push((rank, both));
                    }
                }
                if further.is_empty() {
                    continue;
                }
                self.evaluations += further.len() as u64;
                if self.evaluations > self.effort.evaluations
                    || (next.sets.len() + further.len()) * BYTES_PER_SET > self.effort.bytes
                {
                    return None;
                }
                self.split_to(&ranks);
                for &(rank, known) in &further {
                    let candidate = self.ranked[rank];
                    let scored = self.score(&ranks, candidate, known);
                    ranks.push(rank);
                    self.settle(&ranks, candidate, configurations, scored, known, &mut next);
                    ranks.pop();
                }
            }
            at = end;
        }
        Some(next)
    }

    /// Returns whether a set with one further parent, or one above it, could beat the best subset.
    fn can_pay(&self, known: Known, configurations: f64, rank: usize) -> bool {
        let arity = number(self.arities[self.ranked[rank].index()]);
        let penalty = self.penalty(configurations * arity);
        known.most_fit.saturating_sub(penalty) > known.best
    }

    /// Records a scored set if it beats its subsets, and keeps it open if larger ones could.
    fn settle(
        &mut self,
        ranks: &[usize],
        last: NodeIdx,
        configurations: f64,
        scored: Scored,
        known: Known,
        open: &mut Open,
    ) {
        if scored.units > known.best {
            let members = ranks.iter().map(|&rank| self.ranked[rank]);
            let mut parents: Vec<NodeIdx> = self.required.iter().copied().chain(members).collect();
            parents.sort_unstable();
            self.found.push(Family {
                parents,
                units: scored.units,
            });
        }
        let with = configurations * number(self.arities[last.index()]);
        let cost = self
            .penalty(with)
            .saturating_sub(self.penalty(configurations));
        if scored.most_gain.saturating_add(self.slack) <= cost {
            return;
        }
        let bits = self.rank_bits();
        let key = ranks
            .iter()
            .fold(0, |key, &rank| key << bits | rank as u128);
        let known = Known {
            best: known.best.max(scored.units),
            most_fit: known.most_fit.min(scored.most_fit),
        };
        open.sets.push((key, known));
        open.by_key.insert(key, known);
    }

    /// Scores the set on top of the stack with one further parent.
    fn score(&mut self, ranks: &[usize], candidate: NodeIdx, known: Known) -> Scored {
        let arity = self.arities[candidate.index()];
        let configurations = self.configurations(ranks) * number(arity);
        let tables = self.tables_of(configurations);
        if ranks.is_empty() {
            self.evaluations += 1;
        }
        let top = &self.stack[ranks.len()];
        let states = self.child_states;
        let (cell, configuration) = (&tables.cell[..], &tables.configuration[..]);
        let mut fit = 0;
        match self.limit_by() {
            LimitBy::Likelihood => {
                let mut most_gain = 0;
                self.rows
                    .split_counts(top, candidate, &mut self.scratch, |counts| {
                        let mut by_child = 0;
                        let mut total = 0;
                        for &count in counts.before {
                            by_child += cell[count as usize];
                            total += count;
                        }
                        let mut by_candidate = 0;
                        let mut by_both = 0;
                        for split in counts.split.chunks_exact(states) {
                            let mut rows = 0;
                            for &count in split {
                                by_both += cell[count as usize];
                                rows += count;
                            }
                            by_candidate += cell[rows as usize];
                        }
                        fit += by_both - by_candidate;
                        most_gain += cell[total as usize] - by_child.max(by_candidate);
                    });
                Scored {
                    units: fit - self.penalty(configurations),
                    most_gain,
                    most_fit: known.most_fit,
                }
            }
            LimitBy::Configurations => {
                let mut observed = 0;
                self.rows
                    .split_counts(top, candidate, &mut self.scratch, |counts| {
                        for split in counts.split.chunks_exact(states) {
                            let rows: u32 = split.iter().sum();
                            fit += split.iter().map(|&count| cell[count as usize]).sum::<i64>()
                                - configuration[rows as usize];
                            observed += occupied(split);
                        }
                    });
                Scored {
                    units: fit,
                    most_gain: i64::MAX,
                    most_fit: self.slack - observed * self.ln_states,
                }
            }
            LimitBy::Cells => {
                let mut pure = 0;
                self.rows
                    .split_counts(top, candidate, &mut self.scratch, |counts| {
                        for split in counts.split.chunks_exact(states) {
                            let rows: u32 = split.iter().sum();
                            for &count in split {
                                fit += cell[count as usize];
                                pure += cell[count as usize] - configuration[count as usize];
                            }
                            fit -= configuration[rows as usize];
                        }
                    });
                Scored {
                    units: fit,
                    most_gain: i64::MAX,
                    most_fit: pure + self.slack,
                }
            }
        }
    }

    fn limit_by(&self) -> LimitBy {
        match (self.terms.is_likelihood(), self.terms.is_k2()) {
            (true, _) => LimitBy::Likelihood,
            (_, true) => LimitBy::Cells,
            _ => LimitBy::Configurations,
        }
    }

    /// What a cell's rows would score if each state of the child were a configuration of its own.
    fn fit_of_pure_cells(&self, tables: &TermTables, counts: &[u32]) -> i64 {
        counts
            .iter()
            .map(|&count| tables.cell[count as usize] - tables.configuration[count as usize])
            .sum()
    }

    /// Splits the rows by the members of a set, from the prefix that the last set had in common.
    fn split_to(&mut self, ranks: &[usize]) {
        let common = self
            .path
            .iter()
            .zip(ranks)
            .take_while(|(a, b)| a == b)
            .count();
        self.path.truncate(common);
        for &rank in &ranks[common..] {
            let depth = self.path.len();
            if self.stack.len() < depth + 2 {
                self.stack.push(Partition::default());
            }
            let (below, above) = self.stack.split_at_mut(depth + 1);
            self.rows
                .refine(&below[depth], self.ranked[rank], self.keep, &mut above[0]);
            self.path.push(rank);
        }
    }

    fn required_configurations(&self) -> f64 {
        let arities = self
            .required
            .iter()
            .map(|parent| number(self.arities[parent.index()]));
        arities.product()
    }

    fn configurations(&self, ranks: &[usize]) -> f64 {
        let arities = ranks
            .iter()
            .map(|&rank| number(self.arities[self.ranked[rank].index()]));
        self.required_configurations() * arities.product::<f64>()
    }

    fn penalty(&self, configurations: f64) -> i64 {
        self.terms.penalty_of(self.child_states, configurations)
    }

    fn tables_of(&mut self, configurations: f64) -> TermTables {
        if let Some(tables) = &self.fixed {
            return tables.clone();
        }
        if self.tables.len() > MOST_SIZES {
            self.tables.clear();
        }
        let sized = self.tables.entry(configurations.to_bits());
        sized
            .or_insert_with(|| self.terms.tables(self.child_states, configurations))
            .clone()
    }
}

/// Adds what the other subsets of a set know: each is a key of `without` with `rank`. `None` if one
/// of them is closed.
fn known_of_subsets(open: &Open, without: &[u128], rank: usize, mut known: Known) -> Option<Known> {
    for key in without {
        let subset = open.by_key.get(&(key | rank as u128))?;
        known.best = known.best.max(subset.best);
        known.most_fit = known.most_fit.min(subset.most_fit);
    }
    Some(known)
}

/// What limits the fit of larger sets; see the top of the file.
enum LimitBy {
    Likelihood,
    Configurations,
    Cells,
}

/// Returns how many states have rows.
fn occupied(counts: &[u32]) -> i64 {
    counts.iter().map(|&count| i64::from(count > 0)).sum()
}

/// Lists the ranks that a key of so many members holds.
fn unpack(key: u128, bits: u32, members: usize, ranks: &mut Vec<usize>) {
    let mask = (1_u128 << bits) - 1;
    ranks.clear();
    let mut rest = key;
    for _ in 0..members {
        ranks.push((rest & mask) as usize);
        rest >>= bits;
    }
    ranks.reverse();
}

#[expect(clippy::cast_precision_loss, reason = "at most Variable::MAX_STATES")]
fn number(states: usize) -> f64 {
    states as f64
}
