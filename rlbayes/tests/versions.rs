//! State that an earlier version has written is read by this one: `fixtures/versions/VERSION` has the
//! state folder of a search by each algorithm, of one that runs free, and of a coordinator; each file
//! is packed by gzip.
//!
//! They are made by `RLBAYES_MAKE_FIXTURES=VERSION cargo test -p rlbayes --test versions`, once for
//! every version that is released, and never again.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use rlbayes::chains::ChainFolder;
use rlbayes::coordination::{Progress, Record};
use rlbayes::journal::Batch;
use rlbayes::state_folder::open_search;
use rlbayes::{LogScore, Proving, Runners, Search, SearchRequest, SearchSettings, Table};
use rlbayes_common::elite::{EliteRow, Found, Structure};
use rlbayes_common::exchange::ChainCounters;
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::{ChainId, Incarnation, NodeIdx, Round};
use rlbayes_common::search::{Budget, SearchSpec, StoppedBy};
use rlbayes_common::snapshot::decode_chain;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

const EVALUATIONS: u64 = 400;

fn table() -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/asia_n1000_s1.csv.gz");
    Table::read(path).unwrap()
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/versions")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// Copies a folder, file by file.
fn copy(from: &Path, to: &Path, change: impl Fn(&Path, &Path)) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        change(&file, &target);
    }
}

fn pack(from: &Path, to: &Path) {
    copy(from, to, |file, target| {
        let mut name = target.as_os_str().to_owned();
        name.push(".gz");
        let mut packed = GzEncoder::new(fs::File::create(name).unwrap(), Compression::best());
        packed.write_all(&fs::read(file).unwrap()).unwrap();
        packed.finish().unwrap();
    });
}

fn unpack(from: &Path, to: &Path) {
    copy(from, to, |file, target| {
        let mut bytes = Vec::new();
        let mut packed = GzDecoder::new(fs::File::open(file).unwrap());
        packed.read_to_end(&mut bytes).unwrap();
        fs::write(target.with_extension(""), bytes).unwrap();
    });
}

fn search(spec: SearchSpec, threads: u32, evaluations: u64) -> SearchSettings {
    SearchSettings {
        algorithm: spec,
        threads: Some(threads),
        chains: Some(2),
        prove: Proving::Off,
        budget: Budget {
            evaluations: Some(evaluations),
            ..Budget::default()
        },
        ..SearchSettings::default()
    }
}

fn coordinator(table: &Table) -> SearchRequest {
    let settings = SearchSettings {
        runners: Runners::Workers {
            exchange_every: Duration::from_secs(1),
            lease: Duration::from_secs(10),
        },
        ..search(SearchSpec::defaults()[0], 2, EVALUATIONS)
    };
    SearchRequest::new(table, &settings).unwrap()
}

fn progress() -> Progress {
    let done = |evaluations| ChainCounters {
        evaluations,
        ..ChainCounters::default()
    };
    Progress {
        elapsed: Duration::from_secs(2),
        cpu_time: Some(Duration::from_secs(3)),
        record: Some(Record {
            score: LogScore::new(-5.0),
            at: Duration::from_millis(1500),
            evaluations: 99,
        }),
        round: Round(4),
        counters: done(7),
        incarnations: vec![(ChainId(1), Incarnation(9), done(11))],
        retired: vec![(ChainId(1), Incarnation(8))],
        waiting: Vec::new(),
        seeds_sent: 3,
        // These are not kept by the first fixtures.
        exchanges: 0,
        refused_rows: 0,
        limits: [None, None],
        stopped_by: Some(StoppedBy::Evaluations),
    }
}

fn batch(nodes: usize) -> Batch {
    let row = |from, to, score| EliteRow {
        structure: Structure::of(
            &Dag::from_edges(nodes, [(NodeIdx::new(from), NodeIdx::new(to))]).unwrap(),
        ),
        score: LogScore::new(score),
    };
    Batch {
        rows: vec![
            (ChainId(0), Found::Best, row(0, 1, -5.0)),
            (ChainId(1), Found::Stalled, row(1, 2, -6.0)),
        ],
        overall: vec![row(2, 3, -4.0)],
        progress: Some(progress()),
        ..Batch::default()
    }
}

/// Makes the fixtures of a version, if asked to.
fn make(version: &str) {
    let (table, place) = (table(), fixtures().join(version));
    assert!(!place.exists(), "{version} has its fixtures");
    for spec in SearchSpec::defaults() {
        let folder = tempfile::tempdir().unwrap();
        let settings = search(spec, 1, EVALUATIONS);
        let found = Search::with(&table, settings).state(folder.path()).run();
        fs::write(
            folder.path().join("best"),
            found.unwrap().score().to_string(),
        )
        .unwrap();
        pack(folder.path(), &place.join(spec.name()));
    }
    let folder = tempfile::tempdir().unwrap();
    let settings = search(SearchSpec::defaults()[0], 2, EVALUATIONS);
    let found = Search::with(&table, settings).state(folder.path()).run();
    fs::write(
        folder.path().join("best"),
        found.unwrap().score().to_string(),
    )
    .unwrap();
    pack(folder.path(), &place.join("free"));
    let folder = tempfile::tempdir().unwrap();
    let request = coordinator(&table);
    let mut opened = open_search(folder.path(), &request, |warning| panic!("{warning}")).unwrap();
    let batch = batch(table.data().nodes());
    opened.journal.write(request.keying(), &batch).unwrap();
    drop(opened);
    pack(folder.path(), &place.join("coordinator"));
}

/// Unpacks a fixture of each version and hands it over.
fn for_each_version(name: &str, check: impl Fn(&Path)) {
    static MADE: Once = Once::new();
    MADE.call_once(|| {
        if let Ok(version) = std::env::var("RLBAYES_MAKE_FIXTURES") {
            make(&version);
        }
    });
    let mut versions: Vec<PathBuf> = fs::read_dir(fixtures())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    versions.sort();
    assert!(!versions.is_empty());
    for version in versions {
        let folder = tempfile::tempdir().unwrap();
        unpack(&version.join(name), folder.path());
        check(folder.path());
    }
}

/// Resumes a search without a warning, and finds nothing worse than what is stored.
fn resume(table: &Table, folder: &Path, settings: &SearchSettings) {
    let best: f64 = fs::read_to_string(folder.join("best"))
        .unwrap()
        .parse()
        .unwrap();
    let found = Search::with(table, settings.clone())
        .state(folder)
        .on_warning(|warning| panic!("{warning}"))
        .run()
        .unwrap();
    assert!(found.score() >= best, "{} of {best}", found.score());
    assert!(found.evaluations() > 0);
    assert!(
        files(folder)
            .iter()
            .all(|file| !file.to_string_lossy().contains("broken"))
    );
}

#[test]
fn state_of_every_version_is_read() {
    let table = table();
    let nodes = table.data().nodes();
    for spec in SearchSpec::defaults() {
        for_each_version(spec.name(), |folder| {
            let settings = search(spec, 1, 2 * EVALUATIONS);
            let request = SearchRequest::new(&table, &settings).unwrap();
            let maker = request.chain_maker(request.problem());
            let opened = open_search(folder, &request, |warning| panic!("{warning}")).unwrap();
            let stored = opened.stored.unwrap();
            assert!(!stored.chains.is_empty(), "{}", spec.name());
            for (&id, chain) in &stored.chains {
                let saved = decode_chain(chain.snapshot.bytes(), nodes).unwrap();
                spec.resume(&maker.problem, id, maker.ladder, &saved)
                    .unwrap();
            }
            drop(opened.journal);
            resume(&table, folder, &settings);
        });
    }
}

#[test]
fn free_running_chains_of_every_version_are_read() {
    let table = table();
    let settings = search(SearchSpec::defaults()[0], 2, 2 * EVALUATIONS);
    for_each_version("free", |folder| {
        let chains = ChainFolder::open(&folder.join("chains")).unwrap();
        let read = chains.read(table.data().nodes(), &settings.algorithm, |warning| {
            panic!("{warning}")
        });
        assert_eq!(read.unwrap().len(), 2);
        resume(&table, folder, &settings);
    });
}

#[test]
fn a_coordinators_journal_of_every_version_is_read() {
    let table = table();
    let request = coordinator(&table);
    for_each_version("coordinator", |folder| {
        let opened = open_search(folder, &request, |warning| panic!("{warning}")).unwrap();
        let stored = opened.stored.unwrap();
        assert_eq!(stored.progress, progress());
        assert_eq!(stored.pool.rows().len(), 3);
        assert_eq!(
            stored.pool.best().map(|row| row.score),
            Some(LogScore::new(-4.0))
        );
    });
}
