//! How a program reaches a coordinator: address, token, certificates.

use crate::failure::Failure;
use clap::Args;
use rlbayes_worker::grpc_link::{
    Client, WithToken, client, describe, is_certificate_problem, with_limits,
};
use std::path::{Path, PathBuf};
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

/// Returns why a call failed.
pub(crate) fn failed(url: &str, status: &tonic::Status) -> Failure {
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

/// Reads a small file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    const MOST_BYTES: u64 = 1 << 20;
    let about = std::fs::metadata(path).map_err(|error| Failure::file(path, error))?;
    if about.len() > MOST_BYTES {
        return Err(Failure::file(
            path,
            "is too large for a certificate or a token",
        ));
    }
    std::fs::read(path).map_err(|error| Failure::file(path, error))
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
