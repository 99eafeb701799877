//! Result files: the ending chooses the format, files are there whole or not at all, and what
//! can't be written is known before the search begins.

use crate::failure::Failure;
use crate::flag_hints::FlagHint;
use crate::provenance::ProvenanceNotes;
use rlbayes::{SupportTable, write_packed};
use rlbayes_common::data::Table;
use rlbayes_common::files::HALF_WRITTEN;
use rlbayes_common::fit::fit;
use rlbayes_common::graph::{Cpdag, Dag};
use rlbayes_common::io::{
    Around, Format, PortabilityWarning, WriteError, WriteOptions, portability_warnings,
    write_network,
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
    /// `--strict-names`.
    pub(crate) strict_names: bool,
    /// The class to show (`--as cpdag`).
    pub(crate) class: Option<&'a Cpdag>,
    /// The support of edges, for the formats that hold it.
    pub(crate) support: Option<&'a SupportTable>,
    /// Where the network comes from.
    pub(crate) provenance: Option<&'a ProvenanceNotes>,
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
        strict_names: bool,
    ) -> Result<(), Failure> {
        if self.format == Format::Svg {
            return Ok(());
        }
        let options = WriteOptions {
            strict_names,
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
            && let NetworkFile::Parametrised(network) = network
        {
            let found = portability_warnings(network);
            if let Some(text) = replaced_names(&found, options.strict_names) {
                warn(text);
            }
        }
        let write_options = WriteOptions {
            strict_names: options.strict_names,
            support: options.support,
            class: options.class,
            provenance: options.provenance.map(|notes| notes.of(self.format)),
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

/// Says in one line which names of a BIF file were replaced, or kept against other programs.
fn replaced_names(found: &[PortabilityWarning], strict_names: bool) -> Option<String> {
    let is_name =
        |warning: &&PortabilityWarning| !matches!(warning, PortabilityWarning::SingleState(_));
    let names: Vec<&PortabilityWarning> = found.iter().filter(is_name).collect();
    let lone = found.iter().find(|warning| !is_name(warning));
    let (first, more) = match (names.first(), names.len()) {
        (None, _) => return Some(format!("pyAgrum refuses {}", lone?)),
        (Some(first), 1) => (first, String::new()),
        (Some(first), count) => (first, format!(" and {} more names", count - 1)),
    };
    Some(match strict_names {
        true => format!("other programs refuse {first}{more}"),
        false => format!(
            "other programs refuse {first}{more}: the file has plain names, and the originals as comments"
        ),
    })
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
