//! The table on a worker's disk: fetched once, checked, kept by its hash.

use crate::link::Link;
use crate::state::OpenError;
use rlbayes_common::data::Table;
use rlbayes_common::exchange::SearchDescription;
use rlbayes_common::failpoint;
use rlbayes_common::files::{make_private_folder, set_aside, sweep, write_private};
use rlbayes_common::hex;
use rlbayes_common::snapshot::decode_table;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why fetched bytes are not the table that was asked for.
#[derive(Debug, Error)]
pub enum DataError {
    /// The hash differs.
    #[error("the data that was fetched is not what was asked for")]
    Hash,
    /// They are not a table.
    #[error("the data that was fetched is not a table: {0}")]
    Content(#[from] rlbayes_common::snapshot::SnapshotError),
}

/// Tables by their hash.
#[derive(Clone, Debug)]
pub struct DataStore {
    folder: Option<PathBuf>,
}

impl DataStore {
    /// Opens the store in a state folder, and removes what a kill left half-written there; without one
    /// nothing is kept.
    ///
    /// # Errors
    /// If the folder can't be made.
    pub fn open(state: Option<&Path>) -> io::Result<Self> {
        let folder = state.map(|state| state.join("data"));
        if let Some(folder) = &folder {
            make_private_folder(folder)?;
            sweep(folder);
        }
        Ok(Self { folder })
    }

    /// Returns a search's table if it is there; a broken file is set aside.
    pub fn find(&self, search: &SearchDescription, warn: impl FnOnce(String)) -> Option<Table> {
        let path = self.path(search)?;
        let bytes = fs::read(&path).ok()?;
        match check(search, &bytes) {
            Ok(table) => Some(table),
            Err(error) => {
                warn(set_aside(&path, &error.to_string()));
                None
            }
        }
    }

    /// Fetches a search's table, checks and keeps it.
    ///
    /// # Errors
    /// If the call does not succeed, or brings something else.
    pub async fn fetch(
        &self,
        link: &impl Link,
        search: &SearchDescription,
    ) -> Result<Table, OpenError> {
        let bytes = link.fetch_data(search).await?;
        let table = self.keep(search, &bytes);
        table.map_err(|error| OpenError::Host(error.to_string()))
    }

    /// Checks fetched bytes and keeps them. A disk that refuses is not a reason to stop.
    ///
    /// # Errors
    /// If they are not the search's table.
    fn keep(&self, search: &SearchDescription, bytes: &[u8]) -> Result<Table, DataError> {
        let table = check(search, bytes)?;
        failpoint::pass("worker-before-keep-table");
        if let Some(path) = self.path(search)
            && let Err(error) = write_private(&path, bytes)
        {
            tracing::warn!(path = %path.display(), %error, "the table cannot be kept");
        }
        Ok(table)
    }

    fn path(&self, search: &SearchDescription) -> Option<PathBuf> {
        let name = hex::encode(&search.data_hash[..16]);
        Some(self.folder.as_ref()?.join(format!("{name}.table")))
    }
}

fn check(search: &SearchDescription, bytes: &[u8]) -> Result<Table, DataError> {
    if *blake3::hash(bytes).as_bytes() != search.data_hash {
        return Err(DataError::Hash);
    }
    let table = decode_table(bytes)?;
    if table.fingerprint() != search.data_fingerprint {
        return Err(DataError::Hash);
    }
    Ok(table)
}
