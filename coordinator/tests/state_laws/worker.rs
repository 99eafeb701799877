//! A worker process: the real session, chains, and a disk that outlives the process.

use crate::chain::{Chain, NODES};
use rlbayes_common::elite::EliteRow;
use rlbayes_common::exchange::{Answer, ChainReport, Pace, RunSequence, Snapshot, Work};
use rlbayes_common::ids::{ChainId, Incarnation, SearchId};
use rlbayes_common::snapshot::decode_chain;
use rlbayes_worker::link::LinkError;
use rlbayes_worker::state::{
    Action, End, Event, Held, LogEvent, OpenError, SessionSettings, SessionState,
};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub(crate) const SEARCH: SearchId = SearchId([7; 16]);
/// The replicates that follow it.
pub(crate) const REPLICATES_OF_SEARCH: SearchId = SearchId([8; 16]);
/// How soon a call whose answer is lost fails.
const CALL: Duration = Duration::from_secs(10);

pub(crate) struct Worker {
    pub(crate) number: usize,
    /// How often it was started before.
    pub(crate) start: u64,
    pace: Pace,
    /// What it has joined for.
    pub(crate) work: Work,
    /// Its own clock.
    now: Duration,
    pub(crate) session: SessionState,
    pub(crate) chains: BTreeMap<ChainId, Chain>,
    call: Option<Call>,
    /// What it has on its disk.
    checkpoints: BTreeMap<ChainId, Snapshot>,
    /// Rows that chains of this process have reported.
    pub(crate) reported: Vec<EliteRow>,
    /// Evaluations of the runs of chains.
    pub(crate) done: BTreeMap<(Incarnation, ChainId), u64>,
    /// How the session ended.
    pub(crate) end: Option<End>,
    /// Whether the session has said that last reports may be lost.
    pub(crate) lost_reports: bool,
}

/// The call whose answer is waited for.
#[derive(Clone, Copy, Debug)]
struct Call {
    number: u64,
    kind: CallKind,
    begun: Duration,
}

#[derive(Clone, Copy, Debug)]
enum CallKind {
    Join,
    Exchange,
    Leave,
    Fetch,
}

/// What a session wants to be sent.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Join(rlbayes_common::exchange::Hello),
    Exchange(rlbayes_common::exchange::Exchange),
    Leave(rlbayes_common::exchange::Exchange),
    Fetch(ChainId, [u8; 32]),
}

impl Worker {
    pub(crate) fn new(number: usize, pace: Pace) -> Self {
        Self::started(number, 0, pace, BTreeMap::new())
    }

    /// The process is killed and started again.
    pub(crate) fn restarted(&self) -> Self {
        let disk = self.checkpoints.clone();
        let mut worker = Self::started(self.number, self.start + 1, self.pace, disk);
        worker.done = self.done.clone();
        worker
    }

    /// The same process joins again, for other work: its chains are of no use any more.
    pub(crate) fn rejoined(&self) -> Self {
        let mut worker = Self::started(self.number, self.start, self.pace, BTreeMap::new());
        worker.done = self.done.clone();
        worker
    }

    /// Returns the search that its messages name.
    pub(crate) fn search(&self) -> SearchId {
        match self.work {
            Work::Search => SEARCH,
            Work::Replicates => REPLICATES_OF_SEARCH,
        }
    }

    fn started(
        number: usize,
        start: u64,
        pace: Pace,
        checkpoints: BTreeMap<ChainId, Snapshot>,
    ) -> Self {
        let settings = SessionSettings {
            incarnation: Self::incarnation(number, start),
            replaces: (start > 0 && Self::has_disk(number))
                .then(|| Self::incarnation(number, start - 1)),
            host: "here".into(),
            threads: 1,
            memory: None,
            program_version: "1".into(),
            give_up_after: None,
            checkpoint_every: Duration::from_secs(5),
        };
        let held = Held {
            chains: checkpoints.keys().copied().collect(),
            search: Some(SEARCH),
        };
        Self {
            number,
            start,
            pace,
            work: Work::Search,
            now: Duration::ZERO,
            session: SessionState::new(settings, Duration::from_millis(500), held),
            chains: BTreeMap::new(),
            call: None,
            checkpoints,
            reported: Vec::new(),
            done: BTreeMap::new(),
            end: None,
            lost_reports: false,
        }
    }

    pub(crate) fn incarnation(number: usize, start: u64) -> Incarnation {
        Incarnation(1 + number as u64 + 1000 * start)
    }

    /// Every second worker has a state folder: it is known again after a restart.
    fn has_disk(number: usize) -> bool {
        number.is_multiple_of(2)
    }

    /// Hands an event to the session and does what it wants, as the session's driver does. Returns
    /// the message to send, with the number of its call.
    pub(crate) fn drive(&mut self, event: Event, calls: &mut u64) -> Option<(u64, Outgoing)> {
        let mut outgoing = None;
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            match &event {
                Event::Report(report) => self.note(report),
                Event::LastReports(reports) => reports.iter().for_each(|one| self.note(one)),
                _ => {}
            }
            for action in self.session.apply(self.now, event) {
                assert_eq!(self.end, None, "{action:?} after the end");
                match action {
                    Action::Join(hello) => {
                        outgoing = Some(self.call(CallKind::Join, Outgoing::Join(hello), calls));
                    }
                    Action::Exchange(exchange) => {
                        let outgoing_exchange = Outgoing::Exchange(exchange);
                        outgoing = Some(self.call(CallKind::Exchange, outgoing_exchange, calls));
                    }
                    Action::Leave(exchange) => {
                        let last = Outgoing::Leave(exchange);
                        outgoing = Some(self.call(CallKind::Leave, last, calls));
                    }
                    Action::FetchChain(chain, digest) => {
                        let fetch = Outgoing::Fetch(chain, digest);
                        outgoing = Some(self.call(CallKind::Fetch, fetch, calls));
                    }
                    Action::CancelCall => self.call = None,
                    Action::EndChains => {
                        // As real chains do: reports that wait come with the last ones.
                        let mut last = Vec::new();
                        for event in std::mem::take(&mut events) {
                            match event {
                                Event::Report(report) => last.push(report),
                                other => events.push_back(other),
                            }
                        }
                        last.extend(self.end_chains());
                        events.push_back(Event::LastReports(last));
                    }
                    action => events.extend(self.perform(action)),
                }
            }
        }
        outgoing
    }

    fn call(&mut self, kind: CallKind, what: Outgoing, calls: &mut u64) -> (u64, Outgoing) {
        assert!(self.call.is_none(), "two calls: {:?}, {what:?}", self.call);
        *calls += 1;
        self.call = Some(Call {
            number: *calls,
            kind,
            begun: self.now,
        });
        (*calls, what)
    }

    fn perform(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::Open(joined) => {
                self.work = match joined.search.replicates {
                    Some(_) => Work::Replicates,
                    None => Work::Search,
                };
                assert_eq!(joined.search.id, self.search());
                if self.work == Work::Replicates {
                    self.checkpoints.clear();
                }
                let read = self.checkpoints.iter().map(|(&chain, snapshot)| {
                    let saved = decode_chain(snapshot.bytes(), NODES);
                    (chain, saved.unwrap())
                });
                let checkpoints: Result<_, OpenError> = Ok(read.collect());
                return Some(Event::Opened(checkpoints));
            }
            Action::Run(order, begin) => {
                let chain = Chain::begin(self.pace, self.work, &order, begin);
                let before = self.chains.insert(order.chain, chain);
                return before.and_then(|before| self.released(&before));
            }
            Action::Answer(id, answer) => {
                let revoked = answer == Answer::Revoke;
                if let Some(chain) = self.chains.get_mut(&id) {
                    assert_eq!(chain.take(answer), !revoked);
                }
                if revoked {
                    let chain = self.chains.remove(&id)?;
                    return self.released(&chain);
                }
            }
            Action::WantSnapshots => self.chains.values_mut().for_each(Chain::want_snapshot),
            Action::TellBestsAgain => self.chains.values_mut().for_each(Chain::tell_best_again),
            Action::KeepCheckpoint(chain, snapshot) => {
                assert_eq!(self.pace, Pace::Free);
                if Self::has_disk(self.number) {
                    self.checkpoints.insert(chain, snapshot);
                }
            }
            Action::DropCheckpoint(chain) => {
                self.checkpoints.remove(&chain);
            }
            Action::Log(event) => self.lost_reports |= event == LogEvent::LastReportsLost,
            Action::Finish(end) => {
                self.end = Some(end.expect("a worker that never gives up has failed"));
                assert!(self.call.is_none(), "a call outlives the session");
            }
            Action::Join(_)
            | Action::Exchange(_)
            | Action::Leave(_)
            | Action::FetchChain(..)
            | Action::EndChains
            | Action::CancelCall => unreachable!("whoever drives the session does these"),
        }
        None
    }

    fn end_chains(&mut self) -> Vec<ChainReport> {
        let chains = std::mem::take(&mut self.chains);
        let chains = chains.values().filter(|chain| !chain.is_replicate);
        chains.map(Chain::last_report).collect()
    }

    /// The rows of a chain's last steps; in lockstep the round is replayed.
    fn released(&self, chain: &Chain) -> Option<Event> {
        let reports = self.pace == Pace::Free && !chain.is_replicate;
        reports.then(|| Event::Report(chain.last_report()))
    }

    fn note(&mut self, report: &ChainReport) {
        if self.work == Work::Replicates {
            return;
        }
        let rows = report.finds.iter().map(|(_, row)| row.clone());
        self.reported.extend(rows);
    }

    /// Runs a slice of a chain that has one to run.
    pub(crate) fn work(&mut self, draw: u64) -> Option<Event> {
        let ready = self.chains.values_mut().filter(|chain| !chain.waits);
        let mut ready: Vec<&mut Chain> = ready.collect();
        let count = ready.len() as u64;
        let at = usize::try_from(draw.checked_rem(count)?).unwrap();
        let chain = &mut ready[at];
        let report = chain.work(draw);
        let by = match self.pace {
            // It counts once, whoever has run it.
            _ if chain.is_replicate => Incarnation(u64::MAX),
            Pace::Lockstep => Incarnation(0),
            Pace::Free => {
                let incarnation = Self::incarnation(self.number, self.start);
                RunSequence::of(report.sequence).counted_as(incarnation)
            }
        };
        let done = self.done.entry((by, report.chain)).or_default();
        *done = chain.evaluations.max(*done);
        Some(Event::Report(report))
    }

    /// Time passes for it; returns what has happened meanwhile: a call that took too long fails, or
    /// something is due.
    pub(crate) fn pass(&mut self, time: Duration) -> Option<Event> {
        self.now += time;
        if self.call.is_some_and(|call| self.now - call.begun >= CALL) {
            return self.fail_call();
        }
        let due = self.session.next_due();
        due.is_some_and(|due| due <= self.now)
            .then_some(Event::Tick)
    }

    /// Its clock goes to what is due next, if no answer is waited for.
    pub(crate) fn hasten(&mut self) -> Option<Event> {
        if self.call.is_some() {
            return None;
        }
        self.now = self.session.next_due()?.max(self.now);
        Some(Event::Tick)
    }

    /// The connection breaks.
    pub(crate) fn fail_call(&mut self) -> Option<Event> {
        let call = self.call.take()?;
        let error = LinkError::Unreachable("the connection broke".into());
        Some(call.kind.failed(error))
    }

    /// The answer to a call is there; one that is not waited for is dropped.
    pub(crate) fn answered(
        &mut self,
        start: u64,
        call: u64,
        answer: Result<Event, LinkError>,
    ) -> Option<Event> {
        let waited = self.call.filter(|waited| waited.number == call)?;
        if start != self.start {
            return None;
        }
        self.call = None;
        Some(answer.unwrap_or_else(|error| waited.kind.failed(error)))
    }

    pub(crate) fn has_call(&self) -> bool {
        self.call.is_some()
    }
}

impl CallKind {
    fn failed(self, error: LinkError) -> Event {
        match self {
            Self::Join => Event::Joined(Err(error)),
            Self::Exchange => Event::Replied(Err(error)),
            Self::Leave => Event::Left(Err(error)),
            Self::Fetch => Event::ChainFetched(Err(error)),
        }
    }
}
