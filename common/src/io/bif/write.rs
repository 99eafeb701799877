//! The strict BIF writer: no quotes and one form for everything, so that pgmpy reads every file
//! and pyAgrum each one with portable names. What BIF can't hold is an error.

use super::lexer::is_mark;
use super::portable::{PortableNames, about, network_name};
use crate::data::Schema;
use crate::ids::NodeIdx;
use crate::io::error::WriteError;
use crate::io::format::Format;
use crate::io::provenance::Provenance;
use crate::network::Network;
use std::collections::BTreeMap;

/// Writes a network. Names that other programs refuse are replaced, with the originals in comments;
/// `strict_names` keeps them all, and refuses what the format cannot hold.
pub(crate) fn write(
    network: &Network,
    strict_names: bool,
    provenance: Option<&Provenance>,
) -> Result<String, WriteError> {
    let schema = network.schema();
    let names = if !strict_names {
        PortableNames::of(schema)
    } else {
        check_names(schema)?;
        PortableNames {
            variables: schema.names().map(str::to_owned).collect(),
            states: schema
                .variables()
                .iter()
                .map(|v| v.states().to_vec())
                .collect(),
            comments: String::new(),
        }
    };
    let table = provenance.and_then(|notes| notes.get("table"));
    let mut text = format!("network {} {{\n}}\n", network_name(table));
    text += &provenance.map(about).unwrap_or_default();
    text += &names.comments;
    for (name, states) in names.variables.iter().zip(&names.states) {
        let (count, states) = (states.len(), states.join(", "));
        text += &format!("variable {name} {{\n  type discrete [ {count} ] {{ {states} }};\n}}\n");
    }
    for node in NodeIdx::all(schema.len()) {
        write_table(&mut text, network, &names, node);
    }
    Ok(text)
}

fn write_table(text: &mut String, network: &Network, names: &PortableNames, node: NodeIdx) {
    let parents = network.dag().parents(node);
    let name = |node: NodeIdx| names.variables[node.index()].as_str();
    let arity = names.states[node.index()].len();
    let rows = network.cpt(node).probabilities.chunks(arity);
    if parents.is_empty() {
        *text += &format!("probability ( {} ) {{\n", name(node));
        for row in rows {
            *text += &format!("  table {};\n", numbers(row));
        }
    } else {
        let given: Vec<&str> = parents.iter().map(|&parent| name(parent)).collect();
        *text += &format!("probability ( {} | {} ) {{\n", name(node), given.join(", "));
        let mut states = vec![0; parents.len()];
        for row in rows {
            let given: Vec<&str> = parents
                .iter()
                .zip(&states)
                .map(|(parent, &state): (_, &usize)| names.states[parent.index()][state].as_str())
                .collect();
            *text += &format!("  ({}) {};\n", given.join(", "), numbers(row));
            for (state, parent) in states.iter_mut().zip(parents).rev() {
                *state += 1;
                if *state < names.states[parent.index()].len() {
                    break;
                }
                *state = 0;
            }
        }
    }
    *text += "}\n";
}

/// Writes the shortest digits that read back as the same numbers.
fn numbers(row: &[f64]) -> String {
    // Debug uses an exponent where Display would write hundreds of zeros.
    let numbers: Vec<String> = row.iter().map(|number| format!("{number:?}")).collect();
    numbers.join(", ")
}

/// Finds the first name that a BIF file can't hold.
fn check_names(schema: &Schema) -> Result<(), WriteError> {
    let (format, instead) = (Format::Bif, "write XMLBIF (.xml) or let names be replaced");
    let mut without_case: BTreeMap<String, &str> = BTreeMap::new();
    for variable in schema.variables() {
        let name = variable.name();
        let mut reason = why_not(name);
        if trips_pgmpy(name) {
            reason = Some("pgmpy takes it for the keyword in it");
        }
        if without_case.insert(name.to_lowercase(), name).is_some() {
            reason = Some("another variable differs from it in upper and lower case only");
        }
        if let Some(reason) = reason {
            return Err(WriteError::VariableName {
                format,
                name: name.to_owned(),
                reason,
                instead,
            });
        }
        for state in variable.states() {
            if let Some(reason) = why_not(state) {
                let (variable, state) = (name.to_owned(), state.clone());
                return Err(WriteError::StateName {
                    format,
                    variable,
                    state,
                    reason,
                    instead,
                });
            }
        }
    }
    Ok(())
}

/// Returns why a bare word can't be this name.
fn why_not(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    for letter in name.chars() {
        if letter.is_whitespace() || letter == '\u{feff}' {
            return Some("it holds white space");
        }
        if letter.is_control() {
            return Some("it holds a control character");
        }
        if letter == '"' || (letter.is_ascii() && name.bytes().any(is_mark)) {
            return Some("it holds punctuation of the format");
        }
    }
    (name.contains("//") || name.contains("/*")).then_some("it holds the start of a comment")
}

/// Returns whether pgmpy 1.1 would find a row of numbers in a header with this name: it searches
/// for `table` and `default` followed by what may be a number.
pub(super) fn trips_pgmpy(name: &str) -> bool {
    ["table", "default"].iter().any(|keyword| {
        name.match_indices(keyword).any(|(at, _)| {
            name[at + keyword.len()..].starts_with(|next: char| {
                next.is_ascii_digit() || matches!(next, '-' | '+' | '.' | 'e' | 'E')
            })
        })
    })
}
