//! A chain of the default search on a network of many nodes: one climb, then region by region.

use super::grow::grow;
use super::region::{self, RegionSearch};
use super::sparse_position::SparsePosition;
use crate::elite::{EliteRow, Structure};
use crate::graph::Dag;
use crate::ids::{NodeIdx, Seed};
use crate::search::rlbayes::{ChainRank, RlBayes, RlBayesParams, recombine};
use crate::search::{Chain, ChainCore, Evaluator, Fields, OutOfBudget, PairBlocks, Random};
use crate::search::{SavedChain, Seeds, StateKind, StepOutcome, UnfitState};
use std::sync::Arc;

/// A chain that searches region by region; a step is the search of one region, or at the beginning
/// a part of the first climb.
#[derive(Debug)]
pub struct RegionChain {
    core: ChainCore,
    params: RlBayesParams,
    rank: ChainRank,
    start: Dag,
    stage: Stage,
    /// How often every node has been in a region.
    sweep: u64,
    /// The order of this sweep, how far it is, and which nodes it has covered.
    order: Vec<NodeIdx>,
    next: usize,
    is_covered: Vec<bool>,
    /// The least and the largest size of a region.
    sizes: (usize, usize),
    /// The next node that all others are looked at for, and how many evaluations may go there.
    to_widen: usize,
    widening: u64,
    /// Regions since the chain last got rows of others.
    since_meeting: u64,
    /// Steps since the last one that asked for a score.
    idle: usize,
    waiting: Option<Seeds>,
}

#[derive(Debug)]
enum Stage {
    Start,
    /// Partners of the nodes are being found; so many blocks of pairs are known.
    Pairing(usize),
    Climbing(Box<SparsePosition>),
    Regions(Box<SparsePosition>),
}

/// Blocks of pairs that are counted, and operations of the first climb, in one step.
const PAIRED_A_STEP: usize = 8;
const CLIMB_STEPS: usize = 256;
/// The sizes of regions in the first sweep. Each sweep doubles the larger one, up to a limit.
const SIZES: (usize, usize) = (20, 60);
const MOST_SIZE: usize = 480;
/// Evaluations for a region of m nodes: this times m squared.
const SPENDING: u64 = 60;
/// One evaluation in so many looks at nodes that are no candidates.
const WIDENING_SHARE: u64 = 8;
/// Regions from one meeting with rows of others to the next.
const BETWEEN_MEETINGS: u64 = 4;

impl RegionChain {
    /// The least number of nodes for which regions are searched; smaller networks are one region.
    pub const LEAST_NODES: usize = 900;

    /// Prepares a chain; nothing is scored before the first step.
    #[must_use]
    pub fn new(
        evaluator: Evaluator,
        start: Dag,
        seed: Seed,
        params: RlBayesParams,
        rank: ChainRank,
    ) -> Self {
        let nodes = start.nodes();
        Self {
            core: ChainCore::new(evaluator, seed),
            params,
            rank,
            start,
            stage: Stage::Start,
            sweep: 0,
            order: sweep_order(0, nodes, rank),
            next: 0,
            is_covered: vec![false; nodes],
            sizes: SIZES,
            to_widen: 0,
            widening: 0,
            since_meeting: 0,
            idle: 0,
            waiting: None,
        }
    }

    /// Resumes from a stored state.
    ///
    /// # Errors
    /// If the state is not one of this search.
    pub fn resume(
        evaluator: Evaluator,
        start: Dag,
        params: RlBayesParams,
        rank: ChainRank,
        saved: &SavedChain,
    ) -> Result<Self, UnfitState> {
        let mut chain = Self::new(evaluator, start, Seed(0), params, rank);
        let nodes = chain.start.nodes();
        let own = &saved.own;
        let index = |name, at: usize| match at {
            at if at < nodes => Ok(NodeIdx::new(at)),
            _ => Err(UnfitState::Field(name)),
        };
        chain.sweep = own.integer("sweep")?;
        chain.order = sweep_order(chain.sweep, nodes, rank);
        chain.next = own.size("next")?.min(nodes);
        for at in own.sizes("covered")? {
            chain.is_covered[index("covered", at)?.index()] = true;
        }
        chain.to_widen = index("to_widen", own.size("to_widen")?)?.index();
        chain.widening = own.integer("widening")?;
        chain.since_meeting = own.integer("since_meeting")?;
        let stage = own.integer("stage")?;
        chain.stage = match stage {
            0 => Stage::Start,
            1 => Stage::Pairing(own.size("known")?.min(nodes).div_ceil(PairBlocks::SIZE)),
            2 | 3 => {
                let row = own.row("current")?.ok_or(UnfitState::Field("current"))?;
                let mut position = stand_again(row, &mut chain.core.evaluator)?;
                let mut found = own.sizes("found")?.into_iter();
                for (node, count) in NodeIdx::all(nodes).zip(own.sizes("found_counts")?) {
                    let others: Result<Vec<NodeIdx>, _> = found
                        .by_ref()
                        .take(count)
                        .map(|at| index("found", at))
                        .collect();
                    position.note_candidates(node, others?.into_iter());
                }
                let settled = position.settle(&mut chain.core.evaluator);
                settled.map_err(|OutOfBudget| UnfitState::Field("current"))?;
                match stage {
                    2 => Stage::Climbing(Box::new(position)),
                    _ => Stage::Regions(Box::new(position)),
                }
            }
            _ => return Err(UnfitState::Field("stage")),
        };
        chain.core = ChainCore::resume(chain.core.evaluator, saved);
        Ok(chain)
    }

    /// Returns how many bytes one chain holds at most, beside what it shares through the caches.
    #[must_use]
    pub fn bytes_for(nodes: usize) -> usize {
        SparsePosition::bytes_for(nodes) + region::CACHE_BYTES + (2 << 20)
    }

    fn advance(&mut self) -> Result<(), OutOfBudget> {
        match &mut self.stage {
            Stage::Start => {
                let dag = self.start.clone();
                let score = self.core.evaluator.structure(&dag)?;
                self.core.offer(score, || EliteRow {
                    structure: Structure::of(&dag),
                    score,
                });
                self.stage = Stage::Pairing(0);
                Ok(())
            }
            Stage::Pairing(known) => {
                let blocks = PairBlocks::new(self.start.nodes()).count();
                // Chains begin at different blocks, so that threads find different ones.
                let first = self.rank.first_place(blocks);
                let until = blocks.min(*known + PAIRED_A_STEP);
                let evaluator = &mut self.core.evaluator;
                while *known < until {
                    evaluator.pair_up((first + *known) % blocks)?;
                    *known += 1;
                }
                if *known == blocks {
                    evaluator.complete_partners()?;
                    let mut position = SparsePosition::new(self.start.clone(), evaluator)?;
                    position.settle(evaluator)?;
                    self.stage = Stage::Climbing(Box::new(position));
                }
                Ok(())
            }
            Stage::Climbing(position) => {
                let ChainCore {
                    evaluator, random, ..
                } = &mut self.core;
                // A climb that was stored in between continues alike.
                position.forget_proposals();
                let climbed = position.climb(CLIMB_STEPS, evaluator, random);
                self.core.offer_row(position.row());
                if !climbed?
                    && let Stage::Climbing(position) =
                        std::mem::replace(&mut self.stage, Stage::Start)
                {
                    self.stage = Stage::Regions(position);
                }
                Ok(())
            }
            Stage::Regions(_) => match self.waiting.take() {
                Some(seeds) => self.meet(&seeds),
                None => self.search_region(),
            },
        }
    }

    fn search_region(&mut self) -> Result<(), OutOfBudget> {
        let place = self.next_place();
        let Stage::Regions(position) = &mut self.stage else {
            return Ok(());
        };
        let ChainCore {
            evaluator, random, ..
        } = &mut self.core;
        let (least, most) = self.sizes;
        let most = (most << self.sweep.min(8)).min(MOST_SIZE);
        let size = draw_size(least, most, random);
        let free = grow(place, size, position.dag(), random);
        for &node in &free {
            self.is_covered[node.index()] = true;
        }
        if free.len() < 2 {
            // The climb has looked at it.
            return Ok(());
        }
        let before = evaluator.evaluations();
        let problem = Arc::clone(evaluator.problem());
        let search = RegionSearch {
            free: &free,
            dag: position.dag(),
            evaluations: SPENDING * (free.len() * free.len()) as u64,
            seed: Seed(random.bits()),
            params: self.params,
        };
        let found = region::search(
            &search,
            |node| {
                let found = &position.found()[node.index()];
                let known = problem.partners(node).iter();
                known.chain(found).copied().collect()
            },
            evaluator,
        );
        self.since_meeting += 1;
        if let Some((_, families)) = found {
            position.adopt(&families, evaluator)?;
            let climbed = position.climb(usize::MAX, evaluator, random);
            self.core.offer_row(position.row());
            climbed?;
        }
        self.widening += (self.core.evaluator.evaluations() - before) / WIDENING_SHARE;
        self.widen()
    }

    /// Looks for candidates beyond the partners, as far as its share of the evaluations reaches.
    fn widen(&mut self) -> Result<(), OutOfBudget> {
        let Stage::Regions(position) = &mut self.stage else {
            return Ok(());
        };
        let nodes = self.start.nodes();
        let ChainCore {
            evaluator, random, ..
        } = &mut self.core;
        let mut grew = false;
        while self.widening >= nodes as u64 {
            self.widening -= nodes as u64;
            grew |= position.widen(NodeIdx::new(self.to_widen), evaluator)?;
            self.to_widen = (self.to_widen + 1) % nodes;
        }
        if grew {
            let climbed = position.climb(usize::MAX, evaluator, random);
            self.core.offer_row(position.row());
            climbed?;
        }
        Ok(())
    }

    /// Returns the next node of the sweep that was in no region yet.
    fn next_place(&mut self) -> NodeIdx {
        loop {
            while let Some(&place) = self.order.get(self.next) {
                self.next += 1;
                if !self.is_covered[place.index()] {
                    return place;
                }
            }
            self.sweep += 1;
            self.next = 0;
            self.order = sweep_order(self.sweep, self.order.len(), self.rank);
            self.is_covered.fill(false);
        }
    }

    /// Takes over whatever the rows of others have that is better.
    fn meet(&mut self, seeds: &Seeds) -> Result<(), OutOfBudget> {
        self.core.seeds.received += seeds.count();
        self.since_meeting = 0;
        let Stage::Regions(position) = &mut self.stage else {
            return Ok(());
        };
        for row in seeds.rows() {
            let own = position.row();
            let child = recombine(&own, row, &mut self.core.evaluator)?;
            if child.score.beats(own.score) {
                let differing = own.structure.differing(&child.structure);
                let families: Vec<_> = differing
                    .map(|node| (node, Arc::clone(&child.structure.families()[node.index()])))
                    .collect();
                position.adopt(&families, &mut self.core.evaluator)?;
                self.core.seeds.entered += 1;
                self.core.seeds.made_current += 1;
            }
        }
        let ChainCore {
            evaluator, random, ..
        } = &mut self.core;
        let climbed = position.climb(usize::MAX, evaluator, random);
        self.core.offer_row(position.row());
        climbed?;
        Ok(())
    }
}

/// Draws a size, as often of one power of two as of the next.
fn draw_size(least: usize, most: usize, random: &mut Random) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "sizes of regions"
    )]
    let size = {
        let least = least as f64;
        (least * libm::pow(most as f64 / least, random.unit())) as usize
    };
    size.clamp(least, most)
}

/// Stands again on a stored network, with the partners that its climb knew. What that asks for was
/// charged before the state was stored.
fn stand_again(row: &EliteRow, evaluator: &mut Evaluator) -> Result<SparsePosition, UnfitState> {
    let unfit = UnfitState::Field("current");
    let nodes = evaluator.problem().nodes();
    if row.structure.nodes() != nodes {
        return Err(unfit);
    }
    let dag = row.structure.to_dag().map_err(|_| unfit.clone())?;
    if !evaluator.constraints().hold_for(&dag) {
        return Err(unfit);
    }
    let out = |OutOfBudget| UnfitState::Field("current");
    evaluator.complete_partners().map_err(out)?;
    SparsePosition::new(dag, evaluator).map_err(out)
}

/// Returns the order in which a sweep visits nodes. It is one order for all chains, which begin at
/// different places of it, so that they search different regions.
fn sweep_order(sweep: u64, nodes: usize, rank: ChainRank) -> Vec<NodeIdx> {
    let mut order: Vec<NodeIdx> = NodeIdx::all(nodes).collect();
    Random::new(Seed(sweep).mix(0x0005_37EE)).shuffle(&mut order);
    order.rotate_left(rank.first_place(nodes));
    order
}

impl Chain for RegionChain {
    fn try_step(&mut self) -> Result<StepOutcome, OutOfBudget> {
        // After a sweep of nodes that nothing is joined to, there is nothing left to try.
        if self.idle > self.start.nodes() {
            return Ok(StepOutcome::Exhausted);
        }
        let before = self.core.evaluator.evaluations();
        self.advance()?;
        let is_idle = self.core.evaluator.evaluations() == before;
        self.idle = if is_idle { self.idle + 1 } else { 0 };
        Ok(StepOutcome::Ran)
    }

    /// The first climb is not a region and is not counted.
    fn step(&mut self) -> StepOutcome {
        let counts = matches!(self.stage, Stage::Regions(_));
        let made = self.try_step();
        if counts {
            self.core.count_step(made)
        } else {
            made.unwrap_or(StepOutcome::OutOfBudget)
        }
    }

    fn core(&self) -> &ChainCore {
        &self.core
    }

    fn core_mut(&mut self) -> &mut ChainCore {
        &mut self.core
    }

    fn has_climbed(&self) -> bool {
        matches!(self.stage, Stage::Regions(_))
    }

    fn wants_seeds(&self) -> bool {
        self.has_climbed() && self.since_meeting >= BETWEEN_MEETINGS
    }

    fn give_seeds(&mut self, seeds: Seeds) {
        self.waiting = Some(seeds);
    }

    fn kind(&self) -> StateKind {
        RlBayes::KIND
    }

    fn save_own(&self) -> Fields {
        let (stage, known, position) = match &self.stage {
            Stage::Start => (0, 0, None),
            Stage::Pairing(known) => (1, *known * PairBlocks::SIZE, None),
            Stage::Climbing(position) => (2, 0, Some(position)),
            Stage::Regions(position) => (3, 0, Some(position)),
        };
        let found = position.map_or(&[][..], |position| position.found());
        let covered = NodeIdx::all(self.is_covered.len())
            .filter(|node| self.is_covered[node.index()])
            .map(NodeIdx::index);
        Fields::default()
            .with_rows("current", position.map(|position| position.row()))
            .with_integer("stage", stage)
            .with_sizes("known", [known])
            .with_sizes("found_counts", found.iter().map(Vec::len))
            .with_sizes("found", found.iter().flatten().map(|node| node.index()))
            .with_integer("sweep", self.sweep)
            .with_sizes("next", [self.next])
            .with_sizes("covered", covered)
            .with_sizes("to_widen", [self.to_widen])
            .with_integer("widening", self.widening)
            .with_integer("since_meeting", self.since_meeting)
    }
}

#[cfg(test)]
mod tests;
