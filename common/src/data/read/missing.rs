//! Which cells count as missing, and what happens to their rows.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The texts that stand for a missing cell unless others are named: those of pandas, and `?`, which
/// many published tables use.
pub const MISSING_MARKERS: &[&str] = &[
    "", "?", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// A marker that is also a common state (`None, Mild, Severe`). In a column of words it only counts
/// as missing if it stands among numbers elsewhere in the table, where it can mean nothing else.
pub(crate) const AMBIGUOUS_MARKER: &str = "None";

/// Texts that some people mean as missing and others as a state.
const DOUBTFUL_MARKERS: &[&str] = &["-", "--", ".", "unknown", "missing", "n.a.", "na"];

/// What happens to rows with a missing cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingPolicy {
    /// Loading fails and the error counts them.
    #[default]
    Error,
    /// Such rows are left out and counted in the report.
    DropRows,
}

/// Why text names no [`MissingPolicy`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "\"{}\" is not a way to treat missing cells; expected error or drop-rows",
    .0.escape_debug()
)]
pub struct MissingPolicyError(String);

impl FromStr for MissingPolicy {
    type Err = MissingPolicyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "error" => Ok(Self::Error),
            "drop-rows" => Ok(Self::DropRows),
            _ => Err(MissingPolicyError(text.to_string())),
        }
    }
}

impl fmt::Display for MissingPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::DropRows => "drop-rows",
        })
    }
}

/// The texts that stand for a missing cell, quoted or not.
pub(crate) struct MissingMarkers<'a> {
    /// Those that somebody named, instead of the usual ones.
    named: Option<&'a [String]>,
    /// Whether [`AMBIGUOUS_MARKER`] is missing among words too.
    ambiguous_too: bool,
}

impl<'a> MissingMarkers<'a> {
    /// Takes the markers that somebody named, or else the usual ones.
    pub(crate) fn new(named: Option<&'a [String]>) -> Self {
        Self {
            named,
            ambiguous_too: true,
        }
    }

    /// Returns the markers for a table in which [`AMBIGUOUS_MARKER`] never stands among numbers.
    pub(crate) fn without_ambiguous(self) -> Self {
        Self {
            ambiguous_too: false,
            ..self
        }
    }

    /// Returns whether a text stands for a missing cell.
    pub(crate) fn has(&self, text: &[u8]) -> bool {
        match self.named {
            Some(named) => named.iter().any(|marker| marker.as_bytes() == text),
            None if text == AMBIGUOUS_MARKER.as_bytes() => self.ambiguous_too,
            None => MISSING_MARKERS
                .iter()
                .any(|marker| marker.as_bytes() == text),
        }
    }

    /// Returns whether a text may be meant as missing, so that a person should look.
    pub(crate) fn is_doubtful(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        let is_doubtful = text == AMBIGUOUS_MARKER || DOUBTFUL_MARKERS.contains(&lower.as_str());
        self.named.is_none() && is_doubtful
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_parse_and_print() {
        for text in ["error", "drop-rows"] {
            assert_eq!(text.parse::<MissingPolicy>().unwrap().to_string(), text);
        }
        assert_eq!(
            "drop".parse::<MissingPolicy>().unwrap_err().to_string(),
            "\"drop\" is not a way to treat missing cells; expected error or drop-rows"
        );
    }

    #[test]
    fn markers_are_whole_cells() {
        let usual = MissingMarkers::new(None);
        for text in ["", "NA", "null", "None", "<NA>", "#N/A", "?"] {
            assert!(usual.has(text.as_bytes()), "{text}");
        }
        for text in ["NAB", "no", "-", "unknown", "Nan"] {
            assert!(!usual.has(text.as_bytes()), "{text}");
        }
        assert!(usual.is_doubtful("Unknown") && !usual.is_doubtful("no"));
        assert!(usual.is_doubtful("None") && !usual.is_doubtful("none"));
        let texts = ["-".to_string()];
        let named = MissingMarkers::new(Some(&texts));
        assert!(named.has(b"-") && !named.has(b"") && !named.has(b"NA"));
        assert!(!named.is_doubtful("."));
    }
}
