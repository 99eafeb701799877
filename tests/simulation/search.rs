//! The search that is simulated: a small table whose best network is known, in both modes.

use bytes::Bytes;
use rlbayes::coordination::{ChainCount, ChainMemory, Cooperation, Pace, SearchPlan, Snapshots};
use rlbayes::identity::search_id;
use rlbayes_common::data::{Schema, Table, Variable};
use rlbayes_common::elite::Keying;
use rlbayes_common::exchange::SearchDescription;
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::{NodeIdx, Seed};
use rlbayes_common::random::Random;
use rlbayes_common::score::{LogScore, ScoreSpec, Scorer};
use rlbayes_common::search::{
    Budget, Constraints, Evaluator, NamedConstraints, Problem, SearchSpec,
};
use rlbayes_common::snapshot::encode_table;
use rlbayes_coordinator::replicate_work::ReplicateWork;
use std::sync::Arc;
use std::time::Duration;

const NODES: usize = 8;
const ROWS: usize = 200;
const CACHE_BYTES: usize = 4 << 20;
/// How long a free-running search continues.
const TIME: Duration = Duration::from_secs(45);
/// How long a lockstep search continues that ends by time, or that somebody stops: in the middle of a
/// round, and of trouble.
const LOCKSTEP_TIME: Duration = Duration::from_secs(25);
/// Chains of a lockstep search, their rounds, and evaluations in a round.
const CHAINS: u32 = 12;
const ROUNDS: u64 = 30;
const ROUND_EVALUATIONS: u64 = 120;

/// What is searched, and how.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) ends: Ends,
    pub(crate) description: SearchDescription,
    pub(crate) plan: SearchPlan,
    pub(crate) settings: Vec<(String, String)>,
    /// The table as workers fetch it.
    pub(crate) data: Bytes,
    pub(crate) rows: usize,
    /// The replicates that follow, if some do.
    pub(crate) replicates: Option<ReplicateWork>,
    table: Arc<Table>,
}

/// What ends a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ends {
    /// Free-running, after a time.
    FreeByTime,
    /// In lockstep, when the evaluations are used up.
    LockstepByEvaluations,
    /// In lockstep, when the best network is found.
    LockstepByTarget,
    /// In lockstep, after a time: in the middle of a round.
    LockstepByTime,
    /// In lockstep, when somebody stops it: in the middle of a round.
    LockstepByStop,
}

impl Ends {
    pub(crate) const ALL: [Self; 5] = [
        Self::FreeByTime,
        Self::LockstepByEvaluations,
        Self::LockstepByTarget,
        Self::LockstepByTime,
        Self::LockstepByStop,
    ];

    pub(crate) fn is_lockstep(self) -> bool {
        self != Self::FreeByTime
    }

    /// Returns whether the result is the same to the bit, whatever happens.
    pub(crate) fn is_counted(self) -> bool {
        matches!(self, Self::LockstepByEvaluations | Self::LockstepByTarget)
    }

    /// Returns whether the best network is found before the end.
    pub(crate) fn finds_the_best(self) -> bool {
        matches!(self, Self::FreeByTime | Self::LockstepByTarget)
    }

    /// Returns when somebody stops the search, if so.
    pub(crate) fn stopped_at(self) -> Option<Duration> {
        (self == Self::LockstepByStop).then_some(LOCKSTEP_TIME)
    }
}

impl Search {
    pub(crate) fn new(ends: Ends, seed: Seed) -> Self {
        let table = table(seed);
        let lockstep = ends.is_lockstep();
        let budget = match ends {
            Ends::FreeByTime => Budget {
                time: Some(TIME),
                // Far more than anybody can do, and less than a message can claim.
                evaluations: Some(1 << 44),
                ..Budget::default()
            },
            Ends::LockstepByEvaluations => Budget {
                evaluations: Some(u64::from(CHAINS) * ROUNDS * ROUND_EVALUATIONS),
                ..Budget::default()
            },
            Ends::LockstepByTarget => Budget {
                target: Some(optimum(&table)),
                ..Budget::default()
            },
            Ends::LockstepByTime => Budget {
                time: Some(LOCKSTEP_TIME),
                ..Budget::default()
            },
            Ends::LockstepByStop => Budget::default(),
        };
        let plan = SearchPlan {
            chains: match lockstep {
                true => ChainCount::Fixed(CHAINS),
                false => ChainCount::PerThread(1),
            },
            seed,
            budget,
            pace: match lockstep {
                true => Pace::Lockstep,
                false => Pace::Free,
            },
            keying: Keying::ByClass,
            cooperation: Cooperation::On,
            snapshots: match lockstep {
                true => Snapshots::EveryRound,
                false => Snapshots::Never,
            },
            lease: Duration::from_secs(6),
            replicates: 0,
            chain_memory: ChainMemory::default(),
            most_per_round: u64::MAX,
        };
        let settings = vec![("plan".to_owned(), format!("{plan:?}"))];
        let data = Bytes::from(encode_table(&table));
        let description = SearchDescription {
            id: search_id(&settings),
            data_fingerprint: table.fingerprint(),
            data_hash: *blake3::hash(&data).as_bytes(),
            data_bytes: data.len() as u64,
            nodes: NODES,
            score: ScoreSpec::BIC,
            constraints: NamedConstraints::default(),
            start: Vec::new(),
            spec: SearchSpec::defaults()[0],
            seed,
            ladder: plan.chains.ladder(),
            pace: plan.pace,
            round_evaluations: ROUND_EVALUATIONS,
            target: budget.target,
            exchange_every: Duration::from_secs(2),
            replicates: None,
        };
        Self {
            ends,
            description,
            plan,
            settings,
            data,
            rows: ROWS,
            replicates: None,
            table,
        }
    }

    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Makes the problem with empty caches.
    pub(crate) fn problem(&self) -> Arc<Problem> {
        problem(&self.table)
    }

    /// Returns the score of the best network.
    pub(crate) fn optimum(&self) -> LogScore {
        optimum(&self.table)
    }
}

/// Makes a problem of a table, with empty caches.
pub(crate) fn problem(table: &Arc<Table>) -> Arc<Problem> {
    let constraints = Constraints::new(table, &NamedConstraints::default()).unwrap();
    let scorer = Scorer::new(Arc::clone(table), ScoreSpec::BIC);
    let start = Dag::empty(table.nodes());
    Arc::new(Problem::new(scorer, constraints, start, CACHE_BYTES))
}

/// A table that is hard to learn: each column is the noisy parity of some earlier ones.
fn table(seed: Seed) -> Arc<Table> {
    let mut random = Random::new(seed);
    let mut columns: Vec<Vec<u8>> = Vec::new();
    for node in 0..NODES {
        let parents: Vec<usize> = (0..node).filter(|_| random.chance(0.4)).collect();
        let column = (0..ROWS).map(|row| {
            let ones = parents.iter().filter(|&&parent| columns[parent][row] == 1);
            let is_odd = ones.count() % 2 == 1;
            u8::from(is_odd != random.chance(0.3))
        });
        let column = column.collect();
        columns.push(column);
    }
    let variables = (0..NODES)
        .map(|node| Variable::new(format!("v{node}"), vec!["no".into(), "yes".into()]).unwrap())
        .collect();
    Arc::new(Table::new(Schema::new(variables).unwrap(), columns).unwrap())
}

/// Finds the best score over all networks by dynamic programming over sets of nodes: the last of
/// a set takes its best parents among the others.
fn optimum(table: &Arc<Table>) -> LogScore {
    let mut evaluator = Evaluator::new(problem(table));
    let sets = 1usize << NODES;
    let members = |set: usize| (0..NODES).filter(move |node| set >> node & 1 == 1);
    let mut best_parents = vec![[f64::NEG_INFINITY; NODES]; sets];
    for set in 0..sets {
        let parents: Vec<NodeIdx> = members(set).map(NodeIdx::new).collect();
        for node in (0..NODES).filter(|node| set >> node & 1 == 0) {
            let own = evaluator.local(NodeIdx::new(node), &parents).unwrap();
            let of_less = members(set).map(|left_out| best_parents[set & !(1 << left_out)][node]);
            best_parents[set][node] = of_less.fold(own, f64::max);
        }
    }
    let mut best = vec![f64::NEG_INFINITY; sets];
    best[0] = 0.0;
    for set in 1..sets {
        for last in members(set) {
            let others = set & !(1 << last);
            best[set] = best[set].max(best[others] + best_parents[others][last]);
        }
    }
    // The search adds up in another order.
    LogScore::new(best[sets - 1] - 1e-9)
}
