//! Chains on disk: one file per snapshot, by write and rename, and a note about which search they
//! belong to. A file that can't be read is set aside.

use crate::identity::{Difference, Settings, difference};
use crate::search_note;
use rlbayes_common::exchange::Snapshot;
use rlbayes_common::failpoint;
use rlbayes_common::files::{HALF_WRITTEN, set_aside, write_whole};

use rlbayes_common::ids::ChainId;
use rlbayes_common::search::SavedChain;
use rlbayes_common::snapshot::decode_chain;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder of chains.
#[derive(Clone, Debug)]
pub struct ChainFolder {
    folder: PathBuf,
}

/// Whose chains are in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Belongs {
    /// This search's.
    Here,
    /// Another search's, and what differs.
    Elsewhere(Difference),
    /// It is not known.
    Unknown,
}

impl ChainFolder {
    /// Opens a folder and removes what a kill left half-written.
    ///
    /// # Errors
    /// If it can't be made or read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        for entry in fs::read_dir(folder)?.flatten() {
            let name = entry.file_name();
            if name.to_string_lossy().starts_with(HALF_WRITTEN) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Returns which search the chains belong to.
    #[must_use]
    pub fn belongs_to(&self, settings: &[(String, String)]) -> Belongs {
        match self.noted() {
            None => Belongs::Unknown,
            Some(noted) => match difference(&noted, settings) {
                None => Belongs::Here,
                Some(difference) => Belongs::Elsewhere(difference),
            },
        }
    }

    /// Returns the settings of the search that the chains belong to, if there is a note of them.
    #[must_use]
    pub fn noted(&self) -> Option<Settings> {
        search_note::read(&self.folder)
    }

    /// Notes which search the chains belong to from now on.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn begin(&self, settings: &[(String, String)]) -> io::Result<()> {
        search_note::write(&self.folder, settings)
    }

    /// Reads the chains of a search with `nodes` variables; what can't be read is set aside.
    pub fn read(
        &self,
        nodes: usize,
        mut warn: impl FnMut(String),
    ) -> BTreeMap<ChainId, SavedChain> {
        let mut chains = BTreeMap::new();
        for (id, path) in self.files() {
            let read = fs::read(&path)
                .map_err(|error| error.to_string())
                .and_then(|bytes| decode_chain(&bytes, nodes).map_err(|error| error.to_string()));
            match read {
                Ok(chain) => {
                    chains.insert(id, chain);
                }
                Err(error) => warn(set_aside(&path, &error)),
            }
        }
        chains
    }

    /// Returns which chains there are.
    #[must_use]
    pub fn ids(&self) -> Vec<ChainId> {
        self.files().into_keys().collect()
    }

    /// Sets all chains aside.
    pub fn set_aside(&self, problem: &str, mut warn: impl FnMut(String)) {
        for path in self.files().values() {
            warn(set_aside(path, problem));
        }
    }

    /// Removes all chains.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn clear(&self) -> io::Result<()> {
        self.files().values().try_for_each(fs::remove_file)
    }

    /// Writes a chain.
    ///
    /// # Errors
    /// If the disk refuses; then the chain that was there before is still there.
    pub fn write(&self, chain: ChainId, snapshot: &Snapshot) -> io::Result<()> {
        failpoint::pass("worker-before-checkpoint");
        write_whole(&self.path(chain), snapshot.bytes())?;
        failpoint::pass("worker-after-checkpoint");
        Ok(())
    }

    /// Writes a chain; a disk that refuses is logged once and remembered in `refused`.
    pub fn keep(&self, chain: ChainId, snapshot: &Snapshot, refused: &mut bool) {
        match self.write(chain, snapshot) {
            Ok(()) => *refused = false,
            Err(error) => {
                if !std::mem::replace(refused, true) {
                    tracing::warn!(%error, "the state cannot be saved; the search continues");
                }
            }
        }
    }

    /// Removes a chain.
    ///
    /// # Errors
    /// If the disk refuses; one that is not there is not a problem.
    pub fn remove(&self, chain: ChainId) -> io::Result<()> {
        match fs::remove_file(self.path(chain)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn path(&self, chain: ChainId) -> PathBuf {
        self.folder.join(format!("{chain}.snap"))
    }

    fn files(&self) -> BTreeMap<ChainId, PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let name = entry.file_name();
                let number = name.to_str()?.strip_suffix(".snap")?.parse().ok()?;
                Some((ChainId(number), entry.path()))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlbayes_common::search::Fields;
    use rlbayes_common::snapshot::encode_chain;

    fn settings(seed: &str) -> Settings {
        vec![("seed".to_owned(), seed.to_owned())]
    }

    fn chain(iterations: u64) -> SavedChain {
        SavedChain {
            iterations,
            own: Fields::default().with_integers("some", [1, 2, 3]),
            ..SavedChain::default()
        }
    }

    #[test]
    fn chains_come_back_and_know_whose_they_are() {
        let place = tempfile::tempdir().unwrap();
        let folder = ChainFolder::open(place.path()).unwrap();
        assert_eq!(folder.belongs_to(&settings("1")), Belongs::Unknown);
        folder.begin(&settings("1")).unwrap();
        for number in [0u32, 7] {
            let snapshot = Snapshot::new(encode_chain(&chain(u64::from(number))));
            folder.write(ChainId(number), &snapshot).unwrap();
        }
        fs::write(place.path().join(format!("{HALF_WRITTEN}x")), "half").unwrap();
        let folder = ChainFolder::open(place.path()).unwrap();
        assert_eq!(folder.belongs_to(&settings("1")), Belongs::Here);
        let elsewhere = folder.belongs_to(&settings("2"));
        assert!(
            matches!(elsewhere, Belongs::Elsewhere(difference) if difference.to_string().contains("seed"))
        );
        let read = folder.read(3, |warning| panic!("{warning}"));
        assert_eq!(
            read.into_iter().collect::<Vec<_>>(),
            [(ChainId(0), chain(0)), (ChainId(7), chain(7))]
        );
        folder.remove(ChainId(7)).unwrap();
        folder.remove(ChainId(7)).unwrap();
        assert_eq!(folder.ids(), [ChainId(0)]);
        folder.clear().unwrap();
        assert!(folder.read(3, |warning| panic!("{warning}")).is_empty());
    }

    #[test]
    fn a_chain_cut_at_any_length_is_set_aside() {
        let place = tempfile::tempdir().unwrap();
        let folder = ChainFolder::open(place.path()).unwrap();
        let bytes = encode_chain(&chain(5));
        for length in 0..bytes.len() {
            let path = place.path().join("0.snap");
            fs::write(&path, &bytes[..length]).unwrap();
            let mut warnings = 0;
            assert!(folder.read(3, |_| warnings += 1).is_empty());
            assert_eq!(warnings, 1, "cut at {length}");
            assert!(!path.exists());
        }
    }
}
