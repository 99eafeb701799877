//! The table on a worker's disk: fetched once, checked, kept by its hash.

use crate::link::{Link, LinkError};
use crate::retry::RetryPolicy;
use crate::session::SessionError;
use rlbayes_common::data::Table;
use rlbayes_common::exchange::SearchDescription;
use rlbayes_common::failpoint;
use rlbayes_common::files::{set_aside, write_whole};
use rlbayes_common::hex;
use rlbayes_common::snapshot::decode_table;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use tokio::time::sleep;

/// Why fetched bytes are not the table that was asked for.
#[derive(Debug, Error)]
pub enum DataError {
    /// The hash differs.
    #[error("the data that was fetched is not what was asked for")]
    Hash,
    /// They are no table.
    #[error("the data that was fetched is no table: {0}")]
    Content(#[from] rlbayes_common::snapshot::SnapshotError),
}

/// Tables by their hash.
#[derive(Clone, Debug)]
pub struct DataStore {
    folder: Option<PathBuf>,
}

impl DataStore {
    /// Opens the store in a state folder; without one nothing is kept.
    ///
    /// # Errors
    /// If the folder can't be made.
    pub fn open(state: Option<&Path>) -> io::Result<Self> {
        let folder = state.map(|state| state.join("data"));
        if let Some(folder) = &folder {
            fs::create_dir_all(folder)?;
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

    /// Fetches a search's table for as long as it takes, checks and keeps it; none if the
    /// coordinator has other data by now.
    ///
    /// # Errors
    /// If the coordinator is out of reach for too long, or sends something else.
    pub async fn fetch(
        &self,
        link: &impl Link,
        search: &SearchDescription,
        tries: &mut RetryPolicy,
    ) -> Result<Option<Table>, SessionError> {
        loop {
            match link.fetch_data(search).await {
                Ok(bytes) => {
                    tries.succeeded();
                    let table = self.keep(search, &bytes);
                    let table = table.map_err(|error| SessionError::Host(error.to_string()))?;
                    return Ok(Some(table));
                }
                Err(LinkError::JoinAgain(_)) => return Ok(None),
                Err(error) => {
                    tracing::warn!(%error, "the table cannot be fetched");
                    sleep(tries.failed(error)?).await;
                }
            }
        }
    }

    /// Checks fetched bytes and keeps them. A disk that refuses is no reason to stop.
    ///
    /// # Errors
    /// If they are not the search's table.
    fn keep(&self, search: &SearchDescription, bytes: &[u8]) -> Result<Table, DataError> {
        let table = check(search, bytes)?;
        failpoint::pass("worker-before-keep-table");
        if let Some(path) = self.path(search)
            && let Err(error) = write_whole(&path, bytes)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Joined;
    use crate::session::SessionSettings;
    use crate::test_values::{description, settings};
    use rlbayes_common::exchange::{Exchange, Hello, Reply, Snapshot};
    use rlbayes_common::ids::ChainId;
    use std::time::Duration;

    /// A coordinator that answers every question in the same way.
    struct Answering(LinkError);

    impl Link for Answering {
        async fn join(&self, _: &Hello) -> Result<Joined, LinkError> {
            Err(self.0.clone())
        }

        async fn fetch_data(&self, _: &SearchDescription) -> Result<Vec<u8>, LinkError> {
            Err(self.0.clone())
        }

        async fn store_chain(&self, _: &SearchDescription, _: &Exchange) -> Result<(), LinkError> {
            Err(self.0.clone())
        }

        async fn fetch_chain(
            &self,
            _: &SearchDescription,
            _: ChainId,
            _: [u8; 32],
        ) -> Result<Snapshot, LinkError> {
            Err(self.0.clone())
        }

        async fn exchange(&self, _: &SearchDescription, _: Exchange) -> Result<Reply, LinkError> {
            Err(self.0.clone())
        }

        async fn leave(&self, _: &SearchDescription, _: Exchange) -> Result<(), LinkError> {
            Err(self.0.clone())
        }

        async fn nudged(&self) {
            std::future::pending().await
        }

        fn least_pause(&self) -> Duration {
            Duration::ZERO
        }
    }

    fn fetched(error: LinkError) -> Result<Option<Table>, SessionError> {
        let settings = SessionSettings {
            give_up_after: Some(Duration::from_millis(250)),
            ..settings()
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let data = DataStore::open(None).unwrap();
        let mut tries = RetryPolicy::new(&settings);
        runtime.block_on(data.fetch(&Answering(error), &description(), &mut tries))
    }

    #[test]
    fn a_table_that_cannot_be_fetched_is_given_up_after_a_while() {
        let gave_up = fetched(LinkError::Unreachable("away".into()));
        assert!(matches!(gave_up, Err(SessionError::GaveUp(_))));
        let refused = fetched(LinkError::Refused("no".into()));
        assert!(matches!(refused, Err(SessionError::Refused(_))));
    }

    #[test]
    fn other_data_by_now_is_a_reason_to_join_again() {
        assert_eq!(fetched(LinkError::JoinAgain("other".into())), Ok(None));
    }
}
