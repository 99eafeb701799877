//! Why a coordinator gave no answer, told by what a person can do about it.

use crate::web_server::web_server;
use rlbayes_worker::grpc_link::{describe, is_certificate_problem};
use std::error::Error as _;
use thiserror::Error;

/// Why there is no answer; the message names the address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// What was asked or given is wrong.
    #[error("{0}")]
    Input(String),
    /// Nobody answers.
    #[error("{0}")]
    OutOfReach(String),
    /// The coordinator speaks another version of the protocol.
    #[error("{0}")]
    Protocol(String),
}

/// Returns what a call was answered with.
///
/// # Errors
/// If it failed, and why.
pub async fn answered<T>(
    url: &str,
    reply: Result<tonic::Response<T>, tonic::Status>,
) -> Result<T, ClientError> {
    match reply {
        Ok(reply) => Ok(reply.into_inner()),
        Err(status) => Err(failed(url, &status).await),
    }
}

/// Returns why a call failed.
pub async fn failed(url: &str, status: &tonic::Status) -> ClientError {
    let is_transport = matches!(
        status.code(),
        tonic::Code::Unavailable | tonic::Code::Unknown | tonic::Code::Internal
    );
    if is_transport && let Some(server) = web_server(url).await {
        return ClientError::Input(format!("{url}: {server}"));
    }
    let message = format!("{url}: {}", describe(status));
    match status.code() {
        _ if is_certificate_problem(&message) => ClientError::Input(message),
        tonic::Code::Unavailable | tonic::Code::DeadlineExceeded | tonic::Code::Cancelled => {
            ClientError::OutOfReach(message)
        }
        // The connection broke; what a coordinator says itself has no source.
        tonic::Code::Unknown | tonic::Code::Internal if status.source().is_some() => {
            ClientError::OutOfReach(message)
        }
        tonic::Code::FailedPrecondition => ClientError::Protocol(message),
        _ => ClientError::Input(message),
    }
}
