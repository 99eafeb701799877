use super::*;
use crate::data::read::shown_table::{damaged, fixture, shown};
use proptest::prelude::*;

#[test]
fn the_first_sheet_is_read_and_further_ones_are_named() {
    let sheet = read_xlsx(fixture("openpyxl.xlsx").into(), &|_| true).unwrap();
    assert_eq!(
        (sheet.sheet.as_str(), sheet.further),
        ("Sheet", vec!["further".to_string()])
    );
    assert_eq!(sheet.table.rows, 6);
    assert_eq!(
        shown(&sheet.table),
        ": 0 / 1 / 2 / 3 / 4 / 5\n\
         name: Ann / Bob / - / New York, \"NY\" / été / Bob\n\
         whole: 3 / -1 / - / 3 / 0 / 9007199254740992\n\
         number: 0.5 / 1 / - / 1e-07 / 1e+22 / 0.1\n\
         day: 2024-01-31 / - / 1969-12-31 / 1969-12-31 / 1969-12-31 / 1969-12-31\n\
         at: 2024-01-31T12:30:00 / - / 2024-02-29T00:00:00.250 / 2024-02-29T00:00:00.250 / \
         2024-02-29T00:00:00.250 / 2024-02-29T00:00:00.250\n\
         flag: True / False / - / True / False / True\n\
         error: - / #N/A / - / - / - / -"
    );
}

#[test]
fn an_empty_workbook_is_named() {
    let error = read_xlsx(fixture("empty.xlsx").into(), &|_| true).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the first sheet of the workbook is empty; expected a header and rows"
    );
}

#[test]
fn a_zip_archive_without_a_workbook_is_no_table() {
    let error = read_xlsx(
        b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
            .to_vec()
            .into(),
        &|_| true,
    );
    let sentence = error.unwrap_err().to_string();
    assert!(
        sentence.starts_with("cannot read the workbook: "),
        "{sentence}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn damaged_files_are_errors_or_tables_but_never_panics(
        file in damaged(&["openpyxl.xlsx", "empty.xlsx"]),
    ) {
        let _ = read_xlsx(file.into(), &|_| true);
    }
}
