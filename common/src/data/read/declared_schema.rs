//! What a person writes down about a table, so that it and others like it are read alike, as a TOML
//! file:
//!
//! ```toml
//! [table]
//! separator = "semicolon"
//! missing = ["", "NA"]
//! drop = ["id"]
//!
//! [columns]
//! smoker = ["no", "yes"]
//! age = { cuts = [30, 60], states = ["young", "middle", "old"] }
//! "blood pressure" = [1, 2, 3]   # numbers and booleans stand for their text
//! ```
//!
//! States keep their order. A declared state that never occurs in the data is kept, so that it
//! counts in scores. Columns that are not declared take their states from the data. A file without
//! the two headings, with a line such as `smoker = ["no", "yes"]` for each variable, is read as well.

use super::delimiter::Delimiter;
use super::encoding::Encoding;
use super::load_report::{ColumnUse, LeftOut, LoadReport};
use super::number::DecimalMark;
use super::options::LoadOptions;
use crate::data::{CutPoints, Schema, SchemaError, Source, SourceError, Table, Variable};
use std::fmt::Write;
use std::io::Read;
use std::path::Path;
use thiserror::Error;
use toml::de::{DeTable, DeValue};

/// Most bytes of a schema file: far above any real one, and parsed in memory.
const MAX_SCHEMA_BYTES: u64 = 64 << 20;

/// How a table is to be read, and variables with the states that their cells may have.
///
/// ```
/// use rlbayes_common::data::DeclaredSchema;
/// let declared = DeclaredSchema::parse("[columns]\nsmoker = [\"yes\", \"no\"]").unwrap();
/// assert_eq!(declared.variable("smoker").unwrap().states(), ["yes", "no"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredSchema {
    schema: Schema,
    reading: Reading,
    /// Whether a table may lack some of the variables.
    is_optional: bool,
}

/// How a table is to be read, as far as it was written down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// What stands between cells.
    pub delimiter: Option<Delimiter>,
    /// What stands before a fraction.
    pub decimal: Option<DecimalMark>,
    /// What begins a comment.
    pub comment: Option<u8>,
    /// Whether the first row has the names.
    pub header: Option<bool>,
    /// The encoding of the text.
    pub encoding: Option<Encoding>,
    /// The texts that stand for a missing cell.
    pub missing_markers: Option<Vec<String>>,
    /// Columns that are left out; those that a table does not have do not matter.
    pub drop: Vec<String>,
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
    /// A setting has a value that it cannot have.
    #[error("cannot parse the schema, line {line}: {setting} is {found}; expected {expected}")]
    Setting {
        /// The line, counted from 1.
        line: usize,
        /// The setting.
        setting: String,
        /// What stands there.
        found: String,
        /// What could stand there.
        expected: &'static str,
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
        let parsed = DeTable::parse(text).map_err(|error| DeclaredSchemaError::Toml {
            line: line_at(error.span().map_or(0, |span| span.start)),
            message: error.message().trim().replace('\n', ", "),
        })?;
        let file = File {
            text,
            line_at: &line_at,
        };
        let mut reading = Reading::default();
        let mut variables = Vec::new();
        for (name, value) in parsed.get_ref() {
            match (name.get_ref().as_ref(), value.get_ref()) {
                ("table", DeValue::Table(settings)) => reading = file.reading(settings)?,
                ("columns", DeValue::Table(columns)) => {
                    for (name, value) in columns {
                        let name = name.get_ref();
                        variables.push(file.variable(name, value.span(), value.get_ref())?);
                    }
                }
                (name, value_there) => {
                    variables.push(file.variable(name, value.span(), value_there)?);
                }
            }
        }
        Ok(Self {
            schema: Schema::new(variables)?,
            reading,
            is_optional: false,
        })
    }

    /// Writes down how a table was read, so that others are read alike.
    #[must_use]
    pub fn of(table: &Table, report: &LoadReport, options: &LoadOptions) -> Self {
        let options = options.with_schema();
        let drop = report
            .columns
            .iter()
            .filter(|column| matches!(column.used, ColumnUse::LeftOut(why) if why != LeftOut::RowNumbers))
            .map(|column| column.name.clone())
            .filter(|name| !name.is_empty())
            .collect();
        let reading = Reading {
            delimiter: report.delimiter,
            decimal: options.decimal,
            comment: options.comment,
            header: options.header,
            encoding: report.encoding,
            missing_markers: options.missing_markers,
            drop,
        };
        Self {
            schema: table.schema().as_ref().clone(),
            reading,
            is_optional: false,
        }
    }

    /// Returns whether a table may lack some of the variables.
    pub(crate) fn is_optional(&self) -> bool {
        self.is_optional
    }

    /// Returns how the table is to be read.
    #[must_use]
    pub fn reading(&self) -> &Reading {
        &self.reading
    }

    /// Returns the text of a schema file that says the same.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::from("[table]\n");
        let reading = &self.reading;
        let mut line = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                let _ = writeln!(text, "{name} = {value}");
            }
        };
        line(
            "separator",
            reading.delimiter.map(|it| toml_text(&it.to_string())),
        );
        line(
            "decimal",
            reading.decimal.map(|it| toml_text(&it.to_string())),
        );
        line(
            "comment",
            reading
                .comment
                .map(|it| toml_text(&char::from(it).to_string())),
        );
        line("header", reading.header.map(|it| it.to_string()));
        line(
            "encoding",
            reading.encoding.map(|it| toml_text(&it.to_string())),
        );
        line(
            "missing",
            reading.missing_markers.as_deref().map(toml_texts),
        );
        line(
            "drop",
            (!reading.drop.is_empty()).then(|| toml_texts(&reading.drop)),
        );
        text.push_str("\n[columns]\n");
        for variable in self.schema.variables() {
            let states = toml_texts(variable.states());
            let name = toml_text(variable.name());
            let _ = match variable.cuts() {
                Some(cuts) => {
                    let cuts: Vec<String> = cuts
                        .as_slice()
                        .iter()
                        .map(|cut| format!("{cut:?}"))
                        .collect();
                    let cuts = cuts.join(", ");
                    writeln!(text, "{name} = {{ cuts = [{cuts}], states = {states} }}")
                }
                None => writeln!(text, "{name} = {states}"),
            };
        }
        text
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
    /// Declares the states of a schema, for example those of a known network; states that are
    /// labels of bins stand for their intervals. A table may lack some of its variables.
    fn from(schema: Schema) -> Self {
        let variables = schema.variables().iter().map(|variable| {
            let cuts =
                CutPoints::of_states(variable.states()).filter(|_| variable.cuts().is_none());
            match cuts {
                Some(cuts) => variable.clone().with_cuts(cuts).unwrap_or(variable.clone()),
                None => variable.clone(),
            }
        });
        Self {
            // The names are those of a schema already.
            schema: Schema::new(variables.collect()).unwrap_or(schema),
            reading: Reading::default(),
            is_optional: true,
        }
    }
}

/// Text as a basic string of TOML, which may be a key too.
fn toml_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            character if character.is_control() => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(character));
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

fn toml_texts(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| toml_text(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// The text of a schema file while it is parsed.
struct File<'f> {
    text: &'f str,
    line_at: &'f dyn Fn(usize) -> usize,
}

type Span = std::ops::Range<usize>;

impl File<'_> {
    /// Reads a variable: its states, or cut points and states.
    fn variable(
        &self,
        name: &str,
        span: Span,
        value: &DeValue<'_>,
    ) -> Result<Variable, DeclaredSchemaError> {
        let (states, cuts) = match value {
            DeValue::Table(fields) if fields.get("states").is_some() => {
                (fields.get("states"), fields.get("cuts"))
            }
            DeValue::Array(_) => (None, None),
            other => {
                return Err(DeclaredSchemaError::NotAnArray {
                    line: (self.line_at)(span.start),
                    variable: name.to_string(),
                    found: kind(other),
                });
            }
        };
        let states = match states {
            Some(states) => self.states(name, states.span(), states.get_ref())?,
            None => self.states(name, span, value)?,
        };
        let variable = Variable::in_order(name, states)?;
        let Some(cuts) = cuts else {
            return Ok(variable);
        };
        let refused = || DeclaredSchemaError::Setting {
            line: (self.line_at)(cuts.span().start),
            setting: format!("the list of cut points of variable \"{name}\""),
            found: kind(cuts.get_ref()).to_string(),
            expected: "increasing numbers such as [30, 60]",
        };
        let DeValue::Array(numbers) = cuts.get_ref() else {
            return Err(refused());
        };
        let numbers: Option<Vec<f64>> = numbers
            .iter()
            .map(|number| match number.get_ref() {
                DeValue::Integer(_) | DeValue::Float(_) => {
                    let text = self.text.get(number.span())?.replace('_', "");
                    text.parse().ok()
                }
                _ => None,
            })
            .collect();
        let cuts = numbers.and_then(CutPoints::new).ok_or_else(refused)?;
        Ok(variable.with_cuts(cuts)?)
    }

    /// Reads an array of states.
    fn states(
        &self,
        name: &str,
        span: Span,
        value: &DeValue<'_>,
    ) -> Result<Vec<String>, DeclaredSchemaError> {
        let DeValue::Array(array) = value else {
            return Err(DeclaredSchemaError::NotAnArray {
                line: (self.line_at)(span.start),
                variable: name.to_string(),
                found: kind(value),
            });
        };
        array
            .iter()
            .map(|state| match state.get_ref() {
                DeValue::String(text) => Ok(text.to_string()),
                // As written: the number behind the text 1.50 would come out as 1.5.
                DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {
                    Ok(self.text.get(state.span()).unwrap_or_default().to_string())
                }
                other => Err(DeclaredSchemaError::NotAState {
                    line: (self.line_at)(state.span().start),
                    variable: name.to_string(),
                    found: kind(other),
                }),
            })
            .collect()
    }

    /// Reads how the table is to be read.
    fn reading(&self, settings: &DeTable<'_>) -> Result<Reading, DeclaredSchemaError> {
        let mut reading = Reading::default();
        for (name, value) in settings {
            let setting = name.get_ref().as_ref();
            let refused = |expected| DeclaredSchemaError::Setting {
                line: (self.line_at)(value.span().start),
                setting: setting.to_string(),
                found: self.text.get(value.span()).unwrap_or_default().to_string(),
                expected,
            };
            let text = || match value.get_ref() {
                DeValue::String(text) => Some(text.as_ref()),
                _ => None,
            };
            let texts = || match value.get_ref() {
                DeValue::Array(array) => array
                    .iter()
                    .map(|text| match text.get_ref() {
                        DeValue::String(text) => Some(text.to_string()),
                        _ => None,
                    })
                    .collect::<Option<Vec<String>>>(),
                _ => None,
            };
            match setting {
                "separator" => {
                    let found = text().and_then(|text| text.parse().ok());
                    let expected = "comma, semicolon, tab, space or a character";
                    reading.delimiter = Some(found.ok_or_else(|| refused(expected))?);
                }
                "decimal" => {
                    let found = text().and_then(|text| text.parse().ok());
                    reading.decimal = Some(found.ok_or_else(|| refused("\".\" or \",\""))?);
                }
                "comment" => {
                    let found = text().and_then(|text| match text.as_bytes() {
                        &[byte] if byte.is_ascii_punctuation() => Some(byte),
                        _ => None,
                    });
                    reading.comment =
                        Some(found.ok_or_else(|| refused("a character such as \"#\""))?);
                }
                "header" => match value.get_ref() {
                    DeValue::Boolean(header) => reading.header = Some(*header),
                    _ => return Err(refused("true or false")),
                },
                "encoding" => {
                    let found = text().and_then(|text| text.parse().ok());
                    let expected = "a name such as \"windows-1252\"";
                    reading.encoding = Some(found.ok_or_else(|| refused(expected))?);
                }
                "missing" => {
                    let expected = "texts such as [\"\", \"NA\"]";
                    reading.missing_markers = Some(texts().ok_or_else(|| refused(expected))?);
                }
                "drop" => {
                    let expected = "names of columns such as [\"id\"]";
                    reading.drop = texts().ok_or_else(|| refused(expected))?;
                }
                _ => {
                    return Err(refused(
                        "one of separator, decimal, comment, header, encoding, missing, drop",
                    ));
                }
            }
        }
        Ok(reading)
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
            ["10", "1.50", "-2", "true"]
        );
        assert_eq!(declared.variable("c"), None);
        assert!(DeclaredSchema::parse("").unwrap().variables().is_empty());
    }

    #[test]
    fn what_was_written_down_comes_back() {
        let text = "[table]\nseparator = \"semicolon\"\ndecimal = \",\"\ncomment = \"#\"\nheader = false\n\
            encoding = \"windows-1252\"\nmissing = [\"\", \"NA\"]\ndrop = [\"id\"]\n\n[columns]\n\
            \"a \\\"b\\\"\" = [\"z\", \"y\"]\n\
            \"age\" = { cuts = [0.1, 60.0], states = [\"young\", \"middle\", \"old\"] }\n\
            \"columns\" = [\"1\", \"\\U0000000A\"]\n";
        let declared = DeclaredSchema::parse(text).unwrap();
        assert_eq!(declared.to_toml(), text);
        assert_eq!(declared.reading().drop, ["id"]);
        let age = declared.variable("age").unwrap();
        assert_eq!(age.cuts().unwrap().as_slice(), [0.1, 60.0]);
        assert_eq!(
            DeclaredSchema::parse(&declared.to_toml()).unwrap(),
            declared
        );
    }

    #[test]
    fn wrong_settings_are_placed() {
        assert_eq!(
            error("[table]\nseparator = 'ab'"),
            "cannot parse the schema, line 2: separator is 'ab'; expected comma, semicolon, tab, \
             space or a character"
        );
        assert!(error("[table]\nseparators = ','").contains("expected one of separator, decimal"));
        assert_eq!(
            error("[columns]\na = { cuts = [2, 1], states = ['x', 'y', 'z'] }"),
            "cannot parse the schema, line 2: the list of cut points of variable \"a\" is an array; \
             expected increasing numbers such as [30, 60]"
        );
        assert!(
            error("[columns]\na = { cuts = [2], states = ['x'] }").contains("one cut point fewer")
        );
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
