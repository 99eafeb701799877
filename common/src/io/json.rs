//! Our JSON: `nodes` (names), `edges` (pairs of names) and, with parameters, `states` and
//! `probabilities` per node. Reading takes `edges` and, for nodes without edges, `nodes`.

use super::error::ReadError;
use super::text::excerpt;
use crate::ids::NodeIdx;
use crate::network::{NamedDag, NetworkFile};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Reads a structure.
pub(super) fn read(text: &str) -> Result<NamedDag, ReadError> {
    let value: Value = serde_json::from_str(text).map_err(|error| ReadError::Syntax {
        line: error.line(),
        expected: "JSON",
        found: error.to_string(),
    })?;
    let wrong = |expected, found: &Value| ReadError::Syntax {
        line: 1,
        expected,
        found: excerpt(&found.to_string()),
    };
    let listed = match value.get("edges") {
        Some(Value::Array(edges)) => edges,
        Some(other) => return Err(wrong("`edges` to be a list of pairs of names", other)),
        None => return Err(wrong("an object with a list `edges`", &value)),
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

/// Writes a network.
pub(super) fn write(network: &NetworkFile) -> String {
    let named = network.named_dag();
    let mut object = Map::new();
    object.insert("nodes".into(), json!(named.names()));
    let edges: Vec<[&str; 2]> = named.named_edges().map(|(from, to)| [from, to]).collect();
    object.insert("edges".into(), json!(edges));
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
