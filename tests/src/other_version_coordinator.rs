//! A stand-in for a coordinator: it refuses every call, as one of another protocol version does.

use crate::cluster::runtime;
use rlbayes_proto::PROTOCOL_VERSION;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::NamedService;
use tonic::transport::Server;

/// A running server. It ends when it is dropped.
pub struct OtherVersionCoordinator {
    /// Where it is.
    pub url: String,
    serving: JoinHandle<()>,
}

impl Drop for OtherVersionCoordinator {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Starts a coordinator that speaks the next protocol version.
#[must_use]
pub fn coordinator_of_another_version() -> OtherVersionCoordinator {
    let (url, serving) = runtime().block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            Server::builder()
                .add_service(AnotherVersion)
                .serve_with_incoming(TcpListenerStream::new(listener))
                .await
                .unwrap();
        });
        (url, serving)
    });
    OtherVersionCoordinator { url, serving }
}

#[derive(Clone)]
struct AnotherVersion;

impl NamedService for AnotherVersion {
    const NAME: &'static str = "rlbayes.v1.Coordinator";
}

impl Service<http::Request<Body>> for AnotherVersion {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _request: http::Request<Body>) -> Self::Future {
        let status = Status::failed_precondition(format!(
            "this coordinator speaks {}",
            PROTOCOL_VERSION + 1
        ));
        ready(Ok(status.into_http()))
    }
}
