//! Which cells count as missing, and what happens to their rows.

use super::schema::Variable;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

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

/// The texts that stand for a missing cell, quoted or not. A state that the schema declares is
/// never missing, whatever its text.
pub(crate) struct MissingMarkers<'a> {
    markers: &'a [String],
    /// Whether some marker is empty, or begins with a byte: most cells are told by this alone.
    has_empty: bool,
    first_bytes: [bool; 256],
}

impl<'a> MissingMarkers<'a> {
    pub(crate) fn new(markers: &'a [String]) -> Self {
        let mut first_bytes = [false; 256];
        for byte in markers.iter().filter_map(|marker| marker.bytes().next()) {
            first_bytes[usize::from(byte)] = true;
        }
        let has_empty = markers.iter().any(String::is_empty);
        Self {
            markers,
            has_empty,
            first_bytes,
        }
    }

    /// Returns whether a cell of a column is missing.
    #[inline]
    pub(crate) fn matches(&self, cell: &[u8], declared: Option<&Variable>) -> bool {
        let suspicious = match cell.first() {
            None => self.has_empty,
            Some(&byte) => self.first_bytes[usize::from(byte)],
        };
        suspicious && self.is_marker(cell, declared)
    }

    fn is_marker(&self, cell: &[u8], declared: Option<&Variable>) -> bool {
        self.markers.iter().any(|marker| {
            marker.as_bytes() == cell
                && declared.is_none_or(|variable| variable.state_index(marker).is_none())
        })
    }
}

/// How many cells are missing, and where the first is.
#[derive(Debug, Default)]
pub(crate) struct MissingCount {
    /// Missing cells per column of the file.
    pub(crate) per_column: Vec<usize>,
    /// Rows with at least one.
    pub(crate) rows: usize,
    /// Line and column of the first.
    pub(crate) first: Option<(u64, usize)>,
}

impl MissingCount {
    pub(crate) fn new(columns: usize) -> Self {
        Self {
            per_column: vec![0; columns],
            ..Self::default()
        }
    }

    /// Returns how many cells are missing.
    pub(crate) fn cells(&self) -> usize {
        self.per_column.iter().sum()
    }

    /// Counts the missing cells of a row; `true` if there is one.
    pub(crate) fn count_row<'c>(
        &mut self,
        line: u64,
        cells: impl Iterator<Item = &'c [u8]>,
        declared: &[Option<&Variable>],
        markers: &MissingMarkers<'_>,
    ) -> bool {
        let mut found = false;
        for (column, (cell, declared)) in cells.zip(declared).enumerate() {
            if markers.matches(cell, *declared) {
                self.per_column[column] += 1;
                self.first.get_or_insert((line, column));
                found = true;
            }
        }
        self.rows += usize::from(found);
        found
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
    fn markers_match_whole_cells_that_are_not_declared() {
        let texts = [String::new(), "NA".to_string()];
        let markers = MissingMarkers::new(&texts);
        assert!(markers.matches(b"", None));
        assert!(markers.matches(b"NA", None));
        assert!(!markers.matches(b"NAB", None));
        assert!(!markers.matches(b"no", None));
        let declared = Variable::new("x", vec!["NA".into(), "EU".into()]).unwrap();
        assert!(!markers.matches(b"NA", Some(&declared)));
        assert!(markers.matches(b"", Some(&declared)));
        assert!(!MissingMarkers::new(&[]).matches(b"", None));
    }
}
