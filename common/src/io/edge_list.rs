//! Edge list: `from,to` lines under an optional header `from,to`; a line with a single name is a
//! node without edges.

use super::csv_lines::records;
use super::error::ReadError;
use super::text::excerpt;
use crate::data::quoted;
use crate::ids::NodeIdx;
use crate::network::NamedDag;
use std::collections::BTreeSet;

/// Reads a structure.
pub(super) fn read(text: &str) -> Result<NamedDag, ReadError> {
    let mut names = BTreeSet::new();
    let mut edges = Vec::new();
    for (index, record) in records(text).enumerate() {
        let record = record?;
        let line = record.line;
        let is_header = |fields: &[String]| match fields {
            [from, to] => from.eq_ignore_ascii_case("from") && to.eq_ignore_ascii_case("to"),
            _ => false,
        };
        if index == 0 && is_header(&record.fields) {
            continue;
        }
        let mut fields = record.fields;
        if fields.len() == 2 && fields[1].is_empty() {
            fields.pop();
        }
        if fields.len() > 2 || fields.iter().any(String::is_empty) {
            let found = excerpt(&fields.join(","));
            return Err(ReadError::Syntax {
                line,
                expected: "two names, from,to, or one",
                found,
            });
        }
        names.extend(fields.iter().cloned());
        if names.len() > NodeIdx::MAX_NODES {
            return Err(ReadError::TooManyNodes(names.len()));
        }
        if let [from, to] = <[String; 2]>::try_from(fields).unwrap_or_default()
            && !from.is_empty()
        {
            edges.push((from, to));
        }
    }
    if names.is_empty() {
        return Err(ReadError::Empty);
    }
    Ok(NamedDag::new(names.into_iter().collect(), edges)?)
}

/// Writes a structure: the header, the nodes without edges, the edges.
pub(super) fn write(network: &NamedDag) -> String {
    let mut text = String::from("from,to\n");
    let dag = network.dag();
    for node in NodeIdx::all(dag.nodes()) {
        if dag.parents(node).is_empty() && dag.children(node).is_empty() {
            text += &format!("{}\n", quoted(network.name(node)));
        }
    }
    for (from, to) in network.named_edges() {
        text += &format!("{},{}\n", quoted(from), quoted(to));
    }
    text
}
