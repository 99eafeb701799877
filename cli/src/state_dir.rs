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
        let mut dir = Self {
            folder: folder.to_owned(),
            journal,
            refused: false,
        };
        let Some(stored) = stored else {
            dir.journal
                .begin(settings)
                .map_err(|error| Failure::file(&path, error))?;
            let chains = dir.read_chains(nodes, &mut warn);
            let earlier = (!chains.is_empty()).then(|| Earlier {
                stored: Stored::none(keying),
                chains,
            });
            return Ok((dir, earlier));
        };
        if let Some(difference) = difference(&stored.settings, settings) {
            return Err(Failure::file(
                folder,
                format!("this folder holds another search: {difference}"),
            ));
        }
        let chains = dir.read_chains(nodes, &mut warn);
        Ok((dir, Some(Earlier { stored, chains })))
    }

    fn read_chains(
        &mut self,
        nodes: usize,
        warn: &mut impl FnMut(String),
    ) -> BTreeMap<ChainId, SavedChain> {
        let mut chains = BTreeMap::new();
        let Ok(entries) = fs::read_dir(self.folder.join("chains")) else {
            return chains;
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(HALF_WRITTEN) {
                // A kill came between write and rename; the journal's lock is ours.
                let _ = fs::remove_file(&path);
                continue;
            }
            let number = path
                .file_name()
                .and_then(|name| name.to_str()?.strip_suffix(".snap")?.parse::<u32>().ok());
            let Some(number) = number else { continue };
            let read = fs::read(&path)
                .map_err(|error| error.to_string())
                .and_then(|bytes| decode_chain(&bytes, nodes).map_err(|error| error.to_string()));
            match read {
                Ok(chain) => {
                    chains.insert(ChainId(number), chain);
                }
                Err(error) => warn(set_aside(&path, &error)),
            }
        }
        chains
    }

    /// Stores rows that changed the pool.
    pub(crate) fn keep_rows(&mut self, keying: Keying, rows: &[(ChainId, Found, EliteRow)]) {
        let kept = self
            .journal
            .add(keying, rows)
            .map_err(|error| error.to_string());
        self.note(kept);
    }

    /// Stores a chain, by write and rename.
    pub(crate) fn keep_chain(&mut self, chain: ChainId, saved: &SavedChain) {
        let path = self.folder.join("chains").join(format!("{}.snap", chain.0));
        let kept = write_whole(&path, &encode_chain(saved)).map_err(|error| error.to_string());
        self.note(kept);
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
        self.note(kept);
    }

    fn note(&mut self, kept: Result<(), String>) {
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
