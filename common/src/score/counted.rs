//! Scores of complete discrete tables. All have one shape: a sum of terms over cells, minus a sum
//! over parent configurations, minus a penalty; [`CountedTerms`] is what they differ in.

use super::local::{LocalScore, Scratch, Toggles, each_with_each};
use super::log_score::LogScore;
use super::spec::ScoreSpec;
use super::terms::Unit;
use crate::data::{CountIndex, Counter, Kernel, Table, TermSums, Terms};
use crate::ids::NodeIdx;
use std::fmt;
use std::sync::Arc;

/// The terms of one family of scores, in whole units.
pub(super) trait CountedTerms: fmt::Debug + Send + Sync + Sized + 'static {
    /// What is prepared once for all families of a size.
    type Prepared<'a>;

    /// Whether no cells ever score more than their configurations: then a penalty alone can tell
    /// that a further parent lowers the score.
    const FIT_IS_NEVER_POSITIVE: bool;

    /// Prepares the terms for a table.
    fn new(table: &Table, spec: &ScoreSpec, unit: Unit) -> Self;

    /// Returns how many bytes the terms for a table take at most.
    fn bytes_for(table: &Table) -> usize;

    /// Returns the nats that a free parameter costs.
    fn penalty(table: &Table, spec: &ScoreSpec) -> f64;

    /// Prepares for families of a size.
    fn prepare(&self, size: FamilySize) -> Self::Prepared<'_>;

    /// Returns the term of a cell.
    fn cell(&self, prepared: &Self::Prepared<'_>, count: u32) -> i64;

    /// Returns the term of a parent configuration.
    fn configuration(&self, prepared: &Self::Prepared<'_>, count: u32) -> i64;
}

/// The terms of families of one size.
struct SizedTerms<'a, T: CountedTerms> {
    terms: &'a T,
    prepared: T::Prepared<'a>,
}

impl<T: CountedTerms> Terms for SizedTerms<'_, T> {
    #[inline]
    fn cell(&self, count: u32) -> i64 {
        self.terms.cell(&self.prepared, count)
    }

    #[inline]
    fn configuration(&self, count: u32) -> i64 {
        self.terms.configuration(&self.prepared, count)
    }
}

/// Sizes of a family: how many cells and configurations there could be. Products of many arities
/// outgrow every integer, so these are floating-point numbers (exact below 2^53).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FamilySize {
    pub(super) states: usize,
    pub(super) configurations: f64,
}

impl FamilySize {
    fn of(table: &Table, node: NodeIdx, parents: &[NodeIdx]) -> Self {
        debug_assert!(parents.is_sorted(), "parents are in order");
        let arities = parents.iter().map(|&parent| number(table.arity(parent)));
        Self {
            states: table.arity(node),
            configurations: arities.product(),
        }
    }

    pub(super) fn cells(self) -> f64 {
        number(self.states) * self.configurations
    }

    fn parameters(self) -> f64 {
        (number(self.states) - 1.0) * self.configurations
    }

    fn with(self, candidate_states: usize) -> Self {
        Self {
            configurations: self.configurations * number(candidate_states),
            ..self
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most Variable::MAX_STATES")]
fn number(states: usize) -> f64 {
    states as f64
}

/// A score over the counts of a table.
#[derive(Debug)]
pub(super) struct Counted<T> {
    index: CountIndex,
    spec: ScoreSpec,
    unit: Unit,
    terms: T,
    /// Units that a free parameter costs.
    penalty: f64,
}

impl<T: CountedTerms> Counted<T> {
    pub(super) fn new(table: Arc<Table>, spec: ScoreSpec) -> Self {
        let unit = Unit::for_table(&table);
        Self {
            terms: T::new(&table, &spec, unit),
            penalty: unit.round_f64(T::penalty(&table, &spec)),
            index: CountIndex::new(table),
            spec,
            unit,
        }
    }

    /// Scores the family that `counter` has grouped.
    fn grouped_family(&self, size: FamilySize, counter: &Counter) -> f64 {
        self.score(counter.family_sums(&self.terms_for(size)), size)
    }

    /// Returns the score of a node without parents.
    fn alone(&self, node: NodeIdx) -> f64 {
        let size = FamilySize::of(self.index.table(), node, &[]);
        let terms = self.terms_for(size);
        let counts = self.index.rows_by_state(node).iter();
        let sums = TermSums {
            cells: counts.clone().map(|&count| terms.cell(count)).sum(),
            configurations: terms.configuration(counts.sum()),
        };
        self.score(sums, size)
    }

    fn terms_for(&self, size: FamilySize) -> SizedTerms<'_, T> {
        SizedTerms {
            terms: &self.terms,
            prepared: self.terms.prepare(size),
        }
    }

    #[inline]
    fn score(&self, sums: TermSums, size: FamilySize) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "the unit keeps scores below 2^53 units"
        )]
        let fit = (sums.cells - sums.configurations) as f64;
        let penalty = if self.penalty > 0.0 {
            self.penalty * size.parameters()
        } else {
            0.0
        };
        self.unit.nats(fit - penalty)
    }
}

impl<T: CountedTerms> LocalScore for Counted<T> {
    fn nodes(&self) -> usize {
        self.index.table().nodes()
    }

    fn spec(&self) -> &ScoreSpec {
        &self.spec
    }

    fn data_fingerprint(&self) -> [u8; 32] {
        self.index.table().fingerprint()
    }

    fn local(&self, node: NodeIdx, parents: &[NodeIdx], scratch: &mut Scratch) -> LogScore {
        let counter = &mut scratch.counter;
        counter.group(&self.index, node, parents);
        let size = FamilySize::of(self.index.table(), node, parents);
        LogScore::new(self.grouped_family(size, counter))
    }

    fn ceiling(&self, node: NodeIdx, parents: &[NodeIdx]) -> f64 {
        if !T::FIT_IS_NEVER_POSITIVE {
            // The logarithm of a probability.
            return 0.0;
        }
        let size = FamilySize::of(self.index.table(), node, parents);
        self.score(TermSums::default(), size)
    }

    fn with_each(
        &self,
        node: NodeIdx,
        parents: &[NodeIdx],
        request: Toggles<'_>,
        scratch: &mut Scratch,
        found: &mut dyn FnMut(NodeIdx, Option<f64>),
    ) -> LogScore {
        let Scratch {
            counter,
            candidates,
            family,
            ..
        } = scratch;
        let table = self.index.table();
        counter.group(&self.index, node, parents);
        let size = FamilySize::of(table, node, parents);
        let base = self.grouped_family(size, counter);
        for &parent in request.removals {
            family.clear();
            family.extend(parents.iter().copied().filter(|&other| other != parent));
            let without = FamilySize::of(table, node, family);
            let sums = counter.sums_without(&self.index, parent, &self.terms_for(without));
            found(parent, Some(self.score(sums, without)));
        }
        let with = |states: usize| size.with(states);
        candidates.clear();
        for &candidate in request.additions {
            let is_hopeless = T::FIT_IS_NEVER_POSITIVE
                && request.skip_hopeless
                && self.score(TermSums::default(), with(table.arity(candidate))) < base;
            if is_hopeless {
                found(candidate, None);
            } else {
                candidates.push(candidate);
            }
        }
        counter.sums_together(
            &self.index,
            candidates,
            request.kernel,
            |states| self.terms_for(with(states)),
            |candidate, sums| {
                let with = with(table.arity(candidate));
                found(candidate, Some(self.score(sums, with)));
            },
        );
        // Candidates with as many states make families of one size.
        let mut last: Option<(usize, SizedTerms<'_, T>)> = None;
        for &candidate in &*candidates {
            let states = table.arity(candidate);
            let terms = match &last {
                Some((known, terms)) if *known == states => terms,
                _ => &last.insert((states, self.terms_for(with(states)))).1,
            };
            let sums = counter.sums_with(&self.index, candidate, request.kernel, terms);
            found(candidate, Some(self.score(sums, with(states))));
        }
        LogScore::new(base)
    }

    fn pairs(
        &self,
        lines: &[NodeIdx],
        columns: &[NodeIdx],
        skip_hopeless: bool,
        scratch: &mut Scratch,
        found: &mut dyn FnMut(NodeIdx, NodeIdx, Option<f64>),
    ) {
        if !self.spec.name().is_score_equivalent() {
            return each_with_each(self, lines, columns, skip_hopeless, scratch, found);
        }
        let table = self.index.table();
        let mut alone = std::mem::take(&mut scratch.alone);
        alone.resize(table.nodes(), 0.0);
        for &node in columns {
            alone[node.index()] = self.alone(node);
        }
        let size = |node: NodeIdx, parent: NodeIdx| {
            FamilySize::of(table, node, &[]).with(table.arity(parent))
        };
        let is_hopeless = |node: NodeIdx, parent: NodeIdx| {
            T::FIT_IS_NEVER_POSITIVE
                && skip_hopeless
                && self.score(TermSums::default(), size(node, parent)) < alone[node.index()]
        };
        // Both directions of an edge make equivalent networks, which have one score to the bit.
        let mut report = |line: NodeIdx, column: NodeIdx, column_with_line: f64| {
            let gain = column_with_line - alone[column.index()];
            let line_with_column = alone[line.index()] + gain;
            for (node, parent, score) in [
                (column, line, column_with_line),
                (line, column, line_with_column),
            ] {
                found(node, parent, (!is_hopeless(node, parent)).then_some(score));
            }
        };
        let mut hopeless = Vec::new();
        let mut uncounted = Vec::new();
        let mut last: Option<(FamilySize, SizedTerms<'_, T>)> = None;
        let is_worth_it = |line: NodeIdx, column: NodeIdx| {
            let is_worth_it = !is_hopeless(column, line) || !is_hopeless(line, column);
            if !is_worth_it {
                hopeless.push((line, column));
            }
            is_worth_it
        };
        self.index.pairs(lines, columns, is_worth_it, |pair| {
            let Some(cells) = pair.cells else {
                uncounted.push((pair.column, pair.line));
                return;
            };
            let size = size(pair.column, pair.line);
            let terms = match &last {
                Some((known, terms)) if *known == size => terms,
                _ => &last.insert((size, self.terms_for(size))).1,
            };
            let configurations = self.index.rows_by_state(pair.line).iter();
            let sums = TermSums {
                cells: cells.iter().map(|&count| terms.cell(count)).sum(),
                configurations: configurations
                    .map(|&count| terms.configuration(count))
                    .sum(),
            };
            report(pair.line, pair.column, self.score(sums, size));
        });
        uncounted.sort_unstable();
        for of_column in uncounted.chunk_by(|a, b| a.0 == b.0) {
            let (column, _) = of_column[0];
            let lines: Vec<NodeIdx> = of_column.iter().map(|&(_, line)| line).collect();
            let request = Toggles {
                additions: &lines,
                removals: &[],
                skip_hopeless: false,
                kernel: Kernel::Auto,
            };
            self.with_each(column, &[], request, scratch, &mut |line, score| {
                if let Some(score) = score {
                    report(line, column, score);
                }
            });
        }
        for (line, column) in hopeless {
            found(column, line, None);
            found(line, column, None);
        }
        scratch.alone = alone;
    }
}
