//! (node, set of parents) packed into 128 bits: exact, so that equal keys mean equal families.

use crate::ids::NodeIdx;

/// Packs families of a graph with a fixed number of nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FamilyPacker {
    bits: u32,
}

/// A packed family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FamilyKey(u64, u64);

impl FamilyPacker {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            bits: usize::BITS - nodes.leading_zeros(),
        }
    }

    /// Returns the key, or `None` where the family has too many members to fit.
    pub(crate) fn pack(self, node: NodeIdx, parents: &[NodeIdx]) -> Option<FamilyKey> {
        let members = u32::try_from(parents.len() + 1).ok()?;
        if members.checked_mul(self.bits)? > u128::BITS {
            return None;
        }
        // A member is stored as index + 1, so that an absent one is 0.
        let mut packed = node.index() as u128 + 1;
        for parent in parents {
            packed = (packed << self.bits) | (parent.index() as u128 + 1);
        }
        #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
        Some(FamilyKey((packed >> 64) as u64, packed as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn different_families_have_different_keys(
            n in 1usize..2000,
            a in prop::collection::btree_set(0usize..2000, 1..9),
            b in prop::collection::btree_set(0usize..2000, 1..9),
        ) {
            let packer = FamilyPacker::new(n.max(2));
            let family = |set: &std::collections::BTreeSet<usize>| -> Vec<NodeIdx> {
                set.iter().map(|&i| NodeIdx::new(i % n)).collect()
            };
            let (mut a, mut b) = (family(&a), family(&b));
            a[1..].sort_unstable();
            b[1..].sort_unstable();
            if let (Some(key_a), Some(key_b)) =
                (packer.pack(a[0], &a[1..]), packer.pack(b[0], &b[1..]))
            {
                prop_assert_eq!(key_a == key_b, a == b);
            }
        }
    }
}
