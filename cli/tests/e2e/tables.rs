//! Tables as people have them: each of `tests/tables/cases.json` is read as expected, or refused with
//! the expected sentence. `tests/tables/with_pandas.py` shows that pandas reads the same counts.

use crate::rlbayes;
use rlbayes_tests::data;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn cases() -> Vec<Value> {
    let text = fs::read_to_string(data("../tests/tables/cases.json")).unwrap();
    serde_json::from_str::<Value>(&text)
        .unwrap()
        .as_array()
        .unwrap()
        .clone()
}

/// The bytes of a case's file: packed or in another encoding as hex, else its text.
fn bytes(case: &Value) -> Vec<u8> {
    match case["hex"].as_str() {
        Some(hex) => (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect(),
        None => case["text"].as_str().unwrap().as_bytes().to_vec(),
    }
}

fn write_case(case: &Value, folder: &Path) -> PathBuf {
    let path = folder.join(case["name"].as_str().unwrap());
    fs::write(&path, bytes(case)).unwrap();
    path
}

fn arguments(command: &str, path: &Path, case: &Value, more: &[&str]) -> Vec<String> {
    let flags = case["flags"].as_array().unwrap();
    [command, path.to_str().unwrap()]
        .into_iter()
        .chain(flags.iter().map(|flag| flag.as_str().unwrap()))
        .chain(more.iter().copied())
        .map(str::to_owned)
        .collect()
}

/// The counts of each used column in the output of `check --json`.
fn counts(output: &Value) -> BTreeMap<String, BTreeMap<String, u64>> {
    let columns = output["columns"].as_array().unwrap().iter();
    columns
        .filter(|column| !column["counts"].is_null())
        .map(|column| {
            let counts = column["counts"].as_array().unwrap().iter();
            let counts = counts
                .map(|pair| {
                    (
                        pair[0].as_str().unwrap().to_owned(),
                        pair[1].as_u64().unwrap(),
                    )
                })
                .collect();
            (column["name"].as_str().unwrap().to_owned(), counts)
        })
        .collect()
}

#[test]
fn each_table_is_read_as_expected() {
    let folder = tempfile::tempdir().unwrap();
    let mut read = 0;
    for case in cases().iter().filter(|case| !case["expect"].is_null()) {
        let path = write_case(case, folder.path());
        let ran = rlbayes(arguments("check", &path, case, &["--json"]));
        assert_eq!(ran.code, Some(0), "{} {ran:?}", case["name"]);
        let output: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(
            output["problems"],
            serde_json::json!([]),
            "{}",
            case["name"]
        );
        let expected: BTreeMap<String, BTreeMap<String, u64>> =
            serde_json::from_value(case["expect"].clone()).unwrap();
        assert_eq!(counts(&output), expected, "{}", case["name"]);
        if let Some(warns) = case["warns"].as_str() {
            let warnings = output["warnings"].to_string();
            assert!(warnings.contains(warns), "{}: {warnings}", case["name"]);
        }
        read += 1;
    }
    assert!(read >= 45, "{read}");
}

#[test]
fn each_table_that_cannot_be_used_has_its_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let mut refused = 0;
    for case in cases().iter().filter(|case| !case["refused"].is_null()) {
        let path = write_case(case, folder.path());
        let ran = rlbayes(arguments("learn", &path, case, &["--time", "1s"]));
        assert_eq!(ran.code, Some(2), "{} {ran:?}", case["name"]);
        let sentence = case["refused"].as_str().unwrap();
        let last = ran.stderr.lines().last().unwrap();
        assert!(last.contains(sentence), "{}: {last}", case["name"]);
        refused += 1;
    }
    assert!(refused >= 13, "{refused}");
}

#[test]
fn check_tells_everything_at_once_and_refuses_nothing_that_it_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..60)
        .map(|i| {
            format!(
                "{i},{}.5,{},2024-01-{:02},{}\n",
                i * 37,
                i % 45,
                i % 28 + 1,
                i % 2
            )
        })
        .collect();
    let path = folder.path().join("survey.csv");
    fs::write(
        &path,
        format!("id,income,age,day,smoker\n{rows}9,9.5,unknown,2024-01-01,NA\n"),
    )
    .unwrap();
    let ran = rlbayes(&["check", path.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "tells rows apart",
        "refused, see below",
        "holds 61 different numbers",
        "also \"unknown\" 1x",
        "1 cell is missing",
        "--missing-marker TEXT",
        "5 are used",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
}

#[test]
fn a_schema_reads_other_tables_alike() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let rows: String = (0..200)
        .map(|i| {
            format!(
                "{i};{},5;{};{}\n",
                i * 7 % 100,
                ["low", "mid", "high"][i % 3],
                i % 2
            )
        })
        .collect();
    let train = write("train.csv", &format!("id;age;level;smoker\n{rows}"));
    let schema = folder.path().join("schema.toml");
    let schema = schema.to_str().unwrap();
    let flags = [
        "--decimal",
        ",",
        "--bins",
        "quantile:4",
        "--write-schema",
        schema,
    ];
    let ran = rlbayes(&[&["check", &train][..], &flags].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // Few rows, other values, one level only: the states are those of the first table.
    let test = write(
        "test.csv",
        "id;age;level;smoker\n1;-3,5;low;0\n2;1000;low;1\n3;20;low;1\n",
    );
    let check = |path: &str| {
        let ran = rlbayes(&["check", path, "--schema", schema, "--json"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        counts(&serde_json::from_str(&ran.stdout).unwrap())
    };
    let (first, second) = (check(&train), check(&test));
    for (name, counts) in &first {
        let states: Vec<&String> = counts.keys().collect();
        assert_eq!(states, second[name].keys().collect::<Vec<_>>(), "{name}");
    }
    let ages: Vec<u64> = second["age"].values().copied().collect();
    assert_eq!(ages, [2, 0, 0, 1]);
    let unknown = write(
        "unknown.csv",
        "id;age;level;smoker\n1;3;low;0\n2;10;medium;1\n",
    );
    let ran = rlbayes(&["learn", &unknown, "--schema", schema]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr
            .contains("row 3, column \"level\": state \"medium\""),
        "{ran:?}"
    );
}

#[test]
fn what_became_of_columns_is_in_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..80)
        .map(|i| format!("{},{},{}\n", i + 1, f64::from(i * 7 % 80) / 2.0, i % 2))
        .collect();
    let path = folder.path().join("t.csv");
    fs::write(&path, format!("id,height,smoker\n{rows}")).unwrap();
    let path = path.to_str().unwrap();
    let flags = [
        "--bins",
        "quantile:4",
        "--evaluations",
        "500",
        "--threads",
        "1",
        "--json",
    ];
    let ran = rlbayes([&["learn", path][..], &flags].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    let cuts = serde_json::json!({ "height": [9.5, 19.5, 29.5] });
    assert_eq!(result["binned"], cuts);
    assert_eq!(result["left_out"], serde_json::json!(["id"]));
    assert!(
        ran.stderr
            .contains("cut into 4 intervals at 9.5, 19.5, 29.5"),
        "{ran:?}"
    );
    // The network carries the cut points: new rows are cut alike.
    let net = folder.path().join("net.bif");
    let net = net.to_str().unwrap();
    let flags = [
        "--bins",
        "quantile:4",
        "--evaluations",
        "500",
        "--threads",
        "1",
        "-o",
        net,
    ];
    assert_eq!(
        rlbayes([&["learn", path][..], &flags].concat()).code,
        Some(0)
    );
    let new = folder.path().join("new.csv");
    fs::write(&new, "height,smoker\n-5,0\n9.6,1\n100,0\n").unwrap();
    let new = new.to_str().unwrap();
    let refitted = folder.path().join("refitted.json");
    let ran = rlbayes(["fit", new, net, "-o", refitted.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let fitted: Value = serde_json::from_slice(&fs::read(refitted).unwrap()).unwrap();
    assert_eq!(fitted["states"]["height"].as_array().unwrap().len(), 4);
    let ran = rlbayes(["loglik", new, net, "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // The two files are told apart if they are swapped.
    let ran = rlbayes(["score", net, new]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("swapped"), "{ran:?}");
}
