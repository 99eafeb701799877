//! Result files: the ending chooses the format, files are there whole or not at all, and what
//! can't be written is known before the search begins.

use crate::failure::Failure;
use crate::flag_hints::FlagHint;
use crate::provenance::ProvenanceNotes;
use crate::target::Target;
use clap::{Args, ValueEnum};
use rlbayes::SupportTable;
use rlbayes_common::canvas::letters_without_glyph;
use rlbayes_common::data::Table;
use rlbayes_common::fit::fit;
use rlbayes_common::graph::{Cpdag, Dag};
use rlbayes_common::io::{
    Around, Format, MAX_DRAWN_NODES, PortabilityWarning, WriteError, WriteOptions,
    portability_warnings, write_network,
};
use rlbayes_common::network::{NamedDag, NetworkFile};
use std::path::{Path, PathBuf};

/// A file to be written, checked as far as that is possible beforehand.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    target: Target,
    format: Format,
}

/// The format of results whose name does not tell it.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FormatArgs {
    /// The format of results whose ending names none, such as - (standard output) [default there:
    /// bif, or csv for a network without probabilities]
    #[arg(long, value_name = "NAME", value_enum, ignore_case = true)]
    pub(crate) format: Option<FormatName>,
}

/// The formats by their endings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    /// BIF.
    Bif,
    /// XMLBIF.
    #[value(aliases = ["bifxml", "xmlbif"])]
    Xml,
    /// Graphviz.
    Dot,
    /// JSON.
    Json,
    /// A picture of lines.
    Svg,
    /// A picture of pixels.
    Png,
    /// A page.
    Pdf,
    /// An edge list.
    Csv,
    /// GraphML.
    Graphml,
    /// A model string.
    #[value(alias = "model")]
    Txt,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Bif => Self::Bif,
            FormatName::Xml => Self::XmlBif,
            FormatName::Dot => Self::Dot,
            FormatName::Json => Self::Json,
            FormatName::Svg => Self::Svg,
            FormatName::Png => Self::Png,
            FormatName::Pdf => Self::Pdf,
            FormatName::Csv => Self::Csv,
            FormatName::Graphml => Self::GraphMl,
            FormatName::Txt => Self::ModelString,
        }
    }
}

impl FormatArgs {
    /// Checks the results of a command; with `json` that goes to standard output, they do not.
    pub(crate) fn outputs(&self, paths: &[PathBuf], json: bool) -> Result<Vec<Output>, Failure> {
        let outputs = paths
            .iter()
            .map(|path| self.output(path, Format::Bif))
            .collect::<Result<Vec<_>, _>>()?;
        let printed = outputs.iter().filter(|output| output.is_stdout()).count();
        if printed > 1 {
            return Err(Failure::input(
                "-o - is given twice, and standard output takes one result",
            ));
        }
        if printed == 1 && json {
            return Err(Failure::input(
                "-o - and --json both print on standard output; write one of them into a file",
            ));
        }
        Ok(outputs)
    }

    /// Checks a result: its ending, else the flag names the format; standard output has a default.
    pub(crate) fn output(&self, path: &Path, usual: Format) -> Result<Output, Failure> {
        let target = Target::new(path)?;
        let asked = self.format.map(Format::from);
        let format = match (&target, Format::from_path(path)) {
            (Target::Stdout, _) => asked.unwrap_or(usual),
            (Target::File(_), Ok(format)) => format,
            (Target::File(_), Err(error)) => asked.ok_or_else(|| Failure::input(error))?,
        };
        Ok(Output { target, format })
    }
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
    /// Returns where the network goes.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Returns whether the network is printed.
    pub(crate) fn is_stdout(&self) -> bool {
        self.target == Target::Stdout
    }

    /// Returns whether it is a picture.
    pub(crate) fn is_picture(&self) -> bool {
        self.format.is_picture()
    }

    /// Returns whether the format cannot do without probabilities.
    pub(crate) fn demands_parameters(&self) -> bool {
        matches!(self.format, Format::Bif | Format::XmlBif)
    }

    /// Returns whether the format holds probabilities.
    pub(crate) fn needs_parameters(&self) -> bool {
        matches!(self.format, Format::Bif | Format::XmlBif | Format::Json)
    }

    /// Refuses a format that holds no probabilities.
    pub(crate) fn holding_probabilities(self) -> Result<Self, Failure> {
        match self.needs_parameters() {
            true => Ok(self),
            false => Err(Failure::input(format!(
                "{}: a file of the format {} holds no probabilities (expected .bif, .xml, .bifxml \
                 or .json)",
                self.target, self.format
            ))),
        }
    }

    /// Checks that the format holds every name and state of a network, before a search is spent on
    /// it: any structure over the variables will do. Of a picture only the size is checked: it holds
    /// all names, and takes long to draw.
    pub(crate) fn check(
        &self,
        network: &NetworkFile,
        options: OutputOptions<'_>,
    ) -> Result<(), Failure> {
        if self.is_picture() {
            let nodes = network.named_dag().names().len();
            return match nodes > MAX_DRAWN_NODES && options.around.is_none() {
                true => Err(self.refused(&WriteError::TooLarge { nodes })),
                false => Ok(()),
            };
        }
        self.bytes(network, options).map(|_| ())
    }

    /// Writes the network.
    pub(crate) fn write(
        &self,
        network: &NetworkFile,
        options: OutputOptions<'_>,
        mut warn: impl FnMut(String),
    ) -> Result<(), Failure> {
        let bytes = self.bytes(network, options)?;
        self.target.write(bytes)?;
        if let Some(text) = letters_not_shown(self.format, network.named_dag().names()) {
            warn(format!("{}: {text}", self.target));
        }
        if self.format == Format::Bif
            && let NetworkFile::Parametrised(network) = network
        {
            let found = portability_warnings(network);
            if let Some(text) = replaced_names(&found, options.strict_names) {
                warn(format!("{}: {text}", self.target));
            }
        }
        Ok(())
    }

    fn bytes(&self, network: &NetworkFile, options: OutputOptions<'_>) -> Result<Vec<u8>, Failure> {
        let options = WriteOptions {
            strict_names: options.strict_names,
            support: options.support,
            class: options.class,
            provenance: options.provenance.map(|notes| notes.of(self.format)),
            around: options.around.map(Around::node),
            truth: options.truth,
        };
        write_network(self.format, network, &options).map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &WriteError) -> Failure {
        Failure::input(format!("{}: {}", self.target, error.with_flags()))
    }
}

/// Says which letters of names a picture has no glyphs for.
pub(crate) fn letters_not_shown(format: Format, names: &[String]) -> Option<String> {
    if !matches!(format, Format::Png | Format::Pdf) {
        return None;
    }
    let letters = letters_without_glyph(names.iter().map(String::as_str));
    let first = letters.first()?;
    let more = match letters.len() {
        1 => String::new(),
        2 => " and 1 more letter".to_owned(),
        count => format!(" and {} more letters", count - 1),
    };
    Some(format!(
        "{format} files have no glyph for {first:?}{more} and show small boxes there; an SVG shows them"
    ))
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
