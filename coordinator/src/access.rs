//! Who may do what. A token or a certificate stands for roles: *work* for workers, *read* for people
//! and programs that look, *admin* for those that may also end the search. Secrets are compared in
//! constant time and never shown.

use std::fmt;
use thiserror::Error;

/// What a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// To join, fetch the table, and exchange networks.
    Work,
    /// To see the status and the result.
    Read,
    /// To end the search.
    Admin,
}

/// What a caller may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    work: bool,
    read: bool,
    admin: bool,
}

impl Roles {
    /// Everything.
    pub const ALL: Self = Self {
        work: true,
        read: true,
        admin: true,
    };

    /// Returns the roles that a text names, separated by commas; none if it names anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut roles = Self::default();
        for name in text.split(',') {
            match name {
                "work" => roles.work = true,
                "read" => roles.read = true,
                // Who may end a search may look at it first.
                "admin" => (roles.read, roles.admin) = (true, true),
                _ => return None,
            }
        }
        Some(roles)
    }

    /// Returns whether a call is among what these allow.
    #[must_use]
    pub fn allow(self, role: Role) -> bool {
        match role {
            Role::Work => self.work,
            Role::Read => self.read,
            Role::Admin => self.admin,
        }
    }

    /// Returns what both allow.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            work: self.work && other.work,
            read: self.read && other.read,
            admin: self.admin && other.admin,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Work => "work",
            Self::Read => "read",
            Self::Admin => "admin",
        })
    }
}

/// Why a file of tokens can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccessError {
    /// There is none.
    #[error("holds no token (expected one line of text)")]
    Empty,
    /// There are several, and one does not say for what.
    #[error(
        "line {0}: says no role (where there are several tokens, each line is `ROLE TOKEN [NAME]`, \
         with work, read or admin as ROLE, or several of them with commas)"
    )]
    NoRole(usize),
    /// It is too short.
    #[error(
        "line {line}: the token has {found} characters (expected at least {LEAST_CHARACTERS}, or it \
         can be guessed)"
    )]
    Short {
        /// Where it stands.
        line: usize,
        /// Its length.
        found: usize,
    },
}

/// Shortest token.
pub const LEAST_CHARACTERS: usize = 16;

/// A token, what it allows, and what the log calls who presents it.
#[derive(Clone)]
struct Entry {
    secret: blake3::Hash,
    roles: Roles,
    name: String,
}

/// The tokens that callers may present; without any, every call is allowed.
#[derive(Clone, Default)]
pub struct Access(Vec<Entry>);

impl Access {
    /// Reads a file of tokens. One token on one line allows everything; otherwise each line has roles,
    /// a token and, if wanted, a name for the log. Empty lines and those with `#` are left out.
    ///
    /// # Errors
    /// If there is no token, or one is too short or without a role.
    pub fn parse(text: &str) -> Result<Self, AccessError> {
        let lines: Vec<(usize, &str)> = (1..)
            .zip(text.lines().map(str::trim))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .collect();
        let mut entries = Vec::with_capacity(lines.len());
        for &(line, text) in &lines {
            let mut words = text.split_whitespace();
            let first = words.next().unwrap_or_default();
            let entry = match (Roles::parse(first), words.next()) {
                (Some(roles), Some(secret)) => {
                    let name = words.next().unwrap_or(first);
                    (secret, roles, name)
                }
                _ if lines.len() == 1 => (text, Roles::ALL, "token"),
                _ => return Err(AccessError::NoRole(line)),
            };
            let (secret, roles, name) = entry;
            let found = secret.chars().count();
            if found < LEAST_CHARACTERS {
                return Err(AccessError::Short { line, found });
            }
            entries.push(Entry {
                secret: blake3::hash(secret.as_bytes()),
                roles,
                name: name.to_owned(),
            });
        }
        if entries.is_empty() {
            return Err(AccessError::Empty);
        }
        Ok(Self(entries))
    }

    /// Returns whether a token is required.
    #[must_use]
    pub fn needs_token(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns what a caller with this header may do, and what it is called; none: its token is
    /// wrong or missing.
    #[must_use]
    pub fn of(&self, header: Option<&[u8]>) -> Option<(Roles, &str)> {
        if self.0.is_empty() {
            return Some((Roles::ALL, "anybody"));
        }
        let given = blake3::hash(header?.strip_prefix(b"Bearer ")?);
        // Hashes have one length and are compared in constant time, each of them whichever fits, so
        // that timing reveals nothing about the secrets.
        let mut found = None;
        for entry in &self.0 {
            if entry.secret == given {
                found = Some(entry);
            }
        }
        found.map(|entry| (entry.roles, entry.name.as_str()))
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Access").field(&self.0.len()).finish()
    }
}

/// What follows the name of a certificate's holder and its role in a certificate: it is made for
/// `NAME.work.rlbayes`, as certificates of servers are for the server's name.
const CERTIFICATE_DOMAIN: &str = ".rlbayes";

/// Returns what the holder of a certificate may do, and its name. One without a role, made before
/// there were roles or by another authority's rules, allows everything and has no name.
#[must_use]
pub fn of_certificate(der: &[u8]) -> (Roles, Option<String>) {
    let der = der.into();
    let Ok(certificate) = webpki::EndEntityCert::try_from(&der) else {
        return (Roles::default(), None);
    };
    let mut names = certificate.valid_dns_names();
    let named = names.find_map(|name| {
        let (holder, role) = name.strip_suffix(CERTIFICATE_DOMAIN)?.rsplit_once('.')?;
        Some((Roles::parse(role)?, Some(format!("{role}:{holder}"))))
    });
    named.unwrap_or((Roles::ALL, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";

    #[test]
    fn one_token_allows_everything_and_only_itself() {
        for text in [SECRET.to_owned(), format!("# for all\n\n  {SECRET}\n")] {
            let access = Access::parse(&text).unwrap();
            let header = format!("Bearer {SECRET}");
            assert_eq!(access.of(Some(header.as_bytes())).unwrap().0, Roles::ALL);
            for wrong in [
                "Bearer 0123456789abcde",
                "0123456789abcdef",
                "",
                "bearer 0123456789abcdef",
            ] {
                assert_eq!(access.of(Some(wrong.as_bytes())), None);
            }
            assert_eq!(access.of(None), None);
            assert!(!format!("{access:?}").contains(SECRET));
        }
        assert_eq!(Access::default().of(None).unwrap().0, Roles::ALL);
    }

    #[test]
    fn each_of_several_tokens_allows_its_roles() {
        let text =
            format!("work {SECRET}w\nread {SECRET}r grafana\nadmin {SECRET}a\nwork,read {SECRET}x");
        let access = Access::parse(&text).unwrap();
        let allowed = |last: &str| {
            let header = format!("Bearer {SECRET}{last}");
            let (roles, name) = access.of(Some(header.as_bytes())).unwrap();
            let allows = [Role::Work, Role::Read, Role::Admin].map(|role| roles.allow(role));
            (allows, name)
        };
        assert_eq!(allowed("w"), ([true, false, false], "work"));
        assert_eq!(allowed("r"), ([false, true, false], "grafana"));
        assert_eq!(allowed("a"), ([false, true, true], "admin"));
        assert_eq!(allowed("x"), ([true, true, false], "work,read"));
    }

    #[test]
    fn a_file_that_says_too_little_is_refused() {
        let refused = |text: &str| Access::parse(text).unwrap_err();
        assert_eq!(refused("\n# nothing\n"), AccessError::Empty);
        assert_eq!(
            refused(&format!("work {SECRET}\n{SECRET}")),
            AccessError::NoRole(2)
        );
        assert_eq!(refused("short"), AccessError::Short { line: 1, found: 5 });
        let admin = refused(&format!("work {SECRET}\nadmin 1"));
        assert_eq!(admin, AccessError::Short { line: 2, found: 1 });
    }
}
