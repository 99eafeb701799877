//! Result files: the ending chooses the format, files are there whole or not at all, and what
//! can't be written is known before the search begins.

use crate::failure::Failure;
use crate::flag_hints::FlagHint;
use rlbayes::write_packed;
use rlbayes_common::data::Table;
use rlbayes_common::files::HALF_WRITTEN;
use rlbayes_common::fit::fit;
use rlbayes_common::graph::Dag;
use rlbayes_common::io::{
    Around, Format, WriteError, WriteOptions, portability_warnings, write_network,
};
use rlbayes_common::network::{NamedDag, NetworkFile};
use std::path::{Path, PathBuf};

/// A file to be written, checked as far as that is possible beforehand.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    path: PathBuf,
    format: Format,
}

/// How networks are written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutputOptions<'a> {
    /// `--portable-names`.
    pub(crate) portable_names: bool,
    /// `--around`.
    pub(crate) around: Option<&'a str>,
    /// The true network, to show differences in pictures.
    pub(crate) truth: Option<&'a NamedDag>,
}

impl Output {
    /// Checks that the ending names a format and that the folder takes files.
    pub(crate) fn new(path: &Path) -> Result<Self, Failure> {
        let format = Format::from_path(path).map_err(Failure::input)?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if path.is_dir() {
            return Err(Failure::file(
                path,
                "is a folder (expected a file to write)",
            ));
        }
        tempfile::Builder::new()
            .prefix(HALF_WRITTEN)
            .tempfile_in(folder)
            .map_err(|error| {
                Failure::file(path, format!("cannot write into this folder: {error}"))
            })?;
        Ok(Self {
            path: path.to_owned(),
            format,
        })
    }

    /// Returns where the file goes.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the format holds probabilities.
    pub(crate) fn needs_parameters(&self) -> bool {
        matches!(self.format, Format::Bif | Format::XmlBif | Format::Json)
    }

    /// Checks that the format holds every name and state of a network, before a search is spent on
    /// it: any structure over the variables will do. Pictures hold all names and take long to draw.
    pub(crate) fn check_names(
        &self,
        network: &NetworkFile,
        portable_names: bool,
    ) -> Result<(), Failure> {
        if self.format == Format::Svg {
            return Ok(());
        }
        let options = WriteOptions {
            portable_names,
            ..WriteOptions::default()
        };
        write_network(self.format, network, &options)
            .map(|_| ())
            .map_err(|error| Failure::file(&self.path, error.with_flags()))
    }

    /// Writes the file. A network too large for a picture is a warning, not a failure.
    pub(crate) fn write(
        &self,
        network: &NetworkFile,
        options: OutputOptions<'_>,
        mut warn: impl FnMut(String),
    ) -> Result<(), Failure> {
        if self.format == Format::Bif
            && !options.portable_names
            && let NetworkFile::Parametrised(network) = network
        {
            for warning in portability_warnings(network) {
                warn(warning.to_string());
            }
        }
        let write_options = WriteOptions {
            portable_names: options.portable_names,
            around: options.around.map(Around::node),
            truth: options.truth,
        };
        match write_network(self.format, network, &write_options) {
            Ok(bytes) => {
                write_packed(&self.path, bytes).map_err(|error| Failure::file(&self.path, error))
            }
            Err(error @ WriteError::TooLarge { .. }) => {
                warn(format!("{}: {}", self.path.display(), error.with_flags()));
                Ok(())
            }
            Err(error) => Err(Failure::file(&self.path, error.with_flags())),
        }
    }
}

/// Returns the network for a learned structure: with probabilities where a format needs them.
pub(crate) fn network_for(
    table: &Table,
    dag: &Dag,
    alpha: f64,
    with_parameters: bool,
) -> Result<NetworkFile, Failure> {
    if with_parameters {
        fit(table, dag, alpha)
            .map(NetworkFile::Parametrised)
            .map_err(Failure::input)
    } else {
        Ok(NetworkFile::Structure(NamedDag::of(
            table.schema(),
            dag.clone(),
        )))
    }
}
