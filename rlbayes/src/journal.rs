//! The search on disk: what it is, how far it has come, the rows of its pool and, in lockstep, its
//! chains. A batch is durable when the call returns, whole or not at all. Rows are stored one by
//! one under (chain, why, key) and merged again when they are read, so that a journal needs no
//! order and no repair of its own.
//!
//! After a failed write the database is closed; the next write opens it again.

mod file_format;

use crate::bootstrap::Replicate;
use crate::coordination::{Progress, Record, Stored};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use rlbayes_common::elite::{EliteRow, Found, Keying, Pool};
use rlbayes_common::exchange::{ChainCounters, StoredChain};
use rlbayes_common::failpoint;
use rlbayes_common::files::open_private;
use rlbayes_common::graph::StructureKey;
use rlbayes_common::ids::{ChainId, Incarnation, Round};
use rlbayes_common::score::LogScore;
use rlbayes_common::search::StoppedBy;
use rlbayes_common::snapshot::{
    SnapshotError, decode_row, decode_stored_chain, encode_row, encode_stored_chain,
};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use thiserror::Error;

const SETTINGS: TableDefinition<'_, &str, &str> = TableDefinition::new("settings");
const PROGRESS: TableDefinition<'_, &str, u64> = TableDefinition::new("progress");
/// (chain, why, key of the row) -> sealed row; a row of all chains is under the first one.
const ROWS: TableDefinition<'_, (u32, u8, [u8; 32]), &[u8]> = TableDefinition::new("rows");
/// (chain, place among its worker processes) -> the process, and what it has done.
const INCARNATIONS: TableDefinition<'_, (u32, u32), (u64, [u64; 6])> =
    TableDefinition::new("incarnations");
/// (chain, place among them) -> a process whose work is part of the sum.
const RETIRED: TableDefinition<'_, (u32, u32), u64> = TableDefinition::new("retired");
/// chain -> what workers claim to have done on it and does not count yet.
const WAITING: TableDefinition<'_, u32, [u64; 6]> = TableDefinition::new("waiting");
/// chain -> sealed state at the last barrier.
const CHAINS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("chains");

/// number of a replicate -> whether its first climb was within its evaluations, and the sealed row.
const REPLICATES: TableDefinition<'_, u32, (bool, &[u8])> = TableDefinition::new("replicates");

/// The format of what is stored; a journal of a later one is refused and left as it is.
const FORMAT: u64 = 1;

/// Pages that the database keeps in memory: what is stored is written often and read once.
const CACHE_BYTES: usize = 8 << 20;

/// An open journal.
pub struct Journal {
    open: Box<dyn Fn() -> Result<Database, redb::DatabaseError> + Send>,
    database: Option<Database>,
    /// Whether the database has dropped its last write, which was damaged or not whole.
    has_gone_back: Arc<AtomicBool>,
    /// Worker processes as they are stored; none where that is not known.
    written: Option<Processes>,
}

/// Worker processes, which are stored one by one, by their places.
#[derive(Debug, Default)]
struct Processes {
    incarnations: Vec<(ChainId, Incarnation, ChainCounters)>,
    retired: Vec<(ChainId, Incarnation)>,
    waiting: Vec<(ChainId, ChainCounters)>,
}

/// What is written at once.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Rows that changed the pool.
    pub rows: Vec<(ChainId, Found, EliteRow)>,
    /// The best over all chains, where they are not among the rows of a chain (any more).
    pub overall: Vec<EliteRow>,
    /// Lockstep chains as they stand.
    pub chains: Vec<(ChainId, StoredChain)>,
    /// How far the search has come.
    pub progress: Option<Progress>,
    /// Replicates of a bootstrap that are done.
    pub replicates: Vec<(u32, Arc<Replicate>)>,
    /// The keys of the pool's rows: others are dropped. None: nothing is dropped.
    pub keep_only: Option<BTreeSet<StructureKey>>,
}

/// What a journal holds.
#[derive(Debug)]
pub struct Loaded {
    /// What the search is: settings by name.
    pub settings: Vec<(String, String)>,
    /// The search; none where the settings are not the expected ones.
    pub stored: Option<Stored>,
}

/// Why a journal can't be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The database refused.
    #[error("the journal cannot be used: {0}")]
    Database(#[from] redb::Error),
    /// Something in it is damaged.
    #[error("an entry of the journal cannot be read: {0}")]
    Entry(#[from] SnapshotError),
    /// A newer program wrote it.
    #[error(
        "the journal was written by a newer version of RLBayes (its format is {0}, this version reads {FORMAT})"
    )]
    Newer(u64),
    /// A newer program wrote it, with a database that writes its file in another way.
    #[error(
        "the journal was written by a newer version of RLBayes (the format of its file is {0}, this version reads {newest})", newest = file_format::NEWEST
    )]
    NewerFile(u8),
    /// Another process uses it.
    #[error("the journal is in use by another process")]
    InUse,
    /// It is so damaged that the database gave up.
    #[error("the journal is damaged")]
    Damaged,
}

impl JournalError {
    /// Returns whether the file's content is to blame, rather than the disk, rights or another
    /// process: then nothing is left to be lost by setting it aside.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        use std::io::ErrorKind::{InvalidData, UnexpectedEof};
        match self {
            Self::Entry(error) => !error.is_other_version(),
            Self::Damaged => true,
            Self::InUse | Self::Newer(_) | Self::NewerFile(_) => false,
            Self::Database(error) => match error {
                redb::Error::Io(error) => matches!(error.kind(), InvalidData | UnexpectedEof),
                redb::Error::DatabaseAlreadyOpen
                | redb::Error::DatabaseClosed
                | redb::Error::UpgradeRequired(_)
                | redb::Error::PreviousIo => false,
                _ => true,
            },
        }
    }
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread reads a journal that may be damaged: the database panics on some
/// damage, and such a panic is an answer, not a bug.
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Reads with the database's panics as errors.
fn guarded<T>(read: impl FnOnce() -> Result<T, JournalError>) -> Result<T, JournalError> {
    let before = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(before);
    done.unwrap_or(Err(JournalError::Damaged))
}

impl Batch {
    /// Returns whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
            && self.overall.is_empty()
            && self.chains.is_empty()
            && self.replicates.is_empty()
            && self.progress.is_none()
            && self.keep_only.is_none()
    }
}

impl Journal {
    /// Opens a journal or makes a new one.
    ///
    /// # Errors
    /// If the file is not a journal, is damaged or of a newer format, or another process has it open.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        if let Some(format) = file_format::newer(path) {
            return Err(JournalError::NewerFile(format));
        }
        let path = path.to_owned();
        Self::watched(move |has_gone_back| {
            let file = open_private(&path).map_err(redb::StorageError::from)?;
            builder(has_gone_back).create_file(file)
        })
    }

    /// Opens a journal by a function that can be called again after a failed write.
    ///
    /// # Errors
    /// As the function does.
    pub fn with(
        open: impl Fn() -> Result<Database, redb::DatabaseError> + Send + 'static,
    ) -> Result<Self, JournalError> {
        Self::watched(move |_| open())
    }

    /// See [`Self::with`]; the function notes whether the database has dropped its last write.
    fn watched(
        open: impl Fn(&Arc<AtomicBool>) -> Result<Database, redb::DatabaseError> + Send + 'static,
    ) -> Result<Self, JournalError> {
        let has_gone_back = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&has_gone_back);
        let mut journal = Self {
            open: Box::new(move || open(&noted)),
            database: None,
            has_gone_back,
            written: None,
        };
        // Pages that are read without this check are believed, whatever they hold.
        let checked = guarded(|| {
            journal.database()?;
            if let Some(database) = &mut journal.database {
                let is_whole = database.check_integrity().map_err(redb::Error::from)?;
                if !is_whole {
                    journal.has_gone_back.store(true, Relaxed);
                }
            }
            Ok(())
        });
        if checked.is_err() {
            journal.close();
        }
        checked.map(|()| journal)
    }

    /// Returns whether the last write was damaged, or not whole, and was dropped when the journal was
    /// opened: what it held is lost.
    #[must_use]
    pub fn has_gone_back(&self) -> bool {
        self.has_gone_back.load(Relaxed)
    }

    fn database(&mut self) -> Result<&Database, JournalError> {
        if self.database.is_none() {
            let opened = (self.open)().map_err(|error| match error {
                redb::DatabaseError::DatabaseAlreadyOpen => JournalError::InUse,
                error => JournalError::Database(error.into()),
            })?;
            self.database = Some(opened);
        }
        self.database
            .as_ref()
            .ok_or(JournalError::Database(redb::Error::DatabaseClosed))
    }

    /// Reads what is stored; none if the journal is new. Where the stored settings are not the
    /// expected ones (ordered by name), only they are read.
    ///
    /// # Errors
    /// If the journal is damaged.
    pub fn load(
        &mut self,
        expected: &[(String, String)],
        nodes: usize,
        keying: Keying,
    ) -> Result<Option<Loaded>, JournalError> {
        let loaded = guarded(|| self.load_unguarded(expected, nodes, keying));
        if loaded.is_err() {
            // Closing writes, and what it writes may be damaged too.
            self.close();
        }
        loaded
    }

    fn close(&mut self) {
        let database = self.database.take();
        // What closing says about a damaged database is known already.
        let _ = guarded(|| {
            drop(database);
            Ok(())
        });
    }

    fn load_unguarded(
        &mut self,
        expected: &[(String, String)],
        nodes: usize,
        keying: Keying,
    ) -> Result<Option<Loaded>, JournalError> {
        let read = self.database()?.begin_read().map_err(redb::Error::from)?;
        let table = match read.open_table(SETTINGS) {
            Ok(table) => table,
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(JournalError::Database(error.into())),
        };
        let mut settings = Vec::new();
        for entry in table.iter().map_err(redb::Error::from)? {
            let (name, value) = entry.map_err(redb::Error::from)?;
            settings.push((name.value().to_owned(), value.value().to_owned()));
        }
        let mut numbers = BTreeMap::new();
        let table = read.open_table(PROGRESS).map_err(redb::Error::from)?;
        for entry in table.iter().map_err(redb::Error::from)? {
            let (name, value) = entry.map_err(redb::Error::from)?;
            numbers.insert(name.value().to_owned(), value.value());
        }
        if let Some(&format) = numbers.get("format")
            && format > FORMAT
        {
            return Err(JournalError::Newer(format));
        }
        if settings != *expected {
            // Its rows may have another size; whoever asks compares the settings.
            return Ok(Some(Loaded {
                settings,
                stored: None,
            }));
        }
        let mut pool = Pool::new(keying);
        let rows = read.open_table(ROWS).map_err(redb::Error::from)?;
        for entry in rows.iter().map_err(redb::Error::from)? {
            let (key, bytes) = entry.map_err(redb::Error::from)?;
            let (chain, why, _) = key.value();
            let row = decode_row(bytes.value(), nodes)?;
            match found_of(why) {
                Some(found) => {
                    pool.merge(ChainId(chain), found, &row);
                }
                None => {
                    pool.merge_overall(&row);
                }
            }
        }
        let mut chains = BTreeMap::new();
        let table = read.open_table(CHAINS).map_err(redb::Error::from)?;
        for entry in table.iter().map_err(redb::Error::from)? {
            let (chain, bytes) = entry.map_err(redb::Error::from)?;
            let stored = decode_stored_chain(bytes.value(), nodes)?;
            chains.insert(ChainId(chain.value()), stored);
        }
        let mut progress = progress_of(&numbers);
        match read.open_table(INCARNATIONS) {
            Ok(table) => {
                for entry in table.iter().map_err(redb::Error::from)? {
                    let (key, value) = entry.map_err(redb::Error::from)?;
                    let ((chain, _), (incarnation, done)) = (key.value(), value.value());
                    let incarnation = (
                        ChainId(chain),
                        Incarnation(incarnation),
                        ChainCounters::from_figures(done),
                    );
                    progress.incarnations.push(incarnation);
                }
            }
            // A journal of before there was the table.
            Err(redb::TableError::TableDoesNotExist(_)) => {}
            Err(error) => return Err(JournalError::Database(error.into())),
        }
        match read.open_table(RETIRED) {
            Ok(table) => {
                for entry in table.iter().map_err(redb::Error::from)? {
                    let (key, incarnation) = entry.map_err(redb::Error::from)?;
                    let (chain, _) = key.value();
                    let incarnation = (ChainId(chain), Incarnation(incarnation.value()));
                    progress.retired.push(incarnation);
                }
            }
            Err(redb::TableError::TableDoesNotExist(_)) => {}
            Err(error) => return Err(JournalError::Database(error.into())),
        }
        match read.open_table(WAITING) {
            Ok(table) => {
                for entry in table.iter().map_err(redb::Error::from)? {
                    let (chain, figures) = entry.map_err(redb::Error::from)?;
                    let waiting = ChainCounters::from_figures(figures.value());
                    progress.waiting.push((ChainId(chain.value()), waiting));
                }
            }
            Err(redb::TableError::TableDoesNotExist(_)) => {}
            Err(error) => return Err(JournalError::Database(error.into())),
        }
        let mut replicates = BTreeMap::new();
        match read.open_table(REPLICATES) {
            Ok(table) => {
                for entry in table.iter().map_err(redb::Error::from)? {
                    let (number, value) = entry.map_err(redb::Error::from)?;
                    let (finished, bytes) = value.value();
                    let EliteRow { structure, score } = decode_row(bytes, nodes)?;
                    let replicate = Replicate {
                        structure,
                        score,
                        finished,
                    };
                    replicates.insert(number.value(), Arc::new(replicate));
                }
            }
            Err(redb::TableError::TableDoesNotExist(_)) => {}
            Err(error) => return Err(JournalError::Database(error.into())),
        }
        Ok(Some(Loaded {
            settings,
            stored: Some(Stored {
                replicates,
                pool,
                progress,
                chains,
            }),
        }))
    }

    /// Begins a new search: whatever was stored before is gone.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn begin(&mut self, settings: &[(String, String)]) -> Result<(), JournalError> {
        failpoint::pass("journal-before-begin");
        self.written = None;
        self.transact(|write| {
            write.delete_table(SETTINGS)?;
            write.delete_table(PROGRESS)?;
            write.delete_table(INCARNATIONS)?;
            write.delete_table(RETIRED)?;
            write.delete_table(ROWS)?;
            write.delete_table(CHAINS)?;
            write.delete_table(REPLICATES)?;
            let mut table = write.open_table(SETTINGS)?;
            for (name, value) in settings {
                table.insert(name.as_str(), value.as_str())?;
            }
            write.open_table(PROGRESS)?;
            write.open_table(ROWS)?;
            write.open_table(CHAINS)?;
            failpoint::pass("journal-in-begin");
            Ok(())
        })?;
        failpoint::pass("journal-after-begin");
        Ok(())
    }

    /// Writes a batch; when the call returns it is on disk.
    ///
    /// # Errors
    /// If the disk refuses: then nothing of the batch is stored.
    pub fn write(&mut self, keying: Keying, batch: &Batch) -> Result<(), JournalError> {
        if batch.is_empty() {
            return Ok(());
        }
        failpoint::pass("journal-before-write");
        // If the write fails, all of them are written the next time.
        let before = match batch.progress {
            Some(_) => self.written.take(),
            None => None,
        };
        self.transact(|write| {
            let mut rows = write.open_table(ROWS)?;
            for (chain, found, row) in &batch.rows {
                let key = (chain.0, number_of(*found), keying.key(row).0);
                rows.insert(key, encode_row(row).as_slice())?;
            }
            for row in &batch.overall {
                let key = (0, OVERALL, keying.key(row).0);
                rows.insert(key, encode_row(row).as_slice())?;
            }
            if let Some(kept) = &batch.keep_only {
                rows.retain(|(_, _, key), _| kept.contains(&StructureKey(key)))?;
            }
            let mut chains = write.open_table(CHAINS)?;
            for (chain, stored) in &batch.chains {
                chains.insert(chain.0, encode_stored_chain(stored).as_slice())?;
            }
            if !batch.replicates.is_empty() {
                let mut table = write.open_table(REPLICATES)?;
                for (number, replicate) in &batch.replicates {
                    let row = encode_row(&EliteRow {
                        structure: replicate.structure.clone(),
                        score: replicate.score,
                    });
                    table.insert(number, (replicate.finished, row.as_slice()))?;
                }
            }
            if let Some(progress) = &batch.progress {
                let mut table = write.open_table(PROGRESS)?;
                for (name, value) in numbers_of(progress) {
                    match value {
                        Some(value) => table.insert(name, value)?,
                        None => table.remove(name)?,
                    };
                }
                if before.is_none() {
                    write.delete_table(INCARNATIONS)?;
                    write.delete_table(RETIRED)?;
                    write.delete_table(WAITING)?;
                }
                let before = before.unwrap_or_default();
                let mut table = write.open_table(INCARNATIONS)?;
                let (old, new) = (&before.incarnations, &progress.incarnations);
                for (at, place) in changed_places(old, new) {
                    if let Some((chain, ..)) = old.get(at) {
                        table.remove((chain.0, place))?;
                    }
                    if let Some((chain, incarnation, done)) = new.get(at) {
                        table.insert((chain.0, place), (incarnation.0, done.to_figures()))?;
                    }
                }
                let mut table = write.open_table(RETIRED)?;
                let (old, new) = (&before.retired, &progress.retired);
                for (at, place) in changed_places(old, new) {
                    if let Some((chain, _)) = old.get(at) {
                        table.remove((chain.0, place))?;
                    }
                    if let Some((chain, incarnation)) = new.get(at) {
                        table.insert((chain.0, place), incarnation.0)?;
                    }
                }
                let mut table = write.open_table(WAITING)?;
                let is_gone = |(chain, _): &&(ChainId, ChainCounters)| {
                    let kept = progress.waiting.binary_search_by_key(chain, |(of, _)| *of);
                    kept.is_err()
                };
                for (chain, _) in before.waiting.iter().filter(is_gone) {
                    table.remove(chain.0)?;
                }
                for (chain, waiting) in &progress.waiting {
                    let known = before.waiting.binary_search_by_key(chain, |(of, _)| *of);
                    let known = known.ok().and_then(|at| before.waiting.get(at));
                    if known.is_none_or(|(_, known)| known != waiting) {
                        table.insert(chain.0, waiting.to_figures())?;
                    }
                }
            }
            failpoint::pass("journal-before-commit");
            Ok(())
        })?;
        if let Some(progress) = &batch.progress {
            self.written = Some(Processes {
                incarnations: progress.incarnations.clone(),
                retired: progress.retired.clone(),
                waiting: progress.waiting.clone(),
            });
        }
        failpoint::pass("journal-after-commit");
        Ok(())
    }

    fn transact(
        &mut self,
        change: impl FnOnce(&redb::WriteTransaction) -> Result<(), redb::Error>,
    ) -> Result<(), JournalError> {
        let written = self.database().and_then(|database| {
            let write = database.begin_write().map_err(redb::Error::from)?;
            change(&write)?;
            write.commit().map_err(redb::Error::from)?;
            Ok(())
        });
        if written.is_err() {
            self.close();
        }
        written
    }
}

/// What opens a database. After a kill the database looks for its last write, and says so in steps, the
/// first of them at 0: one between that and one half comes only if that write was damaged and the one
/// before it counts.
fn builder(has_gone_back: &Arc<AtomicBool>) -> redb::Builder {
    let has_gone_back = Arc::clone(has_gone_back);
    let mut builder = Database::builder();
    builder
        .set_cache_size(CACHE_BYTES)
        .set_repair_callback(move |repair| {
            if repair.progress() > 0.0 && repair.progress() < 0.5 {
                has_gone_back.store(true, Relaxed);
            }
        });
    builder
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}

/// Returns the places at which two lists differ.
fn changed_places<T: PartialEq>(old: &[T], new: &[T]) -> impl Iterator<Item = (usize, u32)> {
    let places = (0..old.len().max(new.len())).zip(0..);
    places.filter(|&(at, _)| old.get(at) != new.get(at))
}

/// What a chain's counters are called, in the order of their figures.
const FIGURES: [&str; 6] = [
    "iterations",
    "evaluations",
    "computed",
    "seeds_received",
    "seeds_entered",
    "seeds_made_current",
];

fn numbers_of(progress: &Progress) -> impl Iterator<Item = (&'static str, Option<u64>)> {
    let Progress {
        elapsed,
        cpu_time,
        record,
        round,
        counters,
        incarnations: _,
        retired: _,
        waiting: _,
        seeds_sent,
        exchanges,
        refused_rows,
        limits: [evaluations_limit, iterations_limit],
        stopped_by,
    } = progress;
    let record = record.as_ref();
    let reason = stopped_by.and_then(|reason| StoppedBy::ALL.iter().position(|&r| r == reason));
    [
        // Rounded up: time that was shown does not go back.
        (
            "elapsed_micros",
            Some(micros(*elapsed + Duration::from_nanos(999))),
        ),
        ("cpu_micros", cpu_time.map(micros)),
        (
            "record_score_bits",
            record.map(|record| record.score.value().to_bits()),
        ),
        ("record_at_micros", record.map(|record| micros(record.at))),
        (
            "record_evaluations",
            record.map(|record| record.evaluations),
        ),
        ("round", Some(round.0)),
        ("seeds_sent", Some(*seeds_sent)),
        ("exchanges", Some(*exchanges)),
        ("refused_rows", Some(*refused_rows)),
        ("evaluations_limit", *evaluations_limit),
        ("iterations_limit", *iterations_limit),
        ("stopped_by", reason.map(|at| at as u64)),
        ("format", Some(FORMAT)),
    ]
    .into_iter()
    .chain(FIGURES.into_iter().zip(counters.to_figures().map(Some)))
}

fn progress_of(numbers: &BTreeMap<String, u64>) -> Progress {
    let number = |name: &str| numbers.get(name).copied();
    let zero = |name: &str| number(name).unwrap_or(0);
    let record = (|| {
        Some(Record {
            score: LogScore::checked(f64::from_bits(number("record_score_bits")?))?,
            at: Duration::from_micros(number("record_at_micros")?),
            evaluations: number("record_evaluations")?,
        })
    })();
    Progress {
        elapsed: Duration::from_micros(zero("elapsed_micros")),
        cpu_time: number("cpu_micros").map(Duration::from_micros),
        record,
        round: Round(zero("round")),
        counters: ChainCounters::from_figures(FIGURES.map(zero)),
        incarnations: Vec::new(),
        retired: Vec::new(),
        waiting: Vec::new(),
        seeds_sent: zero("seeds_sent"),
        // Earlier versions did not store these.
        exchanges: zero("exchanges"),
        refused_rows: zero("refused_rows"),
        limits: [number("evaluations_limit"), number("iterations_limit")],
        stopped_by: number("stopped_by")
            .and_then(|at| StoppedBy::ALL.get(usize::try_from(at).ok()?).copied()),
    }
}

fn number_of(found: Found) -> u8 {
    match found {
        Found::Best => 0,
        Found::Stalled => 1,
    }
}

/// The number of rows that no chain need have found.
const OVERALL: u8 = 2;

fn found_of(number: u8) -> Option<Found> {
    match number {
        0 => Some(Found::Best),
        1 => Some(Found::Stalled),
        _ => None,
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
