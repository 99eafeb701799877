//! The families that a best network is made of, as costs and bit sets, and which of them are left.

use super::candidates::Family;
use crate::ids::NodeIdx;

/// The candidate families of all variables. A network chooses one of each variable; its cost is the
/// sum of theirs, in whole units.
#[derive(Debug)]
pub struct Model {
    nodes: usize,
    words: usize,
    /// Where a variable's families start; cheapest first.
    first: Vec<usize>,
    children: Vec<NodeIdx>,
    costs: Vec<i64>,
    parents: Vec<u64>,
}

/// A set of families that are left, by number.
#[derive(Clone, Debug)]
pub(super) struct Alive(Vec<u64>);

impl Model {
    /// Numbers the families of all variables.
    pub fn new<'a>(families: impl ExactSizeIterator<Item = &'a [Family]>) -> Self {
        let nodes = families.len();
        let words = nodes.div_ceil(64);
        let mut model = Self {
            nodes,
            words,
            first: vec![0],
            children: Vec::new(),
            costs: Vec::new(),
            parents: Vec::new(),
        };
        for (child, families) in NodeIdx::all(nodes).zip(families) {
            let mut sorted: Vec<&Family> = families.iter().collect();
            sorted.sort_by(|a, b| {
                b.units
                    .cmp(&a.units)
                    .then_with(|| a.parents.cmp(&b.parents))
            });
            for family in sorted {
                model.children.push(child);
                model.costs.push(-family.units);
                let start = model.parents.len();
                model.parents.resize(start + words, 0);
                for parent in &family.parents {
                    model.parents[start + parent.index() / 64] |= 1 << (parent.index() % 64);
                }
            }
            model.first.push(model.costs.len());
        }
        model
    }

    /// Returns how many variables there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// Returns how many families there are.
    #[expect(clippy::len_without_is_empty, reason = "each variable has a family")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.costs.len()
    }

    pub(super) fn child(&self, family: usize) -> NodeIdx {
        self.children[family]
    }

    pub(super) fn cost(&self, family: usize) -> i64 {
        self.costs[family]
    }

    /// Returns the parents of a family as bits.
    #[inline]
    pub(super) fn parents(&self, family: usize) -> &[u64] {
        &self.parents[family * self.words..][..self.words]
    }

    #[inline]
    pub(super) fn has_parent(&self, family: usize, parent: NodeIdx) -> bool {
        has(self.parents(family), parent)
    }

    pub(super) fn parent_list(&self, family: usize) -> Vec<NodeIdx> {
        members(self.parents(family)).collect()
    }

    /// Returns the numbers of a variable's families.
    pub(super) fn of(&self, child: NodeIdx) -> std::ops::Range<usize> {
        self.first[child.index()]..self.first[child.index() + 1]
    }

    pub(super) fn all(&self) -> Alive {
        let mut bits = vec![u64::MAX; self.len().div_ceil(64)];
        if let (Some(last), rest @ 1..) = (bits.last_mut(), self.len() % 64) {
            *last = (1 << rest) - 1;
        }
        Alive(bits)
    }

    /// Removes every family that closes a cycle with edges that all networks left must have: those
    /// in all families left of a variable. Returns false if a variable has no family left.
    pub(super) fn propagate(&self, alive: &mut Alive) -> bool {
        let words = self.words;
        loop {
            // ancestors[v]: the parents that v must have, then everything that leads to them.
            let mut ancestors = vec![0_u64; self.nodes * words];
            for child in NodeIdx::all(self.nodes) {
                let forced = &mut ancestors[child.index() * words..][..words];
                forced.fill(u64::MAX);
                let mut any = false;
                for family in alive.of(self, child) {
                    any = true;
                    for (forced, parents) in forced.iter_mut().zip(self.parents(family)) {
                        *forced &= parents;
                    }
                }
                if !any {
                    return false;
                }
            }
            for through in NodeIdx::all(self.nodes) {
                let above = ancestors[through.index() * words..][..words].to_vec();
                for row in ancestors.chunks_exact_mut(words) {
                    if has(row, through) {
                        row.iter_mut()
                            .zip(&above)
                            .for_each(|(row, above)| *row |= above);
                    }
                }
            }
            let mut removed = false;
            for child in NodeIdx::all(self.nodes) {
                for family in self.of(child) {
                    let closes_cycle =
                        |parent: NodeIdx| has(&ancestors[parent.index() * words..][..words], child);
                    if alive.has(family) && members(self.parents(family)).any(closes_cycle) {
                        alive.remove(family);
                        removed = true;
                    }
                }
            }
            if !removed {
                return true;
            }
        }
    }
}

impl Alive {
    #[inline]
    pub(super) fn has(&self, family: usize) -> bool {
        self.0[family / 64] >> (family % 64) & 1 == 1
    }

    pub(super) fn remove(&mut self, family: usize) {
        self.0[family / 64] &= !(1 << (family % 64));
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn of<'a>(
        &'a self,
        model: &Model,
        child: NodeIdx,
    ) -> impl Iterator<Item = usize> + 'a {
        model.of(child).filter(|&family| self.has(family))
    }

    /// Keeps the families that the branch leaves: those of networks with the edge, or without it.
    pub(super) fn branch(&mut self, model: &Model, from: NodeIdx, to: NodeIdx, with: bool) {
        for family in model.of(to) {
            if model.has_parent(family, from) != with {
                self.remove(family);
            }
        }
    }
}

#[inline]
pub(super) fn has(bits: &[u64], node: NodeIdx) -> bool {
    bits[node.index() / 64] >> (node.index() % 64) & 1 == 1
}

pub(super) fn set(bits: &mut [u64], node: NodeIdx) {
    bits[node.index() / 64] |= 1 << (node.index() % 64);
}

pub(super) fn unset(bits: &mut [u64], node: NodeIdx) {
    bits[node.index() / 64] &= !(1 << (node.index() % 64));
}

/// Lists the members of a bit set in order.
pub(super) fn members(bits: &[u64]) -> impl Iterator<Item = NodeIdx> + '_ {
    bits.iter().enumerate().flat_map(|(word, &bits)| {
        let mut rest = bits;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let node = NodeIdx::new(word * 64 + rest.trailing_zeros() as usize);
            rest &= rest - 1;
            Some(node)
        })
    })
}
