//! Uploaded states of lockstep chains that no accepted report has named yet. Their total size is
//! limited; while they arrive, by what callers may bring (`admission.rs`).

use rlbayes_common::exchange::Snapshot;
use rlbayes_common::ids::ChainId;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Total size of the states that wait for their report.
const MAX_WAITING_BYTES: u64 = 2 << 30;

/// The states that were uploaded.
#[derive(Debug, Default)]
pub(crate) struct Uploads {
    /// The last one of each chain.
    held: Mutex<BTreeMap<ChainId, Upload>>,
}

/// Once a report that names it was accepted, the search's state holds it too; it stays here in case
/// the report is repeated.
#[derive(Debug)]
struct Upload {
    snapshot: Snapshot,
    has_counted: bool,
}

impl Uploads {
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

    /// Shares its bytes with every other one of the same length.
    fn states(count: u32, bytes: usize) -> impl Iterator<Item = (ChainId, Snapshot)> {
        let snapshot = Snapshot::new(vec![7; bytes]);
        (0..count).map(move |chain| (ChainId(chain), snapshot.clone()))
    }

    #[test]
    fn states_that_no_report_has_named_are_bounded_and_those_that_counted_are_not_among_them() {
        let uploads = Uploads::default();
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
}
