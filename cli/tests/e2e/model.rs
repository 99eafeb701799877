//! Questions to a network with probabilities: loglik, query, predict, cv, fit --alpha auto.

use crate::{PROGRAM, rlbayes};
use rlbayes_tests::{data, network, write};
use std::fs;
use std::path::Path;
use std::process::Command;

fn sampled(folder: &Path, name: &str, rows: &str, seed: &str) -> String {
    let table = folder
        .join(format!("{name}_{seed}.csv"))
        .to_str()
        .unwrap()
        .to_owned();
    let truth = network(name);
    let truth = truth.to_str().unwrap();
    rlbayes([
        "sample", truth, "--rows", rows, "--seed", seed, "-o", &table,
    ])
    .ok();
    table
}

#[test]
fn rows_held_out_are_judged_by_the_networks_own_probabilities() {
    let folder = tempfile::tempdir().unwrap();
    let model = write(
        folder.path(),
        "model.bif",
        "network x {}\nvariable a { type discrete [2] { no, yes }; }\n\
        variable b { type discrete [2] { no, yes }; }\nprobability ( a ) { table 0.75, 0.25; }\n\
        probability ( b | a ) { (no) 0.5, 0.5; (yes) 1.0, 0.0; }\n",
    );
    let model = model.to_str().unwrap();
    let rows = write(
        folder.path(),
        "rows.csv",
        "b,a,other\nno,no,1\nyes,no,2\nno,yes,3\n",
    );
    let found = rlbayes(["loglik", rows.to_str().unwrap(), model, "--json"])
        .ok()
        .json();
    let expected = 2.0 * 0.375_f64.ln() + 0.25_f64.ln();
    assert!(
        (found["log_likelihood"].as_f64().unwrap() - expected).abs() < 1e-12,
        "{found}"
    );
    assert_eq!(found["impossible_rows"], 0);
    let by_row = rlbayes(["loglik", rows.to_str().unwrap(), model, "--by-row"]).ok();
    assert_eq!(by_row.stdout.lines().count(), 4, "{by_row:?}");
    assert!(
        by_row.stdout.starts_with("row,log_likelihood\n1,-0.98"),
        "{by_row:?}"
    );
    // The network excludes the second row.
    let zero = write(folder.path(), "zero.csv", "a,b\nno,no\nyes,yes\n");
    let ran = rlbayes(["loglik", zero.to_str().unwrap(), model]).ok();
    assert!(
        ran.stdout
            .contains("1 of 2 rows have the probability 0 (first: row 2, b = yes)"),
        "{ran:?}"
    );
    let json = rlbayes(["loglik", zero.to_str().unwrap(), model, "--json"])
        .ok()
        .json();
    assert!(
        json["log_likelihood"].is_null() && json["impossible_rows"] == 1,
        "{json}"
    );
    // A state that the network does not have is named with row and column.
    let odd = write(folder.path(), "odd.csv", "a,b\nno,no\nno,no\nmabye,no\n");
    let ran = rlbayes(["loglik", odd.to_str().unwrap(), model]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    for part in ["odd.csv", "row 4", "\"a\"", "\"mabye\"", "no, yes"] {
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
    let lacking = write(folder.path(), "lacking.csv", "a,c\nno,1\nyes,2\n");
    let ran = rlbayes(["loglik", lacking.to_str().unwrap(), model]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    // Nor can a structure be asked.
    let edges = write(folder.path(), "edges.csv", "from,to\na,b\n");
    let ran = rlbayes(["loglik", rows.to_str().unwrap(), edges.to_str().unwrap()]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("no probabilities"),
        "{ran:?}"
    );
    // `score` says that it counts anew.
    let ran = rlbayes(["score", rows.to_str().unwrap(), edges.to_str().unwrap()]).ok();
    assert!(ran.stdout.contains("`loglik` uses"), "{ran:?}");
}

#[test]
fn a_network_answers_questions() {
    let asia = network("asia");
    let asia = asia.to_str().unwrap();
    let query = |args: &[&str]| rlbayes(["query", asia, "--json"].iter().chain(args));
    let found = query(&["lung", "--evidence", "smoke=yes"]).ok().json();
    assert!(
        (found["posterior"]["lung"]["yes"].as_f64().unwrap() - 0.1).abs() < 1e-12,
        "{found}"
    );
    assert!((found["log_evidence"].as_f64().unwrap() - 0.5_f64.ln()).abs() < 1e-12);
    let shown = rlbayes(["query", asia, "--evidence", "smoke=yes", "lung"]).ok();
    assert_eq!(
        shown.stdout,
        "lung given smoke=yes\n  0.900000  no\n  0.100000  yes\n"
    );
    // either is the or of lung and tub.
    let impossible = query(&["asia", "--evidence", "lung=yes", "--evidence", "either=no"]);
    assert!(
        impossible.code == Some(2) && impossible.stderr.contains("probability 0"),
        "{impossible:?}"
    );
    for (args, part) in [
        (["nobody", "--evidence", "smoke=yes"], "\"nobody\""),
        (["lung", "--evidence", "smoke=often"], "no, yes"),
        (["lung", "--evidence", "smoke"], "NAME=STATE"),
    ] {
        let ran = query(&args);
        assert!(ran.code == Some(2) && ran.stderr.contains(part), "{ran:?}");
    }
}

#[test]
fn one_row_or_one_known_column_is_enough_where_the_network_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let asia = network("asia");
    let asia = asia.to_str().unwrap();
    let row = write(folder.path(), "row.csv", "smoke,bronc\nyes,no\n");
    let column = write(folder.path(), "column.csv", "smoke\nyes\nno\n");
    for (table, rows) in [(row, 1), (column, 2)] {
        let ran = rlbayes([
            "predict",
            table.to_str().unwrap(),
            asia,
            "--target",
            "lung",
            "--by-row",
        ]);
        let ran = ran.ok();
        assert_eq!(ran.stdout.lines().count(), 1 + rows, "{ran:?}");
        // There is no search that a column with one value could stay out of.
        assert_eq!(ran.stderr, "");
    }
    let drawn = sampled(folder.path(), "asia", "1", "1");
    let ran = rlbayes(["loglik", &drawn, asia]).ok();
    assert!(ran.stdout.contains("rows            1"), "{ran:?}");
    let gaps = write(folder.path(), "gaps.csv", "smoke,bronc\nyes,\nno,no\n");
    let gaps = gaps.to_str().unwrap();
    let flags = ["--target", "lung", "--missing", "drop-rows", "--by-row"];
    let ran = rlbayes([&["predict", gaps, asia][..], &flags].concat()).ok();
    assert_eq!(ran.stdout.lines().count(), 2, "{ran:?}");
    let none = write(folder.path(), "none.csv", "smoke,bronc\n");
    let ran = rlbayes(["loglik", none.to_str().unwrap(), asia]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("expected at least 1 row"),
        "{ran:?}"
    );
    // From one row nothing is learned.
    let ran = rlbayes(["learn", &drawn]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("expected at least 2 rows"),
        "{ran:?}"
    );
}

#[test]
fn a_state_that_the_network_excludes_is_named_where_it_makes_the_loss_infinite() {
    let folder = tempfile::tempdir().unwrap();
    let model = write(
        folder.path(),
        "model.bif",
        "network x {}\nvariable a { type discrete [2] { no, yes }; }\n\
        variable b { type discrete [2] { no, yes }; }\nprobability ( a ) { table 0.75, 0.25; }\n\
        probability ( b | a ) { (no) 0.5, 0.5; (yes) 1.0, 0.0; }\n",
    );
    let rows = write(folder.path(), "rows.csv", "a,b\nno,no\nyes,yes\nno,yes\n");
    let (rows, model) = (rows.to_str().unwrap(), model.to_str().unwrap());
    let sentence = "1 of 3 rows have a state of the probability 0 (first: row 2)";
    let ran = rlbayes(["predict", rows, model, "--target", "b"]).ok();
    assert!(ran.stdout.contains(sentence), "{ran:?}");
    let ran = rlbayes(["predict", rows, model, "--target", "b", "--by-row"]).ok();
    assert!(ran.stderr.contains(sentence), "{ran:?}");
    let rows = write(folder.path(), "possible.csv", "a,b\nno,no\nno,yes\n");
    let rows = rows.to_str().unwrap();
    let ran = rlbayes(["predict", rows, model, "--target", "b"]).ok();
    assert!(!ran.stdout.contains("probability 0"), "{ran:?}");
}

#[test]
fn a_column_is_predicted_from_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let rows = sampled(folder.path(), "asia", "200", "5");
    let asia = network("asia");
    let asia = asia.to_str().unwrap();
    let found = rlbayes(["predict", &rows, asia, "--target", "bronc", "--json"])
        .ok()
        .json();
    assert_eq!(found["rows"], 200);
    assert!(found["accuracy"].as_f64().unwrap() > 0.6, "{found}");
    let by_row = rlbayes(["predict", &rows, asia, "--target", "bronc", "--by-row"]).ok();
    assert!(
        by_row.stdout.starts_with("row,predicted,P(no),P(yes)\n1,"),
        "{by_row:?}"
    );
    assert_eq!(by_row.stdout.lines().count(), 201);
    // A table with a few of the columns will do: `query` gives the same.
    let few = write(folder.path(), "few.csv", "smoke,xray\nyes,no\nno,yes\n");
    let few = rlbayes([
        "predict",
        few.to_str().unwrap(),
        asia,
        "--target",
        "lung",
        "--by-row",
        "--json",
    ]);
    let few = few.ok().json();
    let query = [
        "query",
        asia,
        "lung",
        "--evidence",
        "smoke=yes",
        "--evidence",
        "xray=no",
        "--json",
    ];
    let asked = rlbayes(query).ok().json();
    let (found, wanted) = (&few["by_row"][0][1], &asked["posterior"]["lung"]["yes"]);
    assert!(
        (found.as_f64().unwrap() - wanted.as_f64().unwrap()).abs() < 1e-12,
        "{few} {asked}"
    );
    assert!(few["accuracy"].is_null());
    let ran = rlbayes(["predict", &rows, asia, "--target", "nobody"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("nobody"),
        "{ran:?}"
    );
}

#[test]
fn cross_validation_is_the_same_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let rows = sampled(folder.path(), "asia", "300", "8");
    let run = |threads: &str| {
        let args = [
            "cv",
            &rows,
            "--folds",
            "5",
            "--evaluations",
            "20000",
            "--json",
        ];
        let more = ["--threads", threads, "--try", "bic,aic,bdeu:10,loglik"];
        let all = args.iter().chain(&more);
        rlbayes(all).ok().json()
    };
    let one = run("1");
    assert_eq!(one, run("3"));
    let candidates = one["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 4);
    let figure = |at: usize, name: &str| candidates[at][name].as_f64().unwrap();
    // Log-likelihood alone joins everything, and fits new rows worse.
    assert!(figure(3, "edges") > figure(0, "edges"), "{one}");
    assert!(
        figure(3, "held_out_per_row") < figure(0, "held_out_per_row"),
        "{one}"
    );
    assert_ne!(one["winner"], "loglik");
    for (flags, part) in [
        (["--folds", "1"], "folds"),
        (["--folds", "301"], "folds"),
        (["--try", "best"], "--try best"),
        (["--alpha", "0"], "--alpha 0"),
    ] {
        let ran = rlbayes(["cv", &rows].iter().chain(&flags));
        assert!(ran.code == Some(2) && ran.stderr.contains(part), "{ran:?}");
    }
}

/// Whoever copies the last line gets the table as it was read, and the constraints.
#[test]
fn cross_validation_ends_with_a_command_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let rows = sampled(folder.path(), "asia", "200", "8");
    let text = fs::read_to_string(&rows).unwrap();
    let mut lines = text.lines();
    let mut spoilt = format!("{};age\n", lines.next().unwrap().replace(',', ";"));
    for (number, line) in lines.enumerate() {
        let age = if number == 7 {
            String::new()
        } else {
            format!("{number}.5")
        };
        spoilt += &format!("{};{age}\n", line.replace(',', ";"));
    }
    write(folder.path(), "my rows.csv", &spoilt);
    write(folder.path(), "tiers.csv", "smoke\nlung,bronc\n");
    let run = |script: String| {
        let ran = Command::new("sh")
            .args(["-c", &script])
            .current_dir(folder.path())
            .env("RLBAYES_MAX_PARENTS", "3")
            .output()
            .unwrap();
        assert!(ran.status.success(), "{script}: {ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    };
    let program = PROGRAM.path().display().to_string();
    let cv = format!(
        "'{program}' cv 'my rows.csv' --folds 2 --try bic*2 --evaluations 1000 --seed 5 \
         --missing drop-rows --bins age=quantile:3 --tiers tiers.csv"
    );
    let printed = run(cv);
    let command = printed.lines().last().unwrap();
    assert_eq!(
        command,
        "rlbayes learn 'my rows.csv' --score bic --penalty-scale 2 --bins age=quantile:3 \
         --missing drop-rows --tiers tiers.csv --max-parents 3"
    );
    let command = command.replacen("rlbayes", &format!("'{program}'"), 1);
    let report = run(format!("env -u RLBAYES_MAX_PARENTS {command}"));
    assert!(
        report.contains("my rows.csv: 199 rows, 9 variables"),
        "{report}"
    );
}

#[test]
fn alpha_is_chosen_by_rows_held_out() {
    let folder = tempfile::tempdir().unwrap();
    let table = data("asia_n1000_s1.csv.gz");
    let (table, asia) = (table.to_str().unwrap(), network("asia"));
    let out = folder.path().join("fitted.bif");
    let args = [
        "fit",
        table,
        asia.to_str().unwrap(),
        "--alpha",
        "auto",
        "-o",
    ];
    let ran = rlbayes(args.iter().copied().chain([out.to_str().unwrap()])).ok();
    assert!(ran.stderr.contains("note: alpha "), "{ran:?}");
    let judged = rlbayes(["loglik", table, out.to_str().unwrap(), "--json"])
        .ok()
        .json();
    assert_eq!(judged["impossible_rows"], 0);
}
