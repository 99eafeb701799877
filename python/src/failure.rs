//! Errors of the engine as Python's exceptions, with keywords where the command line names flags.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rlbayes_client::ClientError;
use rlbayes_common::data::LoadError;
use std::fmt;

/// Makes an exception of the package.
fn exception(class: &str, message: String) -> PyErr {
    Python::attach(|py| {
        let made = py
            .import("rlbayes._errors")
            .and_then(|module| module.getattr(class)?.call1((message.clone(),)));
        made.map_or_else(|_| PyRuntimeError::new_err(message), PyErr::from_value)
    })
}

/// Says what is wrong with what the caller gave.
pub(crate) fn input(what: impl fmt::Display) -> PyErr {
    exception("InputError", what.to_string())
}

/// Says that something happened that should not.
pub(crate) fn bug(what: impl fmt::Display) -> PyErr {
    exception("BugError", format!("this is a bug in rlbayes: {what}"))
}

/// Says why a table cannot be used, and which keyword helps.
pub(crate) fn load(error: &LoadError) -> PyErr {
    match hint(error) {
        Some(hint) => input(format!("{error} ({hint})")),
        None => input(error),
    }
}

/// Returns the keywords that help.
fn hint(error: &LoadError) -> Option<&'static str> {
    match error {
        LoadError::ManyNumbers { .. } => {
            Some("use bins=\"quantile:K\" or bins=\"width:K\", states= or drop=")
        }
        LoadError::OddValues { .. } => {
            Some("use missing_markers= if they mean missing, states= or drop=")
        }
        LoadError::TooManyStates { .. } => Some("use drop= to leave it out"),
        LoadError::Missing { .. } => {
            Some("use missing=\"drop-rows\" to leave such rows out, or drop= for columns")
        }
        LoadError::Several { first, .. } => hint(first),
        _ => None,
    }
}

/// Says why a table that is no file cannot be used.
pub(crate) fn frame(error: &LoadError) -> PyErr {
    let said = load(error);
    Python::attach(|py| {
        let words = said.value(py).to_string();
        let words = words.replace("the file has a header but no rows", "the table has no rows");
        input(words.replace(
            "the file has only 1 row below the header",
            "the table has only 1 row",
        ))
    })
}

/// Says why a coordinator gave no answer.
pub(crate) fn client(error: ClientError) -> PyErr {
    let class = match error {
        ClientError::Input(_) => "InputError",
        ClientError::OutOfReach(_) => "UnreachableError",
        ClientError::Protocol(_) => "ProtocolError",
    };
    exception(class, error.to_string())
}
