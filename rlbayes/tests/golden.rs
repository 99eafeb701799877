//! Results that must never change by accident: score, edges and counters of searches whose result
//! depends on the seed alone, as `learn --threads 1 --seed S --evaluations 2000000 --json` and
//! `--threads 2 --deterministic` have them since bursts concede (November 2026). A change of the search
//! on purpose makes them anew, and says what it brings in docs/research-notes.md.

#![expect(
    clippy::unwrap_used,
    reason = "tests and their helpers; equal scores have equal bits"
)]

use rlbayes::{Search, Table};
use rlbayes_common::graph::{Cpdag, Dag};
use serde_json::Value;
use std::path::Path;

fn check(table: &str, name: &str, set: impl Fn(Search<'static>) -> Search<'static>) {
    let golden: Value = serde_json::from_str(include_str!("golden/results.json")).unwrap();
    let expected = &golden[name];
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../data/{table}_n1000_s1.csv.gz"));
    let table = Table::read(path).unwrap();
    let found = set(Search::on(&table).evaluations(2_000_000))
        .run()
        .unwrap();
    let pinned: Vec<[String; 2]> = serde_json::from_value(expected["edges"].clone()).unwrap();
    let schema = table.data().schema();
    let node = |name: &str| schema.find(name).unwrap();
    let pinned = pinned.iter().map(|[from, to]| (node(from), node(to)));
    let member = Cpdag::of(&Dag::from_edges(schema.len(), pinned).unwrap()).first_member();
    let edges = found.edges();
    let edges = edges.iter().map(|(from, to)| (node(from), node(to)));
    assert_eq!(found.score().to_string(), expected["score"], "{name}");
    assert!(member.edges().eq(edges), "{name}");
    assert_eq!(
        found.evaluations(),
        expected["evaluations"].as_u64().unwrap(),
        "{name}"
    );
    assert_eq!(
        found.iterations(),
        expected["iterations"].as_u64().unwrap(),
        "{name}"
    );
}

fn check_all(table: &str) {
    for seed in 1..=3 {
        check(table, &format!("{table}_s{seed}"), |search| {
            search.threads(1).seed(seed)
        });
    }
    for threads in [2, 3] {
        check(table, &format!("{table}_lock"), |search| {
            search.threads(threads).deterministic()
        });
    }
}

#[test]
fn results_on_small_tables_are_what_they_were() {
    for table in ["asia", "sachs", "child"] {
        check_all(table);
    }
}

#[test]
fn results_on_larger_tables_are_what_they_were() {
    for table in ["insurance", "alarm", "andes"] {
        check_all(table);
    }
}
