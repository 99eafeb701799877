//! BNC-PSO (Gheisari and Meybodi 2016): particles without velocity. A particle is mutated, crossed
//! with its own best and crossed with the swarm's best, X <- Cg(Cp(M(X))), each with a probability
//! that changes linearly over time.

use super::population::{About, Draw, Individual, Population, PopulationSearch};
use super::population::{best_of, load_scored, save_all};
use crate::ids::NodeIdx;
use crate::search::params::{check, made_by};
use crate::search::{Constraints, Fields, Operation, ParamError, Random};
use crate::search::{SearchParams, SettingsError, StateKind, UnfitState, Visitor};

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

impl SearchParams for ParticlesParams {
    made_by!(Particles);

    fn check(&self) -> Result<(), ParamError> {
        check::at_least("the swarm", self.swarm, 1)
    }

    fn visit(&mut self, with: &mut dyn Visitor) -> Result<(), SettingsError> {
        let Self {
            swarm,
            inertia,
            own,
            social,
            generations,
        } = self;
        with.size("swarm", swarm)?;
        with.number("inertia_first", &mut inertia.0)?;
        with.number("inertia_last", &mut inertia.1)?;
        with.number("own_first", &mut own.0)?;
        with.number("own_last", &mut own.1)?;
        with.number("social_first", &mut social.0)?;
        with.number("social_last", &mut social.1)?;
        with.whole("generations", generations)
    }

    fn bytes_per_chain(&self, nodes: usize) -> usize {
        3 * self.swarm * Individual::bytes_for(nodes)
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
pub type Particles = Population<Swarm>;

/// How a swarm moves.
#[derive(Debug)]
pub struct Swarm {
    params: ParticlesParams,
    /// The best that each particle has been.
    bests: Vec<Individual>,
    /// Which particle is updated next.
    turn: usize,
    generation: u64,
    stage: Stage,
}

/// How far the update of a particle is: a budget may end in the middle of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Children with the particle's own best are being scored.
    OwnCrossed,
    /// What the particle will be is being scored.
    Last,
}

impl Swarm {
    /// Returns a schedule's value now.
    fn now(&self, schedule: (f64, f64)) -> f64 {
        self.params.at(schedule, self.generation)
    }

    fn cross_with_swarm(&mut self, particle: Individual, draw: Draw<'_>) -> Vec<Individual> {
        self.stage = Stage::Last;
        if !draw.random.chance(self.now(self.params.social)) {
            return vec![particle];
        }
        let best = &self.bests[best_of(&self.bests)];
        crossed(&particle, best, draw.constraints, draw.random).into()
    }
}

impl PopulationSearch for Swarm {
    type Params = ParticlesParams;

    const KIND: StateKind = StateKind {
        search: "bnc-pso",
        version: 1,
    };

    fn new(params: ParticlesParams) -> Self {
        Self {
            params,
            bests: Vec::new(),
            turn: 0,
            generation: 0,
            stage: Stage::Last,
        }
    }

    fn first_size(&self) -> usize {
        self.params.swarm
    }

    fn welcome(&mut self, member: &Individual, _draw: Draw<'_>) {
        self.bests.push(member.clone());
    }

    fn propose(&mut self, members: &[Individual], draw: Draw<'_>) -> Vec<Individual> {
        let mut particle = members[self.turn].clone();
        if draw.random.chance(self.now(self.params.inertia)) {
            particle = mutated(&particle, draw.constraints, draw.random);
        }
        if draw.random.chance(self.now(self.params.own)) {
            self.stage = Stage::OwnCrossed;
            let best = &self.bests[self.turn];
            crossed(&particle, best, draw.constraints, draw.random).into()
        } else {
            self.cross_with_swarm(particle, draw)
        }
    }

    fn settle(
        &mut self,
        members: &mut Vec<Individual>,
        mut proposed: Vec<Individual>,
        draw: Draw<'_>,
    ) -> Vec<Individual> {
        let particle = proposed.swap_remove(best_of(&proposed));
        if self.stage == Stage::OwnCrossed {
            return self.cross_with_swarm(particle, draw);
        }
        let best = &mut self.bests[self.turn];
        if particle.score() > best.score() {
            *best = particle.clone();
        }
        members[self.turn] = particle;
        self.turn += 1;
        if self.turn == self.params.swarm {
            self.turn = 0;
            self.generation += 1;
        }
        Vec::new()
    }

    fn save(&self, own: Fields) -> Fields {
        save_all(own, "bests", &self.bests)
            .with_sizes("turn", [self.turn])
            .with_integer("generation", self.generation)
            .with_integer("own_crossed", u64::from(self.stage == Stage::OwnCrossed))
    }

    fn load(&mut self, own: &Fields, about: About<'_>) -> Result<(), UnfitState> {
        self.bests = load_scored(own, "bests", about.constraints)?;
        self.turn = own.size("turn")?;
        self.generation = own.integer("generation")?;
        self.stage = match own.integer("own_crossed")? {
            0 => Stage::Last,
            1 => Stage::OwnCrossed,
            _ => return Err(UnfitState::Field("own_crossed")),
        };
        let growing = about.members < self.params.swarm;
        if about.members > self.params.swarm {
            return Err(UnfitState::Field("members"));
        }
        if self.bests.len() != about.members {
            return Err(UnfitState::Field("bests"));
        }
        if self.turn >= self.params.swarm || growing && self.turn > 0 {
            return Err(UnfitState::Field("turn"));
        }
        if about.pending > 2 || growing && self.stage == Stage::OwnCrossed {
            return Err(UnfitState::Field("pending"));
        }
        Ok(())
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

/// Adds an arc if it is allowed, closes no cycle and the node may have another parent, and returns
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

#[cfg(test)]
mod tests;
