//! What the BIF reader takes, what it refuses, and what the writer refuses.

use super::read::read as read_all;
use super::write::write as write_with;
use crate::data::{Schema, Variable};
use crate::graph::Dag;
use crate::ids::NodeIdx;
use crate::io::error::{ReadError, WriteError};
use crate::network::{Cpt, Network};

const STRICT: bool = true;

const PAIR: &str = "network unknown {}\nvariable a { type discrete [ 2 ] { yes, no }; }\n\
    variable b { type discrete [ 3 ] { x, y, z }; }\nprobability ( a ) { table 0.1, 0.9; }\n";

fn read(text: &str) -> Result<Network, ReadError> {
    read_all(text).map(|(network, _)| network)
}

/// Writes without provenance; `strict` keeps the names.
fn write(network: &Network, strict: bool) -> Result<String, WriteError> {
    write_with(network, strict, None)
}

fn error(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn odd_but_clear_files_are_read() {
    let text = "\u{feff}// first\r\nnetwork /* what */ \"my net\" {\r\n property a = (1, 2) ;\r\n}\r\n\
        variable \"hot tea\" { // tail\r\n property x; type discrete[3]{<5,,12+ \">= 7.5\"}; }\r\n\
        variable cup{type discrete [2] { Asy/Patch,//odd\r\n no };}\r\n\
        probability(\"hot tea\"){table 0.1 0.2,0.7;}\r\n\
        probability ( cup | \"hot tea\" ) {\r\n  default 0.5 , 0.5 ;\r\n (\">= 7.5\") 1e-1,\t.9;\r\n}\r\n";
    let network = read(text.trim_start_matches('\u{feff}')).unwrap();
    let tea = network.schema().find("hot tea").unwrap();
    let cup = network.schema().find("cup").unwrap();
    assert_eq!(
        network.schema().variable(tea).states(),
        ["12+", "<5", ">= 7.5"]
    );
    assert_eq!(network.cpt(tea).probabilities, [0.2, 0.1, 0.7]);
    assert_eq!(network.schema().variable(cup).states(), ["Asy/Patch", "no"]);
    assert_eq!(
        network.cpt(cup).probabilities,
        [0.5, 0.5, 0.5, 0.5, 0.1, 0.9]
    );
}

#[test]
fn full_tables_run_over_the_variable_slowest() {
    let text = format!("{PAIR}probability ( b | a ) {{ table 0.1, 0.2, 0.3, 0.3, 0.6, 0.5; }}");
    let network = read(&text).unwrap();
    let b = network.schema().find("b").unwrap();
    // States of a in name order: no, yes.
    assert_eq!(network.cpt(b).probabilities, [0.2, 0.3, 0.5, 0.1, 0.3, 0.6]);
}

#[test]
fn headers_may_lack_bar_and_commas() {
    let text = format!("{PAIR}probability ( b a ) {{ (yes) 0 0 1; (no) 1 0 0; }}");
    let network = read(&text).unwrap();
    assert_eq!(
        network.named_dag().named_edges().collect::<Vec<_>>(),
        [("a", "b")]
    );
}

#[test]
fn wrong_files_are_explained() {
    let with = |rest: &str| error(&format!("{PAIR}{rest}"));
    for (message, part) in [
        (
            with(""),
            "line 3: the variable \"b\" has no probability table",
        ),
        (
            with("probability ( b | a ) { (yes) 0, 0, 1; }"),
            "line 5: the variable \"b\" has no row for its parents' states (no)",
        ),
        (
            with("probability ( b ) { table 0.1, 0.2, 0.3; }"),
            "line 5: the probabilities of \"b\" given () sum to 0.6",
        ),
        (
            with("probability ( b ) {\n table 0.1, 0.9; }"),
            "line 6: the probabilities of \"b\" are 2 numbers where 3 were expected",
        ),
        (
            with("probability ( b | c ) { }"),
            "the parent \"c\" of \"b\" is not a declared variable",
        ),
        (with("probability ( b | b ) { default 0,0,1; }"), "cycle"),
        (
            with("probability ( c ) { table 1; }"),
            "is for \"c\", which is not a declared variable",
        ),
        (
            with("probability ( a ) { table 1, 0; }"),
            "\"a\" has a second probability table",
        ),
        (
            with("probability ( b ) { }"),
            "\"b\" has no probability table",
        ),
        (
            with("probability ( b | a, a ) { }"),
            "the parent \"a\" of \"b\" is listed twice",
        ),
        (
            with("probability ( b | a ) { (maybe) 0,0,1; }"),
            "\"maybe\", which is not a state",
        ),
        (
            with("probability ( b | a ) { (yes, no) 0,0,1; }"),
            "names 2 parent states where 1",
        ),
        (
            with("probability ( b | a ) { (yes) 0,0,1; (no) 0,0,1; (no) 0,0,1; }"),
            "a second row for its parents' states (no)",
        ),
        (
            with("probability ( b ) { table 0.1, x; }"),
            "expected a probability or ';', found \"x\"",
        ),
        (
            with("probability ( b ) { table 2, -1, 0; }"),
            "numbers from 0 to 1",
        ),
        (
            with("variable a { type discrete [1] { s }; }"),
            "\"a\" appears twice",
        ),
        (with("variable c { }"), "\"c\" has no states"),
        (
            with("variable c { type discrete [0] { }; }"),
            "\"c\" has no states",
        ),
        (
            with("variable c { type discrete [3] { s, t }; }"),
            "declares 3 states but lists 2",
        ),
        (
            with("variable c { type discrete [2] { s, s }; }"),
            "the state \"s\" twice",
        ),
        (with("variable c { type continuous; }"), "expected discrete"),
        (
            with("nonsense"),
            "line 5: expected a network, variable or probability block",
        ),
        (with("variable \"c"), "expected a closing quote"),
        (with("/* never ends"), "expected the end of the comment"),
        (
            with("probability ( b ) { table 0.1"),
            "expected a probability or ';'",
        ),
        (error(""), "the file holds no node"),
        (
            error(
                "variable a { type discrete [1] { s }; } variable b { type discrete [1] { s }; }\n\
                 probability ( a | b ) { (s) 1; }\nprobability ( b | a ) { (s) 1; }",
            ),
            "line 3: the network has a cycle: the edge \"a\" -> \"b\" closes it",
        ),
        (
            with("// rlbayes:variable x\n"),
            "line 5: expected a comment",
        ),
    ] {
        assert!(message.contains(part), "{message:?} lacks {part:?}");
    }
}

#[test]
fn tables_beyond_the_limit_are_refused_before_they_are_made() {
    let states: Vec<String> = (0..256).map(|at| format!("s{at}")).collect();
    let mut text = String::new();
    for name in ["a", "b", "c", "d"] {
        text += &format!(
            "variable {name} {{ type discrete [256] {{ {} }}; }}\n",
            states.join(",")
        );
    }
    text += "probability ( a | b, c, d ) { default 1; }";
    assert!(error(&text).contains("the probability table of \"a\" is too large"));
}

fn one(name: &str, state: &str) -> Network {
    let variable = Variable::new(name, vec![state.to_owned(), "other".to_owned()]).unwrap();
    let schema = Schema::new(vec![variable]).unwrap();
    Network::new(
        schema,
        Dag::empty(1),
        vec![Cpt {
            probabilities: vec![0.25, 0.75],
        }],
    )
    .unwrap()
}

#[test]
fn the_writer_refuses_what_bif_cannot_hold() {
    for name in [
        "a b", "a,b", "a{", "(a", "a|b", "a;", "a\"", "[a", "a//b", "a/*", "\u{a0}", "a\nb",
    ] {
        let message = write(&one(name, "s"), STRICT).unwrap_err().to_string();
        assert!(
            message.contains(&format!("{name:?}")) && message.contains("XMLBIF"),
            "{message}"
        );
        let message = write(&one("v", name), STRICT).unwrap_err().to_string();
        assert!(
            message.contains("the state") && message.contains("\"v\""),
            "{message}"
        );
        let portable = write(&one(name, name), !STRICT).unwrap();
        assert_eq!(read(&portable).unwrap(), one(name, name));
    }
    assert!(write(&one("v", ""), STRICT).is_err());
    assert!(write(&one("default-5", "s"), STRICT).is_err());
}

#[test]
fn numbers_are_short_and_exact() {
    let mut network = one("v", "s");
    let probabilities = vec![1e-300, 1.0];
    network = Network::new(
        network.schema().clone(),
        network.dag().clone(),
        vec![Cpt {
            probabilities: probabilities.clone(),
        }],
    )
    .unwrap();
    let text = write(&network, STRICT).unwrap();
    assert!(
        text.contains("table 1.0, 1e-300;") || text.contains("table 1e-300, 1.0;"),
        "{text}"
    );
    assert_eq!(
        read(&text).unwrap().cpt(NodeIdx::new(0)).probabilities,
        probabilities
    );
}
