//! Simulated annealing: a random legal operation is taken with probability exp(delta / T), where
//! delta is its gain; T falls with every proposal and rises again, a few times, when hardly
//! anything was accepted. Ends only by its budget.
//!
//! A step, and so an iteration, is one proposal, taken or not.

use super::population::{Individual, UNKNOWN};
use crate::elite::{EliteRow, Structure};
use crate::graph::{Dag, ReachScratch};
use crate::ids::{NodeIdx, Seed};
use crate::score::LogScore;
use crate::search::params::{check, made_by};
use crate::search::{Chain, ChainCore, Evaluator, Fields, Operation, OutOfBudget, ParamError};
use crate::search::{Random, SavedChain, SearchParams, SettingsError, StateKind, StepOutcome};
use crate::search::{UnfitState, Visitor};

/// The temperature and how it changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnnealingParams {
    /// The temperature of the first proposal, in nats.
    pub temperature: f64,
    /// What the temperature is multiplied by after each proposal.
    pub cooling: f64,
    /// What the temperature is multiplied by when too little was accepted.
    pub reheating: f64,
    /// The share of accepted proposals, over n^2 of them, under which it is reheated.
    pub reheat_below: f64,
    /// How often it is reheated at most.
    pub reheats: u64,
}

impl Default for AnnealingParams {
    fn default() -> Self {
        Self {
            temperature: 10.0,
            cooling: 0.999,
            reheating: 2.0,
            reheat_below: 0.01,
            reheats: 3,
        }
    }
}

impl SearchParams for AnnealingParams {
    made_by!(Annealing);

    fn check(&self) -> Result<(), ParamError> {
        check::temperature(self.temperature)?;
        check::probability("the cooling factor", self.cooling)
    }

    fn visit(&mut self, with: &mut dyn Visitor) -> Result<(), SettingsError> {
        let Self {
            temperature,
            cooling,
            reheating,
            reheat_below,
            reheats,
        } = self;
        with.number("temperature", temperature)?;
        with.number("cooling", cooling)?;
        with.number("reheating", reheating)?;
        with.number("reheat_below", reheat_below)?;
        with.whole("reheats", reheats)
    }

    fn bytes_per_chain(&self, nodes: usize) -> usize {
        Individual::bytes_for(nodes)
    }
}

/// A simulated-annealing chain; a step is one proposal.
#[derive(Debug)]
pub struct Annealing {
    core: ChainCore,
    params: AnnealingParams,
    dag: Dag,
    /// By node: the local score, or unknown before the first proposal.
    locals: Vec<f64>,
    proposal: Option<Proposal>,
    heat: Heat,
    reach: ReachScratch,
}

/// An operation with the new local scores of the nodes that it touches, as far as known: a budget
/// may end between the two of a reversal.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Proposal {
    operation: Operation,
    locals: [f64; 2],
}

/// The temperature and what it depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Heat {
    temperature: f64,
    /// Proposals since the share of accepted ones was last looked at.
    proposals: u64,
    /// How many of them were accepted.
    accepted: u64,
    reheats: u64,
}

impl Heat {
    /// Takes note of a proposal: cools by one step, and every n^2 proposals reheats if under the
    /// given share of them was accepted.
    fn after_proposal(&mut self, accepted: bool, nodes: usize, params: &AnnealingParams) {
        self.temperature *= params.cooling;
        self.proposals += 1;
        self.accepted += u64::from(accepted);
        let window = (nodes * nodes) as u64;
        if self.proposals < window {
            return;
        }
        let few = (self.accepted as f64) < params.reheat_below * self.proposals as f64;
        if few && self.reheats < params.reheats {
            self.temperature *= params.reheating;
            self.reheats += 1;
        }
        (self.proposals, self.accepted) = (0, 0);
    }

    /// Returns whether a gain is accepted: always if nothing is lost, else with exp(gain / T).
    fn accepts(&self, gain: f64, random: &mut Random) -> bool {
        gain >= 0.0 || random.unit() < libm::exp(gain / self.temperature)
    }
}

impl Annealing {
    pub(crate) const KIND: StateKind = StateKind {
        search: "sa",
        version: 1,
    };

    /// Prepares a chain; nothing is scored before the first step.
    #[must_use]
    pub fn new(evaluator: Evaluator, start: Dag, seed: Seed, params: AnnealingParams) -> Self {
        let temperature = params.temperature;
        Self {
            core: ChainCore::new(evaluator, seed),
            params,
            locals: vec![UNKNOWN; start.nodes()],
            dag: start,
            proposal: None,
            heat: Heat {
                temperature,
                proposals: 0,
                accepted: 0,
                reheats: 0,
            },
            reach: ReachScratch::default(),
        }
    }

    /// Resumes from a stored state.
    ///
    /// # Errors
    /// If the state is not one of this search.
    pub fn resume(
        evaluator: Evaluator,
        start: Dag,
        params: AnnealingParams,
        saved: &SavedChain,
    ) -> Result<Self, UnfitState> {
        let mut chain = Self::new(evaluator, start, Seed(0), params);
        let n = chain.dag.nodes();
        let own = &saved.own;
        let unfit = UnfitState::Field;
        let row = own.row("current")?.ok_or(unfit("current"))?;
        let dag = row.structure.to_dag().map_err(|_| unfit("current"))?;
        let constraints = chain.core.evaluator.constraints();
        if !constraints.hold_for(&dag) {
            return Err(unfit("current"));
        }
        chain.proposal = match own.sizes("proposed")?.as_slice() {
            [] => None,
            &[number] if number < Operation::count(n) => {
                let operation = Operation::from_number(number, n);
                if !operation.is_legal(&dag, constraints, &mut chain.reach) {
                    return Err(unfit("proposed"));
                }
                let locals = own.numbers("proposed")?.try_into();
                Some(Proposal {
                    operation,
                    locals: locals.map_err(|_| unfit("proposed"))?,
                })
            }
            _ => return Err(unfit("proposed")),
        };
        chain.dag = dag;
        chain.locals = own.numbers("locals")?.to_vec();
        if chain.locals.len() != n {
            return Err(unfit("locals"));
        }
        chain.heat = Heat {
            temperature: own.number("temperature")?,
            proposals: own.integer("proposals")?,
            accepted: own.integer("accepted")?,
            reheats: own.integer("reheats")?,
        };
        chain.core = ChainCore::resume(chain.core.evaluator, saved);
        Ok(chain)
    }

    fn score_start(&mut self) -> Result<(), OutOfBudget> {
        if self.core.best().is_some() {
            return Ok(());
        }
        for node in NodeIdx::all(self.dag.nodes()) {
            if self.locals[node.index()] == UNKNOWN {
                let parents = self.dag.parents(node);
                self.locals[node.index()] = self.core.evaluator.local(node, parents)?;
            }
        }
        self.offer();
        Ok(())
    }

    fn propose(&mut self) -> Option<Proposal> {
        let constraints = self.core.evaluator.constraints();
        let random = &mut self.core.random;
        let operation = Operation::draw_legal(&self.dag, constraints, random, &mut self.reach)?;
        Some(Proposal {
            operation,
            locals: [UNKNOWN; 2],
        })
    }

    fn score(&mut self, proposal: &mut Proposal) -> Result<(), OutOfBudget> {
        let (from, to) = proposal.operation.edge();
        for (node, local) in proposal.operation.touched().zip(&mut proposal.locals) {
            if *local == UNKNOWN {
                let toggled = if node == to { from } else { to };
                let mut parents = self.dag.parents(node).to_vec();
                match parents.binary_search(&toggled) {
                    Ok(at) => drop(parents.remove(at)),
                    Err(at) => parents.insert(at, toggled),
                }
                *local = self.core.evaluator.local(node, &parents)?;
            }
        }
        Ok(())
    }

    fn offer(&mut self) {
        let score = LogScore::new(self.locals.iter().sum());
        self.core.offer(score, || EliteRow {
            structure: Structure::of(&self.dag),
            score,
        });
    }
}

impl Chain for Annealing {
    fn try_step(&mut self) -> Result<StepOutcome, OutOfBudget> {
        self.score_start()?;
        let Some(mut proposal) = self.proposal.take().or_else(|| self.propose()) else {
            return Ok(StepOutcome::Exhausted);
        };
        if let Err(out) = self.score(&mut proposal) {
            self.proposal = Some(proposal);
            return Err(out);
        }
        let touched = || proposal.operation.touched().zip(proposal.locals);
        let gain: f64 = touched()
            .map(|(node, local)| local - self.locals[node.index()])
            .sum();
        let accepted = self.heat.accepts(gain, &mut self.core.random);
        if accepted {
            for (node, local) in touched() {
                self.locals[node.index()] = local;
            }
            proposal.operation.apply(&mut self.dag, &mut self.reach);
            self.offer();
        }
        self.heat
            .after_proposal(accepted, self.dag.nodes(), &self.params);
        Ok(StepOutcome::Ran)
    }

    fn core(&self) -> &ChainCore {
        &self.core
    }

    fn core_mut(&mut self) -> &mut ChainCore {
        &mut self.core
    }

    fn kind(&self) -> StateKind {
        Self::KIND
    }

    fn save_own(&self) -> Fields {
        let known = !self.locals.contains(&UNKNOWN);
        let score = if known {
            self.locals.iter().sum()
        } else {
            f64::NEG_INFINITY
        };
        let current = EliteRow {
            structure: Structure::of(&self.dag),
            score: LogScore::new(score),
        };
        let Heat {
            temperature,
            proposals,
            accepted,
            reheats,
        } = self.heat;
        let nodes = self.dag.nodes();
        let proposed = self.proposal.map(|it| it.operation.number(nodes));
        let its_locals = self.proposal.into_iter().flat_map(|it| it.locals);
        Fields::default()
            .with_rows("current", [current])
            .with_numbers("locals", self.locals.iter().copied())
            .with_sizes("proposed", proposed)
            .with_numbers("proposed", its_locals)
            .with_number("temperature", temperature)
            .with_integer("proposals", proposals)
            .with_integer("accepted", accepted)
            .with_integer("reheats", reheats)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{evaluator, strong_table};
    use super::*;

    fn heat(temperature: f64) -> Heat {
        Heat {
            temperature,
            proposals: 0,
            accepted: 0,
            reheats: 0,
        }
    }

    #[test]
    fn a_loss_is_accepted_with_the_exponential_of_loss_over_temperature() {
        let mut random = Random::new(Seed(1));
        let hot = heat(10.0);
        let taken = (0..20_000)
            .filter(|_| hot.accepts(-5.0, &mut random))
            .count();
        let expected = 20_000.0 * libm::exp(-0.5);
        assert!(
            (taken as f64 - expected).abs() < 300.0,
            "{taken} {expected}"
        );
        let frozen = heat(0.0);
        assert!((0..1000).all(|_| !frozen.accepts(-1e-9, &mut random)));
        assert!(frozen.accepts(0.0, &mut random) && frozen.accepts(3.0, &mut random));
    }

    #[test]
    fn the_temperature_falls_with_every_proposal() {
        let params = AnnealingParams::default();
        let mut heat = heat(params.temperature);
        for _ in 0..10 {
            heat.after_proposal(true, 100, &params);
        }
        assert!((heat.temperature - 10.0 * libm::pow(0.999, 10.0)).abs() < 1e-9);
    }

    #[test]
    fn it_is_reheated_when_under_one_percent_of_n_squared_were_accepted() {
        let params = AnnealingParams {
            cooling: 1.0,
            ..AnnealingParams::default()
        };
        let run = |accepted: u64, heat: &mut Heat| {
            for proposal in 0..400 {
                heat.after_proposal(proposal < accepted, 20, &params);
            }
            heat.temperature
        };
        let mut enough = heat(1.0);
        assert!(
            (run(4, &mut enough) - 1.0).abs() < 1e-12,
            "one percent is not under it"
        );
        let mut few = heat(1.0);
        let temperatures: Vec<f64> = (0..5).map(|_| run(3, &mut few)).collect();
        assert_eq!(
            temperatures,
            [2.0, 4.0, 8.0, 8.0, 8.0],
            "at most three times"
        );
        assert_eq!(
            (few.proposals, few.accepted),
            (0, 0),
            "each window stands for itself"
        );
    }

    #[test]
    fn a_proposal_costs_one_or_two_evaluations_and_keeps_the_sum_right() {
        let table = strong_table();
        let mut judge = evaluator(&table);
        let params = AnnealingParams::default();
        let mut chain = Annealing::new(evaluator(&table), Dag::empty(4), Seed(3), params);
        assert_eq!(chain.step(), StepOutcome::Ran);
        assert_eq!(chain.core().evaluator.evaluations(), 5);
        for _ in 0..500 {
            let before = chain.core().evaluator.evaluations();
            assert_eq!(chain.step(), StepOutcome::Ran);
            let asked = chain.core().evaluator.evaluations() - before;
            assert!((1..=2).contains(&asked));
            assert_eq!(
                chain.save_own().row("current").unwrap().unwrap().score,
                judge.structure(&chain.dag).unwrap()
            );
        }
    }
}
