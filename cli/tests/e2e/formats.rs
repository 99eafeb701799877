//! Network files: every ending is written, what can be read again is the same network, and names
//! survive whatever they hold.

use crate::rlbayes;
use rlbayes_common::io::{parse_network, read_document, read_network};
use rlbayes_common::network::NetworkFile;
use rlbayes_tests::{data, fixture, network, write};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// All endings that are written.
const ENDINGS: [&str; 12] = [
    "bif", "xml", "bifxml", "xmlbif", "dot", "json", "svg", "png", "pdf", "csv", "graphml", "txt",
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
    assert!(fs::read(path("png")).unwrap().starts_with(b"\x89PNG"));
    assert!(fs::read(path("pdf")).unwrap().starts_with(b"%PDF-"));
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
        "--strict-names".as_ref(),
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
    assert!(warned(&ran, "plain names"), "{ran:?}");
    assert!(text(&out).contains("// rlbayes:variable"), "{}", text(&out));
    assert_eq!(
        read_network(&out).unwrap().named_dag().names(),
        ["b", "größe"]
    );
    args.push("--strict-names");
    let ran = rlbayes(&args).ok();
    assert!(
        warned(&ran, "größe") && !warned(&ran, "plain names"),
        "{ran:?}"
    );
    assert!(text(&out).contains("variable größe {"), "{}", text(&out));
    // Names that only pgmpy refuses have others in the file too: case does not count there, and a
    // keyword counts wherever it stands.
    let table = "Age,age,timetable1\nyes,Yes,a\nYes,no,b\nno,yes,a\nyes,no,b\n";
    let table = write(folder.path(), "case.csv", table);
    let mut args = vec!["learn", table.to_str().unwrap(), "--iterations", "5"];
    args.extend(["-o", out.to_str().unwrap()]);
    let ran = rlbayes(&args).ok();
    assert!(
        warned(&ran, "and 3 more names: the file has plain names"),
        "{ran:?}"
    );
}

#[test]
fn files_say_where_a_network_comes_from_and_json_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let table = data("asia_n1000_s1.csv.gz");
    let (bif, json, xml) = (path("a.bif"), path("a.json"), path("a.xml"));
    let args = [
        "learn",
        table.to_str().unwrap(),
        "--threads",
        "1",
        "--iterations",
        "50",
    ];
    let more = [
        "--quiet", "--alpha", "1", "-o", &bif, "-o", &json, "-o", &xml,
    ];
    rlbayes(args.iter().chain(&more)).ok();
    let networks = [&bif, &json, &xml].map(|path| read_document(path).unwrap());
    assert!(
        networks
            .windows(2)
            .all(|pair| pair[0].network == pair[1].network)
    );
    for read in &networks {
        for (name, text) in [
            ("table", "asia_n1000_s1"),
            ("rows", "1000"),
            ("score_name", "bic"),
        ] {
            assert_eq!(read.provenance.get(name), Some(text));
        }
        assert_eq!(read.provenance.get("table_fingerprint").unwrap().len(), 64);
    }
    // How it was searched for is no part of what equal optima share.
    assert_eq!(
        networks.map(|read| read.provenance.get("seed").is_some()),
        [false, true, false]
    );
    // JSON with probabilities is as good as BIF.
    rlbayes(["sample", &json, "--rows", "10", "-o", &path("rows.csv")]).ok();
    rlbayes(["convert", &json, &path("b.bif")]).ok();
    let again = read_document(path("b.bif")).unwrap();
    assert!(again.provenance.get("seed").is_some());
    let refused = rlbayes(["fit", table.to_str().unwrap(), &json, "-o", &path("no.csv")]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    // Probabilities from another command say where they come from as well.
    let data = table.to_str().unwrap();
    let fitted = path("fitted.bif");
    rlbayes(["fit", data, &json, "--alpha", "2", "-o", &fitted]).ok();
    let about = read_document(&fitted).unwrap().provenance;
    assert_eq!(about.get("alpha"), Some("2"));
    assert_eq!(about.get("table"), Some("asia_n1000_s1"));
    assert_eq!(about.get("score"), None);
    let relearned = path("relearned.bif");
    rlbayes([
        "bootstrap",
        data,
        "--replicates",
        "2",
        "--quiet",
        "-o",
        &relearned,
    ])
    .ok();
    let about = read_document(&relearned).unwrap().provenance;
    assert_eq!(about.get("replicates"), Some("2"));
    let score = rlbayes(["score", data, &relearned]).ok();
    let written: f64 = about.get("score").unwrap().parse().unwrap();
    assert!(
        score.stdout.contains(&format!("{written:.3}")),
        "{written} {score:?}"
    );
}

#[test]
fn graphs_show_which_edges_may_point_either_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let chain = write(folder.path(), "chain.txt", "[a][b|a][c|b]");
    let chain = chain.to_str().unwrap();
    for (ending, dag, class) in [
        ("dot", "\"a\" -> \"b\";", "\"a\" -> \"b\" [dir=none];"),
        ("csv", "a,b,true\n", "a,b,false\n"),
        (
            "graphml",
            "target=\"n1\"/>",
            "target=\"n1\" directed=\"false\"/>",
        ),
    ] {
        let out = path(&format!("out.{ending}"));
        rlbayes(["convert", chain, &out]).ok();
        assert!(text(out.as_ref()).contains(dag), "{ending}");
        rlbayes(["convert", chain, &out, "--as", "cpdag"]).ok();
        assert!(text(out.as_ref()).contains(class), "{ending}");
    }
    let json = path("out.json");
    rlbayes(["convert", chain, &json, "--as", "cpdag"]).ok();
    assert!(text(json.as_ref()).contains("\"undirected\""));
    // What is only turned within the class is no difference.
    let turned = write(folder.path(), "turned.txt", "[c][b|c][a|b]");
    let ran = rlbayes(["compare", chain, turned.to_str().unwrap(), "--json"])
        .ok()
        .json();
    assert_eq!(ran["differences"].as_array().unwrap().len(), 0);
    let collider = write(folder.path(), "collider.txt", "[a][c][b|a:c]");
    let ran = rlbayes(["compare", chain, collider.to_str().unwrap()]).ok();
    assert!(
        ran.stdout.contains("-- | ->  a, b") && ran.stdout.contains("-- | <-  b, c"),
        "{ran:?}"
    );
    let other = write(folder.path(), "other.txt", "[x][y|x]");
    let refused = rlbayes(["compare", chain, other.to_str().unwrap()]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn constraints_are_read_as_we_and_as_r_write_edges() {
    let folder = tempfile::tempdir().unwrap();
    let table = data("asia_n1000_s1.csv.gz");
    let table = table.to_str().unwrap();
    let edges = folder.path().join("edges.csv");
    let fixed = ["--threads", "1", "--iterations", "50", "--quiet", "--json"];
    let args = ["learn", table, "-o", edges.to_str().unwrap()];
    let found = rlbayes(args.iter().chain(&fixed)).ok().json();
    let args = ["learn", table, "--required", edges.to_str().unwrap()];
    let required = rlbayes(args.iter().chain(&fixed)).ok().json();
    assert_eq!(found["edges"], required["edges"]);
    let r = "\"\",\"from\",\"to\"\n\"1\",\"asia\",\"smoke\"\n";
    let r = write(folder.path(), "r.csv", r);
    let args = ["learn", table, "--required", r.to_str().unwrap()];
    let required = rlbayes(args.iter().chain(&fixed)).ok().json();
    assert!(
        required["edges"]
            .to_string()
            .contains("[\"asia\",\"smoke\"]")
    );
}

#[test]
fn a_large_network_is_drawn_whole_and_a_huge_one_around_a_node_only() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("link.svg");
    let link = network("link");
    let (link, drawn) = (link.to_str().unwrap(), out.to_str().unwrap());
    let _ = rlbayes(["convert", link, drawn]).ok();
    let nodes = text(&out).matches("<rect").count();
    assert!(nodes >= 724, "{nodes}");
    let _ = rlbayes(["convert", link, drawn, "--around", "N59_d_g"]).ok();
    let picture = text(&out);
    assert!(picture.contains("N59_d_g") && picture.contains("<svg"));

    // A search on many columns is not begun for a picture that cannot be.
    let table = write(folder.path(), "wide.csv", crate::wide_table(2001));
    let mut args = vec!["learn", table.to_str().unwrap(), "--search", "hc"];
    let other = folder.path().join("edges.csv");
    let late = folder.path().join("wide.svg");
    args.extend(["--iterations", "20", "-o", late.to_str().unwrap()]);
    args.extend(["-o", other.to_str().unwrap()]);
    let ran = rlbayes(&args);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(!late.exists() && !other.exists());
    args.extend(["--around", "c20"]);
    rlbayes(args).ok();
    assert!(late.exists() && other.exists());
}

#[test]
fn letters_that_a_picture_cannot_show_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let net = write(folder.path(), "net.csv", "from,to\n年齢,Größe\n");
    for (ending, warns) in [("png", true), ("pdf", true), ("svg", false)] {
        let out = folder.path().join(format!("net.{ending}"));
        let ran = rlbayes(["convert", net.to_str().unwrap(), out.to_str().unwrap()]).ok();
        let told = ran
            .stderr
            .contains("have no glyph for '年' and 1 more letter ");
        assert_eq!(told, warns, "{ran:?}");
    }
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
