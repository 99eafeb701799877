//! `--state DIR`: opens the journal in a folder, sets a broken one aside, and refuses a folder that
//! holds another search.

use crate::journal::{Journal, JournalError};
use crate::state::Stored;
use rlbayes_common::elite::Keying;
use rlbayes_common::identity::difference;
use rlbayes_common::io::set_aside;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a state folder can't be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The folder or a file in it refuses.
    #[error("{}: {problem}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What it says.
        problem: io::Error,
    },
    /// The journal refuses.
    #[error("{}: {problem}", path.display())]
    Journal {
        /// Which file.
        path: PathBuf,
        /// What it says.
        problem: JournalError,
    },
    /// The folder belongs to another search.
    #[error("{}: this folder holds another search: {difference}", folder.display())]
    AnotherSearch {
        /// The folder.
        folder: PathBuf,
        /// What differs.
        difference: String,
    },
}

/// Opens the journal of a state folder and reads what is there. A new journal is returned without a
/// search: whoever opens it decides to begin one.
///
/// # Errors
/// If the folder can't be used, is in use, or holds another search.
pub fn open(
    folder: &Path,
    settings: &[(String, String)],
    nodes: usize,
    keying: Keying,
    mut warn: impl FnMut(String),
) -> Result<(Journal, Option<Stored>), StoreError> {
    fs::create_dir_all(folder).map_err(|problem| StoreError::File {
        path: folder.to_owned(),
        problem,
    })?;
    let path = folder.join("journal.redb");
    let refused = |problem| StoreError::Journal {
        path: path.clone(),
        problem,
    };
    let opened = Journal::open(&path).and_then(|mut journal| {
        let loaded = journal.load(settings, nodes, keying)?;
        Ok((journal, loaded))
    });
    let (journal, loaded) = match opened {
        Ok(opened) => opened,
        Err(JournalError::InUse) => return Err(refused(JournalError::InUse)),
        Err(error) => {
            if let Some(problem) = permission_problem(&path) {
                return Err(StoreError::File { path, problem });
            }
            warn(set_aside(&path, &error.to_string()));
            (Journal::open(&path).map_err(refused)?, None)
        }
    };
    let Some(loaded) = loaded else {
        return Ok((journal, None));
    };
    if let Some(difference) = difference(&loaded.settings, settings) {
        return Err(StoreError::AnotherSearch {
            folder: folder.to_owned(),
            difference,
        });
    }
    Ok((journal, loaded.stored))
}

/// Tells whether a file can't be opened because of rights rather than content.
fn permission_problem(path: &Path) -> Option<io::Error> {
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .err()
        .filter(|error| error.kind() != io::ErrorKind::NotFound || !path.exists())
}
