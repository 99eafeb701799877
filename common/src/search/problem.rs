//! What all chains of a search share: the scorer, the constraints and the bounded caches; and the
//! evaluator through which one chain asks for scores, so that every question is counted.

use super::benefits::Benefits;
use super::constraints::Constraints;
use crate::data::Kernel;
use crate::graph::{Cpdag, Dag};
use crate::ids::NodeIdx;
use crate::score::{Additions, BoundedCache, CacheStatistics, FamilyKey, FamilyPacker};
use crate::score::{LocalScore, LogScore, Scratch};
use std::sync::Arc;
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
}

/// The evaluation budget is used up.
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
        Self {
            is_score_equivalent: scorer.spec().name().is_score_equivalent(),
            scorer: Box::new(scorer),
            constraints,
            start,
            packer,
            scores: BoundedCache::new(cache_bytes / 4),
            benefits: BoundedCache::new(cache_bytes - cache_bytes / 4),
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
    family: Vec<NodeIdx>,
    evaluations: u64,
    computed: u64,
    limit: u64,
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
            family: Vec::new(),
            evaluations: 0,
            computed: 0,
            limit: u64::MAX,
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
        if let Some(key) = key {
            self.problem
                .benefits
                .insert(key, Arc::clone(&fresh), fresh.bytes());
        }
        Ok(fresh)
    }

    fn compute_benefits(&mut self, node: NodeIdx, parents: &[NodeIdx]) -> Benefits {
        let problem = Arc::clone(&self.problem);
        let mut gains = vec![f64::NEG_INFINITY; problem.nodes()].into_boxed_slice();
        let mut candidates = std::mem::take(&mut self.candidates);
        problem
            .constraints
            .list_addable(node, parents, &mut candidates);
        let request = Additions {
            candidates: &candidates,
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
                &mut |candidate, score| {
                    if let Some(score) = score {
                        counted += 1;
                        gains[candidate.index()] = score;
                    }
                },
            )
            .value();
        self.computed += counted;
        for &candidate in &candidates {
            gains[candidate.index()] -= score;
        }
        self.candidates = candidates;
        let mut family = std::mem::take(&mut self.family);
        for &parent in parents {
            if !problem.constraints.is_required(parent, node) {
                family.clear();
                family.extend(parents.iter().copied().filter(|&other| other != parent));
                gains[parent.index()] = self.local_uncharged(node, &family) - score;
            }
        }
        self.family = family;
        Benefits::new(node, parents.into(), score, gains)
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

    fn charge(&mut self, evaluations: u64) -> Result<(), OutOfBudget> {
        if self.limit - self.evaluations.min(self.limit) < evaluations {
            return Err(OutOfBudget);
        }
        self.evaluations += evaluations;
        Ok(())
    }
}
