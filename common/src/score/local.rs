//! The local score of (node, parents), counted from the table. All scores have one shape:
//! a sum of terms over cells, minus a sum over parent configurations, minus a penalty.

use super::log_score::LogScore;
use super::spec::{ScoreName, ScoreSpec};
use super::terms::{DirichletTables, Unit, ln_gamma_whole, x_ln_x};
use crate::data::{CountIndex, Counter, Kernel, Table, TermSums, Variable};
use crate::graph::Dag;
use crate::ids::NodeIdx;
use std::sync::Arc;

/// Computes local scores of one table under one score.
///
/// | score | cell term | configuration term | penalty a parameter |
/// |---|---|---|---|
/// | loglik, aic, bic | N ln N | N ln N | 0, 1, ln(rows) / 2 |
/// | bdeu | ln Γ(N + e/cells) - ln Γ(e/cells) | the same with e/configurations | 0 |
/// | k2 | ln Γ(N + 1) | ln Γ(N + r) - ln Γ(r) | 0 |
///
/// The bits of a local score depend on (node, set of parents) alone.
#[derive(Debug)]
pub struct Scorer {
    index: CountIndex,
    spec: ScoreSpec,
    unit: Unit,
    terms: Terms,
    /// Units a free parameter costs.
    penalty: f64,
}

#[derive(Debug)]
enum Terms {
    Likelihood(Vec<i64>),
    Dirichlet(DirichletTables),
    K2(Vec<i64>),
}

/// Sizes of a family: how many cells and configurations there could be. Products of many arities
/// outgrow every integer, so these are floating-point numbers (exact below 2^53).
#[derive(Clone, Copy, Debug)]
struct FamilySize {
    arity: f64,
    configurations: f64,
}

impl FamilySize {
    fn cells(self) -> f64 {
        self.arity * self.configurations
    }

    fn parameters(self) -> f64 {
        (self.arity - 1.0) * self.configurations
    }

    fn with(self, candidate_arity: f64) -> Self {
        Self {
            configurations: self.configurations * candidate_arity,
            ..self
        }
    }
}

impl Scorer {
    /// Prepares a table for scoring.
    #[must_use]
    pub fn new(table: Arc<Table>, spec: ScoreSpec) -> Self {
        let unit = Unit::for_table(&table);
        let rows = table.rows();
        #[expect(clippy::cast_precision_loss, reason = "rows are below 2^53")]
        let per_parameter = match spec.name() {
            ScoreName::Bic => libm::log(rows as f64) / 2.0,
            ScoreName::Aic => 1.0,
            ScoreName::LogLik | ScoreName::Bdeu | ScoreName::K2 => 0.0,
        };
        let terms = match spec.name() {
            ScoreName::LogLik | ScoreName::Bic | ScoreName::Aic => {
                Terms::Likelihood(x_ln_x(rows, unit))
            }
            ScoreName::Bdeu => Terms::Dirichlet(DirichletTables::new(rows, spec.ess(), unit)),
            ScoreName::K2 => {
                let most_states = NodeIdx::all(table.nodes())
                    .map(|node| table.arity(node))
                    .max()
                    .unwrap_or(1);
                Terms::K2(ln_gamma_whole(rows + most_states + 1, unit))
            }
        };
        let penalty = unit.round_f64(per_parameter * spec.penalty_scale());
        Self {
            index: CountIndex::new(table),
            spec,
            unit,
            terms,
            penalty,
        }
    }

    /// Returns how many bytes a scorer takes at most, without the table itself.
    #[must_use]
    pub fn bytes_for(table: &Table, spec: ScoreSpec) -> usize {
        let terms = match spec.name() {
            ScoreName::Bdeu => DirichletTables::bytes_for(table),
            // One for each count; k2 has a few more, one for each state.
            _ => (table.rows() + Variable::MAX_STATES + 2) * size_of::<i64>(),
        };
        terms + CountIndex::bytes_for(table)
    }

    /// Returns the table.
    #[must_use]
    pub fn table(&self) -> &Arc<Table> {
        self.index.table()
    }

    /// Returns the score's definition.
    #[must_use]
    pub fn spec(&self) -> &ScoreSpec {
        &self.spec
    }

    /// Returns the score of a node with a set of parents, which must be in order.
    pub fn local(&self, node: NodeIdx, parents: &[NodeIdx], counter: &mut Counter) -> LogScore {
        counter.group(&self.index, node, parents);
        LogScore::new(self.grouped_family(node, parents, counter))
    }

    /// Computes the score of a node with `parents` and with each candidate added to them; the
    /// candidates' scores are handed to `found`, the score without any is returned.
    ///
    /// Where `skip_hopeless` is set, a candidate whose score is below the one without it even if
    /// it explained the node completely is not counted and gets `None`.
    pub fn with_each(
        &self,
        node: NodeIdx,
        parents: &[NodeIdx],
        request: Additions<'_>,
        counter: &mut Counter,
        mut found: impl FnMut(NodeIdx, Option<f64>),
    ) -> LogScore {
        counter.group(&self.index, node, parents);
        let base = self.grouped_family(node, parents, counter);
        let size = self.family_size(node, parents);
        let mut dirichlet: Option<(f64, DirichletPair)> = None;
        for &candidate in request.candidates {
            let arity = self.arity(candidate);
            let with = size.with(arity);
            if request.skip_hopeless
                && let Terms::Likelihood(_) = self.terms
                && self.score(TermSums::default(), with) < base
            {
                found(candidate, None);
                continue;
            }
            let kernel = request.kernel;
            let sums = match &self.terms {
                Terms::Likelihood(terms) => {
                    let term = |count: u32| terms[count as usize];
                    counter.sums_with(&self.index, candidate, kernel, term, term)
                }
                Terms::Dirichlet(tables) => {
                    let pair = match &dirichlet {
                        Some((known, pair)) if known.total_cmp(&arity).is_eq() => pair,
                        _ => {
                            &dirichlet
                                .insert((arity, DirichletPair::new(tables, with)))
                                .1
                        }
                    };
                    counter.sums_with(
                        &self.index,
                        candidate,
                        kernel,
                        |count| pair.cell(tables, count),
                        |count| pair.configuration(tables, count),
                    )
                }
                Terms::K2(terms) => {
                    let states = self.table().arity(node);
                    counter.sums_with(
                        &self.index,
                        candidate,
                        kernel,
                        |count| terms[count as usize + 1],
                        |count| terms[count as usize + states] - terms[states],
                    )
                }
            };
            found(candidate, Some(self.score(sums, with)));
        }
        LogScore::new(base)
    }

    /// Returns the score of a structure: its local scores summed in node order.
    pub fn structure(&self, dag: &Dag, counter: &mut Counter) -> LogScore {
        let sum = NodeIdx::all(dag.nodes())
            .map(|node| self.local(node, dag.parents(node), counter).value())
            .sum();
        LogScore::new(sum)
    }

    /// Scores the family that `counter` has grouped.
    fn grouped_family(&self, node: NodeIdx, parents: &[NodeIdx], counter: &Counter) -> f64 {
        let size = self.family_size(node, parents);
        let sums = match &self.terms {
            Terms::Likelihood(terms) => {
                let term = |count: u32| terms[count as usize];
                counter.family_sums(term, term)
            }
            Terms::Dirichlet(tables) => {
                let pair = DirichletPair::new(tables, size);
                counter.family_sums(
                    |count| pair.cell(tables, count),
                    |count| pair.configuration(tables, count),
                )
            }
            Terms::K2(terms) => {
                let states = self.table().arity(node);
                counter.family_sums(
                    |count| terms[count as usize + 1],
                    |count| terms[count as usize + states] - terms[states],
                )
            }
        };
        self.score(sums, size)
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

    fn family_size(&self, node: NodeIdx, parents: &[NodeIdx]) -> FamilySize {
        debug_assert!(parents.is_sorted(), "parents are in order");
        let configurations = parents.iter().map(|&parent| self.arity(parent)).product();
        FamilySize {
            arity: self.arity(node),
            configurations,
        }
    }

    fn arity(&self, node: NodeIdx) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "at most Variable::MAX_STATES")]
        let arity = self.table().arity(node) as f64;
        arity
    }
}

/// Which additions to score, and how.
#[derive(Clone, Copy, Debug)]
pub struct Additions<'a> {
    /// The nodes that may become parents; none is a parent yet.
    pub candidates: &'a [NodeIdx],
    /// Whether to leave out candidates that can't raise the score.
    pub skip_hopeless: bool,
    /// Which kernel counts; the score's bits are the same for all.
    pub kernel: Kernel,
}

/// The two term tables of a family under BDeu, or the numbers to compute terms from.
struct DirichletPair {
    size: FamilySize,
    cells: Option<Arc<[i64]>>,
    configurations: Option<Arc<[i64]>>,
}

impl DirichletPair {
    fn new(tables: &DirichletTables, size: FamilySize) -> Self {
        Self {
            size,
            cells: tables.get(size.cells()),
            configurations: tables.get(size.configurations),
        }
    }

    #[inline]
    fn cell(&self, tables: &DirichletTables, count: u32) -> i64 {
        match &self.cells {
            Some(terms) => terms[count as usize],
            None => tables.term(count, self.size.cells()),
        }
    }

    #[inline]
    fn configuration(&self, tables: &DirichletTables, count: u32) -> i64 {
        match &self.configurations {
            Some(terms) => terms[count as usize],
            None => tables.term(count, self.size.configurations),
        }
    }
}

#[cfg(test)]
mod tests;
