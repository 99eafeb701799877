//! `--state DIR`: opens the journal in a folder, sets a broken one aside, and refuses a folder that
//! holds another search.

use crate::journal::{Journal, JournalError};
use crate::state::Stored;
use rlbayes_common::elite::Keying;
use rlbayes_common::files::set_aside;
use rlbayes_common::identity::difference;
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
    let was_there = path.exists();
    let opened = Journal::open(&path).and_then(|mut journal| {
        let loaded = journal.load(settings, nodes, keying)?;
        Ok((journal, loaded))
    });
    let broken = match &opened {
        // A file that was cut to nothing makes a new journal, and a search that was lost silently.
        Ok((_, None)) if was_there => Some("the journal holds no search".to_owned()),
        Err(error) if error.is_damage() => Some(error.to_string()),
        _ => None,
    };
    let (journal, loaded) = match broken {
        Some(problem) => {
            drop(opened);
            warn(set_aside(&path, &problem));
            (Journal::open(&path).map_err(refused)?, None)
        }
        None => opened.map_err(refused)?,
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

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: [(String, String); 0] = [];

    fn opened(folder: &Path) -> (Result<(), StoreError>, Vec<String>) {
        let mut said = Vec::new();
        let warn = |warning| said.push(warning);
        let opened = open(folder, &SETTINGS, 4, Keying::ByClass, warn);
        (opened.map(|_| ()), said)
    }

    #[test]
    fn a_file_that_is_no_journal_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.redb");
        for content in [&b""[..], b"not a database at all", &[0; 8192]] {
            fs::write(&path, content).unwrap();
            let (opened, said) = opened(folder.path());
            opened.unwrap();
            assert!(said[0].contains("journal.redb"), "{said:?}");
        }
    }

    #[test]
    fn a_journal_that_was_begun_is_believed_and_a_new_folder_is_no_news() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, stored) = open(folder.path(), &SETTINGS, 4, Keying::ByClass, |said| {
            panic!("{said}")
        })
        .unwrap();
        assert!(stored.is_none());
        journal.begin(&SETTINGS).unwrap();
        drop(journal);
        let (opened, said) = opened(folder.path());
        opened.unwrap();
        assert!(said.is_empty(), "{said:?}");
    }

    #[test]
    fn a_journal_that_cannot_be_opened_is_refused_and_stays_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.redb");
        fs::create_dir(&path).unwrap();
        let (directory, said) = opened(folder.path());
        assert!(matches!(directory, Err(StoreError::Journal { .. })));
        assert!(said.is_empty() && path.is_dir(), "{said:?}");
        fs::remove_dir(&path).unwrap();

        let held = Journal::open(&path).unwrap();
        let (in_use, said) = opened(folder.path());
        assert!(matches!(
            in_use,
            Err(StoreError::Journal {
                problem: JournalError::InUse,
                ..
            })
        ));
        assert!(said.is_empty() && path.is_file(), "{said:?}");
        drop(held);
        opened(folder.path()).0.unwrap();
    }
}
