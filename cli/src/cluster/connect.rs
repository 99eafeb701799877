//! How a program reaches a coordinator: address, token, certificates.

use crate::failure::Failure;
use crate::file_roles::FileRoles;
use crate::target::words;
use clap::Args;
use rlbayes_worker::grpc_link::{
    Client, WithToken, client, describe, is_certificate_problem, with_limits,
};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

/// How the coordinator is reached.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ConnectArgs {
    /// File with the token that the coordinator demands
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Certificate of the authority that signed the coordinator's certificate
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// Certificate to present, if the coordinator demands one
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of that certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// The name in the coordinator's certificate, if it differs from the name in the address
    #[arg(long, value_name = "NAME")]
    pub(crate) tls_name: Option<String>,
}

impl ConnectArgs {
    /// Adds the files that are read.
    pub(crate) fn reads(&self, roles: FileRoles) -> FileRoles {
        roles
            .reads("the token", self.token_file.as_ref())
            .reads("the authority's certificate", self.tls_ca.as_ref())
            .reads("the certificate", self.tls_cert.as_ref())
            .reads("the certificate's key", self.tls_key.as_ref())
    }

    /// Returns a channel; it connects with the first call.
    pub(crate) fn channel(&self, url: &str) -> Result<Channel, Failure> {
        let secure = self.tls_ca.is_some() || url.starts_with("https://");
        let address = if url.contains("://") {
            url.to_owned()
        } else if secure {
            format!("https://{url}")
        } else {
            format!("http://{url}")
        };
        let wrong = |what: &dyn std::fmt::Display| {
            Failure::input(format!(
                "{url}: {what} (expected an address such as http://host:7400)"
            ))
        };
        let endpoint = Endpoint::from_shared(address.clone()).map_err(|error| wrong(&error))?;
        if endpoint.uri().host().is_none() || endpoint.uri().port().is_none() {
            return Err(wrong(&"is not an address with a port"));
        }
        let mut endpoint = with_limits(endpoint);
        if secure {
            if address.starts_with("http://") {
                return Err(wrong(&"certificates need https"));
            }
            let mut tls = ClientTlsConfig::new();
            if let Some(path) = &self.tls_ca {
                tls = tls.ca_certificate(Certificate::from_pem(read(path)?));
            }
            if let (Some(cert), Some(key)) = (&self.tls_cert, &self.tls_key) {
                tls = tls.identity(Identity::from_pem(read(cert)?, read(key)?));
            }
            if let Some(name) = &self.tls_name {
                tls = tls.domain_name(name);
            }
            endpoint = endpoint.tls_config(tls).map_err(|error| {
                Failure::input(format!("the certificates cannot be used: {error}"))
            })?;
        }
        Ok(endpoint.connect_lazy())
    }

    /// Returns the token for every call.
    pub(crate) fn token(&self) -> Result<WithToken, Failure> {
        let token = self.token_file.as_deref().map(read_token).transpose()?;
        WithToken::new(token.as_deref()).map_err(Failure::input)
    }

    /// Returns a client for the commands that people use.
    pub(crate) fn client(&self, url: &str) -> Result<Client, Failure> {
        Ok(client(self.channel(url)?, self.token()?))
    }
}

/// Returns what a call was answered with.
///
/// # Errors
/// If it failed, and why.
pub(crate) async fn answered<T>(
    url: &str,
    reply: Result<tonic::Response<T>, tonic::Status>,
) -> Result<T, Failure> {
    match reply {
        Ok(reply) => Ok(reply.into_inner()),
        Err(status) => Err(failed(url, &status).await),
    }
}

/// Returns why a call failed.
pub(crate) async fn failed(url: &str, status: &tonic::Status) -> Failure {
    let is_transport = matches!(
        status.code(),
        tonic::Code::Unavailable | tonic::Code::Unknown | tonic::Code::Internal
    );
    if is_transport && let Some(server) = web_server(url).await {
        return Failure::Input(format!("{url}: {server}"));
    }
    let message = format!("{url}: {}", describe(status));
    match status.code() {
        _ if is_certificate_problem(&message) => Failure::Input(message),
        tonic::Code::Unavailable | tonic::Code::DeadlineExceeded | tonic::Code::Cancelled => {
            Failure::OutOfReach(message)
        }
        tonic::Code::FailedPrecondition => Failure::Protocol(message),
        _ => Failure::Input(message),
    }
}

/// A web server where a coordinator's service was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WebServer {
    /// The HTTP port of a coordinator, which says where its service is.
    Coordinator {
        /// The port of the service.
        grpc: String,
    },
    /// Somebody else's.
    Other,
}

impl fmt::Display for WebServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coordinator { grpc } => {
                write!(f, "this is the HTTP port; gRPC is on port {grpc}")
            }
            Self::Other => f.write_str(
                "a web server answers here, not a coordinator (expected its gRPC port, such as \
                 http://host:7400)",
            ),
        }
    }
}

/// Asks an address whether it answers as a web server does.
pub(crate) async fn web_server(url: &str) -> Option<WebServer> {
    const PATIENCE: Duration = Duration::from_secs(2);
    const MOST_BYTES: u64 = 4096;
    let address = url.strip_prefix("http://").unwrap_or(url);
    let address = address.split('/').next()?;
    let ask = async {
        let mut stream = TcpStream::connect(address).await.ok()?;
        let request = format!("GET / HTTP/1.0\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = Vec::new();
        let read = stream.take(MOST_BYTES).read_to_end(&mut answer).await;
        read.ok()
            .map(|_| String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = tokio::time::timeout(PATIENCE, ask).await.ok()??;
    if !answer.starts_with("HTTP/1.") {
        return None;
    }
    let told = answer.split("rlbayes coordinator").nth(1);
    let port = told.and_then(|told| told.split("gRPC is on port ").nth(1));
    Some(match port {
        Some(port) => WebServer::Coordinator {
            grpc: port.chars().take_while(char::is_ascii_digit).collect(),
        },
        None => WebServer::Other,
    })
}

/// Reads a small file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    const MOST_BYTES: u64 = 1 << 20;
    let refused = |error: std::io::Error| Failure::file(path, words(&error));
    let about = std::fs::metadata(path).map_err(refused)?;
    if about.len() > MOST_BYTES {
        return Err(Failure::file(
            path,
            "is too large for a certificate or a token",
        ));
    }
    std::fs::read(path).map_err(refused)
}

/// Reads a token: the first line of a file.
pub(crate) fn read_token(path: &Path) -> Result<String, Failure> {
    let bytes = read(path)?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::file(path, "is not text"))?;
    let token = text.lines().next().unwrap_or_default().trim();
    if token.is_empty() {
        return Err(Failure::file(
            path,
            "holds no token (expected one line of text)",
        ));
    }
    Ok(token.to_owned())
}
