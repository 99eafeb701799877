//! A search on disk: opens the journal in a state folder, sets a broken one aside, and refuses a
//! folder that holds another search. Free-running chains of an in-process search lie beside it.

use crate::bootstrap::{BootstrapRequest, Replicate};
use crate::chains::{Belongs, ChainFolder};
use crate::coordination::Stored;
use crate::identity::{Difference, difference};
use crate::journal::{Journal, JournalError};
use crate::request::SearchRequest;
use rlbayes_common::elite::Keying;
use rlbayes_common::files::set_aside;
use rlbayes_common::ids::ChainId;
use rlbayes_common::search::SavedChain;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a state folder can't be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StateFolderError {
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
    #[error("{} {difference}", folder.display())]
    AnotherSearch {
        /// The folder.
        folder: PathBuf,
        /// What differs.
        difference: Difference,
    },
}

/// The journal of a search, and that of a bootstrap.
const SEARCH_FILE: &str = "journal.redb";
const REPLICATES_FILE: &str = "replicates.redb";

/// What an earlier run of an in-process search left, and where this one keeps its own.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The search as it was stored.
    pub(crate) stored: Option<Stored>,
    /// Free-running chains that were checkpointed.
    pub(crate) chains: BTreeMap<ChainId, SavedChain>,
    /// Where rows and progress go.
    pub(crate) journal: Option<Journal>,
    /// Where chains go.
    pub(crate) folder: Option<ChainFolder>,
}

/// Opens the state folder of an in-process search. Chains whose journal is lost are believed if a
/// note says that they belong to this search.
pub(crate) fn open(
    folder: &Path,
    request: &SearchRequest,
    mut warn: impl FnMut(String),
) -> Result<Kept, StateFolderError> {
    let settings = request.settings();
    let nodes = request.table().data().nodes();
    let (mut journal, stored) = open_file(folder, &settings, nodes, request.keying(), &mut warn)?;
    let refused = |problem| StateFolderError::File {
        path: folder.to_owned(),
        problem,
    };
    let chain_folder = ChainFolder::open(&folder.join("chains")).map_err(refused)?;
    let mut chains = BTreeMap::new();
    match (stored.is_some(), chain_folder.belongs_to(&settings)) {
        (_, Belongs::Here) => chains = chain_folder.read(nodes, &mut warn),
        (false, Belongs::Elsewhere(difference)) => {
            return Err(StateFolderError::AnotherSearch {
                folder: folder.to_owned(),
                difference,
            });
        }
        (_, Belongs::Unknown | Belongs::Elsewhere(_)) => {
            chain_folder.set_aside("it is not known which search it belongs to", &mut warn);
        }
    }
    // Nothing is begun before the chains are known to be this search's, or nobody's.
    if stored.is_none() {
        begin(&mut journal, folder, &settings)?;
    }
    chain_folder.begin(&settings).map_err(refused)?;
    Ok(Kept {
        stored,
        chains,
        journal: Some(journal),
        folder: Some(chain_folder),
    })
}

/// Opens the journal of a state folder for a search, and reads what is there; a new journal begins
/// the search.
///
/// # Errors
/// If the folder can't be used, is in use, or holds another search.
pub fn open_journal(
    folder: &Path,
    request: &SearchRequest,
    warn: impl FnMut(String),
) -> Result<(Journal, Option<Stored>), StateFolderError> {
    let settings = request.settings();
    let nodes = request.table().data().nodes();
    let (mut journal, stored) = open_file(folder, &settings, nodes, request.keying(), warn)?;
    if stored.is_none() {
        begin(&mut journal, folder, &settings)?;
    }
    Ok((journal, stored))
}

/// Opens the journal of a bootstrap in a state folder, beside that of a search, and reads the
/// replicates that are there.
pub(crate) fn open_replicates(
    folder: &Path,
    request: &BootstrapRequest,
    warn: impl FnMut(String),
) -> Result<(Journal, BTreeMap<u32, Replicate>), StateFolderError> {
    let settings = request.settings();
    let nodes = request.table().data().nodes();
    let (mut journal, stored) = open_named(
        folder,
        REPLICATES_FILE,
        &settings,
        nodes,
        request.keying(),
        warn,
    )?;
    if stored.is_none() {
        begin(&mut journal, folder, &settings)?;
    }
    let replicates = stored.map(|stored| stored.replicates).unwrap_or_default();
    Ok((journal, replicates))
}

fn begin(
    journal: &mut Journal,
    folder: &Path,
    settings: &[(String, String)],
) -> Result<(), StateFolderError> {
    journal
        .begin(settings)
        .map_err(|problem| StateFolderError::Journal {
            path: folder.to_owned(),
            problem,
        })
}

/// Opens the journal of a state folder and reads what is there. A new journal is returned without a
/// search: whoever opens it decides to begin one.
///
/// # Errors
/// If the folder can't be used, is in use, or holds another search.
fn open_file(
    folder: &Path,
    settings: &[(String, String)],
    nodes: usize,
    keying: Keying,
    warn: impl FnMut(String),
) -> Result<(Journal, Option<Stored>), StateFolderError> {
    open_named(folder, SEARCH_FILE, settings, nodes, keying, warn)
}

/// See [`open_file`], of a journal by its name.
fn open_named(
    folder: &Path,
    name: &str,
    settings: &[(String, String)],
    nodes: usize,
    keying: Keying,
    mut warn: impl FnMut(String),
) -> Result<(Journal, Option<Stored>), StateFolderError> {
    fs::create_dir_all(folder).map_err(|problem| StateFolderError::File {
        path: folder.to_owned(),
        problem,
    })?;
    let path = folder.join(name);
    let refused = |problem| StateFolderError::Journal {
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
        return Err(StateFolderError::AnotherSearch {
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

    fn opened(folder: &Path) -> (Result<(), StateFolderError>, Vec<String>) {
        let mut warnings = Vec::new();
        let warn = |warning| warnings.push(warning);
        let opened = open_file(folder, &SETTINGS, 4, Keying::ByClass, warn);
        (opened.map(|_| ()), warnings)
    }

    #[test]
    fn a_file_that_is_no_journal_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.redb");
        for content in [&b""[..], b"not a database at all", &[0; 8192]] {
            fs::write(&path, content).unwrap();
            let (opened, warnings) = opened(folder.path());
            opened.unwrap();
            assert!(warnings[0].contains("journal.redb"), "{warnings:?}");
        }
    }

    #[test]
    fn a_journal_that_was_begun_is_believed_and_a_new_folder_is_no_news() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, stored) =
            open_file(folder.path(), &SETTINGS, 4, Keying::ByClass, |warnings| {
                panic!("{warnings}")
            })
            .unwrap();
        assert!(stored.is_none());
        journal.begin(&SETTINGS).unwrap();
        drop(journal);
        let (opened, warnings) = opened(folder.path());
        opened.unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
    }

    #[test]
    fn a_journal_that_cannot_be_opened_is_refused_and_stays_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.redb");
        fs::create_dir(&path).unwrap();
        let (directory, warnings) = opened(folder.path());
        assert!(matches!(directory, Err(StateFolderError::Journal { .. })));
        assert!(warnings.is_empty() && path.is_dir(), "{warnings:?}");
        fs::remove_dir(&path).unwrap();

        let held = Journal::open(&path).unwrap();
        let (in_use, warnings) = opened(folder.path());
        assert!(matches!(
            in_use,
            Err(StateFolderError::Journal {
                problem: JournalError::InUse,
                ..
            })
        ));
        assert!(warnings.is_empty() && path.is_file(), "{warnings:?}");
        drop(held);
        opened(folder.path()).0.unwrap();
    }
}
