//! The football team training algorithm (Tian and Gai 2024) on networks: a player is a vector with
//! a number in [0, 1] for each ordered pair of nodes, decoded to a network by adding the arcs above
//! 1/2, highest first, where they close no cycle. Ends by its budget, or when the team has stopped
//! changing.
//!
//! A training session number k = 1, 2, ... updates every player twice and the best once more:
//!
//! - collective training: each player F draws a role; B is the best player now, W the worst. A
//!   follower becomes F + r (B - F); a discoverer F + r (B - F) - r' (W - F); a thinker
//!   F + r (B - W); a volatile one F (1 + t), t of Student's distribution with k degrees of
//!   freedom. Every r, r' and t is drawn anew for each dimension, r uniform in [0, 1).
//! - group training in random groups, drawn anew for each session: in each dimension a player
//!   copies its group's best with probability `study`, else a random other member of the group with
//!   the same probability; then, with probability `communicate`, takes over another member's number
//!   times (1 + Normal); then, with probability `error`, another member's number of a random other
//!   dimension.
//! - individual training of the best: F (1 + (1 - 1/k) Gauss + (1/k) Cauchy), in each dimension.
//!
//! Numbers are cut to [0, 1], and a player keeps its new vector only if the network scores higher.
//! Constraints hold in decoding: required arcs come first, forbidden arcs and further parents of a
//! full node are passed over.
//!
//! The first team stands for the start network and random walks from it: an arc has a number above
//! 1/2, any other pair one below `absent`. Numbers drawn evenly from [0, 1] would decode to nearly
//! complete networks; the default makes the heavy tails of the first sessions lift a few arcs a
//! node, whatever n is (hailfinder N = 1000, 500 000 evaluations, mean of two seeds: -65500 with
//! 0.5, -62000 with 0.25, -59500 with 0.1).
//!
//! A step, and so an iteration, is one player of the first team or one update of a player.
//!
//! The vectors take 8 n (n - 1) bytes a player, and as much again when stored:
//! [`FootballParams::bytes`]. That is 126 MB for 30 players and 724 nodes.

use super::individual::{Individual, best_of, is_frozen, load_all, save_all};
use crate::graph::Dag;
use crate::ids::{NodeIdx, Seed};
use crate::search::{Chain, ChainCore, Constraints, Evaluator, OutOfBudget, Random};
use crate::search::{SavedChain, StepOutcome, UnfitState};
use std::sync::Arc;

/// The team and its habits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FootballParams {
    /// How many players there are (at least 1).
    pub population: usize,
    /// Into how many groups the team is split (at least 1).
    pub groups: usize,
    /// The probability, in each dimension, of copying the group's best, and else of copying a
    /// random member.
    pub study: f64,
    /// The probability, in each dimension, of taking over a member's number times (1 + Normal).
    pub communicate: f64,
    /// The probability, in each dimension, of copying a number of another dimension.
    pub error: f64,
    /// Below which number (at most 1/2) the first team has the pairs without an arc; none means
    /// min(1/2, 5 / n).
    pub absent: Option<f64>,
}

impl Default for FootballParams {
    fn default() -> Self {
        Self {
            population: 30,
            groups: 4,
            study: 0.2,
            communicate: 0.2,
            error: 0.001,
            absent: None,
        }
    }
}

impl FootballParams {
    /// Returns the number below which the first team has the pairs without an arc.
    fn absent(&self, nodes: usize) -> f64 {
        self.absent.unwrap_or(5.0 / nodes as f64).clamp(0.0, 0.5)
    }

    /// Returns how many bytes the vectors of a team take, one more in the making included.
    #[must_use]
    pub fn bytes(&self, nodes: usize) -> usize {
        let vector = nodes
            .saturating_mul(nodes.saturating_sub(1))
            .saturating_mul(size_of::<f64>());
        vector.saturating_mul(self.population.saturating_add(1))
    }
}

/// A chain of players; a step is one update of a player.
#[derive(Debug)]
pub struct Football {
    core: ChainCore,
    params: FootballParams,
    start: Individual,
    frozen: bool,
    team: Vec<Individual>,
    /// The vector of each player.
    vectors: Vec<Vec<f64>>,
    /// The group of each player in this session's group training.
    groups: Vec<usize>,
    /// k: the number of the session, from 1.
    session: u64,
    /// Which of the session's updates comes next: everybody's collective training, everybody's
    /// group training, then the best player's own.
    turn: usize,
    /// How many updates in a row asked for nothing.
    idle: u64,
    /// A player whose scores are being asked for.
    pending: Option<(Individual, Vec<f64>)>,
}

/// After so many updates in a row that asked for no score the team counts as at its end: vectors
/// that have all become 0 can't change any more.
const MOST_IDLE: u64 = 10_000;

/// What a player does in collective training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Follower,
    Discoverer,
    Thinker,
    Volatile,
}

impl Role {
    const ALL: [Self; 4] = [
        Self::Follower,
        Self::Discoverer,
        Self::Thinker,
        Self::Volatile,
    ];

    /// Returns a player's new number in one dimension, not yet cut to [0, 1].
    fn train(self, own: f64, [best, worst]: [f64; 2], session: f64, random: &mut Random) -> f64 {
        match self {
            Self::Follower => own + random.unit() * (best - own),
            Self::Discoverer => own + random.unit() * (best - own) - random.unit() * (worst - own),
            Self::Thinker => own + random.unit() * (best - worst),
            Self::Volatile => own * (1.0 + random.student_t(session)),
        }
    }
}

impl Football {
    /// Prepares a chain; nothing is scored before the first step.
    #[must_use]
    pub fn new(evaluator: Evaluator, start: Dag, seed: Seed, mut params: FootballParams) -> Self {
        params.population = params.population.max(1);
        params.groups = params.groups.max(1);
        Self {
            frozen: is_frozen(&start, evaluator.constraints()),
            core: ChainCore::new(evaluator, seed),
            params,
            start: Individual::of(&start),
            team: Vec::new(),
            vectors: Vec::new(),
            groups: Vec::new(),
            session: 1,
            turn: 0,
            idle: 0,
            pending: None,
        }
    }

    /// Goes on from a stored state.
    ///
    /// # Errors
    /// If the state is not one of this search.
    pub fn resume(
        evaluator: Evaluator,
        start: Dag,
        params: FootballParams,
        saved: &SavedChain,
    ) -> Result<Self, UnfitState> {
        let mut chain = Self::new(evaluator, start, Seed(0), params);
        let [pending, session, turn, idle, groups @ ..] = saved.integers.as_slice() else {
            return Err(UnfitState);
        };
        let (mut all, numbers) = load_all(saved, chain.core.evaluator.constraints())?;
        let dimensions = dimensions(chain.start.nodes());
        let unfit_number = |number: &f64| !(0.0..=1.0).contains(number);
        if numbers.len() != all.len() * dimensions || numbers.iter().any(unfit_number) {
            return Err(UnfitState);
        }
        chain.vectors = (0..all.len())
            .map(|at| numbers[at * dimensions..][..dimensions].to_vec())
            .collect();
        chain.pending = match pending {
            0 => None,
            1 => all.pop().zip(chain.vectors.pop()),
            _ => return Err(UnfitState),
        };
        let size = chain.params.population;
        (chain.session, chain.idle) = (*session, *idle);
        chain.turn = usize::try_from(*turn).map_err(|_| UnfitState)?;
        for &group in groups {
            let group = usize::try_from(group).map_err(|_| UnfitState)?;
            chain.groups.push(group);
        }
        let growing = all.len() < size;
        let early = growing && chain.turn > 0;
        let grouped = chain.groups.len() == size || (chain.groups.is_empty() && chain.turn <= size);
        let fits = all.len() <= size && chain.turn <= 2 * size && *session > 0 && grouped;
        if !fits || early || !all.iter().all(Individual::is_scored) {
            return Err(UnfitState);
        }
        chain.team = all;
        chain.core = ChainCore::resume(chain.core.evaluator, saved);
        Ok(chain)
    }

    fn try_step(&mut self) -> Result<StepOutcome, OutOfBudget> {
        if self.frozen && !self.team.is_empty() || self.idle >= MOST_IDLE {
            return Ok(StepOutcome::Exhausted);
        }
        let (mut player, vector) = match self.pending.take() {
            Some(pending) => pending,
            None => self.propose(),
        };
        self.idle = if player.is_scored() { self.idle + 1 } else { 0 };
        if let Err(out) = player.ask(&mut self.core.evaluator) {
            self.pending = Some((player, vector));
            return Err(out);
        }
        self.core.offer(player.score(), || player.row());
        self.settle(player, vector);
        Ok(StepOutcome::Ran)
    }

    fn propose(&mut self) -> (Individual, Vec<f64>) {
        let size = self.params.population;
        if self.team.len() < size {
            let constraints = self.core.evaluator.constraints();
            let random = &mut self.core.random;
            let player = match self.team.first() {
                None => self.start.clone(),
                Some(start) => Individual::scattered(start, constraints, random),
            };
            let vector = encoded(&player, self.params.absent(player.nodes()), random);
            return (player, vector);
        }
        if self.turn == size {
            self.draw_groups();
        }
        let vector = match self.turn {
            turn if turn < size => self.trained_collectively(turn),
            turn if turn < 2 * size => self.trained_in_group(turn - size),
            _ => self.trained_alone(),
        };
        let families = decoded(&vector, self.core.evaluator.constraints());
        (Individual::from_families(families, &self.team), vector)
    }

    fn trained_collectively(&mut self, player: usize) -> Vec<f64> {
        let best = &self.vectors[best_of(&self.team)];
        let worst = &self.vectors[worst_of(&self.team)];
        let own = &self.vectors[player];
        let random = &mut self.core.random;
        let role = Role::ALL[random.below(4)];
        let session = self.session as f64;
        own.iter()
            .zip(best.iter().zip(worst))
            .map(|(&own, (&best, &worst))| role.train(own, [best, worst], session, random))
            .map(|number| number.clamp(0.0, 1.0))
            .collect()
    }

    /// Deals the players, in random order, out to the groups.
    fn draw_groups(&mut self) {
        let mut order: Vec<usize> = (0..self.params.population).collect();
        self.core.random.shuffle(&mut order);
        self.groups = vec![0; order.len()];
        for (place, player) in order.into_iter().enumerate() {
            self.groups[player] = place % self.params.groups;
        }
    }

    fn trained_in_group(&mut self, player: usize) -> Vec<f64> {
        let group = self.groups[player];
        let members: Vec<usize> = (0..self.team.len())
            .filter(|&other| self.groups[other] == group)
            .collect();
        let best = members[best_of(members.iter().map(|&member| &self.team[member]))];
        let mut others: Vec<&[f64]> = members
            .iter()
            .filter(|&&member| member != player)
            .map(|&member| self.vectors[member].as_slice())
            .collect();
        if others.is_empty() {
            others.push(&self.vectors[player]);
        }
        let group = Group {
            best: &self.vectors[best],
            others,
        };
        group.train(&self.vectors[player], &self.params, &mut self.core.random)
    }

    fn trained_alone(&mut self) -> Vec<f64> {
        let share = 1.0 / self.session as f64;
        let random = &mut self.core.random;
        self.vectors[best_of(&self.team)]
            .iter()
            .map(|&own| alone(own, share, random).clamp(0.0, 1.0))
            .collect()
    }

    fn settle(&mut self, player: Individual, vector: Vec<f64>) {
        let size = self.params.population;
        if self.team.len() < size {
            self.team.push(player);
            self.vectors.push(vector);
            return;
        }
        let place = if self.turn < 2 * size {
            self.turn % size
        } else {
            best_of(&self.team)
        };
        if player.score() > self.team[place].score() {
            self.team[place] = player;
            self.vectors[place] = vector;
        }
        self.turn += 1;
        if self.turn > 2 * size {
            self.turn = 0;
            self.session += 1;
        }
    }
}

/// What a player meets in group training.
struct Group<'a> {
    best: &'a [f64],
    /// The other members; never empty.
    others: Vec<&'a [f64]>,
}

impl Group<'_> {
    fn train(&self, own: &[f64], params: &FootballParams, random: &mut Random) -> Vec<f64> {
        let dimensions = own.len();
        let mut trained = own.to_vec();
        for (at, number) in trained.iter_mut().enumerate() {
            if random.chance(params.study) {
                *number = self.best[at];
            } else if random.chance(params.study) {
                *number = self.member(random)[at];
            }
            if random.chance(params.communicate) {
                *number = self.member(random)[at] * (1.0 + random.normal());
            }
            if random.chance(params.error) {
                *number = self.member(random)[random.below(dimensions)];
            }
            *number = number.clamp(0.0, 1.0);
        }
        trained
    }

    fn member(&self, random: &mut Random) -> &[f64] {
        self.others[random.below(self.others.len())]
    }
}

/// Returns the best player's new number in one dimension; `share` is 1 / k.
fn alone(own: f64, share: f64, random: &mut Random) -> f64 {
    own * (1.0 + (1.0 - share) * random.normal() + share * random.cauchy())
}

/// Returns the place of the worst; the first of equals.
fn worst_of(team: &[Individual]) -> usize {
    let worst = team
        .iter()
        .enumerate()
        .min_by_key(|(place, player)| (player.score(), *place));
    worst.map_or(0, |(place, _)| place)
}

/// Returns the number of ordered pairs.
fn dimensions(nodes: usize) -> usize {
    nodes * nodes.saturating_sub(1)
}

/// Returns the pair of a dimension.
fn pair(dimension: usize, nodes: usize) -> (NodeIdx, NodeIdx) {
    let (from, rest) = (dimension / (nodes - 1), dimension % (nodes - 1));
    let to = if rest < from { rest } else { rest + 1 };
    (NodeIdx::new(from), NodeIdx::new(to))
}

/// Draws a vector that stands for a network: its arcs get numbers in (1/2, 1], all other pairs
/// numbers below `absent`.
fn encoded(network: &Individual, absent: f64, random: &mut Random) -> Vec<f64> {
    let n = network.nodes();
    (0..dimensions(n))
        .map(|dimension| {
            let (from, to) = pair(dimension, n);
            let unit = random.unit();
            if network.has_edge(from, to) {
                1.0 - unit / 2.0
            } else {
                unit * absent
            }
        })
        .collect()
}

/// Returns the families of the network that a vector stands for: first the required arcs, then
/// those above 1/2 in falling order, the earlier pair of equals first, where constraints and
/// acyclicity allow them.
fn decoded(vector: &[f64], constraints: &Constraints) -> Vec<Arc<[NodeIdx]>> {
    let n = constraints.nodes();
    let mut families: Vec<Vec<NodeIdx>> = vec![Vec::new(); n];
    let mut below = Descendants::none(n);
    for (from, to) in constraints.required().edges() {
        below.add(from, to);
        families[to.index()].push(from);
    }
    let mut falling: Vec<usize> = (0..vector.len()).filter(|&at| vector[at] > 0.5).collect();
    falling.sort_by(|&a, &b| vector[b].total_cmp(&vector[a]).then(a.cmp(&b)));
    for dimension in falling {
        let (from, to) = pair(dimension, n);
        let room = families[to.index()].len() < constraints.max_parents();
        let wanted = constraints.is_allowed(from, to) && !constraints.is_required(from, to);
        if room && wanted && !below.has(to, from) {
            below.add(from, to);
            families[to.index()].push(from);
        }
    }
    families
        .into_iter()
        .map(|mut family| {
            family.sort_unstable();
            family.into()
        })
        .collect()
}

/// Who is below whom in a graph that only grows: decoding may add most of n^2 / 2 arcs, and asks
/// before each.
struct Descendants {
    words: usize,
    bits: Vec<u64>,
}

impl Descendants {
    fn none(nodes: usize) -> Self {
        let words = nodes.div_ceil(64);
        Self {
            words,
            bits: vec![0; nodes * words],
        }
    }

    fn has(&self, above: NodeIdx, below: NodeIdx) -> bool {
        let below = below.index();
        self.bits[above.index() * self.words + below / 64] >> (below % 64) & 1 == 1
    }

    fn add(&mut self, from: NodeIdx, to: NodeIdx) {
        if self.has(from, to) {
            return;
        }
        let mut more = self.bits[to.index() * self.words..][..self.words].to_vec();
        more[to.index() / 64] |= 1 << (to.index() % 64);
        let (word, bit) = (from.index() / 64, from.index() % 64);
        for (node, known) in self.bits.chunks_mut(self.words).enumerate() {
            if node == from.index() || known[word] >> bit & 1 == 1 {
                for (known, more) in known.iter_mut().zip(&more) {
                    *known |= more;
                }
            }
        }
    }
}

impl Chain for Football {
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
        let pending = u64::from(self.pending.is_some());
        let mut integers = vec![pending, self.session, self.turn as u64, self.idle];
        integers.extend(self.groups.iter().map(|&group| group as u64));
        let mut saved = SavedChain {
            integers,
            ..self.core.save()
        };
        save_all(
            self.team
                .iter()
                .chain(self.pending.iter().map(|(player, _)| player)),
            &mut saved,
        );
        let pending = self.pending.iter().map(|(_, vector)| vector);
        saved
            .numbers
            .extend(self.vectors.iter().chain(pending).flatten());
        saved
    }
}

#[cfg(test)]
mod tests;
