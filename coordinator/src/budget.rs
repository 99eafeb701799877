//! Bytes that calls make the coordinator hold, bounded over all callers, with a share for each peer or
//! member.
//! A call that finds no room is refused, not kept waiting: whoever waits holds memory too.

use crate::peer::Peer;
use rlbayes_common::ids::WorkerId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whose share it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Payer {
    /// All that call as a peer.
    Peer(Peer),
    /// A worker that runs chains.
    Member(WorkerId),
}

/// What all calls may hold.
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    share: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    total: usize,
    of: BTreeMap<Payer, usize>,
}

/// What one call holds; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    budget: Arc<Budget>,
    payer: Payer,
    bytes: usize,
}

impl Budget {
    /// Makes a budget; one payer may have half of it.
    #[must_use]
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Self::with_share(most, most / 2)
    }

    /// Makes a budget with a share of which one payer may have no more.
    #[must_use]
    pub(crate) fn with_share(most: usize, share: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            share,
            held: Mutex::default(),
        })
    }

    /// Returns a hold of nothing, which can grow.
    #[must_use]
    pub(crate) fn hold(self: &Arc<Self>, payer: Payer) -> Hold {
        Hold {
            budget: Arc::clone(self),
            payer,
            bytes: 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hold {
    /// Takes more; false: there is no room for it, and nothing has changed.
    #[must_use]
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let Budget { most, share, .. } = *self.budget;
        let mut held = self.budget.lock();
        let own = held.of.get(&self.payer).copied().unwrap_or(0);
        if bytes > share.saturating_sub(own) || bytes > most.saturating_sub(held.total) {
            return false;
        }
        held.total += bytes;
        held.of.insert(self.payer.clone(), own + bytes);
        self.bytes += bytes;
        true
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut held = self.budget.lock();
        held.total -= self.bytes;
        if let Some(own) = held.of.get_mut(&self.payer) {
            *own -= self.bytes;
            if *own == 0 {
                held.of.remove(&self.payer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn peer(last: u8) -> Payer {
        Payer::Peer(Peer::at([10, 0, 0, last].into()))
    }

    #[test]
    fn one_peer_leaves_room_for_others() {
        let budget = Budget::new(100);
        let mut greedy: Vec<Hold> = (0..20).map(|_| budget.hold(peer(1))).collect();
        let taken = greedy
            .iter_mut()
            .filter_map(|hold| hold.grow(10).then_some(()));
        assert_eq!(taken.count(), 5);
        let mut other = budget.hold(peer(2));
        assert!(other.grow(50) && !other.grow(1));
        greedy.clear();
        assert_eq!(budget.lock().total, 50);
    }

    proptest! {
        #[test]
        fn what_is_held_is_the_sum_of_holds_and_never_too_much(
            steps in prop::collection::vec((0u8..4, 0usize..40, any::<bool>()), 1..60),
        ) {
            let budget = Budget::new(100);
            let mut holds: Vec<(u8, Hold)> = Vec::new();
            for (who, bytes, drops) in steps {
                if drops && !holds.is_empty() {
                    holds.swap_remove(bytes % holds.len());
                }
                let mut hold = budget.hold(peer(who));
                if hold.grow(bytes) {
                    holds.push((who, hold));
                }
                let sum: usize = holds.iter().map(|(_, hold)| hold.bytes).sum();
                prop_assert_eq!(sum, budget.lock().total);
                prop_assert!(sum <= 100);
                for who in 0..4 {
                    let own = holds.iter().filter(|(by, _)| *by == who);
                    prop_assert!(own.map(|(_, hold)| hold.bytes).sum::<usize>() <= 50);
                }
            }
            holds.clear();
            prop_assert_eq!(budget.lock().total, 0);
            prop_assert!(budget.lock().of.is_empty());
        }
    }
}
