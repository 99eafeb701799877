//! The members: workers with leases, and which of them runs which chain. Nothing here is stored:
//! after a restart workers join again and name the chains that they run.

use super::plan::ChainCount;
use rlbayes_common::exchange::{Hello, WorkerStatistics};
use rlbayes_common::ids::{ChainId, Incarnation, WorkerId};
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
}

/// A worker process.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub(super) incarnation: Incarnation,
    pub(super) host: String,
    pub(super) threads: u32,
    pub(super) program_version: String,
    pub(super) alive_until: Duration,
    pub(super) is_alive: bool,
    pub(super) last_exchange: Duration,
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
    /// Makes a worker a member, or finds it again by its incarnation; none if there are too many.
    pub(super) fn enter(
        &mut self,
        now: Duration,
        lease: Duration,
        hello: &Hello,
    ) -> Option<(WorkerId, Entered)> {
        let known = self
            .workers
            .iter()
            .find(|(_, worker)| worker.incarnation == hello.incarnation)
            .map(|(&id, _)| id);
        if known.is_none() && self.alive().count() >= MAX_WORKERS {
            return None;
        }
        let id = known.unwrap_or_else(|| {
            self.last_id += 1;
            WorkerId(self.last_id)
        });
        let evaluations = self.workers.get(&id).map_or(0, |before| before.evaluations);
        self.workers.insert(
            id,
            Worker {
                incarnation: hello.incarnation,
                host: hello.host.clone(),
                threads: hello.threads.max(1),
                program_version: hello.program_version.clone(),
                alive_until: now + lease,
                is_alive: true,
                last_exchange: now,
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

    /// Returns whether a process is a member, or was one and is still remembered.
    pub(super) fn has_joined(&self, incarnation: Incarnation) -> bool {
        self.all()
            .any(|(_, worker)| worker.incarnation == incarnation)
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

    /// Returns how many chains each worker should run.
    fn shares(&self, count: ChainCount, chains: usize) -> BTreeMap<WorkerId, usize> {
        let alive: Vec<(WorkerId, usize)> = self
            .alive()
            .map(|(id, worker)| (id, worker.threads as usize))
            .collect();
        match count {
            ChainCount::PerThread(each) => alive
                .into_iter()
                .map(|(id, threads)| (id, threads * each as usize))
                .collect(),
            ChainCount::Fixed(_) => {
                let threads: usize = alive.iter().map(|(_, threads)| threads).sum();
                let mut shares: BTreeMap<WorkerId, usize> = alive
                    .iter()
                    .map(|&(id, own)| (id, chains * own / threads.max(1)))
                    .collect();
                // What does not divide evenly goes to the first workers.
                let mut left = chains - shares.values().sum::<usize>();
                for share in shares.values_mut() {
                    if left > 0 {
                        *share += 1;
                        left -= 1;
                    }
                }
                shares
            }
        }
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

    fn hello(incarnation: u64, threads: u32) -> Hello {
        Hello {
            incarnation: Incarnation(incarnation),
            replaces: None,
            host: "here".into(),
            threads,
            program_version: "1".into(),
            chains: Vec::new(),
            search: None,
            work: Work::Search,
        }
    }

    fn with_threads(threads: &[u32]) -> Membership {
        let mut members = Membership::default();
        for (at, &threads) in threads.iter().enumerate() {
            let hello = hello(at as u64 + 1, threads);
            members.enter(Duration::ZERO, LEASE, &hello).unwrap();
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
    fn the_memory_of_workers_that_went_is_bounded() {
        let mut members = Membership::default();
        for incarnation in 1..500 {
            let hello = hello(incarnation, 1);
            let (id, _) = members.enter(Duration::ZERO, LEASE, &hello).unwrap();
            members.end(id);
        }
        assert_eq!(members.all().count(), REMEMBERED);
    }
}
