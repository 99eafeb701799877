//! A report of any table is bounded, and holds what it shows.

use super::*;
use crate::data::{Schema, Variable};
use crate::fit::fit;
use crate::graph::Dag;
use crate::io::viewer::NetworkView;
use crate::network::{NamedDag, NetworkFile};

/// A table of this many columns with names and states of this many letters, and a network where each
/// column depends on the two before it.
fn table_and_network(columns: usize, states: u8, letters: usize) -> (Table, Dag) {
    let long = "x".repeat(letters);
    let variables = (0..columns)
        .map(|at| {
            let states = (0..states)
                .map(|state| format!("{state:03}{long}"))
                .collect();
            Variable::new(format!("{at:05}{long}"), states).unwrap()
        })
        .collect();
    let rows = 60u8;
    let column = |at: usize| -> Vec<u8> {
        let shift = u8::try_from(at % 7).unwrap();
        (0..rows).map(|row| (row + shift) % states).collect()
    };
    let table = Table::new(
        Schema::new(variables).unwrap(),
        (0..columns).map(column).collect(),
    )
    .unwrap();
    let edges = (1..columns).flat_map(|to| (to.saturating_sub(2)..to).map(move |from| (from, to)));
    let node = |at: usize| NodeIdx::all(columns).nth(at).unwrap();
    let edges = edges.map(|(from, to)| (node(from), node(to)));
    let dag = Dag::from_edges(columns, edges).unwrap();
    (table, dag)
}

fn page(table: &Table, network: &NetworkFile, points: usize) -> String {
    let worths = vec![1.0; network.named_dag().dag().edge_count()];
    report_html(&Report {
        title: "<b>&",
        view: NetworkView {
            network,
            class: None,
            worths: Some(&worths),
            support: None,
        },
        table,
        facts: vec![("Rows", "60".to_owned())],
        warnings: vec!["</script>".to_owned(); 500],
        directions: "<i>",
        curve: vec![(0.0, -1.0); points],
        searched: (1.5, "1.5 s".to_owned()),
        command: Some("rlbayes learn 'a<b'"),
    })
}

/// Returns what a script element of the page holds.
fn held(page: &str, id: &str) -> serde_json::Value {
    let (_, rest) = page.split_once(&format!("id=\"{id}\">")).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn many_columns_states_and_long_names_stay_within_bounds() {
    // As many states as a column may have, and names that are longer than what is shown.
    let (table, dag) = table_and_network(300, 250, 900);
    let network = NetworkFile::Structure(NamedDag::of(table.schema(), dag));
    let shown = page(&table, &network, 100_000);
    assert!(shown.len() < 4 << 20, "{}", shown.len());
    let data = held(&shown, "report-data");
    assert_eq!(data["columns"].as_array().unwrap().len(), 300);
    assert_eq!(data["columns"][0]["states"].as_array().unwrap().len(), 12);
    assert_eq!(data["columns"][0]["more"], 238);
    let curve = data["curve"].as_array().unwrap().len();
    assert!((1000..=2001).contains(&curve), "{curve}");
    assert_eq!(
        held(&shown, "network-data")["nodes"]
            .as_array()
            .unwrap()
            .len(),
        300
    );
    assert!(shown.contains("<li>and 460 more</li>"));
    assert!(!shown.contains("<b>&") && !shown.contains("<li></script>"));
}

#[test]
fn probabilities_stay_within_bounds() {
    let (table, dag) = table_and_network(120, 20, 4);
    let network = NetworkFile::Parametrised(fit(&table, &dag, 1.0).unwrap());
    let shown = page(&table, &network, 2);
    assert!(shown.len() < 4 << 20, "{}", shown.len());
    let nodes = held(&shown, "network-data");
    let node = &nodes["nodes"][5];
    let rows = node["table"]["rows"].as_array().unwrap().len();
    assert_eq!(rows, 64);
    assert_eq!(node["table"]["more"], 400 - 64);
}

#[test]
fn a_network_that_is_too_large_to_draw_is_listed() {
    let (table, dag) = table_and_network(2001, 2, 0);
    let network = NetworkFile::Structure(NamedDag::of(table.schema(), dag));
    let shown = page(&table, &network, 2);
    assert!(held(&shown, "network-data").is_null());
    let data = held(&shown, "report-data");
    let why = data["not_drawn"].as_str().unwrap();
    assert!(why.starts_with("The network is not drawn: "), "{why}");
    assert_eq!(data["edges"].as_array().unwrap().len(), 3999);
    assert_eq!(data["columns"].as_array().unwrap().len(), 2000);
    assert_eq!(data["more_columns"], 1);
    assert!(shown.len() < 4 << 20, "{}", shown.len());
}

#[test]
fn hashes_are_those_of_the_standard() {
    assert_eq!(hash(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    assert_eq!(
        escaped("<a b='\"&\u{1}"),
        "&lt;a b=&#39;&quot;&amp;\u{fffd}"
    );
}
