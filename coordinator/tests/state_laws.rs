//! The state machine under a network that drops, repeats, reorders and delays: workers join, leave,
//! restart and report, the clock jumps, the coordinator restarts from what its commands stored.
//! Every message is encoded and decoded.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use proptest::prelude::*;
use prost::Message as _;
use rlbayes::coordination::{
    ChainCount, Command, Cooperation, Event, Pace, Progress, Refusal, SearchPlan, Snapshots, State,
    Stored,
};
use rlbayes_common::elite::{EliteRow, Found, Keying, Pool, Structure};
use rlbayes_common::exchange::{
    Answer, ChainCounters, ChainOrder, ChainReport, ChainStatus, Exchange, Hello, Origin, Reply,
    RunSequence, Snapshot, StoredChain, WorkerStatistics,
};
use rlbayes_common::graph::{Dag, StructureKey};
use rlbayes_common::ids::{ChainId, Incarnation, NodeIdx, SearchId, Seed, WorkerId};
use rlbayes_common::score::LogScore;
use rlbayes_common::search::{Budget, SavedChain, Seeds, StoppedBy};
use rlbayes_common::snapshot::{decode_chain, encode_chain};
use rlbayes_proto::convert::{
    exchange_from_wire, exchange_to_wire, hello_from_wire, hello_to_wire, order_from_wire,
    order_to_wire, reply_from_wire, reply_to_wire, row_from_wire,
};
use rlbayes_proto::v1;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

const NODES: usize = 6;
const WORKERS: usize = 3;
const CHAINS: u32 = 5;
const SEARCH: SearchId = SearchId([7; 16]);
/// Rows that the pool keeps over all chains.
const OVERALL: usize = 64;
/// Rows of a chain that wait at most.
const MOST_FINDS: usize = 64;
/// Rounds of which the right pool is known.
const ROUNDS: u64 = 100;

fn plan(pace: Pace) -> SearchPlan {
    SearchPlan {
        chains: ChainCount::Fixed(CHAINS),
        seed: Seed(1),
        budget: Budget::default(),
        pace,
        keying: Keying::ByClass,
        cooperation: Cooperation::On,
        snapshots: match pace {
            Pace::Lockstep => Snapshots::EveryRound,
            Pace::Free => Snapshots::Never,
        },
        lease: Duration::from_secs(10),
    }
}

/// A row that a number stands for; the score is the structure's own.
fn row(number: u64) -> EliteRow {
    let pairs = (0..NODES).flat_map(|to| (0..to).map(move |from| (from, to)));
    let edges = pairs
        .enumerate()
        .filter(|(at, _)| number >> at & 1 == 1)
        .map(|(_, (from, to))| (NodeIdx::new(from), NodeIdx::new(to)));
    let dag = Dag::from_edges(NODES, edges).unwrap();
    let drawn = Seed(number & 0x7FFF).mix(3).0 % 1_000_000;
    #[expect(clippy::cast_precision_loss, reason = "below a million")]
    let score = LogScore::new(-(drawn as f64));
    EliteRow {
        structure: Structure::of(&dag),
        score,
    }
}

/// What a test does next; numbers choose among what there is.
#[derive(Clone, Copy, Debug)]
enum Op {
    Work(usize, u64),
    Call(usize),
    Leave(usize),
    RestartWorker(usize),
    Deliver(usize),
    Repeat(usize),
    Drop(usize),
    Pass(u64),
    Jump(u64),
    /// The journal is cleared of rows that the pool has dropped.
    Clear,
    RestartCoordinator,
    /// A message is applied, and the coordinator dies before anything of it is stored.
    DieApplying(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let which = 0..1000usize;
    let worker = 0..WORKERS;
    prop_oneof![
        8 => (worker.clone(), any::<u64>()).prop_map(|(worker, draw)| Op::Work(worker, draw)),
        8 => worker.clone().prop_map(Op::Call),
        1 => worker.clone().prop_map(Op::Leave),
        1 => worker.prop_map(Op::RestartWorker),
        12 => which.clone().prop_map(Op::Deliver),
        2 => which.clone().prop_map(Op::Repeat),
        2 => which.clone().prop_map(Op::Drop),
        3 => (0..4000u64).prop_map(Op::Pass),
        1 => (0..1_000_000_000u64).prop_map(Op::Jump),
        1 => Just(Op::Clear),
        1 => Just(Op::RestartCoordinator),
        1 => which.prop_map(Op::DieApplying),
    ]
}

/// What is stored.
#[derive(Default)]
struct Journal {
    rows: BTreeMap<(ChainId, u8, StructureKey), (Found, EliteRow)>,
    chains: BTreeMap<ChainId, StoredChain>,
    progress: Progress,
}

impl Journal {
    fn recovered(&self, plan: SearchPlan) -> State {
        let mut pool = Pool::new(plan.keying);
        for (&(chain, ..), (found, row)) in &self.rows {
            pool.merge(chain, *found, row);
        }
        State::recovered(
            plan,
            Stored {
                pool,
                progress: self.progress.clone(),
                chains: self.chains.clone(),
            },
        )
    }
}

/// A message under way, as bytes.
#[derive(Clone, Debug)]
struct Message {
    worker: usize,
    incarnation: Incarnation,
    start: u64,
    call: u64,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Join(Vec<u8>),
    Exchange(Vec<u8>),
    Leave(Vec<u8>),
    Joined(WorkerId, Vec<Vec<u8>>, bool),
    Replied(Vec<u8>),
    JoinAgain,
}

/// A worker as its session behaves.
#[derive(Default)]
struct Worker {
    start: u64,
    id: Option<WorkerId>,
    /// The call whose answer it waits for.
    call: u64,
    chains: BTreeMap<ChainId, Chain>,
    pending: BTreeMap<ChainId, ChainReport>,
    /// How many runs each chain has had in this process.
    runs: BTreeMap<ChainId, u64>,
    told_stop: bool,
    /// Whether its process has ended: the search is over for it.
    ended: bool,
}

/// A chain whose every step follows from its number, its steps and the seeds that it got.
#[derive(Clone, Debug)]
struct Chain {
    sequence: u64,
    state: u64,
    evaluations: u64,
    /// In lockstep: whether its report is out.
    waits: bool,
    /// Whether it was told to stop.
    stopped: bool,
}

impl Chain {
    fn give(&mut self, seeds: Option<&Seeds>) {
        for row in seeds.iter().flat_map(|seeds| seeds.rows()) {
            let key = row.structure.own_key().0;
            let part = u64::from_le_bytes(key[..8].try_into().unwrap());
            self.state = Seed(self.state).mix(part).0;
        }
    }
}

struct World {
    pace: Pace,
    state: State,
    journal: Journal,
    now: Duration,
    workers: Vec<Worker>,
    network: Vec<Message>,
    uploads: BTreeMap<[u8; 32], Snapshot>,
    calls: u64,
    /// What laws speak of.
    shown: Option<LogScore>,
    acknowledged: BTreeMap<StructureKey, EliteRow>,
    done: BTreeMap<(Incarnation, ChainId), u64>,
    total: u64,
}

impl World {
    fn new(pace: Pace) -> Self {
        Self {
            pace,
            state: State::new(plan(pace)),
            journal: Journal::default(),
            now: Duration::ZERO,
            workers: (0..WORKERS).map(|_| Worker::default()).collect(),
            network: Vec::new(),
            uploads: BTreeMap::new(),
            calls: 0,
            shown: None,
            acknowledged: BTreeMap::new(),
            done: BTreeMap::new(),
            total: 0,
        }
    }

    fn incarnation(worker: usize, start: u64) -> Incarnation {
        Incarnation(1 + worker as u64 + 1000 * start)
    }

    fn run(&mut self, op: Op) {
        match op {
            Op::Work(worker, draw) => self.work(worker, draw),
            Op::Call(worker) => self.call(worker),
            Op::Leave(worker) => self.leave(worker),
            Op::RestartWorker(worker) => {
                let start = self.workers[worker].start + 1;
                self.workers[worker] = Worker {
                    start,
                    ..Worker::default()
                };
            }
            Op::Deliver(at) => {
                if !self.network.is_empty() {
                    let message = self.network.remove(at % self.network.len());
                    self.deliver(message);
                }
            }
            Op::Repeat(at) => {
                if !self.network.is_empty() {
                    let message = self.network[at % self.network.len()].clone();
                    self.deliver(message);
                }
            }
            Op::Drop(at) => {
                if !self.network.is_empty() {
                    self.network.remove(at % self.network.len());
                }
            }
            Op::Pass(millis) => self.pass(Duration::from_millis(millis)),
            Op::Jump(millis) => self.pass(Duration::from_millis(millis)),
            Op::Clear => {
                let pool = self.state.pool();
                let keys: Vec<StructureKey> = pool
                    .rows()
                    .into_iter()
                    .map(|row| pool.keying().key(row))
                    .collect();
                self.journal
                    .rows
                    .retain(|(_, _, key), _| keys.contains(key));
            }
            Op::RestartCoordinator => self.restart(),
            Op::DieApplying(at) => {
                if !self.network.is_empty() {
                    let message = self.network.remove(at % self.network.len());
                    if let Some(event) = self.event(&message) {
                        self.state.apply(self.now, event);
                        self.restart();
                    }
                }
            }
        }
        self.check();
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.apply(Event::Tick);
    }

    fn restart(&mut self) {
        self.state = self.journal.recovered(plan(self.pace));
        self.now = Duration::ZERO;
        self.total = self.state.counters().evaluations;
    }

    /// Applies an event and stores what is to be stored, as the event loop does.
    fn apply(&mut self, event: Event) {
        for command in self.state.apply(self.now, event) {
            match command {
                Command::StoreRows(rows) => {
                    for (chain, found, row) in rows {
                        let key = self.state.pool().keying().key(&row);
                        let key = (chain, u8::from(found == Found::Stalled), key);
                        self.journal.rows.insert(key, (found, row));
                    }
                }
                Command::StoreOverall(rows) => panic!("{rows:?} of a chain that nobody knows"),
                Command::StoreChain(chain, stored) => {
                    self.journal.chains.insert(chain, stored);
                }
                Command::StoreProgress => self.journal.progress = self.state.progress(self.now),
                Command::Record(_) | Command::Worker(..) | Command::Halt | Command::Finished(_) => {
                }
            }
        }
    }

    fn work(&mut self, at: usize, draw: u64) {
        let lockstep = self.pace == Pace::Lockstep;
        let worker = &mut self.workers[at];
        let incarnation = Self::incarnation(at, worker.start);
        let ready: Vec<ChainId> = worker
            .chains
            .iter()
            .filter(|(_, chain)| !chain.waits)
            .map(|(&id, _)| id)
            .collect();
        if ready.is_empty() {
            return;
        }
        let id = ready[usize::try_from(draw % ready.len() as u64).unwrap()];
        let Some(chain) = worker.chains.get_mut(&id) else {
            return;
        };
        // A lockstep chain draws from its own state alone.
        let drawn = Seed(chain.state).mix(if lockstep { 0 } else { draw });
        chain.state = drawn.0;
        chain.evaluations += 10 + drawn.0 % 5;
        chain.waits = lockstep;
        let snapshot = lockstep.then(|| {
            let saved = SavedChain {
                random: [chain.state, 0, 0, 0],
                evaluations: chain.evaluations,
                ..SavedChain::default()
            };
            Snapshot::new(encode_chain(&saved))
        });
        if let Some(snapshot) = &snapshot {
            self.uploads.insert(snapshot.digest(), snapshot.clone());
        }
        let mut report = ChainReport {
            chain: id,
            sequence: chain.sequence,
            finds: vec![
                (Found::Best, row(drawn.mix(1).0)),
                (Found::Stalled, row(drawn.mix(2).0)),
            ],
            counters: ChainCounters {
                evaluations: chain.evaluations,
                iterations: chain.evaluations / 10,
                ..ChainCounters::default()
            },
            wants_seeds: drawn.0.is_multiple_of(3),
            status: ChainStatus::Running,
            snapshot,
        };
        if !lockstep {
            chain.sequence += 1;
        }
        let by = if lockstep {
            Incarnation(0)
        } else {
            RunSequence::of(report.sequence).counted_as(incarnation)
        };
        let done = self.done.entry((by, id)).or_default();
        *done = chain.evaluations.max(*done);
        if let Some(mut older) = worker.pending.remove(&id) {
            older.finds.append(&mut report.finds);
            let surplus = older.finds.len().saturating_sub(MOST_FINDS);
            older.finds.drain(..surplus);
            report.finds = older.finds;
        }
        worker.pending.insert(id, report);
    }

    /// Joins where it has to, else exchanges; an answer to an earlier call comes too late.
    fn call(&mut self, at: usize) {
        self.calls += 1;
        let worker = &mut self.workers[at];
        if worker.ended {
            return;
        }
        worker.call = self.calls;
        let incarnation = Self::incarnation(at, worker.start);
        let content = match worker.id {
            None => Content::Join(
                hello_to_wire(&Hello {
                    incarnation,
                    replaces: (worker.start > 0).then(|| Self::incarnation(at, worker.start - 1)),
                    host: "here".into(),
                    threads: 1,
                    program_version: "1".into(),
                    chains: worker.chains.keys().copied().collect(),
                    search: Some(SEARCH),
                })
                .encode_to_vec(),
            ),
            Some(id) => Content::Exchange(encoded(id, incarnation, worker)),
        };
        self.send(at, content);
    }

    fn leave(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        let Some(id) = worker.id else { return };
        if self.pace == Pace::Lockstep {
            // A round that was cut short is replayed by another worker.
            worker.pending.clear();
        }
        let content = Content::Leave(encoded(id, Self::incarnation(at, worker.start), worker));
        self.send(at, content);
        self.run(Op::RestartWorker(at));
    }

    fn send(&mut self, at: usize, content: Content) {
        let Worker { start, call, .. } = self.workers[at];
        self.network.push(Message {
            worker: at,
            incarnation: Self::incarnation(at, start),
            start,
            call,
            content,
        });
    }

    /// Reads the event that a message brings to the coordinator.
    fn event(&self, message: &Message) -> Option<Event> {
        let exchange = |bytes: &[u8]| {
            let wire = v1::ExchangeRequest::decode(bytes).unwrap();
            exchange_from_wire(
                wire,
                |row| row_from_wire(row, NODES).map(Some),
                |_, digest| self.uploads.get(&digest).cloned(),
            )
            .unwrap()
        };
        match &message.content {
            Content::Join(bytes) => {
                let wire = v1::JoinRequest::decode(bytes.as_slice()).unwrap();
                Some(Event::Join(hello_from_wire(wire).unwrap()))
            }
            Content::Exchange(bytes) => Some(Event::Exchange(exchange(bytes))),
            Content::Leave(bytes) => Some(Event::Leave(exchange(bytes))),
            Content::Joined(..) | Content::Replied(_) | Content::JoinAgain => None,
        }
    }

    fn deliver(&mut self, message: Message) {
        let Some(event) = self.event(&message) else {
            return self.answered(message);
        };
        self.apply(Event::Tick);
        let reports = match &event {
            Event::Exchange(exchange) | Event::Leave(exchange) => exchange.reports.clone(),
            _ => Vec::new(),
        };
        let worker = match &event {
            Event::Exchange(exchange) => exchange.worker,
            _ => WorkerId(0),
        };
        let content = match event {
            Event::Join(_) => {
                self.apply(event);
                let welcome = self.state.welcome(message.incarnation).unwrap();
                let orders = welcome.orders.iter().map(order_to_wire);
                Content::Joined(
                    welcome.worker,
                    orders.map(|order| order.encode_to_vec()).collect(),
                    welcome.stopped_by.is_some(),
                )
            }
            Event::Exchange(_) => {
                assert_eq!(self.state.check(&exchange_of(&event)), Ok(()));
                self.apply(event);
                let asked: Vec<(ChainId, u64)> =
                    reports.iter().map(|r| (r.chain, r.sequence)).collect();
                match self.state.reply(worker, message.incarnation, &asked) {
                    Ok(reply) => {
                        self.acknowledge(&reports, Some(&reply));
                        Content::Replied(reply_to_wire(&reply, Vec::new()).encode_to_vec())
                    }
                    Err(Refusal::UnknownWorker) => Content::JoinAgain,
                    Err(refusal) => panic!("{refusal}"),
                }
            }
            _ => {
                self.apply(event);
                if self.pace == Pace::Free {
                    self.acknowledge(&reports, None);
                }
                return;
            }
        };
        self.network.push(Message { content, ..message });
    }

    fn acknowledge(&mut self, reports: &[ChainReport], reply: Option<&Reply>) {
        for report in reports {
            let taken = self.pace == Pace::Free
                || reply.is_some_and(|reply| {
                    reply.answers.iter().any(|(chain, sequence, answer)| {
                        (*chain, *sequence) == (report.chain, report.sequence)
                            && *answer != Answer::Revoke
                    })
                });
            for (_, row) in report.finds.iter().filter(|_| taken) {
                let key = Keying::ByClass.key(row);
                let known = self.acknowledged.entry(key).or_insert_with(|| row.clone());
                if known.score < row.score {
                    *known = row.clone();
                }
            }
        }
    }

    /// A worker gets an answer, as its session takes it.
    fn answered(&mut self, message: Message) {
        let lockstep = self.pace == Pace::Lockstep;
        let worker = &mut self.workers[message.worker];
        if (worker.start, worker.call) != (message.start, message.call) {
            return;
        }
        worker.call = 0;
        let orders: Vec<ChainOrder> = match message.content {
            Content::JoinAgain => {
                worker.id = None;
                return;
            }
            Content::Joined(id, orders, stopped) => {
                worker.told_stop = stopped;
                worker.ended = stopped;
                worker.id = Some(id);
                let orders: Vec<ChainOrder> = orders
                    .iter()
                    .map(|order| v1::ChainOrder::decode(order.as_slice()).unwrap())
                    .map(|order| order_from_wire(&order, NODES).unwrap())
                    .collect();
                let ordered = |chain: &ChainId| orders.iter().any(|order| order.chain == *chain);
                worker.chains.retain(|chain, _| ordered(chain));
                if lockstep {
                    worker.pending.retain(|chain, _| ordered(chain));
                }
                orders
            }
            Content::Replied(bytes) => {
                let wire = v1::ExchangeReply::decode(bytes.as_slice()).unwrap();
                let reply = reply_from_wire(&wire, NODES).unwrap();
                worker.told_stop = reply.stopped_by.is_some();
                for (id, sequence, answer) in reply.answers {
                    let pending = worker.pending.get(&id);
                    if pending.is_some_and(|report| report.sequence == sequence) {
                        worker.pending.remove(&id);
                    } else if lockstep {
                        continue;
                    }
                    match answer {
                        Answer::Revoke => {
                            worker.pending.remove(&id);
                            worker.chains.remove(&id);
                        }
                        Answer::Stop => {
                            if let Some(chain) = worker.chains.get_mut(&id) {
                                chain.stopped = true;
                            }
                        }
                        Answer::Continue { seeds, .. } => {
                            if let Some(chain) = worker.chains.get_mut(&id) {
                                chain.give(seeds.as_ref());
                                if lockstep {
                                    chain.sequence = sequence + 1;
                                    chain.waits = false;
                                }
                            }
                        }
                    }
                }
                reply.orders
            }
            Content::Join(_) | Content::Exchange(_) | Content::Leave(_) => return,
        };
        for order in orders {
            let runs = worker.chains.get(&order.chain);
            if runs.is_some_and(|chain| !lockstep || chain.sequence == order.sequence) {
                continue;
            }
            let mut chain = Chain {
                sequence: order.sequence,
                state: Seed(9).mix(u64::from(order.chain.0)).0,
                evaluations: 0,
                waits: false,
                stopped: false,
            };
            match &order.origin {
                Origin::Start => {}
                Origin::Pool(seeds) => chain.give(Some(seeds)),
                Origin::Stored { digest, seeds } => {
                    let saved = decode_chain(self.uploads[digest].bytes(), NODES).unwrap();
                    (chain.state, chain.evaluations) = (saved.random[0], saved.evaluations);
                    chain.give(seeds.as_ref());
                }
            }
            if lockstep {
                worker.pending.remove(&order.chain);
            } else {
                let runs = worker.runs.entry(order.chain).or_default();
                chain.sequence = RunSequence::first(*runs);
                *runs += 1;
            }
            worker.chains.insert(order.chain, chain);
        }
    }

    /// Asserts the laws.
    fn check(&mut self) {
        let pool = self.state.pool();
        let best = pool.best().map(|row| row.score);
        assert!(best >= self.shown, "{best:?} after {:?}", self.shown);
        self.shown = best;
        let held: BTreeMap<StructureKey, LogScore> = pool
            .rows()
            .into_iter()
            .map(|row| (Keying::ByClass.key(row), row.score))
            .collect();
        let overall: Vec<LogScore> = pool.overall().map(|row| row.score).collect();
        let least = overall.iter().min().copied();
        for (key, row) in &self.acknowledged {
            let is_held = held.get(key).is_some_and(|score| *score >= row.score);
            let is_beaten = overall.len() >= OVERALL && least >= Some(row.score);
            assert!(is_held || is_beaten, "an acknowledged row is missing");
        }
        let total = self.state.counters().evaluations;
        let done: u64 = self.done.values().sum();
        assert!(total >= self.total, "{total} after {}", self.total);
        assert!(total <= done, "{total} counted, {done} done");
        self.total = total;
        let mut holders: BTreeMap<ChainId, WorkerId> = BTreeMap::new();
        let view = self.state.view(self.now, Some(0.0));
        let alive: Vec<WorkerId> = view
            .workers
            .iter()
            .filter(|worker| worker.is_alive)
            .map(|worker| worker.id)
            .collect();
        for (at, worker) in self.workers.iter().enumerate() {
            for start in 0..=worker.start {
                let welcome = self.state.welcome(Self::incarnation(at, start));
                for order in welcome.iter().flat_map(|welcome| &welcome.orders) {
                    let by = welcome.as_ref().unwrap().worker;
                    assert!(alive.contains(&by), "{by} is not alive");
                    let other = holders.insert(order.chain, by);
                    assert_eq!(other, None, "chain {} is held twice", order.chain);
                }
            }
        }
        if self.state.stopped_by().is_none() && !alive.is_empty() {
            assert_eq!(holders.len(), CHAINS as usize, "a chain is not held");
        }
    }

    /// Everybody works and calls, and everything arrives.
    fn calm_turn(&mut self) {
        for at in 0..WORKERS {
            for draw in 0..u64::from(CHAINS) {
                self.run(Op::Work(at, draw));
            }
            self.run(Op::Call(at));
            while !self.network.is_empty() {
                self.run(Op::Deliver(0));
            }
        }
        self.run(Op::Pass(3_000));
    }
}

fn encoded(id: WorkerId, incarnation: Incarnation, worker: &Worker) -> Vec<u8> {
    let exchange = Exchange {
        worker: id,
        incarnation,
        reports: worker.pending.values().cloned().collect(),
        statistics: WorkerStatistics::default(),
    };
    exchange_to_wire(SEARCH, &exchange).encode_to_vec()
}

fn exchange_of(event: &Event) -> Exchange {
    match event {
        Event::Exchange(exchange) => exchange.clone(),
        _ => panic!("an exchange"),
    }
}

/// The evaluations and digests of the pool (what chains hold, what all hold) at the beginning of a
/// round.
type Standings = BTreeMap<u64, (u64, u64, u64)>;

fn digest(value: &impl std::fmt::Debug) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{value:?}").hash(&mut hasher);
    hasher.finish()
}

fn note(world: &World, statuses: &mut Standings) {
    let pool = world.state.pool();
    let status = (
        world.state.counters().evaluations,
        digest(&pool.rows_by_chain().collect::<Vec<_>>()),
        digest(&pool.overall().collect::<Vec<_>>()),
    );
    let round = world.state.round().0;
    let known = *statuses.entry(round).or_insert(status);
    assert_eq!(known, status, "round {round} began with another pool");
}

/// What every round begins with where one worker runs all chains and nothing goes wrong.
fn undisturbed() -> Standings {
    let mut world = World::new(Pace::Lockstep);
    let mut statuses = Standings::new();
    while world.state.round().0 <= ROUNDS {
        note(&world, &mut statuses);
        for draw in 0..u64::from(CHAINS) {
            world.run(Op::Work(0, draw));
        }
        world.run(Op::Call(0));
        while !world.network.is_empty() {
            world.run(Op::Deliver(0));
        }
    }
    statuses
}

/// The search is stopped in the middle of whatever goes on, a worker is killed or goes, and all the
/// others end as their sessions do.
fn end(world: &mut World, lost: usize) {
    world.apply(Event::Stop(StoppedBy::Stop));
    if lost.is_multiple_of(2) {
        world.workers[lost % WORKERS].ended = true;
    } else {
        world.leave(lost % WORKERS);
    }
    let mut turns = 0;
    while !world.workers.iter().all(|worker| worker.ended) {
        assert!(turns < 20, "somebody waits for ever");
        turns += 1;
        world.calm_turn();
        for at in 0..WORKERS {
            let worker = &world.workers[at];
            // In lockstep the round that others wait for is finished first.
            let in_a_round =
                world.pace == Pace::Lockstep && worker.chains.values().any(|chain| !chain.stopped);
            if worker.told_stop && !in_a_round && !worker.ended {
                world.leave(at);
                world.workers[at].ended = true;
            }
        }
    }
    // The lease of the one that is lost, and the time for last reports.
    for _ in 0..5 {
        world.calm_turn();
    }
    assert!(world.state.is_finished());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn free_running_searches_keep_the_laws(
        ops in prop::collection::vec(op(), 1..200),
        lost in 0..2 * WORKERS,
    ) {
        let mut world = World::new(Pace::Free);
        for op in ops {
            world.run(op);
        }
        for _ in 0..3 {
            world.calm_turn();
        }
        let waiting = world.workers.iter().map(|worker| worker.pending.len());
        prop_assert_eq!(waiting.sum::<usize>(), 0, "reports are not acknowledged");
        end(&mut world, lost);
    }

    #[test]
    fn lockstep_rounds_are_the_same_whatever_happens(
        ops in prop::collection::vec(op(), 1..200),
        lost in 0..2 * WORKERS,
        half_a_round in 0..u64::from(CHAINS),
    ) {
        thread_local! {
            static UNDISTURBED: Standings = undisturbed();
        }
        let mut statuses = UNDISTURBED.with(Clone::clone);
        let mut world = World::new(Pace::Lockstep);
        for op in ops {
            world.run(op);
            note(&world, &mut statuses);
        }
        let before = world.state.round().0;
        for _ in 0..10 {
            world.calm_turn();
            note(&world, &mut statuses);
        }
        prop_assert!(world.state.round().0 >= before + 2, "stuck in round {}", before);
        prop_assert!(world.state.round().0 <= ROUNDS);
        for draw in 0..half_a_round {
            for at in 0..WORKERS {
                world.run(Op::Work(at, draw));
            }
        }
        end(&mut world, lost);
    }
}
