use super::*;
use proptest::prelude::*;

fn rows_of(text: &[u8]) -> Result<Vec<(u64, Vec<String>)>, RecordError> {
    rows_split_at(text, Delimiter::COMMA)
}

fn rows_split_at(
    text: &[u8],
    delimiter: Delimiter,
) -> Result<Vec<(u64, Vec<String>)>, RecordError> {
    let mut records = Records::new(text, 1, delimiter);
    let mut record = Record::default();
    let mut rows = Vec::new();
    while records.read(&mut record, 20)? {
        let cells = record.cells();
        let cells = cells
            .map(|cell| String::from_utf8_lossy(cell).into_owned())
            .collect();
        rows.push((record.line(), cells));
    }
    assert_eq!(records.position(), text.len());
    Ok(rows)
}

fn rows(text: &str) -> Vec<(u64, Vec<String>)> {
    rows_of(text.as_bytes()).unwrap()
}

fn row(line: u64, cells: &[&str]) -> (u64, Vec<String>) {
    (line, cells.iter().map(ToString::to_string).collect())
}

#[test]
fn every_line_end_ends_a_row_and_counts_once() {
    for end in ["\n", "\r\n", "\r"] {
        let text = ["a,b", "", "1,2", "3,", ""].join(end);
        let expected = [row(1, &["a", "b"]), row(3, &["1", "2"]), row(4, &["3", ""])];
        assert_eq!(rows(&text), expected, "{end:?}");
    }
    assert_eq!(rows("a\r\n\r\n\r\nb"), [row(1, &["a"]), row(4, &["b"])]);
    assert_eq!(rows("a\n\r\nb"), [row(1, &["a"]), row(3, &["b"])]);
}

#[test]
fn the_last_line_end_may_be_missing() {
    assert_eq!(rows("a,b\n1,2"), [row(1, &["a", "b"]), row(2, &["1", "2"])]);
    assert_eq!(rows("a,"), [row(1, &["a", ""])]);
    assert_eq!(rows("\"a\""), [row(1, &["a"])]);
    assert_eq!(rows(""), []);
    assert_eq!(rows("\n\n"), []);
}

#[test]
fn quotes_keep_what_is_between_them() {
    assert_eq!(
        rows("\"a,\"\"b\"\"\r\nc\",\" d \"\n"),
        [row(1, &["a,\"b\"\r\nc", " d "])]
    );
    assert_eq!(rows("\"\"\n\"\",x"), [row(1, &[""]), row(2, &["", "x"])]);
    assert_eq!(rows("\"a\nb\"\nc"), [row(1, &["a\nb"]), row(3, &["c"])]);
}

#[test]
fn white_space_is_cut_off_outside_quotes_only() {
    assert_eq!(
        rows(" a\t, \" b\" ,5\" x \n"),
        [row(1, &["a", " b", "5\" x"])]
    );
    assert_eq!(rows("  ,  \n"), [row(1, &["", ""])]);
}

#[test]
fn any_number_of_blanks_is_one_delimiter() {
    let blanks: Delimiter = "space".parse().unwrap();
    let text = "  a   b\n1 \"x  y\"  \n\n 2   3";
    assert_eq!(
        rows_split_at(text.as_bytes(), blanks).unwrap(),
        [
            row(1, &["a", "b"]),
            row(2, &["1", "x  y"]),
            row(4, &["2", "3"])
        ]
    );
    assert_eq!(
        rows_split_at(b"a \"\" ", blanks).unwrap(),
        [row(1, &["a", ""])]
    );
}

#[test]
fn what_cannot_be_split_is_placed() {
    let error = |text: &str| rows_of(text.as_bytes()).unwrap_err();
    assert!(matches!(
        error("a,b\n1,\0"),
        RecordError::Nul { line: 2, cell: 1 }
    ));
    assert!(matches!(
        error("a\n\"b\nc"),
        RecordError::OpenQuote { line: 2, cell: 0 }
    ));
    assert!(matches!(
        error("a\n\"b\"c"),
        RecordError::TextAfterQuote { line: 2, cell: 0 }
    ));
    let long = "x".repeat(21);
    assert!(matches!(
        error(&format!("a,{long}")),
        RecordError::CellTooLong {
            line: 1,
            cell: 1,
            quoted: false
        }
    ));
    assert!(matches!(
        error(&format!("a,\"{long}")),
        RecordError::CellTooLong { quoted: true, .. }
    ));
    assert_eq!(rows(&long[1..]).len(), 1);
}

proptest! {
    #[test]
    fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = rows_of(&bytes);
        let _ = rows_split_at(&bytes, "space".parse().unwrap());
    }

    #[test]
    fn rows_are_those_of_the_csv_crate(text in "[ab,\r\n]{0,40}") {
        let expected: Vec<Vec<String>> = ::csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(text.as_bytes())
            .into_records()
            .map(|row| row.unwrap().iter().map(ToString::to_string).collect())
            .collect();
        let found: Vec<_> = rows(&text).into_iter().map(|(_, cells)| cells).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn quoted_cells_come_back(cells in prop::collection::vec("[ab,;\"\r\n é]{0,6}", 1..5)) {
        let quoted: Vec<_> =
            cells.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
        let text = format!("{}\n", quoted.join(","));
        prop_assert_eq!(rows(&text), vec![(1, cells)]);
    }
}
