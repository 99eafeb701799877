//! How many chains each member should run: every believed thread has one before any has two, and
//! nobody has more than its memory holds. Members on trial get little of what others could run.

use super::membership::{Membership, Worker};
use super::plan::ChainCount;
use rlbayes_common::ids::WorkerId;
use std::collections::BTreeMap;

/// A member among which chains are divided.
#[derive(Clone, Copy)]
struct Sharer {
    id: WorkerId,
    threads: usize,
    /// How many chains its memory holds.
    room: usize,
}

impl Membership {
    /// Returns how many chains each worker should run.
    pub(super) fn shares(&self, count: ChainCount, chains: usize) -> BTreeMap<WorkerId, usize> {
        match count {
            ChainCount::PerThread(each) => self
                .alive()
                .map(|(id, worker)| {
                    let usual = worker.believed() * each as usize;
                    (id, usual.min(worker.most_chains))
                })
                .collect(),
            ChainCount::Fixed(_) => self.shares_of(chains),
        }
    }

    /// Divides a number of chains among the workers. What fits nowhere is nobody's share.
    fn shares_of(&self, chains: usize) -> BTreeMap<WorkerId, usize> {
        let mut shares: BTreeMap<WorkerId, usize> = self.alive().map(|(id, _)| (id, 0)).collect();
        let sharers = |wanted: &dyn Fn(&Worker) -> bool| -> Vec<Sharer> {
            self.alive()
                .filter(|(_, worker)| wanted(worker))
                .map(|(id, worker)| Sharer {
                    id,
                    threads: worker.allowed_threads(),
                    room: worker.most_chains,
                })
                .collect()
        };
        let shown = sharers(&|worker| worker.standing.is_shown() && worker.most_chains > 0);
        if shown.is_empty() {
            // Somebody must run them.
            let mut all = sharers(&|worker| !worker.standing.waits());
            if all.is_empty() {
                all = sharers(&|_| true);
            }
            divide(chains, &all, &mut shares);
            return shares;
        }
        let mut on_trial: Vec<(u32, WorkerId)> = self
            .alive()
            .filter(|(_, worker)| worker.is_tried() && worker.most_chains > 0)
            .map(|(id, worker)| (worker.standing.failures, id))
            .collect();
        on_trial.sort_unstable();
        on_trial.truncate(match self.trials.are_paused() {
            true => 0,
            false => places_on_trial(chains),
        });
        for &(_, id) in &on_trial {
            shares.insert(id, 1);
        }
        divide(chains - on_trial.len(), &shown, &mut shares);
        shares
    }
}

/// Returns how many chains members on trial may have together: half as many as the others.
fn places_on_trial(chains: usize) -> usize {
    match chains {
        0 | 1 => 0,
        chains => (chains / 3).max(1),
    }
}

/// Adds chains to the shares: one for each thread in turn, then by threads.
fn divide(chains: usize, sharers: &[Sharer], shares: &mut BTreeMap<WorkerId, usize>) {
    let mut taken = vec![0; sharers.len()];
    let mut left = chains;
    let mut turn = 0;
    while left > 0 && sharers.iter().any(|one| one.threads.min(one.room) > turn) {
        for (one, taken) in sharers.iter().zip(&mut taken) {
            if left > 0 && one.threads.min(one.room) > turn {
                *taken += 1;
                left -= 1;
            }
        }
        turn += 1;
    }
    loop {
        let has_room = |(one, taken): &(&Sharer, &mut usize)| one.room > **taken;
        let open: Vec<(&Sharer, &mut usize)> =
            sharers.iter().zip(&mut taken).filter(has_room).collect();
        if left == 0 || open.is_empty() {
            break;
        }
        let threads: usize = open.iter().map(|(one, _)| one.threads).sum();
        // What does not divide evenly goes to the first workers.
        let part = |one: &Sharer| left * one.threads / threads.max(1);
        let whole: usize = open.iter().map(|(one, _)| part(one)).sum();
        let mut odd = left - whole;
        let mut given = 0;
        for (one, taken) in open {
            let extra = usize::from(odd > 0);
            odd -= extra;
            let more = (part(one) + extra).min(one.room - *taken);
            *taken += more;
            given += more;
        }
        left -= given;
    }
    for (one, taken) in sharers.iter().zip(taken) {
        *shares.entry(one.id).or_default() += taken;
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::ChainMemory;
    use super::super::standing::Standing;
    use super::*;
    use rlbayes_common::exchange::{Hello, Work};
    use rlbayes_common::ids::Incarnation;
    use std::time::Duration;

    const MEMORY: ChainMemory = ChainMemory {
        fixed: 20,
        caches: 10,
        per_chain: 10,
    };

    /// Members with threads and memory, and whether they have shown these.
    fn members(workers: &[(u32, Option<u64>, bool)]) -> Membership {
        let mut members = Membership::default();
        for (&(threads, memory, is_shown), number) in workers.iter().zip(1..) {
            let hello = Hello {
                incarnation: Incarnation(number),
                replaces: None,
                host: "here".into(),
                threads,
                memory,
                program_version: "1".into(),
                chains: Vec::new(),
                search: None,
                work: Work::Search,
                peer: None,
            };
            let mut standing = Standing::ON_TRIAL;
            standing.vouch(if is_shown { threads } else { 0 });
            let lease = Duration::from_secs(10);
            let entered = members.enter(Duration::ZERO, lease, &hello, MEMORY, standing);
            entered.unwrap();
        }
        members
    }

    fn fixed(workers: &[(u32, bool)], chains: usize) -> Vec<usize> {
        let workers = workers.iter();
        let workers: Vec<(u32, Option<u64>, bool)> = workers
            .map(|&(threads, is_shown)| (threads, None, is_shown))
            .collect();
        let shares = members(&workers).shares(ChainCount::Fixed(0), chains);
        shares.into_values().collect()
    }

    #[test]
    fn nobody_gets_more_chains_than_its_memory_holds() {
        let of = |workers: &[(u32, Option<u64>, bool)], count, chains| -> Vec<usize> {
            members(workers)
                .shares(count, chains)
                .into_values()
                .collect()
        };
        // Room for 2 chains, for none, and for any number.
        let some = [(2, Some(59), true), (1, Some(29), true), (1, None, true)];
        assert_eq!(of(&some, ChainCount::PerThread(8), 0), [2, 0, 8]);
        // A fixed number goes where there is room.
        assert_eq!(of(&some, ChainCount::Fixed(9), 9), [2, 0, 7]);
        // What fits nowhere waits for a worker.
        let small = [(2, Some(59), true), (1, Some(49), true)];
        assert_eq!(of(&small, ChainCount::Fixed(9), 9), [2, 1]);
    }

    #[test]
    fn every_thread_has_a_chain_before_any_has_two() {
        assert_eq!(fixed(&[(2, true), (65_536, true)], 8), [2, 6]);
        assert_eq!(fixed(&[(65_536, true), (1, true), (1, true)], 8), [6, 1, 1]);
        assert_eq!(fixed(&[(2, true), (2, true)], 8), [4, 4]);
        assert_eq!(fixed(&[(1, true), (3, true)], 8), [2, 6]);
        assert_eq!(fixed(&[(4, true), (4, true)], 3), [2, 1]);
    }

    #[test]
    fn members_on_trial_get_one_chain_and_few_in_all() {
        assert_eq!(fixed(&[(2, true), (65_536, false)], 8), [7, 1]);
        let crowd: Vec<(u32, bool)> = std::iter::once((2, true))
            .chain(std::iter::repeat_n((64, false), 100))
            .collect();
        let shares = fixed(&crowd, 8);
        assert_eq!((shares[0], shares.iter().sum::<usize>()), (6, 8));
        assert_eq!(fixed(&[(1, true), (1, false)], 2), [1, 1]);
        assert_eq!(fixed(&[(1, true), (1, false)], 1), [1, 0]);
        // Without anybody else they run what there is.
        assert_eq!(fixed(&[(64, false), (2, false)], 8), [4, 4]);
    }
}
