//! A search on disk: opens the journal in a state folder, sets a broken one aside, and refuses a
//! folder that holds another search. Free-running chains of an in-process search lie beside it.

use crate::bootstrap::{BootstrapRequest, Replicate};
use crate::chains::{Belongs, ChainFolder, OtherVersion};
use crate::coordination::Stored;
use crate::identity::{Difference, difference};
use crate::journal::{Journal, JournalError};
use crate::request::SearchRequest;
use crate::search_note;
use rlbayes_common::elite::Keying;
use rlbayes_common::files::{make_private_folder, set_aside, sweep};
use rlbayes_common::ids::ChainId;
use rlbayes_common::search::SavedChain;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// The name of the journal in a search's folder.
const JOURNAL: &str = "journal.redb";

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
    /// A file is where the folder should be.
    #[error("{}: is a file (expected a folder for the search's state)", .0.display())]
    NotAFolder(PathBuf),
    /// The journal refuses.
    #[error("{}: {problem}", path.display())]
    Journal {
        /// Which file.
        path: PathBuf,
        /// What it says.
        problem: JournalError,
    },
    /// A chain in it was written by another version of the program.
    #[error(transparent)]
    OtherVersion(#[from] OtherVersion),
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
        (_, Belongs::Here) => {
            chains = chain_folder.read(nodes, request.algorithm(), &mut warn)?;
        }
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

/// A search in a folder that may hold several.
#[derive(Debug)]
pub struct OpenedSearch {
    /// Its journal.
    pub journal: Journal,
    /// The search as it was stored; none: it is new.
    pub stored: Option<Stored>,
    /// Whether it lies in the given folder itself, as the searches of earlier versions do, and not in
    /// a folder of its own in there.
    pub is_at_the_top: bool,
    /// How the other searches in there differ from this one, those of the same table first.
    pub others: Vec<Difference>,
}

/// Opens a search in a folder that may hold several, each in a folder of its own that is named by the
/// search's id. A journal in the given folder itself is of an earlier version, which kept one search
/// only: it is resumed where it is if it is this search.
///
/// # Errors
/// If the folder can't be used, or the search is in use by another process.
pub fn open_search(
    folder: &Path,
    request: &SearchRequest,
    mut warn: impl FnMut(String),
) -> Result<OpenedSearch, StateFolderError> {
    make_folder(folder)?;
    let settings = request.settings();
    let nodes = request.table().data().nodes();
    let own = folder.join(request.id().to_string());
    let mut others = Vec::new();
    for (path, difference) in other_searches(folder, &own, &settings) {
        // It may be this very search, which this program cannot read.
        if difference.is_newer() && !own.join(JOURNAL).exists() {
            return Err(StateFolderError::AnotherSearch {
                folder: path,
                difference,
            });
        }
        others.push(difference);
    }
    if folder.join(JOURNAL).exists() && !own.join(JOURNAL).exists() {
        let opened = open_file(folder, &settings, nodes, request.keying(), &mut warn);
        match opened {
            Ok((journal, Some(stored))) => {
                return Ok(OpenedSearch {
                    journal,
                    stored: Some(stored),
                    is_at_the_top: true,
                    others,
                });
            }
            // What was there was damaged, and is set aside; its successor holds nothing.
            Ok((journal, None)) => {
                drop(journal);
                let path = folder.join(JOURNAL);
                fs::remove_file(&path)
                    .map_err(|problem| StateFolderError::File { path, problem })?;
            }
            // It may be this very search, which this program cannot read.
            Err(
                error @ StateFolderError::AnotherSearch {
                    difference: Difference::Format { .. },
                    ..
                },
            ) => return Err(error),
            Err(StateFolderError::AnotherSearch { difference, .. }) => others.push(difference),
            Err(error) => return Err(error),
        }
    }
    let (mut journal, stored) = open_file(&own, &settings, nodes, request.keying(), &mut warn)?;
    if stored.is_none() {
        begin(&mut journal, &own, &settings)?;
        // It tells people which search this is; the search does without.
        if let Err(error) = search_note::write(&own, &settings) {
            warn(format!(
                "{}: the note cannot be written: {error}",
                own.display()
            ));
        }
    }
    others.sort_by_key(|difference| !matches!(difference, Difference::Setting { .. }));
    Ok(OpenedSearch {
        journal,
        stored,
        is_at_the_top: false,
        others,
    })
}

/// Returns the folders in a folder that hold other searches, and how these differ from one, by their
/// notes.
fn other_searches(
    folder: &Path,
    own: &Path,
    settings: &[(String, String)],
) -> Vec<(PathBuf, Difference)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    folders.retain(|path| path != own && path.join(JOURNAL).exists());
    folders
        .into_iter()
        .filter_map(|path| {
            let difference = difference(&search_note::read(&path)?, settings)?;
            Some((path, difference))
        })
        .collect()
}

fn make_folder(folder: &Path) -> Result<(), StateFolderError> {
    if folder.exists() && !folder.is_dir() {
        return Err(StateFolderError::NotAFolder(folder.to_owned()));
    }
    make_private_folder(folder).map_err(|problem| StateFolderError::File {
        path: folder.to_owned(),
        problem,
    })
}

/// Opens the journal of a bootstrap in a state folder, beside that of a search, and reads the
/// replicates that are there.
pub(crate) fn open_replicates(
    folder: &Path,
    request: &BootstrapRequest,
    warn: impl FnMut(String),
) -> Result<(Journal, BTreeMap<u32, Arc<Replicate>>), StateFolderError> {
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
    make_folder(folder)?;
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
    // The journal is locked, so nobody else is about to write here.
    if name == SEARCH_FILE {
        sweep(folder);
    }
    if journal.has_gone_back() {
        warn(format!(
            "{}: the last write to it is damaged, or was not whole when the machine stopped; the \
             search continues from the write before",
            path.display()
        ));
    }
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
        let path = folder.path().join(JOURNAL);
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

    fn request(seed: u64, columns: &str) -> SearchRequest {
        let text = format!("{columns}\n0,1\n1,0\n1,1\n");
        let options = crate::LoadOptions::default();
        let table = crate::Table::parse("survey", text.as_bytes(), &options).unwrap();
        let settings = crate::SearchSettings {
            seed,
            ..crate::SearchSettings::default()
        };
        SearchRequest::new(&table, &settings).unwrap()
    }

    fn open_quietly(folder: &Path, request: &SearchRequest) -> OpenedSearch {
        open_search(folder, request, |warning| panic!("{warning}")).unwrap()
    }

    #[test]
    fn searches_lie_side_by_side_and_each_is_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let [first, seed, table] = [request(1, "a,b"), request(2, "a,b"), request(1, "x,y")];
        let opened = open_quietly(folder.path(), &first);
        assert!(opened.stored.is_none() && opened.others.is_empty());
        // Another search may run at the same time; the same one may not.
        let beside = open_quietly(folder.path(), &table);
        assert!(beside.stored.is_none() && !beside.is_at_the_top);
        let twice = open_search(folder.path(), &first, |_| {});
        assert!(matches!(
            twice,
            Err(StateFolderError::Journal {
                problem: JournalError::InUse,
                ..
            })
        ));
        drop((opened, beside));
        let told: Vec<String> = open_quietly(folder.path(), &seed)
            .others
            .iter()
            .map(Difference::to_string)
            .collect();
        assert_eq!(
            told,
            [
                "holds a search of survey with seed 1; this one has 2",
                "holds a search of survey with other content than the table has now"
            ]
        );
        for request in [&first, &seed, &table] {
            assert!(open_quietly(folder.path(), request).stored.is_some());
        }
    }

    #[test]
    fn no_search_is_begun_beside_one_of_a_newer_version() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (request(1, "a,b"), request(2, "a,b"));
        drop(open_quietly(folder.path(), &first));
        let newer = folder.path().join("0123");
        fs::create_dir(&newer).unwrap();
        fs::write(newer.join(JOURNAL), "what a later version writes").unwrap();
        let mut settings = second.settings();
        for (name, value) in &mut settings {
            if name == crate::identity::FORMAT_ENTRY {
                *value = (crate::identity::FORMAT + 1).to_string();
            }
        }
        search_note::write(&newer, &settings).unwrap();
        let refused = open_search(folder.path(), &second, |_| {}).unwrap_err();
        let message = refused.to_string();
        assert!(
            message.contains("0123 holds a search that a newer version"),
            "{message}"
        );
        assert!(!folder.path().join(second.id().to_string()).exists());
        // One that is there already is resumed.
        assert!(open_quietly(folder.path(), &first).stored.is_some());
    }

    #[test]
    fn a_search_of_an_earlier_version_is_resumed_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (request(1, "a,b"), request(2, "a,b"));
        let settings = first.settings();
        let (mut journal, _) =
            open_file(folder.path(), &settings, 2, Keying::ByClass, |_| {}).unwrap();
        journal.begin(&settings).unwrap();
        drop(journal);
        let opened = open_quietly(folder.path(), &second);
        assert!(opened.stored.is_none() && !opened.is_at_the_top);
        assert_eq!(opened.others.len(), 1);
        drop(opened);
        let opened = open_quietly(folder.path(), &first);
        assert!(opened.stored.is_some() && opened.is_at_the_top);
    }

    #[test]
    fn a_damaged_journal_of_an_earlier_version_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(JOURNAL);
        fs::write(&path, "not a database at all").unwrap();
        let mut warnings = Vec::new();
        let opened = open_search(folder.path(), &request(1, "a,b"), |w| warnings.push(w)).unwrap();
        assert!(opened.stored.is_none() && !opened.is_at_the_top);
        assert!(warnings[0].contains("journal.redb.broken"), "{warnings:?}");
        assert!(!path.exists());
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let message = open_search(&file, &request(1, "a,b"), |_| {}).unwrap_err();
        assert!(
            message.to_string().contains("expected a folder"),
            "{message}"
        );
    }

    #[test]
    fn a_journal_that_cannot_be_opened_is_refused_and_stays_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(JOURNAL);
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
