//! Our JSON: `nodes` (names), `edges` (pairs of names), `strengths` (their support, if it is known), `required` (whether
//! that is 1 by construction),
//! `cpdag` (what of them is compelled), with parameters `states` and `probabilities` per node, and `provenance`. A node's probabilities are one
//! row for each configuration of its parents; parents are in the order of their names, the states of
//! the last one run fastest. Reading needs `edges` only.

use super::assemble::{ContentError, Declared, DeclaredTable, DeclaredVariable, assemble};
use super::error::ReadError;
use super::file::Document;
use super::provenance::Provenance;
use super::text::excerpt;
use crate::graph::Cpdag;
use crate::ids::NodeIdx;
use crate::network::{NamedDag, Network, NetworkFile};
use crate::support::SupportTable;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Reads a network, with probabilities if there are any.
pub(super) fn read(text: &str) -> Result<Document, ReadError> {
    let value: Value = serde_json::from_str(text).map_err(|error| ReadError::Syntax {
        line: error.line(),
        expected: "JSON",
        found: error.to_string(),
    })?;
    let named = structure(&value)?;
    let network = match (value.get("states"), value.get("probabilities")) {
        (Some(Value::Object(states)), Some(Value::Object(probabilities))) => {
            NetworkFile::Parametrised(parameters(&named, states, probabilities)?)
        }
        (None | Some(Value::Null), None | Some(Value::Null)) => NetworkFile::Structure(named),
        (states, probabilities) => {
            let mut odd = [states, probabilities].into_iter().flatten();
            let odd = odd.find(|value| !value.is_object()).cloned();
            return Err(wrong(
                "both `states` and `probabilities` as objects by node, or neither",
                &odd.unwrap_or_default(),
            ));
        }
    };
    let mut provenance = Provenance::default();
    if let Some(Value::Object(facts)) = value.get("provenance") {
        for (name, text) in facts {
            if let Value::String(text) = text {
                provenance.add(name, text.as_str());
            }
        }
    }
    Ok(Document {
        network,
        provenance,
    })
}

fn wrong(expected: &'static str, found: &Value) -> ReadError {
    ReadError::Syntax {
        line: 1,
        expected,
        found: excerpt(&found.to_string()),
    }
}

fn structure(value: &Value) -> Result<NamedDag, ReadError> {
    let listed = match value.get("edges") {
        Some(Value::Array(edges)) => edges,
        Some(other) => return Err(wrong("`edges` to be a list of pairs of names", other)),
        None => return Err(wrong("an object with a list `edges`", value)),
    };
    let mut edges: Vec<(String, String)> = Vec::with_capacity(listed.len());
    for edge in listed {
        let pair = edge.as_array().map(Vec::as_slice);
        let Some([Value::String(from), Value::String(to)]) = pair else {
            return Err(wrong("each edge to be a pair of names", edge));
        };
        edges.push((from.clone(), to.clone()));
    }
    let names: Vec<String> = match value.get("nodes") {
        None | Some(Value::Null) => {
            let ends = edges
                .iter()
                .flat_map(|(from, to)| [from.clone(), to.clone()]);
            ends.collect::<BTreeSet<_>>().into_iter().collect()
        }
        Some(Value::Array(nodes)) => nodes
            .iter()
            .map(|node| match node {
                Value::String(name) => Ok(name.clone()),
                other => Err(wrong("each node to be a name", other)),
            })
            .collect::<Result<_, _>>()?,
        Some(other) => return Err(wrong("`nodes` to be a list of names", other)),
    };
    if names.is_empty() {
        return Err(ReadError::Empty);
    }
    if names.len() > NodeIdx::MAX_NODES {
        return Err(ReadError::TooManyNodes(names.len()));
    }
    Ok(NamedDag::new(names, edges)?)
}

/// Puts states and probabilities to a structure; a node that lacks either is an error.
fn parameters(
    named: &NamedDag,
    states: &Map<String, Value>,
    probabilities: &Map<String, Value>,
) -> Result<Network, ReadError> {
    let mut variables = Vec::with_capacity(named.names().len());
    for name in named.names() {
        let Some(listed) = states.get(name).and_then(Value::as_array) else {
            return Err(wrong(
                "`states` to list the states of each node",
                &json!(name),
            ));
        };
        let texts = listed.iter().map(|state| match state {
            Value::String(state) => Ok(state.clone()),
            other => Err(wrong("each state to be a text", other)),
        });
        variables.push(DeclaredVariable {
            name: name.clone(),
            states: texts.collect::<Result<_, _>>()?,
            line: 1,
        });
    }
    let declared = Declared::new(variables)?;
    let mut tables = Vec::with_capacity(named.names().len());
    for node in NodeIdx::all(named.names().len()) {
        let name = named.name(node);
        let parents = named.dag().parents(node).iter();
        let parents: Vec<&str> = parents.map(|&parent| named.name(parent)).collect();
        let (variable, parents) = declared.family(name, &parents, 1)?;
        let Some(rows) = probabilities.get(name).and_then(Value::as_array) else {
            return Err(ContentError::MissingTable(name.to_owned()).at(1));
        };
        let arity = declared.get(variable).states.len();
        let mut numbers = Vec::new();
        for row in rows {
            let row = row.as_array().map_or(&[][..], Vec::as_slice);
            if row.len() != arity {
                return Err(ContentError::EntryCount {
                    variable: name.to_owned(),
                    expected: arity,
                    found: row.len(),
                }
                .at(1));
            }
            for number in row {
                let probability = number.as_f64().filter(|number| number.is_finite());
                numbers.push(probability.ok_or_else(|| wrong("a probability", number))?);
            }
        }
        tables.push(DeclaredTable {
            variable,
            parents,
            probabilities: numbers,
            line: 1,
        });
    }
    assemble(&declared, tables)
}

/// Writes a network.
pub(super) fn write(
    network: &NetworkFile,
    class: Option<&Cpdag>,
    support: Option<&SupportTable>,
    provenance: Option<&Provenance>,
) -> String {
    let named = network.named_dag();
    let mut object = Map::new();
    object.insert("nodes".into(), json!(named.names()));
    let edges: Vec<[&str; 2]> = named.named_edges().map(|(from, to)| [from, to]).collect();
    object.insert("edges".into(), json!(edges));
    if let Some(support) = support {
        let edges = named.dag().edges();
        let strengths: Vec<f64> = edges.map(|(a, b)| support.pair(a, b).strength()).collect();
        object.insert("strengths".into(), json!(strengths));
        let edges = named.dag().edges();
        let required: Vec<bool> = edges
            .map(|(a, b)| support.is_required(&support.pair(a, b)))
            .collect();
        // The support of these is 1 by construction.
        object.insert("required".into(), json!(required));
    }
    if let Some(class) = class {
        let pairs = |pairs: &BTreeSet<(NodeIdx, NodeIdx)>| -> Vec<[&str; 2]> {
            let pairs = pairs.iter();
            pairs
                .map(|&(from, to)| [named.name(from), named.name(to)])
                .collect()
        };
        let (directed, undirected) = (pairs(class.directed()), pairs(class.undirected()));
        let parts = json!({ "directed": directed, "undirected": undirected });
        object.insert("cpdag".into(), parts);
    }
    if let Some(provenance) = provenance.filter(|provenance| !provenance.is_empty()) {
        let facts = provenance
            .facts()
            .map(|(name, text)| (name.to_owned(), json!(text)));
        object.insert("provenance".into(), Value::Object(facts.collect()));
    }
    if let NetworkFile::Parametrised(network) = network {
        let mut states = Map::new();
        let mut probabilities = Map::new();
        for (node, variable) in NodeIdx::all(named.names().len()).zip(network.schema().variables())
        {
            let rows: Vec<&[f64]> = network
                .cpt(node)
                .probabilities
                .chunks(variable.arity())
                .collect();
            states.insert(variable.name().into(), json!(variable.states()));
            probabilities.insert(variable.name().into(), json!(rows));
        }
        object.insert("states".into(), Value::Object(states));
        object.insert("probabilities".into(), Value::Object(probabilities));
    }
    format!("{:#}\n", Value::Object(object))
}
