//! How a program reaches a coordinator: address, token, certificates.

use crate::failure::Failure;
use crate::file_roles::FileRoles;
use crate::target::words;
use crate::terminal::Messages;
use clap::Args;
use rlbayes_client::{ClientError, Connection};
use rlbayes_coordinator::access::{Access, LEAST_CHARACTERS, Roles};
use rlbayes_worker::grpc_link::WithToken;
use std::path::{Path, PathBuf};
use tonic::transport::Channel;

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

    /// Returns how the coordinator at an address is reached; token and certificates are read here.
    pub(crate) fn connection(&self, url: &str) -> Result<Connection, Failure> {
        let read_optional = |path: &Option<PathBuf>| path.as_deref().map(read).transpose();
        Ok(Connection {
            url: url.to_owned(),
            token: self.token_file.as_deref().map(read_token).transpose()?,
            authority: read_optional(&self.tls_ca)?,
            identity: read_optional(&self.tls_cert)?.zip(read_optional(&self.tls_key)?),
            name: self.tls_name.clone(),
        })
    }

    /// Returns the token for every call.
    pub(crate) fn token(&self) -> Result<WithToken, Failure> {
        Ok(self.connection("")?.token()?)
    }

    /// Returns a channel to an address; it connects with the first call.
    pub(crate) fn channel(&self, url: &str) -> Result<Channel, Failure> {
        Ok(self.connection(url)?.channel()?)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Input(what) => Self::Input(what),
            ClientError::OutOfReach(what) => Self::OutOfReach(what),
            ClientError::Protocol(what) => Self::Protocol(what),
        }
    }
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

/// Reads a token: the first line of a file. Warns if others can read it too.
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
    if let [first, _, ..] = token.split_whitespace().collect::<Vec<_>>()[..]
        && Roles::parse(first).is_some()
    {
        let what = "holds tokens with their roles, as a coordinator needs them (expected one token, \
                    without a role)";
        return Err(Failure::file(path, what));
    }
    let length = token.chars().count();
    if length < LEAST_CHARACTERS {
        let what = format!(
            "holds a token of {length} characters (expected at least {LEAST_CHARACTERS}, drawn at \
             random: openssl rand -hex 32)"
        );
        return Err(Failure::file(path, what));
    }
    warn_if_open(path);
    Ok(token.to_owned())
}

/// Reads the tokens that a coordinator takes, and what each of them allows. Warns if others can read
/// them too.
pub(crate) fn read_access(path: &Path) -> Result<Access, Failure> {
    let text = String::from_utf8(read(path)?).map_err(|_| Failure::file(path, "is not text"))?;
    let access = Access::parse(&text).map_err(|error| Failure::file(path, error))?;
    warn_if_open(path);
    Ok(access)
}

fn warn_if_open(path: &Path) {
    if is_open_to_others(path) {
        let what = "every user of this machine can read this token (chmod 600 closes it)";
        Messages::new(false).warn(path, what.to_owned());
    }
}

/// Returns whether every user of the machine can read a file: it is open to all, and so is the folder
/// that it lies in.
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let allows = |path: &Path, right: u32| {
        std::fs::metadata(path).is_ok_and(|about| about.permissions().mode() & right != 0)
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    allows(path, 0o004) && allows(folder, 0o001)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_short_token_is_refused_and_one_that_others_can_read_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "fifteen letters\n").unwrap();
        let refused = read_token(&path).unwrap_err().to_string();
        assert!(refused.contains("of 15 characters"), "{refused}");
        fs::write(&path, "sixteen letters.\n").unwrap();
        assert_eq!(read_token(&path).unwrap(), "sixteen letters.");

        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        set(&path, 0o644);
        set(folder.path(), 0o700);
        assert!(
            !is_open_to_others(&path),
            "nobody else gets into the folder"
        );
        set(folder.path(), 0o755);
        assert!(is_open_to_others(&path));
        set(&path, 0o600);
        assert!(!is_open_to_others(&path));
    }
}
