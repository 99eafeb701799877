//! Which format a file has: by its ending, else by its content.

use std::fmt;
use std::path::Path;
use thiserror::Error;

/// A network file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Bayesian interchange format, with probabilities.
    Bif,
    /// XMLBIF 0.3, with probabilities.
    XmlBif,
    /// Graphviz; written only.
    Dot,
    /// GraphML; written only.
    GraphMl,
    /// Our JSON: nodes and edges, and states and probabilities if there are any.
    Json,
    /// A picture of lines; written only.
    Svg,
    /// A picture of pixels; written only.
    Png,
    /// A page; written only.
    Pdf,
    /// `from,to` lines; a reader recognises an adjacency matrix by its content.
    Csv,
    /// A square matrix of 0 and 1 with names; read only.
    Adjacency,
    /// A bnlearn model string, `[A][B|A]`.
    ModelString,
}

/// A file name whose ending names no format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the ending of {0:?} names no network format; expected .bif, .xml, .bifxml, .xmlbif, .dot, .json, .svg, .png, .pdf, .csv, .graphml, .txt or .model (learn and bootstrap also write reports: .html)"
)]
pub struct UnknownEnding(pub String);

impl Format {
    /// Returns the format of a file's ending; a final `.gz` does not count.
    ///
    /// ```
    /// use rlbayes_common::io::Format;
    /// assert_eq!(Format::from_path("asia.bif.gz"), Ok(Format::Bif));
    /// assert!(Format::from_path("asia.docx").is_err());
    /// ```
    ///
    /// # Errors
    /// If the ending names no format.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, UnknownEnding> {
        let path = path.as_ref();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
            "bif" => Ok(Self::Bif),
            "xml" | "bifxml" | "xmlbif" => Ok(Self::XmlBif),
            "dot" => Ok(Self::Dot),
            "json" => Ok(Self::Json),
            "svg" => Ok(Self::Svg),
            "png" => Ok(Self::Png),
            "pdf" => Ok(Self::Pdf),
            "csv" => Ok(Self::Csv),
            "graphml" => Ok(Self::GraphMl),
            "txt" | "model" => Ok(Self::ModelString),
            _ => Err(UnknownEnding(path.display().to_string())),
        }
    }

    /// Returns whether it is a picture.
    #[must_use]
    pub fn is_picture(self) -> bool {
        matches!(self, Self::Svg | Self::Png | Self::Pdf)
    }

    /// Returns the format that the text's beginning shows, if it is one that can be read.
    pub(super) fn sniff(text: &str) -> Option<Self> {
        let start = skip_comments(text);
        if start.starts_with('<') {
            return Some(Self::XmlBif);
        }
        if start.starts_with('{') {
            return Some(Self::Json);
        }
        if start.starts_with('[') {
            return Some(Self::ModelString);
        }
        let word: String = start
            .chars()
            .take_while(char::is_ascii_alphabetic)
            .collect();
        if matches!(
            word.to_ascii_lowercase().as_str(),
            "network" | "variable" | "probability"
        ) && start[word.len()..].starts_with([' ', '\t', '\r', '\n', '{', '('])
        {
            return Some(Self::Bif);
        }
        let line = start.lines().next()?;
        (line.contains(',') && !line.contains('\0')).then_some(Self::Csv)
    }
}

/// Skips white space and BIF comments.
fn skip_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let after = if let Some(comment) = rest.strip_prefix("//") {
            comment.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            return rest;
        };
        rest = after.trim_start();
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bif => "BIF",
            Self::XmlBif => "XMLBIF",
            Self::Dot => "DOT",
            Self::GraphMl => "GraphML",
            Self::Json => "JSON",
            Self::Svg => "SVG",
            Self::Png => "PNG",
            Self::Pdf => "PDF",
            Self::Csv => "edge list",
            Self::Adjacency => "adjacency matrix",
            Self::ModelString => "model string",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_name_formats_with_and_without_gz() {
        for (name, format) in [
            ("a/b.BIF", Format::Bif),
            ("x.xml.gz", Format::XmlBif),
            ("x.bifxml", Format::XmlBif),
            ("x.y.csv", Format::Csv),
            ("x.graphml", Format::GraphMl),
            ("x.model", Format::ModelString),
        ] {
            assert_eq!(Format::from_path(name), Ok(format), "{name}");
        }
        for name in ["bif", "x", "x.gz", "x.docx", ""] {
            assert!(Format::from_path(name).is_err(), "{name}");
        }
    }

    #[test]
    fn content_tells_the_format() {
        for (text, format) in [
            ("// hi\n/* there */ network unknown {}", Some(Format::Bif)),
            ("variable x{", Some(Format::Bif)),
            ("networks,b\n", Some(Format::Csv)),
            (" <?xml?>", Some(Format::XmlBif)),
            ("[A][B|A]", Some(Format::ModelString)),
            ("a,b\n", Some(Format::Csv)),
            ("", None),
            ("/*", None),
            ("hello", None),
        ] {
            assert_eq!(Format::sniff(text), format, "{text}");
        }
    }
}
