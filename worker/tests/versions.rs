//! A worker's folder that an earlier version has left is read by this one: `fixtures/versions/VERSION`.
//!
//! They are made once for every version that is released, by
//! `rlbayes coordinator --data data/asia_n1000_s1.csv.gz --state run --seed 1` and
//! `rlbayes worker --coordinator http://127.0.0.1:7400 --threads 1 --state VERSION --checkpoint-every 1s`
//! for some seconds, then SIGTERM to the worker; three of its chains are enough.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

use rlbayes::chains::{Belongs, ChainFolder};
use rlbayes::{SearchRequest, SearchSettings, Table};
use rlbayes_common::files::sweep;
use rlbayes_common::ids::ChainId;
use rlbayes_common::snapshot::encode_table;
use rlbayes_worker::data_store::DataStore;
use std::fs;
use std::path::{Path, PathBuf};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (
            entry.as_ref().unwrap().path(),
            to.join(entry.unwrap().file_name()),
        );
        match from.is_dir() {
            true => copy(&from, &to),
            false => drop(fs::copy(&from, &to).unwrap()),
        }
    }
}

#[test]
fn a_workers_folder_of_every_version_is_read() {
    let table = Table::read(here("../data/asia_n1000_s1.csv.gz")).unwrap();
    let request = SearchRequest::new(&table, &SearchSettings::default()).unwrap();
    let search = request.description(&encode_table(table.data()));
    let maker = request.chain_maker(request.problem());
    let mut versions = 0;
    for version in fs::read_dir(here("tests/fixtures/versions")).unwrap() {
        versions += 1;
        let folder = tempfile::tempdir().unwrap();
        copy(&version.unwrap().path(), folder.path());
        sweep(folder.path());
        let data = DataStore::open(Some(folder.path())).unwrap();
        let found = data.find(&search, |warning| panic!("{warning}")).unwrap();
        assert_eq!(found, *table.data().as_ref());
        let chains = ChainFolder::open(&folder.path().join("chains")).unwrap();
        let noted = chains.noted().unwrap();
        assert_eq!(chains.belongs_to(&noted), Belongs::Here);
        let read = chains.read(search.nodes, &search.spec, |warning| panic!("{warning}"));
        let read = read.unwrap();
        assert!(read.keys().eq(&[0, 1, 2].map(ChainId)));
        for (&id, saved) in &read {
            let resumed = search.spec.resume(&maker.problem, id, search.ladder, saved);
            assert!(resumed.is_ok(), "chain {id}");
        }
    }
    assert!(versions > 0);
}
