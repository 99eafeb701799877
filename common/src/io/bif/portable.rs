//! Names that other programs' BIF readers accept, and the comments that keep the originals.
//!
//! pyAgrum takes identifiers and, as states, whole numbers. Portable names replace all other
//! names, and the originals are noted in comment lines, which our reader maps back:
//!
//! ```text
//! // rlbayes:variable v_2_ "2°"
//! // rlbayes:state v_2_ _5 "<5"
//! ```
//!
//! Comments hold the provenance too: `// rlbayes:about table "survey"`.

use super::write::trips_pgmpy;
use crate::data::Schema;
use crate::io::assemble::Declared;
use crate::io::error::ReadError;
use crate::io::provenance::Provenance;
use crate::io::text::excerpt;
use crate::network::Network;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Something in a network that another program's BIF reader refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortabilityWarning {
    /// A variable's name.
    Variable(String),
    /// A state's name.
    State {
        /// The variable.
        variable: String,
        /// The state.
        state: String,
    },
    /// A variable with one state only; no renaming helps.
    SingleState(String),
}

impl fmt::Display for PortabilityWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "the variable name {name:?}"),
            Self::State { variable, state } => {
                write!(f, "the state {state:?} of the variable {variable:?}")
            }
            Self::SingleState(name) => write!(f, "the variable {name:?}, which has one state only"),
        }
    }
}

/// Returns what others would refuse in a BIF file of this network with its own names: each name that
/// the writer replaces, and what no renaming helps against.
#[must_use]
pub fn portability_warnings(network: &Network) -> Vec<PortabilityWarning> {
    let mut warnings = Vec::new();
    let names = PortableNames::of(network.schema());
    for ((variable, name), states) in network
        .schema()
        .variables()
        .iter()
        .zip(&names.variables)
        .zip(&names.states)
    {
        if variable.name() != name {
            warnings.push(PortabilityWarning::Variable(variable.name().to_owned()));
        }
        if variable.arity() == 1 {
            warnings.push(PortabilityWarning::SingleState(variable.name().to_owned()));
        }
        let states = variable.states().iter().zip(states);
        for (state, _) in states.filter(|(state, new)| state != new) {
            let (variable, state) = (variable.name().to_owned(), state.clone());
            warnings.push(PortabilityWarning::State { variable, state });
        }
    }
    warnings
}

const KEYWORDS: [&str; 8] = [
    "default",
    "discrete",
    "network",
    "probability",
    "property",
    "table",
    "type",
    "variable",
];

/// Returns whether a variable's name is one that every reader takes.
fn is_identifier(name: &str) -> bool {
    // A number in front may be followed by a letter, but not by one that makes it a power of ten.
    let start = name.trim_start_matches(|first: char| first.is_ascii_digit());
    let begins = |first: char| first.is_ascii_alphabetic() || first == '_';
    start.starts_with(begins)
        && (start == name || !start.starts_with(['e', 'E']))
        && name.chars().all(is_portable_letter)
        && !KEYWORDS
            .iter()
            .any(|keyword| name.eq_ignore_ascii_case(keyword))
}

/// Returns whether a state's name is one that every reader takes: an identifier or a whole number.
fn is_portable_state(name: &str) -> bool {
    let digits = name.strip_prefix('-').unwrap_or(name);
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    whole || is_identifier(name)
}

fn is_portable_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-')
}

/// Replaces each letter that is not portable by `_`.
fn portable_letters(name: &str) -> String {
    let letters = name.chars();
    letters
        .map(|letter| match is_portable_letter(letter) {
            true => letter,
            false => '_',
        })
        .collect()
}

/// Returns what a file calls its network: the name of the table that it was learned from, as a word
/// that every reader takes. pgmpy looks for keywords anywhere, so a name that holds one is left out.
pub(super) fn network_name(table: Option<&str>) -> String {
    const LONGEST: usize = 80;
    let name = portable_letters(table.unwrap_or_default());
    let plain = name.to_ascii_lowercase();
    let holds_keyword = KEYWORDS.iter().any(|keyword| plain.contains(keyword));
    if is_identifier(&name) && !holds_keyword && name.len() <= LONGEST {
        name
    } else {
        "unknown".to_owned()
    }
}

/// The names that a BIF file uses for a network's own.
#[derive(Debug)]
pub(super) struct PortableNames {
    pub(super) variables: Vec<String>,
    pub(super) states: Vec<Vec<String>>,
    /// The comment lines that map back.
    pub(super) comments: String,
}

impl PortableNames {
    /// Replaces the names that are not portable.
    pub(super) fn of(schema: &Schema) -> Self {
        let fits = |name: &str| is_identifier(name) && !trips_pgmpy(name);
        let variables = replace(schema.names(), fits, "v");
        let mut comments = String::new();
        let mut states = Vec::with_capacity(schema.len());
        for (variable, name) in schema.variables().iter().zip(&variables) {
            if variable.name() != name {
                comments += &format!("// {VARIABLE} {name} {}\n", quote(variable.name()));
            }
            let new = replace(
                variable.states().iter().map(String::as_str),
                is_portable_state,
                "s",
            );
            for (old, new) in variable
                .states()
                .iter()
                .zip(&new)
                .filter(|(old, new)| old != new)
            {
                comments += &format!("// {STATE} {name} {new} {}\n", quote(old));
            }
            states.push(new);
        }
        Self {
            variables,
            states,
            comments,
        }
    }
}

const MARKER: &str = "rlbayes:";
const VARIABLE: &str = "rlbayes:variable";
const STATE: &str = "rlbayes:state";
const ABOUT: &str = "rlbayes:about";

/// Writes provenance as comment lines.
pub(super) fn about(provenance: &Provenance) -> String {
    let facts = provenance.facts();
    let lines = facts.map(|(name, text)| format!("// {ABOUT} {name} {}\n", quote(text)));
    lines.collect()
}

/// Replaces names that do not fit; the results differ even if case does not count, since pgmpy
/// takes `A` and `a` for one variable.
fn replace<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    fits: impl Fn(&str) -> bool,
    prefix: &str,
) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let kept: Vec<bool> = names
        .clone()
        .map(|name| fits(name) && taken.insert(name.to_ascii_lowercase()))
        .collect();
    let mut replace_one = |name: &str| {
        let mut base = portable_letters(name);
        for word in ["table", "default"] {
            base = base.replace(word, &format!("{word}_"));
        }
        if !fits(&base) {
            base = format!("{prefix}_{base}");
        }
        let mut candidate = base.clone();
        let mut number = 2;
        while !taken.insert(candidate.to_ascii_lowercase()) {
            candidate = format!("{base}_{number}");
            number += 1;
        }
        candidate
    };
    names
        .zip(kept)
        .map(|(name, kept)| {
            if kept {
                name.to_owned()
            } else {
                replace_one(name)
            }
        })
        .collect()
}

/// Writes a name as a JSON string: on one line, whatever it holds.
fn quote(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

/// The original names that a file's comments hold.
#[derive(Debug, Default)]
pub(super) struct Originals {
    variables: BTreeMap<String, String>,
    states: BTreeMap<(String, String), String>,
    pub(super) provenance: Provenance,
}

impl Originals {
    /// Collects them from the comment lines.
    pub(super) fn of(text: &str) -> Result<Self, ReadError> {
        let mut originals = Self::default();
        if !text.contains(MARKER) {
            return Ok(originals);
        }
        for (number, line) in text.lines().enumerate() {
            let Some(note) = line.trim().strip_prefix("//").map(str::trim_start) else {
                continue;
            };
            if note.starts_with(MARKER) && originals.add(note).is_none() {
                let expected = "a comment `rlbayes:variable NAME \"original\"`, `rlbayes:state VARIABLE NAME \"original\"` or `rlbayes:about NAME \"text\"`";
                return Err(ReadError::Syntax {
                    line: number + 1,
                    expected,
                    found: excerpt(note),
                });
            }
        }
        Ok(originals)
    }

    fn add(&mut self, note: &str) -> Option<()> {
        let (kind, rest) = note.split_once(' ')?;
        let (variable, rest) = rest.split_once(' ')?;
        match kind {
            VARIABLE => {
                self.variables
                    .insert(variable.to_owned(), serde_json::from_str(rest).ok()?);
            }
            STATE => {
                let (state, rest) = rest.split_once(' ')?;
                let key = (variable.to_owned(), state.to_owned());
                self.states.insert(key, serde_json::from_str(rest).ok()?);
            }
            ABOUT => {
                let text: String = serde_json::from_str(rest).ok()?;
                self.provenance.add(variable, text);
            }
            _ => return None,
        }
        Some(())
    }

    /// Gives variables and states their original names.
    pub(super) fn restore(&self, declared: Declared) -> Result<Declared, ReadError> {
        if self.variables.is_empty() && self.states.is_empty() {
            return Ok(declared);
        }
        let mut variables = declared.into_variables();
        for variable in &mut variables {
            for state in &mut variable.states {
                let key = (variable.name.clone(), state.clone());
                if let Some(original) = self.states.get(&key) {
                    state.clone_from(original);
                }
            }
            if let Some(original) = self.variables.get(&variable.name) {
                variable.name.clone_from(original);
            }
        }
        Declared::new(variables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Variable;

    #[test]
    fn portable_names_are_identifiers_or_whole_numbers() {
        for name in [
            "yes", "a-b", "a.b", "_", "x1", "1", "007", "-1", "1_1", "12ab", "e5",
        ] {
            assert!(is_portable_state(name), "{name}");
        }
        for name in [
            "0.5", "1-2", "<5", "", "-", ".a", "1e5", "1e", "2.0x", "table", "Type", "é", "a b",
        ] {
            assert!(!is_portable_state(name), "{name}");
        }
        assert!(!is_identifier("1"));
    }

    #[test]
    fn networks_are_called_by_their_tables_where_every_reader_takes_that() {
        for (table, name) in [
            (Some("alarm"), "alarm"),
            (Some("my survey (2026)"), "my_survey__2026_"),
            (Some("größe"), "gr__e"),
            (Some("variables"), "unknown"),
            (Some("Default_rates"), "unknown"),
            (Some("7"), "unknown"),
            (Some(""), "unknown"),
            (None, "unknown"),
        ] {
            assert_eq!(network_name(table), name, "{table:?}");
        }
        assert_eq!(network_name(Some(&"x".repeat(500))), "unknown");
    }

    #[test]
    fn replaced_names_differ_even_without_case() {
        let names = ["A", "a", "a b", "a_b", "1.5", "default-5", "table", ""];
        let new = replace(
            names.into_iter(),
            |name| is_identifier(name) && !trips_pgmpy(name),
            "v",
        );
        assert_eq!(new[0], "A");
        assert_eq!(new[3], "a_b");
        let distinct: BTreeSet<String> = new.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(distinct.len(), names.len(), "{new:?}");
        assert!(
            new.iter()
                .all(|name| is_identifier(name) && !trips_pgmpy(name)),
            "{new:?}"
        );
    }

    #[test]
    fn warnings_name_what_pyagrum_refuses() {
        let schema = |name: &str, state: &str| {
            let variable = Variable::new(name, vec![state.into(), "b".into()]).unwrap();
            Schema::new(vec![variable]).unwrap()
        };
        let warn = |name, state| {
            let cpt = crate::network::Cpt {
                probabilities: vec![0.5, 0.5],
            };
            let dag = crate::graph::Dag::empty(1);
            portability_warnings(&Network::new(schema(name, state), dag, vec![cpt]).unwrap())
        };
        assert_eq!(warn("x", "1"), []);
        assert_eq!(
            warn("x y", "1"),
            [PortabilityWarning::Variable("x y".into())]
        );
        let state = PortabilityWarning::State {
            variable: "x".into(),
            state: "0.5".into(),
        };
        assert_eq!(warn("x", "0.5"), [state]);
        // What only pgmpy refuses is told as well: the file has another name for it.
        let twin = PortabilityWarning::State {
            variable: "x".into(),
            state: "b".into(),
        };
        assert_eq!(warn("x", "B"), [twin]);
        let keyword = PortabilityWarning::Variable("timetable1".into());
        assert_eq!(warn("timetable1", "1"), [keyword]);
    }
}
