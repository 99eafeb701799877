//! How a benchmark ends when it can't do what was asked: one sentence and an exit code.

use std::fmt;
use std::path::Path;

/// Why a benchmark ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad flags or input, or a file that can't be written: exit code 2.
    Input(String),
    /// Ctrl-C: exit code 130.
    Interrupted,
    /// Something that should not happen, or a claim that does not hold: exit code 1.
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
            Self::Interrupted => 130,
            Self::Bug(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(what) => f.write_str(what),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Bug(what) => write!(f, "this is a bug in rlbayes: {what}"),
        }
    }
}
