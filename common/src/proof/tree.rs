//! Branch and bound over networks made of candidate families: a tree whose leaves are each shown to
//! hold no network that is better than the best known one.
//!
//! Nodes are taken in waves of a fixed size, so that any number of threads makes the same tree: what
//! a node becomes depends on the node and on the best network known when its wave began.

use super::cuts::{Bound, Multipliers, bound};
use super::model::{Alive, Model, members};
use super::relaxation::{Relaxation, Solved};
use super::separation::{Support, violated};
use crate::ids::NodeIdx;
use std::sync::Arc;

/// A node of the finished tree.
#[derive(Clone, Debug)]
pub struct ProofNode {
    /// Multipliers whose bound shows, one after the other, which families no better network uses.
    pub fixings: Vec<Multipliers>,
    /// How it ends.
    pub end: End,
}

impl ProofNode {
    /// A tree of one node.
    #[must_use]
    pub fn bounded(multipliers: Multipliers) -> Self {
        Self {
            fixings: Vec::new(),
            end: End::Bounded(multipliers),
        }
    }
}

/// How a node ends.
#[derive(Clone, Debug)]
pub enum End {
    /// With multipliers that bound everything in it.
    Bounded(Multipliers),
    /// A variable has no family left.
    Empty,
    /// Networks with the edge, and networks without it.
    Branch {
        /// Where the edge starts.
        from: NodeIdx,
        /// Where it ends.
        to: NodeIdx,
        /// The node of networks with it.
        with: usize,
        /// The node of networks without it.
        without: usize,
    },
    /// Not looked at yet.
    Open,
}

/// A node to work on.
#[derive(Clone, Debug)]
pub struct OpenNode {
    id: usize,
    depth: usize,
    alive: Alive,
    relaxation: Relaxation,
    fixings: Vec<Multipliers>,
    multipliers: Multipliers,
    /// No network in it costs less.
    bound: i64,
}

/// What a node has become.
pub struct Processed {
    id: usize,
    fixings: Vec<Multipliers>,
    end: Result<Decided, Box<OpenNode>>,
    /// A network better than the best known one.
    better: Option<(i64, Vec<usize>)>,
}

enum Decided {
    Bounded(Multipliers),
    Empty,
    Branch(NodeIdx, NodeIdx, Vec<OpenNode>),
}

/// The tree under way.
#[derive(Debug)]
pub struct Tree<'m> {
    model: &'m Model,
    units_per_nat: f64,
    tolerance: i64,
    nodes: Vec<ProofNode>,
    open: Vec<OpenNode>,
    best_cost: i64,
    best: Option<Vec<usize>>,
}

/// Nodes that are worked on at a time.
const WAVE: usize = 8;
/// Edges that are tried before one is branched on.
const TRIED: usize = 6;
/// Pivots of such a try.
const PIVOTS_OF_A_TRY: usize = 40;
/// The bound of a node without networks.
const NOTHING_LEFT: i64 = i64::MAX;
/// Cuts that are added at a time.
const CUTS: usize = 40;

impl<'m> Tree<'m> {
    /// Begins with everything open. `best_cost` is what the best known network costs; one counts as
    /// better if it costs less by more than `tolerance`.
    pub fn new(model: &'m Model, units_per_nat: f64, best_cost: i64, tolerance: i64) -> Self {
        let mut alive = model.all();
        let feasible = model.propagate(&mut alive);
        let mut tree = Self {
            model,
            units_per_nat,
            tolerance,
            nodes: Vec::new(),
            open: Vec::new(),
            best_cost,
            best: None,
        };
        if feasible {
            let root = tree.open_node(0, alive, None, &Vec::new().into());
            tree.open.push(root);
        }
        tree.nodes.push(ProofNode {
            fixings: Vec::new(),
            end: if feasible { End::Open } else { End::Empty },
        });
        tree
    }

    /// Continues a tree from its nodes: those whose bound is not enough are worked on further.
    pub fn resumed(
        model: &'m Model,
        units_per_nat: f64,
        best_cost: i64,
        tolerance: i64,
        nodes: Vec<ProofNode>,
    ) -> Self {
        let mut tree = Self {
            model,
            units_per_nat,
            tolerance,
            nodes,
            open: Vec::new(),
            best_cost,
            best: None,
        };
        let threshold = tree.threshold();
        let mut next = vec![(0, 0, model.all())];
        while let Some((id, depth, mut alive)) = next.pop() {
            let mut is_left = model.propagate(&mut alive);
            let fixings = tree.nodes[id].fixings.clone();
            for multipliers in &fixings {
                if !is_left {
                    break;
                }
                let fixed = bound(model, &alive, multipliers);
                for family in 0..model.len() {
                    if fixed.cost.saturating_add(fixed.reduced[family]) >= threshold {
                        alive.remove(family);
                    }
                }
                is_left = model.propagate(&mut alive);
            }
            let end = std::mem::replace(&mut tree.nodes[id].end, End::Empty);
            let multipliers = match end {
                _ if !is_left => continue,
                End::Branch {
                    from,
                    to,
                    with,
                    without,
                } => {
                    for (id, with) in [(without, false), (with, true)] {
                        let mut alive = alive.clone();
                        alive.branch(model, from, to, with);
                        next.push((id, depth + 1, alive));
                    }
                    tree.nodes[id].end = End::Branch {
                        from,
                        to,
                        with,
                        without,
                    };
                    continue;
                }
                End::Bounded(multipliers) => multipliers,
                End::Empty | End::Open => Vec::new().into(),
            };
            let mut node = tree.open_node(depth, alive, None, &multipliers);
            for (cut, _) in multipliers.iter() {
                node.relaxation.add(model, Arc::clone(cut));
            }
            (node.id, node.fixings) = (id, fixings);
            tree.nodes[id].end = End::Open;
            tree.open.push(node);
        }
        // The parts that were begun last are taken first.
        tree.open.reverse();
        tree
    }

    fn open_node(
        &self,
        depth: usize,
        alive: Alive,
        relaxation: Option<Relaxation>,
        multipliers: &Multipliers,
    ) -> OpenNode {
        let relaxation = match relaxation {
            Some(mut relaxation) => {
                relaxation.keep(&alive);
                relaxation
            }
            None => Relaxation::new(self.model, &alive, self.units_per_nat),
        };
        let bound = bound(self.model, &alive, multipliers).cost;
        OpenNode {
            id: 0,
            depth,
            alive,
            relaxation,
            fixings: Vec::new(),
            multipliers: Arc::clone(multipliers),
            bound,
        }
    }

    /// Takes the nodes to work on next.
    pub fn wave(&mut self) -> Vec<OpenNode> {
        let threshold = self.threshold();
        // What was opened before a better network was known may be done with by now.
        let mut wave = Vec::new();
        while wave.len() < WAVE {
            let Some(node) = self.open.pop() else { break };
            if node.bound >= threshold {
                self.nodes[node.id] = ProofNode {
                    end: match node.bound {
                        NOTHING_LEFT => End::Empty,
                        _ => End::Bounded(node.multipliers),
                    },
                    fixings: node.fixings,
                };
            } else {
                wave.push(node);
            }
        }
        wave
    }

    /// Takes over what the nodes of a wave have become, in the wave's order.
    pub fn settle(&mut self, wave: Vec<Processed>) {
        let mut opened = Vec::new();
        for processed in wave {
            if let Some((cost, families)) = processed.better
                && cost < self.best_cost
            {
                self.best_cost = cost;
                self.best = Some(families);
            }
            let end = match processed.end {
                Err(node) => {
                    opened.push(*node);
                    continue;
                }
                Ok(Decided::Bounded(multipliers)) => End::Bounded(multipliers),
                Ok(Decided::Empty) => End::Empty,
                Ok(Decided::Branch(from, to, children)) => {
                    let with = self.nodes.len();
                    for (id, mut child) in (with..).zip(children) {
                        child.id = id;
                        self.nodes.push(ProofNode {
                            fixings: Vec::new(),
                            end: End::Open,
                        });
                        opened.push(child);
                    }
                    End::Branch {
                        from,
                        to,
                        with,
                        without: with + 1,
                    }
                }
            };
            self.nodes[processed.id] = ProofNode {
                fixings: processed.fixings,
                end,
            };
        }
        self.open.extend(opened.into_iter().rev());
    }

    /// Returns how many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns a cost that no network is below, except by less than the tolerance of the best known.
    pub fn bound(&self) -> i64 {
        let open = self.open.iter().map(|node| node.bound);
        open.min().unwrap_or(i64::MAX).min(self.threshold())
    }

    /// Returns how many numbers the open nodes hold.
    pub fn size(&self) -> usize {
        self.open.iter().map(|node| node.relaxation.size()).sum()
    }

    /// Returns what the best network known costs.
    #[must_use]
    pub fn best_cost(&self) -> i64 {
        self.best_cost
    }

    /// Returns a network that was found to be better than the one known at first.
    pub fn better(&self) -> Option<Vec<(NodeIdx, Vec<NodeIdx>)>> {
        let families = self.best.as_ref()?.iter();
        let family = |&family: &usize| (self.model.child(family), self.model.parent_list(family));
        Some(families.map(family).collect())
    }

    /// Returns the tree; nodes that are still open end with the bound that they have.
    #[must_use]
    pub fn proof_nodes(&self) -> Vec<ProofNode> {
        let mut nodes = self.nodes.clone();
        for node in &self.open {
            nodes[node.id] = ProofNode {
                fixings: node.fixings.clone(),
                end: match node.bound {
                    NOTHING_LEFT => End::Empty,
                    _ => End::Bounded(Arc::clone(&node.multipliers)),
                },
            };
        }
        nodes
    }

    fn threshold(&self) -> i64 {
        self.best_cost - self.tolerance
    }

    /// Works on a node until it is bounded, or until it takes a branch to get on.
    pub fn process(&self, mut node: OpenNode, go_on: &dyn Fn() -> bool) -> Processed {
        let most_rounds = if node.depth == 0 { 100 } else { 12 };
        let mut best_cost = self.best_cost;
        let mut better = None;
        let mut since_gain = 0;
        let mut rebuilt = false;
        let mut round = 0;
        let end = loop {
            round += 1;
            let threshold = best_cost - self.tolerance;
            let solved = node.relaxation.solve(usize::MAX, go_on);
            let before = node.bound;
            let missing = threshold - before;
            let multipliers = node
                .relaxation
                .multipliers(solved, missing.saturating_mul(2));
            let now = bound(self.model, &node.alive, &multipliers);
            if now.cost > node.bound {
                node.bound = now.cost;
                node.multipliers = Arc::clone(&multipliers);
            }
            if node.bound >= threshold {
                break Ok(Decided::Bounded(Arc::clone(&node.multipliers)));
            }
            if solved == Solved::Unfinished {
                break Err(Box::new(node.clone()));
            }
            let is_off = match solved {
                Solved::Infeasible(_) => true,
                _ => self.has_drifted(&node, now.cost),
            };
            if is_off && !rebuilt {
                self.rebuild(&mut node);
                rebuilt = true;
                continue;
            }
            if let Solved::Infeasible(_) = solved {
                // Floating point says that nothing is left, and exact numbers do not confirm it.
                break match self.any_choice(&node) {
                    Some((from, to)) => Ok(self.branch(&node, from, to)),
                    None => Ok(Decided::Bounded(Arc::clone(&node.multipliers))),
                };
            }
            if self.fix(&mut node, &now, &multipliers, threshold) {
                if !self.model.propagate(&mut node.alive) {
                    break Ok(Decided::Empty);
                }
                node.relaxation.keep(&node.alive);
                continue;
            }
            let support = Support::new(self.model, node.relaxation.solution());
            if let Some((cost, families)) = self.network_near(&support, &node.alive)
                && cost < best_cost
            {
                best_cost = cost;
                better = Some((cost, families));
                continue;
            }
            // Less than a hundredth of what is missing is not worth a round.
            since_gain = if node.bound - before > missing / 100 {
                0
            } else {
                since_gain + 1
            };
            let patience = if node.depth == 0 { 4 } else { 2 };
            let cuts = violated(self.model, &support, CUTS);
            let is_worth_it = round < most_rounds && since_gain < patience;
            if is_worth_it && !cuts.is_empty() {
                self.add(&mut node, cuts);
                continue;
            }
            if let Some((from, to)) = self.branching(&node, &support, go_on) {
                break Ok(self.branch(&node, from, to));
            }
            // Every variable uses one family. They hold a cycle, or what is missing is rounding.
            if round < 2 * most_rounds && !cuts.is_empty() {
                self.add(&mut node, cuts);
                continue;
            }
            break match self.any_choice(&node) {
                Some((from, to)) => Ok(self.branch(&node, from, to)),
                None => Ok(Decided::Bounded(Arc::clone(&node.multipliers))),
            };
        };
        Processed {
            id: node.id,
            fixings: node.fixings,
            end,
            better,
        }
    }

    fn add(&self, node: &mut OpenNode, cuts: Vec<Arc<super::cuts::Cut>>) {
        node.relaxation.drop_loose_cuts();
        for cut in cuts {
            node.relaxation.add(self.model, cut);
        }
    }

    /// Tells whether the dictionary's objective is not what its multipliers give.
    fn has_drifted(&self, node: &OpenNode, cost: i64) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53 units")]
        let nats = cost as f64 / self.units_per_nat;
        (node.relaxation.objective() - nats).abs() > 1e-5
    }

    fn rebuild(&self, node: &mut OpenNode) {
        let cuts = node.relaxation.cuts_in_use();
        node.relaxation = Relaxation::new(self.model, &node.alive, self.units_per_nat);
        for cut in cuts {
            node.relaxation.add(self.model, cut);
        }
    }

    /// Removes families that no better network uses; tells whether it was worth it.
    fn fix(
        &self,
        node: &mut OpenNode,
        now: &Bound,
        multipliers: &Multipliers,
        threshold: i64,
    ) -> bool {
        let useless: Vec<usize> = (0..self.model.len())
            .filter(|&family| {
                node.alive.has(family) && now.cost.saturating_add(now.reduced[family]) >= threshold
            })
            .collect();
        if useless.is_empty() || useless.len() * 20 < node.alive.count() {
            return false;
        }
        for family in useless {
            node.alive.remove(family);
        }
        node.fixings.push(Arc::clone(multipliers));
        true
    }

    /// Makes a network from the solution: variables are placed one by one, the one whose families in
    /// use fit best first, each with its cheapest family among those placed.
    fn network_near(&self, support: &Support, alive: &Alive) -> Option<(i64, Vec<usize>)> {
        let model = self.model;
        let mut placed = vec![0_u64; model.words()];
        let mut left: Vec<NodeIdx> = NodeIdx::all(model.nodes()).collect();
        let (mut cost, mut chosen) = (0, Vec::new());
        let fits = |family: usize, placed: &[u64]| {
            let mut words = model.parents(family).iter().zip(placed);
            words.all(|(parents, placed)| parents & !placed == 0)
        };
        while !left.is_empty() {
            let mut best: Option<(usize, usize, f64, i64)> = None;
            for (at, &child) in left.iter().enumerate() {
                let families = support.of(child).iter();
                let share: f64 = families
                    .filter(|(family, _)| fits(*family, &placed))
                    .map(|(_, value)| value)
                    .sum();
                let cheapest = alive.of(model, child).find(|&family| fits(family, &placed));
                let Some(family) = cheapest else { continue };
                let first = alive.of(model, child).next().unwrap_or(family);
                let regret = model.cost(family) - model.cost(first);
                let is_better = best.is_none_or(|(_, _, most, least)| {
                    share > most + 1e-9 || (share > most - 1e-9 && regret < least)
                });
                if is_better {
                    best = Some((at, family, share, regret));
                }
            }
            let (at, family, ..) = best?;
            let child = left.remove(at);
            placed[child.index() / 64] |= 1 << (child.index() % 64);
            cost += model.cost(family);
            chosen.push(family);
        }
        Some((cost, chosen))
    }

    /// Chooses the edge to branch on: of those used in part, the one whose two sides raise the bound
    /// most in a short try.
    fn branching(
        &self,
        node: &OpenNode,
        support: &Support,
        go_on: &dyn Fn() -> bool,
    ) -> Option<(NodeIdx, NodeIdx)> {
        let edges = support.edges(self.model);
        let mut fractional: Vec<(f64, NodeIdx, NodeIdx)> = edges
            .iter()
            .filter(|&(_, &share)| share > 0.01 && share < 0.99)
            .map(|(&(from, to), &share)| {
                let back = edges.get(&(to, from)).copied().unwrap_or(0.0);
                let both_ways = if back > 0.01 { 0.5 } else { 0.0 };
                (both_ways + 0.5 - (share - 0.5).abs(), from, to)
            })
            .collect();
        fractional.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        fractional.truncate(TRIED);
        if fractional.len() < 2 {
            return fractional.first().map(|&(_, from, to)| (from, to));
        }
        let now = node.relaxation.objective();
        let mut best: Option<(f64, NodeIdx, NodeIdx)> = None;
        for (_, from, to) in fractional {
            let gains = [true, false].map(|with| {
                let mut alive = node.alive.clone();
                alive.branch(self.model, from, to, with);
                if !self.model.propagate(&mut alive) {
                    return 1e6;
                }
                let mut tried = node.relaxation.clone();
                tried.keep(&alive);
                match tried.solve(PIVOTS_OF_A_TRY, go_on) {
                    Solved::Infeasible(_) => 1e6,
                    _ => (tried.objective() - now).max(1e-6),
                }
            });
            let product = gains[0] * gains[1];
            if best.is_none_or(|(most, ..)| product > most) {
                best = Some((product, from, to));
            }
        }
        best.map(|(_, from, to)| (from, to))
    }

    /// Finds any edge that some families left have and others do not.
    fn any_choice(&self, node: &OpenNode) -> Option<(NodeIdx, NodeIdx)> {
        for child in NodeIdx::all(self.model.nodes()) {
            let mut families = node.alive.of(self.model, child);
            let first = families.next()?;
            for other in families {
                let pairs = self
                    .model
                    .parents(first)
                    .iter()
                    .zip(self.model.parents(other));
                let differ: Vec<u64> = pairs.map(|(a, b)| a ^ b).collect();
                if let Some(parent) = members(&differ).next() {
                    return Some((parent, child));
                }
            }
        }
        None
    }

    fn branch(&self, node: &OpenNode, from: NodeIdx, to: NodeIdx) -> Decided {
        let children = [true, false].map(|with| {
            let mut alive = node.alive.clone();
            alive.branch(self.model, from, to, with);
            if self.model.propagate(&mut alive) {
                let relaxation = Some(node.relaxation.clone());
                self.open_node(node.depth + 1, alive, relaxation, &node.multipliers)
            } else {
                OpenNode {
                    bound: NOTHING_LEFT,
                    depth: node.depth + 1,
                    alive,
                    fixings: Vec::new(),
                    ..node.clone()
                }
            }
        });
        Decided::Branch(from, to, children.into())
    }
}
