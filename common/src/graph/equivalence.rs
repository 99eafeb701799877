//! Markov equivalence: two networks are equivalent if they have the same skeleton and the same
//! v-structures (Verma and Pearl 1990). A class has a key; `cpdag` shows which of its edges are
//! compelled.

use crate::ids::NodeIdx;

/// A name for a structure or an equivalence class: 256 bits of a cryptographic hash, the same on
/// every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StructureKey(pub [u8; 32]);

impl StructureKey {
    /// Names the equivalence class: skeleton and v-structures.
    #[must_use]
    pub fn of_class<P: AsRef<[NodeIdx]>>(parents: &[P]) -> Self {
        let is_parent =
            |from: NodeIdx, to: NodeIdx| parents[to.index()].as_ref().binary_search(&from).is_ok();
        let mut edges: Vec<(NodeIdx, NodeIdx)> = Vec::new();
        let mut colliders: Vec<(NodeIdx, NodeIdx, NodeIdx)> = Vec::new();
        for (to, family) in NodeIdx::all(parents.len()).zip(parents) {
            let family = family.as_ref();
            for (at, &a) in family.iter().enumerate() {
                edges.push((a.min(to), a.max(to)));
                for &b in &family[at + 1..] {
                    if !is_parent(a, b) && !is_parent(b, a) {
                        colliders.push((to, a, b));
                    }
                }
            }
        }
        edges.sort_unstable();
        colliders.sort_unstable();
        let mut hasher = blake3::Hasher::new();
        let mut number = |value: usize| {
            hasher.update(&(value as u64).to_le_bytes());
        };
        number(parents.len());
        number(edges.len());
        for (a, b) in edges {
            number(a.index());
            number(b.index());
        }
        for (to, a, b) in colliders {
            number(to.index());
            number(a.index());
            number(b.index());
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// Names the structure itself, for scores that tell equivalent networks apart.
    #[must_use]
    pub fn of_structure<P: AsRef<[NodeIdx]>>(parents: &[P]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for family in parents {
            hasher.update(&(family.as_ref().len() as u64).to_le_bytes());
            for parent in family.as_ref() {
                hasher.update(&(parent.index() as u64).to_le_bytes());
            }
        }
        Self(*hasher.finalize().as_bytes())
    }
}
