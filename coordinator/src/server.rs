//! The gRPC server around the service: health, reflection, token, TLS and limits.

use crate::access::Access;
use crate::admission::Admission;
use crate::guard::CONNECTION_BYTES;
use crate::service::{Service, UPLOAD};
use rlbayes_proto::v1::coordinator_server::CoordinatorServer;
use rlbayes_proto::{DESCRIPTORS, MAX_MESSAGE_BYTES};
use std::future::Future;
use std::io;
use std::time::Duration;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_stream::Stream;
use tonic::transport::Server;
use tonic::transport::server::{Connected, ServerTlsConfig};

/// Calls at a time on one connection, and how many more may wait there.
const CALLS: u32 = 8;
/// What the messages that wait may take: a part of the memory, within these.
const MEMORY_PART: usize = 8;
const LEAST_MESSAGE_BYTES: usize = 16 << 20;
const MOST_MESSAGE_BYTES: usize = 256 << 20;

/// Why the server could not run.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The transport failed.
    #[error("the gRPC server failed: {}", described(.0))]
    Transport(#[from] tonic::transport::Error),
    /// The descriptors are broken.
    #[error("the reflection service failed: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
}

fn described(error: &tonic::transport::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Serves connections until `shutdown` comes; health is served to everybody, the rest, reflection
/// too, to those that may. Messages that wait take a part of `memory`.
///
/// # Errors
/// If TLS can't be set up or the socket fails.
pub async fn serve<I, IO>(
    incoming: I,
    service: Service,
    access: Access,
    memory: usize,
    tls: Option<ServerTlsConfig>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServerError>
where
    I: Stream<Item = io::Result<IO>>,
    IO: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
{
    let (health_reporter, health) = tonic_health::server::health_reporter();
    health_reporter
        .set_serving::<CoordinatorServer<Service>>()
        .await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .build_v1()?;
    let coordinator = CoordinatorServer::new(service)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let mut server = Server::builder()
        .timeout(UPLOAD)
        .concurrency_limit_per_connection(CALLS as usize)
        .max_concurrent_streams(Some(2 * CALLS))
        .http2_keepalive_interval(Some(Duration::from_secs(20)))
        .http2_keepalive_timeout(Some(Duration::from_secs(20)))
        .http2_max_header_list_size(Some(16 << 10))
        .initial_stream_window_size(Some(CONNECTION_BYTES))
        .initial_connection_window_size(Some(CONNECTION_BYTES));
    if let Some(tls) = tls {
        server = server.tls_config(tls)?;
    }
    let bytes = (memory / MEMORY_PART).clamp(LEAST_MESSAGE_BYTES, MOST_MESSAGE_BYTES);
    server
        .layer(Admission::new(access, bytes))
        .add_service(health)
        .add_service(reflection)
        .add_service(coordinator)
        .serve_with_incoming_shutdown(incoming, shutdown)
        .await?;
    Ok(())
}
