//! Nothing that people have is overwritten by accident: an output that is an input by any of its
//! names is refused before the work, and not one byte changes.

use crate::rlbayes;
use rlbayes_tests::{data, network, write};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A folder with one file for each role, and other names for some.
struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        let files = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let at = |name: &str| files.at(name);
        fs::copy(data("asia_n1000_s1.csv.gz"), at("packed.csv.gz")).unwrap();
        let rows = "asia,tub\nno,no\nyes,no\nno,yes\nyes,yes\nno,no\n";
        write(files.folder.path(), "survey.csv", rows);
        fs::hard_link(at("survey.csv"), at("hard.csv")).unwrap();
        symlink("survey.csv", at("soft.csv")).unwrap();
        fs::copy(network("asia"), at("net.bif")).unwrap();
        fs::hard_link(at("net.bif"), at("net.json")).unwrap();
        write(files.folder.path(), "edges.csv", "from,to\nasia,tub\n");
        write(files.folder.path(), "none.csv", "from,to\n");
        write(files.folder.path(), "tiers.csv", "asia\ntub\n");
        write(
            files.folder.path(),
            "schema.toml",
            "asia = [\"no\", \"yes\"]\n",
        );
        symlink("schema.toml", at("schema.json")).unwrap();
        files
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns what is where: bytes, and where links lead.
    fn content(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                let link = fs::read_link(&path).map(|to| to.into_os_string().into_encoded_bytes());
                let bytes = link.or_else(|_| fs::read(&path)).unwrap_or_default();
                (path, bytes)
            })
            .collect()
    }

    /// Runs a command in the folder, which must be refused without a change; returns its sentence.
    fn refused(&self, line: &str) -> String {
        let before = self.content();
        let args = line.split_whitespace().map(|word| self.argument(word));
        let ran = rlbayes(args);
        assert_eq!(ran.code, Some(2), "{line}: {ran:?}");
        assert_eq!(ran.stdout, "", "{line}: {ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{line}: {ran:?}");
        assert!(self.content() == before, "{line}: something has changed");
        let folder = format!("{}/", self.folder.path().display());
        ran.stderr.trim().replace(&folder, "")
    }

    /// Words with a dot are files here.
    fn argument(&self, word: &str) -> String {
        match word.contains('.') {
            true => self.at(word).to_str().unwrap().to_owned(),
            false => word.to_owned(),
        }
    }
}

#[test]
fn an_output_that_is_an_input_is_refused_with_both_roles() {
    let files = Files::new();
    for (line, expected) in [
        (
            "learn survey.csv -o survey.csv",
            "survey.csv: is the table; name another file for the result",
        ),
        (
            "learn survey.csv -o hard.csv",
            "hard.csv: is the table; name another file for the result",
        ),
        (
            "learn survey.csv -o soft.csv",
            "soft.csv: is the table; name another file for the result",
        ),
        (
            "learn soft.csv -o hard.csv -o x.svg",
            "hard.csv: is the table; name another file for the result",
        ),
        (
            "learn survey.csv --required edges.csv -o edges.csv",
            "edges.csv: is the list of required edges; name another file for the result",
        ),
        (
            "learn survey.csv --forbidden none.csv -o none.csv",
            "none.csv: is the list of forbidden edges; name another file for the result",
        ),
        (
            "learn survey.csv --tiers tiers.csv -o tiers.csv",
            "tiers.csv: is the list of tiers; name another file for the result",
        ),
        (
            "learn survey.csv --start net.bif -o net.json",
            "net.json: is the start network; name another file for the result",
        ),
        (
            "learn survey.csv --truth net.bif -o net.bif",
            "net.bif: is the true network; name another file for the result",
        ),
        (
            "learn survey.csv --schema schema.toml -o schema.json",
            "schema.json: is the schema; name another file for the result",
        ),
        (
            "learn survey.csv -o x.bif -o x.bif",
            "x.bif: is named twice for the result; once is enough",
        ),
        (
            "fit survey.csv net.bif -o net.json",
            "net.json: is the network; name another file for the result",
        ),
        (
            "fit survey.csv net.bif -o survey.csv",
            "survey.csv: is the table; name another file for the result",
        ),
        (
            "convert edges.csv edges.csv",
            "edges.csv: is the network to read; name another file for the one to write",
        ),
        (
            "sample net.bif --rows 5 -o net.bif",
            "net.bif: is the network; name another file for the rows",
        ),
        (
            "prove survey.csv net.bif -o net.json",
            "net.json: is the network; name another file for the result",
        ),
        (
            "prove survey.csv --certificate hard.csv",
            "hard.csv: is the table; name another file for the certificate",
        ),
        (
            "prove survey.csv -o x.json --certificate x.json",
            "x.json: is named for the result and for the certificate; name another file for one of \
             them",
        ),
        (
            "coordinator --data survey.csv --state st.d --address-file soft.csv",
            "soft.csv: is the table; name another file for the address",
        ),
    ] {
        assert_eq!(files.refused(line), format!("error: {expected}"), "{line}");
    }
}

#[test]
fn what_cannot_hold_the_result_is_refused_before_the_work() {
    let files = Files::new();
    for (line, expected) in [
        ("fit survey.csv edges.csv -o f.csv", "no probabilities"),
        ("fit survey.csv edges.csv -o f.svg", "no probabilities"),
        ("sample net.bif --rows 5 -o s.parquet", "sample writes CSV"),
        ("sample net.bif --rows 5 -o s.json", "sample writes CSV"),
        (
            "learn survey.csv -o nodir/x.bif",
            "there is no folder nodir",
        ),
        (
            "sample net.bif --rows 5 -o nodir/x.csv",
            "there is no folder nodir",
        ),
        (
            "prove survey.csv --certificate nodir/x.proof",
            "there is no folder",
        ),
        ("learn survey.csv --state edges.csv", "expected a folder"),
        (
            "coordinator --data survey.csv --state edges.csv",
            "expected a folder",
        ),
        (
            "worker --coordinator http://x:1 --state edges.csv",
            "expected a folder",
        ),
        ("certs edges.csv", "expected a folder"),
        (
            "coordinator --data survey.csv --state st.d --out edges.csv",
            "expected a folder",
        ),
        (
            "coordinator --data survey.csv --state st.d --address-file nodir/a.txt",
            "there is no folder nodir",
        ),
        ("learn survey.csv -o - --json", "standard output"),
        ("learn survey.csv -o - -o -", "standard output"),
    ] {
        let sentence = files.refused(line);
        assert!(sentence.contains(expected), "{line}: {sentence}");
        for word in ["os error", ".rlbayes-"] {
            assert!(!sentence.contains(word), "{line}: {sentence}");
        }
    }
}

#[test]
fn certificates_of_ones_own_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let key = write(folder.path(), "server.key", "mine");
    let ran = rlbayes(["certs", folder.path().to_str().unwrap()]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("server.key"), "{ran:?}");
    assert_eq!(fs::read(key).unwrap(), b"mine");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_picture_that_cannot_be_drawn_is_refused_before_the_search() {
    let folder = tempfile::tempdir().unwrap();
    let table = write(folder.path(), "wide.csv", crate::wide_table(2001));
    let picture = folder.path().join("wide.svg");
    let args = |picture: &Path| {
        let paths = [&table, picture].map(|path| path.to_str().unwrap().to_owned());
        [
            "learn".to_owned(),
            paths[0].clone(),
            "-o".to_owned(),
            paths[1].clone(),
        ]
    };
    let ran = rlbayes(args(&picture));
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("--around"), "{ran:?}");
    assert_eq!(ran.stderr.matches("wide.svg").count(), 1, "{ran:?}");
    assert!(!picture.exists());
}

#[test]
fn a_dash_is_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let asia = data("asia_n1000_s1.csv.gz");
    let (asia, net) = (asia.to_str().unwrap(), network("asia"));
    let net = net.to_str().unwrap();
    let budget = ["--evaluations", "2000", "--threads", "1"];
    let printed = |args: &[&str]| rlbayes(args).ok().stdout;
    let learned = printed(&[&["learn", asia, "-o", "-"], &budget[..]].concat());
    assert!(learned.starts_with("network "), "{learned}");
    assert!(
        learned.ends_with("}\n"),
        "nothing else is printed: {learned}"
    );
    let quiet = ["--quiet", "--format", "CSV"];
    let edges = printed(&[&["learn", asia, "-o", "-"], &budget[..], &quiet].concat());
    assert!(edges.starts_with("from,to,directed\n"), "{edges}");
    let fitted = printed(&["fit", asia, net, "-o", "-", "--format", "xml"]);
    assert!(fitted.starts_with("<?xml"), "{fitted}");
    let converted = printed(&["convert", net, "-", "--format", "txt"]);
    assert!(converted.starts_with("[asia]"), "{converted}");
    assert!(printed(&["convert", net, "-"]).starts_with("network "));
    let edges = write(folder.path(), "edges.csv", "from,to,directed\na,b,true\n");
    let converted = printed(&["convert", edges.to_str().unwrap(), "-"]);
    assert!(
        converted.starts_with("from,to,directed\na,b,true\n"),
        "{converted}"
    );
    let rows = printed(&["sample", net, "--rows", "3", "-o", "-"]);
    assert_eq!(rows.lines().count(), 4, "{rows}");
    let report = rlbayes(["prove", asia, net, "-o", "-", "--time", "5s"]).ok();
    assert!(report.stdout.starts_with("network "), "{report:?}");
    assert!(report.stderr.contains("score"), "{report:?}");
    // A name without an ending, and a packed table.
    let plain = folder.path().join("plain");
    let plain = plain.to_str().unwrap();
    rlbayes(["convert", net, plain, "--format", "bif"]).ok();
    assert!(fs::read_to_string(plain).unwrap().starts_with("network "));
    let packed = folder.path().join("rows.csv.gz");
    rlbayes(["sample", net, "--rows", "9", "-o", packed.to_str().unwrap()]).ok();
    assert!(fs::read(&packed).unwrap().starts_with(&[0x1f, 0x8b]));
    rlbayes(["check", packed.to_str().unwrap()]).ok();
}
