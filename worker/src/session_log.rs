//! What a session writes to the log, in words.

use crate::state::LogEvent;
use rlbayes_common::exchange::Pace;

/// Writes an event to the log.
pub(crate) fn log(event: &LogEvent) {
    match event {
        LogEvent::Waiting(error) => tracing::warn!(%error, "waiting for the coordinator"),
        LogEvent::Reached => tracing::info!("the coordinator is reached"),
        LogEvent::Away(error, Pace::Free) => {
            tracing::warn!(%error, "the coordinator is away; searching without it");
        }
        LogEvent::Away(error, Pace::Lockstep) => {
            tracing::warn!(%error, "the coordinator is away; the round waits for it");
        }
        LogEvent::Back => tracing::info!("the coordinator is back"),
        LogEvent::TableNotFetched(error) => tracing::warn!(%error, "the table cannot be fetched"),
        LogEvent::JoinedAgain(worker) => tracing::info!(%worker, "joined again"),
        LogEvent::AnotherSearch(search) => {
            tracing::info!(%search, "the coordinator has another search");
        }
        LogEvent::ResumedFromCheckpoint(chain) => {
            tracing::info!(%chain, "a chain resumes from its checkpoint");
        }
        LogEvent::StateNotFetched(chain, error) => {
            tracing::warn!(%chain, %error, "the state of a chain cannot be fetched");
        }
        LogEvent::LastReportFailed(error) => {
            tracing::debug!(%error, "a last report did not arrive");
        }
        LogEvent::LastReportsLost => {
            tracing::warn!("the coordinator did not take the last reports");
        }
    }
}
