//! The shared secret: compared in constant time, never shown.

use std::fmt;
use tonic::service::Interceptor;
use tonic::{Request, Status};

/// A bearer token that callers must present; without one every call is allowed.
#[derive(Clone, Default)]
pub struct Token(Option<String>);

impl Token {
    /// Requires a token, if there is one.
    #[must_use]
    pub fn new(secret: Option<String>) -> Self {
        Self(secret)
    }

    /// Returns whether one is required.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// Returns whether a call with this header is allowed.
    #[must_use]
    pub fn admits(&self, header: Option<&[u8]>) -> bool {
        let Some(secret) = &self.0 else {
            return true;
        };
        let given = header.and_then(|value| value.strip_prefix(b"Bearer "));
        // Hashes have one length and are compared in constant time, so that timing reveals nothing
        // about the secret.
        given.is_some_and(|given| blake3::hash(given) == blake3::hash(secret.as_bytes()))
    }
}

impl Interceptor for Token {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        let header = request.metadata().get("authorization");
        if self.admits(header.map(|value| value.as_encoded_bytes())) {
            Ok(request)
        } else {
            Err(Status::unauthenticated(match header {
                None => "a token is needed",
                Some(_) => "the token is wrong",
            }))
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = if self.0.is_some() { "required" } else { "none" };
        f.debug_tuple("Token").field(&shown).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_token_passes() {
        let token = Token::new(Some("secret".into()));
        assert!(token.admits(Some(b"Bearer secret")));
        for wrong in [
            &b"Bearer secre"[..],
            b"Bearer secrets",
            b"secret",
            b"",
            b"bearer secret",
        ] {
            assert!(!token.admits(Some(wrong)));
        }
        assert!(!token.admits(None));
        assert!(Token::default().admits(None));
        assert!(!format!("{token:?}").contains("secret"));
    }
}
