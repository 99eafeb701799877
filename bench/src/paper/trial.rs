//! One search, once, within its budget: what it found, what that cost, and the best networks on the way.

use super::budget_rule::Limits;
use super::contender::Contender;
use super::dataset::Dataset;
use crate::failure::Failure;
use crate::runs::ThreadClock;
use crate::virtual_time::{self, VirtualRun, Watcher};
use rlbayes::coordination::Cooperation;
use rlbayes::{SearchRequest, SearchSettings};
use rlbayes_common::elite::EliteRow;
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::{ChainId, Seed};
use rlbayes_common::metrics::{StructureMetrics, compare};
use rlbayes_common::search::{Chain, Problem, SearchSpec, StepOutcome, StoppedBy};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// What is run once. The order is that of the files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TrialKey {
    /// The network.
    pub(super) network: String,
    /// The search.
    pub(super) search: Contender,
    /// The seed of the search.
    pub(super) seed: u64,
}

/// What a run gave.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial {
    /// What was run.
    pub(super) key: TrialKey,
    /// Steps made, over all chains.
    pub(super) iterations: u64,
    /// Local scores asked for, cached or not, over all chains.
    pub(super) evaluations: u64,
    /// Why it ended.
    pub(super) stopped_by: StoppedBy,
    /// The best score.
    pub(super) score: f64,
    /// Edges of the best network.
    pub(super) edges: usize,
    /// How near the best network is to the generating one.
    pub(super) metrics: StructureMetrics,
    /// How long it took: processor seconds where the system reports them.
    pub(super) seconds: f64,
    /// The best networks on the way.
    pub(super) trajectory: Vec<Milestone>,
}

/// A best network on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Milestone {
    /// Steps made when it was found.
    pub(super) iterations: u64,
    /// Local scores asked for until then.
    pub(super) evaluations: u64,
    /// Its score.
    pub(super) score: f64,
    /// Its AUC.
    pub(super) auc: f64,
}

/// Chains of the default search: those of one thread.
const CHAINS: u32 = 8;

/// Runs a search; none if it was interrupted. Caches are its own, so that no search profits from
/// what another has counted.
pub(super) fn run(
    key: &TrialKey,
    dataset: &Dataset,
    limits: Limits,
    memory: usize,
    interrupt: &AtomicBool,
) -> Result<Option<Trial>, Failure> {
    let spec = key.search.spec(dataset.truth.nodes());
    let settings = SearchSettings {
        algorithm: spec,
        threads: Some(1),
        memory: Some(memory),
        ..SearchSettings::default()
    };
    let request = SearchRequest::new(&dataset.table, &settings).map_err(Failure::input)?;
    let problem = request.problem();
    let mut watch = Watch {
        clock: ThreadClock::started(),
        limits,
        interrupt,
        best: None,
        trajectory: Vec::new(),
    };
    let spent = match spec {
        SearchSpec::RlBayes(_) => run_chains(spec, &problem, key.seed, &mut watch),
        _ => run_chain(spec, &problem, key.seed, &mut watch),
    };
    let seconds = watch.clock.seconds();
    if interrupt.load(Relaxed) {
        return Ok(None);
    }
    let best = match watch.best {
        Some(best) => best,
        None => request.start_row(&problem),
    };
    let network = to_dag(&best)?;
    let mut trajectory = Vec::with_capacity(watch.trajectory.len());
    for found in &watch.trajectory {
        trajectory.push(Milestone {
            iterations: found.iterations,
            evaluations: found.evaluations,
            score: found.row.score.value(),
            auc: compare(&dataset.truth, &to_dag(&found.row)?).auc,
        });
    }
    Ok(Some(Trial {
        key: key.clone(),
        iterations: spent.iterations,
        evaluations: spent.evaluations,
        stopped_by: spent.stopped_by,
        score: best.score.value(),
        edges: network.edge_count(),
        metrics: compare(&dataset.truth, &network),
        seconds,
        trajectory,
    }))
}

struct Spent {
    iterations: u64,
    evaluations: u64,
    stopped_by: StoppedBy,
}

/// Runs a search that is one chain.
fn run_chain(spec: SearchSpec, problem: &Arc<Problem>, seed: u64, watch: &mut Watch<'_>) -> Spent {
    let mut chain = spec.start(problem, ChainId(0), 1, Seed(seed));
    if let Some(evaluations) = watch.limits.evaluations {
        chain.core_mut().evaluator.set_limit(evaluations);
    }
    let stopped_by = loop {
        let iterations = chain.core().iterations;
        if watch
            .limits
            .iterations
            .is_some_and(|most| iterations >= most)
        {
            break StoppedBy::Iterations;
        }
        if iterations.is_multiple_of(CLOCK_EVERY) && !watch.may_continue() {
            break StoppedBy::Time;
        }
        let outcome = chain.step();
        watch.observe(chain.as_mut());
        match outcome {
            StepOutcome::Ran => {}
            StepOutcome::OutOfBudget => break StoppedBy::Evaluations,
            StepOutcome::Exhausted => break StoppedBy::Exhausted,
        }
    };
    let core = chain.core();
    Spent {
        iterations: core.iterations,
        evaluations: core.evaluator.evaluations(),
        stopped_by,
    }
}

/// Steps between two readings of the clock.
const CLOCK_EVERY: u64 = 64;

/// Runs the default search: chains that take turns and cooperate, each with its share of the
/// evaluations.
fn run_chains(spec: SearchSpec, problem: &Arc<Problem>, seed: u64, watch: &mut Watch<'_>) -> Spent {
    let share = |all: u64| all / u64::from(CHAINS);
    let run = VirtualRun {
        problem: Arc::clone(problem),
        spec,
        chains: CHAINS,
        seed,
        cooperation: Cooperation::On,
        episodes: watch.limits.iterations.map(share),
        evaluations: watch.limits.evaluations.map(share),
        target: None,
    };
    let outcome = virtual_time::run_watched(&run, watch);
    Spent {
        iterations: outcome.episodes,
        evaluations: outcome.evaluations,
        stopped_by: if watch.limits.time.is_some() {
            StoppedBy::Time
        } else {
            StoppedBy::Evaluations
        },
    }
}

/// Records the best network and those before it, and decides when time is up.
struct Watch<'a> {
    clock: ThreadClock,
    limits: Limits,
    interrupt: &'a AtomicBool,
    best: Option<EliteRow>,
    trajectory: Vec<Found>,
}

struct Found {
    iterations: u64,
    evaluations: u64,
    row: EliteRow,
}

impl Watch<'_> {
    fn observe(&mut self, chain: &mut dyn Chain) {
        if !chain.core().has_record() {
            return;
        }
        chain.core_mut().take_finds();
        let core = chain.core();
        let (iterations, evaluations) = (core.iterations, core.evaluator.evaluations());
        if let Some(row) = core.best().cloned() {
            self.note(Found {
                iterations,
                evaluations,
                row,
            });
        }
    }

    /// Keeps the last of the records that are near each other in evaluations and in iterations.
    fn note(&mut self, found: Found) {
        self.best = Some(found.row.clone());
        let near = |a: u64, b: u64| a < b + b / 25 + 1;
        if let [.., before, last] = self.trajectory.as_slice()
            && near(found.evaluations, before.evaluations)
            && near(found.iterations, before.iterations)
            && last.evaluations >= before.evaluations
        {
            self.trajectory.pop();
        }
        self.trajectory.push(found);
    }
}

impl Watcher for Watch<'_> {
    fn may_continue(&mut self) -> bool {
        let over = |limit: Duration| self.clock.seconds() >= limit.as_secs_f64();
        !self.limits.time.is_some_and(over) && !self.interrupt.load(Relaxed)
    }

    fn record(&mut self, evaluations: u64, row: &EliteRow) {
        self.note(Found {
            iterations: 0,
            evaluations,
            row: row.clone(),
        });
    }
}

fn to_dag(row: &EliteRow) -> Result<Dag, Failure> {
    row.structure
        .to_dag()
        .map_err(|error| Failure::Bug(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::super::dataset::Origin;
    use super::*;
    use clap::ValueEnum;
    use std::path::Path;

    fn asia() -> Dataset {
        let data = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../data"));
        Dataset::new("asia", data, Origin::Sampled { seed: 1, rows: 300 }).unwrap()
    }

    fn trial(search: Contender, limits: Limits) -> Trial {
        let key = TrialKey {
            network: "asia".into(),
            search,
            seed: 3,
        };
        let never = AtomicBool::new(false);
        let trial = run(&key, &asia(), limits, 64 << 20, &never).unwrap();
        trial.unwrap()
    }

    fn evaluations(most: u64) -> Limits {
        Limits {
            evaluations: Some(most),
            ..Limits::default()
        }
    }

    #[test]
    fn every_search_stays_within_its_evaluations_and_repeats() {
        for &search in Contender::value_variants() {
            for most in [0, 5, 500, 3001] {
                let one = trial(search, evaluations(most));
                assert!(one.evaluations <= most, "{search:?} {most}");
                let again = trial(search, evaluations(most));
                let timeless = |trial: Trial| Trial {
                    seconds: 0.0,
                    ..trial
                };
                assert_eq!(timeless(one), timeless(again), "{search:?} {most}");
            }
        }
    }

    #[test]
    fn searches_that_ask_for_single_scores_use_their_evaluations_up() {
        use Contender::{BncPso, Ftta, Ga, Iwo, Paper, Sa};
        for search in [Ga, Sa, Iwo, Ftta, BncPso] {
            let trial = trial(search, evaluations(3001));
            assert_eq!(trial.evaluations, 3001, "{search:?}");
            assert_eq!(trial.stopped_by, StoppedBy::Evaluations, "{search:?}");
        }
        let walk = trial(Paper, evaluations(3001));
        assert!((3000..=3001).contains(&walk.evaluations));
    }

    #[test]
    fn a_walk_ends_after_its_iterations() {
        let limits = Limits {
            iterations: Some(2000),
            ..Limits::default()
        };
        let walk = trial(Contender::Paper, limits);
        assert_eq!(
            (walk.iterations, walk.stopped_by),
            (2000, StoppedBy::Iterations)
        );
        assert!(walk.evaluations > 500);
    }

    #[test]
    fn the_trajectory_leads_up_to_the_result() {
        for &search in Contender::value_variants() {
            let trial = trial(search, evaluations(4000));
            let last = trial.trajectory.last().unwrap();
            assert!((last.score - trial.score).abs() < 1e-9, "{search:?}");
            assert!((last.auc - trial.metrics.auc).abs() < 1e-12);
            assert!(trial.trajectory.is_sorted_by(|a, b| a.score < b.score
                && a.evaluations <= b.evaluations
                && a.iterations <= b.iterations));
        }
    }

    #[test]
    fn a_time_limit_ends_a_search_and_an_interrupt_leaves_nothing() {
        let limits = Limits {
            time: Some(Duration::from_millis(30)),
            ..Limits::default()
        };
        for search in [Contender::Rlbayes, Contender::Sa] {
            let trial = trial(search, limits);
            assert_eq!(trial.stopped_by, StoppedBy::Time);
            assert!(trial.seconds < 20.0);
        }
        let key = TrialKey {
            network: "asia".into(),
            search: Contender::Ga,
            seed: 1,
        };
        let now = AtomicBool::new(true);
        let none = run(&key, &asia(), Limits::default(), 64 << 20, &now).unwrap();
        assert_eq!(none, None);
    }
}
