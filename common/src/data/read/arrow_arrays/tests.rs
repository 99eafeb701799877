use super::*;
use crate::data::read::shown_table::shown_column;
use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray, UInt64Array};
use proptest::prelude::*;

/// Reads pieces by the fast ways.
fn fast(pieces: &[ArrayRef]) -> RawColumn {
    let field = Field::new("c", pieces[0].data_type().clone(), true);
    let mut column = ArrowColumn::new(&field, &|_| true).unwrap();
    for piece in pieces {
        column.append(piece).unwrap();
    }
    column.finish()
}

/// Reads pieces by definition: the text of every cell is pushed.
fn slow(pieces: &[ArrayRef]) -> RawColumn {
    let mut cells = Cells::default();
    let mut row = 0;
    for piece in pieces {
        for at in 0..piece.len() {
            row += 1;
            let mut text = Vec::new();
            if write_value(piece, at, &mut text) {
                cells.push(&text, row, POINT);
            } else {
                cells.push_null();
            }
        }
    }
    RawColumn {
        name: "c".into(),
        cells,
        levels: None,
    }
}

/// What a column holds, with the rows in which its texts first stood.
fn content(column: &RawColumn) -> String {
    let rows: Vec<u64> = match &column.cells {
        Cells::Texts { dictionary, .. } => dictionary.texts().map(|(_, row)| row).collect(),
        Cells::Numbers { others, .. } => others.texts().map(|(_, row)| row).collect(),
        _ => Vec::new(),
    };
    format!("{} {rows:?}", shown_column(column))
}

fn check(pieces: &[ArrayRef]) {
    // Not by assert_eq, which would print very long texts.
    assert!(content(&fast(pieces)) == content(&slow(pieces)));
}

fn as_dictionary(texts: &[Option<String>]) -> ArrayRef {
    let texts = texts.iter().map(Option::as_deref);
    std::sync::Arc::new(texts.collect::<arrow_array::DictionaryArray<Int32Type>>())
}

#[test]
fn very_many_numbers_are_numbers_whichever_piece_passes_the_limit() {
    let limit = i64::try_from(Dictionary::MAX_TEXTS).unwrap();
    for (first, second) in [(limit + 10, 10), (limit - 5, 10), (100, limit + 10)] {
        let numbers = |range: std::ops::Range<i64>| -> ArrayRef {
            std::sync::Arc::new(
                range
                    .map(|n| (n % 7 != 0).then_some(n * 1000))
                    .collect::<Int64Array>(),
            )
        };
        check(&[numbers(0..first), numbers(first..first + second)]);
        let floats = |range: std::ops::Range<i64>| -> ArrayRef {
            let values = range.map(|n| match n % 1000 {
                0 => None,
                1 => Some(f64::NAN),
                2 => Some(f64::NEG_INFINITY),
                _ => Some(n as f64 / 8.0),
            });
            std::sync::Arc::new(values.collect::<Float64Array>())
        };
        check(&[floats(0..first), floats(first..first + second)]);
    }
}

#[test]
fn very_many_texts_are_not_kept() {
    let texts: Vec<Option<String>> = (0..70_000).map(|n| Some(format!("id{n}"))).collect();
    let plain: StringArray = texts.iter().map(Option::as_deref).collect();
    let cells = fast(&[std::sync::Arc::new(plain), as_dictionary(&texts[..5])]).cells;
    assert!(matches!(cells, Cells::TooMany { .. }));
    let column = fast(&[as_dictionary(&texts)]);
    assert!(matches!(column.cells, Cells::TooMany { .. }) && column.levels.is_none());
}

#[test]
fn integers_at_the_ends_of_their_range_are_told_apart() {
    let ends: ArrayRef =
        std::sync::Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX, 0, i64::MIN]));
    assert_eq!(
        shown_column(&fast(&[ends])),
        "c: -9223372036854775808 / 9223372036854775807 / 0 / -9223372036854775808"
    );
    let ends: ArrayRef = std::sync::Arc::new(UInt64Array::from(vec![u64::MAX, u64::MAX - 1]));
    assert_eq!(
        shown_column(&fast(&[ends])),
        "c: 18446744073709551615 / 18446744073709551614"
    );
}

#[test]
fn a_cell_that_is_too_long_is_named() {
    let texts = [Some("a".into()), Some("x".repeat(MAX_CELL_BYTES + 1))];
    let plain: StringArray = texts.iter().map(Option::as_deref).collect();
    let field = Field::new("c", DataType::Utf8, true);
    let mut column = ArrowColumn::new(&field, &|_| true).unwrap();
    assert_eq!(
        column.append(&plain).unwrap_err().to_string(),
        "row 2, column \"c\": the cell is longer than 65536 bytes, the most that is possible"
    );
}

#[test]
fn types_without_single_values_are_named() {
    let item = std::sync::Arc::new(Field::new("item", DataType::Int8, true));
    for (data_type, held) in [
        (DataType::List(item), "lists"),
        (DataType::Binary, "bytes"),
        (
            DataType::Struct(Vec::<Field>::new().into()),
            "records with fields of their own",
        ),
    ] {
        let field = Field::new("c", data_type, true);
        let error = ArrowColumn::new(&field, &|_| true).err().unwrap();
        let sentence =
            format!("column \"c\" holds {held}, not single values; leave the column out");
        assert_eq!(error.to_string(), sentence);
    }
}

proptest! {
    #[test]
    fn the_fast_ways_read_what_the_slow_way_reads(
        texts in prop::collection::vec(prop::option::of("[a-c]{0,2}|[0-9]{1,2}|[a-b]{9}"), 0..200),
        wholes in prop::collection::vec(prop::option::of(prop_oneof![-9i64..9, any::<i64>()]), 0..200),
        numbers in prop::collection::vec(prop::option::of(prop_oneof![Just(0.0), Just(-0.0), Just(f64::NAN), any::<f64>()]), 0..200),
        cut in 0usize..200,
    ) {
        let plain: ArrayRef = std::sync::Arc::new(texts.iter().map(Option::as_deref).collect::<StringArray>());
        let dictionary = as_dictionary(&texts);
        let wholes: ArrayRef = std::sync::Arc::new(wholes.into_iter().collect::<Int64Array>());
        let numbers: ArrayRef = std::sync::Arc::new(numbers.into_iter().collect::<Float64Array>());
        for array in [&plain, &wholes, &numbers] {
            let cut = cut.min(array.len());
            let pieces = [array.slice(0, cut), array.slice(cut, array.len() - cut)];
            prop_assert_eq!(content(&fast(&pieces)), content(&slow(&pieces)));
        }
        // The same texts in a dictionary, without levels.
        let field = Field::new("c", DataType::Utf8, true);
        let mut column = ArrowColumn::new(&field, &|_| true).unwrap();
        column.append(&dictionary).unwrap();
        prop_assert_eq!(content(&column.finish()), content(&slow(&[plain])));
    }
}
