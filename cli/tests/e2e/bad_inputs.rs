//! Bad flags and bad files: exit code 2, one sentence that says what and where, nothing on stdout,
//! no panic, and no file left behind.

use crate::{PROGRAM, rlbayes};
use rlbayes_common::data::{LoadOptions, parse_table};
use rlbayes_common::ids::Seed;
use rlbayes_common::io::{Format, parse_network};
use rlbayes_common::random::Random;
use rlbayes_tests::prerequisites::{has_command, is_root};
use rlbayes_tests::{Ran, Running, data, fixture, fixtures_in, network, write};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Checks that a command was refused as it should be, and returns its sentence.
fn sentence(ran: &Ran) -> String {
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(ran.stdout, "", "{ran:?}");
    let (warnings, rest): (Vec<&str>, Vec<&str>) = ran
        .stderr
        .lines()
        .partition(|line| line.starts_with("warning: "));
    assert!(warnings.len() <= 3, "{ran:?}");
    let [line] = rest.as_slice() else {
        panic!("expected one sentence: {}", ran.stderr);
    };
    assert!(line.starts_with("error: "), "{line}");
    assert!(line.len() < 600, "{} bytes: {:.600}", line.len(), line);
    assert!(
        !line.contains("panicked") && !line.contains("bug in rlbayes"),
        "{line}"
    );
    (*line).to_owned()
}

/// Runs a command that must be refused, and returns its sentence. `OUT` in an argument stands for
/// a folder that must stay empty.
fn refused(args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let args: Vec<String> = args.iter().map(|arg| arg.replace("OUT", out)).collect();
    let sentence = sentence(&rlbayes(&args));
    assert_empty(folder.path());
    sentence
}

fn assert_empty(folder: &Path) {
    let left: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// Asserts that a sentence names all of these.
fn names(sentence: &str, wanted: &[&str]) {
    for name in wanted {
        assert!(sentence.contains(name), "\"{name}\" is not in: {sentence}");
    }
}

fn asia() -> String {
    data("asia_n1000_s1.csv.gz").to_str().unwrap().to_owned()
}

#[test]
fn every_bad_table_is_refused_by_every_command_that_reads_one() {
    let asia = network("asia");
    let net = asia.to_str().unwrap();
    let mut seen = 0;
    for path in fixtures_in("bad") {
        let file = path.file_name().unwrap().to_str().unwrap();
        if file.ends_with(".toml") || file == "unknown_state.csv" {
            continue;
        }
        let table = path.to_str().unwrap();
        let learn = vec![
            "learn",
            table,
            "-o",
            "OUT/out.bif",
            "-o",
            "OUT/out.csv",
            "--json",
        ];
        let mut commands = vec![learn];
        // One row is too few to learn from, and enough where the network is known.
        if file != "one_row.csv" {
            commands.push(vec!["score", table, net, "--json"]);
            commands.push(vec!["fit", table, net, "-o", "OUT/out.bif"]);
        }
        for args in commands {
            names(&refused(&args), &[file]);
        }
        seen += 1;
    }
    assert!(seen >= 20, "only {seen} bad tables");
}

#[test]
fn the_place_of_a_bad_cell_is_named() {
    for (file, wanted) in [
        ("ragged.csv", ["row 17", "5 cells"]),
        ("duplicate_header.csv", ["\"age\"", "columns 1 and 3"]),
        ("missing.csv", ["row 3", "\"cough\""]),
        ("many_numbers.csv", ["\"age\"", "--bins quantile:K"]),
        ("truncated.csv.gz", ["gzip", "truncated"]),
        ("one_row.csv", ["1 row", "at least 2"]),
    ] {
        let path = fixture("bad").join(file);
        let args = ["learn", path.to_str().unwrap(), "-o", "OUT/out.bif"];
        names(&refused(&args), &wanted);
    }
}

#[test]
fn a_table_that_does_not_fit_its_schema_is_refused() {
    let bad = fixture("bad");
    let table = bad.join("unknown_state.csv");
    for (schema, wanted) in [
        ("unknown_state.toml", vec!["row 17", "\"smoker\"", "mabye"]),
        ("absent_variable.toml", vec!["asthma"]),
        ("not_an_array.toml", vec!["smoker", "array"]),
        ("none.toml", vec!["none.toml", "no such file"]),
        ("binary.csv", vec!["binary.csv"]),
    ] {
        let schema = bad.join(schema);
        let (table, schema) = (table.to_str().unwrap(), schema.to_str().unwrap());
        let args = ["learn", table, "--schema", schema, "-o", "OUT/out.bif"];
        names(&refused(&args), &wanted);
    }
}

#[test]
fn a_cell_of_a_million_characters_is_refused_and_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(1_000_000);
    for (name, text) in [
        ("cell.csv", format!("a,b\n1,2\n2,{long}\n")),
        ("quoted.csv", format!("a,b\n1,2\n2,\"{long}\"\n")),
        ("header.csv", format!("a,{long}\n1,2\n2,1\n")),
        ("line.csv", long.clone()),
        ("commas.csv", ",".repeat(1_000_000)),
    ] {
        let path = write(folder.path(), name, text);
        let args = ["learn", path.to_str().unwrap(), "-o", "OUT/out.bif"];
        names(&refused(&args), &[name]);
    }
    let lists = write(folder.path(), "list.csv", format!("smoke,{long}\n"));
    let lists = lists.to_str().unwrap();
    for flag in ["--required", "--forbidden", "--tiers", "--start", "--truth"] {
        refused(&["learn", &asia(), flag, lists, "-o", "OUT/out.bif"]);
    }
    for (name, text) in [
        ("net.bif", "variable "),
        ("net.xml", "<"),
        ("net.json", "{\"edges\":\""),
    ] {
        let path = write(folder.path(), name, format!("{text}{long}"));
        refused(&["score", &asia(), path.to_str().unwrap()]);
        refused(&["convert", path.to_str().unwrap(), "OUT/net.csv"]);
    }
}

#[test]
fn damaged_files_are_read_or_refused_but_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(Seed(77));
    let mut sources: Vec<(Option<Format>, Vec<u8>)> = Vec::new();
    for ending in ["bif", "xml", "json", "csv", "txt"] {
        let path = folder.path().join(format!("asia.{ending}"));
        let args = [
            "convert",
            network("asia").to_str().unwrap(),
            path.to_str().unwrap(),
        ]
        .map(str::to_owned);
        let _ = rlbayes(args).ok();
        let format = Format::from_path(&path).unwrap();
        sources.push((Some(format), fs::read(&path).unwrap()));
    }
    sources.push((None, fs::read(network("asia")).unwrap()));
    sources.push((
        Some(Format::Csv),
        b",a,b,c\na,0,1,1\nb,0,0,0\nc,0,0,0\n".to_vec(),
    ));
    let table = b"a,b,\"c d\"\n1,x,\"u\"\n2,y,v\n1,\"x\",u\n3,z,\"q\"\"q\"\n".to_vec();
    let mut refusals = 0;
    for round in 0..6000 {
        let (format, bytes) = &sources[round % sources.len()];
        let damaged = damaged(bytes, &mut random);
        refusals += usize::from(parse_network(*format, &damaged).is_err());
        let damaged = self::damaged(&table, &mut random);
        let parsed = parse_table(damaged.as_slice(), &LoadOptions::default());
        refusals += usize::from(parsed.is_err());
    }
    assert!(refusals > 1000, "only {refusals} refusals");
}

/// Changes, repeats, moves or cuts a few places.
fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    const MARKS: &[u8] = b"\"',;:|{}()[]<>&/*-#\n\r\t \0\xff\xc3 0e.9";
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        let end = at + random.below(bytes.len() - at).min(40);
        match random.below(6) {
            0 => bytes[at] = MARKS[random.below(MARKS.len())],
            1 => bytes.insert(at, MARKS[random.below(MARKS.len())]),
            2 => bytes[at] ^= 1 << random.below(8),
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..end)),
            _ => {
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
        }
    }
    bytes
}

#[test]
fn names_with_line_breaks_do_not_break_the_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let table = write(folder.path(), "t.csv", "\"a\nb\",\"a\nb\"\n1,2\n2,1\n");
    refused(&["check", table.to_str().unwrap()]);
    refused(&["learn", "no\nfile.csv"]);
    refused(&["learn", &asia(), "--score", "b\n\nic"]);
}

#[test]
fn contradictory_constraints_are_refused_and_the_pair_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = write(folder.path(), name, text);
        path.to_str().unwrap().to_owned()
    };
    let cycle = file("cycle.csv", "smoke,lung\nlung,xray\nxray,smoke\n");
    let both = file("both.csv", "smoke,lung\n");
    let tiers = file("tiers.csv", "lung,xray\nsmoke\n");
    let twice = file("twice.csv", "lung,xray\nsmoke,lung\n");
    let selfish = file("self.csv", "lung,lung\n");
    let unknown = file("unknown.csv", "smoke,lung\n# and\nsmoke,gout\n");
    let unknown_tier = file("tier.csv", "smoke\n\nlung,gout\n");
    let three = file("three.csv", "smoke,lung,xray\n");
    let parents = file("parents.csv", "smoke,lung\nasia,lung\ntub,lung\n");
    let reverse = file("reverse.csv", "lung,smoke\n");
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["--required", &cycle],
            &["cycle.csv", "line 3", "cycle", "xray -> smoke"],
        ),
        (
            &["--required", &both, "--forbidden", &both],
            &["smoke -> lung", "required and forbidden"],
        ),
        (
            &["--required", &both, "--tiers", &tiers],
            &["smoke -> lung", "tier"],
        ),
        (
            &["--tiers", &twice],
            &["twice.csv", "line 2", "\"lung\"", "twice"],
        ),
        (
            &["--required", &selfish],
            &["self.csv", "line 1", "lung -> lung"],
        ),
        (
            &["--forbidden", &selfish],
            &["self.csv", "line 1", "lung -> lung"],
        ),
        (
            &["--required", &unknown],
            &["unknown.csv", "line 3", "\"gout\"", "required"],
        ),
        (
            &["--forbidden", &unknown],
            &["unknown.csv", "line 3", "\"gout\"", "forbidden"],
        ),
        (
            &["--tiers", &unknown_tier],
            &["tier.csv", "line 3", "\"gout\"", "tiers"],
        ),
        (&["--required", &three], &["three.csv", "line 1", "3"]),
        (
            &["--required", &parents, "--max-parents", "2"],
            &["\"lung\"", "3", "2"],
        ),
        (
            &["--required", &both, "--start", &reverse],
            &["smoke -> lung", "start network"],
        ),
        (
            &["--forbidden", &both, "--start", &both],
            &["smoke -> lung", "start network"],
        ),
        (
            &["--tiers", &tiers, "--start", &both],
            &["smoke -> lung", "start network"],
        ),
        (
            &["--max-parents", "2", "--start", &parents],
            &["\"lung\"", "start network"],
        ),
        (&["--required", "no/such.csv"], &["no/such.csv"]),
        (&["--tiers", "/"], &["/"]),
    ];
    let asia = asia();
    for (flags, wanted) in cases {
        for search in ["rlbayes", "paper", "hc", "tabu"] {
            let mut args = vec!["learn", &asia, "--search", search, "-o", "OUT/out.bif"];
            args.extend(flags.iter());
            names(&refused(&args), wanted);
        }
    }
}

#[test]
fn bad_networks_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read_to_string(network("asia")).unwrap();
    let at = whole.find("probability ( dysp").unwrap();
    let end = at + whole[at..].find('}').unwrap() + 1;
    let without_table = format!("{}{}", &whole[..at], &whole[end..]);
    let mut cyclic = String::new();
    for (from, to) in [("smoke", "lung"), ("lung", "xray"), ("xray", "smoke")] {
        writeln!(cyclic, "{from},{to}").unwrap();
    }
    let asia = asia();
    for (name, text, wanted) in [
        ("missing_cpt.bif", without_table.as_bytes(), "dysp"),
        (
            "truncated.bif",
            &whole.as_bytes()[..whole.len() / 2],
            "line",
        ),
        ("cyclic.csv", cyclic.as_bytes(), "cycl"),
        ("cyclic.txt", b"[smoke|lung][lung|smoke]", "cycl"),
        (
            "cyclic.json",
            b"{\"edges\":[[\"smoke\",\"lung\"],[\"lung\",\"smoke\"]]}",
            "cycl",
        ),
        ("binary.bif", b"\x00\x01\x02\xff\xfe", "binary.bif"),
        ("empty.bif", b"", "empty.bif"),
        ("empty.json", b"", "empty.json"),
        ("empty.xml", b"", "empty.xml"),
        ("open.xml", b"<BIF><NETWORK><VARIABLE>", "open.xml"),
        ("list.json", b"[1, 2]", "edges"),
        ("gzip.bif.gz", b"\x1f\x8b\x08\x00\x00\x00", "gzip.bif.gz"),
        ("picture.svg", b"<svg/>", "written but not read"),
        ("what.docx", b"PK\x03\x04", "a zip archive"),
    ] {
        let path = write(folder.path(), name, text);
        let net = path.to_str().unwrap();
        for args in [
            vec!["learn", &asia, "--start", net, "-o", "OUT/out.bif"],
            vec!["learn", &asia, "--truth", net, "-o", "OUT/out.bif"],
            vec!["score", &asia, net, "--json"],
            vec!["fit", &asia, net, "-o", "OUT/out.bif"],
            vec!["sample", net, "--rows", "10", "-o", "OUT/out.csv"],
            vec!["convert", net, "OUT/out.csv"],
            vec!["compare", net, net, "--json"],
        ] {
            names(&refused(&args), &[name, wanted]);
        }
    }
}

#[test]
fn networks_over_other_variables_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let other = write(folder.path(), "other.csv", "smoke,gout\n");
    let other = other.to_str().unwrap();
    let asia = asia();
    for args in [
        ["learn", &asia, "--truth", other],
        ["learn", &asia, "--start", other],
        ["score", &asia, other, "--json"],
    ] {
        names(&refused(&args), &["\"gout\"", "other.csv"]);
    }
    names(
        &refused(&["fit", &asia, other, "-o", "OUT/x.bif"]),
        &["\"gout\""],
    );
    let around = ["learn", &asia, "--around", "gout", "-o", "OUT/x.svg"];
    names(&refused(&around), &["gout"]);
    let net = network("asia");
    let around = [
        "convert",
        net.to_str().unwrap(),
        "OUT/x.svg",
        "--around",
        "gout",
    ];
    names(&refused(&around), &["gout"]);
}

#[test]
fn a_structure_without_probabilities_can_be_neither_sampled_nor_written_as_bif() {
    let folder = tempfile::tempdir().unwrap();
    let edges = write(folder.path(), "edges.csv", "a,b\n");
    let edges = edges.to_str().unwrap();
    refused(&["sample", edges, "--rows", "5", "-o", "OUT/x.csv"]);
    names(&refused(&["convert", edges, "OUT/x.bif"]), &["fit"]);
    names(&refused(&["convert", edges, "OUT/x.xml"]), &["fit"]);
}

#[test]
fn bad_flags_are_refused_in_one_sentence() {
    let asia = asia();
    let net = network("asia");
    let net = net.to_str().unwrap();
    for (flags, wanted) in [
        (vec!["--bogus"], "--bogus"),
        (vec!["--sede", "3"], "--seed"),
        (vec!["--theta", "2"], "theta"),
        (vec!["--theta", "NaN"], "theta"),
        (vec!["--search", "paper", "--epsilon", "7"], "epsilon"),
        (vec!["--temperature=-1"], "temperature"),
        (vec!["--temperature", "inf"], "temperature"),
        (vec!["--region", "5"], "region"),
        (vec!["--table-rows", "0"], "0 rows"),
        (vec!["--time", "x"], "--time"),
        (vec!["--time=-5s"], "--time"),
        (vec!["--time", "1e999s"], "--time"),
        (vec!["--iterations", "many"], "--iterations"),
        (vec!["--evaluations", "1.5"], "--evaluations"),
        (vec!["--target", "NaN"], "--target"),
        (vec!["--target", "good"], "--target"),
        (vec!["--stagnation", "never"], "--stagnation"),
        (vec!["--seed", "99999999999999999999999"], "--seed"),
        (vec!["--bins", "width:1"], "--bins"),
        (vec!["--bins", "quantile:x"], "--bins"),
        (vec!["--bins", "round"], "--bins"),
        (vec!["--missing", "ignore"], "--missing"),
        (vec!["--score", "good"], "bdeu"),
        (vec!["--score", "bdeu", "--ess", "0"], "sample size"),
        (vec!["--score", "bdeu", "--ess", "NaN"], "sample size"),
        (vec!["--penalty-scale=-1"], "penalty"),
        (vec!["--search", "best"], "rlbayes, paper, hc, tabu"),
        (vec!["--threads", "0"], "--threads"),
        (vec!["--chains", "0"], "--chains"),
        (vec!["--memory", "lots"], "--memory"),
        (vec!["--memory", "1MiB"], "--memory"),
        (vec!["--memory", "64MiB", "--chains", "100000"], "--memory"),
        (vec!["--alpha=-1"], "alpha"),
        (vec!["--alpha", "NaN"], "alpha"),
    ] {
        let mut args = vec!["learn", &asia, "-o", "OUT/out.bif", "--json"];
        args.extend(&flags);
        names(&refused(&args), &[wanted]);
    }
    for (args, wanted) in [
        (vec!["bogus"], "bogus"),
        (vec!["learn"], "<DATA>"),
        (vec!["score", &asia], "<NETWORK>"),
        (
            vec!["sample", net, "--rows", "0", "-o", "OUT/x.csv"],
            "rows",
        ),
        (
            vec!["sample", net, "--rows", "1000000000000", "-o", "OUT/x.csv"],
            "rows",
        ),
        (vec!["sample", net, "--rows", "5"], "--output"),
        (
            vec!["fit", &asia, net, "--alpha=-1", "-o", "OUT/x.bif"],
            "alpha",
        ),
        (vec!["completions", "tcsh"], "tcsh"),
    ] {
        names(&refused(&args), &[wanted]);
    }
}

#[test]
fn what_cannot_be_written_is_refused_before_the_search() {
    let folder = tempfile::tempdir().unwrap();
    let table = write(folder.path(), "t.csv", "a b,\"c,d\"\n1,x\n2,y\n1,x\n2,y\n");
    let table = table.to_str().unwrap();
    let bracket = write(folder.path(), "b.csv", "a]b,c\n1,x\n2,y\n1,x\n2,y\n");
    let bracket = bracket.to_str().unwrap();
    let asia = asia();
    // Without a budget a search takes 10 seconds at least.
    for (args, wanted) in [
        (
            vec!["learn", &asia, "-o", "OUT/x.csv", "-o", "OUT/x.doc"],
            vec!["x.doc"],
        ),
        (
            vec!["learn", &asia, "-o", "OUT/x.csv", "-o", "OUT/none/x.bif"],
            vec!["none/x.bif"],
        ),
        (
            vec!["learn", table, "--strict-names", "-o", "OUT/x.bif"],
            vec!["a b", "XMLBIF"],
        ),
        (
            vec!["learn", bracket, "-o", "OUT/x.csv", "-o", "OUT/x.txt"],
            vec!["a]b", "x.txt"],
        ),
    ] {
        let begun = std::time::Instant::now();
        names(&refused(&args), &wanted);
        assert!(begun.elapsed() < Duration::from_secs(8), "{args:?}");
    }
    fs::create_dir(folder.path().join("folder.bif")).unwrap();
    let out = folder.path().join("folder.bif");
    let args = ["learn", &asia, "-o", out.to_str().unwrap()];
    names(&refused(&args), &["folder.bif", "folder"]);
}

#[test]
fn a_missing_file_or_a_folder_is_refused() {
    for path in ["/no/such/table.csv", "/"] {
        for args in [
            vec!["learn", path, "-o", "OUT/x.bif"],
            vec!["check", path],
            vec!["score", path, path],
            vec!["convert", path, "OUT/x.csv"],
            vec!["sample", path, "--rows", "5", "-o", "OUT/x.csv"],
        ] {
            names(&refused(&args), &[path]);
        }
    }
}

/// Returns a command of the program as a user without rights: oneself, or nobody if one is root.
fn as_nobody(folder: &Path) -> Command {
    if !is_root() {
        return PROGRAM.command();
    }
    // Where the program is, nobody may have no access.
    let copy = folder.join("rlbayes");
    if !copy.exists() {
        fs::copy(PROGRAM.path(), &copy).unwrap();
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(copy);
    command
}

#[cfg(unix)]
#[test]
fn files_and_folders_without_permission_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    if is_root() && !has_command("setpriv") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(folder.path(), 0o755);
    let table = write(folder.path(), "table.csv", "a,b\n1,2\n2,1\n1,2\n");
    let secret = write(folder.path(), "secret.csv", "a,b\n1,2\n2,1\n");
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    mode(&secret, 0o000);
    mode(&closed, 0o555);
    let (table, secret) = (table.to_str().unwrap(), secret.to_str().unwrap());
    let out = closed.join("x.csv");
    let out = out.to_str().unwrap();
    let state = closed.join("state");
    for (args, wanted) in [
        (vec!["learn", secret, "--iterations", "5"], secret),
        (vec!["check", secret], secret),
        (vec!["score", table, secret], secret),
        (vec!["learn", table, "--required", secret], secret),
        (vec!["learn", table, "-o", out], out),
        (
            vec!["learn", table, "--state", state.to_str().unwrap()],
            "closed",
        ),
    ] {
        let mut command = as_nobody(folder.path());
        command.args(args).stdin(Stdio::null());
        let ran = Running::of(command).wait(Duration::from_secs(60));
        names(&sentence(&ran), &[wanted]);
    }
    assert_empty(&closed);
    mode(&closed, 0o755);
}

#[cfg(unix)]
#[test]
fn input_without_end_is_refused_in_time() {
    let net = network("asia");
    let asia = asia();
    for args in [
        vec!["learn", "/dev/zero", "-o", "OUT/x.bif"],
        vec!["check", "/dev/zero"],
        vec!["score", &asia, "/dev/zero"],
        vec!["convert", "/dev/zero", "OUT/x.csv"],
        vec!["learn", &asia, "--required", "/dev/zero"],
        vec!["learn", &asia, "--tiers", "/dev/zero"],
        vec!["learn", &asia, "--schema", "/dev/zero"],
        vec!["score", "/dev/zero", net.to_str().unwrap()],
    ] {
        names(&refused(&args), &["/dev/zero"]);
    }
}

#[cfg(unix)]
#[test]
fn an_endless_pipe_is_refused_in_time() {
    let folder = tempfile::tempdir().unwrap();
    // Lines of a header, rows that fit it, and text that is not a table.
    for line in [
        "y",
        "some,more,of,this,same,thing,over,and,again,until,the,end,time",
    ] {
        let mut yes = Command::new("yes")
            .arg(line)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut command = PROGRAM.command();
        command.args(["learn", "/dev/stdin", "-o"]);
        command.arg(folder.path().join("x.bif"));
        command.stdin(yes.stdout.take().unwrap());
        let ran = Running::of(command).wait(Duration::from_secs(120));
        let _ = yes.kill();
        let _ = yes.wait();
        names(&sentence(&ran), &["/dev/stdin", "is longer than"]);
        assert_empty(folder.path());
    }
}
