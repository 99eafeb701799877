//! How well peers behave, by the rows of theirs that were refused. A peer is known by what it cannot
//! choose (`peer.rs`). Several workers may share an address, so that one of them must not cost the
//! others their place: a worker with a good record of its own, rows that were accepted and hardly any
//! that were refused, is judged by that record.

use crate::peer::Peer;
use rlbayes_common::ids::Incarnation;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// Refused rows after which a peer, or a worker of its own, is refused.
pub(crate) const MAX_REFUSED_ROWS: u32 = 100;
/// A peer's refused rows are forgotten at this rate per second.
const FORGIVEN_PER_SECOND: f64 = 1.0;
/// Refused rows with which a record is still good.
const GOOD_RECORD: u32 = 3;
/// Maximum number of peers and of workers that are remembered.
const MAX_REMEMBERED: usize = 4096;

/// How somebody is to be treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Its rows are checked.
    Fair,
    /// Too many rows of its peer were refused of late; it may try again later.
    Later,
    /// Too many of its own were: it does not work as it should.
    Never,
}

/// The records of peers and of their workers.
#[derive(Debug, Default)]
pub(crate) struct Standing(Mutex<Records>);

#[derive(Debug, Default)]
struct Records {
    peers: BTreeMap<Peer, Misdeeds>,
    workers: BTreeMap<Incarnation, Record>,
}

/// Refused rows of a peer, as of a moment.
#[derive(Debug)]
struct Misdeeds {
    rows: f64,
    at: Instant,
}

#[derive(Clone, Copy, Debug, Default)]
struct Record {
    accepted: u32,
    refused: u32,
}

impl Misdeeds {
    fn now(&self, now: Instant) -> f64 {
        let forgiven = FORGIVEN_PER_SECOND * (now - self.at).as_secs_f64();
        (self.rows - forgiven).max(0.0)
    }
}

impl Standing {
    /// Notes what became of the rows of a call.
    pub(crate) fn note(&self, peer: &Peer, worker: Incarnation, accepted: u32, refused: u32) {
        let mut records = self.lock();
        let now = Instant::now();
        if refused > 0 {
            let peers = &mut records.peers;
            make_room(peers, peer, |misdeeds| misdeeds.now(now) < 1.0);
            let misdeeds = peers
                .entry(peer.clone())
                .or_insert(Misdeeds { rows: 0.0, at: now });
            let most = 2.0 * f64::from(MAX_REFUSED_ROWS);
            misdeeds.rows = (misdeeds.now(now) + f64::from(refused)).min(most);
            misdeeds.at = now;
        }
        if accepted > 0 || refused > 0 {
            let workers = &mut records.workers;
            make_room(workers, &worker, |record| record.refused > 0);
            let record = workers.entry(worker).or_default();
            record.accepted = record.accepted.saturating_add(accepted);
            record.refused = record.refused.saturating_add(refused);
        }
    }

    /// Returns how a worker of a peer is to be treated. One that runs chains has a good record to begin
    /// with.
    #[must_use]
    pub(crate) fn treatment(
        &self,
        peer: &Peer,
        worker: Incarnation,
        runs_chains: bool,
    ) -> Treatment {
        let records = self.lock();
        let own = records.workers.get(&worker).copied().unwrap_or_default();
        let has_good_record = (own.accepted > 0 || runs_chains) && own.refused <= GOOD_RECORD;
        let limit = f64::from(MAX_REFUSED_ROWS);
        let of_peer = records.peers.get(peer);
        let is_offender = of_peer.is_some_and(|it| it.now(Instant::now()) > limit);
        if own.refused > MAX_REFUSED_ROWS {
            Treatment::Never
        } else if is_offender && !has_good_record {
            Treatment::Later
        } else {
            Treatment::Fair
        }
    }

    fn lock(&self) -> MutexGuard<'_, Records> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets those that may go first, and everybody else if that is not enough.
fn make_room<K: Ord, V>(of: &mut BTreeMap<K, V>, key: &K, may_go: impl Fn(&V) -> bool) {
    if of.len() >= MAX_REMEMBERED && !of.contains_key(key) {
        of.retain(|_, value| !may_go(value));
        if of.len() >= MAX_REMEMBERED {
            of.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn peer(last: u8) -> Peer {
        Peer::at([10, 0, 0, last].into())
    }

    #[tokio::test(start_paused = true)]
    async fn an_offender_is_known_whatever_number_it_draws_and_forgiven_in_time() {
        let standing = Standing::default();
        for drawn in 0..=u64::from(MAX_REFUSED_ROWS) {
            assert_eq!(
                standing.treatment(&peer(1), Incarnation(drawn), false),
                Treatment::Fair
            );
            standing.note(&peer(1), Incarnation(drawn), 0, 1);
        }
        let treated = |who, drawn| standing.treatment(&peer(who), Incarnation(drawn), false);
        assert_eq!(treated(1, 9999), Treatment::Later);
        assert_eq!(treated(2, 9999), Treatment::Fair, "another address");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(treated(1, 9999), Treatment::Fair);
    }

    #[tokio::test(start_paused = true)]
    async fn a_good_worker_at_the_address_of_an_offender_is_not_refused() {
        let standing = Standing::default();
        standing.note(&peer(1), Incarnation(7), 5, 1);
        standing.note(&peer(1), Incarnation(8), 0, 10_000);
        let treated = |drawn| standing.treatment(&peer(1), Incarnation(drawn), false);
        assert_eq!(treated(7), Treatment::Fair);
        assert_eq!(treated(8), Treatment::Never);
        assert_eq!(treated(9), Treatment::Later);
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_runs_chains_may_begin_beside_an_offender() {
        let standing = Standing::default();
        standing.note(&peer(1), Incarnation(8), 0, 200);
        let treated = |runs| standing.treatment(&peer(1), Incarnation(9), runs);
        assert_eq!(treated(false), Treatment::Later);
        assert_eq!(treated(true), Treatment::Fair);
        standing.note(&peer(1), Incarnation(9), 0, GOOD_RECORD + 1);
        let treated = standing.treatment(&peer(1), Incarnation(9), true);
        assert_eq!(treated, Treatment::Later);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded() {
        let standing = Standing::default();
        for number in 0..3 * MAX_REMEMBERED {
            let [a, b, c, d] = u32::try_from(number).unwrap().to_be_bytes();
            let peer = Peer::at([a, b, c, d].into());
            standing.note(&peer, Incarnation(number as u64), 1, 1);
            let records = standing.lock();
            assert!(records.peers.len() <= MAX_REMEMBERED);
            assert!(records.workers.len() <= MAX_REMEMBERED);
        }
    }
}
