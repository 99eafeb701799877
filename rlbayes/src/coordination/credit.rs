//! How fast claims count. What a worker says that it has done cannot be checked, but how fast work can
//! be done is known: claims are credited to budgets and to what is shown no faster than that. The rest
//! waits and is credited as time passes, so that nothing honest is lost, and nothing goes down.
//!
//! In lockstep, where the same bits are promised, time decides nothing: a report that its round cannot
//! hold is refused, and its chain goes to another worker.

#[cfg(test)]
mod tests;

use super::State;
use super::command::Command;
use rlbayes_common::exchange::{ChainCounters, ChainReport, ChainStatus};
use rlbayes_common::ids::{ChainId, Incarnation, PeerId, WorkerId};
use std::collections::BTreeMap;
use std::time::Duration;

/// The most that one thread can do in a second, in the order of the figures of counters: iterations,
/// evaluations, computed, seeds received, entered and made current. The most that was measured are 80
/// million evaluations (those that caches answer included) and 7 million iterations.
const OF_A_THREAD: Figures = [1 << 25, 1 << 28, 1 << 28, 1 << 25, 1 << 25, 1 << 25];
/// How many times as fast as others a peer may be, however many threads it claims.
const TIMES_OTHERS: u64 = 32;
/// Which part of a thread's pace a peer may have, however slow the others are, or say that they are.
const PART_OF_A_THREAD: u64 = 8;
/// For how long at most a peer's pace adds up while it claims less: one that was cut off reports late.
const CARRIED: Duration = Duration::from_secs(60);
/// How long a peer has to be credited before it counts as one of the others.
const SETTLED: Duration = Duration::from_secs(2);
/// How often paces are taken anew, and what waits is credited.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How many evaluations a chain may have left when it says that it has none: one question's at most, the
/// pairs of four of 16 384 nodes.
const LAST_QUESTION: u64 = 1 << 17;
/// Who stands behind workers that are not known any more, as after a restart.
const UNKNOWN: PeerId = PeerId(0);

/// Those of [`ChainCounters`], in their order.
type Figures = [u64; 6];

/// What peers have claimed, what of it counts, and how much more may.
#[derive(Debug, Default)]
pub(super) struct Credits {
    accounts: BTreeMap<PeerId, Account>,
    looked_at: Option<Duration>,
}

/// A peer's claims.
#[derive(Debug)]
struct Account {
    /// What was claimed of each chain and does not count yet.
    waiting: BTreeMap<ChainId, ChainCounters>,
    /// How much may be credited now, and what a second adds.
    purse: Figures,
    pace: Figures,
    /// How far time was taken in.
    at: Duration,
    /// How many threads have chains to run.
    threads: u64,
    /// What was credited, and for how long since its first claim it has had chains to run.
    credited: Figures,
    busy: Duration,
    seen: Duration,
}

impl Credits {
    /// Takes a claim, and returns what of it counts at once: all that fits.
    fn claim(
        &mut self,
        now: Duration,
        peer: PeerId,
        chain: ChainId,
        added: ChainCounters,
    ) -> ChainCounters {
        if added == ChainCounters::default() {
            return added;
        }
        let account = self.account(now, peer);
        account.pass(now);
        account.seen = now;
        if account.spend(added) {
            return added;
        }
        let waiting = account.waiting.entry(chain).or_default();
        *waiting = waiting.plus(added);
        ChainCounters::default()
    }

    fn account(&mut self, now: Duration, peer: PeerId) -> &mut Account {
        let new = || Account::new(now);
        self.accounts.entry(peer).or_insert_with(new)
    }

    /// Takes note of who runs chains on how many threads, and returns what counts by now of what has
    /// waited, of each peer's chains those first that wait for least.
    fn pass(
        &mut self,
        now: Duration,
        threads: &BTreeMap<PeerId, u64>,
    ) -> Vec<(PeerId, ChainId, ChainCounters)> {
        for &peer in threads.keys() {
            self.account(now, peer);
        }
        for (peer, account) in &mut self.accounts {
            account.pass(now);
            account.threads = threads.get(peer).copied().unwrap_or(0);
            if account.threads > 0 {
                account.seen = now;
            }
        }
        let idle = |account: &Account| now.saturating_sub(account.seen) > CARRIED;
        self.accounts
            .retain(|_, account| !account.waiting.is_empty() || !idle(account));
        self.set_paces();
        let mut credited = Vec::new();
        for (&peer, account) in &mut self.accounts {
            account.pay(|chain, counters| credited.push((peer, chain, counters)));
        }
        credited
    }

    /// Lets every peer be some times as fast as the lower half of the others, as far as its threads go.
    fn set_paces(&mut self) {
        let mut shown: [Vec<(u64, PeerId)>; 6] = Default::default();
        for (&peer, account) in &self.accounts {
            for (shown, pace) in shown.iter_mut().zip(account.shown().into_iter().flatten()) {
                shown.push((pace, peer));
            }
        }
        for shown in &mut shown {
            shown.sort_unstable();
        }
        for (&peer, account) in &mut self.accounts {
            let own = account.shown();
            account.pace = std::array::from_fn(|at| {
                let of_a_thread = OF_A_THREAD[at];
                let most = of_a_thread.saturating_mul(account.threads.max(1));
                match median_of_others(&shown[at], own.map(|own| (own[at], peer))) {
                    None => most,
                    Some(others) => others
                        .saturating_mul(TIMES_OTHERS)
                        .clamp(of_a_thread / PART_OF_A_THREAD, most),
                }
            });
        }
    }

    /// Returns what was claimed of a chain and does not count yet.
    pub(super) fn waiting_of(&self, chain: ChainId) -> ChainCounters {
        let accounts = self.accounts.values();
        let waiting = accounts.filter_map(|account| account.waiting.get(&chain));
        waiting.fold(ChainCounters::default(), |sum, &one| sum.plus(one))
    }

    /// Returns what was claimed and does not count yet, by chain.
    pub(super) fn waiting(&self) -> BTreeMap<ChainId, ChainCounters> {
        let mut by_chain: BTreeMap<ChainId, ChainCounters> = BTreeMap::new();
        for (&chain, &waiting) in self.accounts.values().flat_map(|account| &account.waiting) {
            let sum = by_chain.entry(chain).or_default();
            *sum = sum.plus(waiting);
        }
        by_chain
    }

    /// Resumes with what waited before a restart, whoever had claimed it.
    pub(super) fn waited(waiting: impl IntoIterator<Item = (ChainId, ChainCounters)>) -> Self {
        let mut credits = Self::default();
        for (chain, counters) in waiting {
            let account = credits.account(Duration::ZERO, UNKNOWN);
            account.waiting.insert(chain, counters);
        }
        credits
    }
}

impl Account {
    /// A peer may begin with a second's work of a thread: nobody waits at the start.
    fn new(now: Duration) -> Self {
        Self {
            waiting: BTreeMap::new(),
            purse: OF_A_THREAD,
            pace: OF_A_THREAD,
            at: now,
            threads: 0,
            credited: [0; 6],
            busy: Duration::ZERO,
            seen: now,
        }
    }

    /// Returns its pace as far as it counts; none: it has to settle, or does not take part.
    fn shown(&self) -> Option<Figures> {
        let is_shown = self.threads > 0 && self.busy >= SETTLED;
        is_shown.then(|| {
            self.credited
                .map(|credited| per_second(credited, self.busy))
        })
    }

    /// Takes in the time that has passed.
    fn pass(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.at);
        self.at = now.max(self.at);
        if self.threads > 0 && self.credited != [0; 6] {
            self.busy += passed;
        }
        self.purse = std::array::from_fn(|at| {
            let most = in_time(self.pace[at], CARRIED).max(OF_A_THREAD[at]);
            let more = self.purse[at].saturating_add(in_time(self.pace[at], passed));
            more.min(most)
        });
    }

    /// Spends counters if all of them can be spent; returns whether they could.
    fn spend(&mut self, counters: ChainCounters) -> bool {
        let figures = counters.to_figures();
        let fits = self.purse.iter().zip(figures).all(|(&has, is)| is <= has);
        if fits {
            for (at, figure) in figures.into_iter().enumerate() {
                self.purse[at] -= figure;
                self.credited[at] = self.credited[at].saturating_add(figure);
            }
        }
        fits
    }

    /// Pays what has waited, as far as the purse goes.
    fn pay(&mut self, mut paid: impl FnMut(ChainId, ChainCounters)) {
        let mut order: Vec<(u64, ChainId)> = self
            .waiting
            .iter()
            .map(|(&chain, waiting)| (waiting.evaluations, chain))
            .collect();
        order.sort_unstable();
        for (_, chain) in order {
            let Some(&waiting) = self.waiting.get(&chain) else {
                continue;
            };
            let figures = waiting.to_figures();
            let part = std::array::from_fn(|at| figures[at].min(self.purse[at]));
            let part = ChainCounters::from_figures(part);
            if part == ChainCounters::default() {
                break;
            }
            self.spend(part);
            match waiting.since(part) {
                left if left == ChainCounters::default() => self.waiting.remove(&chain),
                left => self.waiting.insert(chain, left),
            };
            paid(chain, part);
        }
    }
}

/// Returns the lower median of what others show, in order; none: there are no others.
fn median_of_others(shown: &[(u64, PeerId)], own: Option<(u64, PeerId)>) -> Option<u64> {
    let own = own.and_then(|own| shown.binary_search(&own).ok());
    let others = shown.len() - usize::from(own.is_some());
    let middle = others.checked_sub(1)? / 2;
    let place = middle + usize::from(own.is_some_and(|own| own <= middle));
    shown.get(place).map(|&(pace, _)| pace)
}

fn in_time(pace: u64, time: Duration) -> u64 {
    let amount = u128::from(pace).saturating_mul(time.as_nanos()) / NANOS;
    u64::try_from(amount).unwrap_or(u64::MAX)
}

fn per_second(amount: u64, time: Duration) -> u64 {
    let pace = u128::from(amount).saturating_mul(NANOS) / time.as_nanos().max(1);
    u64::try_from(pace).unwrap_or(u64::MAX)
}

const NANOS: u128 = 1_000_000_000;

impl State {
    /// Takes what a worker process claims to have done on a chain: as much of it counts as can have
    /// been done. Returns whether all of it does. The coordinator's own process needs no such care.
    pub(super) fn claim(
        &mut self,
        now: Duration,
        (worker, peer): (Option<WorkerId>, Option<PeerId>),
        chain: ChainId,
        added: ChainCounters,
    ) -> bool {
        let credited = match peer {
            Some(peer) => self.credits.claim(now, peer, chain, added),
            None => added,
        };
        self.total = self.total.plus(credited);
        if let Some(worker) = worker {
            self.members.credit(now, worker, credited.evaluations);
        }
        credited == added
    }

    /// Returns who stands behind a worker process that has run a chain; none: this process.
    pub(super) fn peer_behind(
        &self,
        worker: Option<WorkerId>,
        incarnation: Incarnation,
        chain: ChainId,
    ) -> Option<PeerId> {
        if let Some(worker) = worker.and_then(|worker| self.members.get(worker)) {
            return worker.peer;
        }
        let holders = self.chains.get(&chain).map(|chain| &chain.holders);
        let known = holders.and_then(|all| all.iter().find(|(known, _)| *known == incarnation));
        known.map_or(Some(UNKNOWN), |&(_, peer)| peer)
    }

    /// Credits what has waited long enough.
    pub(super) fn look_at_claims(&mut self, now: Duration, commands: &mut Vec<Command>) {
        let looked_at = self.credits.looked_at;
        if looked_at.is_some_and(|at| now.saturating_sub(at) < LOOK_EVERY) {
            return;
        }
        self.credits.looked_at = Some(now);
        let threads = self.busy_threads();
        let credited = self.credits.pass(now, &threads);
        if credited.is_empty() {
            return;
        }
        for (peer, chain, counters) in credited {
            self.total = self.total.plus(counters);
            let held = self.chains.get(&chain).and_then(|it| it.held.as_ref());
            let holder = held.map(|held| held.by).filter(|&by| {
                let worker = self.members.get(by);
                worker.is_some_and(|worker| worker.peer == Some(peer))
            });
            if let Some(holder) = holder {
                self.members.credit(now, holder, counters.evaluations);
            }
        }
        self.check_budget(now, commands);
    }

    /// Returns on how many threads each peer runs chains: a thread without a chain does nothing.
    fn busy_threads(&self) -> BTreeMap<PeerId, u64> {
        let mut held: BTreeMap<WorkerId, u64> = BTreeMap::new();
        for chain in self.chains.values() {
            if let (Some(by), ChainStatus::Running) = (&chain.held, chain.status) {
                *held.entry(by.by).or_default() += 1;
            }
        }
        let mut threads: BTreeMap<PeerId, u64> = BTreeMap::new();
        for (worker, chains) in held {
            if let Some(worker) = self.members.get(worker)
                && let Some(peer) = worker.peer
            {
                *threads.entry(peer).or_default() += chains.min(worker.threads.into());
            }
        }
        threads
    }

    /// Returns whether a free-running chain that is said to have used up its share has, as far as its
    /// work counts.
    pub(super) fn has_used_its_share(&self, chain: ChainId, status: ChainStatus) -> bool {
        let claimed = self.chains.get(&chain).map(|chain| chain.counted.sum());
        let counted = claimed
            .unwrap_or_default()
            .since(self.credits.waiting_of(chain));
        match status {
            ChainStatus::Running | ChainStatus::Exhausted => true,
            ChainStatus::OutOfEvaluations => self
                .share_of(chain, self.plan.budget.evaluations, |it| it.evaluations)
                .is_some_and(|share| counted.evaluations.saturating_add(LAST_QUESTION) >= share),
            ChainStatus::OutOfIterations => self
                .share_of(chain, self.plan.budget.iterations, |it| it.iterations)
                .is_some_and(|share| counted.iterations >= share),
        }
    }

    /// Returns whether a lockstep round can hold a report: counters do not go back, nor beyond what a
    /// chain may do in all or can do in a round, and a share that is used up is.
    pub(super) fn fits_round(&self, report: &ChainReport) -> bool {
        let before = self.chains.get(&report.chain).map(|it| it.counted.sum());
        let (before, after) = (before.unwrap_or_default(), report.counters);
        let budget = &self.plan.budget;
        let evaluations = self.share_of(report.chain, budget.evaluations, |it| it.evaluations);
        let iterations = self.share_of(report.chain, budget.iterations, |it| it.iterations);
        let most = before.evaluations.saturating_add(self.plan.most_per_round);
        let within = |share: Option<u64>, before: u64, after: u64| {
            share.is_none_or(|share| after <= share.max(before))
        };
        (before.iterations..).contains(&after.iterations)
            && (before.evaluations..=most).contains(&after.evaluations)
            && within(evaluations, before.evaluations, after.evaluations)
            && within(iterations, before.iterations, after.iterations)
            && match report.status {
                ChainStatus::Running | ChainStatus::Exhausted => true,
                ChainStatus::OutOfEvaluations => evaluations
                    .is_some_and(|share| after.evaluations.saturating_add(LAST_QUESTION) >= share),
                ChainStatus::OutOfIterations => {
                    iterations.is_some_and(|share| after.iterations >= share)
                }
            }
    }

    /// Takes a chain from a worker whose report on it can't be true, and gives it to another, if there
    /// is one.
    pub(super) fn take_from_liar(&mut self, now: Duration, worker: WorkerId, chain: ChainId) {
        if let Some(worker) = self.members.get_mut(worker) {
            worker.standing.fail(now, self.plan.lease);
        }
        self.give_anew(worker, chain);
    }

    /// Gives a chain away again: it is said to be done, and is not.
    pub(super) fn give_anew(&mut self, worker: WorkerId, chain: ChainId) {
        self.pending_orders.remove(&(worker, chain));
        if let Some(chain) = self.chains.get_mut(&chain) {
            chain.held = None;
            chain.status = ChainStatus::Running;
        }
        self.rebalance(&[]);
    }
}
