//! Chains in virtual time: one thread, one episode of each chain in turn, with the coordinator's
//! own state machine between them and a clock that counts episodes. The number of cores and their
//! speed can't reach the result.

use rlbayes::coordination::{
    ChainCount, ChainMemory, Cooperation, Event, Pace, SearchPlan, Snapshots, State,
};
use rlbayes_common::elite::{EliteRow, Keying};
use rlbayes_common::exchange::{
    Answer, ChainCounters, ChainReport, ChainStatus, Exchange, Hello, Work, WorkerStatistics,
};
use rlbayes_common::ids::{ChainId, Incarnation, Seed, WorkerId};
use rlbayes_common::score::LogScore;
use rlbayes_common::search::{Budget, Chain, Problem, SearchSpec, StepOutcome};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Chains that take turns on one thread.
#[derive(Clone, Debug)]
pub(crate) struct VirtualRun {
    /// What is searched.
    pub(crate) problem: Arc<Problem>,
    /// The search.
    pub(crate) spec: SearchSpec,
    /// How many chains there are.
    pub(crate) chains: u32,
    /// The seed of all draws.
    pub(crate) seed: u64,
    /// Whether chains get networks of other chains.
    pub(crate) cooperation: Cooperation,
    /// Episodes that each chain may make, where they are limited.
    pub(crate) episodes: Option<u64>,
    /// Evaluations that each chain may make, where they are limited.
    pub(crate) evaluations: Option<u64>,
    /// A score at which they stop.
    pub(crate) target: Option<f64>,
}

/// What the chains found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// The best score.
    pub(crate) score: f64,
    /// Episodes of each chain when the target was reached.
    pub(crate) reached: Option<u64>,
    /// Evaluations of all chains when the best was found.
    pub(crate) best_at: u64,
    /// Evaluations of all chains in the end.
    pub(crate) evaluations: u64,
    /// Episodes of all chains in the end.
    pub(crate) episodes: u64,
}

/// Observes a run.
pub(crate) trait Watcher {
    /// Returns whether the chains may continue; called before each episode of each chain.
    fn may_continue(&mut self) -> bool;

    /// Is called with a new best and the evaluations of all chains by then.
    fn record(&mut self, _evaluations: u64, _row: &EliteRow) {}
}

impl Watcher for &AtomicBool {
    fn may_continue(&mut self) -> bool {
        !self.load(Relaxed)
    }
}

/// Runs the chains; none if they were interrupted.
pub(crate) fn run(setup: &VirtualRun, interrupt: &AtomicBool) -> Option<Outcome> {
    let mut watcher = interrupt;
    let outcome = run_watched(setup, &mut watcher);
    watcher.may_continue().then_some(outcome)
}

/// Runs the chains until they end or the watcher ends them.
pub(crate) fn run_watched(setup: &VirtualRun, watcher: &mut dyn Watcher) -> Outcome {
    let mut state = State::new(SearchPlan {
        chains: ChainCount::Fixed(setup.chains),
        seed: Seed(setup.seed),
        // The caller ends it.
        budget: Budget::default(),
        pace: Pace::Free,
        keying: Keying::of(setup.problem.scorer().spec().name()),
        cooperation: setup.cooperation,
        snapshots: Snapshots::Never,
        lease: Duration::MAX / 4,
        replicates: 0,
        chain_memory: ChainMemory::default(),
        most_per_round: u64::MAX,
    });
    let worker = join(&mut state);
    let mut chains: Vec<Option<Box<dyn Chain>>> = (0..setup.chains)
        .map(|number| {
            let seed = Seed(setup.seed);
            let mut chain = setup
                .spec
                .start(&setup.problem, ChainId(number), setup.chains, seed);
            if let Some(evaluations) = setup.evaluations {
                chain.core_mut().evaluator.set_limit(evaluations);
            }
            Some(chain)
        })
        .collect();
    let mut spent = vec![0; chains.len()];
    let mut outcome = Outcome {
        score: f64::NEG_INFINITY,
        reached: None,
        best_at: 0,
        evaluations: 0,
        episodes: 0,
    };
    let target = setup.target.map(LogScore::new);
    let is_allowed = |episode: &u64| setup.episodes.is_none_or(|most| *episode <= most);
    for episode in (1..).take_while(is_allowed) {
        let now = Duration::from_millis(episode);
        for (at, place) in chains.iter_mut().enumerate() {
            let Some(chain) = place else { continue };
            if !watcher.may_continue() {
                return outcome;
            }
            let before = chain.core().iterations;
            let ended = make_episode(chain.as_mut(), episode);
            outcome.episodes += chain.core().iterations - before;
            spent[at] = chain.core().evaluator.evaluations();
            outcome.evaluations = spent.iter().sum();
            exchange(&mut state, worker, at, chain.as_mut(), now);
            if let Some(best) = state.best()
                && best.score.value() > outcome.score
            {
                outcome.score = best.score.value();
                outcome.best_at = outcome.evaluations;
                watcher.record(outcome.evaluations, best);
                if target.is_some_and(|target| best.score >= target) {
                    outcome.reached = Some(episode);
                    return outcome;
                }
            }
            if ended {
                *place = None;
            }
        }
        if chains.iter().all(Option::is_none) {
            break;
        }
    }
    outcome
}

/// Steps until the chain has made an episode more, the first climb being part of the first one;
/// returns whether the chain can't continue.
fn make_episode(chain: &mut dyn Chain, episode: u64) -> bool {
    while chain.core().iterations < episode {
        if chain.step() != StepOutcome::Ran {
            return true;
        }
    }
    false
}

const INCARNATION: Incarnation = Incarnation(1);

/// Enters the one worker that runs all chains.
fn join(state: &mut State) -> WorkerId {
    let hello = Hello {
        incarnation: INCARNATION,
        replaces: None,
        host: String::new(),
        threads: 1,
        memory: None,
        program_version: String::new(),
        chains: Vec::new(),
        search: None,
        work: Work::Search,
        peer: None,
    };
    state.apply(Duration::ZERO, Event::Join(hello));
    let welcome = state.welcome(INCARNATION);
    welcome.map_or(WorkerId(0), |welcome| welcome.worker)
}

/// Reports what the chain found and hands it the seeds that come back.
fn exchange(state: &mut State, worker: WorkerId, at: usize, chain: &mut dyn Chain, now: Duration) {
    let finds = chain.core_mut().take_finds();
    let wants_seeds = chain.wants_seeds();
    if finds.is_empty() && !wants_seeds {
        return;
    }
    let core = chain.core();
    let id = ChainId(u32::try_from(at).unwrap_or(u32::MAX));
    let sequence = core.iterations;
    let report = ChainReport {
        chain: id,
        sequence,
        finds,
        counters: ChainCounters {
            iterations: core.iterations,
            evaluations: core.evaluator.evaluations(),
            computed: core.evaluator.computed(),
            seeds: core.seeds,
        },
        wants_seeds,
        status: ChainStatus::Running,
        snapshot: None,
    };
    state.apply(
        now,
        Event::Exchange(Exchange {
            worker,
            incarnation: INCARNATION,
            work: Work::Search,
            reports: vec![report],
            statistics: WorkerStatistics::default(),
        }),
    );
    let reply = state.reply(worker, INCARNATION, &[(id, sequence)]);
    for (_, _, answer) in reply.map(|reply| reply.answers).unwrap_or_default() {
        if let Answer::Continue {
            seeds: Some(seeds), ..
        } = answer
        {
            chain.give_seeds(seeds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlbayes::{SearchRequest, SearchSettings, Table};

    fn setup(chains: u32, cooperation: Cooperation) -> VirtualRun {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/asia_n1000_s1.csv.gz");
        let settings = SearchSettings {
            memory: Some(256 << 20),
            ..SearchSettings::default()
        };
        let request = SearchRequest::new(&Table::read(path).unwrap(), &settings).unwrap();
        VirtualRun {
            problem: request.problem(),
            spec: *request.algorithm(),
            chains,
            seed: 1,
            cooperation,
            episodes: Some(300),
            evaluations: None,
            target: None,
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_outcome() {
        let never = AtomicBool::new(false);
        let setup = setup(3, Cooperation::On);
        let outcome = run(&setup, &never).unwrap();
        assert_eq!(run(&setup, &never), Some(outcome));
        assert_eq!(outcome.reached, None);
        assert!(outcome.best_at <= outcome.evaluations);
    }

    #[test]
    fn chains_stop_at_the_target_and_at_their_evaluations() {
        let never = AtomicBool::new(false);
        let mut setup = setup(2, Cooperation::Off);
        setup.target = Some(-2281.254);
        let outcome = run(&setup, &never).unwrap();
        assert!(outcome.reached.is_some_and(|episodes| episodes <= 300));
        setup.target = None;
        setup.episodes = None;
        setup.evaluations = Some(2000);
        let outcome = run(&setup, &never).unwrap();
        assert!(outcome.evaluations <= 4000 && outcome.evaluations > 3000);
        never.store(true, Relaxed);
        assert_eq!(run(&setup, &never), None);
    }
}
