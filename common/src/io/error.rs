//! Why a network file can't be read or written.

use super::assemble::ContentError;
use super::format::Format;
use super::picture::MAX_DRAWN_NODES;
use crate::data::SourceError;
use crate::network::NetworkError;
use std::path::PathBuf;
use thiserror::Error;

/// Why a network file can't be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Something is wrong with a named file.
    #[error("cannot read the network \"{}\": {problem}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: Box<Self>,
    },
    /// Its bytes can't be had.
    #[error("{0}")]
    Source(#[from] SourceError),
    /// A text file holds other bytes.
    #[error("line {line}: the text is not UTF-8")]
    NotUtf8 {
        /// The line.
        line: usize,
    },
    /// Neither the name nor the content shows the format.
    #[error(
        "the format is unknown: expected a file ending such as .bif, .xml, .json, .csv or .txt, or content in one of these formats"
    )]
    UnknownFormat,
    /// The format is for pictures and other programs only.
    #[error(
        "{0} files are written but not read; expected BIF, XMLBIF, JSON, CSV or a model string"
    )]
    WriteOnly(Format),
    /// The text does not follow the format.
    #[error("line {line}: expected {expected}, found {found}")]
    Syntax {
        /// The line.
        line: usize,
        /// What the format asks for there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// The text follows the format, but what it says is not a network.
    #[error("line {line}: {problem}")]
    Content {
        /// The line.
        line: usize,
        /// What is wrong.
        problem: ContentError,
    },
    /// The nodes and edges do not make a network.
    #[error("{0}")]
    Structure(#[from] NetworkError),
    /// The file names no node.
    #[error("the file holds no node")]
    Empty,
    /// The file names too many nodes.
    #[error("the file names {0} nodes; at most {max} are possible", max = crate::ids::NodeIdx::MAX_NODES)]
    TooManyNodes(usize),
}

/// Why a network can't be written in a format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WriteError {
    /// The format holds probabilities and there are none.
    #[error("{0} files hold probabilities, and this network has none: `fit` it to data first")]
    NeedsParameters(Format),
    /// The format can't hold a variable's name.
    #[error("{format} files cannot hold the variable name {name:?} ({reason}); {instead}")]
    VariableName {
        /// The format.
        format: Format,
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// The format can't hold a state's name.
    #[error(
        "{format} files cannot hold the state {state:?} of the variable {variable:?} ({reason}); {instead}"
    )]
    StateName {
        /// The format.
        format: Format,
        /// The variable.
        variable: String,
        /// The state.
        state: String,
        /// What is wrong with it.
        reason: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// A picture of that many nodes can't be read.
    #[error(
        "a picture shows at most {MAX_DRAWN_NODES} nodes and this network has {nodes}: draw the neighbourhood of a node instead"
    )]
    TooLarge {
        /// How many nodes there are.
        nodes: usize,
    },
    /// The node to draw around is not there.
    #[error("the network has no node {0:?} to draw the neighbourhood of")]
    UnknownNode(String),
    /// The network to compare with has other nodes.
    #[error("the network to compare with has no node {0:?}: both need the same nodes")]
    OtherNodes(String),
    /// The format is read only.
    #[error(
        "{0} files are read but not written; expected {instead}",
        instead = "BIF, XMLBIF, JSON, DOT, GraphML, SVG, an edge list (CSV) or a model string"
    )]
    ReadOnly(Format),
}
