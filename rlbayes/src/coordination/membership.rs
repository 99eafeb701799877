//! The members: workers with leases, and which of them runs which chain. Nothing here is stored:
//! after a restart workers join again and name the chains that they run.

use super::plan::{ChainCount, ChainMemory};
use super::standing::{Standing, Trials};
use rlbayes_common::exchange::{Hello, WorkerStatistics};
use rlbayes_common::ids::{ChainId, Incarnation, PeerId, WorkerId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Maximum number of members at a time.
pub const MAX_WORKERS: usize = 4096;
/// Maximum number of chains of a search.
pub const MAX_CHAINS: u32 = 65_536;
/// How many workers that left or were lost the status still shows.
const REMEMBERED: usize = 32;
/// Over how long a worker's speed is measured.
const RATE_WINDOW: Duration = Duration::from_secs(3);

/// The workers of a search.
#[derive(Debug, Default)]
pub(super) struct Membership {
    workers: BTreeMap<WorkerId, Worker>,
    last_id: u64,
    /// Workers that were lost and may rejoin.
    lost: BTreeSet<Incarnation>,
    pub(super) trials: Trials,
}

/// A worker process.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub(super) incarnation: Incarnation,
    pub(super) peer: Option<PeerId>,
    pub(super) host: String,
    pub(super) threads: u32,
    /// How many chains fit into its memory.
    pub(super) most_chains: usize,
    pub(super) program_version: String,
    pub(super) alive_until: Duration,
    pub(super) is_alive: bool,
    pub(super) last_exchange: Duration,
    /// When it last reported on a chain that it held.
    pub(super) last_report: Duration,
    pub(super) standing: Standing,
    pub(super) statistics: WorkerStatistics,
    evaluations: u64,
    rated_at: Duration,
    rated_evaluations: u64,
    rate: f64,
}

/// Assigns a chain to another worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) chain: ChainId,
    pub(super) to: WorkerId,
}

impl Membership {
    /// Makes a worker a member with a standing, or finds it again by its incarnation, with that of
    /// before; none if there are too many.
    pub(super) fn enter(
        &mut self,
        now: Duration,
        lease: Duration,
        hello: &Hello,
        chain_memory: ChainMemory,
        standing: Standing,
    ) -> Option<(WorkerId, Entered)> {
        let known = self
            .workers
            .iter()
            .find(|(_, worker)| worker.incarnation == hello.incarnation)
            .map(|(&id, _)| id);
        if known.is_none() && self.is_full() {
            return None;
        }
        let id = known.unwrap_or_else(|| {
            self.last_id += 1;
            WorkerId(self.last_id)
        });
        let fitting = hello.memory.map(|bytes| chain_memory.most_chains(bytes));
        let before = self.workers.get(&id);
        let evaluations = before.map_or(0, |before| before.evaluations);
        let standing = before.map_or(standing, |before| before.standing);
        self.workers.insert(
            id,
            Worker {
                incarnation: hello.incarnation,
                peer: hello.peer,
                host: hello.host.clone(),
                threads: hello.threads.max(1),
                most_chains: fitting.map_or(usize::MAX, |chains| chains as usize),
                program_version: hello.program_version.clone(),
                alive_until: now + lease,
                is_alive: true,
                last_exchange: now,
                last_report: now,
                standing,
                statistics: WorkerStatistics::default(),
                evaluations,
                rated_at: now,
                rated_evaluations: evaluations,
                rate: 0.0,
            },
        );
        let entered = if known.is_some() {
            Entered::Again
        } else {
            Entered::New
        };
        Some((id, entered))
    }

    /// Renews a worker's lease; returns whether it is a member.
    pub(super) fn renew(
        &mut self,
        now: Duration,
        lease: Duration,
        id: WorkerId,
        incarnation: Incarnation,
        statistics: WorkerStatistics,
    ) -> bool {
        match self.workers.get_mut(&id) {
            Some(worker) if worker.incarnation == incarnation && worker.is_alive => {
                worker.alive_until = now + lease;
                worker.last_exchange = now;
                worker.statistics = statistics;
                true
            }
            _ => false,
        }
    }

    /// Counts a worker's work.
    pub(super) fn credit(&mut self, now: Duration, id: WorkerId, evaluations: u64) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.evaluations += evaluations;
            let since = now.saturating_sub(worker.rated_at);
            if since >= RATE_WINDOW {
                #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
                let done = (worker.evaluations - worker.rated_evaluations) as f64;
                worker.rate = done / since.as_secs_f64();
                worker.rated_at = now;
                worker.rated_evaluations = worker.evaluations;
            }
        }
    }

    /// Returns whether there is no place for another member.
    pub(super) fn is_full(&self) -> bool {
        self.alive().count() >= MAX_WORKERS
    }

    /// Returns the member that a newcomer may take the place of: of those that have never reported on
    /// a chain, the one that has been silent longest.
    pub(super) fn most_idle(&self) -> Option<WorkerId> {
        self.alive()
            .filter(|(_, worker)| !worker.standing.has_reported)
            .min_by_key(|(_, worker)| worker.last_exchange)
            .map(|(id, _)| id)
    }

    /// Notes that a member has reported on a chain that it holds.
    pub(super) fn note_report(&mut self, now: Duration, id: WorkerId) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.last_report = now;
            worker.standing.has_reported = true;
        }
    }

    /// Returns a worker, member or not, to be changed.
    pub(super) fn get_mut(&mut self, id: WorkerId) -> Option<&mut Worker> {
        self.workers.get_mut(&id)
    }

    /// Ends the pauses that are over; returns whether there were some.
    pub(super) fn end_waits(&mut self, now: Duration) -> bool {
        let mut any = self.trials.end_pause(now);
        for worker in self.workers.values_mut().filter(|worker| worker.is_alive) {
            any |= worker.standing.end_wait(now);
        }
        any
    }

    /// Ends a worker's membership.
    pub(super) fn end(&mut self, id: WorkerId) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.is_alive = false;
        }
        let gone: Vec<WorkerId> = self
            .workers
            .iter()
            .filter(|(_, worker)| !worker.is_alive)
            .map(|(&id, _)| id)
            .collect();
        for id in gone.iter().rev().skip(REMEMBERED) {
            self.workers.remove(id);
        }
    }

    /// Notes that a worker was lost.
    pub(super) fn note_lost(&mut self, id: WorkerId) {
        if let Some(worker) = self.workers.get(&id)
            && self.lost.len() < MAX_WORKERS
        {
            self.lost.insert(worker.incarnation);
        }
    }

    /// Notes that a worker is no longer lost: it has rejoined, has left, or was restarted.
    pub(super) fn stop_awaiting(&mut self, incarnation: Incarnation) {
        self.lost.remove(&incarnation);
    }

    /// Returns whether there are members, or lost workers that may rejoin.
    pub(super) fn awaits_any(&self) -> bool {
        self.alive().next().is_some() || !self.lost.is_empty()
    }

    /// Returns the workers whose lease has run out.
    pub(super) fn overdue(&self, now: Duration) -> Vec<WorkerId> {
        self.alive()
            .filter(|(_, worker)| worker.alive_until < now)
            .map(|(id, _)| id)
            .collect()
    }

    /// Returns the members, by number.
    pub(super) fn alive(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.all().filter(|(_, worker)| worker.is_alive)
    }

    /// Returns all workers, including those that left or were lost.
    pub(super) fn all(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.workers.iter().map(|(&id, worker)| (id, worker))
    }

    /// Returns whether a worker is a member under an incarnation.
    pub(super) fn has(&self, id: WorkerId, incarnation: Incarnation) -> bool {
        self.workers
            .get(&id)
            .is_some_and(|worker| worker.is_alive && worker.incarnation == incarnation)
    }

    /// Returns a worker, member or not.
    pub(super) fn get(&self, id: WorkerId) -> Option<&Worker> {
        self.workers.get(&id)
    }

    /// Finds a member by its incarnation.
    pub(super) fn find(&self, incarnation: Incarnation) -> Option<WorkerId> {
        self.alive()
            .find(|(_, worker)| worker.incarnation == incarnation)
            .map(|(id, _)| id)
    }

    /// Decides which chains go to which worker. `holders` are the chains that can run, with the
    /// workers that have them; `done` is the number of a worker's finished chains, which are not
    /// replaced by new ones; chains that `wanted` names for a worker go there if they are free.
    pub(super) fn rebalance(
        &self,
        count: ChainCount,
        holders: &BTreeMap<ChainId, Option<WorkerId>>,
        done: &BTreeMap<WorkerId, usize>,
        wanted: &[(WorkerId, ChainId)],
        mut new_chain: impl FnMut() -> Option<ChainId>,
    ) -> Vec<Move> {
        let mut shares = self.shares(count, holders.len());
        let mut free: BTreeSet<ChainId> = BTreeSet::new();
        for (&chain, holder) in holders {
            match holder.and_then(|holder| shares.get_mut(&holder)) {
                // More than its share: the surplus is free for others, if others want it.
                Some(0) | None => {
                    free.insert(chain);
                }
                Some(share) => *share -= 1,
            }
        }
        let mut moves = Vec::new();
        for &(worker, chain) in wanted {
            if let Some(share @ 1..) = shares.get_mut(&worker)
                && free.remove(&chain)
            {
                *share -= 1;
                moves.push(Move { chain, to: worker });
            }
        }
        for (&worker, share) in &mut shares {
            let done = done.get(&worker).copied().unwrap_or(0);
            while *share > 0 {
                let chain = match free.pop_first() {
                    None if *share > done => new_chain(),
                    free => free,
                };
                let Some(chain) = chain else {
                    break;
                };
                *share -= 1;
                moves.push(Move { chain, to: worker });
            }
        }
        moves.retain(|step| holders.get(&step.chain).copied().flatten() != Some(step.to));
        moves
    }
}

/// Whether a worker is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entered {
    /// It is.
    New,
    /// It was known by its incarnation.
    Again,
}

impl Worker {
    /// Returns how many threads it may have chains for now.
    pub(super) fn believed(&self) -> usize {
        match self.standing.waits() {
            true => 0,
            false => self.allowed_threads(),
        }
    }

    /// Returns how many of its threads are believed, also while it is to be given nothing.
    pub(super) fn allowed_threads(&self) -> usize {
        self.standing.believed(self.threads) as usize
    }

    /// Returns whether it is on trial now.
    pub(super) fn is_tried(&self) -> bool {
        !self.standing.is_shown() && !self.standing.waits()
    }

    /// Returns recent evaluations per second.
    pub(super) fn rate(&self) -> f64 {
        if self.is_alive { self.rate } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlbayes_common::exchange::Work;

    const LEASE: Duration = Duration::from_secs(10);
    const MEMORY: ChainMemory = ChainMemory {
        fixed: 20,
        caches: 10,
        per_chain: 10,
    };

    fn hello(incarnation: u64, threads: u32) -> Hello {
        Hello {
            incarnation: Incarnation(incarnation),
            replaces: None,
            host: "here".into(),
            threads,
            memory: None,
            program_version: "1".into(),
            chains: Vec::new(),
            search: None,
            work: Work::Search,
            peer: None,
        }
    }

    fn with_threads(threads: &[u32]) -> Membership {
        let mut members = Membership::default();
        for (at, &threads) in threads.iter().enumerate() {
            let hello = hello(at as u64 + 1, threads);
            let mut standing = Standing::ON_TRIAL;
            standing.vouch(threads);
            let entered = members.enter(Duration::ZERO, LEASE, &hello, MEMORY, standing);
            entered.unwrap();
        }
        members
    }

    fn held(by: &[Option<u64>]) -> BTreeMap<ChainId, Option<WorkerId>> {
        (0..)
            .map(ChainId)
            .zip(by.iter().map(|holder| holder.map(WorkerId)))
            .collect()
    }

    fn moves_of(
        members: &Membership,
        count: ChainCount,
        by: &[Option<u64>],
        wanted: &[(u64, u32)],
    ) -> Vec<(u32, u64)> {
        let wanted: Vec<(WorkerId, ChainId)> = wanted
            .iter()
            .map(|&(worker, chain)| (WorkerId(worker), ChainId(chain)))
            .collect();
        let mut next = u32::try_from(by.len()).unwrap();
        let mut moves: Vec<(u32, u64)> = members
            .rebalance(count, &held(by), &BTreeMap::new(), &wanted, || {
                next += 1;
                Some(ChainId(next - 1))
            })
            .into_iter()
            .map(|step| (step.chain.0, step.to.0))
            .collect();
        moves.sort_unstable();
        moves
    }

    #[test]
    fn a_fixed_number_of_chains_is_shared_by_threads() {
        let fixed = ChainCount::Fixed(8);
        let one = with_threads(&[2]);
        let all: Vec<(u32, u64)> = (0..8).map(|chain| (chain, 1)).collect();
        assert_eq!(moves_of(&one, fixed, &[None; 8], &[]), all);
        // A second worker with as many threads takes half of them, and only that.
        let two = with_threads(&[2, 2]);
        let moves = moves_of(&two, fixed, &[Some(1); 8], &[]);
        assert_eq!(moves, [(4, 2), (5, 2), (6, 2), (7, 2)]);
        let even = [
            Some(1),
            Some(1),
            Some(1),
            Some(1),
            Some(2),
            Some(2),
            Some(2),
            Some(2),
        ];
        assert_eq!(moves_of(&two, fixed, &even, &[]), []);
    }

    #[test]
    fn what_a_lost_worker_had_goes_to_the_others() {
        let mut members = with_threads(&[1, 1, 1]);
        members.end(WorkerId(2));
        let by = [Some(1), Some(1), Some(2), Some(2), Some(3), Some(3)];
        let moves = moves_of(&members, ChainCount::Fixed(6), &by, &[]);
        assert_eq!(moves, [(2, 1), (3, 3)]);
    }

    #[test]
    fn a_worker_that_comes_back_gets_the_chains_that_it_has() {
        let members = with_threads(&[1, 1]);
        let moves = moves_of(
            &members,
            ChainCount::Fixed(4),
            &[None; 4],
            &[(2, 0), (2, 3), (2, 1)],
        );
        assert_eq!(moves, [(0, 2), (1, 1), (2, 1), (3, 2)]);
    }

    #[test]
    fn chains_grow_with_the_threads_where_the_number_is_open() {
        let members = with_threads(&[1, 2]);
        let moves = moves_of(&members, ChainCount::PerThread(2), &[], &[]);
        assert_eq!(moves, [(0, 1), (1, 1), (2, 2), (3, 2), (4, 2), (5, 2)]);
        // Chains of a worker that left are reassigned before new ones are made.
        let moves = moves_of(
            &members,
            ChainCount::PerThread(1),
            &[Some(1), None, Some(9)],
            &[],
        );
        assert_eq!(moves, [(1, 2), (2, 2)]);
    }

    #[test]
    fn one_chain_does_without_caches_and_less_than_that_holds_none() {
        let fitting = [29, 30, 49, 50].map(|memory| MEMORY.most_chains(memory));
        assert_eq!(fitting, [0, 1, 1, 2]);
    }

    #[test]
    fn chains_that_fit_nowhere_go_nowhere() {
        let mut members = Membership::default();
        for (number, threads, memory) in [(1, 2, 59), (2, 1, 49)] {
            let hello = Hello {
                memory: Some(memory),
                ..hello(number, threads)
            };
            let mut standing = Standing::ON_TRIAL;
            standing.vouch(threads);
            let entered = members.enter(Duration::ZERO, LEASE, &hello, MEMORY, standing);
            entered.unwrap();
        }
        let fixed = ChainCount::Fixed(9);
        let moves = moves_of(&members, fixed, &[None; 9], &[(1, 0), (1, 1), (1, 2)]);
        assert_eq!(moves, [(0, 1), (1, 1), (2, 2)]);
    }

    #[test]
    fn the_memory_of_workers_that_went_is_bounded() {
        let mut members = Membership::default();
        for incarnation in 1..500 {
            let hello = hello(incarnation, 1);
            let entered = members.enter(Duration::ZERO, LEASE, &hello, MEMORY, Standing::ON_TRIAL);
            let (id, _) = entered.unwrap();
            members.end(id);
        }
        assert_eq!(members.all().count(), REMEMBERED);
    }
}
