//! The read-only HTTP port: the live page, metrics for Prometheus, the status as JSON, the result in
//! every format, and a health check. It can require the same token as the gRPC port; then only the
//! page's shell and the health check are served without it. Connections are limited in number and
//! lifetime.

use crate::guard;
use crate::metrics::{self, DiskSpace, to_openmetrics};
use crate::service::Service;
use crate::status::to_json;
use crate::token::Token;
use crate::{events, page};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rlbayes_common::io::Format;
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_stream::StreamExt;

/// Maximum number of connections at a time; further ones wait.
const CONNECTIONS: usize = 64;
/// Lifetime of a connection, and the time it then has left for its last answer: longer than a stream
/// of events lasts.
const LIFE: Duration = Duration::from_secs(60);
const LAST_ANSWER: Duration = Duration::from_secs(35);
/// Maximum size of a request's head.
const MAX_HEAD_BYTES: usize = 16 << 10;

/// Serves until `shutdown` resolves; `grpc` is the port of the service, for those who ask here
/// instead, and `state` the folder whose disk is watched.
pub async fn serve(
    listener: TcpListener,
    service: Service,
    token: Token,
    grpc: u16,
    state: PathBuf,
    shutdown: impl Future<Output = ()>,
) {
    let needs_token = token.is_set();
    let streams = Arc::new(Semaphore::new(events::STREAMS));
    let mut guarded = Router::new()
        .route(
            "/metrics",
            get(move |State(service): State<Service>| show_metrics(service, state.clone())),
        )
        .route("/status", get(show_status))
        .route("/network.json", get(show_network))
        .route(
            "/events",
            get(move |State(service): State<Service>| events::stream(service, streams)),
        );
    for (ending, format) in RESULTS {
        let path = format!("/result.{ending}");
        let show = move |State(service): State<Service>| show_result(service, ending, format);
        guarded = guarded.route(&path, get(show));
    }
    let guarded = guarded
        .with_state(service)
        .layer(middleware::from_fn_with_state(token, require_token));
    let router = Router::new()
        .route(
            "/",
            get(move || async move { page::shell(grpc, needs_token) }),
        )
        .route("/page.js", get(|| async { page::script() }))
        // Browsers ask for one, and tell people that it is missing.
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .route("/page.css", get(|| async { page::style() }))
        .route("/viewer.js", get(|| async { page::viewer_script() }))
        .route("/viewer.css", get(|| async { page::viewer_style() }))
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

/// The formats that a result is served in, by their endings.
const RESULTS: [(&str, Format); 10] = [
    ("bif", Format::Bif),
    ("xml", Format::XmlBif),
    ("json", Format::Json),
    ("svg", Format::Svg),
    ("png", Format::Png),
    ("pdf", Format::Pdf),
    ("dot", Format::Dot),
    ("graphml", Format::GraphMl),
    ("csv", Format::Csv),
    ("txt", Format::ModelString),
];

async fn show_result(service: Service, ending: &str, format: Format) -> Response {
    let bytes = match made(service.file(format).await) {
        Ok(bytes) => bytes,
        Err(refused) => return refused,
    };
    let kind = match format {
        Format::Json => "application/json",
        Format::Svg => "image/svg+xml",
        Format::Png => "image/png",
        Format::Pdf => "application/pdf",
        Format::XmlBif | Format::GraphMl => "application/xml",
        _ => "text/plain; charset=utf-8",
    };
    let attached = format!("attachment; filename=\"network.{ending}\"");
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_DISPOSITION, attached.as_str()),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, bytes).into_response()
}

/// Answers with what the viewer shows of the network.
async fn show_network(State(service): State<Service>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    match made(service.viewed().await) {
        Ok(bytes) => (headers, bytes).into_response(),
        Err(refused) => refused,
    }
}

/// Says why there is no result.
#[expect(clippy::result_large_err, reason = "the error is the answer")]
fn made(result: Result<Option<Vec<u8>>, String>) -> Result<Vec<u8>, Response> {
    let text = |status: StatusCode, what: String| (status, format!("{what}\n")).into_response();
    match result {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(text(
            StatusCode::NOT_FOUND,
            "there is no network yet".to_owned(),
        )),
        Err(why) => Err(text(StatusCode::CONFLICT, why)),
    }
}

/// How long a disk may take to tell its size; one that hangs is left out.
const DISK: Duration = Duration::from_secs(2);

async fn show_metrics(service: Service, state: PathBuf) -> Response {
    let asked = tokio::task::spawn_blocking(move || DiskSpace::of(&state));
    let disk = timeout(DISK, asked)
        .await
        .ok()
        .and_then(Result::ok)
        .flatten();
    let text = to_openmetrics(&service.status_now(), disk, service.latency());
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response()
}

async fn show_status(State(service): State<Service>) -> Response {
    let text = format!("{:#}\n", to_json(&service.status_now()));
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}
