//! Constraints hold in the result of every search, whatever they are.

use crate::{PROGRAM, prepare_cluster, rlbayes};
use rlbayes_common::ids::Seed;
use rlbayes_common::random::Random;
use rlbayes_tests::{Running, data, write};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const NAMES: [&str; 8] = [
    "asia", "bronc", "dysp", "either", "lung", "smoke", "tub", "xray",
];

const SEARCHES: [&str; 4] = ["paper", "hc", "tabu", "rlbayes"];

type Edge = (&'static str, &'static str);

/// Constraints that some network meets.
struct Drawn {
    required: BTreeSet<Edge>,
    forbidden: BTreeSet<Edge>,
    tiers: Vec<Vec<&'static str>>,
    max_parents: usize,
    start: BTreeSet<Edge>,
}

#[test]
fn no_search_breaks_a_constraint() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(Seed(41));
    for set in 0..40 {
        let drawn = draw(&mut random);
        let files = drawn.write(folder.path());
        for search in SEARCHES {
            let edges = learn(search, set, &files);
            drawn.assert_kept(&edges, &format!("set {set}, {search}"));
        }
    }
}

/// Starts a command whose stdin is a pipe that holds a required edge.
fn with_required_from_a_pipe(mut command: Command) -> Running {
    let mut echo = Command::new("echo")
        .arg("dysp,asia")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    command.args(["--required", "/dev/stdin"]);
    command.stdin(echo.stdout.take().unwrap());
    let running = Running::of(command);
    echo.wait().unwrap();
    running
}

#[test]
fn constraints_may_come_from_a_pipe_and_are_the_same_search_as_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "required.csv", "dysp,asia\n");
    let state = folder.path().join("state");
    let command = |evaluations: &str| {
        let mut command = PROGRAM.command();
        command.arg("learn").arg(data("asia_n1000_s1.csv.gz"));
        command.args(["--threads", "1", "--json", "--evaluations", evaluations]);
        command.arg("--state").arg(&state);
        command
    };
    let edges = |json: serde_json::Value| json["edges"].to_string();
    let mut from_file = command("20000");
    from_file.arg("--required").arg(&file).stdin(Stdio::null());
    let ran = Running::of(from_file).wait(Duration::from_secs(60)).ok();
    assert!(edges(ran.json()).contains(r#"["dysp","asia"]"#));
    for evaluations in ["40000", "60000"] {
        let ran = with_required_from_a_pipe(command(evaluations)).wait(Duration::from_secs(60));
        assert!(edges(ran.ok().json()).contains(r#"["dysp","asia"]"#));
    }
}

#[test]
fn a_coordinator_takes_constraints_from_a_pipe_and_its_workers_keep_them() {
    let cluster = prepare_cluster(
        "asia_n1000_s1.csv.gz",
        &["--evaluations", "200000", "--when-done", "exit"],
    );
    let coordinator = with_required_from_a_pipe(cluster.coordinator_command());
    let worker = cluster.worker("one");
    let ran = coordinator.wait(Duration::from_secs(120)).ok();
    worker.wait(Duration::from_secs(60)).ok();
    assert!(ran.stderr.contains("finished: -"), "{ran:?}");
    assert!(!ran.stderr.contains("refused"), "{ran:?}");
    let json = std::fs::read_to_string(cluster.path("out").join("asia_n1000_s1.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(
        json["edges"].to_string().contains(r#"["dysp","asia"]"#),
        "{json}"
    );
}

#[test]
fn without_constraints_the_edges_are_there_that_some_sets_forbid() {
    // Otherwise the test above could pass with a search that never adds an edge.
    for search in SEARCHES {
        assert!(learn(search, 1, &[]).len() >= 5, "{search}");
    }
}

fn learn(search: &str, seed: u64, flags: &[String]) -> BTreeSet<(String, String)> {
    let table = data("asia_n1000_s1.csv.gz");
    let seed = seed.to_string();
    let mut args = vec!["learn", table.to_str().unwrap(), "--search", search];
    let iterations = if search == "paper" { "1500" } else { "60" };
    args.extend([
        "--iterations",
        iterations,
        "--restarts",
        "2",
        "--perturb",
        "6",
    ]);
    args.extend(["--threads", "1", "--seed", &seed, "--quiet", "--json"]);
    args.extend(flags.iter().map(String::as_str));
    let json = rlbayes(args).ok().json();
    let name = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let edges = json["edges"].as_array().unwrap();
    edges
        .iter()
        .map(|edge| (name(&edge[0]), name(&edge[1])))
        .collect()
}

/// Draws constraints along a random order of the variables, so that they can be met.
fn draw(random: &mut Random) -> Drawn {
    let mut order = NAMES.to_vec();
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at + 1));
    }
    let max_parents = 1 + random.below(3);
    let mut drawn = Drawn {
        required: BTreeSet::new(),
        forbidden: BTreeSet::new(),
        tiers: Vec::new(),
        max_parents,
        start: BTreeSet::new(),
    };
    let groups = random.below(4);
    for group in 0..groups {
        let members = order.chunks(NAMES.len().div_ceil(groups)).nth(group);
        let members = members.unwrap_or_default().iter().copied();
        // Some variables stand in no tier.
        let kept: Vec<&str> = members.filter(|_| random.below(5) > 0).collect();
        if !kept.is_empty() {
            drawn.tiers.push(kept);
        }
    }
    let mut parents: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..random.below(7) {
        let (a, b) = (random.below(8), random.below(8));
        let (from, to) = (order[a.min(b)], order[a.max(b)]);
        let count = parents.entry(to).or_default();
        if a != b && *count < max_parents && drawn.required.insert((from, to)) {
            *count += 1;
            if random.below(2) == 0 {
                drawn.start.insert((from, to));
            }
        }
    }
    for _ in 0..random.below(25) {
        let edge = (NAMES[random.below(8)], NAMES[random.below(8)]);
        if edge.0 != edge.1 && !drawn.required.contains(&edge) {
            drawn.forbidden.insert(edge);
        }
    }
    drawn
}

impl Drawn {
    /// Writes the constraints and returns the flags that name them.
    fn write(&self, folder: &Path) -> Vec<String> {
        let lines = |edges: &BTreeSet<Edge>| {
            let lines = edges.iter().map(|(from, to)| format!("{from},{to}\n"));
            format!("from,to\n{}", lines.collect::<String>())
        };
        let tiers = self.tiers.iter().map(|names| names.join(",") + "\n");
        let mut flags = vec!["--max-parents".to_owned(), self.max_parents.to_string()];
        for (flag, name, text) in [
            ("--required", "required.csv", lines(&self.required)),
            ("--forbidden", "forbidden.csv", lines(&self.forbidden)),
            ("--tiers", "tiers.csv", tiers.collect()),
        ] {
            let path = write(folder, name, text);
            flags.extend([flag.to_owned(), path.to_str().unwrap().to_owned()]);
        }
        if !self.start.is_empty() {
            let path = write(folder, "start.csv", lines(&self.start));
            flags.extend(["--start".to_owned(), path.to_str().unwrap().to_owned()]);
        }
        flags
    }

    fn assert_kept(&self, edges: &BTreeSet<(String, String)>, what: &str) {
        let has = |(from, to): &Edge| edges.contains(&((*from).to_owned(), (*to).to_owned()));
        for edge in &self.required {
            assert!(has(edge), "{what}: {edge:?} is required: {edges:?}");
        }
        for edge in &self.forbidden {
            assert!(!has(edge), "{what}: {edge:?} is forbidden: {edges:?}");
        }
        let tier = |name: &str| self.tiers.iter().position(|names| names.contains(&name));
        let mut parents: BTreeMap<&str, usize> = BTreeMap::new();
        for (from, to) in edges {
            *parents.entry(to).or_default() += 1;
            if let (Some(a), Some(b)) = (tier(from), tier(to)) {
                assert!(a <= b, "{what}: {from} -> {to} leads to an earlier tier");
            }
        }
        for (node, count) in parents {
            let most = self.max_parents;
            assert!(
                count <= most,
                "{what}: {node} has {count} parents, not {most}"
            );
        }
    }
}
