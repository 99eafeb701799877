//! The read-only HTTP port: metrics for Prometheus, the status as JSON, and a sign of life. It can
//! demand the same token as the gRPC port.

use crate::service::Service;
use crate::status::{to_json, to_prometheus};
use crate::token::Token;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::future::Future;
use std::io;
use tokio::net::TcpListener;

/// Serves until `shutdown` comes.
///
/// # Errors
/// If the socket fails.
pub async fn serve(
    listener: TcpListener,
    service: Service,
    token: Token,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let guarded = Router::new()
        .route("/metrics", get(metrics))
        .route("/status", get(status))
        .with_state(service)
        .layer(middleware::from_fn_with_state(token, demand_token));
    let router = Router::new()
        .route(
            "/",
            get(|| async { "rlbayes coordinator: /status /metrics /health\n" }),
        )
        .route("/health", get(|| async { "ok\n" }))
        .merge(guarded);
    axum::serve(listener, router)
        .with_graceful_shutdown(shutdown)
        .await
}

async fn demand_token(State(token): State<Token>, request: Request, next: Next) -> Response {
    let header = request.headers().get(header::AUTHORIZATION);
    if token.admits(header.map(HeaderValue::as_bytes)) {
        next.run(request).await
    } else {
        (StatusCode::UNAUTHORIZED, "a token is needed\n").into_response()
    }
}

async fn metrics(State(service): State<Service>) -> Response {
    let text = to_prometheus(&service.status_now(), service.latency());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

async fn status(State(service): State<Service>) -> Response {
    let text = format!("{:#}\n", to_json(&service.status_now()));
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}
