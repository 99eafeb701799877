//! Network files: every ending is written, what can be read again is the same network, and names
//! survive whatever they hold.

use crate::rlbayes;
use rlbayes_common::io::{parse_network, read_network};
use rlbayes_common::network::NetworkFile;
use rlbayes_tests::{data, fixture, network, write};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// All endings that are written.
const ENDINGS: [&str; 10] = [
    "bif", "xml", "bifxml", "xmlbif", "dot", "json", "svg", "csv", "graphml", "txt",
];

/// Names of variables that are hard to hold.
const NASTY: [&str; 6] = [
    "blood pressure",
    "a,b",
    "say \"yes\"",
    "naïve ☂ Größe",
    "<x&y>",
    "it's; {done} | (so)",
];

fn edges(path: &Path) -> BTreeSet<(String, String)> {
    let named = read_network(path).unwrap().named_dag();
    named
        .named_edges()
        .map(|(from, to)| (from.to_owned(), to.to_owned()))
        .collect()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn learn_writes_every_format_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let table = data("asia_n1000_s1.csv.gz");
    let mut args = vec!["learn".to_owned(), table.to_str().unwrap().to_owned()];
    args.extend(["--iterations", "50", "--json", "--quiet"].map(str::to_owned));
    let path = |ending: &str| folder.path().join(format!("asia.{ending}"));
    for ending in ENDINGS.into_iter().chain(["csv.gz"]) {
        args.extend(["-o".to_owned(), path(ending).to_str().unwrap().to_owned()]);
    }
    let json = rlbayes(&args).ok().json();
    let name = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let wanted: BTreeSet<(String, String)> = json["edges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|edge| (name(&edge[0]), name(&edge[1])))
        .collect();
    for ending in [
        "bif", "xml", "bifxml", "xmlbif", "json", "csv", "txt", "csv.gz",
    ] {
        assert_eq!(edges(&path(ending)), wanted, "{ending}");
    }
    for (from, to) in &wanted {
        let dot = text(&path("dot"));
        assert!(dot.contains(&format!("\"{from}\" -> \"{to}\"")), "{dot}");
        let graphml = text(&path("graphml"));
        assert!(graphml.contains("<edge "), "{graphml}");
        assert!(text(&path("svg")).contains(from), "{from}");
    }
    let packed = fs::read(path("csv.gz")).unwrap();
    assert_eq!(packed[..2], [0x1f, 0x8b], "an ending .gz means gzip");
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, ENDINGS.len() + 1, "only the results are left");
}

#[test]
fn every_bundled_network_keeps_its_edges_through_all_formats() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["asia", "sachs", "child", "alarm", "hailfinder"] {
        let from = network(name);
        let wanted = edges(&from);
        let mut before = from.clone();
        for (at, ending) in ["xml", "bif", "bifxml", "json", "txt", "csv", "json"]
            .into_iter()
            .enumerate()
        {
            let after = folder.path().join(format!("{name}{at}.{ending}"));
            convert(&before, &after, &[]);
            assert_eq!(edges(&after), wanted, "{name} as {ending}");
            before = after;
        }
    }
}

#[test]
fn probabilities_survive_bif_and_xmlbif_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let xml = folder.path().join("net.xml");
    let back = folder.path().join("back.bif");
    for name in ["asia", "child", "alarm", "win95pts"] {
        convert(&network(name), &xml, &[]);
        convert(&xml, &back, &[]);
        let (first, last) = (read_network(network(name)), read_network(&back));
        assert_eq!(first.unwrap(), last.unwrap(), "{name}");
    }
}

#[test]
fn matrices_and_model_strings_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let wanted: BTreeSet<_> = [("a", "b"), ("a", "c")]
        .map(|(from, to)| (from.to_owned(), to.to_owned()))
        .into();
    for (name, content) in [
        ("matrix.csv", ",a,b,c\na,0,1,1\nb,0,0,0\nc,0,0,0\n"),
        ("model.txt", "[a][b|a][c|a]"),
        ("list.csv", "from,to\r\na,b\r\na,c\r\n"),
        ("plain.csv", "a,b\na,c\n"),
        ("own.json", "{\"edges\": [[\"a\", \"b\"], [\"a\", \"c\"]]}"),
    ] {
        let from = write(folder.path(), name, content);
        let to = folder.path().join("out.csv");
        convert(&from, &to, &[]);
        assert_eq!(edges(&to), wanted, "{name}");
    }
}

/// Learns a chain over the nasty names, and returns the flags that name its table.
fn nasty_table(folder: &Path) -> Vec<String> {
    let quoted: Vec<String> = NASTY
        .iter()
        .map(|name| format!("\"{}\"", name.replace('"', "\"\"")))
        .collect();
    let mut table = quoted.join(",") + "\n";
    for row in 0..60_u32 {
        let cells: Vec<&str> = (0..NASTY.len())
            .map(|column| match (row * 7 + row / 5) >> column & 1 {
                0 => "\"no, \"\"never\"\"\"",
                _ => "ja ✓ <&>",
            })
            .collect();
        table.push_str(&(cells.join(",") + "\n"));
    }
    let table = write(folder, "table.csv", table);
    let pairs: Vec<String> = quoted
        .windows(2)
        .map(|pair| pair.join(",") + "\n")
        .collect();
    let required = write(folder, "required.csv", pairs.concat());
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let mut args = vec!["learn".to_owned(), path(&table)];
    args.extend(["--required".to_owned(), path(&required)]);
    args.extend(["--iterations", "5", "--max-parents", "1"].map(str::to_owned));
    args
}

#[test]
fn names_with_spaces_commas_quotes_and_unicode_survive() {
    let folder = tempfile::tempdir().unwrap();
    let mut args = nasty_table(folder.path());
    let wanted: BTreeSet<(String, String)> = NASTY
        .windows(2)
        .map(|pair| (pair[0].to_owned(), pair[1].to_owned()))
        .collect();
    let path = |ending: &str| folder.path().join(format!("net.{ending}"));
    for ending in ["csv", "json", "xml", "dot", "svg", "graphml"] {
        args.extend(["-o".to_owned(), path(ending).to_str().unwrap().to_owned()]);
    }
    let _ = rlbayes(&args).ok();
    for ending in ["csv", "json", "xml"] {
        assert_eq!(edges(&path(ending)), wanted, "{ending}");
        // And once more through the other two.
        for other in ["csv", "json", "xml"] {
            if other == "xml" && ending != "xml" {
                continue;
            }
            let again = folder.path().join(format!("again.{other}"));
            convert(&path(ending), &again, &[]);
            assert_eq!(edges(&again), wanted, "{ending} to {other}");
        }
    }
    for name in NASTY {
        let dot = text(&path("dot"));
        assert!(dot.contains(&name.replace('"', "\\\"")), "{name}: {dot}");
        for ending in ["graphml", "xml", "svg"] {
            let xml = unescaped(&text(&path(ending)));
            assert!(xml.contains(name), "{name}: {xml}");
        }
    }

    // BIF can't hold them; portable names can be mapped back.
    let portable = folder.path().join("portable.bif");
    convert(&path("xml"), &portable, &["--portable-names"]);
    assert_eq!(edges(&portable), wanted);
    let plain: String = text(&portable)
        .lines()
        .filter(|line| !line.starts_with("//"))
        .collect();
    assert!(plain.is_ascii(), "{plain}");
    let (xml, bif) = (read_network(path("xml")), read_network(&portable));
    assert_eq!(xml.unwrap(), bif.unwrap());
    let refused = rlbayes([
        "convert".as_ref(),
        path("xml").as_os_str(),
        path("bif").as_os_str(),
    ]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("XMLBIF"), "{refused:?}");
    assert!(!path("bif").exists());
}

/// Resolves the entities of XML.
fn unescaped(xml: &str) -> String {
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&apos;", "'"),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(xml.to_owned(), |text, (entity, character)| {
        text.replace(entity, character)
    })
}

#[test]
fn names_that_others_refuse_are_warned_about() {
    let folder = tempfile::tempdir().unwrap();
    let table = "größe,b\n1,x\n2,y\n1,x\n2,y\n";
    let table = write(folder.path(), "table.csv", table);
    let out = folder.path().join("net.bif");
    let mut args = vec!["learn", table.to_str().unwrap(), "--iterations", "5"];
    args.extend(["-o", out.to_str().unwrap()]);
    let ran = rlbayes(&args).ok();
    let warned = |ran: &rlbayes_tests::Ran, name: &str| {
        let mut lines = ran.stderr.lines();
        lines.any(|line| line.starts_with("warning: ") && line.contains(name))
    };
    assert!(warned(&ran, "größe"), "{ran:?}");
    args.push("--portable-names");
    let ran = rlbayes(&args).ok();
    assert!(!warned(&ran, "größe"), "{ran:?}");
}

#[test]
fn a_large_network_is_drawn_around_a_node_only() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("link.svg");
    let link = network("link");
    let (link, drawn) = (link.to_str().unwrap(), out.to_str().unwrap());
    let ran = rlbayes(["convert", link, drawn]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("--around"), "{ran:?}");
    assert!(!out.exists());
    let _ = rlbayes(["convert", link, drawn, "--around", "N59_d_g"]).ok();
    let picture = text(&out);
    assert!(picture.contains("N59_d_g") && picture.contains("<svg"));

    // A search on many columns is not begun for a picture that cannot be.
    let table = data("andes_n1000_s1.csv.gz");
    let mut args = vec!["learn", table.to_str().unwrap(), "--search", "hc"];
    let other = folder.path().join("andes.csv");
    let late = folder.path().join("andes.svg");
    args.extend(["--iterations", "20", "-o", late.to_str().unwrap()]);
    args.extend(["-o", other.to_str().unwrap()]);
    let ran = rlbayes(&args);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(!late.exists() && !other.exists());
    args.extend(["--around", "SNode_20"]);
    rlbayes(args).ok();
    assert!(late.exists() && other.exists());
}

#[test]
fn sampling_and_fitting_give_the_probabilities_back() {
    let folder = tempfile::tempdir().unwrap();
    let truth = network("asia");
    let table = folder.path().join("sample.csv");
    let fitted = folder.path().join("fitted.bif");
    let (truth, table) = (truth.to_str().unwrap(), table.to_str().unwrap());
    let sample = |seed: &str| {
        let args = [
            "sample", truth, "--rows", "20000", "--seed", seed, "-o", table,
        ];
        let _ = rlbayes(args).ok();
        fs::read(table).unwrap()
    };
    let other = sample("4");
    let first = sample("3");
    assert_ne!(first, other);
    assert_eq!(first, sample("3"), "the same seed gives the same bytes");
    let _ = rlbayes(["fit", table, truth, "-o", fitted.to_str().unwrap()]).ok();
    let (NetworkFile::Parametrised(truth), NetworkFile::Parametrised(fitted)) =
        (read_network(truth).unwrap(), read_network(&fitted).unwrap())
    else {
        panic!("BIF holds probabilities");
    };
    assert_eq!(truth.named_dag(), fitted.named_dag());
    for node in rlbayes_common::ids::NodeIdx::all(truth.dag().nodes()) {
        let states = |network: &rlbayes_common::network::Network| {
            network.schema().variable(node).states().to_vec()
        };
        assert_eq!(states(&truth), states(&fitted));
        let (wanted, found) = (truth.cpt(node), fitted.cpt(node));
        assert_eq!(wanted.probabilities.len(), found.probabilities.len());
        for (wanted, found) in wanted.probabilities.iter().zip(&found.probabilities) {
            // The rarest configuration has about 20 rows.
            assert!((wanted - found).abs() < 0.2, "{wanted} {found}");
        }
    }
}

#[test]
fn smoothing_leaves_no_zero() {
    let folder = tempfile::tempdir().unwrap();
    let table = fixture("bad").join("unknown_state.csv");
    let net = write(folder.path(), "net.csv", "smoker,cough\n");
    let out = folder.path().join("net.json");
    let smallest = |alpha: &str| {
        let args = [
            "fit",
            table.to_str().unwrap(),
            net.to_str().unwrap(),
            "--alpha",
            alpha,
            "-o",
            out.to_str().unwrap(),
        ];
        let _ = rlbayes(args).ok();
        let json: serde_json::Value = serde_json::from_str(&text(&out)).unwrap();
        let rows = json["probabilities"]["cough"].as_array().unwrap();
        rows.iter()
            .flat_map(|row| row.as_array().unwrap())
            .map(|value| value.as_f64().unwrap())
            .fold(1.0, f64::min)
    };
    assert!(smallest("0") <= 0.0);
    assert!(smallest("1") > 0.0);
}

#[test]
fn a_file_that_cannot_be_written_does_not_keep_the_others_back() {
    let folder = tempfile::tempdir().unwrap();
    let table = data("alarm.csv");
    let header = fs::read_to_string(&table).unwrap();
    let header = header.lines().next().unwrap();
    let lines = header.split(',').filter(|&name| name != "HR");
    let required: String = lines.map(|name| format!("{name},HR\n")).collect();
    let required = write(folder.path(), "required.csv", required);
    let (bif, csv) = (folder.path().join("x.bif"), folder.path().join("x.csv"));
    let mut args = vec!["learn", table.to_str().unwrap(), "--json", "--quiet"];
    args.extend(["--search", "hc", "--iterations", "1"]);
    args.extend(["--required", required.to_str().unwrap()]);
    args.extend(["-o", bif.to_str().unwrap(), "-o", csv.to_str().unwrap()]);
    let ran = rlbayes(args);
    // A table of probabilities over 36 parents is beyond any file.
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.starts_with("error: ") && ran.stderr.contains("HR"),
        "{ran:?}"
    );
    assert!(!bif.exists());
    let found = ran.json()["edges"].as_array().unwrap().len();
    assert!(found >= 36);
    assert_eq!(edges(&csv).len(), found);
}

#[test]
fn gzipped_networks_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let packed = folder.path().join("asia.bif.gz");
    convert(&network("asia"), &packed, &[]);
    assert_eq!(fs::read(&packed).unwrap()[..2], [0x1f, 0x8b]);
    assert_eq!(edges(&packed), edges(&network("asia")));
    assert!(parse_network(None, &fs::read(&packed).unwrap()).is_ok());
}

fn convert(from: &Path, to: &Path, flags: &[&str]) {
    let mut args = vec!["convert", from.to_str().unwrap(), to.to_str().unwrap()];
    args.extend(flags);
    let _ = rlbayes(args).ok();
}
