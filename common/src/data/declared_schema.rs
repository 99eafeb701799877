//! The states that a person declares for some variables, as a TOML file:
//!
//! ```toml
//! smoker = ["no", "yes"]
//! "blood pressure" = [1, 2, 3]   # numbers and booleans stand for their text
//! ```
//!
//! A declared state that never occurs in the data is kept, so that it counts in scores. Columns
//! that are not declared take their states from the data.

use super::schema::{Schema, SchemaError, Variable};
use super::source::{Source, SourceError};
use std::io::Read;
use std::path::Path;
use thiserror::Error;
use toml::de::{DeTable, DeValue};

/// Most bytes of a schema file: far above any real one, and parsed in memory.
const MAX_SCHEMA_BYTES: u64 = 64 << 20;

/// Variables with the states that their cells may have.
///
/// ```
/// use rlbayes_common::data::DeclaredSchema;
/// let declared = DeclaredSchema::parse("smoker = [\"yes\", \"no\"]").unwrap();
/// assert_eq!(declared.variable("smoker").unwrap().states(), ["no", "yes"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredSchema {
    schema: Schema,
}

/// Why a schema file declares nothing.
#[derive(Debug, Error)]
pub enum DeclaredSchemaError {
    /// The file cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The file is not UTF-8.
    #[error("cannot parse the schema: it is not valid UTF-8")]
    NotUtf8,
    /// The text is not TOML.
    #[error("cannot parse the schema, line {line}: {message}")]
    Toml {
        /// The line, counted from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// A variable has something else than an array.
    #[error(
        "cannot parse the schema, line {line}: variable \"{variable}\" is given as {found}; \
         expected an array of states such as [\"no\", \"yes\"] (a name with a dot needs quotes)"
    )]
    NotAnArray {
        /// The line, counted from 1.
        line: usize,
        /// The variable.
        variable: String,
        /// The kind of value that stands there.
        found: &'static str,
    },
    /// A state is neither text, number nor boolean.
    #[error(
        "cannot parse the schema, line {line}: a state of variable \"{variable}\" is given as \
         {found}; expected a string, a number or a boolean"
    )]
    NotAState {
        /// The line, counted from 1.
        line: usize,
        /// The variable.
        variable: String,
        /// The kind of value that stands there.
        found: &'static str,
    },
    /// The states of a variable do not make one.
    #[error("cannot use the schema: {0}")]
    Schema(#[from] SchemaError),
}

impl DeclaredSchema {
    /// Reads a schema file.
    ///
    /// # Errors
    /// If it cannot be read or does not declare states.
    pub fn load(path: &Path) -> Result<Self, DeclaredSchemaError> {
        let mut bytes = Vec::new();
        let mut bounded = Source::open(path)?.take(MAX_SCHEMA_BYTES + 1);
        bounded.read_to_end(&mut bytes).map_err(SourceError::from)?;
        if bytes.len() as u64 > MAX_SCHEMA_BYTES {
            let limit = MAX_SCHEMA_BYTES;
            return Err(SourceError::TooLarge { limit }.into());
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| DeclaredSchemaError::NotUtf8)?;
        Self::parse(text)
    }

    /// Reads the text of a schema file.
    ///
    /// # Errors
    /// If it is not TOML, or a variable has no proper array of states.
    pub fn parse(text: &str) -> Result<Self, DeclaredSchemaError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let line_at = |byte: usize| {
            let before = text.as_bytes().iter().take(byte);
            1 + before.filter(|&&byte| byte == b'\n').count()
        };
        let table = DeTable::parse(text).map_err(|error| DeclaredSchemaError::Toml {
            line: line_at(error.span().map_or(0, |span| span.start)),
            message: error.message().trim().replace('\n', ", "),
        })?;
        let mut variables = Vec::new();
        for (name, value) in table.get_ref() {
            let variable = name.get_ref().to_string();
            let DeValue::Array(array) = value.get_ref() else {
                return Err(DeclaredSchemaError::NotAnArray {
                    line: line_at(value.span().start),
                    variable,
                    found: kind(value.get_ref()),
                });
            };
            let mut states = Vec::new();
            for state in array {
                states.push(match state.get_ref() {
                    DeValue::String(text) => text.to_string(),
                    // As written: the number behind the text 1.50 would come out as 1.5.
                    DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {
                        text.get(state.span()).unwrap_or_default().to_string()
                    }
                    other => {
                        return Err(DeclaredSchemaError::NotAState {
                            line: line_at(state.span().start),
                            variable,
                            found: kind(other),
                        });
                    }
                });
            }
            variables.push(Variable::new(variable, states)?);
        }
        Ok(Self {
            schema: Schema::new(variables)?,
        })
    }

    /// Returns a declared variable.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.schema
            .find(name)
            .map(|node| self.schema.variable(node))
    }

    /// Returns the declared variables, ordered by name.
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        self.schema.variables()
    }
}

impl From<Schema> for DeclaredSchema {
    /// Declares the states of a schema, for example those of a known network.
    fn from(schema: Schema) -> Self {
        Self { schema }
    }
}

/// Names a kind of TOML value with its article.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        DeclaredSchema::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn strings_numbers_and_booleans_are_states() {
        let text = "a = ['x', \"y\"]\n'b c' = [10, 1.50, -2, true]\n";
        let declared = DeclaredSchema::parse(text).unwrap();
        assert_eq!(declared.variable("a").unwrap().states(), ["x", "y"]);
        assert_eq!(
            declared.variable("b c").unwrap().states(),
            ["-2", "1.50", "10", "true"]
        );
        assert_eq!(declared.variable("c"), None);
        assert!(DeclaredSchema::parse("").unwrap().variables().is_empty());
    }

    #[test]
    fn what_is_no_array_of_states_is_placed() {
        assert_eq!(
            error("a = ['x']\nb = 'yes'"),
            "cannot parse the schema, line 2: variable \"b\" is given as a string; expected an \
             array of states such as [\"no\", \"yes\"] (a name with a dot needs quotes)"
        );
        assert!(error("a.b = ['x']").contains("variable \"a\" is given as a table"));
        assert_eq!(
            error("a = ['x',\n ['y']]"),
            "cannot parse the schema, line 2: a state of variable \"a\" is given as an array; \
             expected a string, a number or a boolean"
        );
    }

    #[test]
    fn broken_toml_and_broken_states_are_told() {
        assert!(error("a = ['x']\nb = [").starts_with("cannot parse the schema, line 2: "));
        assert_eq!(
            error("a = []"),
            "cannot use the schema: the variable \"a\" has no states"
        );
        assert_eq!(
            error("a = [1, '1']"),
            "cannot use the schema: the variable \"a\" lists the state \"1\" twice"
        );
    }
}
