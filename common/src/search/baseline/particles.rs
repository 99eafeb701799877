//! BNC-PSO (Gheisari and Meybodi 2016): particles without velocity. A particle is mutated, crossed
//! with its own best and crossed with the swarm's best, X <- Cg(Cp(M(X))), each with a probability
//! that changes linearly over time. The first swarm is the start network and random walks from it.
//! Ends only by its budget.
//!
//! A step, and so an iteration, is one particle of the first swarm or one update of a particle.

use super::individual::{Individual, best_of, is_frozen, load_all, save_all};
use super::individual::{split_any, split_scored};
use crate::graph::Dag;
use crate::ids::{NodeIdx, Seed};
use crate::search::{Chain, ChainCore, Constraints, Evaluator, Operation, OutOfBudget, Random};
use crate::search::{SavedChain, StepOutcome, UnfitState};

/// The swarm and its probabilities, each as (first, last) of a linear schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParticlesParams {
    /// How many particles there are (at least 1).
    pub swarm: usize,
    /// w: the probability of a mutation.
    pub inertia: (f64, f64),
    /// c1: the probability of a crossover with the particle's own best.
    pub own: (f64, f64),
    /// c2: the probability of a crossover with the swarm's best.
    pub social: (f64, f64),
    /// After how many updates of each particle the last values are reached, where they stay.
    pub generations: u64,
}

impl Default for ParticlesParams {
    fn default() -> Self {
        Self {
            swarm: 100,
            inertia: (0.95, 0.40),
            own: (0.82, 0.50),
            social: (0.40, 0.83),
            generations: 1000,
        }
    }
}

impl ParticlesParams {
    /// Returns a schedule's value in a generation: first + (last - first) t / T, then last.
    #[must_use]
    pub fn at(&self, (first, last): (f64, f64), generation: u64) -> f64 {
        if generation >= self.generations {
            return last;
        }
        first + (last - first) * (generation as f64 / self.generations as f64)
    }
}

/// A chain of particles; a step is one update of a particle.
#[derive(Debug)]
pub struct Particles {
    core: ChainCore,
    params: ParticlesParams,
    start: Individual,
    frozen: bool,
    swarm: Vec<Individual>,
    /// The best that each particle has been.
    bests: Vec<Individual>,
    /// Which particle is updated next.
    turn: usize,
    generation: u64,
    stage: Stage,
    /// What the stage waits for the scores of; the best of them goes on.
    pending: Vec<Individual>,
}

/// How far the update of a particle is: a budget may end in the middle of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing was done yet.
    Begin,
    /// Children with the particle's own best are being scored.
    OwnCrossed,
    /// What the particle will be is being scored.
    Last,
}

impl Particles {
    /// Prepares a chain; nothing is scored before the first step.
    #[must_use]
    pub fn new(evaluator: Evaluator, start: Dag, seed: Seed, mut params: ParticlesParams) -> Self {
        params.swarm = params.swarm.max(1);
        Self {
            frozen: is_frozen(&start, evaluator.constraints()),
            core: ChainCore::new(evaluator, seed),
            params,
            start: Individual::of(&start),
            swarm: Vec::new(),
            bests: Vec::new(),
            turn: 0,
            generation: 0,
            stage: Stage::Begin,
            pending: Vec::new(),
        }
    }

    /// Goes on from a stored state.
    ///
    /// # Errors
    /// If the state is not one of this search.
    pub fn resume(
        evaluator: Evaluator,
        start: Dag,
        params: ParticlesParams,
        saved: &SavedChain,
    ) -> Result<Self, UnfitState> {
        let mut chain = Self::new(evaluator, start, Seed(0), params);
        let &[pending, swarm, turn, generation, stage] = saved.integers.as_slice() else {
            return Err(UnfitState);
        };
        let (mut all, rest) = load_all(saved, chain.core.evaluator.constraints())?;
        chain.pending = split_any(&mut all, pending)?;
        chain.bests = split_scored(&mut all, swarm)?;
        chain.swarm = split_scored(&mut all, swarm)?;
        chain.turn = usize::try_from(turn).map_err(|_| UnfitState)?;
        chain.generation = generation;
        chain.stage = match stage {
            0 => Stage::Begin,
            1 => Stage::OwnCrossed,
            2 => Stage::Last,
            _ => return Err(UnfitState),
        };
        let idle = chain.stage == Stage::Begin;
        let counted = all.is_empty() && rest.is_empty() && chain.swarm.len() <= chain.params.swarm;
        let growing = chain.swarm.len() < chain.params.swarm;
        let early = growing && (chain.turn > 0 || chain.stage == Stage::OwnCrossed);
        let fits = counted && idle == chain.pending.is_empty() && chain.turn < chain.params.swarm;
        if !fits || early {
            return Err(UnfitState);
        }
        chain.core = ChainCore::resume(chain.core.evaluator, saved);
        Ok(chain)
    }

    fn try_step(&mut self) -> Result<StepOutcome, OutOfBudget> {
        if self.frozen && !self.swarm.is_empty() {
            return Ok(StepOutcome::Exhausted);
        }
        if self.stage == Stage::Begin {
            self.begin();
        }
        if self.stage == Stage::OwnCrossed {
            let better = self.score_pending()?;
            self.cross_with_swarm(better);
        }
        let next = self.score_pending()?;
        self.stage = Stage::Begin;
        self.settle(next);
        Ok(StepOutcome::Ran)
    }

    /// Makes the next particle of the first swarm; or mutates the particle whose turn it is and
    /// crosses it with its own best.
    fn begin(&mut self) {
        let constraints = self.core.evaluator.constraints();
        let random = &mut self.core.random;
        if self.swarm.len() < self.params.swarm {
            let particle = match self.swarm.first() {
                None => self.start.clone(),
                Some(start) => Individual::scattered(start, constraints, random),
            };
            self.pending = vec![particle];
            self.stage = Stage::Last;
            return;
        }
        let mut particle = self.swarm[self.turn].clone();
        if random.chance(self.params.at(self.params.inertia, self.generation)) {
            particle = mutated(&particle, constraints, random);
        }
        if random.chance(self.params.at(self.params.own, self.generation)) {
            self.pending = crossed(&particle, &self.bests[self.turn], constraints, random).into();
            self.stage = Stage::OwnCrossed;
        } else {
            self.cross_with_swarm(particle);
        }
    }

    fn cross_with_swarm(&mut self, particle: Individual) {
        let random = &mut self.core.random;
        if random.chance(self.params.at(self.params.social, self.generation)) {
            let best = &self.bests[best_of(&self.bests)];
            let constraints = self.core.evaluator.constraints();
            self.pending = crossed(&particle, best, constraints, random).into();
        } else {
            self.pending = vec![particle];
        }
        self.stage = Stage::Last;
    }

    /// Asks for the scores of what is pending and takes the best of it.
    fn score_pending(&mut self) -> Result<Individual, OutOfBudget> {
        for individual in &mut self.pending {
            individual.ask(&mut self.core.evaluator)?;
            self.core.offer(individual.score(), || individual.row());
        }
        let best = best_of(&self.pending);
        let best = self.pending.swap_remove(best);
        self.pending.clear();
        Ok(best)
    }

    fn settle(&mut self, particle: Individual) {
        if self.swarm.len() < self.params.swarm {
            self.bests.push(particle.clone());
            self.swarm.push(particle);
            return;
        }
        let best = &mut self.bests[self.turn];
        if particle.score() > best.score() {
            *best = particle.clone();
        }
        self.swarm[self.turn] = particle;
        self.turn += 1;
        if self.turn == self.params.swarm {
            self.turn = 0;
            self.generation += 1;
        }
    }
}

/// M: draws a pair of nodes; an arc between them is deleted or reversed, a missing one is added
/// either way. Of the two only the legal ones are drawn; if none is, nothing changes.
fn mutated(particle: &Individual, constraints: &Constraints, random: &mut Random) -> Individual {
    let n = particle.nodes();
    if n < 2 {
        return particle.clone();
    }
    let first = random.below(n);
    let second = random.below(n - 1);
    let second = if second < first { second } else { second + 1 };
    let (a, b) = (NodeIdx::new(first), NodeIdx::new(second));
    let choices = if particle.has_edge(a, b) {
        [Operation::Delete(a, b), Operation::Reverse(a, b)]
    } else if particle.has_edge(b, a) {
        [Operation::Delete(b, a), Operation::Reverse(b, a)]
    } else {
        [Operation::Add(a, b), Operation::Add(b, a)]
    };
    let legal = choices.map(|choice| after(particle, choice, constraints));
    let legal: Vec<Individual> = legal.into_iter().flatten().collect();
    random.pick(&legal).unwrap_or(particle).clone()
}

/// Returns the particle after an operation, if that is legal.
fn after(
    particle: &Individual,
    operation: Operation,
    constraints: &Constraints,
) -> Option<Individual> {
    let (from, to) = operation.edge();
    let mut changed = particle.clone();
    if !matches!(operation, Operation::Add(..)) {
        if constraints.is_required(from, to) {
            return None;
        }
        let rest = particle
            .parents(to)
            .iter()
            .copied()
            .filter(|&parent| parent != from);
        changed.set_family(to, rest.collect());
    }
    let done = match operation {
        Operation::Delete(..) => true,
        Operation::Add(..) => add_arc(&mut changed, from, to, constraints),
        Operation::Reverse(..) => add_arc(&mut changed, to, from, constraints),
    };
    done.then_some(changed)
}

/// Adds an arc if it is allowed, closes no cycle and the node may have another parent, and tells
/// whether it was added.
fn add_arc(
    network: &mut Individual,
    from: NodeIdx,
    to: NodeIdx,
    constraints: &Constraints,
) -> bool {
    let parents = network.parents(to);
    let room = parents.len() < constraints.max_parents();
    if !room || !constraints.is_allowed(from, to) || network.reaches(to, from) {
        return false;
    }
    let place = parents.partition_point(|&parent| parent < from);
    let family = parents[..place]
        .iter()
        .chain([&from])
        .chain(&parents[place..])
        .copied();
    let family = family.collect();
    network.set_family(to, family);
    true
}

/// Makes two children: both have the shared arcs; each other arc, in random order, goes to one of
/// them at even chances, where it closes no cycle and the node may have another parent. Families
/// that end as one of the parents has them bring their scores.
fn crossed(
    particle: &Individual,
    mate: &Individual,
    constraints: &Constraints,
    random: &mut Random,
) -> [Individual; 2] {
    let differing: Vec<NodeIdx> = NodeIdx::all(particle.nodes())
        .filter(|&node| particle.parents(node) != mate.parents(node))
        .collect();
    let mut shared = particle.clone();
    let mut others = Vec::new();
    for &to in &differing {
        let (own, theirs) = (particle.parents(to), mate.parents(to));
        let both = |parent: &NodeIdx| own.contains(parent) && theirs.contains(parent);
        let only_one = own
            .iter()
            .chain(theirs)
            .copied()
            .filter(|parent| !both(parent));
        others.extend(only_one.map(|from| (from, to)));
        shared.set_family(to, own.iter().copied().filter(both).collect());
    }
    random.shuffle(&mut others);
    let mut children = [shared.clone(), shared];
    for (from, to) in others {
        let child = &mut children[usize::from(random.chance(0.5))];
        add_arc(child, from, to, constraints);
    }
    for child in &mut children {
        for &node in &differing {
            let same = |donor: &&&Individual| donor.parents(node) == child.parents(node);
            if let Some(&donor) = [particle, mate].iter().find(same) {
                child.copy_family(node, donor);
            }
        }
        child.add_up();
    }
    children
}

impl Chain for Particles {
    fn step(&mut self) -> StepOutcome {
        let outcome = self.try_step().unwrap_or(StepOutcome::OutOfBudget);
        if outcome == StepOutcome::Ran {
            self.core.iterations += 1;
        }
        outcome
    }

    fn core(&self) -> &ChainCore {
        &self.core
    }

    fn core_mut(&mut self) -> &mut ChainCore {
        &mut self.core
    }

    fn save(&self) -> SavedChain {
        let stage = match self.stage {
            Stage::Begin => 0,
            Stage::OwnCrossed => 1,
            Stage::Last => 2,
        };
        let (pending, swarm) = (self.pending.len() as u64, self.swarm.len() as u64);
        let integers = vec![pending, swarm, self.turn as u64, self.generation, stage];
        let mut saved = SavedChain {
            integers,
            ..self.core.save()
        };
        save_all(
            self.swarm.iter().chain(&self.bests).chain(&self.pending),
            &mut saved,
        );
        saved
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{dag, evaluator, random_constraints, strong_table, table_of};
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn probabilities_change_linearly_and_stay_at_their_ends() {
        let params = ParticlesParams {
            generations: 200,
            ..ParticlesParams::default()
        };
        let at = |generation| {
            [params.inertia, params.own, params.social].map(|pair| params.at(pair, generation))
        };
        for (generation, expected) in [
            (0, [0.95, 0.82, 0.40]),
            (100, [0.675, 0.66, 0.615]),
            (200, [0.40, 0.50, 0.83]),
            (9999, [0.40, 0.50, 0.83]),
        ] {
            for (value, expected) in at(generation).into_iter().zip(expected) {
                assert!(
                    (value - expected).abs() < 1e-12,
                    "{generation}: {value} {expected}"
                );
            }
        }
    }

    #[test]
    fn a_mutation_adds_either_way_or_deletes_or_reverses() {
        let mut random = Random::new(Seed(1));
        let constraints = Constraints::none(2);
        let mut count = |edges: &[(usize, usize)]| {
            let mut seen: BTreeMap<Vec<(usize, usize)>, u32> = BTreeMap::new();
            for _ in 0..1000 {
                let next = mutated(&Individual::of(&dag(2, edges)), &constraints, &mut random);
                let edges = next
                    .edges()
                    .map(|(from, to)| (from.index(), to.index()))
                    .collect();
                *seen.entry(edges).or_default() += 1;
            }
            assert!(
                seen.values().all(|count| (430..570).contains(count)),
                "{seen:?}"
            );
            seen.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(count(&[]), [vec![(0, 1)], vec![(1, 0)]]);
        assert_eq!(count(&[(0, 1)]), [vec![], vec![(1, 0)]]);
    }

    #[test]
    fn children_keep_shared_arcs_and_split_the_others() {
        let (a, b) = (
            dag(4, &[(0, 1), (1, 2), (0, 3)]),
            dag(4, &[(0, 1), (2, 1), (3, 0)]),
        );
        let (a, b) = (Individual::of(&a), Individual::of(&b));
        let constraints = Constraints::none(4);
        let mut random = Random::new(Seed(2));
        let mut kept = 0;
        for _ in 0..500 {
            let children = crossed(&a, &b, &constraints, &mut random);
            for child in &children {
                assert!(child.has_edge(NodeIdx::new(0), NodeIdx::new(1)));
                assert!(
                    child
                        .edges()
                        .all(|(from, to)| a.has_edge(from, to) || b.has_edge(from, to))
                );
            }
            let has = |child: &Individual| child.has_edge(NodeIdx::new(1), NodeIdx::new(2));
            assert!(
                !(has(&children[0]) && has(&children[1])),
                "an arc goes to one child"
            );
            kept += u32::from(has(&children[0]));
        }
        // Half of the time it is drawn for the first child; there 2 -> 1 may stand against it.
        assert!((150..230).contains(&kept), "{kept}");
    }

    #[test]
    fn children_are_acyclic_and_keep_constraints() {
        let table = table_of(6, 5);
        let mut random = Random::new(Seed(3));
        for _ in 0..200 {
            let constraints = random_constraints(&table, &mut random);
            let start = Individual::of(constraints.required());
            let a = Individual::scattered(&start, &constraints, &mut random);
            let b = Individual::scattered(&start, &constraints, &mut random);
            for child in crossed(&a, &b, &constraints, &mut random) {
                let graph = child.to_dag();
                assert!(constraints.hold_for(&graph));
                let shared = a.edges().filter(|&(from, to)| b.has_edge(from, to));
                assert!(
                    shared
                        .into_iter()
                        .all(|(from, to)| graph.has_edge(from, to))
                );
            }
            let next = mutated(&a, &constraints, &mut random);
            assert!(constraints.hold_for(&next.to_dag()));
        }
    }

    #[test]
    fn children_inherit_the_scores_of_copied_families() {
        let mut evaluator = evaluator(&strong_table());
        let mut a = Individual::of(&dag(4, &[(0, 1)]));
        let mut b = Individual::of(&dag(4, &[(2, 3)]));
        a.ask(&mut evaluator).unwrap();
        b.ask(&mut evaluator).unwrap();
        let asked = evaluator.evaluations();
        let constraints = Constraints::none(4);
        for mut child in crossed(&a, &b, &constraints, &mut Random::new(Seed(4))) {
            child.ask(&mut evaluator).unwrap();
        }
        assert_eq!(evaluator.evaluations(), asked);
    }

    #[test]
    fn own_bests_never_fall() {
        let params = ParticlesParams {
            swarm: 5,
            generations: 10,
            ..ParticlesParams::default()
        };
        let evaluator = evaluator(&strong_table());
        let mut chain = Particles::new(evaluator, Dag::empty(4), Seed(5), params);
        let mut before: Vec<Individual> = Vec::new();
        for _ in 0..200 {
            assert_eq!(chain.step(), StepOutcome::Ran);
            assert!(
                before
                    .iter()
                    .zip(&chain.bests)
                    .all(|(old, new)| new.score() >= old.score())
            );
            before = chain.bests.clone();
        }
        assert_eq!((chain.generation, chain.turn), (39, 0));
        let best = &chain.bests[best_of(&chain.bests)];
        assert!(chain.core().best().unwrap().score >= best.score());
    }
}
