//! bnlearn's model string: `[A][B|A][C|A:B]`.

use super::error::{ReadError, WriteError};
use super::format::Format;
use super::text::{excerpt, line_of};
use crate::ids::NodeIdx;
use crate::network::NamedDag;

/// Reads a structure. White space between nodes does not count.
pub(super) fn read(text: &str) -> Result<NamedDag, ReadError> {
    let mut names = Vec::new();
    let mut edges: Vec<(String, String)> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let wrong = |expected, found: &str| {
            let line = line_of(text.as_bytes(), text.trim_end().len() - rest.len());
            ReadError::Syntax {
                line,
                expected,
                found: excerpt(found),
            }
        };
        let inner = rest
            .strip_prefix('[')
            .ok_or_else(|| wrong("'[' before a node", rest))?;
        let (node, after) = inner
            .split_once(']')
            .ok_or_else(|| wrong("']' after a node", inner))?;
        if node.contains('[') {
            return Err(wrong("']' after a node", node));
        }
        let (name, parents) = match node.split_once('|') {
            Some((_, "")) => return Err(wrong("a parent after '|'", node)),
            Some((name, parents)) => (name, parents.split(':').collect()),
            None => (node, Vec::new()),
        };
        if name.is_empty() || parents.contains(&"") || parents.iter().any(|p| p.contains('|')) {
            return Err(wrong("[node] or [node|parent:parent]", node));
        }
        if name.contains(':') {
            return Err(wrong("a node's name without ':'", name));
        }
        names.push(name.to_owned());
        edges.extend(
            parents
                .into_iter()
                .map(|parent| (parent.to_owned(), name.to_owned())),
        );
        rest = after.trim_start();
    }
    if names.is_empty() {
        return Err(ReadError::Empty);
    }
    if names.len() > NodeIdx::MAX_NODES {
        return Err(ReadError::TooManyNodes(names.len()));
    }
    Ok(NamedDag::new(names, edges)?)
}

/// Writes a structure, parents before children as bnlearn does.
pub(super) fn write(network: &NamedDag) -> Result<String, WriteError> {
    if let Some(name) = network
        .names()
        .iter()
        .find(|name| name.contains(['[', ']', '|', ':', '\0']))
    {
        return Err(WriteError::VariableName {
            format: Format::ModelString,
            name: name.clone(),
            reason: "it holds one of [ ] | : or a null character",
            instead: "write an edge list (.csv) or JSON",
        });
    }
    let mut text = String::new();
    for &node in network.dag().topological_order() {
        text += &format!("[{}", network.name(node));
        for (at, &parent) in network.dag().parents(node).iter().enumerate() {
            text.push(if at == 0 { '|' } else { ':' });
            text += network.name(parent);
        }
        text.push(']');
    }
    text.push('\n');
    Ok(text)
}
