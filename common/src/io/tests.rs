//! Round trips through every format, files from elsewhere, and garbage.

use super::test_networks::{bif_name, nasty_name, network, structure};
use super::*;
use crate::network::{NamedDag, NetworkFile};
use proptest::prelude::*;

fn write(format: Format, network: &NetworkFile) -> Result<Vec<u8>, WriteError> {
    write_network(format, network, &WriteOptions::default())
}

/// Writes and reads back.
fn round_trip(format: Format, network: &NetworkFile) -> NetworkFile {
    let bytes = write(format, network).unwrap();
    parse_network(Some(format), &bytes)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&bytes)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn edge_lists_hold_every_name(named in structure(nasty_name())) {
        let file = NetworkFile::Structure(named.clone());
        // Nodes without edges are not in it.
        let again = round_trip(Format::Csv, &file).named_dag();
        prop_assert!(again.named_edges().eq(named.named_edges()));
    }

    #[test]
    fn json_holds_every_name(named in structure(nasty_name())) {
        let file = NetworkFile::Structure(named);
        prop_assert_eq!(round_trip(Format::Json, &file), file);
    }

    #[test]
    fn formats_with_probabilities_hold_every_name_every_digit_and_the_provenance(
        network in network(nasty_name()),
        facts in prop::collection::btree_map("[a-z_]{1,8}", nasty_name(), 0..5),
        // BIF makes the name of the network from it.
        table in nasty_name(),
    ) {
        let mut provenance = Provenance::default();
        for (name, text) in &facts {
            provenance.add(name, text.as_str());
        }
        provenance.add("table", table.as_str());
        let class = crate::graph::Cpdag::of(network.dag());
        let file = NetworkFile::Parametrised(network);
        let options = WriteOptions {
            provenance: Some(&provenance),
            class: Some(&class),
            ..WriteOptions::default()
        };
        let folder = tempfile::tempdir().unwrap();
        for ending in ["bif", "xml", "json", "bif.gz"] {
            let path = folder.path().join(format!("network.{ending}"));
            let bytes = write_network(Format::from_path(&path).unwrap(), &file, &options).unwrap();
            std::fs::write(&path, &bytes).unwrap();
            let again = read_document(&path).map_err(|error| error.to_string());
            let again = again.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&bytes)));
            prop_assert_eq!(&again.network, &file);
            prop_assert_eq!(&again.provenance, &provenance);
        }
    }

    #[test]
    fn model_strings_hold_names_without_their_marks(named in structure(nasty_name())) {
        let special = |name: &String| name.contains(['[', ']', '|', ':']);
        let file = NetworkFile::Structure(named.clone());
        if let Some(name) = named.names().iter().find(|name| special(name)) {
            let error = write(Format::ModelString, &file).unwrap_err();
            let message = format!("{error}");
            let quoted = format!("{name:?}");
            prop_assert!(message.contains(&quoted), "{}", message);
        } else {
            prop_assert_eq!(round_trip(Format::ModelString, &file), file);
        }
    }

    #[test]
    fn xmlbif_holds_every_name_and_digit(network in network(nasty_name())) {
        let file = NetworkFile::Parametrised(network);
        prop_assert_eq!(round_trip(Format::XmlBif, &file), file);
    }

    #[test]
    fn bif_holds_plain_names_and_every_digit(network in network(bif_name())) {
        let file = NetworkFile::Parametrised(network);
        let strict = WriteOptions { strict_names: true, ..WriteOptions::default() };
        let bytes = write_network(Format::Bif, &file, &strict).unwrap();
        prop_assert_eq!(parse_network(Some(Format::Bif), &bytes).unwrap(), file);
    }

    #[test]
    fn portable_names_are_mapped_back(network in network(nasty_name())) {
        let file = NetworkFile::Parametrised(network);
        let bytes = write(Format::Bif, &file).unwrap();
        let again = parse_network(Some(Format::Bif), &bytes);
        prop_assert_eq!(again.map_err(|error| error.to_string()), Ok(file));
    }

    #[test]
    fn bif_refuses_a_name_or_holds_it(network in network(nasty_name())) {
        let file = NetworkFile::Parametrised(network);
        let strict = WriteOptions { strict_names: true, ..WriteOptions::default() };
        match write_network(Format::Bif, &file, &strict) {
            Ok(bytes) => {
                let again = parse_network(Some(Format::Bif), &bytes);
                prop_assert_eq!(again.map_err(|error| error.to_string()), Ok(file));
            }
            Err(error) => {
                let message = error.to_string();
                prop_assert!(message.contains("XMLBIF"), "{}", message);
            }
        }
    }

    #[test]
    fn pictures_and_graphs_are_well_formed(named in structure(nasty_name())) {
        let file = NetworkFile::Structure(named.clone());
        for format in [Format::GraphMl, Format::Svg] {
            let bytes = write(format, &file).unwrap();
            let text = String::from_utf8(bytes).unwrap();
            let mut reader = quick_xml::Reader::from_str(&text);
            while reader.read_event().unwrap() != quick_xml::events::Event::Eof {}
        }
        prop_assert!(write(Format::Dot, &file).is_ok());
    }

    #[test]
    fn garbage_is_an_error_and_never_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        words in prop::collection::vec(prop::sample::select(WORDS), 0..40),
    ) {
        let text = words.concat();
        for format in READABLE {
            let _ = parse_network(Some(format), &bytes);
            let _ = parse_network(Some(format), text.as_bytes());
        }
        let _ = parse_network(None, &bytes);
        let _ = parse_network(None, text.as_bytes());
    }

    #[test]
    fn a_damaged_file_never_panics(cut in 0usize..1074, with in any::<u8>()) {
        let mut bytes = ASIA.as_bytes().to_vec();
        let _ = parse_network(Some(Format::Bif), &bytes[..cut.min(bytes.len())]);
        if let Some(byte) = bytes.get_mut(cut) {
            *byte = with;
        }
        let _ = parse_network(Some(Format::Bif), &bytes);
    }
}

const READABLE: [Format; 6] = [
    Format::Bif,
    Format::XmlBif,
    Format::Json,
    Format::Csv,
    Format::Adjacency,
    Format::ModelString,
];

const WORDS: &[&str] = &[
    "network",
    " ",
    "\n",
    "variable",
    "x",
    "{",
    "}",
    "type",
    "discrete",
    "[",
    "2",
    "]",
    "yes",
    ",",
    "no",
    ";",
    "probability",
    "(",
    ")",
    "|",
    "table",
    "default",
    "0.5",
    "\"",
    "//",
    "/*",
    "*/",
    "<BIF>",
    "<NETWORK>",
    "</NETWORK>",
    "<VARIABLE>",
    "<NAME>",
    "</NAME>",
    "&#",
    "&amp;",
    "<!--",
    ":",
    "edges",
    "0",
    "1",
    "1e308",
    "-1",
    "NaN",
    "\u{feff}",
    "é",
    "[[[[",
    "{{{{",
];

const ASIA: &str = include_str!("fixtures/asia.bif");

#[test]
fn networks_from_elsewhere_are_read() {
    for (text, nodes, edges) in [
        (ASIA, 8, 8),
        (include_str!("fixtures/child.bif"), 20, 25),
        (include_str!("fixtures/sachs.bif"), 11, 17),
    ] {
        let file = parse_network(None, text.as_bytes()).unwrap();
        let named = file.named_dag();
        assert_eq!(
            (named.names().len(), named.dag().edge_count()),
            (nodes, edges)
        );
        assert_eq!(round_trip(Format::Bif, &file), file);
        assert_eq!(round_trip(Format::XmlBif, &file), file);
    }
}

#[test]
fn deep_nesting_is_an_error_and_not_a_stack_overflow() {
    let deep = |open: &str| open.repeat(100_000);
    for open in ["[", "{", "(", "<a>", "[{\"edges\":", "/*", "\"", "{\"a\":"] {
        for format in READABLE {
            // A line of brackets is a legal, if odd, name in an edge list.
            let result = parse_network(Some(format), deep(open).as_bytes());
            assert!(result.is_err() || format == Format::Csv, "{format} {open}");
        }
    }
}

#[test]
fn too_many_nodes_are_an_error() {
    let nodes = 20_000;
    let lines: String = (0..nodes).map(|at| format!("n{at}\n")).collect();
    let model: String = (0..nodes).map(|at| format!("[n{at}]")).collect();
    let names: Vec<String> = (0..nodes).map(|at| format!("\"n{at}\"")).collect();
    let json = format!("{{\"edges\":[],\"nodes\":[{}]}}", names.join(","));
    let bif: String = (0..nodes)
        .map(|at| format!("variable n{at} {{ type discrete [2] {{a, b}}; }}\n"))
        .collect();
    for (format, text) in [
        (Format::Csv, lines),
        (Format::ModelString, model),
        (Format::Json, json),
        (Format::Bif, bif),
    ] {
        let error = parse_network(Some(format), text.as_bytes()).unwrap_err();
        assert!(
            matches!(error, ReadError::TooManyNodes(_)),
            "{format}: {error}"
        );
    }
}

fn error(format: Format, text: &str) -> String {
    parse_network(Some(format), text.as_bytes())
        .unwrap_err()
        .to_string()
}

fn names_and_edges(format: Format, text: &str) -> (Vec<String>, Vec<(String, String)>) {
    let named: NamedDag = parse_network(Some(format), text.as_bytes())
        .unwrap()
        .named_dag();
    let edges = named
        .named_edges()
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .collect();
    (named.names().to_vec(), edges)
}

#[test]
fn edge_lists_may_have_a_header_quotes_and_lone_nodes() {
    let (names, edges) = names_and_edges(Format::Csv, "\u{feff}From,To\r\n\"a, b\",c\r\n\r\nd\r\n");
    assert_eq!(names, ["a, b", "c", "d"]);
    assert_eq!(edges, [("a, b".to_owned(), "c".to_owned())]);
}

#[test]
fn wrong_edge_lists_are_explained() {
    for (text, part) in [
        (
            "a,b\nc,d,e\n",
            "line 2: expected two names, from,to, or one, found \"c,d,e\"",
        ),
        ("a,b\n,c\n", "line 2: expected two names"),
        ("a,b\nb,c\nc,a\n", "the network has a cycle"),
        ("a,b\na,b\n", "is listed twice"),
        ("a,a\n", "leads from a node to itself"),
        ("", "the file holds no node"),
    ] {
        let message = error(Format::Csv, text);
        assert!(message.contains(part), "{text:?}: {message}");
    }
}

#[test]
fn adjacency_matrices_are_told_by_their_content() {
    let edge = vec![("b".to_owned(), "a".to_owned())];
    for text in [
        ",a,b\na,0,0\nb,1,0\n",
        "\"\",a,b\na,0,0\nb,1,0\n",
        "node,a,b\na,0,0\nb,1,0\n",
        "a,b\na,0,0\nb,1,0\n",
        "a,b\n0,0\n1,0\n",
    ] {
        assert_eq!(names_and_edges(Format::Csv, text).1, edge, "{text:?}");
    }
    let (names, _) = names_and_edges(Format::Csv, "a,b\nc,0\nd,1\n");
    assert_eq!(names, ["0", "1", "a", "b", "c", "d"]);
}

#[test]
fn wrong_adjacency_matrices_are_explained() {
    for (text, part) in [
        (",a,b\na,0,0\n", "expected a square matrix"),
        (
            ",a,b\na,0,2\nb,0,0\n",
            "line 2: expected 0 or 1, found \"2\"",
        ),
        (
            ",a,b\nb,0,1\na,0,0\n",
            "line 2: expected the row names in the order",
        ),
        (",a,b\na,0,1\nb,1,0\n", "the network has a cycle"),
        (
            ",a,b\na,0,1,1,1\nb,1,0\n",
            "line 2: expected a cell for each column",
        ),
        (",a,a\na,0,0\na,0,0\n", "appears twice"),
        (",a,\na,0,0\n,0,0\n", "expected a name"),
        ("", "no node"),
    ] {
        let message = error(Format::Adjacency, text);
        assert!(message.contains(part), "{text:?}: {message}");
    }
}

#[test]
fn wrong_model_strings_are_explained() {
    for (text, part) in [
        ("[a]\n[b|", "line 2: expected ']' after a node"),
        ("[a]b", "expected '[' before a node"),
        ("[a|]", "expected a parent after '|'"),
        ("[a|b:]", "expected [node] or [node|parent:parent]"),
        ("[a|b]", "names a node that is not in the network"),
        ("[a|b][b|a]", "cycle"),
        ("[a][a]", "appears twice"),
        ("[]", "expected [node]"),
        ("[a[b]]", "expected ']'"),
        (" ", "no node"),
    ] {
        let message = error(Format::ModelString, text);
        assert!(message.contains(part), "{text:?}: {message}");
    }
}

#[test]
fn wrong_json_is_explained() {
    for (text, part) in [
        ("{\n\"edges\": [}", "line 2: expected JSON"),
        ("[]", "an object with a list `edges`"),
        ("{\"edges\": 3}", "`edges` to be a list"),
        ("{\"edges\": [[\"a\"]]}", "a pair of names"),
        ("{\"edges\": [], \"nodes\": [1]}", "each node to be a name"),
        (
            "{\"edges\": [[\"a\",\"b\"]], \"nodes\": [\"a\"]}",
            "not in the network",
        ),
        ("{\"edges\": []}", "no node"),
    ] {
        let message = error(Format::Json, text);
        assert!(message.contains(part), "{text:?}: {message}");
    }
}

#[test]
fn xmlbif_calls_the_network_by_the_name_of_its_table() {
    let rest = "<DEFINITION><FOR>b</FOR><TABLE>0.5 0.5</TABLE></DEFINITION></NETWORK></BIF>";
    let network = parse_network(Some(Format::XmlBif), format!("{XML}{rest}").as_bytes()).unwrap();
    let written = |table: Option<&str>| {
        let mut provenance = Provenance::default();
        if let Some(table) = table {
            provenance.add("table", table);
        }
        let options = WriteOptions {
            provenance: Some(&provenance),
            ..WriteOptions::default()
        };
        let bytes = write_network(Format::XmlBif, &network, &options).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    for (table, name) in [
        (Some("survey <1> & more"), "survey &lt;1&gt; &amp; more"),
        (Some("\u{1}"), "unknown"),
        (Some(" "), "unknown"),
        (None, "unknown"),
    ] {
        let expected = format!("<NETWORK>\n<NAME>{name}</NAME>\n");
        assert!(written(table).contains(&expected), "{table:?}");
    }
}

const XML: &str = "<BIF><NETWORK><NAME>n</NAME>\n<VARIABLE><NAME>a</NAME><OUTCOME>y</OUTCOME>\
    <OUTCOME>n</OUTCOME></VARIABLE>\n<VARIABLE><NAME>b</NAME><OUTCOME>1</OUTCOME><OUTCOME>0\
    </OUTCOME></VARIABLE>\n<DEFINITION><FOR>a</FOR><TABLE>0.1 0.9</TABLE></DEFINITION>\n";

#[test]
fn xmlbif_tables_run_over_the_variable_fastest() {
    let text = format!(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE BIF [ <!ELEMENT BIF (NETWORK)> ]>\n{XML}<DEFINITION>\
         <FOR> b </FOR><GIVEN>a</GIVEN><TABLE>0.2 0.8 <!-- no --> 0.3 0.7</TABLE></DEFINITION>\
         </NETWORK></BIF>"
    );
    let NetworkFile::Parametrised(network) = parse_network(None, text.as_bytes()).unwrap() else {
        panic!("expected probabilities");
    };
    // In name order: a = n before y, b = 0 before 1.
    let b = network.schema().find("b").unwrap();
    assert_eq!(network.cpt(b).probabilities, [0.7, 0.3, 0.8, 0.2]);
}

#[test]
fn wrong_xmlbif_is_explained() {
    let with = |rest: &str| error(Format::XmlBif, &format!("{XML}{rest}</NETWORK></BIF>"));
    let b = |inner: &str| with(&format!("<DEFINITION><FOR>b</FOR>{inner}</DEFINITION>"));
    for (message, part) in [
        (
            with(""),
            "line 3: the variable \"b\" has no probability table",
        ),
        (b(""), "line 5: the variable \"b\" has no probability table"),
        (
            b("<TABLE>0.5</TABLE>"),
            "are 1 numbers where 2 were expected",
        ),
        (b("<TABLE>0.5 0.6</TABLE>"), "sum to 1.1"),
        (
            b("<TABLE>0.5 x</TABLE>"),
            "expected a probability, found \"x\"",
        ),
        (
            b("<GIVEN>c</GIVEN><TABLE>1 0</TABLE>"),
            "the parent \"c\" of \"b\" is not",
        ),
        (b("<GIVEN>b</GIVEN><TABLE>1 0 1 0</TABLE>"), "cycle"),
        (b("<FOR>a</FOR>"), "expected one FOR"),
        (b("<TABLE><b/></TABLE>"), "expected text only"),
        (
            with("<DEFINITION><TABLE>1 0</TABLE></DEFINITION>"),
            "expected a FOR element",
        ),
        (
            with("<VARIABLE><NAME>c</NAME></VARIABLE>"),
            "\"c\" has no states",
        ),
        (
            with("<VARIABLE><OUTCOME>c</OUTCOME></VARIABLE>"),
            "a variable has an empty name",
        ),
        (
            with("<VARIABLE><NAME>&nope;</NAME></VARIABLE>"),
            "expected a character reference",
        ),
        (with("<x></y>"), "expected well-formed XML"),
        (
            error(Format::XmlBif, XML),
            "expected the end of every element",
        ),
        (
            error(Format::XmlBif, "<svg/>"),
            "expected a NETWORK element",
        ),
        (error(Format::XmlBif, ""), "expected a NETWORK element"),
    ] {
        assert!(message.contains(part), "{message:?} lacks {part:?}");
    }
}
