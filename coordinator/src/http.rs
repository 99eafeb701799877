//! The read-only HTTP port: the live page, metrics for Prometheus, the status as JSON, the result in
//! every format, and a health check. It can require a token that allows reading, as the gRPC port
//! does; then only the page's shell and the health check are served without it. It can have TLS.
//! Connections are limited in number and lifetime, and every new one gets a place.

use crate::access::{Access, Role};
use crate::budget::{Budget, Payer};
use crate::connections::Place;
use crate::guard;
use crate::metrics::{self, DiskSpace, to_openmetrics};
use crate::peer::Peer;
use crate::service::Service;
use crate::status::to_json;
use crate::{events, page};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rlbayes_common::io::Format;
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_stream::StreamExt;

/// Maximum number of connections at a time.
const CONNECTIONS: usize = 256;
/// Lifetime of a connection, and the time it then has left for its last answer: longer than a stream
/// of events lasts.
const LIFE: Duration = Duration::from_secs(60);
const LAST_ANSWER: Duration = Duration::from_secs(35);
/// Maximum size of a request's head.
const MAX_HEAD_BYTES: usize = 16 << 10;

/// Why the certificate of the port can't be used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// It is not a certificate and its key.
    #[error("the certificate or its key cannot be read: {0}")]
    Pem(#[from] pem::Error),
    /// They do not fit.
    #[error("the certificate cannot be used: {0}")]
    Unusable(#[from] tokio_rustls::rustls::Error),
}

/// Prepares TLS from a certificate and its key, in PEM.
///
/// # Errors
/// If they are broken or do not fit each other.
pub fn tls(certificate: &[u8], key: &[u8]) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(key)?;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Serves until `shutdown` resolves; `grpc` is the port of the service, for those who ask here
/// instead, and `state` the folder whose disk is watched.
pub async fn serve(
    listener: TcpListener,
    service: Service,
    access: Access,
    tls: Option<Arc<ServerConfig>>,
    grpc: u16,
    state: PathBuf,
    shutdown: impl Future<Output = ()>,
) {
    let needs_token = access.needs_token();
    let streams = Budget::new(events::STREAMS);
    let mut guarded = Router::new()
        .route(
            "/metrics",
            get(move |State(service): State<Service>| show_metrics(service, state.clone())),
        )
        .route("/status", get(show_status))
        .route("/network.json", get(show_network))
        .route(
            "/events",
            get(
                move |State(service): State<Service>, Extension(place): Extension<Place>| {
                    let peer = place.address().map_or_else(Peer::unknown, Peer::at);
                    events::stream(service, streams.hold(Payer::Peer(peer)))
                },
            ),
        );
    for (ending, format) in RESULTS {
        let path = format!("/result.{ending}");
        let show = move |State(service): State<Service>| show_result(service, ending, format);
        guarded = guarded.route(&path, get(show));
    }
    let guarded = guarded
        .with_state(service)
        .layer(middleware::from_fn_with_state(access, require_token));
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
    let mut builder = Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(guard::FIRST_CALL)
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
        let router = router.clone().layer(Extension(stream.place().clone()));
        match &tls {
            None => drop(open.spawn(serve_connection(builder, router, Box::new(stream)))),
            Some(tls) => {
                let handshake = TlsAcceptor::from(Arc::clone(tls)).accept(stream);
                open.spawn(async move {
                    if let Ok(Ok(stream)) = timeout(guard::FIRST_CALL, handshake).await {
                        serve_connection(builder, router, Box::new(stream)).await;
                    }
                });
            }
        }
    }
}

/// A connection, with TLS or without: one type, so that the server is compiled once.
trait Connection: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Connection for T {}

/// Serves a connection for as long as it may live. A peer that disconnects or sends garbage affects
/// only itself: errors are ignored.
async fn serve_connection(builder: Builder, router: Router, stream: Box<dyn Connection>) {
    let service = TowerToHyperService::new(router);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    if timeout(LIFE, connection.as_mut()).await.is_err() {
        connection.as_mut().graceful_shutdown();
        let _ = timeout(LAST_ANSWER, connection).await;
    }
}

async fn require_token(State(access): State<Access>, request: Request, next: Next) -> Response {
    let header = request.headers().get(header::AUTHORIZATION);
    match access.of(header.map(HeaderValue::as_bytes)) {
        Some((roles, _)) if roles.allow(Role::Read) => {
            if let Some(place) = request.extensions().get::<Place>() {
                place.prove();
            }
            next.run(request).await
        }
        Some(_) => {
            let refused = "this needs the role read, which the token does not give\n";
            (StatusCode::FORBIDDEN, refused).into_response()
        }
        None => (StatusCode::UNAUTHORIZED, "a token is needed\n").into_response(),
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
