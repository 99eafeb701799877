//! The read-only HTTP port: metrics for Prometheus, the status as JSON, and a health check. It can
//! require the same token as the gRPC port. Connections are limited in number and lifetime.

use crate::guard;
use crate::metrics::{self, to_openmetrics};
use crate::service::Service;
use crate::status::to_json;
use crate::token::Token;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_stream::StreamExt;

/// Maximum number of connections at a time; further ones wait.
const CONNECTIONS: usize = 64;
/// Lifetime of a connection, and the time it then has left for its last answer.
const LIFE: Duration = Duration::from_secs(60);
const LAST_ANSWER: Duration = Duration::from_secs(5);
/// Maximum size of a request's head.
const MAX_HEAD_BYTES: usize = 16 << 10;

/// Serves until `shutdown` resolves; `grpc` is the port of the service, for those who ask here
/// instead.
pub async fn serve(
    listener: TcpListener,
    service: Service,
    token: Token,
    grpc: u16,
    shutdown: impl Future<Output = ()>,
) {
    let guarded = Router::new()
        .route("/metrics", get(show_metrics))
        .route("/status", get(show_status))
        .with_state(service)
        .layer(middleware::from_fn_with_state(token, require_token));
    let router = Router::new()
        .route(
            "/",
            get(move || async move {
                format!("rlbayes coordinator: /status /metrics /health; gRPC is on port {grpc}\n")
            }),
        )
        .route("/health", get(|| async { "ok\n" }))
        .merge(guarded);
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(guard::FIRST_BYTES_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES);
    let mut incoming = pin!(guard::accept(listener, CONNECTIONS));
    let mut shutdown = pin!(shutdown);
    // Connections that are open at shutdown are aborted.
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => return,
            Some(_) = open.join_next() => continue,
            accepted = incoming.next() => accepted,
        };
        let Some(Ok(stream)) = accepted else { return };
        let builder = builder.clone();
        let service = TowerToHyperService::new(router.clone());
        open.spawn(async move {
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            let mut connection = pin!(connection);
            // A peer that disconnects or sends garbage affects only itself: errors are ignored.
            if timeout(LIFE, connection.as_mut()).await.is_err() {
                connection.as_mut().graceful_shutdown();
                let _ = timeout(LAST_ANSWER, connection).await;
            }
        });
    }
}

async fn require_token(State(token): State<Token>, request: Request, next: Next) -> Response {
    let header = request.headers().get(header::AUTHORIZATION);
    if token.admits(header.map(HeaderValue::as_bytes)) {
        next.run(request).await
    } else {
        (StatusCode::UNAUTHORIZED, "a token is needed\n").into_response()
    }
}

async fn show_metrics(State(service): State<Service>) -> Response {
    let text = to_openmetrics(&service.status_now(), service.latency());
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response()
}

async fn show_status(State(service): State<Service>) -> Response {
    let text = format!("{:#}\n", to_json(&service.status_now()));
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}
