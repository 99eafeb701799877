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
    reader.into_records().map(move |record| {
        let record = record.map_err(|error| {
            let line = error.position().map_or(1, csv::Position::line);
            ReadError::Syntax {
                line: usize::try_from(line).unwrap_or(usize::MAX),
                expected: "comma-separated fields",
                found: error.to_string(),
            }
        })?;
        Ok(Record {
            line: record.position().map_or(1, |begun| line_of(text, begun)),
            fields: record.iter().map(str::to_owned).collect(),
        })
    })
}

/// Returns the line of a record; its reader begins with the empty lines before it.
fn line_of(text: &str, begun: &csv::Position) -> usize {
    let byte = usize::try_from(begun.byte()).unwrap_or(usize::MAX);
    let rest = text.as_bytes().get(byte..).unwrap_or_default();
    let empty = rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\r'));
    let lines = empty.filter(|&&byte| byte == b'\n').count();
    usize::try_from(begun.line()).map_or(usize::MAX, |line| line + lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_know_their_lines_after_empty_ones_and_with_any_line_end() {
        for end in ["\n", "\r\n"] {
            let text = ["", "a,b", "c", "", "", "\"d", "e\",f", "g", ""].join(end);
            let lines = records(&text).map(|record| record.map(|record| record.line));
            let lines: Vec<usize> = lines.collect::<Result<_, _>>().unwrap();
            assert_eq!(lines, [2, 3, 6, 8], "{end:?}");
        }
    }
}
