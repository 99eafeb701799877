use super::*;
use redb::StorageBackend;
use redb::backends::InMemoryBackend;
use rlbayes_common::elite::Structure;
use rlbayes_common::exchange::{ChainStatus, Snapshot};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::{Incarnation, NodeIdx};
use rlbayes_common::search::{Fields, SavedChain, SeedCounts, Seeds};
use rlbayes_common::snapshot::encode_chain;
use std::fs;

fn row(a: usize, b: usize, score: f64) -> EliteRow {
    let dag = Dag::from_edges(4, [(NodeIdx::new(a), NodeIdx::new(b))]).unwrap();
    EliteRow {
        structure: Structure::of(&dag),
        score: LogScore::new(score),
    }
}

fn settings() -> Vec<(String, String)> {
    vec![("seed".to_owned(), "1".to_owned())]
}

fn batch() -> Batch {
    let rows = vec![
        (ChainId(0), Found::Best, row(0, 1, -5.0)),
        (ChainId(1), Found::Stalled, row(1, 2, -6.0)),
    ];
    let saved = SavedChain {
        best: Some(row(0, 1, -5.0)),
        own: Fields::default().with_integers("many", [7; 40]),
        ..SavedChain::default()
    };
    let stored = StoredChain {
        snapshot: Snapshot::new(encode_chain(&saved)),
        seeds: Some(Seeds {
            best: None,
            mate: row(1, 2, -6.0),
        }),
        reseeds: 2,
        counters: ChainCounters {
            evaluations: 99,
            ..Default::default()
        },
        status: ChainStatus::Running,
    };
    Batch {
        rows,
        overall: vec![row(2, 3, -4.0)],
        chains: vec![(ChainId(3), stored)],
        progress: Some(Progress {
            elapsed: Duration::from_secs(2),
            cpu_time: Some(Duration::from_secs(3)),
            record: Some(Record {
                score: LogScore::new(-5.0),
                at: Duration::from_millis(1500),
                evaluations: 99,
            }),
            round: Round(4),
            counters: ChainCounters {
                iterations: 1,
                evaluations: 2,
                computed: 3,
                seeds: SeedCounts {
                    received: 4,
                    entered: 5,
                    made_current: 6,
                },
            },
            incarnations: vec![
                (ChainId(2), Incarnation(9), ChainCounters::default()),
                (
                    ChainId(2),
                    Incarnation(7),
                    ChainCounters {
                        evaluations: 2,
                        ..Default::default()
                    },
                ),
            ],
            retired: vec![(ChainId(2), Incarnation(5)), (ChainId(2), Incarnation(3))],
            waiting: vec![waits(2, 1)],
            seeds_sent: 8,
            exchanges: 11,
            refused_rows: 12,
            limits: [Some(12), None],
            stopped_by: Some(StoppedBy::Target),
        }),
        replicates: Vec::new(),
        keep_only: None,
    }
}

/// Evaluations of a chain that do not count yet.
fn waits(chain: u32, evaluations: u64) -> (ChainId, ChainCounters) {
    let counters = ChainCounters {
        evaluations,
        ..Default::default()
    };
    (ChainId(chain), counters)
}

fn load(path: &Path) -> Result<Option<Loaded>, JournalError> {
    Journal::open(path)?.load(&settings(), 4, Keying::ByClass)
}

#[test]
fn a_reopened_journal_gives_back_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.redb");
    let batch = batch();
    {
        let mut journal = Journal::open(&path).unwrap();
        let before = journal.load(&settings(), 4, Keying::ByClass).unwrap();
        assert!(before.is_none());
        journal.begin(&settings()).unwrap();
        journal.write(Keying::ByClass, &batch).unwrap();
    }
    let loaded = load(&path).unwrap().unwrap();
    assert_eq!(loaded.settings, settings());
    let stored = loaded.stored.unwrap();
    let mut pool = Pool::new(Keying::ByClass);
    for (chain, found, row) in &batch.rows {
        pool.merge(*chain, *found, row);
    }
    for row in &batch.overall {
        pool.merge_overall(row);
    }
    assert_eq!(stored.pool, pool);
    assert_eq!(Some(stored.progress), batch.progress);
    let chains: Vec<_> = stored.chains.into_iter().collect();
    assert_eq!(chains, batch.chains);
}

#[test]
fn rows_that_the_pool_dropped_leave_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(&folder.path().join("journal.redb")).unwrap();
    journal.begin(&[]).unwrap();
    let better = row(0, 1, -5.0);
    let batch = Batch {
        rows: vec![
            (ChainId(0), Found::Best, row(2, 3, -9.0)),
            (ChainId(0), Found::Best, better.clone()),
        ],
        keep_only: Some([Keying::ByClass.key(&better)].into()),
        ..Batch::default()
    };
    journal.write(Keying::ByClass, &batch).unwrap();
    let loaded = journal.load(&[], 4, Keying::ByClass).unwrap().unwrap();
    assert_eq!(loaded.stored.unwrap().pool.rows(), vec![&better]);
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

/// Returns how many places are passed over: none with `RLBAYES_EVERY_LENGTH` set, which takes
/// minutes.
fn stride(usual: usize) -> usize {
    match std::env::var_os("RLBAYES_EVERY_LENGTH") {
        Some(_) => 1,
        None => usual,
    }
}

/// Writes a journal and returns its bytes.
fn bytes_of_a_journal(path: &Path) -> Vec<u8> {
    {
        let mut journal = Journal::open(path).unwrap();
        journal.begin(&settings()).unwrap();
        journal.write(Keying::ByClass, &batch()).unwrap();
    }
    fs::read(path).unwrap()
}

/// Opens bytes as a file that holds them would be, and reads them.
fn load_bytes(bytes: &[u8]) -> Result<Option<Loaded>, JournalError> {
    let bytes = bytes.to_vec();
    let mut journal = Journal::with(move || {
        let disk = InMemoryBackend::new();
        disk.set_len(bytes.len() as u64)?;
        disk.write(0, &bytes)?;
        Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create_with_backend(disk)
    })?;
    journal.load(&settings(), 4, Keying::ByClass)
}

/// A damaged journal is refused, or what it gives is what was written: never anything else, and
/// never a panic. (Damage may hit pages that hold nothing.)
fn is_refused_or_right(bytes: &[u8]) -> bool {
    let expected = batch();
    let read = std::panic::catch_unwind(|| load_bytes(bytes));
    match read.expect("no panic") {
        Err(_) | Ok(None) => true,
        Ok(Some(loaded)) => match loaded.stored {
            None => true,
            Some(stored) => {
                stored.pool.rows().into_iter().all(|row| {
                    let of_chains = expected.rows.iter().map(|(_, _, row)| row);
                    of_chains.chain(&expected.overall).any(|known| known == row)
                }) && stored
                    .chains
                    .iter()
                    .all(|(id, chain)| expected.chains.iter().any(|(i, c)| (i, c) == (id, chain)))
            }
        },
    }
}

#[test]
fn a_journal_cut_at_thousands_of_lengths_is_refused_or_right() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = bytes_of_a_journal(&folder.path().join("whole.redb"));
    let step = stride(31);
    // Every length of the header, the ends of all pages, and some of what is between.
    let lengths = (0..bytes.len())
        .filter(|&length| length < 320 || (length + 1) % 4096 <= 2 || length.is_multiple_of(step));
    for length in lengths {
        assert!(is_refused_or_right(&bytes[..length]), "cut at {length}");
    }
    let whole = load_bytes(&bytes).unwrap().unwrap();
    assert_eq!(Some(whole.stored.unwrap().progress), batch().progress);
}

#[test]
fn a_journal_with_a_flipped_bit_is_refused_or_right() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = bytes_of_a_journal(&folder.path().join("whole.redb"));
    // One bit of each byte of the header, and of some of those that hold something.
    let used = (320..bytes.len()).filter(|&at| bytes[at] != 0);
    let used: Vec<usize> = (0..320).chain(used.step_by(stride(11))).collect();
    for at in used {
        bytes[at] ^= 1 << (at % 8);
        assert!(is_refused_or_right(&bytes), "a bit of byte {at}");
        bytes[at] ^= 1 << (at % 8);
    }
}

#[test]
fn a_journal_of_a_newer_format_is_refused_and_not_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = Journal::open(&path).unwrap();
    journal.begin(&settings()).unwrap();
    journal.write(Keying::ByClass, &batch()).unwrap();
    journal
        .transact(|write| {
            write.open_table(PROGRESS)?.insert("format", FORMAT + 1)?;
            Ok(())
        })
        .unwrap();
    for expected in [settings(), Vec::new()] {
        let refused = journal.load(&expected, 4, Keying::ByClass).unwrap_err();
        assert!(matches!(refused, JournalError::Newer(format) if format == FORMAT + 1));
        assert!(!refused.is_damage());
        assert!(refused.to_string().contains("newer version"), "{refused}");
    }
}

#[test]
fn a_file_of_a_newer_database_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let whole = bytes_of_a_journal(&path);
    let with_formats = |first: u8, second: u8| {
        let mut bytes = whole.clone();
        assert_eq!((bytes[64], bytes[192]), (3, 3), "the database's format");
        (bytes[64], bytes[192]) = (first, second);
        fs::write(&path, &bytes).unwrap();
        let refused = Journal::open(&path).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), bytes);
        refused
    };
    let refused = with_formats(4, 4);
    assert!(!refused.is_damage());
    assert!(refused.to_string().contains("newer version"), "{refused}");
    assert!(!with_formats(2, 2).is_damage(), "an earlier one");
    assert!(with_formats(4, 3).is_damage(), "one byte is damaged");
}

#[test]
fn processes_that_come_change_and_go_are_stored_as_they_are() {
    let disk = InMemoryBackend::new();
    let mut journal = {
        let disk = std::sync::Mutex::new(Some(disk));
        Journal::with(move || {
            let disk = disk.lock().unwrap().take().unwrap();
            Database::builder().create_with_backend(disk)
        })
        .unwrap()
    };
    journal.begin(&settings()).unwrap();
    let process = |chain: u32, number: u64, evaluations: u64| {
        let counters = ChainCounters {
            evaluations,
            ..Default::default()
        };
        (ChainId(chain), Incarnation(number), counters)
    };
    let steps = [
        (vec![process(0, 1, 5)], vec![]),
        (vec![process(0, 1, 9), process(1, 2, 1)], vec![]),
        // One comes in the middle, one goes.
        (
            vec![process(0, 1, 9), process(0, 3, 2), process(1, 2, 4)],
            vec![],
        ),
        (
            vec![process(0, 3, 2), process(1, 2, 4)],
            vec![(ChainId(0), Incarnation(1))],
        ),
        (vec![], vec![]),
        (vec![process(2, 7, 1)], vec![(ChainId(1), Incarnation(2))]),
    ];
    let waiting = [
        vec![waits(0, 5)],
        vec![waits(0, 5), waits(1, 1)],
        vec![waits(0, 4), waits(1, 1), waits(2, 7)],
        vec![waits(1, 1)],
        vec![],
        vec![waits(7, 1)],
    ];
    for ((incarnations, retired), waiting) in steps.into_iter().zip(waiting) {
        let progress = Progress {
            incarnations: incarnations.clone(),
            retired: retired.clone(),
            waiting: waiting.clone(),
            ..Progress::default()
        };
        let written = Batch {
            progress: Some(progress),
            ..Batch::default()
        };
        journal.write(Keying::ByClass, &written).unwrap();
        let loaded = journal.load(&settings(), 4, Keying::ByClass).unwrap();
        let stored = loaded.unwrap().stored.unwrap().progress;
        assert_eq!(stored.incarnations, incarnations);
        assert_eq!(stored.retired, retired);
        assert_eq!(stored.waiting, waiting);
    }
}

/// A damaged last write is dropped when the journal is opened after a kill, and that is told.
#[test]
fn a_journal_that_goes_back_to_the_write_before_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = Journal::open(&path).unwrap();
    journal.begin(&settings()).unwrap();
    journal.write(Keying::ByClass, &batch()).unwrap();
    let mut later = batch();
    if let Some(progress) = &mut later.progress {
        progress.round = Round(5);
    }
    journal.write(Keying::ByClass, &later).unwrap();
    // As a kill leaves it: not closed.
    let bytes = std::fs::read(&path).unwrap();
    drop(journal);

    let copy = folder.path().join("copy");
    let round_of = |bytes: &[u8]| {
        std::fs::write(&copy, bytes).unwrap();
        let mut journal = Journal::open(&copy).ok()?;
        let loaded = journal.load(&settings(), 4, Keying::ByClass).ok()??;
        Some((loaded.stored?.progress.round, journal.has_gone_back()))
    };
    assert_eq!(round_of(&bytes), Some((Round(5), false)));
    let mut gone_back = 0;
    for at in (0..bytes.len()).step_by(stride(997)) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        if let Some((round, told)) = round_of(&damaged)
            && round != Round(5)
        {
            assert!(told, "byte {at}");
            gone_back += 1;
        }
    }
    assert!(gone_back > 0, "no damage hit the last write");
}
