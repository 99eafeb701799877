use super::*;
use crate::data::read::shown_table::{damaged, fixture, shown};
use proptest::prelude::*;

fn read(name: &str) -> Result<RawTable, FormatError> {
    read_parquet(fixture(name).into(), &|_| true, 2)
}

#[test]
fn a_file_of_pandas_keeps_levels_and_its_row_labels_have_no_name() {
    let table = read("pandas.parquet").unwrap();
    assert_eq!(table.rows, 6);
    assert_eq!(
        shown(&table),
        "name: Ann / Bob / - / New York, \"NY\" / été / Bob\n\
         level: high / low / low / - / medium / high / | / low / medium / high / never\n\
         flag: True / False / - / True / False / True\n\
         whole: 3 / -1 / - / 3 / 0 / 9007199254740993\n\
         number: 0.5 / 1.0 / - / 1e-07 / 1e+22 / 0.1\n\
         day: 2024-01-31 / - / 1969-12-31 / 1969-12-31 / 1969-12-31 / 1969-12-31\n\
         at: 2024-01-31T12:30:00 / - / 2024-02-29T00:00:00.001500 / 2024-02-29T00:00:00.001500 / \
         2024-02-29T00:00:00.001500 / 2024-02-29T00:00:00.001500\n\
         : 10 / 11 / 12 / 13 / 14 / 15"
    );
}

#[test]
fn an_enum_of_polars_has_levels_and_a_categorical_has_none() {
    let table = read("polars.parquet").unwrap();
    let shown = shown(&table);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines[1],
        "level: high / low / low / - / medium / high / | / low / medium / high / never"
    );
    assert_eq!(lines[3], "whole: 3 / -1 / - / 3 / 0 / 9007199254740993");
    assert_eq!(
        lines[7],
        "category: Ann / Bob / - / New York, \"NY\" / été / Bob"
    );
}

#[test]
fn every_type_is_read_over_several_row_groups() {
    let names = "Ann / Bob / - / New York, \"NY\" / été / Bob";
    let wholes = "1 / - / 3 / 4 / 5 / 6";
    let expected = format!(
        "string: {names}\n\
         large_string: {names}\n\
         string_view: {names}\n\
         dictionary: a / - / b / b / a / d / | / b / a / c / d\n\
         whole_dictionary: 10 / - / 20 / 10 / 10 / 20\n\
         nothing: - / - / - / - / - / -\n\
         float16: 0.1 / - / 1.5 / 2.0 / 3.0 / 4.0\n\
         float32: 0.1 / - / 1.5 / 1e+16 / nan / 4.0\n\
         decimal: 1.50 / - / -0.05 / 3.00 / 4.00 / 5.00\n\
         time: 12:30:00 / - / 00:00:01.500 / 01:00:00 / 01:00:00 / 01:00:00\n\
         zoned: 2024-01-31T12:30:00+00:00 / - / 2024-02-29T00:00:00.001+00:00 / \
         2024-02-29T00:00:00.001+00:00 / 2024-02-29T00:00:00.001+00:00 / \
         2024-02-29T00:00:00.001+00:00\n\
         span: 90 / - / -1.500 / -1.500 / -1.500 / -1.500\n\
         int8: {wholes}\nint16: {wholes}\nint32: {wholes}\nint64: {wholes}\n\
         uint8: {wholes}\nuint16: {wholes}\nuint32: {wholes}\nuint64: {wholes}"
    );
    let table = read("types.parquet").unwrap();
    assert_eq!(shown(&table), expected);
    let alone = read_parquet(fixture("types.parquet").into(), &|_| true, 1).unwrap();
    assert_eq!(shown(&alone), expected);
}

#[test]
fn files_packed_in_the_common_ways_read_alike() {
    for name in ["none", "snappy", "gzip", "lz4", "plain"] {
        let table = read(&format!("{name}.parquet")).unwrap();
        assert_eq!(
            shown(&table),
            "a: x / y / x / - / z / x\nb: 1 / 2 / 1 / 2 / - / 3",
            "{name}"
        );
    }
    let error = read("brotli.parquet").unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot read the file: it is a Parquet file packed by brotli or lzo; write it with snappy \
         or zstd"
    );
}

#[test]
fn only_wanted_columns_are_read_and_only_these_must_be_readable() {
    let list = || fixture("list.parquet").into();
    let table = read_parquet(list(), &|name| name == "b", 2).unwrap();
    assert_eq!(
        shown(&table),
        "a: unwanted\nb: 1 / 2 / 1 / 2 / - / 3\nlist: unwanted"
    );
    let error = read_parquet(list(), &|_| true, 2).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column \"list\" holds lists, not single values; leave the column out"
    );
}

#[test]
fn a_file_without_rows_has_its_columns() {
    let table = read("empty.parquet").unwrap();
    assert_eq!((table.rows, shown(&table).as_str()), (0, "a: \nb: "));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn damaged_files_are_errors_or_tables_but_never_panics(
        file in damaged(&["types.parquet", "pandas.parquet", "plain.parquet", "gzip.parquet", "lz4.parquet", "snappy.parquet"]),
    ) {
        let _ = read_parquet(file.into(), &|_| true, 1);
    }
}
