//! Rows as what differs from rows that the other side knows. Of a network of thousands of nodes a
//! report changes the families of a few dozen: only these travel.
//!
//! A row is named by its digest, which is that of its whole form. Whoever gets a difference makes the
//! whole row of it before anything else is done, so that nothing else knows of differences.

use super::WireError;
use super::rows::{EDGE_BYTES, edges_from_wire, edges_to_wire, row_digest, row_to_wire};
use crate::v1;
use bytes::Bytes;
use rlbayes_common::elite::{EliteRow, Structure};
use rlbayes_common::ids::NodeIdx;
use std::collections::VecDeque;

/// Names a row.
pub type RowDigest = [u8; 32];

/// Bytes of a node's number.
const NODE_BYTES: usize = 2;

/// Rows that one side knows the other to know, the newest last.
#[derive(Clone, Debug, Default)]
pub struct KnownRows(VecDeque<(RowDigest, EliteRow)>);

impl KnownRows {
    /// How many there are at most.
    pub const MOST: usize = 16;

    /// Makes a collection of rows; those that are too many are left out.
    pub fn of(rows: impl IntoIterator<Item = (RowDigest, EliteRow)>) -> Self {
        Self(rows.into_iter().take(Self::MOST).collect())
    }

    /// Knows a row; the oldest goes if they are too many.
    pub fn note(&mut self, digest: RowDigest, row: EliteRow) {
        self.0.retain(|(known, _)| *known != digest);
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back((digest, row));
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns a row by its digest.
    #[must_use]
    pub fn find(&self, digest: &[u8]) -> Option<&EliteRow> {
        let mut rows = self.0.iter();
        let found = rows.find(|(known, _)| known.as_slice() == digest);
        found.map(|(_, row)| row)
    }

    /// Returns the digests.
    pub fn digests(&self) -> impl Iterator<Item = &RowDigest> {
        self.0.iter().map(|(digest, _)| digest)
    }

    /// Writes a row as what differs from the known row that is nearest to it, or whole where that is
    /// not much shorter.
    #[must_use]
    pub fn row_to_wire(&self, row: &EliteRow) -> v1::Row {
        let nearest = self.0.iter().rev();
        let nearest = nearest.filter(|(_, base)| base.structure.nodes() == row.structure.nodes());
        let nearest =
            nearest.min_by_key(|(_, base)| base.structure.differing(&row.structure).count());
        let Some((digest, base)) = nearest else {
            return row_to_wire(row);
        };
        let differing: Vec<NodeIdx> = base.structure.differing(&row.structure).collect();
        let edges_of = |nodes: &mut dyn Iterator<Item = NodeIdx>| -> usize {
            nodes.map(|node| row.structure.parents(node).len()).sum()
        };
        let changed = edges_of(&mut differing.iter().copied());
        let all = edges_of(&mut NodeIdx::all(row.structure.nodes()));
        let bytes = digest.len() + NODE_BYTES * differing.len() + EDGE_BYTES * changed;
        if 2 * bytes > EDGE_BYTES * all {
            return row_to_wire(row);
        }
        let edges = differing.iter().flat_map(|&node| {
            let parents = row.structure.parents(node).iter();
            parents.map(move |&parent| (parent, node))
        });
        v1::Row {
            edges: edges_to_wire(edges),
            score: row.score.value(),
            base: digest.to_vec().into(),
            differing: nodes_to_wire(&differing),
        }
    }
}

/// Returns how many bytes the edges of a row take as a whole, given the row that it differs from.
#[must_use]
pub fn whole_bytes(row: &v1::Row, base: &EliteRow) -> usize {
    row.edges.len() + EDGE_BYTES * base.structure.edges().count()
}

/// Makes a whole row of one that is told as what differs from `base`, which has `nodes` nodes.
///
/// # Errors
/// If the nodes are not in order, or edges lead to others.
pub fn whole_row(row: &v1::Row, base: &Structure) -> Result<v1::Row, WireError> {
    let nodes = base.nodes();
    let differing = nodes_from_wire(&row.differing, nodes)?;
    let edges = edges_from_wire(&row.edges, nodes)?;
    let is_differing = |node: NodeIdx| differing.binary_search(&node).is_ok();
    if !edges.iter().all(|&(_, child)| is_differing(child)) {
        return Err(WireError::Range("edges"));
    }
    let kept = base.edges().filter(|&(_, child)| !is_differing(child));
    let mut all: Vec<(NodeIdx, NodeIdx)> = kept.chain(edges).collect();
    all.sort_unstable_by_key(|&(parent, child)| (child, parent));
    Ok(v1::Row {
        edges: edges_to_wire(all.into_iter()),
        score: row.score,
        ..Default::default()
    })
}

/// Makes whole rows of all rows of a list that are told as differences.
///
/// # Errors
/// If one is not right, or its base is not known.
pub fn make_whole<'a>(
    rows: impl Iterator<Item = &'a mut v1::Row>,
    known: &KnownRows,
) -> Result<(), WireError> {
    for row in rows.filter(|row| !row.base.is_empty()) {
        let base = known.find(&row.base).ok_or(WireError::Range("base"))?;
        *row = whole_row(row, &base.structure)?;
    }
    Ok(())
}

/// Names a row of the engine.
#[must_use]
pub fn digest_of(row: &EliteRow) -> RowDigest {
    row_digest(&row_to_wire(row))
}

fn nodes_to_wire(nodes: &[NodeIdx]) -> Bytes {
    let mut bytes = Vec::with_capacity(NODE_BYTES * nodes.len());
    for node in nodes {
        #[expect(clippy::cast_possible_truncation, reason = "MAX_NODES fits 16 bits")]
        bytes.extend_from_slice(&(node.index() as u16).to_le_bytes());
    }
    bytes.into()
}

fn nodes_from_wire(bytes: &[u8], nodes: usize) -> Result<Vec<NodeIdx>, WireError> {
    let (numbers, rest) = bytes.as_chunks::<NODE_BYTES>();
    if !rest.is_empty() {
        return Err(WireError::Length {
            name: "differing",
            found: bytes.len(),
            expected: "a multiple of 2",
        });
    }
    let mut found: Vec<NodeIdx> = Vec::with_capacity(numbers.len().min(nodes));
    for &number in numbers {
        let number = u16::from_le_bytes(number);
        if usize::from(number) >= nodes {
            return Err(WireError::Node {
                found: number,
                nodes,
            });
        }
        let node = NodeIdx::new(usize::from(number));
        if found.last().is_some_and(|&last| last >= node) {
            return Err(WireError::Order);
        }
        found.push(node);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use prost::Message;
    use rlbayes_common::graph::Dag;
    use rlbayes_common::score::LogScore;

    /// Returns a network: each node may have parents among those before it.
    fn rows(nodes: usize) -> impl Strategy<Value = EliteRow> {
        let bits = proptest::collection::vec(0_u32..6, nodes * nodes);
        (bits, -1e6..0.0_f64).prop_map(move |(bits, score)| {
            let mut dag = Dag::empty(nodes);
            for child in 0..nodes {
                for parent in 0..child {
                    if bits[child * nodes + parent] == 0 {
                        let _ = dag.add_edge(NodeIdx::new(parent), NodeIdx::new(child));
                    }
                }
            }
            EliteRow {
                structure: Structure::of(&dag),
                score: LogScore::new(score),
            }
        })
    }

    /// The row with other parents for one node.
    fn changed(row: &EliteRow, node: usize) -> EliteRow {
        let node = NodeIdx::new(node);
        let kept = row.structure.edges().filter(|&(_, child)| child != node);
        let nodes = row.structure.nodes();
        EliteRow {
            structure: Structure::from_edges(nodes, kept).unwrap(),
            score: row.score,
        }
    }

    proptest! {
        #[test]
        fn a_row_told_as_a_difference_is_the_same_row(
            base in rows(20), other in rows(20), node in 0_usize..20,
        ) {
            let known = KnownRows::of([(digest_of(&base), base.clone())]);
            for row in [&other, &base, &changed(&base, node)] {
                let mut wire = known.row_to_wire(row);
                make_whole(std::iter::once(&mut wire), &known).unwrap();
                prop_assert_eq!(wire, row_to_wire(row));
            }
        }

        #[test]
        fn any_bytes_are_a_row_in_order_or_an_error(
            base in rows(6),
            edges in proptest::collection::vec(0_u8..8, 0..24),
            differing in proptest::collection::vec(0_u8..8, 0..8),
        ) {
            let row = v1::Row {
                edges: edges.into(),
                differing: differing.into(),
                base: digest_of(&base).to_vec().into(),
                score: -1.0,
            };
            if let Ok(whole) = whole_row(&row, &base.structure) {
                prop_assert!(edges_from_wire(&whole.edges, 6).is_ok());
                prop_assert!(whole.edges.len() <= whole_bytes(&row, &base));
            }
        }
    }

    #[test]
    fn a_change_of_one_family_in_a_large_network_is_short() {
        let edges = (1..2000).map(|to| (NodeIdx::new(to - 1), NodeIdx::new(to)));
        let base = EliteRow {
            structure: Structure::from_edges(2000, edges).unwrap(),
            score: LogScore::new(-5.0),
        };
        let known = KnownRows::of([(digest_of(&base), base.clone())]);
        let row = changed(&base, 1000);
        assert!(row_to_wire(&row).encoded_len() > 7900);
        assert!(known.row_to_wire(&row).encoded_len() < 64);
    }

    #[test]
    fn unknown_bases_are_refused_and_old_rows_are_forgotten() {
        let row = |score| EliteRow {
            structure: Structure::from_edges(3, [(NodeIdx::new(0), NodeIdx::new(1))]).unwrap(),
            score: LogScore::new(score),
        };
        let mut known = KnownRows::default();
        for score in 0..40 {
            let row = row(f64::from(score));
            known.note(digest_of(&row), row);
        }
        assert_eq!(known.digests().count(), KnownRows::MOST);
        assert!(known.find(&digest_of(&row(39.0))).is_some());
        let mut told = v1::Row {
            base: digest_of(&row(0.0)).to_vec().into(),
            ..Default::default()
        };
        let refused = make_whole(std::iter::once(&mut told), &known);
        assert_eq!(refused, Err(WireError::Range("base")));
    }
}
