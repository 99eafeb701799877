//! A coordinator, its workers and the network between them. Every message is encoded and decoded.

use crate::chain::{NODES, replicate_row};
use crate::journal::Journal;
use crate::worker::{Outgoing, REPLICATES_OF_SEARCH, SEARCH, Worker};
use prost::Message as _;
use rlbayes::coordination::{
    ChainCount, ChainMemory, Cooperation, Event, Pace, Refusal, SearchPlan, Snapshots, State,
};
use rlbayes_common::elite::{EliteRow, Keying};
use rlbayes_common::exchange::{
    Answer, ChainCounters, ChainOrder, ChainReport, ChainStatus, Exchange, Hello,
    ReplicateDescription, Reply, SearchDescription, Snapshot, Welcome, Work, WorkerStatistics,
};
use rlbayes_common::ids::{ChainId, Incarnation, PeerId, Seed, WorkerId};
use rlbayes_common::score::{LogScore, ScoreSpec};
use rlbayes_common::search::{Budget, NamedConstraints, SavedChain, SearchSpec, StoppedBy};
use rlbayes_common::snapshot::encode_chain;
use rlbayes_common::support::{Draw, Resampling};
use rlbayes_proto::convert::{
    KnownRows, description_to_wire, exchange_from_wire, exchange_to_wire, hello_from_wire,
    hello_to_wire, order_to_wire, reply_from_wire, reply_to_wire, row_from_wire,
};
use rlbayes_proto::{PROTOCOL_VERSION, v1};
use rlbayes_tests::{AcknowledgedRows, missing_rows};
use rlbayes_worker::grpc_link::joined_from_wire;
use rlbayes_worker::link::LinkError;
use rlbayes_worker::state as session;
use rlbayes_worker::state::End;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(crate) const WORKERS: usize = 3;
pub(crate) const CHAINS: u32 = 5;
/// Orders that fit a welcome; the others come with replies.
const WELCOME_ORDERS: usize = 3;

/// What a test does next; numbers choose among what there is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// A chain of a worker runs a slice.
    Work(usize, u64),
    /// What a worker has to do next becomes due; a call under way fails.
    Call(usize),
    Nudge(usize),
    Shutdown(usize),
    Kill(usize),
    Deliver(usize),
    Repeat(usize),
    Drop(usize),
    Pass(u64),
    /// Time passes for everybody but a worker.
    Freeze(usize, u64),
    /// The journal is cleared of rows that the pool has dropped.
    Clear,
    RestartCoordinator,
    /// A message is applied, and the coordinator dies before anything of it is stored.
    DieApplying(usize),
    /// A worker claims much more work on its chains than it has done.
    Lie(usize),
}

/// As much work as a message can claim.
const MUCH: u64 = 1 << 46;
/// The most that a thread can do in a second.
const OF_A_THREAD: u64 = 1 << 28;

fn plan(pace: Pace, replicates: u32) -> SearchPlan {
    SearchPlan {
        chains: ChainCount::Fixed(CHAINS),
        seed: Seed(1),
        budget: Budget {
            // Replicates follow once these are used up.
            evaluations: (replicates > 0).then_some(300),
            ..Budget::default()
        },
        pace,
        keying: Keying::ByClass,
        cooperation: Cooperation::On,
        snapshots: match pace {
            Pace::Lockstep => Snapshots::EveryRound,
            Pace::Free => Snapshots::Never,
        },
        lease: Duration::from_secs(10),
        replicates,
        chain_memory: ChainMemory::default(),
        most_per_round: 1000,
    }
}

fn description(pace: Pace, work: Work) -> SearchDescription {
    let replicates = ReplicateDescription {
        resampling: Resampling {
            rows: 1,
            draw: Draw::WithReplacement,
        },
        evaluations: 1,
    };
    SearchDescription {
        id: match work {
            Work::Search => SEARCH,
            Work::Replicates => REPLICATES_OF_SEARCH,
        },
        data_fingerprint: [0; 32],
        data_hash: [0; 32],
        data_bytes: 1,
        nodes: NODES,
        score: ScoreSpec::BIC,
        constraints: NamedConstraints::default(),
        start: Vec::new(),
        spec: SearchSpec::defaults()[0],
        seed: Seed(1),
        ladder: 1,
        pace,
        round_evaluations: 1,
        target: None,
        exchange_every: Duration::from_secs(2),
        replicates: (work == Work::Replicates).then_some(replicates),
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
    Fetch(ChainId, [u8; 32]),
    Joined(Vec<u8>),
    Replied(Vec<u8>),
    Left,
    Fetched(Vec<u8>),
    Failed(LinkError),
}

pub(crate) struct World {
    pub(crate) pace: Pace,
    /// How many replicates follow the search.
    replicates: u32,
    pub(crate) state: State,
    journal: Journal,
    now: Duration,
    pub(crate) workers: Vec<Worker>,
    network: Vec<Message>,
    /// States that were brought to the coordinator and are not yet named by a report.
    uploads: BTreeMap<[u8; 32], Snapshot>,
    calls: u64,
    /// Whether workers that leave are started again.
    come_back: bool,
    /// What laws speak of.
    shown: Option<LogScore>,
    acknowledged: AcknowledgedRows,
    acknowledged_replicates: BTreeSet<ChainId>,
    total: u64,
    /// How much of lies may count by now; none: nobody has lied.
    plausible: Option<u64>,
}

impl World {
    pub(crate) fn new(pace: Pace) -> Self {
        Self::with_replicates(pace, 0)
    }

    pub(crate) fn with_replicates(pace: Pace, replicates: u32) -> Self {
        Self {
            pace,
            replicates,
            state: State::new(plan(pace, replicates)),
            journal: Journal::default(),
            now: Duration::ZERO,
            workers: (0..WORKERS).map(|at| Worker::new(at, pace)).collect(),
            network: Vec::new(),
            uploads: BTreeMap::new(),
            calls: 0,
            come_back: true,
            shown: None,
            acknowledged: AcknowledgedRows::default(),
            acknowledged_replicates: BTreeSet::new(),
            total: 0,
            plausible: None,
        }
    }

    pub(crate) fn run(&mut self, op: Op) {
        match op {
            Op::Work(at, draw) => {
                let event = self.workers[at].work(draw);
                self.drive(at, event);
            }
            Op::Call(at) => {
                let failed = self.workers[at].fail_call();
                self.drive(at, failed);
                self.call(at);
            }
            Op::Nudge(at) => self.drive(at, Some(session::Event::Nudge)),
            Op::Shutdown(at) => self.drive(at, Some(session::Event::Shutdown)),
            Op::Kill(at) => self.workers[at] = self.workers[at].restarted(),
            Op::Deliver(at) => {
                if let Some(message) = self.take_message(at) {
                    self.deliver(message);
                }
            }
            Op::Repeat(at) => {
                if let Some(message) = self.take_message(at) {
                    self.network.push(message.clone());
                    self.deliver(message);
                }
            }
            Op::Drop(at) => {
                self.take_message(at);
            }
            Op::Pass(millis) => self.pass(Duration::from_millis(millis), None),
            Op::Freeze(at, millis) => self.pass(Duration::from_millis(millis), Some(at)),
            Op::Lie(at) => self.lie(at),
            Op::Clear => self.journal.clear(self.state.pool()),
            Op::RestartCoordinator => self.restart(),
            Op::DieApplying(at) => {
                if let Some(message) = self.take_message(at)
                    && let Some(Ok(event)) = self.event(&message)
                {
                    self.state.apply(self.now, event);
                    self.restart();
                }
            }
        }
        self.check();
    }

    /// A worker claims work that nobody can have done, on all chains that it holds.
    fn lie(&mut self, at: usize) {
        let incarnation = Worker::incarnation(at, self.workers[at].start);
        let Ok(welcome) = self.state.welcome(incarnation) else {
            return;
        };
        let snapshot = Snapshot::new(encode_chain(&SavedChain::default()));
        let lie = |order: &ChainOrder| ChainReport {
            chain: order.chain,
            sequence: match self.pace {
                Pace::Lockstep => order.sequence,
                Pace::Free => u64::from(u32::MAX),
            },
            finds: Vec::new(),
            counters: ChainCounters {
                evaluations: MUCH,
                iterations: MUCH,
                ..ChainCounters::default()
            },
            wants_seeds: false,
            status: ChainStatus::Running,
            snapshot: (self.pace == Pace::Lockstep).then(|| snapshot.clone()),
        };
        let exchange = Exchange {
            worker: welcome.worker,
            incarnation,
            work: Work::Search,
            reports: welcome.orders.iter().map(lie).collect(),
            statistics: WorkerStatistics::default(),
        };
        self.plausible.get_or_insert(0);
        self.more_is_plausible(Duration::from_secs(1));
        self.apply(Event::Exchange(exchange));
    }

    /// Time has passed in which each worker may have worked on all chains.
    fn more_is_plausible(&mut self, time: Duration) {
        let threads = (WORKERS as u64 + 1) * u64::from(CHAINS);
        let millis = u64::try_from(time.as_millis()).unwrap() + 1000;
        if let Some(plausible) = &mut self.plausible {
            *plausible = plausible.saturating_add((OF_A_THREAD / 1000 + 1) * threads * millis);
        }
    }

    fn take_message(&mut self, at: usize) -> Option<Message> {
        let at = at.checked_rem(self.network.len())?;
        Some(self.network.remove(at))
    }

    fn pass(&mut self, time: Duration, frozen: Option<usize>) {
        self.now += time;
        self.more_is_plausible(time);
        self.apply(Event::Tick);
        for at in (0..WORKERS).filter(|&at| Some(at) != frozen) {
            let event = self.workers[at].pass(time);
            self.drive(at, event);
        }
    }

    fn restart(&mut self) {
        self.state = self.journal.recovered(plan(self.pace, self.replicates));
        self.start_coordinator();
    }

    fn start_coordinator(&mut self) {
        self.now = Duration::ZERO;
        // Everybody may begin with something.
        self.more_is_plausible(Duration::from_secs(1));
        self.uploads.clear();
    }

    /// The coordinator is started again without anything that it had stored.
    pub(crate) fn lose_disk(&mut self) {
        self.journal = Journal::default();
        self.state = State::new(plan(self.pace, self.replicates));
        self.start_coordinator();
        self.shown = None;
        self.total = 0;
        self.acknowledged = AcknowledgedRows::default();
        for worker in &mut self.workers {
            worker.reported.clear();
        }
    }

    /// Somebody wants the search to end; workers that leave do not come back.
    pub(crate) fn stop(&mut self) {
        self.come_back = false;
        self.apply(Event::Stop(StoppedBy::Stop));
    }

    fn apply(&mut self, event: Event) {
        let commands = self.state.apply(self.now, event);
        self.journal.store(self.now, &self.state, commands);
    }

    /// Lets a worker's clock run until it calls somebody.
    fn call(&mut self, at: usize) {
        for _ in 0..8 {
            let event = self.workers[at].hasten();
            self.drive(at, event);
        }
    }

    /// Hands an event to a worker's session, and sends what it wants to be sent.
    fn drive(&mut self, at: usize, event: Option<session::Event>) {
        let worker = &mut self.workers[at];
        let (Some(event), None) = (event, worker.end) else {
            return;
        };
        let outgoing = worker.drive(event, &mut self.calls);
        let (start, end, search) = (worker.start, worker.end, worker.search());
        if let Some((call, outgoing)) = outgoing {
            let content = match outgoing {
                Outgoing::Join(hello) => Content::Join(hello_to_wire(&hello).encode_to_vec()),
                Outgoing::Exchange(exchange) => {
                    for snapshot in exchange.reports.iter().flat_map(|one| &one.snapshot) {
                        self.uploads.insert(snapshot.digest(), snapshot.clone());
                    }
                    Content::Exchange(
                        exchange_to_wire(search, &exchange, &KnownRows::default()).encode_to_vec(),
                    )
                }
                Outgoing::Leave(mut exchange) => {
                    if self.pace == Pace::Lockstep {
                        // As the link does: every round's reports and states are there already.
                        exchange.reports.clear();
                    }
                    Content::Leave(
                        exchange_to_wire(search, &exchange, &KnownRows::default()).encode_to_vec(),
                    )
                }
                Outgoing::Fetch(chain, digest) => Content::Fetch(chain, digest),
            };
            self.network.push(Message {
                worker: at,
                incarnation: Worker::incarnation(at, start),
                start,
                call,
                content,
            });
        }
        if let Some(end) = end {
            self.ended(at, end);
        }
    }

    /// A session has ended: what its chains have reported has arrived, unless it said otherwise.
    fn ended(&mut self, at: usize, end: End) {
        if let End::Finished(reason) = end {
            assert_eq!(
                self.state.stopped_by(),
                Some(reason),
                "the search continues"
            );
        }
        if !self.workers[at].lost_reports {
            self.check_reported(at);
        }
        if end == End::Drained && self.come_back {
            self.workers[at] = self.workers[at].restarted();
        }
        if end == End::MoreWork {
            self.workers[at] = self.workers[at].rejoined();
        }
    }

    /// Reads the event that a message brings to the coordinator; none if it is for a worker.
    fn event(&self, message: &Message) -> Option<Result<Event, LinkError>> {
        let exchange = |bytes: &[u8]| -> Result<Exchange, LinkError> {
            let wire = v1::ExchangeRequest::decode(bytes).unwrap();
            let work = match *wire.search_id == REPLICATES_OF_SEARCH.0 {
                true => Work::Replicates,
                false => Work::Search,
            };
            let exchange = exchange_from_wire(
                wire,
                |_, row| row_from_wire(row, NODES).map(Some),
                |_, digest| self.uploads.get(&digest).cloned(),
            );
            // A coordinator that was started again does not have the states.
            let exchange = exchange.map(|exchange| Exchange { work, ..exchange });
            exchange.map_err(|error| LinkError::Nonsense(error.to_string()))
        };
        match &message.content {
            Content::Join(bytes) => {
                let wire = v1::JoinRequest::decode(bytes.as_slice()).unwrap();
                let mut hello: Hello = hello_from_wire(wire).unwrap();
                hello.peer = Some(PeerId(message.worker as u64 + 1));
                if hello.search == Some(REPLICATES_OF_SEARCH) {
                    hello.work = Work::Replicates;
                } else {
                    assert_eq!(hello.search, Some(SEARCH));
                }
                Some(Ok(Event::Join(hello)))
            }
            Content::Exchange(bytes) => Some(exchange(bytes).map(Event::Exchange)),
            Content::Leave(bytes) => Some(exchange(bytes).map(Event::Leave)),
            _ => None,
        }
    }

    fn deliver(&mut self, message: Message) {
        if let Content::Fetch(chain, digest) = message.content {
            let stored = self.state.snapshot(chain);
            let content = match stored.filter(|stored| stored.digest() == digest) {
                Some(stored) => Content::Fetched(stored.bytes().to_vec()),
                None => Content::Failed(LinkError::Nonsense("it is not stored".into())),
            };
            return self.network.push(Message { content, ..message });
        }
        let content = match self.event(&message) {
            None => return self.answered(message),
            Some(Err(error)) => Content::Failed(error),
            Some(Ok(event)) => {
                self.apply(Event::Tick);
                self.handled(event, message.incarnation)
            }
        };
        self.network.push(Message { content, ..message });
    }

    /// Applies an event as the service does, and returns its answer.
    fn handled(&mut self, event: Event, incarnation: Incarnation) -> Content {
        match event {
            Event::Join(_) => {
                self.apply(event);
                let welcome = self.state.welcome(incarnation).unwrap();
                Content::Joined(self.join_reply(&welcome).encode_to_vec())
            }
            Event::Exchange(exchange) => {
                assert_eq!(self.state.check(&exchange), Ok(()));
                let (worker, work) = (exchange.worker, exchange.work);
                let reports = exchange.reports.clone();
                self.apply(Event::Exchange(exchange));
                let asked: Vec<(ChainId, u64)> =
                    reports.iter().map(|r| (r.chain, r.sequence)).collect();
                match self.state.reply(worker, incarnation, &asked) {
                    Ok(reply) => {
                        self.acknowledge(work, &reports, Some(&reply));
                        Content::Replied(
                            reply_to_wire(&reply, Vec::new(), &KnownRows::default())
                                .encode_to_vec(),
                        )
                    }
                    Err(refusal @ Refusal::UnknownWorker) => {
                        Content::Failed(LinkError::JoinAgain(refusal.to_string()))
                    }
                    Err(refusal) => panic!("{refusal}"),
                }
            }
            Event::Leave(exchange) => {
                let (work, reports) = (exchange.work, exchange.reports.clone());
                self.apply(Event::Leave(exchange));
                self.acknowledge(work, &reports, None);
                Content::Left
            }
            Event::Tick
            | Event::CpuTime(_)
            | Event::RefusedRows(_)
            | Event::Row(_)
            | Event::Stop(_) => panic!("no worker sends {event:?}"),
        }
    }

    fn join_reply(&self, welcome: &Welcome) -> v1::JoinReply {
        let orders = welcome.orders.iter();
        v1::JoinReply {
            protocol_version: PROTOCOL_VERSION,
            search: Some(description_to_wire(&description(self.pace, welcome.work))),
            worker: welcome.worker.0,
            lease_millis: u64::try_from(welcome.lease.as_millis()).unwrap(),
            orders: orders
                .clone()
                .take(WELCOME_ORDERS)
                .map(|order| order_to_wire(order, &KnownRows::default()))
                .collect(),
            chains: orders.map(|order| order.chain.0).collect(),
            stopped_by: welcome.stopped_by.map_or("", StoppedBy::as_str).to_owned(),
            more_work: welcome.more_work,
        }
    }

    /// A worker gets an answer.
    fn answered(&mut self, message: Message) {
        let answer = match message.content {
            Content::Joined(bytes) => {
                let wire = v1::JoinReply::decode(bytes.as_slice()).unwrap();
                let joined = joined_from_wire(wire);
                Ok(session::Event::Joined(joined.map(Box::new)))
            }
            Content::Replied(bytes) => {
                let wire = v1::ExchangeReply::decode(bytes.as_slice()).unwrap();
                let reply = reply_from_wire(wire, NODES, &KnownRows::default()).unwrap();
                Ok(session::Event::Replied(Ok(reply)))
            }
            Content::Left => Ok(session::Event::Left(Ok(()))),
            Content::Fetched(bytes) => Ok(session::Event::ChainFetched(Ok(Snapshot::new(bytes)))),
            Content::Failed(error) => Err(error),
            Content::Join(_) | Content::Exchange(_) | Content::Leave(_) | Content::Fetch(..) => {
                return;
            }
        };
        let worker = &mut self.workers[message.worker];
        let event = worker.answered(message.start, message.call, answer);
        self.drive(message.worker, event);
    }

    fn acknowledge(&mut self, work: Work, reports: &[ChainReport], reply: Option<&Reply>) {
        for report in reports {
            if work == Work::Replicates {
                self.acknowledged_replicates.insert(report.chain);
                continue;
            }
            let taken = self.pace == Pace::Free
                || reply.is_some_and(|reply| {
                    reply.answers.iter().any(|(chain, sequence, answer)| {
                        (*chain, *sequence) == (report.chain, report.sequence)
                            && *answer != Answer::Revoke
                    })
                });
            for (_, row) in report.finds.iter().filter(|_| taken) {
                self.acknowledged.add(row);
            }
        }
    }

    /// Asserts the laws.
    fn check(&mut self) {
        let best = self.state.pool().best().map(|row| row.score);
        assert!(best >= self.shown, "{best:?} after {:?}", self.shown);
        self.shown = best;
        let missing = self.acknowledged.missing_from(self.state.pool()).len();
        assert_eq!(missing, 0, "acknowledged rows are missing");
        for number in &self.acknowledged_replicates {
            let kept = self.state.replicates().get(&number.0);
            assert!(
                kept.is_some(),
                "replicate {number} was acknowledged and is lost"
            );
        }
        for (&number, kept) in self.state.replicates() {
            let expected = replicate_row(ChainId(number));
            assert_eq!(
                (&kept.structure, kept.score),
                (&expected.structure, expected.score)
            );
        }
        let total = self.state.counters().evaluations;
        let mut done: BTreeMap<(Incarnation, ChainId), u64> = BTreeMap::new();
        for (&run, &evaluations) in self.workers.iter().flat_map(|worker| &worker.done) {
            let known = done.entry(run).or_default();
            *known = evaluations.max(*known);
        }
        let done: u64 = done.values().sum();
        assert!(total >= self.total, "{total} after {}", self.total);
        // Lies count no faster than work can be done, in lockstep not at all.
        let lies = match self.pace {
            Pace::Lockstep => 0,
            Pace::Free => self.plausible.unwrap_or(0),
        };
        assert!(total <= done + lies, "{total} counted, {done} done");
        self.total = total;
        self.check_holders();
    }

    /// Returns how many rows the pool does not hold, though it is not full of better ones.
    pub(crate) fn missing<'a>(&self, rows: impl Iterator<Item = &'a EliteRow>) -> usize {
        missing_rows(rows, self.state.pool()).len()
    }

    /// Free-running, what the chains of a worker have reported has arrived.
    pub(crate) fn check_reported(&self, at: usize) {
        if self.pace == Pace::Free {
            let missing = self.missing(self.workers[at].reported.iter());
            assert_eq!(missing, 0, "rows that worker {at} has reported are missing");
        }
    }

    /// Every chain has one worker, which is alive.
    fn check_holders(&self) {
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
                let welcome = self.state.welcome(Worker::incarnation(at, start));
                for order in welcome.iter().flat_map(|welcome| &welcome.orders) {
                    let by = welcome.as_ref().unwrap().worker;
                    assert!(alive.contains(&by), "{by} is not alive");
                    let other = holders.insert(order.chain, by);
                    assert_eq!(other, None, "chain {} is held twice", order.chain);
                }
            }
        }
        // Replicates are given away a few at a time.
        if self.replicates == 0 && self.state.stopped_by().is_none() && !alive.is_empty() {
            assert_eq!(holders.len(), CHAINS as usize, "a chain is not held");
        }
    }

    /// Everything that is under way arrives.
    pub(crate) fn deliver_all(&mut self) {
        let mut messages = 0;
        while !self.network.is_empty() {
            messages += 1;
            assert!(messages < 10_000, "they call each other all the time");
            self.run(Op::Deliver(0));
        }
    }

    /// Everybody works, calls and is answered.
    pub(crate) fn calm_turn(&mut self) {
        self.turn(u64::from(CHAINS));
    }

    /// Everybody calls and is answered, and no chain finds anything.
    pub(crate) fn quiet_turn(&mut self) {
        self.turn(0);
    }

    fn turn(&mut self, slices: u64) {
        self.deliver_all();
        for at in 0..WORKERS {
            for draw in 0..slices {
                self.run(Op::Work(at, draw));
            }
            self.call(at);
            self.deliver_all();
        }
        self.run(Op::Pass(3_000));
        self.deliver_all();
    }

    /// Calls whose answers were lost fail.
    pub(crate) fn calm_down(&mut self) {
        self.deliver_all();
        for at in 0..WORKERS {
            if self.workers[at].has_call() {
                self.run(Op::Call(at));
            }
        }
        self.deliver_all();
    }
}
