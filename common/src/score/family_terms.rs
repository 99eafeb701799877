//! The terms of a score as tables by count, for whoever counts families in its own way (the prover).
//! They are the scores' own terms: sums of them have the bits of a local score.

use super::counted::CountedTerms;
use super::likelihood::Likelihood;
use super::spec::{ScoreName, ScoreSpec};
use super::terms::{DirichletTables, Unit, ln_gamma_whole, x_ln_x};
use crate::data::Table;
use crate::ids::NodeIdx;
use std::sync::Arc;

/// A score's terms, in whole units.
#[derive(Debug)]
pub(crate) struct FamilyTerms {
    kind: Kind,
    unit: Unit,
    /// Units that a free parameter costs.
    penalty: i64,
    rows: usize,
}

#[derive(Debug)]
enum Kind {
    /// `N ln N` by count.
    Likelihood(Arc<[i64]>),
    Bdeu(DirichletTables),
    /// `ln Gamma` of whole numbers.
    K2(Vec<i64>),
}

/// The terms of families of one size, by count.
#[derive(Clone, Debug)]
pub(crate) struct TermTables {
    /// The term of a cell.
    pub(crate) cell: Arc<[i64]>,
    /// The term of a parent configuration, to be subtracted.
    pub(crate) configuration: Arc<[i64]>,
}

impl FamilyTerms {
    /// Prepares the terms of a score for a table.
    pub(crate) fn new(table: &Table, spec: &ScoreSpec) -> Self {
        let unit = Unit::for_table(table);
        let rows = table.rows();
        let kind = match spec.name() {
            ScoreName::LogLik | ScoreName::Bic | ScoreName::Aic => {
                Kind::Likelihood(x_ln_x(rows, unit).into())
            }
            ScoreName::Bdeu => Kind::Bdeu(DirichletTables::new(rows, spec.ess(), unit)),
            ScoreName::K2 => {
                let arities = NodeIdx::all(table.nodes()).map(|node| table.arity(node));
                let most_states = arities.max().unwrap_or(1);
                Kind::K2(ln_gamma_whole(rows + most_states + 1, unit))
            }
        };
        Self {
            kind,
            unit,
            // Only likelihoods have one.
            penalty: unit.round(Likelihood::penalty(table, spec)),
            rows,
        }
    }

    /// Tells whether the score is a log-likelihood with a penalty for each parameter.
    pub(crate) fn is_likelihood(&self) -> bool {
        matches!(self.kind, Kind::Likelihood(_))
    }

    /// Tells whether the score is K2.
    pub(crate) fn is_k2(&self) -> bool {
        matches!(self.kind, Kind::K2(_))
    }

    /// Tells whether terms depend on how many configurations a family has.
    pub(crate) fn depend_on_size(&self) -> bool {
        matches!(self.kind, Kind::Bdeu(_))
    }

    /// Returns the penalty of a family: of a child with so many states and parents with so many
    /// configurations.
    pub(crate) fn penalty_of(&self, child_states: usize, configurations: f64) -> i64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a few nats in units; at most Variable::MAX_STATES"
        )]
        let (per_parameter, states) = (self.penalty as f64, child_states as f64);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "saturates, far outside the range"
        )]
        let units = (per_parameter * (states - 1.0) * configurations) as i64;
        units
    }

    /// Returns nats as whole units; exact for scores of the table.
    pub(crate) fn units(&self, nats: f64) -> i64 {
        self.unit.round(nats)
    }

    /// Returns units as nats.
    pub(crate) fn nats(&self, units: i64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "scores are below 2^53 units")]
        let units = units as f64;
        self.unit.nats(units)
    }

    /// Returns the terms of a set of variables with so many configurations: as cells of a family
    /// over all of them, and as parents of a child.
    pub(crate) fn tables_of_set(&self, child_states: usize, configurations: f64) -> TermTables {
        let mut tables = self.tables(child_states, configurations);
        if let Kind::Bdeu(_) = &self.kind {
            tables.cell = Arc::clone(&tables.configuration);
        }
        tables
    }

    /// Returns the terms of a family of that size.
    pub(crate) fn tables(&self, child_states: usize, configurations: f64) -> TermTables {
        #[expect(clippy::cast_precision_loss, reason = "at most Variable::MAX_STATES")]
        let cells = child_states as f64 * configurations;
        match &self.kind {
            Kind::Likelihood(terms) => TermTables {
                cell: Arc::clone(terms),
                configuration: Arc::clone(terms),
            },
            Kind::Bdeu(tables) => TermTables {
                cell: self.dirichlet(tables, cells),
                configuration: self.dirichlet(tables, configurations),
            },
            Kind::K2(ln_gamma) => TermTables {
                cell: ln_gamma[1..=self.rows + 1].into(),
                configuration: (0..=self.rows)
                    .map(|count| ln_gamma[count + child_states] - ln_gamma[child_states])
                    .collect(),
            },
        }
    }

    fn dirichlet(&self, tables: &DirichletTables, cells: f64) -> Arc<[i64]> {
        tables.get(cells).unwrap_or_else(|| {
            let counts = 0..=u32::try_from(self.rows).unwrap_or(u32::MAX);
            counts.map(|count| tables.term(count, cells)).collect()
        })
    }
}
