//! Workers in virtual time: one thread of this process plays all of them, the one whose clock is
//! behind next. A clock counts the processor seconds that its worker has used.

use crate::failure::Failure;
use rlbayes::chains::{ChainMaker, RunningChain, SliceSettings};
use rlbayes::coordination::{
    ChainCount, ChainMemory, Cooperation, Event, Pace, SearchPlan, Snapshots, State,
};
use rlbayes::{SearchRequest, SearchSettings, Table, machine};
use rlbayes_common::elite::Keying;
use rlbayes_common::exchange::{
    ChainOrder, ChainReport, Exchange, Hello, Origin, Work, WorkerStatistics,
};
use rlbayes_common::ids::{Incarnation, Seed, WorkerId};
use rlbayes_common::search::Budget;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// The best score by processor seconds of each worker.
pub(crate) type Curve = Vec<(f64, f64)>;

/// Whether workers meet at a coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// They do.
    Together,
    /// Each has a coordinator of its own, and a seed of its own.
    Apart,
}

/// Workers with one thread each.
pub(crate) struct Crew<'a> {
    /// What they search.
    pub(crate) table: &'a Table,
    /// How many they are.
    pub(crate) workers: u32,
    /// Whether they meet.
    pub(crate) sharing: Sharing,
    /// The seed of all draws.
    pub(crate) seed: u64,
    /// Memory of each.
    pub(crate) memory: usize,
}

/// Evaluations of a slice.
const SLICE: u64 = 20_000;
/// How long a slice may take, and how a worker exchanges: as in a cluster.
const LONGEST_SLICE: Duration = Duration::from_millis(250);
const EXCHANGE_EVERY: Duration = Duration::from_secs(2);
const LEAST_PAUSE: Duration = Duration::from_millis(500);

/// A worker: its chains, and reports on their way.
struct Worker {
    coordinator: usize,
    incarnation: Incarnation,
    id: WorkerId,
    maker: ChainMaker,
    slices: SliceSettings,
    chains: Vec<RunningChain>,
    next: usize,
    clock: Duration,
    exchanged: Duration,
    reports: Vec<ChainReport>,
}

/// Runs the workers until their clocks are at the limit, or one has the target.
pub(crate) fn run(
    crew: &Crew<'_>,
    limit: Duration,
    target: Option<f64>,
    interrupt: &AtomicBool,
) -> Result<Curve, Failure> {
    let coordinators = match crew.sharing {
        Sharing::Together => 1,
        Sharing::Apart => crew.workers as usize,
    };
    let mut requests = Vec::new();
    for number in 0..coordinators {
        let settings = SearchSettings {
            // The first seed is that of the one worker.
            seed: crew.seed + 1_000_000 * number as u64,
            threads: Some(1),
            memory: Some(crew.memory),
            ..SearchSettings::default()
        };
        requests.push(SearchRequest::new(crew.table, &settings).map_err(Failure::input)?);
    }
    let mut states: Vec<State> = requests.iter().map(|it| State::new(plan(it))).collect();
    let mut workers: Vec<Worker> = (0..crew.workers)
        .map(|number| {
            let coordinator = number as usize % coordinators;
            let mut worker = Worker::new(number, coordinator, &requests[coordinator]);
            worker.join(&mut states[coordinator]);
            worker
        })
        .collect();
    let mut curve = Curve::new();
    let halt = AtomicBool::new(false);
    let behind = |workers: &[Worker]| {
        let clocks = workers.iter().enumerate();
        clocks
            .min_by_key(|(_, worker)| worker.clock)
            .map(|(at, _)| at)
    };
    while let Some(at) = behind(&workers)
        && !interrupt.load(Relaxed)
    {
        let worker = &mut workers[at];
        let state = &mut states[worker.coordinator];
        if worker.clock >= limit || !worker.run_slice(&halt) {
            break;
        }
        worker.exchange(state);
        let best = state.best().map(|row| row.score.value());
        if let Some(best) = best
            && curve.last().is_none_or(|&(_, known)| best > known)
        {
            curve.push((worker.clock.as_secs_f64(), best));
            if target.is_some_and(|target| best >= target) {
                break;
            }
        }
    }
    Ok(curve)
}

fn plan(request: &SearchRequest) -> SearchPlan {
    SearchPlan {
        // Made for one thread.
        chains: ChainCount::PerThread(request.chains()),
        seed: Seed(request.seed()),
        // The caller ends it.
        budget: Budget::default(),
        pace: Pace::Free,
        keying: Keying::of(request.problem().scorer().spec().name()),
        cooperation: Cooperation::On,
        snapshots: Snapshots::Never,
        lease: Duration::MAX / 4,
        replicates: 0,
        chain_memory: ChainMemory::default(),
        most_per_round: u64::MAX,
    }
}

impl Worker {
    /// Makes a worker with caches of its own.
    fn new(number: u32, coordinator: usize, request: &SearchRequest) -> Self {
        Self {
            coordinator,
            incarnation: Incarnation(1 + u64::from(number)),
            id: WorkerId(0),
            maker: request.chain_maker(request.problem()),
            slices: SliceSettings {
                pace: Pace::Free,
                exchange_every: EXCHANGE_EVERY,
                slice_evaluations: SLICE,
                target: None,
            },
            chains: Vec::new(),
            next: 0,
            clock: Duration::ZERO,
            exchanged: Duration::ZERO,
            reports: Vec::new(),
        }
    }

    fn join(&mut self, state: &mut State) {
        let hello = Hello {
            incarnation: self.incarnation,
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
        state.apply(self.clock, Event::Join(hello));
        if let Ok(welcome) = state.welcome(self.incarnation) {
            self.id = welcome.worker;
            self.start(&welcome.orders);
        }
    }

    fn start(&mut self, orders: &[ChainOrder]) {
        for order in orders {
            if self.chains.iter().all(|chain| chain.id() != order.chain) {
                let seeds = match &order.origin {
                    Origin::Pool(seeds) => Some(seeds.clone()),
                    Origin::Start | Origin::Stored { .. } => None,
                };
                let chain = self.maker.start(order.chain, seeds);
                self.chains
                    .push(RunningChain::new(chain, order, self.slices));
            }
        }
    }

    /// Runs a slice of the chain whose turn it is; returns whether any could run.
    fn run_slice(&mut self, halt: &AtomicBool) -> bool {
        let count = self.chains.len();
        let turns = (0..count).map(|step| (self.next + step) % count);
        let Some(at) = turns.into_iter().find(|&at| self.chains[at].is_ready()) else {
            return false;
        };
        self.next = (at + 1) % count;
        let chain = &mut self.chains[at];
        let begun = machine::thread_cpu_seconds().unwrap_or_default();
        let spent = || machine::thread_cpu_seconds().unwrap_or_default() - begun;
        chain.run_slice(halt, || spent() >= LONGEST_SLICE.as_secs_f64());
        self.clock += Duration::from_secs_f64(spent().max(0.0));
        if chain.is_report_due(self.clock) {
            self.reports.push(chain.report(self.clock));
        }
        true
    }

    /// Sends what waits, not too often.
    fn exchange(&mut self, state: &mut State) {
        let since = self.clock.saturating_sub(self.exchanged);
        if self.reports.is_empty() || since < LEAST_PAUSE && self.exchanged > Duration::ZERO {
            return;
        }
        self.exchanged = self.clock;
        let reports = std::mem::take(&mut self.reports);
        let told: Vec<_> = reports.iter().map(|it| (it.chain, it.sequence)).collect();
        let exchange = Exchange {
            worker: self.id,
            incarnation: self.incarnation,
            work: Work::Search,
            reports,
            statistics: WorkerStatistics::default(),
        };
        state.apply(self.clock, Event::Exchange(exchange));
        let Ok(reply) = state.reply(self.id, self.incarnation, &told) else {
            return;
        };
        for (chain, _, answer) in reply.answers {
            if let Some(running) = self.chains.iter_mut().find(|it| it.id() == chain) {
                running.take(answer);
            }
        }
        self.start(&reply.orders);
    }
}
