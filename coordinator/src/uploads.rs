//! Uploaded states of lockstep chains that no accepted report has named yet. Their total size is
//! limited, both while they arrive and while they wait.

use rlbayes_common::exchange::Snapshot;
use rlbayes_common::ids::ChainId;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Total size of the states that wait for their report.
const MAX_WAITING_BYTES: u64 = 2 << 30;
/// Total size of the uploads in progress; further uploads wait.
const MAX_INCOMING_KIB: usize = 256 << 10;

/// The states that were uploaded.
#[derive(Debug)]
pub(crate) struct Uploads {
    /// The last one of each chain.
    held: Mutex<BTreeMap<ChainId, Upload>>,
    room: Semaphore,
}

/// Once a report that names it was accepted, the search's state holds it too; it stays here in case
/// the report is repeated.
#[derive(Debug)]
struct Upload {
    snapshot: Snapshot,
    has_counted: bool,
}

impl Uploads {
    pub(crate) fn new() -> Self {
        Self {
            held: Mutex::default(),
            room: Semaphore::new(MAX_INCOMING_KIB),
        }
    }

    /// Waits until there is room for an upload; the room is kept until the permit is dropped.
    pub(crate) async fn room_for(&self, bytes: u64) -> Option<SemaphorePermit<'_>> {
        let kib = u32::try_from(bytes.div_ceil(1 << 10)).ok()?;
        self.room.acquire_many(kib).await.ok()
    }

    /// Keeps a chain's state until a report names it; false if too many are waiting already.
    #[must_use]
    pub(crate) fn keep(&self, chain: ChainId, snapshot: Snapshot) -> bool {
        let mut held = self.lock();
        let others = held.iter().filter(|&(&other, _)| other != chain);
        let waiting: u64 = others
            .filter(|(_, upload)| !upload.has_counted)
            .map(|(_, upload)| upload.snapshot.bytes().len() as u64)
            .sum();
        if waiting + snapshot.bytes().len() as u64 > MAX_WAITING_BYTES {
            return false;
        }
        held.insert(
            chain,
            Upload {
                snapshot,
                has_counted: false,
            },
        );
        true
    }

    /// Returns the state that a report names.
    pub(crate) fn named(&self, chain: ChainId, digest: [u8; 32]) -> Option<Snapshot> {
        let held = self.lock();
        let upload = held.get(&chain)?;
        (upload.snapshot.digest() == digest).then(|| upload.snapshot.clone())
    }

    /// Notes that a report that names the state was accepted.
    pub(crate) fn count(&self, chain: ChainId, digest: [u8; 32]) {
        if let Some(upload) = self.lock().get_mut(&chain)
            && upload.snapshot.digest() == digest
        {
            upload.has_counted = true;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ChainId, Upload>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Shares its bytes with every other one of the same length.
    fn states(count: u32, bytes: usize) -> impl Iterator<Item = (ChainId, Snapshot)> {
        let snapshot = Snapshot::new(vec![7; bytes]);
        (0..count).map(move |chain| (ChainId(chain), snapshot.clone()))
    }

    #[test]
    fn states_that_no_report_has_named_are_bounded_and_those_that_counted_are_not_among_them() {
        let uploads = Uploads::new();
        let mut kept = 0;
        for (chain, state) in states(40, 64 << 20) {
            kept += u64::from(uploads.keep(chain, state));
        }
        assert_eq!(kept, MAX_WAITING_BYTES >> 26);
        let (first, state) = states(1, 64 << 20).next().unwrap();
        assert!(uploads.keep(first, state.clone()), "the same chain's again");
        uploads.count(first, [0; 32]);
        assert!(!uploads.keep(ChainId(39), state.clone()), "another state");
        uploads.count(first, state.digest());
        assert!(uploads.keep(ChainId(39), state.clone()));
        assert_eq!(uploads.named(ChainId(39), state.digest()), Some(state));
        assert_eq!(uploads.named(ChainId(39), [0; 32]), None);
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_room_waits_for_it() {
        let uploads = Uploads::new();
        let mut coming = Vec::new();
        for _ in 0..4 {
            coming.push(uploads.room_for(64 << 20).await.unwrap());
        }
        let second = Duration::from_secs(1);
        let fifth = tokio::time::timeout(second, uploads.room_for(1)).await;
        assert!(fifth.is_err(), "there is room");
        coming.pop();
        assert!(uploads.room_for(64 << 20).await.is_some());
    }
}
