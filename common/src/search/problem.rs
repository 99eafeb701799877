//! What all chains of a search share: the scorer, the constraints and the bounded caches; and the
//! evaluator through which one chain asks for scores, so that every question is counted.

use super::benefits::{Benefits, GainingToggles};
use super::constraints::Constraints;
use super::pairs::{PairBlocks, Partners};
use crate::data::Kernel;
use crate::graph::{Cpdag, Dag};
use crate::ids::NodeIdx;
use crate::score::{BoundedCache, CacheStatistics, FamilyKey, FamilyPacker};
use crate::score::{LocalScore, LogScore, Scratch, Toggles};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use thiserror::Error;

/// A score of some data and constraints, ready to be searched by any number of chains.
#[derive(Debug)]
pub struct Problem {
    scorer: Box<dyn LocalScore>,
    is_score_equivalent: bool,
    constraints: Constraints,
    start: Dag,
    packer: FamilyPacker,
    scores: BoundedCache<FamilyKey, f64>,
    benefits: BoundedCache<FamilyKey, Arc<Benefits>>,
    /// Once somebody has asked: see [`Evaluator::pair_up`].
    partners: Partners,
}

/// The evaluation budget is used up, or the chain is to end where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the evaluation budget is used up")]
pub struct OutOfBudget;

impl Problem {
    /// Puts a scorer, constraints and the network to start from together, with `cache_bytes` of
    /// memory for all caches. The start must keep the constraints.
    #[must_use]
    pub fn new(
        scorer: impl LocalScore + 'static,
        constraints: Constraints,
        start: Dag,
        cache_bytes: usize,
    ) -> Self {
        debug_assert!(
            constraints.hold_for(&start),
            "the start keeps the constraints"
        );
        let packer = FamilyPacker::new(scorer.nodes());
        let partners = Partners::new(scorer.nodes());
        Self {
            is_score_equivalent: scorer.spec().name().is_score_equivalent(),
            scorer: Box::new(scorer),
            constraints,
            start,
            packer,
            scores: BoundedCache::new(cache_bytes / 4),
            benefits: BoundedCache::new(cache_bytes - cache_bytes / 4),
            partners,
        }
    }

    /// Returns the score.
    #[must_use]
    pub fn scorer(&self) -> &dyn LocalScore {
        &*self.scorer
    }

    /// Returns the constraints.
    #[must_use]
    pub fn constraints(&self) -> &Constraints {
        &self.constraints
    }

    /// Returns the network that chains start from.
    #[must_use]
    pub fn start(&self) -> &Dag {
        &self.start
    }

    /// Returns a score that a structure cannot exceed, known without counting.
    #[must_use]
    pub fn ceiling(&self, dag: &Dag) -> LogScore {
        let nodes = NodeIdx::all(dag.nodes());
        let ceilings = nodes.map(|node| self.scorer().ceiling(node, dag.parents(node)));
        LogScore::new(ceilings.sum())
    }

    /// Returns the number of variables.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.scorer.nodes()
    }

    /// Returns whether equivalent networks have equal scores.
    #[must_use]
    pub fn is_score_equivalent(&self) -> bool {
        self.is_score_equivalent
    }

    /// Returns the networks that a network stands for: those of its class that keep the
    /// constraints. Results show their [`Cpdag::first_member`].
    #[must_use]
    pub fn class_of(&self, dag: &Dag) -> Cpdag {
        self.constraints.class_of(dag, self.is_score_equivalent)
    }

    /// Returns the most promising parents of a node: those that gain most as its only one, best first,
    /// [`Partners::MOST`] at most; none before [all pairs are known](Evaluator::pair_up).
    pub(crate) fn partners(&self, node: NodeIdx) -> &[NodeIdx] {
        self.partners.of(node)
    }

    /// Returns how the caches did: local scores, and benefit vectors.
    #[must_use]
    pub fn cache_statistics(&self) -> [CacheStatistics; 2] {
        [self.scores.statistics(), self.benefits.statistics()]
    }
}

/// One chain's way to scores: counts what was asked for and what had to be counted from the data,
/// and refuses to go past the evaluation budget.
#[derive(Debug)]
pub struct Evaluator {
    problem: Arc<Problem>,
    scratch: Scratch,
    candidates: Vec<NodeIdx>,
    removals: Vec<NodeIdx>,
    family: Vec<NodeIdx>,
    evaluations: u64,
    computed: u64,
    limit: u64,
    halt: Option<Arc<AtomicBool>>,
    skip_hopeless: bool,
}

impl Evaluator {
    /// Makes an evaluator without a budget.
    #[must_use]
    pub fn new(problem: Arc<Problem>) -> Self {
        Self {
            problem,
            scratch: Scratch::default(),
            candidates: Vec::new(),
            removals: Vec::new(),
            family: Vec::new(),
            evaluations: 0,
            computed: 0,
            limit: u64::MAX,
            halt: None,
            skip_hopeless: false,
        }
    }

    /// Leaves additions uncounted that would lose even if they explained the node completely:
    /// right for searches that only take gaining toggles. One search uses one setting.
    #[must_use]
    pub fn skipping_hopeless(mut self) -> Self {
        self.skip_hopeless = true;
        self
    }

    /// Returns what is searched.
    #[must_use]
    pub fn problem(&self) -> &Arc<Problem> {
        &self.problem
    }

    /// Returns the constraints.
    #[must_use]
    pub fn constraints(&self) -> &Constraints {
        &self.problem.constraints
    }

    /// Returns whether equivalent networks have equal scores.
    #[must_use]
    pub fn is_score_equivalent(&self) -> bool {
        self.problem.is_score_equivalent
    }

    /// Returns how many local scores were asked for, cached or not.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// Returns how many local scores were counted from the data.
    #[must_use]
    pub fn computed(&self) -> u64 {
        self.computed
    }

    /// Sets how many evaluations there may be in all.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Returns how many evaluations there may be in all.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Refuses every score once the flag is set, so that a step that takes long ends soon.
    pub fn halt_by(&mut self, halt: Arc<AtomicBool>) {
        self.halt = Some(halt);
    }

    /// Resumes counting from an earlier run's counters.
    pub fn resume(&mut self, evaluations: u64, computed: u64) {
        self.evaluations = evaluations;
        self.computed = computed;
    }

    /// Returns the local score of a family; `parents` must be in order.
    ///
    /// # Errors
    /// If the budget is used up.
    pub fn local(&mut self, node: NodeIdx, parents: &[NodeIdx]) -> Result<f64, OutOfBudget> {
        self.charge(1)?;
        Ok(self.local_uncharged(node, parents))
    }

    /// Returns the score of a structure, its local scores summed in node order.
    ///
    /// # Errors
    /// If the budget is used up.
    pub fn structure(&mut self, dag: &Dag) -> Result<LogScore, OutOfBudget> {
        let mut sum = 0.0;
        for node in NodeIdx::all(dag.nodes()) {
            sum += self.local(node, dag.parents(node))?;
        }
        Ok(LogScore::new(sum))
    }

    /// Returns the gains of all toggles of a family. One evaluation is charged for the family and
    /// for each toggle that constraints allow, whether or not it had to be counted.
    ///
    /// # Errors
    /// If the budget is used up; nothing is charged then.
    pub fn benefits(
        &mut self,
        node: NodeIdx,
        parents: &[NodeIdx],
    ) -> Result<Arc<Benefits>, OutOfBudget> {
        let constraints = &self.problem.constraints;
        let removable = parents
            .iter()
            .filter(|&&parent| !constraints.is_required(parent, node))
            .count();
        let addable = constraints.addable(node, parents);
        self.charge((1 + removable + addable) as u64)?;
        let key = self.problem.packer.pack(node, parents);
        if let Some(known) = key.and_then(|key| self.problem.benefits.get(&key)) {
            return Ok(known);
        }
        let fresh = Arc::new(self.compute_benefits(node, parents));
        self.remember(&fresh);
        Ok(fresh)
    }

    /// Returns the toggles of a family that gain: of its parents, and of some candidates that are not
    /// among them and that the constraints allow. One evaluation is charged for the family and for
    /// each toggle. Nothing is kept.
    ///
    /// # Errors
    /// If the budget is used up; nothing is charged then.
    pub fn gaining_toggles(
        &mut self,
        node: NodeIdx,
        parents: &[NodeIdx],
        candidates: &[NodeIdx],
    ) -> Result<GainingToggles, OutOfBudget> {
        self.charge((1 + parents.len() + candidates.len()) as u64)?;
        Ok(self.count_toggles(node, parents, candidates))
    }

    /// Counts the pairs of a [block](PairBlocks), unless another chain has. They depend on the data
    /// alone. As many evaluations are charged as the block's nodes have possible parents.
    ///
    /// # Errors
    /// If the budget is used up; nothing is charged then.
    pub(crate) fn pair_up(&mut self, block: usize) -> Result<(), OutOfBudget> {
        let constraints = &self.problem.constraints;
        let nodes = PairBlocks::new(self.problem.nodes()).nodes(block);
        let pairs = nodes
            .map(|node| 1 + constraints.addable(node, &[]))
            .sum::<usize>();
        self.charge(pairs as u64)?;
        self.know_pairs(block);
        Ok(())
    }

    /// Makes the lists of partners. Pairs that nobody has counted in this process are counted now: what
    /// that asks for was charged before a state was stored.
    ///
    /// # Errors
    /// If the chain is to end; nothing is charged.
    pub(crate) fn complete_partners(&mut self) -> Result<(), OutOfBudget> {
        for block in 0..PairBlocks::new(self.problem.nodes()).count() {
            if self.is_halted() {
                return Err(OutOfBudget);
            }
            self.know_pairs(block);
        }
        self.problem.partners.complete();
        Ok(())
    }

    fn know_pairs(&mut self, block: usize) {
        let problem = Arc::clone(&self.problem);
        let Problem {
            partners,
            constraints,
            ..
        } = &*problem;
        if constraints.max_parents() == 0 {
            return partners.know(block, || ());
        }
        partners.know(block, || {
            let alone = partners.alone(|node| self.count_alone(node));
            self.count_pairs(block, |node, parent, score| {
                let gain = score - alone[node.index()];
                if gain > LogScore::MIN_GAIN && constraints.is_allowed(parent, node) {
                    partners.gather(node, parent, gain);
                }
            });
        });
    }

    /// Returns the gains of all toggles of every node without parents; charges what
    /// [`Self::benefits`] does for each of them.
    ///
    /// # Errors
    /// If the budget is used up, or the chain is to end.
    pub(crate) fn benefits_without_parents(&mut self) -> Result<Vec<Arc<Benefits>>, OutOfBudget> {
        let problem = Arc::clone(&self.problem);
        let nodes = problem.nodes();
        let mut known = Vec::with_capacity(nodes);
        for node in NodeIdx::all(nodes) {
            self.charge((1 + problem.constraints.addable(node, &[])) as u64)?;
            let key = problem.packer.pack(node, &[]);
            known.extend(key.and_then(|key| problem.benefits.get(&key)));
        }
        if known.len() == nodes {
            return Ok(known);
        }
        known.clear();
        let none = vec![f64::NEG_INFINITY; nodes].into_boxed_slice();
        let mut scores = vec![none; nodes];
        let blocks = PairBlocks::new(nodes).count();
        for block in (0..blocks).filter(|_| problem.constraints.max_parents() > 0) {
            if self.is_halted() {
                return Err(OutOfBudget);
            }
            self.count_pairs(block, |node, parent, score| {
                if problem.constraints.is_allowed(parent, node) {
                    scores[node.index()][parent.index()] = score;
                }
            });
        }
        for (node, mut gains) in NodeIdx::all(nodes).zip(scores) {
            let alone = self.count_alone(node);
            gains.iter_mut().for_each(|score| *score -= alone);
            let fresh = Arc::new(Benefits::new(node, [].into(), alone, gains));
            self.remember(&fresh);
            known.push(fresh);
        }
        Ok(known)
    }

    fn remember(&self, fresh: &Arc<Benefits>) {
        if let Some(key) = self.problem.packer.pack(fresh.node(), fresh.parents()) {
            let cache = &self.problem.benefits;
            cache.insert(key, Arc::clone(fresh), fresh.bytes());
        }
    }

    fn count_alone(&mut self, node: NodeIdx) -> f64 {
        self.computed += 1;
        let scorer = &self.problem.scorer;
        scorer.local(node, &[], &mut self.scratch).value()
    }

    /// Hands out the scores of the pairs of a block, in both directions, but for those that lose
    /// whatever the data say.
    fn count_pairs(&mut self, block: usize, mut found: impl FnMut(NodeIdx, NodeIdx, f64)) {
        let blocks = PairBlocks::new(self.problem.nodes());
        let lines: Vec<NodeIdx> = blocks.nodes(block).collect();
        self.candidates.clear();
        self.candidates.extend(blocks.others(block));
        let mut counted = 0;
        self.problem.scorer.pairs(
            &lines,
            &self.candidates,
            self.skip_hopeless,
            &mut self.scratch,
            &mut |node, parent, score| {
                if let Some(score) = score {
                    counted += 1;
                    found(node, parent, score);
                }
            },
        );
        self.computed += counted;
    }

    fn count_toggles(
        &mut self,
        node: NodeIdx,
        parents: &[NodeIdx],
        candidates: &[NodeIdx],
    ) -> GainingToggles {
        let problem = Arc::clone(&self.problem);
        let constraints = &problem.constraints;
        let mut removable = std::mem::take(&mut self.removals);
        removable.clear();
        removable.extend(
            parents
                .iter()
                .filter(|&&parent| !constraints.is_required(parent, node)),
        );
        let request = Toggles {
            additions: candidates,
            removals: &removable,
            skip_hopeless: self.skip_hopeless,
            kernel: Kernel::Auto,
        };
        let mut counted = 1;
        let mut toggled = Vec::with_capacity(parents.len());
        let score = problem
            .scorer
            .with_each(
                node,
                parents,
                request,
                &mut self.scratch,
                &mut |other, score| {
                    if let Some(score) = score {
                        counted += 1;
                        toggled.push((score, other));
                    }
                },
            )
            .value();
        self.removals = removable;
        self.computed += counted;
        GainingToggles::new(score, parents, toggled)
    }

    /// Returns the evaluator of a part of the network, which may ask for so many scores at most.
    pub(crate) fn of_part(&self, part: Arc<Problem>, most: u64) -> Self {
        Self {
            skip_hopeless: self.skip_hopeless,
            halt: self.halt.clone(),
            limit: most.min(self.limit.saturating_sub(self.evaluations)),
            ..Self::new(part)
        }
    }

    /// Adds what the search of a part of the network has asked for and counted.
    pub(crate) fn note_part(&mut self, part: &Self) {
        self.evaluations += part.evaluations;
        self.computed += part.computed;
    }

    fn compute_benefits(&mut self, node: NodeIdx, parents: &[NodeIdx]) -> Benefits {
        let problem = Arc::clone(&self.problem);
        let mut gains = vec![f64::NEG_INFINITY; problem.nodes()].into_boxed_slice();
        let mut candidates = std::mem::take(&mut self.candidates);
        problem
            .constraints
            .list_addable(node, parents, &mut candidates);
        let mut removals = std::mem::take(&mut self.removals);
        removals.clear();
        for &parent in parents {
            if problem.constraints.is_required(parent, node) {
                continue;
            }
            let key = self.key_without(node, parents, parent);
            match key.and_then(|key| problem.scores.get(&key)) {
                Some(known) => gains[parent.index()] = known,
                None => removals.push(parent),
            }
        }
        let request = Toggles {
            additions: &candidates,
            removals: &removals,
            skip_hopeless: self.skip_hopeless,
            kernel: Kernel::Auto,
        };
        let mut counted = 1;
        let score = problem
            .scorer
            .with_each(
                node,
                parents,
                request,
                &mut self.scratch,
                &mut |toggled, score| {
                    if let Some(score) = score {
                        counted += 1;
                        gains[toggled.index()] = score;
                    }
                },
            )
            .value();
        self.computed += counted;
        for &parent in &removals {
            if let Some(key) = self.key_without(node, parents, parent) {
                problem.scores.insert(key, gains[parent.index()], 0);
            }
        }
        for &toggled in candidates.iter().chain(parents) {
            gains[toggled.index()] -= score;
        }
        self.candidates = candidates;
        self.removals = removals;
        Benefits::new(node, parents.into(), score, gains)
    }

    /// Returns the key of a family without one of its parents.
    fn key_without(
        &mut self,
        node: NodeIdx,
        parents: &[NodeIdx],
        parent: NodeIdx,
    ) -> Option<FamilyKey> {
        self.family.clear();
        let others = parents.iter().copied().filter(|&other| other != parent);
        self.family.extend(others);
        self.problem.packer.pack(node, &self.family)
    }

    fn local_uncharged(&mut self, node: NodeIdx, parents: &[NodeIdx]) -> f64 {
        let key = self.problem.packer.pack(node, parents);
        if let Some(known) = key.and_then(|key| self.problem.scores.get(&key)) {
            return known;
        }
        self.computed += 1;
        let score = self
            .problem
            .scorer
            .local(node, parents, &mut self.scratch)
            .value();
        if let Some(key) = key {
            self.problem.scores.insert(key, score, 0);
        }
        score
    }

    fn is_halted(&self) -> bool {
        self.halt.as_ref().is_some_and(|halt| halt.load(Relaxed))
    }

    fn charge(&mut self, evaluations: u64) -> Result<(), OutOfBudget> {
        if self.is_halted() || self.limit - self.evaluations.min(self.limit) < evaluations {
            return Err(OutOfBudget);
        }
        self.evaluations += evaluations;
        Ok(())
    }
}
