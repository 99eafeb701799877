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
                Some("use --bins quantile:K or --bins width:K, --schema FILE, or --drop COLUMN")
            }
            Self::OddValues { .. } => Some(
                "use --missing-marker TEXT if they mean missing, --schema FILE, or --drop COLUMN",
            ),
            Self::TooManyStates { decimal_commas, .. } => Some(if *decimal_commas {
                "use --decimal ,"
            } else {
                "use --drop COLUMN to leave it out"
            }),
            Self::Missing { .. } => Some(
                "use --missing drop-rows to leave such rows out, --drop COLUMN, or --missing-marker \
                 TEXT to name what means missing instead, if one of these is a state",
            ),
            Self::Ragged {
                is_comment: true, ..
            } => Some("use --comment # if such lines are comments"),
            Self::OneColumn { .. } => Some("use --separator CHARACTER"),
            Self::DuplicateName { .. } => Some("use --no-header if the first row has no names"),
            Self::Several { .. } => Some("rlbayes check lists them all"),
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
