//! What variables gain as each other's only parent: counted once for all chains, block by block, each
//! pair for both directions. It is where climbs begin, and on large networks it says which
//! nodes may belong together.

use crate::ids::NodeIdx;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The unordered pairs of nodes, divided into blocks: the nodes of a block with those of half of all
/// blocks, so that every pair belongs to one block and all blocks have equally many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairBlocks {
    nodes: usize,
}

impl PairBlocks {
    /// Nodes of a block: enough of them share what is read of all others.
    pub(crate) const SIZE: usize = 4;

    pub(crate) fn new(nodes: usize) -> Self {
        Self { nodes }
    }

    pub(crate) fn count(self) -> usize {
        self.nodes.div_ceil(Self::SIZE)
    }

    /// Returns the nodes of a block.
    pub(crate) fn nodes(self, block: usize) -> impl Iterator<Item = NodeIdx> {
        let range: Range<usize> = block * Self::SIZE..self.nodes.min((block + 1) * Self::SIZE);
        range.map(NodeIdx::new)
    }

    /// Returns the nodes that a block's own are paired with, themselves first.
    pub(crate) fn others(self, block: usize) -> impl Iterator<Item = NodeIdx> {
        let count = self.count();
        // Of two blocks that are opposite each other, the first has the pairs.
        let reach = match count % 2 {
            0 if block >= count / 2 => count / 2 - 1,
            _ => count / 2,
        };
        (0..=reach).flat_map(move |step| self.nodes((block + step) % count))
    }
}

/// What a node gains by some parents.
type Gathered = Vec<(f64, NodeIdx)>;

/// By node the most promising parents, those that gain most as its only one, best first.
#[derive(Debug)]
pub(crate) struct Partners {
    /// One for each block of pairs that is counted.
    blocks: Box<[OnceLock<()>]>,
    gathered: Box<[Mutex<Gathered>]>,
    /// By node: its score without parents.
    alone: OnceLock<Box<[f64]>>,
    /// Once all blocks are counted.
    best: OnceLock<Box<[Box<[NodeIdx]>]>>,
}

impl Partners {
    /// How many partners a node has at most.
    pub(crate) const MOST: usize = 256;
    /// What is gathered beyond that before the worst go.
    const SLACK: usize = 64;

    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            blocks: (0..PairBlocks::new(nodes).count())
                .map(|_| OnceLock::new())
                .collect(),
            gathered: (0..nodes).map(|_| Mutex::default()).collect(),
            alone: OnceLock::new(),
            best: OnceLock::new(),
        }
    }

    /// Returns the score of every node without parents, counted once.
    pub(crate) fn alone(&self, count: impl FnMut(NodeIdx) -> f64) -> &[f64] {
        let nodes = self.gathered.len();
        self.alone
            .get_or_init(|| NodeIdx::all(nodes).map(count).collect())
    }

    /// Has a block counted, unless it is already; `count` hands its gains to [`Self::gather`]. Another
    /// thread that asks for it meanwhile waits.
    pub(crate) fn know(&self, block: usize, count: impl FnOnce()) {
        self.blocks[block].get_or_init(count);
    }

    /// Takes note of what a node gains by a parent. The order does not matter.
    pub(crate) fn gather(&self, node: NodeIdx, parent: NodeIdx, gain: f64) {
        let list = self.gathered[node.index()].lock();
        let mut list = list.unwrap_or_else(PoisonError::into_inner);
        list.push((gain, parent));
        if list.len() == Self::MOST + Self::SLACK {
            list.select_nth_unstable_by(Self::MOST - 1, best_first);
            list.truncate(Self::MOST);
        }
    }

    /// Returns the partners of a node, none before all blocks are counted.
    pub(crate) fn of(&self, node: NodeIdx) -> &[NodeIdx] {
        let best = self.best.get();
        best.map_or(&[], |lists| &lists[node.index()])
    }

    /// Makes the lists, once all blocks are counted.
    pub(crate) fn complete(&self) {
        debug_assert!(self.blocks.iter().all(|block| block.get().is_some()));
        self.best.get_or_init(|| {
            let lists = self.gathered.iter().map(|list| {
                let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
                let mut list = std::mem::take(&mut *list);
                list.sort_unstable_by(best_first);
                list.truncate(Self::MOST);
                list.into_iter().map(|(_, parent)| parent).collect()
            });
            lists.collect()
        });
    }
}

fn best_first(a: &(f64, NodeIdx), b: &(f64, NodeIdx)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Seed;
    use crate::random::Random;
    use crate::search::test_tables::{dependent_table, problem, random_constraints};
    use crate::search::{Benefits, Evaluator};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn pairs_counted_together_equal_those_counted_node_by_node(
            seed in any::<u64>(), skips in any::<bool>(), nodes in 2usize..14,
        ) {
            let table = dependent_table(nodes, 90, seed);
            let named = random_constraints(&table, &mut Random::new(Seed(seed)));
            let evaluator = || {
                let evaluator = Evaluator::new(problem(&table, &named));
                if skips { evaluator.skipping_hopeless() } else { evaluator }
            };
            let (mut fast, mut slow) = (evaluator(), evaluator());
            let together = fast.benefits_without_parents().unwrap();
            for (node, together) in NodeIdx::all(nodes).zip(&together) {
                let single = slow.benefits(node, &[]).unwrap();
                let gains = |benefits: &Benefits| -> Vec<u64> {
                    let gains = NodeIdx::all(nodes).map(|other| benefits.gain(other).to_bits());
                    gains.collect()
                };
                prop_assert_eq!(gains(together), gains(&single));
                prop_assert_eq!(together.gaining(), single.gaining());
                prop_assert_eq!(together.score(), single.score());
            }
            prop_assert_eq!(fast.evaluations(), slow.evaluations());
            let again = fast.benefits_without_parents().unwrap();
            prop_assert!(again.iter().zip(&together).all(|(a, b)| std::sync::Arc::ptr_eq(a, b)));

            let (mut fast, mut slow) = (evaluator(), evaluator());
            for block in 0..PairBlocks::new(nodes).count() {
                fast.pair_up(block).unwrap();
            }
            fast.complete_partners().unwrap();
            let mut candidates = Vec::new();
            for node in NodeIdx::all(nodes) {
                let constraints = slow.problem().constraints();
                constraints.list_addable(node, &[], &mut candidates);
                let toggles = slow.gaining_toggles(node, &[], &candidates).unwrap();
                let best: Vec<NodeIdx> =
                    toggles.additions().iter().map(|&(_, other)| other).collect();
                prop_assert_eq!(fast.problem().partners(node), best);
            }
            prop_assert_eq!(fast.evaluations(), slow.evaluations());
        }
    }

    #[test]
    fn every_pair_belongs_to_one_block() {
        for nodes in 0..40 {
            let blocks = PairBlocks::new(nodes);
            let mut pairs = BTreeSet::new();
            for block in 0..blocks.count() {
                let own: Vec<NodeIdx> = blocks.nodes(block).collect();
                for other in blocks.others(block) {
                    for &node in own.iter().filter(|&&node| node != other) {
                        let is_new = pairs.insert((node.min(other), node.max(other)));
                        // Those inside the block come up from both ends.
                        assert!(is_new || own.contains(&other), "{nodes} {node} {other}");
                    }
                }
            }
            assert_eq!(pairs.len(), nodes * nodes.saturating_sub(1) / 2);
        }
    }

    #[test]
    fn partners_are_the_best_whatever_the_order() {
        let mut gains: Vec<(f64, NodeIdx)> = (0u16..1000)
            .map(|at| (f64::from(at / 3), NodeIdx::new(usize::from(at))))
            .collect();
        let mut expected = gains.clone();
        expected.sort_by(best_first);
        let expected: Vec<NodeIdx> = expected.iter().map(|&(_, node)| node).take(256).collect();
        for seed in 0..5 {
            Random::new(Seed(seed)).shuffle(&mut gains);
            let partners = Partners::new(2);
            for &(gain, node) in &gains {
                partners.gather(NodeIdx::new(0), node, gain);
                let held = partners.gathered[0].lock().unwrap().len();
                assert!(held < Partners::MOST + Partners::SLACK);
            }
            assert_eq!(partners.of(NodeIdx::new(0)), []);
            partners.know(0, || ());
            partners.know(0, || unreachable!("it is known"));
            partners.complete();
            assert_eq!(partners.of(NodeIdx::new(0)), expected);
            assert_eq!(partners.of(NodeIdx::new(1)), []);
        }
    }
}
