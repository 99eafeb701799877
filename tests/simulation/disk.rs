//! A disk in memory for the journal. What was not synced is lost in a crash, or half of it is; a
//! disk may also die in the middle of a write, or refuse for a while.

use redb::{Database, DatabaseError, StorageBackend};
use rlbayes_common::ids::Seed;
use rlbayes_common::random::Random;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// A disk; clones are the same disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk(Arc<Mutex<Platter>>);

#[derive(Debug, Default)]
struct Platter {
    /// What is read.
    seen: Vec<u8>,
    /// What a crash leaves at least.
    durable: Vec<u8>,
    unsynced: Vec<Change>,
    /// How often it has crashed: what was opened before reads and writes no more.
    crashes: u64,
    /// Writes and syncs until power fails.
    dies_after: Option<u32>,
    refuses: bool,
}

#[derive(Debug)]
enum Change {
    Length(usize),
    Bytes(usize, Vec<u8>),
}

/// The disk as one opened database sees it.
#[derive(Debug)]
struct Opened {
    disk: Disk,
    crashes: u64,
}

impl Disk {
    /// Opens the database on it.
    pub(crate) fn open(&self) -> Result<Database, DatabaseError> {
        let backend = Opened {
            disk: self.clone(),
            crashes: self.platter().crashes,
        };
        Database::builder()
            .set_cache_size(1 << 20)
            .create_with_backend(backend)
    }

    /// Power fails: of what was not synced each write is lost or not.
    pub(crate) fn crash(&self, draw: Seed) {
        let mut random = Random::new(draw);
        let mut platter = self.platter();
        let unsynced = std::mem::take(&mut platter.unsynced);
        for change in unsynced {
            if matches!(change, Change::Length(_)) || random.chance(0.5) {
                change.make(&mut platter.durable);
            }
        }
        platter.seen = platter.durable.clone();
        platter.crashes += 1;
        platter.dies_after = None;
        platter.refuses = false;
    }

    /// Lets power fail after so many further writes and syncs.
    pub(crate) fn die_after(&self, operations: u32) {
        self.platter().dies_after = Some(operations);
    }

    /// Returns whether power has failed.
    pub(crate) fn is_dead(&self) -> bool {
        self.platter().dies_after == Some(0)
    }

    /// Returns whether reads and writes succeed.
    pub(crate) fn is_well(&self) -> bool {
        !self.is_dead() && !self.platter().refuses
    }

    /// Returns how many bytes are on it.
    pub(crate) fn bytes(&self) -> usize {
        self.platter().seen.len()
    }

    /// Lets every write fail, or none.
    pub(crate) fn refuse(&self, refuses: bool) {
        self.platter().refuses = refuses;
    }

    fn platter(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().unwrap()
    }
}

impl Change {
    fn make(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Length(length) => bytes.resize(*length, 0),
            Self::Bytes(at, written) => {
                let end = at + written.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*at..end].copy_from_slice(written);
            }
        }
    }
}

impl Opened {
    fn platter(&self) -> io::Result<MutexGuard<'_, Platter>> {
        let platter = self.disk.platter();
        if platter.crashes != self.crashes {
            return Err(io::Error::other("the machine has crashed"));
        }
        Ok(platter)
    }

    fn changing(&self) -> io::Result<MutexGuard<'_, Platter>> {
        let mut platter = self.platter()?;
        if let Some(left) = &mut platter.dies_after {
            *left = left.saturating_sub(1);
            if *left == 0 {
                return Err(io::Error::other("power has failed"));
            }
        }
        if platter.refuses {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(platter)
    }

    fn change(&self, change: Change) -> io::Result<()> {
        let mut platter = self.changing()?;
        change.make(&mut platter.seen);
        platter.unsynced.push(change);
        Ok(())
    }
}

fn position(at: u64) -> io::Result<usize> {
    usize::try_from(at).map_err(io::Error::other)
}

impl StorageBackend for Opened {
    fn len(&self) -> io::Result<u64> {
        Ok(self.platter()?.seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let platter = self.platter()?;
        let at = position(offset)?;
        let found = platter.seen.get(at..at + out.len());
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.change(Change::Length(position(length)?))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut platter = self.changing()?;
        for change in std::mem::take(&mut platter.unsynced) {
            change.make(&mut platter.durable);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(Change::Bytes(position(offset)?, data.to_vec()))
    }
}

#[test]
fn a_crash_loses_what_was_not_synced_and_nothing_else() {
    let disk = Disk::default();
    let open = || Opened {
        disk: disk.clone(),
        crashes: disk.platter().crashes,
    };
    let before = open();
    before.write(0, b"kept").unwrap();
    before.sync_data().unwrap();
    before.write(0, b"lost").unwrap();
    // The first draw of this seed loses the write.
    disk.crash(Seed(1));
    assert!(before.write(0, b"late").is_err());
    let mut found = [0; 4];
    open().read(0, &mut found).unwrap();
    assert_eq!(&found, b"kept");
    disk.die_after(2);
    let after = open();
    after.write(0, b"half").unwrap();
    assert!(!disk.is_dead() && after.sync_data().is_err() && disk.is_dead());
}
