//! Variables and their states. Variables are ordered by name, bytewise, so that no column order of
//! a file can reach a result. States have the order that somebody gave them; where nobody did, numbers
//! are ordered as numbers and texts by name. No score depends on their order.

use crate::ids::NodeIdx;
use thiserror::Error;

/// A discrete variable: a name, at least one state, and the cut points if its states are intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    name: String,
    states: Vec<String>,
    cuts: Option<CutPoints>,
}

/// Increasing numbers between the intervals of a variable: each interval holds the numbers above
/// the cut before it, up to and including its own.
#[derive(Clone, Debug, Default)]
pub struct CutPoints(Vec<f64>);

impl CutPoints {
    /// Makes cut points; `None` if they are not finite or not increasing.
    #[must_use]
    pub fn new(cuts: Vec<f64>) -> Option<Self> {
        let increasing = cuts.windows(2).all(|pair| pair[0] < pair[1]);
        (increasing && cuts.iter().all(|cut| cut.is_finite())).then_some(Self(cuts))
    }

    /// Returns the numbers in order.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    /// Returns the interval that a number is in, counted from 0.
    #[must_use]
    pub fn interval(&self, number: f64) -> usize {
        self.0.partition_point(|&cut| cut < number)
    }
}

impl PartialEq for CutPoints {
    fn eq(&self, other: &Self) -> bool {
        let bits = |cuts: &Self| cuts.0.iter().map(|cut| cut.to_bits()).collect::<Vec<_>>();
        bits(self) == bits(other)
    }
}

impl Eq for CutPoints {}

/// Why names do not make a schema.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SchemaError {
    /// Two variables have one name.
    #[error("the variable \"{0}\" appears twice")]
    DuplicateVariable(String),
    /// A variable lists one state twice.
    #[error("the variable \"{variable}\" lists the state \"{state}\" twice")]
    DuplicateState {
        /// The variable.
        variable: String,
        /// The repeated state.
        state: String,
    },
    /// A variable has no state.
    #[error("the variable \"{0}\" has no states")]
    NoStates(String),
    /// A variable has more states than a table cell can hold.
    #[error("the variable \"{variable}\" has {count} states; at most {max} are possible", max = Variable::MAX_STATES)]
    TooManyStates {
        /// The variable.
        variable: String,
        /// How many states it has.
        count: usize,
    },
    /// The number of cut points does not fit the states.
    #[error(
        "the variable \"{variable}\" has {cuts} cut points and {states} states; expected one cut \
         point fewer than states"
    )]
    CutPoints {
        /// The variable.
        variable: String,
        /// How many cut points it has.
        cuts: usize,
        /// How many states it has.
        states: usize,
    },
    /// More variables than an index can hold.
    #[error("{0} variables; at most {max} are possible", max = NodeIdx::MAX_NODES)]
    TooManyVariables(usize),
    /// A variable without a name.
    #[error("a variable has an empty name")]
    EmptyName,
}

impl Variable {
    /// Largest number of states: a cell of the table is one byte.
    pub const MAX_STATES: usize = 256;

    /// Makes a variable; the states are put in order of their names.
    ///
    /// # Errors
    /// If there is no state, a state is listed twice, or there are more than [`Self::MAX_STATES`].
    pub fn new(name: impl Into<String>, mut states: Vec<String>) -> Result<Self, SchemaError> {
        states.sort_unstable();
        Self::in_order(name, states)
    }

    /// Makes a variable whose states keep the order in which they are given.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn in_order(name: impl Into<String>, states: Vec<String>) -> Result<Self, SchemaError> {
        let name = name.into();
        if name.is_empty() {
            return Err(SchemaError::EmptyName);
        }
        if states.is_empty() {
            return Err(SchemaError::NoStates(name));
        }
        if states.len() > Self::MAX_STATES {
            return Err(SchemaError::TooManyStates {
                variable: name,
                count: states.len(),
            });
        }
        let mut sorted: Vec<&String> = states.iter().collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SchemaError::DuplicateState {
                state: pair[0].clone(),
                variable: name,
            });
        }
        Ok(Self {
            name,
            states,
            cuts: None,
        })
    }

    /// Says that the states are the intervals between cut points, of which there must be one fewer.
    ///
    /// # Errors
    /// If there are more or fewer.
    pub fn with_cuts(self, cuts: CutPoints) -> Result<Self, SchemaError> {
        if cuts.0.len() + 1 != self.states.len() {
            return Err(SchemaError::CutPoints {
                variable: self.name,
                cuts: cuts.0.len(),
                states: self.states.len(),
            });
        }
        let cuts = Some(cuts);
        Ok(Self { cuts, ..self })
    }

    /// Returns the cut points, if the states are intervals.
    #[must_use]
    pub fn cuts(&self) -> Option<&CutPoints> {
        self.cuts.as_ref()
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the states in order.
    #[must_use]
    pub fn states(&self) -> &[String] {
        &self.states
    }

    /// Returns how many states there are.
    #[must_use]
    pub fn arity(&self) -> usize {
        self.states.len()
    }

    /// Returns the position of a state.
    #[must_use]
    pub fn state_index(&self, state: &str) -> Option<usize> {
        self.states.iter().position(|known| known == state)
    }
}

/// The variables of a table or a network, ordered by name.
///
/// ```
/// use rlbayes_common::data::{Schema, Variable};
/// let yes_no = || vec!["no".to_string(), "yes".to_string()];
/// let schema = Schema::new(vec![
///     Variable::new("smoke", yes_no()).unwrap(),
///     Variable::new("asia", yes_no()).unwrap(),
/// ])
/// .unwrap();
/// assert_eq!(schema.names().collect::<Vec<_>>(), ["asia", "smoke"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    variables: Vec<Variable>,
}

impl Schema {
    /// Makes a schema; the variables are put in order.
    ///
    /// # Errors
    /// If two variables share a name or there are too many.
    pub fn new(mut variables: Vec<Variable>) -> Result<Self, SchemaError> {
        if variables.len() > NodeIdx::MAX_NODES {
            return Err(SchemaError::TooManyVariables(variables.len()));
        }
        variables.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = variables
            .windows(2)
            .find(|pair| pair[0].name == pair[1].name)
        {
            return Err(SchemaError::DuplicateVariable(pair[0].name.clone()));
        }
        Ok(Self { variables })
    }

    /// Returns the variables in order.
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Returns one variable.
    #[must_use]
    pub fn variable(&self, node: NodeIdx) -> &Variable {
        &self.variables[node.index()]
    }

    /// Returns how many variables there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.variables.len()
    }

    /// Returns whether there is no variable.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }

    /// Returns the names in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.variables.iter().map(Variable::name)
    }

    /// Returns the position of a variable.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NodeIdx> {
        self.variables
            .binary_search_by(|variable| variable.name.as_str().cmp(name))
            .ok()
            .map(NodeIdx::new)
    }
}
