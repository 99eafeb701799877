//! How the program ends when it can't do what was asked: one sentence and an exit code.

use std::fmt;
use std::path::Path;

/// Why the program ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad flags or input: exit code 2.
    Input(String),
    /// A coordinator that was out of reach: exit code 3.
    OutOfReach(String),
    /// A coordinator that speaks another protocol: exit code 4.
    Protocol(String),
    /// A search was interrupted after it was saved: exit code 130.
    Interrupted,
    /// Something that should not happen: exit code 1.
    Bug(String),
}

impl Failure {
    /// Says what is wrong with what the user gave.
    pub(crate) fn input(what: impl fmt::Display) -> Self {
        Self::Input(what.to_string())
    }

    /// Says what is wrong with a file.
    pub(crate) fn file(path: &Path, what: impl fmt::Display) -> Self {
        Self::Input(format!("{}: {what}", path.display()))
    }

    /// Returns the exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Input(_) => 2,
            Self::OutOfReach(_) => 3,
            Self::Protocol(_) => 4,
            Self::Interrupted => 130,
            Self::Bug(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(what) | Self::OutOfReach(what) | Self::Protocol(what) => f.write_str(what),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Bug(what) => write!(f, "this is a bug in rlbayes: {what}"),
        }
    }
}
