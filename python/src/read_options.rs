//! How a table is read, by keyword.

use crate::failure;
use crate::network::Network;
use pyo3::prelude::*;
use rlbayes::{BinRules, DeclaredSchema, LoadOptions, TablePurpose};
use rlbayes_common::data::{Schema, Variable};
use rlbayes_common::network::NetworkFile;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

/// How a table is read.
#[pyclass(frozen, module = "rlbayes._engine")]
pub(crate) struct ReadOptions(pub(crate) LoadOptions);

#[pymethods]
impl ReadOptions {
    #[new]
    #[pyo3(signature = (*, schema=None, states=Vec::new(), network=None, drop=Vec::new(), columns=Vec::new(), bins=Vec::new(), missing="error", missing_markers=None, separator=None, decimal=None, comment=None, encoding=None, header=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        schema: Option<PathBuf>,
        states: Vec<(String, Vec<String>)>,
        network: Option<&Network>,
        drop: Vec<String>,
        columns: Vec<String>,
        bins: Vec<String>,
        missing: &str,
        missing_markers: Option<Vec<String>>,
        separator: Option<&str>,
        decimal: Option<&str>,
        comment: Option<&str>,
        encoding: Option<&str>,
        header: Option<bool>,
    ) -> PyResult<Self> {
        let declared = match (schema, network) {
            (Some(path), _) => Some(
                DeclaredSchema::load(&path)
                    .map_err(|error| failure::input(format!("{}: {error}", path.display())))?,
            ),
            (None, _) if !states.is_empty() => {
                let variables = states
                    .into_iter()
                    .map(|(name, states)| Variable::in_order(name, states));
                let variables = variables
                    .collect::<Result<_, _>>()
                    .map_err(failure::input)?;
                let schema = Schema::new(variables).map_err(failure::input)?;
                Some(DeclaredSchema::from(schema))
            }
            (None, Some(network)) => match network.inner.file() {
                NetworkFile::Parametrised(network) => {
                    Some(DeclaredSchema::from(network.schema().as_ref().clone()))
                }
                NetworkFile::Structure(_) => None,
            },
            (None, None) => None,
        };
        let mut rules = BinRules::default();
        for rule in bins {
            rules = rules.and(parsed("bins", &rule)?);
        }
        let comment = match comment.map(str::as_bytes) {
            None => None,
            Some(&[byte]) => Some(byte),
            Some(_) => return Err(failure::input("comment: expected one character such as #")),
        };
        Ok(Self(LoadOptions {
            delimiter: optional("separator", separator)?,
            decimal: optional("decimal", decimal)?,
            comment,
            header,
            encoding: optional("encoding", encoding)?,
            drop,
            columns,
            schema: declared,
            bins: rules,
            missing: parsed("missing", missing)?,
            missing_markers,
            purpose: match network {
                Some(_) => TablePurpose::Asking,
                None => TablePurpose::Learning,
            },
            ..LoadOptions::default()
        }))
    }
}

/// Reads a keyword's text.
pub(crate) fn parsed<T: FromStr<Err: Display>>(keyword: &str, text: &str) -> PyResult<T> {
    let read = text.parse();
    read.map_err(|error| failure::input(format!("{keyword}=\"{text}\": {error}")))
}

fn optional<T: FromStr<Err: Display>>(keyword: &str, text: Option<&str>) -> PyResult<Option<T>> {
    text.map(|text| parsed(keyword, text)).transpose()
}
