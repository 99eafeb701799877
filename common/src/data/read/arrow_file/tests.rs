use super::*;
use crate::data::read::shown_table::{damaged, fixture, shown};
use proptest::prelude::*;

fn read(name: &str) -> Result<RawTable, FormatError> {
    read_arrow(fixture(name).into(), &|_| true, 2)
}

fn lines(name: &str) -> Vec<String> {
    let table = read(name).unwrap();
    assert_eq!(table.rows, 6);
    shown(&table).lines().map(String::from).collect()
}

#[test]
fn feather_of_pandas_keeps_levels_and_its_row_labels_have_no_name() {
    let lines = lines("pandas.feather");
    assert_eq!(
        lines[0],
        "name: Ann / Bob / - / New York, \"NY\" / été / Bob"
    );
    assert_eq!(
        lines[1],
        "level: high / low / low / - / medium / high / | / low / medium / high / never"
    );
    assert_eq!(lines[7], ": 10 / 11 / 12 / 13 / 14 / 15");
}

#[test]
fn an_enum_of_polars_has_levels_and_a_categorical_has_none() {
    let lines = lines("polars.arrow");
    assert_eq!(
        lines[1],
        "level: high / low / low / - / medium / high / | / low / medium / high / never"
    );
    assert_eq!(
        lines[7],
        "category: Ann / Bob / - / New York, \"NY\" / été / Bob"
    );
}

#[test]
fn files_and_streams_have_the_same_columns_whatever_their_pieces() {
    let (file, stream) = (lines("types.arrow"), lines("types.arrows"));
    let names = "Ann / Bob / - / New York, \"NY\" / été / Bob";
    assert_eq!(file[0], format!("string: {names}"));
    assert_eq!(file[2], format!("string_view: {names}"));
    assert_eq!(
        stream[3],
        "dictionary: a / - / b / b / a / d / | / b / a / c / d"
    );
    assert_eq!(file[3], stream[3]);
    assert_eq!(
        file[4],
        "whole_dictionary: 10 / - / 20 / 10 / 10 / 20 / | / 20 / 10 / 30"
    );
    assert_eq!(file[7], "float32: 0.1 / - / 1.5 / 1e+16 / nan / 4.0");
    assert_eq!(file[20], "runs: p / p / q / q / q / p");
    assert_eq!(file[..20], stream);
}

#[test]
fn unwanted_columns_are_left_out() {
    let bytes = fixture("pandas.feather").into();
    let table = read_arrow(bytes, &|name| name == "flag", 2).unwrap();
    let shown = shown(&table);
    let wanted: Vec<&str> = shown
        .lines()
        .filter(|line| !line.ends_with("unwanted"))
        .collect();
    assert_eq!(wanted, ["flag: True / False / - / True / False / True"]);
}

#[test]
fn a_file_that_ends_too_early_is_named() {
    let whole = fixture("types.arrows");
    for length in [0, 3, 9, whole.len() / 2] {
        let error = read_arrow(whole[..length].to_vec().into(), &|_| true, 1).unwrap_err();
        let sentence = error.to_string();
        assert!(
            sentence.starts_with("cannot read the Arrow file: it "),
            "{sentence}"
        );
    }
}

#[test]
fn a_column_that_says_it_unpacks_to_a_terabyte_is_refused_before() {
    let mut file = fixture("polars.arrow");
    let mut refused = 0;
    // The lengths before packed buffers are small numbers of eight bytes; one of them is raised.
    for at in (8..file.len() - 8).step_by(8) {
        let old: [u8; 8] = file[at..at + 8].try_into().unwrap();
        file[at..at + 8].copy_from_slice(&(1i64 << 40).to_le_bytes());
        let read = read_arrow(file.clone().into(), &|_| true, 1);
        refused += usize::from(matches!(read, Err(FormatError::TooLarge { .. })));
        file[at..at + 8].copy_from_slice(&old);
    }
    assert!(refused > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn damaged_files_are_errors_or_tables_but_never_panics(
        file in damaged(&["types.arrow", "types.arrows", "pandas.feather", "polars.arrow"]),
    ) {
        let _ = read_arrow(file.into(), &|_| true, 1);
    }
}
