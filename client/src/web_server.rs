//! Tells when a web server answers where a coordinator's service was expected.

use std::fmt;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A web server where a coordinator's service was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebServer {
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
pub async fn web_server(url: &str) -> Option<WebServer> {
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
