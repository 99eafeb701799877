use super::*;
use crate::data::read::shown_table::{damaged, fixture, shown};
use proptest::prelude::*;

fn read(text: &str) -> Result<RawTable, FormatError> {
    read_json_lines(text.as_bytes(), &|_| true)
}

fn refusal(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn both_forms_that_pandas_writes_read_alike() {
    let expected = "name: Ann / Bob / - / New York, \"NY\" / été / Bob\n\
         level: high / low / low / - / medium / high\n\
         flag: True / False / - / True / False / True\n\
         whole: 3 / -1 / - / 3 / 0 / 9007199254740993\n\
         number: 0.5 / 1.0 / - / 0.0000001 / 1e+22 / 0.1";
    for name in ["pandas.jsonl", "pandas.json"] {
        let table = read_json_lines(fixture(name).as_slice(), &|_| true).unwrap();
        assert_eq!(
            (shown(&table).as_str(), table.rows),
            (expected, 6),
            "{name}"
        );
    }
}

#[test]
fn keys_that_come_late_or_are_lacking_have_no_value_there() {
    let table = read("{\"a\": 1}\n\n{\"b\": \"x\", \"a\": null}\r\n{}\n {\"c\":true}").unwrap();
    assert_eq!(
        shown(&table),
        "a: 1 / - / - / -\nb: - / x / - / -\nc: - / - / - / True"
    );
}

#[test]
fn texts_and_numbers_are_taken_as_they_are_written() {
    let table = read(
        "\u{feff}{\"\": \"\\u00e9\\n\\\"\\ud83d\\ude00é\", \"n\": 1.50, \"e\": -1E+5, \"f\": NaN, \"g\": false}",
    )
    .unwrap();
    assert_eq!(
        shown(&table),
        ": é\n\"😀é\nn: 1.50\ne: -1E+5\nf: nan\ng: False"
    );
    assert_eq!(read("").unwrap().rows, 0);
    assert_eq!(read("[]\n").unwrap().rows, 0);
}

#[test]
fn what_is_no_table_is_named_with_its_line() {
    for (text, sentence) in [
        (
            "{\"a\":1}\n{\"a\":[1]}",
            "line 2, key \"a\": the value is a list; expected a table of single values, one object \
             for each row (pandas: to_json(..., orient=\"records\", lines=True))",
        ),
        (
            "{\"a\":1,\n\"a\":2}",
            "line 2: the object has the key \"a\" twice; expected different keys",
        ),
        (
            "{\"a\":1}\nx",
            "line 2: there is `x`; expected an object, `{`",
        ),
        ("[1]", "line 1: there is `1`; expected an object, `{`"),
        (
            "[{}] {}",
            "line 1: there is `{`; expected nothing behind the list of objects",
        ),
        (
            "[{} {}]",
            "line 1: there is `{`; expected `,` or `]` behind an object",
        ),
        (
            "{\"a\":1",
            "line 1: the file ends; expected `,` or `}` behind a value",
        ),
        (
            "{\"a\" 1}",
            "line 1: there is `1`; expected `:` behind a key",
        ),
        ("{a:1}", "line 1: there is `a`; expected a key in quotes"),
        ("{\"a\":}", "line 1: there is `}`; expected a value"),
        (
            "{\"a\":01}",
            "line 1: \"01\" is no value; expected a number, true, false, null or a text in quotes",
        ),
        (
            "{\"a\":\"x\n\"}",
            "line 1: there is `\\n`; expected a closing quote",
        ),
        (
            "{\"a\":\"\\x\"}",
            "line 1: there is `x`; expected one of \"\\/bfnrtu behind a backslash",
        ),
        (
            "{\"a\":\"\\ud800\"}",
            "line 1: `\\ud800` is half a character; expected the other half beside it",
        ),
        (
            "{\"a\":\"\\u12\"}",
            "line 1: there is `\"`; expected four hexadecimal digits behind `\\u`",
        ),
    ] {
        assert_eq!(refusal(text), sentence, "{text}");
    }
    let bad = read_json_lines(&b"{\"a\":\"\xe9\"}"[..], &|_| true).unwrap_err();
    assert!(bad.to_string().contains("not valid UTF-8"));
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_CELL_BYTES + 1));
    assert!(refusal(&long).contains("longer than 65536 bytes"));
}

#[test]
fn nested_values_that_nobody_wants_are_skipped() {
    let deep = format!(
        "{{\"a\":{}{}, \"b\":1}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    for text in [&deep, "{\"a\": {\"x\": [\"}\", \"\\\"\"]}, \"b\": 1}"] {
        let table = read_json_lines(text.as_bytes(), &|name| name == "b").unwrap();
        assert_eq!(shown(&table), "a: unwanted\nb: 1");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn damaged_files_are_errors_or_tables_but_never_panics(
        file in damaged(&["pandas.json", "pandas.jsonl"]),
    ) {
        let _ = read_json_lines(file.as_slice(), &|_| true);
    }

    #[test]
    fn any_text_and_number_is_read_as_serde_json_reads_it(
        texts in prop::collection::vec("\\PC{0,10}|[\"\\\\\n\t]{1,3}", 1..5),
        number in any::<f64>().prop_filter("JSON has no others", |number| number.is_finite()),
    ) {
        let mut text = String::new();
        for value in &texts {
            let object = serde_json::json!({ "text": value, "number": number });
            text.push_str(&object.to_string());
            text.push('\n');
        }
        let table = read(&text).unwrap();
        let cells = |name: &str| -> Vec<Vec<u8>> {
            let column = table.columns.iter().find(|column| column.name == name).unwrap();
            let Cells::Texts { dictionary, codes } = &column.cells else { panic!("texts") };
            codes.iter().map(|code| dictionary.text(code).to_vec()).collect()
        };
        prop_assert_eq!(cells("text"), texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>());
        let back: f64 = String::from_utf8(cells("number").remove(0)).unwrap().parse().unwrap();
        prop_assert_eq!(back.to_bits(), number.to_bits());
    }
}
