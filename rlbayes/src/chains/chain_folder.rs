//! Chains on disk: one file per snapshot, by write and rename, and a note about which search they
//! belong to. A file that is damaged is set aside; one of another version of the program is not, since
//! that version can still use it: then nothing is read.

use crate::identity::{Difference, Settings, difference};
use crate::search_note;
use rlbayes_common::exchange::Snapshot;
use rlbayes_common::failpoint;
use rlbayes_common::files::{make_private_folder, set_aside, sweep, write_private};
use rlbayes_common::ids::ChainId;
use rlbayes_common::search::{SavedChain, SearchSpec, UnfitState};
use rlbayes_common::snapshot::{SnapshotError, decode_chain};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

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

/// A chain that another version of the program has written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {problem}; it stays as it is: use that version, or another folder", path.display())]
pub struct OtherVersion {
    /// Which file.
    pub path: PathBuf,
    /// What it says.
    pub problem: String,
}

/// Why a chain's file can't be read.
enum ChainFault {
    Damage(String),
    OtherVersion(String),
}

impl From<SnapshotError> for ChainFault {
    fn from(error: SnapshotError) -> Self {
        match error.is_other_version() {
            true => Self::OtherVersion(error.to_string()),
            false => Self::Damage(error.to_string()),
        }
    }
}

impl ChainFolder {
    /// Opens a folder and removes what a kill left half-written.
    ///
    /// # Errors
    /// If it can't be made or read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        make_private_folder(folder)?;
        fs::read_dir(folder)?;
        sweep(folder);
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

    /// Reads the chains of a search with `nodes` variables; what is damaged is set aside.
    ///
    /// # Errors
    /// If a chain was written by another version of the program; then all stay as they are.
    pub fn read(
        &self,
        nodes: usize,
        search: &SearchSpec,
        mut warn: impl FnMut(String),
    ) -> Result<BTreeMap<ChainId, SavedChain>, OtherVersion> {
        let mut chains = BTreeMap::new();
        let mut damaged = Vec::new();
        for (id, path) in self.files() {
            let read = match fs::read(&path) {
                Ok(bytes) => decode_chain(&bytes, nodes).map_err(ChainFault::from),
                Err(error) => Err(ChainFault::Damage(error.to_string())),
            };
            let fits = read.and_then(|chain| match search.check_state(&chain) {
                Err(error @ (UnfitState::Earlier { .. } | UnfitState::Newer { .. })) => {
                    Err(ChainFault::OtherVersion(error.to_string()))
                }
                // A chain that does not fit for another reason starts anew.
                _ => Ok(chain),
            });
            match fits {
                Ok(chain) => {
                    chains.insert(id, chain);
                }
                Err(ChainFault::Damage(problem)) => damaged.push((path, problem)),
                Err(ChainFault::OtherVersion(problem)) => {
                    return Err(OtherVersion { path, problem });
                }
            }
        }
        for (path, problem) in damaged {
            warn(set_aside(&path, &problem));
        }
        Ok(chains)
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
        write_private(&self.path(chain), snapshot.bytes())?;
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
    use rlbayes_common::files::HALF_WRITTEN;
    use rlbayes_common::search::Fields;
    use rlbayes_common::snapshot::encode_chain;

    fn settings(seed: &str) -> Settings {
        vec![("seed".to_owned(), seed.to_owned())]
    }

    fn search() -> SearchSpec {
        SearchSpec::defaults()[0]
    }

    fn read(folder: &ChainFolder) -> Result<BTreeMap<ChainId, SavedChain>, OtherVersion> {
        folder.read(3, &search(), |warning| panic!("{warning}"))
    }

    fn chain(iterations: u64) -> SavedChain {
        let kind = search().state_kind();
        SavedChain {
            search: kind.search.into(),
            version: kind.version,
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
        let found = read(&folder).unwrap();
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [(ChainId(0), chain(0)), (ChainId(7), chain(7))]
        );
        folder.remove(ChainId(7)).unwrap();
        folder.remove(ChainId(7)).unwrap();
        assert_eq!(folder.ids(), [ChainId(0)]);
        folder.clear().unwrap();
        assert!(read(&folder).unwrap().is_empty());
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
            assert!(
                folder
                    .read(3, &search(), |_| warnings += 1)
                    .unwrap()
                    .is_empty()
            );
            assert_eq!(warnings, 1, "cut at {length}");
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_chain_of_another_version_is_refused_and_nothing_is_set_aside() {
        let place = tempfile::tempdir().unwrap();
        let folder = ChainFolder::open(place.path()).unwrap();
        let whole = encode_chain(&chain(1));
        let mut format = whole.clone();
        format[12] += 1;
        let newer = |version: u32| {
            let chain = chain(1);
            encode_chain(&SavedChain { version, ..chain })
        };
        let version = search().state_kind().version;
        for bytes in [format, newer(version + 1), newer(version - 1)] {
            fs::write(place.path().join("0.snap"), &whole).unwrap();
            fs::write(place.path().join("1.snap"), b"damaged").unwrap();
            fs::write(place.path().join("7.snap"), &bytes).unwrap();
            let refused = read(&folder).unwrap_err().to_string();
            assert!(refused.contains("7.snap"), "{refused}");
            assert!(refused.contains("version of rlbayes"), "{refused}");
            assert_eq!(folder.ids(), [0, 1, 7].map(ChainId), "all are still there");
        }
    }
}
