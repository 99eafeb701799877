//! The football team training algorithm (Tian and Gai 2024) on networks: a player is a vector with
//! a number in [0, 1] for each ordered pair of nodes, decoded to a network by adding the arcs above
//! 1/2, highest first, where they close no cycle. Ends when the team has stopped changing, too.
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
//! The vectors take 8 n (n - 1) bytes a player, and as much again when stored:
//! [`FootballParams::bytes`]. That is 126 MB for 30 players and 724 nodes.

mod arc_numbers;

use super::population::{About, Draw, Individual, Population, PopulationSearch, best_of};
use crate::search::params::{check, made_by};
use crate::search::{Fields, ParamError, Random, SearchParams, SettingsError};
use crate::search::{StateKind, UnfitState, Visitor};
use arc_numbers::{decoded, dimensions, encoded};

/// The team and its training.
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

impl SearchParams for FootballParams {
    made_by!(Football);

    fn check(&self) -> Result<(), ParamError> {
        check::at_least("the number of groups", self.groups, 1)?;
        check::at_least("the population", self.population, 1)
    }

    fn visit(&mut self, with: &mut dyn Visitor) -> Result<(), SettingsError> {
        let Self {
            population,
            groups,
            study,
            communicate,
            error,
            absent,
        } = self;
        with.size("population", population)?;
        with.size("groups", groups)?;
        with.number("study", study)?;
        with.number("communicate", communicate)?;
        with.number("error", error)?;
        with.optional("absent", absent)
    }

    fn bytes_per_chain(&self, nodes: usize) -> usize {
        self.bytes(nodes) + self.population * Individual::bytes_for(nodes)
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
pub type Football = Population<Team>;

/// How a team trains.
#[derive(Debug)]
pub struct Team {
    params: FootballParams,
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
    /// The vector of the player whose scores are being asked for; empty if there is none.
    proposed: Vec<f64>,
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

impl Team {
    fn trained_collectively(
        &self,
        player: usize,
        members: &[Individual],
        random: &mut Random,
    ) -> Vec<f64> {
        let best = &self.vectors[best_of(members)];
        let worst = &self.vectors[worst_of(members)];
        let own = &self.vectors[player];
        let role = Role::ALL[random.below(4)];
        let session = self.session as f64;
        own.iter()
            .zip(best.iter().zip(worst))
            .map(|(&own, (&best, &worst))| role.train(own, [best, worst], session, random))
            .map(|number| number.clamp(0.0, 1.0))
            .collect()
    }

    /// Deals the players, in random order, out to the groups.
    fn draw_groups(&mut self, random: &mut Random) {
        let mut order: Vec<usize> = (0..self.params.population).collect();
        random.shuffle(&mut order);
        self.groups = vec![0; order.len()];
        for (place, player) in order.into_iter().enumerate() {
            self.groups[player] = place % self.params.groups;
        }
    }

    fn trained_in_group(
        &self,
        player: usize,
        members: &[Individual],
        random: &mut Random,
    ) -> Vec<f64> {
        let own_group: Vec<usize> = (0..members.len())
            .filter(|&other| self.groups[other] == self.groups[player])
            .collect();
        let best = own_group[best_of(own_group.iter().map(|&member| &members[member]))];
        let mut others: Vec<&[f64]> = own_group
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
        group.train(&self.vectors[player], &self.params, random)
    }

    fn trained_alone(&self, members: &[Individual], random: &mut Random) -> Vec<f64> {
        let share = 1.0 / self.session as f64;
        self.vectors[best_of(members)]
            .iter()
            .map(|&own| alone(own, share, random).clamp(0.0, 1.0))
            .collect()
    }
}

impl PopulationSearch for Team {
    type Params = FootballParams;

    const KIND: StateKind = StateKind {
        search: "ftta",
        version: 1,
    };

    fn new(params: FootballParams) -> Self {
        Self {
            params,
            vectors: Vec::new(),
            groups: Vec::new(),
            session: 1,
            turn: 0,
            idle: 0,
            proposed: Vec::new(),
        }
    }

    fn first_size(&self) -> usize {
        self.params.population
    }

    fn welcome(&mut self, member: &Individual, draw: Draw<'_>) {
        let absent = self.params.absent(member.nodes());
        self.vectors.push(encoded(member, absent, draw.random));
    }

    fn propose(&mut self, members: &[Individual], draw: Draw<'_>) -> Vec<Individual> {
        let size = self.params.population;
        if self.turn == size {
            self.draw_groups(draw.random);
        }
        self.proposed = match self.turn {
            turn if turn < size => self.trained_collectively(turn, members, draw.random),
            turn if turn < 2 * size => self.trained_in_group(turn - size, members, draw.random),
            _ => self.trained_alone(members, draw.random),
        };
        let families = decoded(&self.proposed, draw.constraints);
        let player = Individual::from_families(families, members);
        self.idle = if player.is_scored() { self.idle + 1 } else { 0 };
        vec![player]
    }

    fn settle(
        &mut self,
        members: &mut Vec<Individual>,
        proposed: Vec<Individual>,
        _draw: Draw<'_>,
    ) -> Vec<Individual> {
        let size = self.params.population;
        let place = if self.turn < 2 * size {
            self.turn % size
        } else {
            best_of(members.iter())
        };
        let vector = std::mem::take(&mut self.proposed);
        for player in proposed {
            if player.score() > members[place].score() {
                members[place] = player;
                self.vectors[place].clone_from(&vector);
            }
        }
        self.turn += 1;
        if self.turn > 2 * size {
            self.turn = 0;
            self.session += 1;
        }
        Vec::new()
    }

    fn is_over(&self) -> bool {
        self.idle >= MOST_IDLE
    }

    fn save(&self, own: Fields) -> Fields {
        own.with_integer("session", self.session)
            .with_sizes("turn", [self.turn])
            .with_integer("idle", self.idle)
            .with_sizes("groups", self.groups.iter().copied())
            .with_numbers("vectors", self.vectors.iter().flatten().copied())
            .with_numbers("proposed", self.proposed.iter().copied())
    }

    fn load(&mut self, own: &Fields, about: About<'_>) -> Result<(), UnfitState> {
        let length = dimensions(about.constraints.nodes());
        let vectors = |name, count: usize| {
            let numbers = own.numbers(name)?;
            let fit = numbers.iter().all(|number| (0.0..=1.0).contains(number));
            if !fit || numbers.len() != count * length {
                return Err(UnfitState::Field(name));
            }
            Ok(numbers)
        };
        if about.pending > 1 {
            return Err(UnfitState::Field("pending"));
        }
        let numbers = vectors("vectors", about.members)?;
        self.vectors = (0..about.members)
            .map(|at| numbers[at * length..][..length].to_vec())
            .collect();
        self.proposed = vectors("proposed", about.pending)?.to_vec();
        self.session = own.integer("session")?;
        self.turn = own.size("turn")?;
        self.idle = own.integer("idle")?;
        self.groups = own.sizes("groups")?;
        let size = self.params.population;
        if about.members > size {
            return Err(UnfitState::Field("members"));
        }
        if self.turn > 2 * size || about.members < size && self.turn > 0 {
            return Err(UnfitState::Field("turn"));
        }
        let ungrouped = self.groups.is_empty() && self.turn <= size;
        if self.groups.len() != size && !ungrouped {
            return Err(UnfitState::Field("groups"));
        }
        if self.session == 0 {
            return Err(UnfitState::Field("session"));
        }
        Ok(())
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

#[cfg(test)]
mod tests;
