//! Rows and seeds.

use super::{KnownRows, WireError, at_most};
use crate::v1;
use bytes::Bytes;
use rlbayes_common::elite::{EliteRow, Structure};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::score::LogScore;
use rlbayes_common::search::Seeds;

const MOST_EDGES: usize = 65_536;
pub(super) const EDGE_BYTES: usize = 4;

/// Writes a row.
#[must_use]
pub fn row_to_wire(row: &EliteRow) -> v1::Row {
    v1::Row {
        edges: edges_to_wire(row.structure.edges()),
        score: row.score.value(),
        ..Default::default()
    }
}

/// Reads a row of a search with `nodes` variables. Its score is as the sender claims.
///
/// # Errors
/// If it is not a network over these variables, in order.
pub fn row_from_wire(row: &v1::Row, nodes: usize) -> Result<EliteRow, WireError> {
    let (dag, score) = dag_from_wire(row, nodes)?;
    let structure = Structure::of(&dag);
    Ok(EliteRow { structure, score })
}

/// Reads a row as the graph that it describes and the score that the sender claims.
///
/// # Errors
/// If it is not a network over `nodes` variables, in order.
pub fn dag_from_wire(row: &v1::Row, nodes: usize) -> Result<(Dag, LogScore), WireError> {
    if !row.base.is_empty() {
        return Err(WireError::Range("base"));
    }
    let score = LogScore::checked(row.score).ok_or(WireError::Score)?;
    let edges = edges_from_wire(&row.edges, nodes)?;
    let dag = Dag::from_edges(nodes, edges).map_err(|_| WireError::Cycle)?;
    Ok((dag, score))
}

/// Names a row by its bytes: the same name, the same row.
#[must_use]
pub fn row_digest(row: &v1::Row) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&row.score.to_le_bytes());
    hasher.update(&row.edges);
    *hasher.finalize().as_bytes()
}

/// Writes edges (from, to) in the wire's order.
pub(super) fn edges_to_wire(edges: impl Iterator<Item = (NodeIdx, NodeIdx)>) -> Bytes {
    let mut bytes = Vec::new();
    for (from, to) in edges {
        for node in [to, from] {
            #[expect(clippy::cast_possible_truncation, reason = "MAX_NODES fits 16 bits")]
            bytes.extend_from_slice(&(node.index() as u16).to_le_bytes());
        }
    }
    bytes.into()
}

/// Reads edges (from, to); they must be in order, each once.
pub(super) fn edges_from_wire(
    bytes: &[u8],
    nodes: usize,
) -> Result<Vec<(NodeIdx, NodeIdx)>, WireError> {
    at_most("edges", bytes.len() / EDGE_BYTES, MOST_EDGES)?;
    let (pairs, rest) = bytes.as_chunks::<EDGE_BYTES>();
    if !rest.is_empty() {
        return Err(WireError::Length {
            name: "edges",
            found: bytes.len(),
            expected: "a multiple of 4",
        });
    }
    let mut edges = Vec::with_capacity(pairs.len());
    let mut last = None;
    for &[to_low, to_high, from_low, from_high] in pairs {
        let to = u16::from_le_bytes([to_low, to_high]);
        let from = u16::from_le_bytes([from_low, from_high]);
        for found in [to, from] {
            if usize::from(found) >= nodes {
                return Err(WireError::Node { found, nodes });
            }
        }
        if last.is_some_and(|last| last >= (to, from)) {
            return Err(WireError::Order);
        }
        last = Some((to, from));
        edges.push((
            NodeIdx::new(usize::from(from)),
            NodeIdx::new(usize::from(to)),
        ));
    }
    Ok(edges)
}

/// Writes seeds for somebody who knows these rows.
#[must_use]
pub fn seeds_to_wire(seeds: &Seeds, known: &KnownRows) -> v1::Seeds {
    v1::Seeds {
        best: seeds.best.as_ref().map(|row| known.row_to_wire(row)),
        mate: Some(known.row_to_wire(&seeds.mate)),
    }
}

/// Reads seeds.
///
/// # Errors
/// If the mate is missing, or a row is not a network.
pub fn seeds_from_wire(seeds: &v1::Seeds, nodes: usize) -> Result<Seeds, WireError> {
    let mate = seeds.mate.as_ref().ok_or(WireError::Missing("mate"))?;
    Ok(Seeds {
        best: seeds
            .best
            .as_ref()
            .map(|row| row_from_wire(row, nodes))
            .transpose()?,
        mate: row_from_wire(mate, nodes)?,
    })
}
