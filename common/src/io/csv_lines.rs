//! Records of a small CSV file, each with the line it starts in.

use super::error::ReadError;

/// One record and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) line: usize,
    pub(super) fields: Vec<String>,
}

/// Reads the records, of any length; empty lines are left out.
pub(super) fn records(text: &str) -> impl Iterator<Item = Result<Record, ReadError>> {
    let reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    reader.into_records().map(|record| {
        let record = record.map_err(|error| {
            let line = error.position().map_or(1, csv::Position::line);
            ReadError::Syntax {
                line: usize::try_from(line).unwrap_or(usize::MAX),
                expected: "comma-separated fields",
                found: error.to_string(),
            }
        })?;
        let line = record.position().map_or(1, csv::Position::line);
        Ok(Record {
            line: usize::try_from(line).unwrap_or(usize::MAX),
            fields: record.iter().map(str::to_owned).collect(),
        })
    })
}

/// Writes a field, quoted if a reader would else change it.
pub(super) fn field(name: &str) -> String {
    let plain = !name.is_empty()
        && !name.contains([',', '"', '\n', '\r'])
        && name.trim() == name
        && !name.starts_with('\u{feff}');
    if plain {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}
