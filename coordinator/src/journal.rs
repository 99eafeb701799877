//! The search on disk: what it is, how far it has come, and the rows of its pool. A write is
//! durable when the call returns. Rows are stored one by one under (chain, why, key) and merged
//! again when they are read, so that a journal needs no order and no repair of its own.

use crate::state::Record;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use rlbayes_common::elite::{EliteRow, Found, Keying, Pool};
use rlbayes_common::ids::ChainId;
use rlbayes_common::score::LogScore;
use rlbayes_common::search::StoppedBy;
use rlbayes_common::snapshot::{SnapshotError, decode_row, encode_row};
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

const SETTINGS: TableDefinition<'_, &str, &str> = TableDefinition::new("settings");
const PROGRESS: TableDefinition<'_, &str, u64> = TableDefinition::new("progress");
/// (chain, why, key of the row) -> sealed row.
const ROWS: TableDefinition<'_, (u32, u8, [u8; 32]), &[u8]> = TableDefinition::new("rows");

const ELAPSED: &str = "elapsed_micros";
const RECORD_SCORE: &str = "record_score_bits";
const RECORD_AT: &str = "record_at_micros";
const RECORD_EVALUATIONS: &str = "record_evaluations";
const STOPPED_BY: &str = "stopped_by";

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    database: Database,
}

/// What a journal tells of an earlier run.
#[derive(Debug)]
pub struct Stored {
    /// What the search is: settings by name.
    pub settings: Vec<(String, String)>,
    /// The pool.
    pub pool: Pool,
    /// Time spent searching.
    pub elapsed: Duration,
    /// When the best row was found.
    pub record: Option<Record>,
    /// Why the search ended, if it did.
    pub stopped_by: Option<StoppedBy>,
}

/// Why a journal can't be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The database refused.
    #[error("the journal cannot be used: {0}")]
    Database(#[from] redb::Error),
    /// A row in it is damaged.
    #[error("a row of the journal cannot be read: {0}")]
    Row(#[from] SnapshotError),
    /// Another process uses it.
    #[error("the journal is in use by another process")]
    InUse,
}

impl Stored {
    /// Returns what a search has before it begins.
    #[must_use]
    pub fn none(keying: Keying) -> Self {
        Self {
            settings: Vec::new(),
            pool: Pool::new(keying),
            elapsed: Duration::ZERO,
            record: None,
            stopped_by: None,
        }
    }
}

impl Journal {
    /// Opens a journal or makes a new one.
    ///
    /// # Errors
    /// If the file is no journal, is damaged, or another process has it open.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        match Database::create(path) {
            Ok(database) => Ok(Self { database }),
            Err(redb::DatabaseError::DatabaseAlreadyOpen) => Err(JournalError::InUse),
            Err(error) => Err(JournalError::Database(error.into())),
        }
    }

    /// Reads the stored search; none if the journal is new. Where the stored settings are not the
    /// expected ones (ordered by name), only they are read.
    ///
    /// # Errors
    /// If the journal is damaged.
    pub fn load(
        &self,
        expected: &[(String, String)],
        nodes: usize,
        keying: Keying,
    ) -> Result<Option<Stored>, JournalError> {
        let read = self.database.begin_read().map_err(redb::Error::from)?;
        let settings = match read.open_table(SETTINGS) {
            Ok(table) => table,
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(JournalError::Database(error.into())),
        };
        let mut stored = Stored::none(keying);
        for entry in settings.iter().map_err(redb::Error::from)? {
            let (name, value) = entry.map_err(redb::Error::from)?;
            stored
                .settings
                .push((name.value().to_owned(), value.value().to_owned()));
        }
        let other_search = stored.settings != *expected;
        if other_search {
            // Its rows may have another size; whoever asks compares the settings.
            return Ok(Some(stored));
        }
        let progress = read.open_table(PROGRESS).map_err(redb::Error::from)?;
        let number = |name: &str| -> Result<Option<u64>, JournalError> {
            Ok(progress
                .get(name)
                .map_err(redb::Error::from)?
                .map(|value| value.value()))
        };
        stored.elapsed = Duration::from_micros(number(ELAPSED)?.unwrap_or(0));
        if let (Some(bits), Some(at), Some(evaluations)) = (
            number(RECORD_SCORE)?,
            number(RECORD_AT)?,
            number(RECORD_EVALUATIONS)?,
        ) && let Some(score) = LogScore::checked(f64::from_bits(bits))
        {
            stored.record = Some(Record {
                score,
                at: Duration::from_micros(at),
                evaluations,
            });
        }
        stored.stopped_by = number(STOPPED_BY)?
            .and_then(|at| StoppedBy::ALL.get(usize::try_from(at).ok()?).copied());
        let rows = read.open_table(ROWS).map_err(redb::Error::from)?;
        for entry in rows.iter().map_err(redb::Error::from)? {
            let (key, bytes) = entry.map_err(redb::Error::from)?;
            let (chain, why, _) = key.value();
            let row = decode_row(bytes.value(), nodes)?;
            stored.pool.merge(ChainId(chain), found_of(why), &row);
        }
        Ok(Some(stored))
    }

    /// Begins a new search: whatever was stored before is gone.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn begin(&self, settings: &[(String, String)]) -> Result<(), JournalError> {
        self.write(|write| {
            write.delete_table(SETTINGS)?;
            write.delete_table(PROGRESS)?;
            write.delete_table(ROWS)?;
            let mut table = write.open_table(SETTINGS)?;
            for (name, value) in settings {
                table.insert(name.as_str(), value.as_str())?;
            }
            write.open_table(PROGRESS)?;
            write.open_table(ROWS)?;
            Ok(())
        })
    }

    /// Adds rows that changed the pool, and the record.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn add(
        &self,
        keying: Keying,
        rows: &[(ChainId, Found, EliteRow)],
    ) -> Result<(), JournalError> {
        self.write(|write| {
            let mut table = write.open_table(ROWS)?;
            for (chain, found, row) in rows {
                let key = (chain.0, number_of(*found), keying.key(row).0);
                table.insert(key, encode_row(row).as_slice())?;
            }
            Ok(())
        })
    }

    /// Stores how far the search has come and drops rows that the pool no longer has.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn checkpoint(
        &self,
        pool: &Pool,
        elapsed: Duration,
        record: Option<&Record>,
        stopped_by: Option<StoppedBy>,
    ) -> Result<(), JournalError> {
        self.write(|write| {
            let mut progress = write.open_table(PROGRESS)?;
            progress.insert(ELAPSED, micros(elapsed))?;
            if let Some(record) = record {
                progress.insert(RECORD_SCORE, record.score.value().to_bits())?;
                progress.insert(RECORD_AT, micros(record.at))?;
                progress.insert(RECORD_EVALUATIONS, record.evaluations)?;
            }
            match stopped_by.and_then(|reason| StoppedBy::ALL.iter().position(|&r| r == reason)) {
                Some(at) => progress.insert(STOPPED_BY, at as u64)?,
                None => progress.remove(STOPPED_BY)?,
            };
            let keying = pool.keying();
            let kept: std::collections::BTreeSet<_> = pool
                .rows()
                .into_iter()
                .map(|row| keying.key(row).0)
                .collect();
            write
                .open_table(ROWS)?
                .retain(|(_, _, key), _| kept.contains(&key))?;
            Ok(())
        })
    }

    fn write(
        &self,
        change: impl FnOnce(&redb::WriteTransaction) -> Result<(), redb::Error>,
    ) -> Result<(), JournalError> {
        let write = self.database.begin_write().map_err(redb::Error::from)?;
        change(&write)?;
        write.commit().map_err(redb::Error::from)?;
        Ok(())
    }
}

fn number_of(found: Found) -> u8 {
    match found {
        Found::Best => 0,
        Found::Stalled => 1,
    }
}

fn found_of(number: u8) -> Found {
    if number == 1 {
        Found::Stalled
    } else {
        Found::Best
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlbayes_common::elite::Structure;
    use rlbayes_common::graph::Dag;
    use rlbayes_common::ids::NodeIdx;

    fn row(a: usize, b: usize, score: f64) -> EliteRow {
        let dag = Dag::from_edges(4, [(NodeIdx::new(a), NodeIdx::new(b))]).unwrap();
        EliteRow {
            structure: Structure::of(&dag),
            score: LogScore::new(score),
        }
    }

    #[test]
    fn a_reopened_journal_gives_back_pool_and_progress() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.redb");
        let settings = vec![("seed".to_owned(), "1".to_owned())];
        let rows = vec![
            (ChainId(0), Found::Best, row(0, 1, -5.0)),
            (ChainId(1), Found::Stalled, row(1, 2, -6.0)),
        ];
        let mut pool = Pool::new(Keying::ByClass);
        for (chain, found, row) in &rows {
            pool.merge(*chain, *found, row);
        }
        let record = Record {
            score: LogScore::new(-5.0),
            at: Duration::from_millis(1500),
            evaluations: 99,
        };
        {
            let journal = Journal::open(&path).unwrap();
            assert!(
                journal
                    .load(&settings, 4, Keying::ByClass)
                    .unwrap()
                    .is_none()
            );
            journal.begin(&settings).unwrap();
            journal.add(Keying::ByClass, &rows).unwrap();
            let reason = Some(StoppedBy::Target);
            journal
                .checkpoint(&pool, Duration::from_secs(2), Some(&record), reason)
                .unwrap();
        }
        let journal = Journal::open(&path).unwrap();
        let stored = journal
            .load(&settings, 4, Keying::ByClass)
            .unwrap()
            .unwrap();
        assert_eq!(stored.settings, settings);
        assert_eq!(stored.pool, pool);
        assert_eq!(stored.elapsed, Duration::from_secs(2));
        assert_eq!(stored.record, Some(record));
        assert_eq!(stored.stopped_by, Some(StoppedBy::Target));
    }

    #[test]
    fn rows_that_the_pool_dropped_leave_the_journal() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(&folder.path().join("journal.redb")).unwrap();
        journal.begin(&[]).unwrap();
        let mut pool = Pool::new(Keying::ByClass);
        let better = row(0, 1, -5.0);
        pool.merge(ChainId(0), Found::Best, &better);
        let rows = [
            (ChainId(0), Found::Best, row(2, 3, -9.0)),
            (ChainId(0), Found::Best, better.clone()),
        ];
        journal.add(Keying::ByClass, &rows).unwrap();
        journal
            .checkpoint(&pool, Duration::ZERO, None, None)
            .unwrap();
        let stored = journal.load(&[], 4, Keying::ByClass).unwrap().unwrap();
        assert_eq!(stored.pool.rows(), vec![&better]);
    }

    #[test]
    fn a_file_that_is_no_journal_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.redb");
        std::fs::write(&path, b"not a database at all").unwrap();
        assert!(matches!(
            Journal::open(&path),
            Err(JournalError::Database(_))
        ));
    }
}
