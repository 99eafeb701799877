//! Lists of names, one list per line, separated by commas: what constraint files hold.

use super::csv_lines::records;
use super::error::ReadError;

/// Reads the lines with their numbers; names may be quoted, empty lines and lines that begin with
/// `#` are passed over.
///
/// # Errors
/// If a line is not CSV or holds an empty name.
pub fn parse_name_lists(text: &str) -> Result<Vec<(usize, Vec<String>)>, ReadError> {
    let mut lists = Vec::new();
    for record in records(text.trim_start_matches('\u{feff}')) {
        let record = record?;
        let names: Vec<String> = record
            .fields
            .iter()
            .map(|name| name.trim().to_owned())
            .collect();
        let is_comment = names.first().is_some_and(|name| name.starts_with('#'));
        if is_comment || names.iter().all(String::is_empty) {
            continue;
        }
        if names.iter().any(String::is_empty) {
            return Err(ReadError::Syntax {
                line: record.line,
                expected: "names separated by commas",
                found: "an empty name".to_owned(),
            });
        }
        lists.push((record.line, names));
    }
    Ok(lists)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_names_comments_and_empty_lines_are_understood() {
        let lists = parse_name_lists("# tiers\na,\"b,c\"\r\n\nd\n").unwrap();
        let names: Vec<&Vec<String>> = lists.iter().map(|(_, names)| names).collect();
        assert_eq!(
            names,
            [
                &vec!["a".to_owned(), "b,c".to_owned()],
                &vec!["d".to_owned()]
            ]
        );
        assert!(parse_name_lists("a,,b\n").is_err());
    }
}
