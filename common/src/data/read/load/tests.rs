use super::*;
use crate::data::{
    BinRules, Bins, ColumnUse, DeclaredSchema, MAX_CELL_BYTES, MissingPolicy, Schema, Variable,
    write_csv,
};
use crate::ids::NodeIdx;
use proptest::prelude::*;
use std::path::PathBuf;

fn at_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn parse(text: &str) -> Result<(Table, LoadReport), LoadError> {
    parse_table(text.as_bytes(), &LoadOptions::default())
}

fn parse_error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

fn states(table: &Table, name: &str) -> Vec<String> {
    let node = table.schema().find(name).unwrap();
    table.schema().variable(node).states().to_vec()
}

fn drop_rows() -> LoadOptions {
    LoadOptions {
        missing: MissingPolicy::DropRows,
        ..LoadOptions::default()
    }
}

fn bad(file: &str, options: &LoadOptions) -> String {
    let path = at_root("tests/fixtures/bad").join(file);
    load_table(&path, options).unwrap_err().to_string()
}

#[test]
fn each_bad_file_has_its_sentence() {
    let cases = [
        (
            "truncated.csv.gz",
            "cannot unpack the gzip data: it ends too early; the file is truncated",
        ),
        (
            "binary.csv",
            "cannot parse row 1, column 1: the cell holds a NUL byte; expected text, not binary data",
        ),
        (
            "zip.csv",
            "cannot read the file: it is a zip archive; unpack it with `unzip`",
        ),
        (
            "nul.csv",
            "cannot parse row 3, column \"b\": the cell holds a NUL byte; expected text, not \
             binary data",
        ),
        ("ragged.csv", "row 17 has 5 cells where the header has 6"),
        (
            "ragged_long.csv",
            "row 3 has 3 cells where the header has 2",
        ),
        (
            "duplicate_header.csv",
            "the header has the name \"age\" twice, in columns 1 and 3; expected different names",
        ),
        (
            "empty_header_name.csv",
            "the header has no name for column 2; expected a name for every column",
        ),
        (
            "empty.csv",
            "the file is empty; expected a header line and rows below it",
        ),
        (
            "blank_lines.csv",
            "the file is empty; expected a header line and rows below it",
        ),
        (
            "header_only.csv",
            "the file has a header but no rows; expected at least 2 rows",
        ),
        (
            "one_row.csv",
            "the file has only 1 row below the header; expected at least 2 rows",
        ),
        (
            "missing.csv",
            "3 cells in 2 rows are missing (as empty 1x, \"?\" 1x, \"NA\" 1x), most in \"cough\" (2), \"smoker\" \
             (1), the first at row 3, column \"cough\"; expected complete rows: without such rows 2 \
             of 4 would be left",
        ),
        (
            "open_quote.csv",
            "cannot parse row 3, column \"b\": the file ends inside the quoted cell; expected a \
             closing quote",
        ),
        (
            "text_after_quote.csv",
            "cannot parse row 3, column \"a\": there is text behind the closing quote; expected \
             the next cell (a quote inside a quoted cell is written as two)",
        ),
        (
            "many_numbers.csv",
            "column \"age\" holds 40 different numbers; expected at most 32: put them \
             into bins, or declare the column's states",
        ),
        (
            "too_many_states.csv",
            "column \"city\" has more than 256 different values; expected a discrete variable",
        ),
    ];
    for (file, sentence) in cases {
        assert_eq!(bad(file, &LoadOptions::default()), sentence, "{file}");
    }
    let damaged = bad("damaged.csv.gz", &LoadOptions::default());
    assert!(
        damaged.starts_with("cannot unpack the gzip data: "),
        "{damaged}"
    );
}

#[test]
fn truth_values_are_the_declared_ones_in_any_case() {
    let declared = |states: &[&str]| {
        let states = states.iter().map(|&state| state.to_owned()).collect();
        let variable = Variable::in_order("a".to_owned(), states).unwrap();
        let other = Variable::in_order("b".to_owned(), vec!["x".into(), "y".into()]).unwrap();
        LoadOptions {
            schema: Some(Schema::new(vec![variable, other]).unwrap().into()),
            ..LoadOptions::default()
        }
    };
    let text: &[u8] = b"a,b\nTrue,x\nFalse,y\nTrue,y\n";
    let (table, _) = parse_table(text, &declared(&["FALSE", "TRUE"])).unwrap();
    assert_eq!(table.column(NodeIdx::new(0)), [1, 0, 1]);
    for states in [&["no", "yes"][..], &["false", "TRUE", "true"]] {
        assert!(parse_table(text, &declared(states)).is_err(), "{states:?}");
    }
}

#[test]
fn integers_are_the_declared_ones_with_and_without_a_point() {
    let declared = |states: &[&str]| {
        let states = states.iter().map(|&state| state.to_owned()).collect();
        let variable = Variable::in_order("a".to_owned(), states).unwrap();
        let other = Variable::in_order("b".to_owned(), vec!["x".into(), "y".into()]).unwrap();
        LoadOptions {
            schema: Some(Schema::new(vec![variable, other]).unwrap().into()),
            ..LoadOptions::default()
        }
    };
    let with_point: &[u8] = b"a,b\n1.0,x\n-2.0,y\n1.0,y\n";
    let (table, _) = parse_table(with_point, &declared(&["1", "-2"])).unwrap();
    assert_eq!(table.column(NodeIdx::new(0)), [0, 1, 0]);
    let without: &[u8] = b"a,b\n1,x\n-2,y\n1,y\n";
    let (table, _) = parse_table(without, &declared(&["-2.0", "1.0"])).unwrap();
    assert_eq!(table.column(NodeIdx::new(0)), [1, 0, 1]);
    for states in [&["2", "-2"][..], &["01", "-2"], &["1.00", "-2"]] {
        assert!(
            parse_table(with_point, &declared(states)).is_err(),
            "{states:?}"
        );
    }
    let (table, _) = parse_table(without, &declared(&["1", "1.0", "-2"])).unwrap();
    assert_eq!(table.column(NodeIdx::new(0)), [0, 2, 0]);
}

#[test]
fn the_report_says_which_rows_were_dropped() {
    let options = LoadOptions {
        missing: MissingPolicy::DropRows,
        ..LoadOptions::default()
    };
    let text: &[u8] = b"a,b\n0,x\n,y\n1,y\n0,NA\n1,x\n";
    let (_, report) = parse_table(text, &options).unwrap();
    assert_eq!((report.rows_dropped, report.dropped), (2, vec![1, 3]));
}

#[test]
fn bad_files_with_options_have_their_sentence() {
    let schema = |file: &str| {
        let path = at_root("tests/fixtures/bad").join(file);
        LoadOptions {
            schema: Some(DeclaredSchema::load(&path).unwrap()),
            ..LoadOptions::default()
        }
    };
    assert_eq!(
        bad("unknown_state.csv", &schema("unknown_state.toml")),
        "cannot parse row 17, column \"smoker\": state \"mabye\" is not in the schema (expected \
         one of: no, yes)"
    );
    assert_eq!(
        bad("unknown_state.csv", &schema("absent_variable.toml")),
        "the schema declares the variable \"asthma\", but the table has no such column"
    );
    let path = at_root("tests/fixtures/bad/not_an_array.toml");
    assert!(DeclaredSchema::load(&path).is_err());
    let bins = LoadOptions {
        bins: "width:4".parse().unwrap(),
        ..LoadOptions::default()
    };
    assert_eq!(
        bad("infinite.csv", &bins),
        "column \"age\" holds numbers, but also \"inf\" 1x; expected numbers only"
    );
    assert_eq!(
        bad("all_missing.csv", &drop_rows()),
        "each of the 2 rows has a missing cell; expected at least 2 rows"
    );
}

#[test]
fn long_cells_and_names_are_placed() {
    let long = "x".repeat(1_000_000);
    assert_eq!(
        parse_error(&format!("a,b\n1,2\n1,{long}\n")),
        "cannot parse row 3, column \"b\": the cell is longer than 65536 bytes, the most that is \
         possible"
    );
    assert_eq!(
        parse_error(&format!("a,b\n\"{long}\n,1\n")),
        "cannot parse row 2, column \"a\": the cell is longer than 65536 bytes, the most that is \
         possible (a closing quote may be missing)"
    );
    assert_eq!(
        parse_error(&format!("a,{long}\n1,2\n")),
        "cannot parse row 1, column 2: the cell is longer than 1024 bytes, the most that is possible"
    );
    let longest = "x".repeat(MAX_CELL_BYTES);
    assert!(parse(&format!("a,b\n{longest},x\ny,x\n")).is_ok());
}

#[test]
fn more_columns_than_nodes_are_an_error() {
    let header: Vec<String> = (0..=NodeIdx::MAX_NODES)
        .map(|column| format!("v{column}"))
        .collect();
    assert_eq!(
        parse_error(&header.join(",")),
        "row 1 has more than 16384 cells; at most 16384 columns are possible"
    );
    let row = vec!["1"; NodeIdx::MAX_NODES].join(",");
    let most = format!("{}\n{row}\n{row}\n", header[1..].join(","));
    assert_eq!(parse(&most).unwrap().0.nodes(), NodeIdx::MAX_NODES);
}

#[cfg(unix)]
#[test]
fn devices_are_read_until_their_first_fault() {
    let error = load_table(Path::new("/dev/zero"), &LoadOptions::default()).unwrap_err();
    assert!(matches!(error, LoadError::Nul(_)), "{error}");
    let error = load_table(Path::new("/dev/null"), &LoadOptions::default()).unwrap_err();
    assert!(matches!(error, LoadError::Empty), "{error}");
}

#[test]
fn delimiters_are_given_told_by_the_ending_or_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.tsv");
    std::fs::write(&path, "a;b\tc\n1\t2\n3\t4\n").unwrap();
    let (table, report) = load_table(&path, &LoadOptions::default()).unwrap();
    assert_eq!(report.delimiter, Some(Delimiter::TAB));
    assert_eq!(table.schema().names().collect::<Vec<_>>(), ["a;b", "c"]);
    let (_, report) = parse("\n\na;b\n1;2\n3;4,5\n").unwrap();
    assert_eq!(report.delimiter, Some(Delimiter::SEMICOLON));
    let bar = LoadOptions {
        delimiter: "|".parse().ok(),
        ..LoadOptions::default()
    };
    let (table, _) = parse_table(&b"a,b|c\n1|2\n3|4\n"[..], &bar).unwrap();
    assert_eq!(table.nodes(), 2);
}

#[test]
fn rows_with_missing_cells_are_dropped_and_counted() {
    let path = at_root("tests/fixtures/bad/missing.csv");
    let (table, report) = load_table(&path, &drop_rows()).unwrap();
    assert_eq!(
        (report.rows_read, report.rows_kept, report.rows_dropped),
        (4, 2, 2)
    );
    assert_eq!(table.rows(), 2);
    assert_eq!(report.missing_cells(), 3);
    let missing: Vec<_> = report
        .columns
        .iter()
        .map(|column| column.missing_cells)
        .collect();
    assert_eq!(missing, [1, 2, 0], "smoker, cough, age");
    assert_eq!(
        report.constants().collect::<Vec<_>>(),
        ["smoker"],
        "\"yes\" stood in dropped rows"
    );
}

#[test]
fn a_single_missing_cell_is_told_as_one() {
    assert_eq!(
        parse_error("a,b\nx,\"\"\ny,z\n"),
        "1 cell is missing (as empty 1x), most in \"b\" (1), the first at row 2, column \"b\"; expected \
         complete rows: without such rows 1 of 2 would be left"
    );
}

#[test]
fn declared_states_are_kept_and_never_missing_or_binned() {
    let schema = DeclaredSchema::parse("region = ['EU', 'NA', 'SA']\nn = [0, 1, 2, 3]").unwrap();
    let options = LoadOptions {
        schema: Some(schema),
        bins: "m=width:2".parse().unwrap(),
        ..LoadOptions::default()
    };
    let text = "region,n,m\nNA,0,0\nEU,1,1\nEU,2,2\n";
    let (table, report) = parse_table(text.as_bytes(), &options).unwrap();
    assert_eq!(states(&table, "region"), ["EU", "NA", "SA"]);
    assert_eq!(states(&table, "n"), ["0", "1", "2", "3"]);
    assert_eq!(states(&table, "m"), ["b01_0_to_1", "b02_1_to_2"]);
    assert_eq!(report.columns[0].occurring_states, 2);
    assert_eq!(report.columns[0].used, ColumnUse::Declared);
    let binned: Vec<_> = report
        .binned()
        .map(|column| column.cut_points.clone())
        .collect();
    assert_eq!(binned, [Some(vec![1.0])]);
}

#[test]
fn every_bundled_table_loads() {
    let mut loaded = 0;
    for entry in std::fs::read_dir(at_root("data")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        if !name.ends_with(".csv") && !name.ends_with(".csv.gz") {
            continue;
        }
        let (table, report) = load_table(&path, &LoadOptions::default()).unwrap();
        assert_eq!(table.rows(), report.rows_kept, "{name}");
        loaded += 1;
    }
    assert_eq!(loaded, 16);
}

#[test]
fn the_unpacked_alarm_is_the_packed_one() {
    let load = |file| {
        load_table(&at_root("data").join(file), &LoadOptions::default())
            .unwrap()
            .0
    };
    assert_eq!(load("alarm.csv"), load("alarm_n1000_s1.csv.gz"));
}

#[test]
fn targets_describe_the_bundled_tables() {
    let text = std::fs::read_to_string(at_root("data/targets.json")).unwrap();
    let targets: serde_json::Value = serde_json::from_str(&text).unwrap();
    let tables = targets["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 15);
    for target in tables {
        let path = at_root("data").join(target["file"].as_str().unwrap());
        let (table, _) = load_table(&path, &LoadOptions::default()).unwrap();
        assert_eq!(target["rows"], table.rows(), "{}", path.display());
        assert_eq!(target["variables"], table.nodes(), "{}", path.display());
        let best = target["best_known"].as_f64().unwrap();
        // Tools' scores are rounded to one decimal.
        assert!(target["best_other_tool"]["score"].as_f64().unwrap() <= best + 0.05);
        assert!(target["generating_network_score"].as_f64().unwrap() <= best + 0.05);
    }
}

/// Text with everything that CSV has to quote, and names that are not empty.
fn nasty() -> impl Strategy<Value = String> {
    "[ab,;\"\t\r\n é日\u{feff}]{0,5}"
}

fn nasty_table() -> impl Strategy<Value = Table> {
    let column = (
        prop::collection::btree_set(nasty(), 1..4),
        prop::collection::vec(0u8..12, 6),
    );
    let names = prop::collection::btree_set(nasty().prop_filter("name", |n| !n.is_empty()), 2..5);
    (names, prop::collection::vec(column, 5), 2usize..=6).prop_map(|(names, columns, rows)| {
        let mut variables = Vec::new();
        let mut cells = Vec::new();
        for (name, (states, numbers)) in names.into_iter().zip(columns) {
            let states: Vec<String> = states.into_iter().collect();
            let codes: Vec<u8> = numbers[..rows]
                .iter()
                .map(|&n| n % u8::try_from(states.len()).unwrap())
                .collect();
            variables.push(Variable::new(name, states).unwrap());
            cells.push(codes);
        }
        Table::new(Schema::new(variables).unwrap(), cells).unwrap()
    })
}

/// Nothing is missing, and states that do not occur are declared.
fn options_of(table: &Table) -> LoadOptions {
    LoadOptions {
        schema: Some(DeclaredSchema::from(table.schema().as_ref().clone())),
        missing_markers: Some(Vec::new()),
        ..LoadOptions::default()
    }
}

proptest! {
    #[test]
    fn a_written_table_loads_as_it_was(table in nasty_table()) {
        let mut text = Vec::new();
        write_csv(&table, &mut text).unwrap();
        let (loaded, report) = parse_table(text.as_slice(), &options_of(&table)).unwrap();
        prop_assert_eq!(&loaded, &table);
        prop_assert_eq!(report.delimiter, Some(Delimiter::COMMA));
    }

    #[test]
    fn the_column_order_of_the_file_does_not_matter(
        rows in prop::collection::vec(prop::collection::vec(0u8..40, 4), 2..50),
        order in Just(vec![0usize, 1, 2, 3]).prop_shuffle(),
        bins in prop_oneof![Just("width:3"), Just("quantile:5")],
    ) {
        let names = ["delta", "Alpha", "beta", "gamma"];
        let text = |order: &[usize]| {
            let mut lines = vec![order.iter().map(|&at| names[at].to_string()).collect::<Vec<_>>()];
            lines.extend(rows.iter().map(|row| {
                order.iter().map(|&at| if at < 2 { format!("s{}", row[at]) } else { row[at].to_string() }).collect()
            }));
            lines.iter().map(|line| line.join(",") + "\n").collect::<String>()
        };
        let bins: Bins = bins.parse().unwrap();
        let by_name = ["beta", "gamma"].map(|name| (name.to_string(), bins)).into();
        let bins = BinRules { others: None, by_name };
        let options = LoadOptions { bins, ..LoadOptions::default() };
        let (first, mut first_report) = parse_table(text(&[0, 1, 2, 3]).as_bytes(), &options).unwrap();
        let (second, mut second_report) = parse_table(text(&order).as_bytes(), &options).unwrap();
        prop_assert_eq!(first, second);
        for report in [&mut first_report, &mut second_report] {
            report.columns.sort_by(|a, b| a.name.cmp(&b.name));
            report.warnings.sort();
        }
        prop_assert_eq!(first_report, second_report);
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse_table(bytes.as_slice(), &drop_rows());
    }

    #[test]
    fn no_text_causes_a_panic(text in "[ab01,;\"\t\r\n?é]{0,100}", bins: bool) {
        let bins = if bins { "quantile:2".parse().unwrap() } else { BinRules::default() };
        let options = LoadOptions { bins, ..drop_rows() };
        if let Ok((table, report)) = parse_table(text.as_bytes(), &options) {
            prop_assert_eq!(table.rows() + report.rows_dropped, report.rows_read);
        }
    }
}

#[test]
fn none_among_words_is_a_state_unless_it_stands_among_numbers_elsewhere() {
    let words = "duct,flow\nNone,a\nMild,b\nNone,a\n";
    let (table, report) = parse(words).unwrap();
    assert_eq!(states(&table, "duct"), ["Mild", "None"]);
    assert_eq!(
        report.warnings,
        [
            "\"None\" stands in 2 cells of column duct and counts as a state; if it means that the value is missing, name it as a marker"
        ]
    );
    let numbers = "duct,n\nNone,1\nMild,2\nMild,None\nMild,1\n";
    let (table, report) = parse_table(numbers.as_bytes(), &drop_rows()).unwrap();
    assert_eq!(table.rows(), 2);
    assert_eq!(report.missing_cells(), 2);
}

#[test]
fn numbers_are_ordered_by_size_and_words_by_name() {
    let (table, _) = parse("n,w\n10,b\n9,a\n-1,b\n").unwrap();
    assert_eq!(states(&table, "n"), ["-1", "9", "10"]);
    assert_eq!(states(&table, "w"), ["a", "b"]);
    let node = table.schema().find("n").unwrap();
    assert_eq!(table.column(node), [2, 1, 0]);
}

#[test]
fn threads_do_not_change_a_table() {
    let mut text = String::from("a,b,c,d\n");
    for row in 0..60_000u32 {
        let quoted = if row % 977 == 0 { "\"x,\ny\"" } else { "plain" };
        text.push_str(&format!(
            "{},{quoted},{},id{row}\n",
            row % 7,
            row.wrapping_mul(2_654_435_761)
        ));
    }
    let load = |threads| {
        let bins = "c=quantile:4".parse().unwrap();
        let options = LoadOptions {
            threads,
            bins,
            ..LoadOptions::default()
        };
        parse_table(text.as_bytes(), &options).unwrap()
    };
    let one = load(1);
    assert_eq!(one.0.rows(), 60_000);
    assert_eq!(one.0.schema().names().collect::<Vec<_>>(), ["a", "b", "c"]);
    for threads in [2, 3, 8] {
        assert_eq!(load(threads), one, "{threads}");
    }
}
