//! A session while its chains run: reports wait until they are acknowledged, one call at a time is
//! under way, and what the coordinator answers is handed to the chains.

use super::action::{Action, LogEvent};
use super::outbox::Outbox;
use super::settings::{End, Held, SessionSettings};
use crate::link::Joined;
use rlbayes_common::exchange::{
    Answer, ChainOrder, ChainReport, Pace, Reply, SearchDescription, Welcome,
};
use rlbayes_common::ids::{ChainId, SearchId, WorkerId};
use rlbayes_common::search::{SavedChain, StoppedBy};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// The shortest lease: nobody exchanges all the time.
const LEAST_LEASE: Duration = Duration::from_millis(1);

/// A session whose chains run.
#[derive(Debug)]
pub(super) struct Working {
    pub(super) search: SearchId,
    pub(super) pace: Pace,
    pub(super) nodes: usize,
    exchange_every: Duration,
    checkpoint_every: Duration,
    least_pause: Duration,
    pub(super) worker: WorkerId,
    lease: Duration,
    pub(super) running: BTreeMap<ChainId, Run>,
    /// How many runs each chain has had in this process.
    pub(super) runs: BTreeMap<ChainId, u64>,
    pub(super) outbox: Outbox,
    /// Orders that wait for the state of one before them.
    pub(super) orders: VecDeque<ChainOrder>,
    /// Checkpoints of before a restart that no order has asked for yet.
    pub(super) checkpoints: BTreeMap<ChainId, SavedChain>,
    /// The chains that are checkpointed here.
    held: BTreeSet<ChainId>,
    pub(super) call: Option<Call>,
    last_exchange: Duration,
    last_checkpoint: Duration,
    not_before: Duration,
    in_a_hurry: bool,
    /// Whether the coordinator does not know the worker, which joins again before it exchanges.
    is_unknown: bool,
    chains_ended: bool,
    /// Whether the call under way began after the chains had ended: its answer must say why.
    asks_why: bool,
}

/// A chain that runs here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Lockstep: the round that it is in.
    pub(super) round: u64,
    /// Whether it was told to stop.
    pub(super) stopped: bool,
}

/// The call under way.
#[derive(Debug)]
pub(super) enum Call {
    Join,
    Exchange,
    /// For the state that an order begins with.
    FetchChain(ChainOrder),
}

/// What an answer of the coordinator has led to.
#[derive(Debug)]
pub(super) enum Next {
    Orders(Vec<ChainOrder>),
    AnotherSearch,
    Over(End),
}

impl Working {
    /// Begins a search: drops checkpoints of chains that others run by now, and runs what is
    /// ordered.
    pub(super) fn begin(
        now: Duration,
        settings: &SessionSettings,
        least_pause: Duration,
        joined: Joined,
        checkpoints: BTreeMap<ChainId, SavedChain>,
        actions: &mut Vec<Action>,
    ) -> Self {
        let Joined {
            welcome,
            chains,
            search,
        } = joined;
        let SearchDescription {
            id,
            nodes,
            pace,
            exchange_every,
            ..
        } = search;
        let mut working = Self {
            search: id,
            pace,
            nodes,
            exchange_every,
            checkpoint_every: settings.checkpoint_every,
            least_pause,
            worker: welcome.worker,
            lease: welcome.lease.max(LEAST_LEASE),
            running: BTreeMap::new(),
            runs: BTreeMap::new(),
            outbox: Outbox::default(),
            orders: VecDeque::new(),
            held: checkpoints.keys().copied().collect(),
            checkpoints,
            call: None,
            last_exchange: now,
            last_checkpoint: now,
            not_before: now,
            in_a_hurry: false,
            is_unknown: false,
            chains_ended: false,
            asks_why: false,
        };
        for chain in working.held.clone() {
            if !chains.contains(&chain) {
                working.drop_checkpoint(chain, actions);
            }
        }
        working.take_orders(welcome.orders, actions);
        working
    }

    /// Has the next exchange begin at once.
    pub(super) fn hurry(&mut self) {
        self.in_a_hurry = true;
    }

    /// The chains have ended, though nobody here has ended them: the coordinator knows why.
    pub(super) fn chains_ended(&mut self) {
        self.chains_ended = true;
        self.in_a_hurry = true;
    }

    /// The coordinator does not know the worker.
    pub(super) fn is_unknown(&mut self) {
        self.is_unknown = true;
        self.in_a_hurry = true;
    }

    /// Lets no call begin before a time.
    pub(super) fn pause_until(&mut self, at: Duration) {
        self.not_before = at;
    }

    /// Returns whether the call that has returned was to say why the chains have ended.
    pub(super) fn has_asked_why(&self) -> bool {
        self.asks_why
    }

    /// Returns when time matters next.
    pub(super) fn next_due(&self) -> Option<Duration> {
        let exchange = self.call.is_none().then(|| self.exchange_due());
        let checkpoint = self.checkpoint_due();
        exchange.into_iter().chain(checkpoint).min()
    }

    /// Begins what is due.
    pub(super) fn tick(
        &mut self,
        now: Duration,
        settings: &SessionSettings,
        actions: &mut Vec<Action>,
    ) {
        if self.call.is_none() && now >= self.exchange_due() {
            self.last_exchange = now;
            self.in_a_hurry = false;
            self.asks_why = self.chains_ended;
            if self.is_unknown {
                let running = Held {
                    chains: self.running.keys().copied().collect(),
                    search: Some(self.search),
                };
                self.call = Some(Call::Join);
                actions.push(Action::Join(settings.hello(running)));
            } else {
                self.call = Some(Call::Exchange);
                let reports = self.outbox.fill_message();
                actions.push(Action::Exchange(settings.exchange(self.worker, reports)));
            }
        }
        if self.checkpoint_due().is_some_and(|due| now >= due) {
            self.last_checkpoint = now;
            actions.push(Action::WantSnapshots);
        }
    }

    /// Returns when free-running chains should be checkpointed; a coordinator stores lockstep ones.
    fn checkpoint_due(&self) -> Option<Duration> {
        let due = self.last_checkpoint + self.checkpoint_every;
        (self.pace == Pace::Free).then_some(due)
    }

    fn exchange_due(&self) -> Duration {
        self.exchange_wanted().max(self.not_before)
    }

    /// Returns when the next exchange should begin.
    fn exchange_wanted(&self) -> Duration {
        if self.in_a_hurry {
            return self.last_exchange;
        }
        let sign_of_life = self.last_exchange + self.lease / 3;
        match self.pace {
            Pace::Lockstep => {
                // One exchange a round: it waits for the others, so all reports should be in it.
                let complete = self
                    .running
                    .iter()
                    .all(|(&chain, run)| run.stopped || self.outbox.has(chain));
                match complete && !self.outbox.is_empty() {
                    true => self.last_exchange,
                    false => sign_of_life,
                }
            }
            Pace::Free => {
                let pause = match self.outbox.has_news() {
                    true => self.least_pause,
                    false => self.exchange_every,
                };
                sign_of_life.min(self.last_exchange + pause)
            }
        }
    }

    /// Keeps a report until it is acknowledged.
    pub(super) fn take_report(&mut self, report: ChainReport, actions: &mut Vec<Action>) {
        let run = self.running.get(&report.chain);
        if self.pace == Pace::Lockstep && run.is_none_or(|run| run.round != report.sequence) {
            // Of a run before this one, or another worker replays the round.
            return;
        }
        self.keep_report(report, actions);
    }

    /// Takes the reports of chains that were ended.
    pub(super) fn take_last_reports(
        &mut self,
        reports: Vec<ChainReport>,
        actions: &mut Vec<Action>,
    ) {
        for report in reports {
            if self.pace == Pace::Free || self.running.contains_key(&report.chain) {
                self.keep_report(report, actions);
            }
        }
    }

    fn keep_report(&mut self, mut report: ChainReport, actions: &mut Vec<Action>) {
        if self.pace == Pace::Free
            && let Some(snapshot) = report.snapshot.take()
            && self.running.contains_key(&report.chain)
        {
            self.held.insert(report.chain);
            actions.push(Action::KeepCheckpoint(report.chain, snapshot));
        }
        self.outbox.put(report);
    }

    /// Takes the reply to an exchange.
    pub(super) fn take_reply(&mut self, reply: Reply, actions: &mut Vec<Action>) -> Next {
        self.lease = reply.lease.max(LEAST_LEASE);
        for (chain, sequence, answer) in reply.answers {
            if !self.outbox.acknowledge(chain, sequence) && self.pace == Pace::Lockstep {
                // An answer to a report that was answered before.
                continue;
            }
            match &answer {
                Answer::Revoke => self.revoke(chain, actions),
                Answer::Continue { .. } => {
                    if let Some(run) = self.running.get_mut(&chain) {
                        run.round = sequence + 1;
                    }
                }
                Answer::Stop => {
                    if let Some(run) = self.running.get_mut(&chain) {
                        run.stopped = true;
                    }
                }
            }
            actions.push(Action::Answer(chain, answer));
        }
        if let Some(reason) = reply.stopped_by {
            // In lockstep the round that others wait for is finished first.
            let in_a_round =
                self.pace == Pace::Lockstep && self.running.values().any(|run| !run.stopped);
            if !in_a_round {
                return Next::Over(end_of(reason, reply.more_work));
            }
        }
        Next::Orders(reply.orders)
    }

    /// Takes part again under the same incarnation: the chains that run here become those that are
    /// ordered, and each reports its best row again. A coordinator that has lost its state has no
    /// other way to it.
    pub(super) fn take_welcome(&mut self, joined: Joined, actions: &mut Vec<Action>) -> Next {
        let Joined {
            welcome,
            chains,
            search,
        } = joined;
        if let Some(reason) = welcome.stopped_by {
            return Next::Over(end_of(reason, welcome.more_work));
        }
        if search.id != self.search {
            actions.push(Action::Log(LogEvent::AnotherSearch(search.id)));
            return match search.replicates {
                // They follow this search: what its chains have reported is still sent.
                Some(_) => Next::Over(End::MoreWork),
                None => Next::AnotherSearch,
            };
        }
        let Welcome {
            worker,
            lease,
            orders,
            ..
        } = welcome;
        actions.push(Action::Log(LogEvent::JoinedAgain(worker)));
        self.is_unknown = false;
        self.worker = worker;
        self.lease = lease.max(LEAST_LEASE);
        let revoked: Vec<ChainId> = self
            .running
            .keys()
            .filter(|chain| !chains.contains(chain))
            .copied()
            .collect();
        for chain in revoked {
            self.revoke(chain, actions);
            actions.push(Action::Answer(chain, Answer::Revoke));
        }
        actions.push(Action::TellBestsAgain);
        Next::Orders(orders)
    }

    /// Another worker runs the chain. What it has reported is still sent: its rows are worth the
    /// same. In lockstep the round is replayed.
    fn revoke(&mut self, chain: ChainId, actions: &mut Vec<Action>) {
        self.running.remove(&chain);
        self.drop_checkpoint(chain, actions);
        if self.pace == Pace::Lockstep {
            self.outbox.drop_chain(chain);
        }
    }

    fn drop_checkpoint(&mut self, chain: ChainId, actions: &mut Vec<Action>) {
        self.checkpoints.remove(&chain);
        self.held.remove(&chain);
        actions.push(Action::DropCheckpoint(chain));
    }

    /// Returns the checkpoints that are held here.
    pub(super) fn held(&self) -> Held {
        Held {
            chains: self.held.iter().copied().collect(),
            search: Some(self.search),
        }
    }
}

/// Returns how a session ends once its work is over.
fn end_of(reason: StoppedBy, more_work: bool) -> End {
    match more_work {
        true => End::MoreWork,
        false => End::Finished(reason),
    }
}
