//! The entry points: bytes or a file to a network and a network to bytes. The formats
//! themselves see text only; size limits and compression are handled here.

use super::error::{ReadError, WriteError};
use super::format::Format;
use super::picture::Around;
use super::provenance::Provenance;
use super::{adjacency, bif, dot, edge_list, graphml, json, model_string, picture, text, xmlbif};
use crate::data::{Source, SourceError};
use crate::graph::Cpdag;
use crate::network::{NamedDag, Network, NetworkFile};
use crate::support::SupportTable;
use std::io::{Cursor, Read};
use std::path::Path;

/// The largest network file, after decompression, that is read.
pub const MAX_NETWORK_BYTES: usize = 256 << 20;

/// How a network is written; formats ignore what does not concern them.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions<'a> {
    /// BIF: keep all names and refuse those that the format cannot hold, instead of replacing what
    /// other programs refuse (with the originals in comments).
    pub strict_names: bool,
    /// The class that the network stands for: graphs and pictures show which edges may point either
    /// way, and JSON lists them.
    pub class: Option<&'a Cpdag>,
    /// DOT and GraphML: the support of edges, as an attribute `strength`; JSON: a list `strengths`.
    pub support: Option<&'a SupportTable>,
    /// Where the network comes from, for the formats that hold probabilities.
    pub provenance: Option<&'a Provenance>,
    /// Pictures: draw the neighbourhood of a node only.
    pub around: Option<Around<'a>>,
    /// Pictures: show which edges this network does not have, and which it lacks.
    pub truth: Option<&'a NamedDag>,
}

/// What a network file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The network.
    pub network: NetworkFile,
    /// Where it comes from, if the file says so.
    pub provenance: Provenance,
}

impl From<NamedDag> for Document {
    fn from(named: NamedDag) -> Self {
        Self {
            network: NetworkFile::Structure(named),
            provenance: Provenance::default(),
        }
    }
}

impl From<(Network, Provenance)> for Document {
    fn from((network, provenance): (Network, Provenance)) -> Self {
        Self {
            network: NetworkFile::Parametrised(network),
            provenance,
        }
    }
}

/// Reads a network from a file, gzipped or not; the format follows from the ending, or else from the content.
///
/// # Errors
/// If the file can't be read, is too large, or holds no network.
pub fn read_network(path: impl AsRef<Path>) -> Result<NetworkFile, ReadError> {
    read_document(path).map(|document| document.network)
}

/// Reads a network with what its file says about where it comes from.
///
/// # Errors
/// If the file can't be read, is too large, or holds no network.
pub fn read_document(path: impl AsRef<Path>) -> Result<Document, ReadError> {
    let path = path.as_ref();
    let read = || {
        let source = Source::open_within(path, MAX_NETWORK_BYTES as u64)?;
        parse_plain(Format::from_path(path).ok(), &read_all(source)?)
    };
    read().map_err(|problem| ReadError::InFile {
        path: path.to_owned(),
        problem: Box::new(problem),
    })
}

/// Reads a network from bytes, gzipped or not; if no format is given, it follows from the content.
///
/// # Errors
/// If the bytes are too many once decompressed, or hold no network.
pub fn parse_network(format: Option<Format>, bytes: &[u8]) -> Result<NetworkFile, ReadError> {
    parse_document(format, bytes).map(|document| document.network)
}

/// Reads a network from bytes, with what they say about where it comes from.
///
/// # Errors
/// If the bytes are too many once decompressed, or hold no network.
pub fn parse_document(format: Option<Format>, bytes: &[u8]) -> Result<Document, ReadError> {
    let source = Source::from_reader(Cursor::new(bytes.to_vec()), MAX_NETWORK_BYTES as u64)?;
    parse_plain(format, &read_all(source)?)
}

fn read_all(mut source: Source) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    source.read_to_end(&mut bytes).map_err(SourceError::from)?;
    Ok(bytes)
}

fn parse_plain(format: Option<Format>, bytes: &[u8]) -> Result<Document, ReadError> {
    let text = text::decode(bytes)?;
    match format
        .or_else(|| Format::sniff(text))
        .ok_or(ReadError::UnknownFormat)?
    {
        Format::Bif => bif::read(text).map(Document::from),
        Format::XmlBif => xmlbif::read(text).map(Document::from),
        Format::Json => json::read(text),
        Format::Csv if adjacency::looks_like_one(text) => adjacency::read(text).map(Document::from),
        Format::Csv => edge_list::read(text).map(Document::from),
        Format::Adjacency => adjacency::read(text).map(Document::from),
        Format::ModelString => model_string::read(text).map(Document::from),
        format @ (Format::Dot | Format::GraphMl | Format::Svg | Format::Png | Format::Pdf) => {
            Err(ReadError::WriteOnly(format))
        }
    }
}

/// Writes a network in a format.
///
/// # Errors
/// If the format needs probabilities and there are none, can't hold a name, or, for a picture,
/// the network is too large.
pub fn write_network(
    format: Format,
    network: &NetworkFile,
    options: &WriteOptions<'_>,
) -> Result<Vec<u8>, WriteError> {
    let parametrised = || -> Result<&Network, WriteError> {
        match network {
            NetworkFile::Parametrised(network) => Ok(network),
            NetworkFile::Structure(_) => Err(WriteError::NeedsParameters(format)),
        }
    };
    let drawn = || {
        picture::draw(
            &network.named_dag(),
            options.around,
            options.truth,
            options.class,
        )
    };
    let text = match format {
        Format::Bif => bif::write(parametrised()?, options.strict_names, options.provenance)?,
        Format::XmlBif => xmlbif::write(parametrised()?, options.provenance)?,
        Format::Dot => dot::write(&network.named_dag(), options.class, options.support),
        Format::GraphMl => graphml::write(&network.named_dag(), options.class, options.support)?,
        Format::Json => json::write(network, options.class, options.support, options.provenance),
        Format::Svg => drawn()?.to_svg(),
        Format::Png => return Ok(drawn()?.to_png()),
        Format::Pdf => return Ok(drawn()?.to_pdf()),
        Format::Csv => edge_list::write(&network.named_dag(), options.class),
        Format::Adjacency => return Err(WriteError::ReadOnly(format)),
        Format::ModelString => model_string::write(&network.named_dag())?,
    };
    Ok(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::gzip;

    #[test]
    fn gzip_is_detected_by_its_first_bytes() {
        let packed = gzip(b"a,b\n");
        let network = parse_network(Some(Format::Csv), &packed).unwrap();
        assert_eq!(network.named_dag().names(), ["a", "b"]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("net.csv.gz");
        std::fs::write(&path, &packed).unwrap();
        assert_eq!(read_network(&path).unwrap(), network);
        std::fs::write(&path, b"a,b\n").unwrap();
        assert_eq!(read_network(&path).unwrap(), network);
    }

    #[test]
    fn errors_name_the_file() {
        let error = read_network("/no/such/net.bif").unwrap_err().to_string();
        assert!(
            error.starts_with("cannot read the network \"/no/such/net.bif\": "),
            "{error}"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("net.zip");
        std::fs::write(&path, b"PK\x03\x04").unwrap();
        let error = read_network(&path).unwrap_err().to_string();
        assert!(
            error.contains("net.zip") && error.contains("a zip archive"),
            "{error}"
        );
        std::fs::write(&path, b"something").unwrap();
        let error = read_network(&path).unwrap_err().to_string();
        assert!(error.contains("the format is unknown"), "{error}");
        std::fs::write(&path, [0x1f, 0x8b, 8, 0, 1, 2, 3]).unwrap();
        assert!(read_network(&path).is_err());
        assert!(read_network(folder.path()).is_err());
    }

    #[test]
    fn unknown_endings_are_told_by_content() {
        let network = parse_network(None, b"[a][b|a]").unwrap();
        assert_eq!(network.named_dag().names(), ["a", "b"]);
        let error = parse_network(Some(Format::Svg), b"<svg/>").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("SVG files are written but not read"),
            "{error}"
        );
        let error = parse_network(Some(Format::Csv), b"a,b\n\xff,c\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2: the text is not UTF-8");
    }

    #[test]
    fn a_structure_has_no_probabilities_to_write() {
        let network = parse_network(None, b"[a][b|a]").unwrap();
        for format in [Format::Bif, Format::XmlBif] {
            let error = write_network(format, &network, &WriteOptions::default()).unwrap_err();
            assert!(error.to_string().contains("`fit`"), "{error}");
        }
    }
}
