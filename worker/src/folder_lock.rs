//! One worker a state folder: a lock on a file in there, which the system gives back when the process
//! ends, however it ends.

use rlbayes_common::files::open_private;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// The name of the file. It stays, and means nothing while nobody has it locked.
const NAME: &str = "lock";

/// Holds a state folder for as long as it lives.
#[derive(Debug)]
pub struct FolderLock {
    _file: Option<File>,
}

impl FolderLock {
    /// Takes a folder; none if another process has it.
    ///
    /// # Errors
    /// If the file can't be made.
    pub fn take(folder: &Path) -> io::Result<Option<Self>> {
        let file = open_private(&folder.join(NAME))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: Some(file) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            // Some shared disks know no locks; the search does without.
            Err(TryLockError::Error(error)) => {
                tracing::warn!(%error, "the state folder cannot be locked; no other worker may use it");
                Ok(Some(Self { _file: None }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_holder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path()).unwrap();
        assert!(first.is_some());
        assert!(FolderLock::take(folder.path()).unwrap().is_none());
        drop(first);
        assert!(FolderLock::take(folder.path()).unwrap().is_some());
        assert!(FolderLock::take(&folder.path().join("nowhere")).is_err());
    }
}
