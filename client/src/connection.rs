//! How a program reaches a coordinator: address, token, certificates.

use crate::error::ClientError;
use rlbayes_worker::grpc_link::{Client, WithToken, client, with_limits};
use std::fmt;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

/// How a coordinator is reached.
#[derive(Clone, Default)]
pub struct Connection {
    /// Its address, such as `http://host:7400`.
    pub url: String,
    /// The token that it demands.
    pub token: Option<String>,
    /// The certificate (PEM) of the authority that signed its certificate.
    pub authority: Option<Vec<u8>>,
    /// The certificate to present and its key (PEM).
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// The name in its certificate, if it differs from the name in the address.
    pub name: Option<String>,
}

impl fmt::Debug for Connection {
    /// Without what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Returns a channel; it connects with the first call.
    ///
    /// # Errors
    /// If the address is none, or the certificates cannot be used.
    pub fn channel(&self) -> Result<Channel, ClientError> {
        let url = &self.url;
        let secure = self.authority.is_some() || url.starts_with("https://");
        let address = if url.contains("://") {
            url.clone()
        } else if secure {
            format!("https://{url}")
        } else {
            format!("http://{url}")
        };
        let wrong = |what: &dyn fmt::Display| {
            ClientError::Input(format!(
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
            endpoint = endpoint.tls_config(self.tls()).map_err(|error| {
                ClientError::Input(format!("the certificates cannot be used: {error}"))
            })?;
        }
        Ok(endpoint.connect_lazy())
    }

    fn tls(&self) -> ClientTlsConfig {
        let mut tls = ClientTlsConfig::new();
        if let Some(authority) = &self.authority {
            tls = tls.ca_certificate(Certificate::from_pem(authority));
        }
        if let Some((certificate, key)) = &self.identity {
            tls = tls.identity(Identity::from_pem(certificate, key));
        }
        if let Some(name) = &self.name {
            tls = tls.domain_name(name);
        }
        tls
    }

    /// Returns what puts the token into every call.
    ///
    /// # Errors
    /// If the token holds characters that can't travel.
    pub fn token(&self) -> Result<WithToken, ClientError> {
        WithToken::new(self.token.as_deref()).map_err(|error| ClientError::Input(error.to_string()))
    }

    /// Returns a client of the service.
    ///
    /// # Errors
    /// If the address, the token or the certificates cannot be used.
    pub fn client(&self) -> Result<Client, ClientError> {
        Ok(client(self.channel()?, self.token()?))
    }
}
