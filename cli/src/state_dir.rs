//! `--state DIR`: the journal and the chains of a search on disk, so that the same command goes on
//! where it was stopped. A file that can't be read is set aside with a message; a disk that refuses
//! does not end the search.

use crate::failure::Failure;
use rlbayes_common::elite::{EliteRow, Found, Keying};
use rlbayes_common::ids::ChainId;
use rlbayes_common::search::{SavedChain, StoppedBy};
use rlbayes_common::snapshot::{decode_chain, encode_chain};
use rlbayes_coordinator::journal::{Journal, JournalError, Stored};
use rlbayes_coordinator::state::State;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An open state folder.
pub(crate) struct StateDir {
    folder: PathBuf,
    journal: Journal,
    /// Whether the last write failed: said once, not at every checkpoint.
    refused: bool,
}

/// What a state folder holds of an earlier run.
pub(crate) struct Earlier {
    /// The journal's content.
    pub(crate) stored: Stored,
    /// The chains that could be read.
    pub(crate) chains: BTreeMap<ChainId, SavedChain>,
}

impl StateDir {
    /// Opens a state folder and reads what is there. Settings that differ from the stored ones are
    /// an error that names the first.
    pub(crate) fn open(
        folder: &Path,
        settings: &[(String, String)],
        nodes: usize,
        keying: Keying,
        mut warn: impl FnMut(String),
    ) -> Result<(Self, Option<Earlier>), Failure> {
        fs::create_dir_all(folder.join("chains")).map_err(|error| Failure::file(folder, error))?;
        let path = folder.join("journal.redb");
        let opened = Journal::open(&path).and_then(|journal| {
            let stored = journal.load(settings, nodes, keying)?;
            Ok((journal, stored))
        });
        let (journal, stored) = match opened {
            Ok(opened) => opened,
            Err(JournalError::InUse) => return Err(Failure::file(&path, JournalError::InUse)),
            Err(error) => {
                if let Some(io) = permission_problem(&path) {
                    return Err(Failure::file(&path, io));
                }
                warn(set_aside(&path, &error.to_string()));
                let journal = Journal::open(&path).map_err(|error| Failure::file(&path, error))?;
                (journal, None)
            }
        };
        let dir = Self {
            folder: folder.to_owned(),
            journal,
            refused: false,
        };
        let Some(stored) = stored else {
            // Without a journal, the chains are believed if they belong to this search.
            let noted = dir.noted_search();
            if let Some(difference) = noted
                .as_deref()
                .and_then(|noted| difference(noted, settings))
            {
                return Err(another_search(folder, &difference));
            }
            let chains = if noted.is_some() {
                dir.read_chains(nodes, &mut warn)
            } else {
                dir.set_chains_aside(&mut warn);
                BTreeMap::new()
            };
            dir.note_search(settings)?;
            dir.journal
                .begin(settings)
                .map_err(|error| Failure::file(&path, error))?;
            let earlier = (!chains.is_empty()).then(|| Earlier {
                stored: Stored::none(keying),
                chains,
            });
            return Ok((dir, earlier));
        };
        if let Some(difference) = difference(&stored.settings, settings) {
            return Err(another_search(folder, &difference));
        }
        let chains = dir.read_chains(nodes, &mut warn);
        Ok((dir, Some(Earlier { stored, chains })))
    }

    fn read_chains(
        &self,
        nodes: usize,
        warn: &mut impl FnMut(String),
    ) -> BTreeMap<ChainId, SavedChain> {
        let mut chains = BTreeMap::new();
        for (number, path) in self.snapshots() {
            let read = fs::read(&path)
                .map_err(|error| error.to_string())
                .and_then(|bytes| decode_chain(&bytes, nodes).map_err(|error| error.to_string()));
            match read {
                Ok(chain) => {
                    chains.insert(number, chain);
                }
                Err(error) => warn(set_aside(&path, &error)),
            }
        }
        chains
    }

    /// Sets chains aside that may belong to any search.
    fn set_chains_aside(&self, warn: &mut impl FnMut(String)) {
        for path in self.snapshots().values() {
            warn(set_aside(path, "nothing tells which search it belongs to"));
        }
    }

    /// Returns the stored chains' files, and removes what a kill left half-written.
    fn snapshots(&self) -> BTreeMap<ChainId, PathBuf> {
        let entries = fs::read_dir(self.folder.join("chains"));
        let paths = entries.into_iter().flatten().flatten();
        let mut found = BTreeMap::new();
        for path in paths.map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(HALF_WRITTEN) {
                // The journal's lock is ours, so nobody is about to rename it.
                let _ = fs::remove_file(&path);
            } else if let Some(number) = name.strip_suffix(".snap").and_then(|n| n.parse().ok()) {
                found.insert(ChainId(number), path);
            }
        }
        found
    }

    fn search_file(&self) -> PathBuf {
        self.folder.join("chains").join("search.txt")
    }

    /// Returns the settings of the search that the chains belong to, if a file tells them.
    fn noted_search(&self) -> Option<Vec<(String, String)>> {
        let text = fs::read_to_string(self.search_file()).ok()?;
        let lines = text.lines().map(|line| line.split_once(": "));
        lines
            .map(|pair| pair.map(|(name, value)| (name.to_owned(), value.to_owned())))
            .collect()
    }

    /// Writes the settings beside the chains, for the day on which the journal is lost.
    fn note_search(&self, settings: &[(String, String)]) -> Result<(), Failure> {
        let lines: String = settings
            .iter()
            .map(|(name, value)| format!("{name}: {value}\n"))
            .collect();
        write_whole(&self.search_file(), lines.as_bytes())
            .map_err(|error| Failure::file(&self.folder, error))
    }

    /// Stores rows that changed the pool.
    pub(crate) fn keep_rows(&mut self, keying: Keying, rows: &[(ChainId, Found, EliteRow)]) {
        let kept = self
            .journal
            .add(keying, rows)
            .map_err(|error| error.to_string());
        self.remember(kept);
    }

    /// Stores a chain, by write and rename.
    pub(crate) fn keep_chain(&mut self, chain: ChainId, saved: &SavedChain) {
        let path = self.folder.join("chains").join(format!("{}.snap", chain.0));
        let kept = write_whole(&path, &encode_chain(saved)).map_err(|error| error.to_string());
        self.remember(kept);
    }

    /// Stores how far the search has come.
    pub(crate) fn checkpoint(
        &mut self,
        state: &State,
        elapsed: Duration,
        stopped_by: Option<StoppedBy>,
    ) {
        let kept = self
            .journal
            .checkpoint(state.pool(), elapsed, state.record(), stopped_by)
            .map_err(|error| error.to_string());
        self.remember(kept);
    }

    fn remember(&mut self, kept: Result<(), String>) {
        match kept {
            Ok(()) => self.refused = false,
            Err(error) if !self.refused => {
                self.refused = true;
                tracing::warn!(
                    folder = %self.folder.display(),
                    %error,
                    "the state cannot be saved; the search goes on"
                );
            }
            Err(_) => {}
        }
    }
}

/// How the names of files begin that are not yet whole.
pub(crate) const HALF_WRITTEN: &str = ".rlbayes-";

/// Writes a file so that it is there whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(HALF_WRITTEN)
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    allow_reading(file.as_file())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Gives a new file the permissions that others have: temporary files are private.
#[cfg(unix)]
fn allow_reading(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn allow_reading(_file: &fs::File) -> std::io::Result<()> {
    Ok(())
}

/// Renames a broken file and says so.
fn set_aside(path: &Path, problem: &str) -> String {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".broken");
    let aside = PathBuf::from(aside);
    match fs::rename(path, &aside) {
        Ok(()) => format!(
            "{}: {problem}; set aside as {}",
            path.display(),
            aside.display()
        ),
        Err(error) => format!(
            "{}: {problem}; it cannot be set aside: {error}",
            path.display()
        ),
    }
}

/// Tells whether a file can't be opened because of rights rather than content.
fn permission_problem(path: &Path) -> Option<std::io::Error> {
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .err()
        .filter(|error| error.kind() != std::io::ErrorKind::NotFound)
}

fn another_search(folder: &Path, difference: &str) -> Failure {
    Failure::file(
        folder,
        format!("this folder holds another search: {difference}"),
    )
}

/// Names the first setting that differs.
fn difference(before: &[(String, String)], now: &[(String, String)]) -> Option<String> {
    let before: BTreeMap<&str, &str> = before
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let now: BTreeMap<&str, &str> = now
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let names: std::collections::BTreeSet<&str> =
        before.keys().chain(now.keys()).copied().collect();
    names.into_iter().find_map(|name| {
        let (a, b) = (before.get(name), now.get(name));
        (a != b).then(|| {
            let show = |value: Option<&&str>| value.map_or("not given", |value| value).to_owned();
            format!("{name} was {}, now it is {}", show(a), show(b))
        })
    })
}
