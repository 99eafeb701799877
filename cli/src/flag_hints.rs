//! Which flags help against an error of the engine, which knows none: they are named behind it.

use rlbayes_common::data::LoadError;
use rlbayes_common::io::{Format, WriteError};
use rlbayes_common::search::ConstraintError;
use std::fmt;

/// An error whose cure is a flag.
pub(crate) trait FlagHint: fmt::Display {
    /// Returns the flags that help, if any do.
    fn flags(&self) -> Option<&'static str>;

    /// Returns the error's sentence, and behind it the flags.
    fn with_flags(&self) -> String {
        match self.flags() {
            Some(flags) => format!("{self} ({flags})"),
            None => self.to_string(),
        }
    }
}

impl FlagHint for LoadError {
    fn flags(&self) -> Option<&'static str> {
        match self {
            Self::ManyNumbers { .. } => {
                Some("use --bins quantile:K or --bins width:K, or --schema FILE")
            }
            Self::Missing { .. } => Some("use --missing drop-rows to leave such rows out"),
            _ => None,
        }
    }
}

impl FlagHint for ConstraintError {
    fn flags(&self) -> Option<&'static str> {
        match self {
            Self::TooManyRequired { .. } | Self::StartParents { .. } => Some("raise --max-parents"),
            _ => None,
        }
    }
}

impl FlagHint for WriteError {
    fn flags(&self) -> Option<&'static str> {
        match self {
            Self::TooLarge { .. } => Some("use --around NODE"),
            Self::VariableName { format, .. } | Self::StateName { format, .. } => {
                (*format == Format::Bif).then_some("leave out --strict-names")
            }
            _ => None,
        }
    }
}
