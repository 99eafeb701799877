//! A thread for work that takes long, scoring rows above all, with a fair queue before it. Work is done
//! in small steps. The next step is that of the peer that has had the least processor time, and there
//! of the lane that has had least: so whoever brings much waits for itself, and whoever brings little
//! is served at once. The members at an address are one peer and everybody else there is another; a
//! member has one lane, whatever it connects by, and of others each connection has one.
//!
//! Lanes that are new are served in the order in which they came, beside those that are not. Otherwise
//! a sender with a connection of its own for every row would always have had least.

use crate::blocking::Blocking;
use crate::peer::Peer;
use rlbayes_common::ids::WorkerId;
use rustix::time::{ClockId, clock_gettime};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// Whose work it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane {
    /// The peer.
    pub(crate) peer: Peer,
    /// Who it is there.
    pub(crate) sender: Sender,
}

/// A sender of work, among those of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sender {
    /// A worker that runs chains.
    Member(WorkerId),
    /// Anybody else, by the number of its connection.
    Connection(usize),
}

/// The way to the thread; it ends when this is dropped. Inline, work is done at once by the caller.
#[derive(Debug)]
pub(crate) struct ScoringQueue(Option<Arc<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// A step of some work; returns whether it was the last.
type Step = Box<dyn FnMut() -> bool + Send>;

/// How many lanes without work are remembered, so that they are not new when they come again.
const REMEMBERED: usize = 4096;

/// The members of a peer, or the others.
type Group = (Peer, bool);

#[derive(Default)]
struct Queue {
    groups: Turns<Group>,
    lanes: BTreeMap<Group, Lanes>,
    is_ended: bool,
}

/// The lanes of a group.
#[derive(Default)]
struct Lanes {
    turns: Turns<Sender>,
    /// The work of those that have some, each piece with a guess of how much it is.
    work: BTreeMap<Sender, VecDeque<(usize, Step)>>,
}

/// Who has had how much.
struct Turns<K> {
    accounts: BTreeMap<K, Account>,
    /// What the one that was served last had had.
    clock: Duration,
    /// Where the next one begins that is new, and how many of these wait to be served.
    newcomers: Duration,
    new: u32,
}

struct Account {
    /// Processor time.
    had: Duration,
    is_new: bool,
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self {
            accounts: BTreeMap::new(),
            clock: Duration::ZERO,
            newcomers: Duration::ZERO,
            new: 0,
        }
    }
}

impl<K: Ord> Turns<K> {
    /// Notes that one who had no work has some.
    fn come(&mut self, who: K) {
        if let Some(account) = self.accounts.get_mut(&who) {
            // What it did not use while it had no work is not saved up.
            account.had = account.had.max(self.clock);
            return;
        }
        let account = Account {
            had: self.clock.max(self.newcomers),
            is_new: true,
        };
        self.new += 1;
        self.accounts.insert(who, account);
    }

    fn had(&self, who: &K) -> Duration {
        self.accounts
            .get(who)
            .map_or(self.clock, |account| account.had)
    }

    /// Notes who is served.
    fn serve(&mut self, who: &K) {
        self.clock = self.clock.max(self.had(who));
    }

    /// Notes what it took.
    fn charge(&mut self, who: &K, took: Duration) {
        if let Some(account) = self.accounts.get_mut(who) {
            if std::mem::take(&mut account.is_new) {
                // Each of them has a share like any other.
                self.newcomers = self.newcomers.max(account.had) + took / self.new.max(1);
                self.new = self.new.saturating_sub(1);
            }
            account.had += took;
        }
    }

    /// Makes all equal: nobody waits.
    fn rest(&mut self) {
        let most = self.accounts.values().map(|account| account.had).max();
        self.clock = self.clock.max(self.newcomers).max(most.unwrap_or_default());
    }
}

impl ScoringQueue {
    /// Starts the thread.
    pub(crate) fn start(name: &str, blocking: Blocking) -> Self {
        if blocking == Blocking::Inline {
            return Self(None);
        }
        let shared = Arc::new(Shared::default());
        let serves = Arc::clone(&shared);
        let thread = thread::Builder::new().name(name.to_owned());
        match thread.spawn(move || serves.serve()) {
            Ok(_) => Self(Some(shared)),
            Err(error) => {
                tracing::warn!(%error, name, "cannot start the thread; the work blocks other calls");
                Self(None)
            }
        }
    }

    /// Does work in steps until one returns something. `size` guesses how much work it is; none if
    /// the thread has failed.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        lane: Lane,
        size: usize,
        mut step: impl FnMut() -> Option<T> + Send + 'static,
    ) -> Option<T> {
        let Some(shared) = &self.0 else {
            loop {
                if let Some(result) = step() {
                    return Some(result);
                }
            }
        };
        let (done, result) = oneshot::channel();
        let mut done = Some(done);
        let step = move || {
            // A caller that is gone needs no result.
            if done.as_ref().is_none_or(oneshot::Sender::is_closed) {
                return true;
            }
            let Some(result) = step() else {
                return false;
            };
            if let Some(done) = done.take() {
                let _ = done.send(result);
            }
            true
        };
        shared.lock().add(lane, size, Box::new(step));
        shared.changed.notify_one();
        result.await.ok()
    }
}

impl Drop for ScoringQueue {
    fn drop(&mut self) {
        if let Some(shared) = &self.0 {
            shared.lock().is_ended = true;
            shared.changed.notify_one();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        let mut queue = self.lock();
        while !queue.is_ended {
            let Some((lane, size, mut step)) = queue.next() else {
                queue = self
                    .changed
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(queue);
            let begun = processor_time();
            let is_done = step();
            let took = processor_time().saturating_sub(begun);
            let rest = (!is_done).then_some((size, step));
            queue = self.lock();
            queue.had(&lane, took, rest);
        }
        // Whoever waits is told by its channel.
        queue.lanes.clear();
    }
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

impl Queue {
    fn add(&mut self, lane: Lane, size: usize, step: Step) {
        let is_member = matches!(lane.sender, Sender::Member(_));
        let group = (lane.peer, is_member);
        let lanes = self.lanes.entry(group.clone()).or_default();
        if lanes.work.is_empty() {
            self.groups.come(group);
        }
        if !lanes.work.contains_key(&lane.sender) {
            lanes.turns.come(lane.sender);
        }
        let work = lanes.work.entry(lane.sender).or_default();
        work.push_back((size, step));
    }

    /// Takes the next step: of the group that has had least, there of the lane that has had least, and
    /// among equals of the smallest work.
    fn next(&mut self) -> Option<(Lane, usize, Step)> {
        self.forget();
        let waits = self.lanes.iter().filter_map(|(group, lanes)| {
            let (size, sender) = lanes.first()?;
            Some(((self.groups.had(group), size), group, sender))
        });
        let Some((_, group, sender)) = waits.min() else {
            self.groups.rest();
            self.lanes.values_mut().for_each(|lanes| lanes.turns.rest());
            return None;
        };
        let group = group.clone();
        self.groups.serve(&group);
        let lanes = self.lanes.get_mut(&group)?;
        lanes.turns.serve(&sender);
        let work = lanes.work.get_mut(&sender)?;
        let (size, step) = work.pop_front()?;
        if work.is_empty() {
            lanes.work.remove(&sender);
        }
        let lane = Lane {
            peer: group.0,
            sender,
        };
        Some((lane, size, step))
    }

    /// Notes what a step took, and what is left of the work.
    fn had(&mut self, lane: &Lane, took: Duration, rest: Option<(usize, Step)>) {
        let group = (lane.peer.clone(), matches!(lane.sender, Sender::Member(_)));
        let took = took.max(Duration::from_micros(1));
        self.groups.charge(&group, took);
        if let Some(lanes) = self.lanes.get_mut(&group) {
            lanes.turns.charge(&lane.sender, took);
            if let Some(rest) = rest {
                lanes.work.entry(lane.sender).or_default().push_front(rest);
            }
        }
    }

    /// Forgets lanes without work if there are too many of them: at first those of connections.
    fn forget(&mut self) {
        for members_too in [false, true] {
            let idle = self.lanes.values().map(Lanes::idle);
            if idle.sum::<usize>() <= REMEMBERED {
                return;
            }
            self.lanes.retain(|(_, is_member), lanes| {
                if members_too || !is_member {
                    let work = &lanes.work;
                    let accounts = &mut lanes.turns.accounts;
                    accounts.retain(|sender, _| work.contains_key(sender));
                }
                !lanes.turns.accounts.is_empty()
            });
            let lanes = &self.lanes;
            let accounts = &mut self.groups.accounts;
            accounts.retain(|group, _| lanes.contains_key(group));
        }
    }
}

impl Lanes {
    /// Returns how many lanes have no work.
    fn idle(&self) -> usize {
        self.turns.accounts.len().saturating_sub(self.work.len())
    }

    /// Returns the lane whose turn is next, and the size of its work.
    fn first(&self) -> Option<(usize, Sender)> {
        let waits = self.work.iter().filter_map(|(&sender, work)| {
            let (size, _) = work.front()?;
            Some((self.turns.had(&sender), *size, sender))
        });
        let (_, size, sender) = waits.min()?;
        Some((size, sender))
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue")
            .field("groups", &self.lanes.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(address: u8, connection: usize) -> Lane {
        Lane {
            peer: Peer::at([10, 0, 0, address].into()),
            sender: Sender::Connection(connection),
        }
    }

    fn member(address: u8, worker: u64) -> Lane {
        Lane {
            sender: Sender::Member(WorkerId(worker)),
            ..lane(address, 0)
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_run_while_work_is_done() {
        let scoring = ScoringQueue::start("test", Blocking::Thread);
        let (release, released) = std::sync::mpsc::channel();
        let work = scoring.run(lane(1, 1), 1, move || Some(released.recv().is_ok()));
        // The runtime has one thread: if it were blocked, nothing could release the work.
        let other = async {
            tokio::task::yield_now().await;
            release.send(()).unwrap();
        };
        let (done, ()) = tokio::join!(work, other);
        assert_eq!(done, Some(true));
    }

    #[test]
    fn work_inline_is_done_at_once_in_all_its_steps() {
        let scoring = ScoringQueue::start("test", Blocking::Inline);
        let mut left = 5;
        let done = scoring.run(lane(1, 1), 1, move || {
            left -= 1;
            (left == 0).then_some("done")
        });
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let done = std::pin::pin!(done).poll(&mut context);
        assert_eq!(done, std::task::Poll::Ready(Some("done")));
    }

    /// Serves some steps of equal length and returns how many each lane had.
    fn served(queue: &mut Queue, steps: usize) -> BTreeMap<Lane, usize> {
        let mut counts = BTreeMap::new();
        for _ in 0..steps {
            let Some((lane, size, mut step)) = queue.next() else {
                break;
            };
            let rest = (!step()).then_some((size, step));
            queue.had(&lane, Duration::from_millis(1), rest);
            *counts.entry(lane).or_default() += 1;
        }
        counts
    }

    fn endless() -> Step {
        Box::new(|| false)
    }

    #[test]
    fn who_brings_little_is_served_at_once_whatever_others_bring() {
        let mut queue = Queue::default();
        for connection in 0..12 {
            for _ in 0..64 {
                queue.add(lane(1, connection), 3_000_000, endless());
            }
        }
        served(&mut queue, 5000);
        for again in 0..20 {
            queue.add(lane(2, 99), 100, Box::new(|| true));
            let counts = served(&mut queue, 2);
            assert_eq!(counts.get(&lane(2, 99)), Some(&1), "time {again}");
        }
        // Also on one of its own connections, at the same address.
        queue.add(lane(1, 98), 100, Box::new(|| true));
        assert_eq!(served(&mut queue, 13).get(&lane(1, 98)), Some(&1));
    }

    #[test]
    fn peers_share_alike_however_many_connections_they_have() {
        let mut queue = Queue::default();
        for connection in 0..9 {
            queue.add(lane(1, connection), 1, endless());
        }
        queue.add(lane(2, 100), 1, endless());
        let counts = served(&mut queue, 9000);
        let honest = counts[&lane(2, 100)];
        assert!((4000..5200).contains(&honest), "{honest} of 9000");
    }

    /// Every row comes by a connection of its own, as soon as another one was served; returns how many
    /// steps others had.
    fn flood(queue: &mut Queue, fresh: &mut usize, steps: usize) -> usize {
        let mut others = 0;
        for _ in 0..steps {
            *fresh += 1;
            queue.add(lane(1, *fresh), 30_000, Box::new(|| true));
            let counts = served(queue, 1);
            let is_fresh =
                |lane: &Lane| matches!(lane.sender, Sender::Connection(at) if at >= 1000);
            others += counts.keys().filter(|lane| !is_fresh(lane)).count();
        }
        others
    }

    #[test]
    fn a_connection_for_every_row_does_not_starve_those_that_stay() {
        // At another address, as a member at the same, and as nobody known at the same.
        for (honest, every) in [(lane(2, 1), 3), (member(1, 7), 3), (lane(1, 1), 120)] {
            let mut queue = Queue::default();
            let mut fresh = 1000;
            queue.add(honest.clone(), 300, Box::new(|| true));
            served(&mut queue, 1);
            for _ in 0..100 {
                fresh += 1;
                queue.add(lane(1, fresh), 30_000, Box::new(|| true));
            }
            flood(&mut queue, &mut fresh, 1000);
            for again in 0..20 {
                queue.add(honest.clone(), 300, Box::new(|| true));
                let others = flood(&mut queue, &mut fresh, 2);
                assert_eq!(others, 1, "{honest:?}, time {again}");
                flood(&mut queue, &mut fresh, every);
            }
        }
    }

    #[test]
    fn who_is_new_waits_for_those_that_were_new_before_and_not_for_all_their_work() {
        let mut queue = Queue::default();
        for connection in 1000..1100 {
            queue.add(lane(1, connection), 30_000, endless());
        }
        served(&mut queue, 50);
        queue.add(lane(1, 1), 300, Box::new(|| true));
        assert_eq!(served(&mut queue, 50).get(&lane(1, 1)), None);
        assert_eq!(served(&mut queue, 400).get(&lane(1, 1)), Some(&1));
        queue.add(lane(1, 1), 300, Box::new(|| true));
        assert_eq!(served(&mut queue, 200).get(&lane(1, 1)), Some(&1));
    }

    #[test]
    fn little_is_kept_of_lanes_that_have_no_work() {
        let mut queue = Queue::default();
        queue.add(member(1, 7), 1, Box::new(|| true));
        served(&mut queue, 1);
        for connection in 0..3 * REMEMBERED {
            let address = u8::try_from(connection % 200).unwrap();
            queue.add(lane(address, connection), 1, Box::new(|| true));
            served(&mut queue, 1);
        }
        assert!(queue.next().is_none() && queue.next().is_none());
        let kept = queue.lanes.values().map(Lanes::idle);
        assert!(kept.sum::<usize>() <= REMEMBERED);
        assert!(queue.groups.accounts.len() <= queue.lanes.len());
        let members = (member(1, 7).peer, true);
        assert!(queue.lanes[&members].work.is_empty(), "remembered longer");
    }
}
