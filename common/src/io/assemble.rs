//! From what a file declares, in the file's order, to a checked [`Network`] in name order.
//!
//! BIF and XMLBIF share this step: readers collect variables and tables, and everything that can
//! be wrong with their content is found here, with the line it was declared in.

use super::error::ReadError;
use crate::data::{Schema, SchemaError, Variable};
use crate::graph::Dag;
use crate::ids::NodeIdx;
use crate::network::{Cpt, Network};
use std::collections::BTreeMap;
use thiserror::Error;

/// What a file declares that is not a network.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ContentError {
    /// A variable's states are wrong, or a variable is declared twice.
    #[error("{0}")]
    Schema(#[from] SchemaError),
    /// A variable declares another number of states than it lists.
    #[error("the variable {variable:?} declares {declared} states but lists {listed}")]
    StateCount {
        /// The variable.
        variable: String,
        /// The number it declares.
        declared: usize,
        /// The number of states that follow.
        listed: usize,
    },
    /// A variable has no probability table.
    #[error("the variable {0:?} has no probability table")]
    MissingTable(String),
    /// A variable has two probability tables.
    #[error("the variable {0:?} has a second probability table")]
    DuplicateTable(String),
    /// A probability table is for a variable that is not declared.
    #[error("a probability table is for {0:?}, which is not a declared variable")]
    UnknownVariable(String),
    /// A parent is not a declared variable.
    #[error("the parent {parent:?} of {variable:?} is not a declared variable")]
    UnknownParent {
        /// The child.
        variable: String,
        /// The parent.
        parent: String,
    },
    /// A parent is listed twice.
    #[error("the parent {parent:?} of {variable:?} is listed twice")]
    DuplicateParent {
        /// The child.
        variable: String,
        /// The parent.
        parent: String,
    },
    /// The edges to a variable's parents close a cycle.
    #[error("the network has a cycle: the edge {parent:?} -> {variable:?} closes it")]
    Cycle {
        /// The child.
        variable: String,
        /// The parent.
        parent: String,
    },
    /// A table is larger than any that is read.
    #[error(
        "the probability table of {0:?} is too large: expected at most {max} entries in all tables together",
        max = Cpt::MAX_ENTRIES
    )]
    TableTooLarge(String),
    /// A table, or a row of it, has the wrong number of entries.
    #[error("the probabilities of {variable:?} are {found} numbers where {expected} were expected")]
    EntryCount {
        /// The variable.
        variable: String,
        /// What its states and parents ask for.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A row names too few or too many parent states.
    #[error("a row of {variable:?} names {found} parent states where {expected} were expected")]
    RowStates {
        /// The variable.
        variable: String,
        /// How many parents there are.
        expected: usize,
        /// How many states the row names.
        found: usize,
    },
    /// A row names a state that the parent does not have.
    #[error("a row of {variable:?} names {state:?}, which is not a state of its parent {parent:?}")]
    UnknownState {
        /// The variable.
        variable: String,
        /// The parent.
        parent: String,
        /// The state.
        state: String,
    },
    /// Two rows are for the same parent states.
    #[error("the variable {variable:?} has a second row for its parents' states ({states})")]
    DuplicateRow {
        /// The variable.
        variable: String,
        /// The parents' states.
        states: String,
    },
    /// No row is for some parent states.
    #[error("the variable {variable:?} has no row for its parents' states ({states})")]
    MissingRow {
        /// The variable.
        variable: String,
        /// The parents' states.
        states: String,
    },
    /// A row is not a distribution.
    #[error(
        "the probabilities of {variable:?} given ({states}) sum to {sum} where numbers from 0 to 1 that sum to 1 were expected"
    )]
    NotADistribution {
        /// The variable.
        variable: String,
        /// The parents' states.
        states: String,
        /// The sum.
        sum: f64,
    },
}

impl ContentError {
    /// Says where the problem is.
    pub(super) fn at(self, line: usize) -> ReadError {
        ReadError::Content {
            line,
            problem: self,
        }
    }
}

/// A variable as the file declares it.
#[derive(Clone, Debug)]
pub(super) struct DeclaredVariable {
    pub(super) name: String,
    /// In the file's order, which the order of probabilities follows.
    pub(super) states: Vec<String>,
    pub(super) line: usize,
}

/// The variables of a file, found by name.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    variables: Vec<DeclaredVariable>,
    by_name: BTreeMap<String, usize>,
}

/// A probability table with parents and states in the file's order: one row of `arity` numbers
/// per configuration, the last parent running fastest.
#[derive(Clone, Debug)]
pub(super) struct DeclaredTable {
    pub(super) variable: usize,
    pub(super) parents: Vec<usize>,
    pub(super) probabilities: Vec<f64>,
    pub(super) line: usize,
}

impl Declared {
    /// Checks the variables one by one.
    pub(super) fn new(variables: Vec<DeclaredVariable>) -> Result<Self, ReadError> {
        if variables.is_empty() {
            return Err(ReadError::Empty);
        }
        if variables.len() > NodeIdx::MAX_NODES {
            return Err(ReadError::TooManyNodes(variables.len()));
        }
        let mut by_name = BTreeMap::new();
        for (index, variable) in variables.iter().enumerate() {
            let problem = |error: SchemaError| ContentError::from(error).at(variable.line);
            Variable::new(variable.name.clone(), variable.states.clone()).map_err(problem)?;
            if by_name.insert(variable.name.clone(), index).is_some() {
                return Err(problem(SchemaError::DuplicateVariable(
                    variable.name.clone(),
                )));
            }
        }
        Ok(Self { variables, by_name })
    }

    /// Finds a variable by name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns a variable.
    pub(super) fn get(&self, variable: usize) -> &DeclaredVariable {
        &self.variables[variable]
    }

    /// Returns the variables.
    pub(super) fn into_variables(self) -> Vec<DeclaredVariable> {
        self.variables
    }

    /// Checks a table's variable and parents.
    pub(super) fn family(
        &self,
        variable: &str,
        parents: &[impl AsRef<str>],
        line: usize,
    ) -> Result<(usize, Vec<usize>), ReadError> {
        let Some(child) = self.find(variable) else {
            return Err(ContentError::UnknownVariable(variable.to_owned()).at(line));
        };
        let mut found: Vec<usize> = Vec::with_capacity(parents.len());
        for parent in parents {
            let parent = parent.as_ref();
            let (variable, name) = (variable.to_owned(), parent.to_owned());
            match self.find(parent) {
                None => {
                    return Err(ContentError::UnknownParent {
                        variable,
                        parent: name,
                    }
                    .at(line));
                }
                Some(index) if found.contains(&index) => {
                    return Err(ContentError::DuplicateParent {
                        variable,
                        parent: name,
                    }
                    .at(line));
                }
                Some(index) => found.push(index),
            }
        }
        Ok((child, found))
    }

    /// Returns how many parent configurations a table has.
    pub(super) fn configurations(
        &self,
        variable: usize,
        parents: &[usize],
        line: usize,
    ) -> Result<usize, ReadError> {
        let arity = |index: usize| self.get(index).states.len();
        let entries = parents
            .iter()
            .try_fold(arity(variable), |entries, &parent| {
                entries.checked_mul(arity(parent))
            })
            .filter(|&entries| entries <= Cpt::MAX_ENTRIES);
        match entries {
            Some(entries) => Ok(entries / arity(variable)),
            None => Err(ContentError::TableTooLarge(self.get(variable).name.clone()).at(line)),
        }
    }

    /// Names a configuration's parent states, for messages.
    pub(super) fn describe(&self, parents: &[usize], mut configuration: usize) -> String {
        let mut names = Vec::with_capacity(parents.len());
        for &parent in parents.iter().rev() {
            let states = &self.get(parent).states;
            names.push(states[configuration % states.len()].as_str());
            configuration /= states.len();
        }
        names.reverse();
        names.join(", ")
    }
}

/// Makes the network: checks the tables and puts variables, parents and states in name order.
pub(super) fn assemble(
    declared: &Declared,
    tables: Vec<DeclaredTable>,
) -> Result<Network, ReadError> {
    let n = declared.variables.len();
    let schema = schema_of(declared)?;
    let nodes: Vec<NodeIdx> = declared
        .variables
        .iter()
        .filter_map(|variable| schema.find(&variable.name))
        .collect();
    let mut by_variable: Vec<Option<DeclaredTable>> = vec![None; n];
    let mut dag = Dag::empty(n);
    let mut total = 0usize;
    for table in tables {
        let name = || declared.get(table.variable).name.clone();
        total = total.saturating_add(table.probabilities.len());
        if total > Cpt::MAX_ENTRIES {
            return Err(ContentError::TableTooLarge(name()).at(table.line));
        }
        if by_variable[table.variable].is_some() {
            return Err(ContentError::DuplicateTable(name()).at(table.line));
        }
        check_rows(declared, &table)?;
        for &parent in &table.parents {
            let closes = parent == table.variable
                || dag.add_edge(nodes[parent], nodes[table.variable]).is_err();
            if closes {
                let parent = declared.get(parent).name.clone();
                return Err(ContentError::Cycle {
                    variable: name(),
                    parent,
                }
                .at(table.line));
            }
        }
        let variable = table.variable;
        by_variable[variable] = Some(table);
    }
    let mut cpts = vec![
        Cpt {
            probabilities: Vec::new()
        };
        n
    ];
    for (variable, table) in by_variable.into_iter().enumerate() {
        let DeclaredVariable { name, line, .. } = declared.get(variable);
        let table = table.ok_or_else(|| ContentError::MissingTable(name.clone()).at(*line))?;
        cpts[nodes[variable].index()] = reorder(declared, &table);
    }
    Ok(Network::new(schema, dag, cpts)?)
}

fn schema_of(declared: &Declared) -> Result<Schema, ReadError> {
    let mut variables = Vec::with_capacity(declared.variables.len());
    for DeclaredVariable { name, states, line } in &declared.variables {
        let variable = Variable::new(name.clone(), states.clone());
        variables.push(variable.map_err(|error| ContentError::from(error).at(*line))?);
    }
    Schema::new(variables).map_err(|error| ContentError::from(error).at(1))
}

/// Checks a table's size and that each row is a distribution.
fn check_rows(declared: &Declared, table: &DeclaredTable) -> Result<(), ReadError> {
    let variable = declared.get(table.variable);
    let arity = variable.states.len();
    let rows = declared.configurations(table.variable, &table.parents, table.line)?;
    let (expected, found) = (rows * arity, table.probabilities.len());
    if expected != found {
        let variable = variable.name.clone();
        return Err(ContentError::EntryCount {
            variable,
            expected,
            found,
        }
        .at(table.line));
    }
    for (configuration, row) in table.probabilities.chunks(arity).enumerate() {
        let sum: f64 = row.iter().sum();
        let proper = row.iter().all(|&p| p >= 0.0) && (sum - 1.0).abs() <= Network::SUM_TOLERANCE;
        if !proper {
            let variable = variable.name.clone();
            let states = declared.describe(&table.parents, configuration);
            let problem = ContentError::NotADistribution {
                variable,
                states,
                sum,
            };
            return Err(problem.at(table.line));
        }
    }
    Ok(())
}

/// Puts a table's parents and states in name order.
fn reorder(declared: &Declared, table: &DeclaredTable) -> Cpt {
    // Axes of the table in the file: the parents, then the variable; the last runs fastest.
    let axes: Vec<usize> = table
        .parents
        .iter()
        .copied()
        .chain([table.variable])
        .collect();
    let mut strides = vec![1; axes.len()];
    for axis in (0..axes.len().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1] * declared.get(axes[axis + 1]).states.len();
    }
    // Axes of the result: the parents by name, then the variable; for each of its states in name
    // order, how far from the beginning it is in the file's table.
    let mut order: Vec<usize> = (0..table.parents.len()).collect();
    order.sort_by(|&a, &b| declared.get(axes[a]).name.cmp(&declared.get(axes[b]).name));
    order.push(table.parents.len());
    let mut sources = vec![0];
    for axis in order {
        let states = &declared.get(axes[axis]).states;
        let stride = strides[axis];
        let mut by_name: Vec<usize> = (0..states.len()).collect();
        by_name.sort_by(|&a, &b| states[a].cmp(&states[b]));
        sources = sources
            .iter()
            .flat_map(|&source: &usize| by_name.iter().map(move |&state| source + state * stride))
            .collect();
    }
    Cpt {
        probabilities: sources
            .into_iter()
            .map(|source| table.probabilities[source])
            .collect(),
    }
}
