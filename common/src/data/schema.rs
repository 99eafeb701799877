//! Variables and their states. Both are ordered by name, bytewise, so that no column order of a
//! file can reach a result.

use crate::ids::NodeIdx;
use thiserror::Error;

/// A discrete variable: a name and at least one state, states ordered by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    name: String,
    states: Vec<String>,
}

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

    /// Makes a variable; the states are put in order.
    ///
    /// # Errors
    /// If there is no state, a state is listed twice, or there are more than [`Self::MAX_STATES`].
    pub fn new(name: impl Into<String>, mut states: Vec<String>) -> Result<Self, SchemaError> {
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
        states.sort_unstable();
        if let Some(pair) = states.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SchemaError::DuplicateState {
                variable: name,
                state: pair[0].clone(),
            });
        }
        Ok(Self { name, states })
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
        self.states
            .binary_search_by(|known| known.as_str().cmp(state))
            .ok()
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
