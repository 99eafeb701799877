//! Lists of names, one list per line, separated by commas: what constraint files hold.

use super::csv_lines::records;
use super::edge_columns::EdgeColumns;
use super::error::ReadError;
use super::text::excerpt;

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

/// Reads lines of two names, the ends of edges, with their numbers, under a header or not: what
/// `-o edges.csv` writes and what R's `write.csv` writes are both read.
///
/// # Errors
/// If a line is not CSV or holds an empty name where an end stands.
pub fn parse_edge_lists(text: &str) -> Result<Vec<(usize, Vec<String>)>, ReadError> {
    let text = text.trim_start_matches('\u{feff}');
    let first = records(text).next().transpose()?;
    let columns = first.and_then(|first| {
        let fields = &first.fields;
        EdgeColumns::of_header(fields).or_else(|| EdgeColumns::of_r_matrix(fields))
    });
    let Some(columns) = columns else {
        return parse_name_lists(text);
    };
    let mut lists = Vec::new();
    for record in records(text).skip(1) {
        let record = record?;
        let is_comment = record.fields[0].trim_start().starts_with('#');
        if is_comment || record.fields.iter().all(|field| field.trim().is_empty()) {
            continue;
        }
        let ends = columns.ends(&record.fields);
        let names = ends.map(|ends| ends.map(|name| name.trim().to_owned()));
        match names {
            Some(names) if names.iter().all(|name| !name.is_empty()) => {
                lists.push((record.line, names.to_vec()));
            }
            _ => {
                return Err(ReadError::Syntax {
                    line: record.line,
                    expected: "as many cells as the header has, and a name at both ends",
                    found: excerpt(&record.fields.join(",")),
                });
            }
        }
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

    #[test]
    fn edges_are_read_as_we_and_as_r_write_them() {
        for text in [
            "from,to,directed\na,b,true\nc,d,false\n",
            "\"\",\"from\",\"to\"\n\"1\",\"a\",\"b\"\n\"2\",\"c\",\"d\"\n",
            "\"\",\"V1\",\"V2\"\n\"1\",\"a\",\"b\"\n\"2\",\"c\",\"d\"\n",
            "\"\",\"to\",\"from\"\n\"1\",\"b\",\"a\"\n\"2\",\"d\",\"c\"\n",
            "# known\na,b\nc,d\n",
            "from,to\n# known\na, b\n\nc,d\n",
        ] {
            let lists = parse_edge_lists(text).unwrap();
            let names: Vec<String> = lists.iter().map(|(_, names)| names.join(">")).collect();
            assert_eq!(names, ["a>b", "c>d"], "{text}");
        }
        let lines = parse_edge_lists("from,to\n\na,b\n").unwrap();
        assert_eq!(lines[0].0, 3);
        assert!(parse_edge_lists("from,to\na\n").is_err());
        assert!(parse_edge_lists("from,to\na,\n").is_err());
    }
}
