//! What the viewer gets, and that it is bounded and cannot leave its script element.

use super::*;
use crate::io::{Format, parse_network};

fn child() -> NetworkFile {
    parse_network(Some(Format::Bif), include_bytes!("../fixtures/child.bif")).unwrap()
}

fn shown(network: &NetworkFile) -> Value {
    let view = NetworkView {
        network,
        class: None,
        worths: None,
        support: None,
    };
    serde_json::from_str(&network_json(&view).unwrap()).unwrap()
}

#[test]
fn nodes_have_places_states_and_tables() {
    let network = child();
    let data = shown(&network);
    let nodes = data["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 20);
    assert_eq!(data["edges"].as_array().unwrap().len(), 25);
    let disease = nodes.iter().find(|node| node["name"] == "Disease").unwrap();
    assert_eq!(disease["states"].as_array().unwrap().len(), 6);
    let row = disease["table"]["rows"][0].as_array().unwrap();
    let sum: f64 = row.iter().map(|p| p.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-3);
    assert_eq!(disease["table"]["more"], 0);
    let edge = &data["edges"][0];
    assert_eq!(edge["directed"], true);
    assert!(edge["path"].as_str().unwrap().starts_with('M'));
    assert!(edge.get("worth").is_none() && edge.get("support").is_none());
}

#[test]
fn a_class_and_worths_reach_the_edges() {
    let network = parse_network(None, b"[a][b|a][c|a:b]").unwrap();
    let class = Cpdag::of(network.named_dag().dag());
    let view = NetworkView {
        network: &network,
        class: Some(&class),
        worths: Some(&[1.23456, 2.0, 3.0]),
        support: None,
    };
    let data = network_value(&view).unwrap();
    assert_eq!(data["edges"][0]["directed"], false);
    assert_eq!(data["edges"][0]["worth"], 1.235);
    assert!(data["nodes"][0].get("table").is_none());
}

#[test]
fn no_name_leaves_the_script_element() {
    let nasty = [
        "</script><script>alert(1)</script>",
        "a\u{2028}b&<!--",
        "\"'",
    ];
    let network = NetworkFile::Structure(
        crate::network::NamedDag::new(
            nasty.map(str::to_owned).to_vec(),
            vec![(nasty[0], nasty[1])],
        )
        .unwrap(),
    );
    let view = NetworkView {
        network: &network,
        class: None,
        worths: None,
        support: None,
    };
    let text = network_json(&view).unwrap();
    assert!(!text.contains(['<', '>', '&', '\u{2028}']));
    let data = shown(&network);
    let names = data["nodes"].as_array().unwrap();
    assert!(
        nasty
            .iter()
            .all(|name| names.iter().any(|node| node["name"] == *name))
    );
}

#[test]
fn the_script_makes_no_markup_from_text() {
    // The name of SVG's namespace is no address that is fetched.
    let script = SCRIPT.replace("\"http://www.w3.org/2000/svg\"", "");
    for forbidden in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "eval(",
        "document.write",
        "http://",
        "https://",
        ".style",
    ] {
        assert!(!script.contains(forbidden), "{forbidden}");
    }
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
}
