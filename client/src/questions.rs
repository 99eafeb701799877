//! The questions themselves.

use crate::connection::Connection;
use crate::error::{ClientError, answered, failed};
use crate::fetched::Fetched;
use prost::Message;
use rlbayes_proto::convert::network_from_wire;
use rlbayes_proto::{MAX_RESULT_BYTES, v1};
use std::time::Duration;

/// How long a person waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a result may take to be made.
const MAKING: Duration = Duration::from_secs(60);
/// How long the next part of a result may take.
const NEXT_CHUNK: Duration = Duration::from_secs(30);

fn request<T>(message: T, patience: Duration) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    request.set_timeout(patience);
    request
}

/// Asks how the search is going.
///
/// # Errors
/// If there is no answer, and why.
pub async fn status(to: &Connection) -> Result<v1::StatusReply, ClientError> {
    let asked = request(v1::StatusRequest {}, PATIENCE);
    let reply = to.client()?.status(asked).await;
    answered(&to.url, reply).await
}

/// Ends the search; its result can still be fetched.
///
/// # Errors
/// If there is no answer, and why.
pub async fn stop(to: &Connection) -> Result<v1::StatusReply, ClientError> {
    let asked = request(v1::StopRequest {}, PATIENCE);
    let reply = to.client()?.stop(asked).await;
    answered(&to.url, reply).await
}

/// Asks for the status whenever it changes.
///
/// # Errors
/// If there is no answer, and why.
pub async fn watch(to: &Connection) -> Result<tonic::Streaming<v1::StatusReply>, ClientError> {
    let stream = to.client()?.watch(v1::StatusRequest {}).await;
    answered(&to.url, stream).await
}

/// Fetches the best network so far.
///
/// # Errors
/// If there is no answer, or no network in it, and why.
pub async fn fetch(to: &Connection) -> Result<Fetched, ClientError> {
    let mut client = to.client()?;
    let call = async {
        let asked = request(v1::ResultRequest {}, MAKING);
        let mut stream = client.result(asked).await?.into_inner();
        let (mut json, mut bytes, mut not_fitted) = (String::new(), Vec::new(), String::new());
        loop {
            let chunk = tokio::time::timeout(NEXT_CHUNK, stream.message()).await;
            let late = |_| {
                tonic::Status::deadline_exceeded("the rest of the result did not arrive in time")
            };
            let Some(chunk) = chunk.map_err(late)?? else {
                break;
            };
            json.push_str(&chunk.json);
            bytes.extend_from_slice(&chunk.network);
            not_fitted.push_str(&chunk.not_fitted);
            let most = bytes.len().max(json.len()).max(not_fitted.len());
            if most > MAX_RESULT_BYTES {
                return Err(tonic::Status::out_of_range("the result is too large"));
            }
        }
        Ok((json, bytes, not_fitted))
    };
    let (json, bytes, not_fitted) = match call.await {
        Ok(parts) => parts,
        Err(status) => return Err(failed(&to.url, &status).await),
    };
    let url = &to.url;
    let wrong = |what: &dyn std::fmt::Display| {
        ClientError::Input(format!("{url}: the coordinator sent no network: {what}"))
    };
    let network = v1::Network::decode(&*bytes).map_err(|error| wrong(&error))?;
    Ok(Fetched {
        json,
        network: network_from_wire(network).map_err(|error| wrong(&error))?,
        not_fitted: Some(not_fitted).filter(|why| !why.is_empty()),
    })
}
