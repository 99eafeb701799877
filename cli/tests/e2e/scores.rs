//! Scores are those of bnlearn: in the engine for every reference value, through the command line
//! for a few.

use crate::rlbayes;
use rlbayes_common::data::{LoadOptions, load_table};
use rlbayes_common::graph::Dag;
use rlbayes_common::score::{LocalScore, ScoreName, ScoreSpec, Scorer, Scratch};
use rlbayes_tests::{data, fixture, write};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

/// How far a score may be from the reference, relative to it.
const TOLERANCE: f64 = 1e-6;

/// A network on a table with the scores that bnlearn gives it.
struct Entry {
    table: String,
    network: String,
    edges: Vec<(String, String)>,
    scores: BTreeMap<String, f64>,
}

/// The scores of bnlearn by their names in the file, with our name and equivalent sample size.
const SCORES: [(&str, ScoreName, f64); 6] = [
    ("loglik", ScoreName::LogLik, 1.0),
    ("aic", ScoreName::Aic, 1.0),
    ("bic", ScoreName::Bic, 1.0),
    ("bdeu_ess1", ScoreName::Bdeu, 1.0),
    ("bdeu_ess10", ScoreName::Bdeu, 10.0),
    ("k2", ScoreName::K2, 1.0),
];

#[test]
fn every_reference_score_of_bnlearn_is_ours() {
    let entries = entries();
    assert!(entries.len() >= 10, "only {} entries", entries.len());
    let mut tables = BTreeMap::new();
    let mut compared = 0;
    for entry in &entries {
        let table = tables.entry(&entry.table).or_insert_with(|| {
            let (table, _) = load_table(&data(&entry.table), &LoadOptions::default()).unwrap();
            Arc::new(table)
        });
        let schema = table.schema();
        let mut dag = Dag::empty(schema.len());
        for (from, to) in &entry.edges {
            let (from, to) = (schema.find(from).unwrap(), schema.find(to).unwrap());
            dag.add_edge(from, to).unwrap();
        }
        for (key, name, ess) in SCORES {
            let Some(&wanted) = entry.scores.get(key) else {
                continue;
            };
            let spec = ScoreSpec::new(name, ess, 1.0).unwrap();
            let found = Scorer::new(Arc::clone(table), spec)
                .structure(&dag, &mut Scratch::default())
                .value();
            assert_close(found, wanted, &format!("{key} of {}", shown(entry)));
            compared += 1;
        }
    }
    assert_eq!(compared, entries.len() * SCORES.len());
}

#[test]
fn the_command_gives_the_same_scores_and_its_parts_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let entries = entries();
    let small = ["asia_n1000_s1.csv.gz", "alarm_n1000_s1.csv.gz"];
    for table in small {
        let entry = entries.iter().find(|entry| entry.table == table).unwrap();
        let lines: Vec<String> = entry
            .edges
            .iter()
            .map(|(from, to)| format!("{from},{to}\n"))
            .collect();
        let network = write(folder.path(), "edges.csv", lines.concat());
        for (key, name, ess) in SCORES {
            let (table, network) = (data(table), network.to_str().unwrap());
            let (name, ess) = (name.as_str(), ess.to_string());
            let flags = [network, "--score", name, "--ess", &ess, "--json"];
            let mut args = vec!["score", table.to_str().unwrap()];
            args.extend(flags);
            let json = rlbayes(args).ok().json();
            let found = json["score"].as_f64().unwrap();
            assert_close(
                found,
                entry.scores[key],
                &format!("{key} of {}", shown(entry)),
            );
            let parts = json["by_node"].as_object().unwrap().values();
            let sum: f64 = parts.map(|part| part.as_f64().unwrap()).sum();
            assert!((sum - found).abs() <= 1e-9 * found.abs(), "{sum} {found}");
        }
    }
}

fn assert_close(found: f64, wanted: f64, what: &str) {
    let off = (found - wanted).abs() / wanted.abs();
    assert!(off <= TOLERANCE, "{what}: {found}, bnlearn has {wanted}");
}

fn shown(entry: &Entry) -> String {
    format!("{} on {}", entry.network, entry.table)
}

fn entries() -> Vec<Entry> {
    let text = fs::read_to_string(fixture("scores.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let text_of = |value: &Value| value.as_str().unwrap().to_owned();
    let listed = file["entries"].as_array().unwrap();
    listed
        .iter()
        .map(|entry| Entry {
            table: text_of(&entry["table"]),
            network: text_of(&entry["network"]),
            edges: entry["edges"]
                .as_array()
                .unwrap()
                .iter()
                .map(|edge| (text_of(&edge[0]), text_of(&edge[1])))
                .collect(),
            scores: entry["scores"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, value)| (key.clone(), value.as_f64().unwrap()))
                .collect(),
        })
        .collect()
}
