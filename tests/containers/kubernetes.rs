//! `deploy/kubernetes`, rendered by kubectl: the published schemas accept it, its parts name each
//! other rightly, its containers are confined, and what its pods run finds the optimum. No cluster is
//! needed for any of this.

use crate::docker::{OPTIMUM, PROGRAM, SOON, in_project, installed};
use rlbayes_tests::{Ran, Running, data, own_port, wait_until};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The oldest Kubernetes with everything that is used, and the newest whose schemas are there.
const VERSIONS: [&str; 2] = ["1.27", "1.37"];

#[test]
fn the_published_schemas_accept_every_document() {
    for kubectl in kubectls() {
        every_document_is_accepted(&kubectl);
    }
}

fn every_document_is_accepted(kubectl: &Path) {
    let folder = copy();
    let rendered = kustomize_by(kubectl, &folder.path().join("kubernetes"));
    let mut kinds: Vec<String> = documents(&rendered)
        .iter()
        .map(|document| text(&document["kind"]).to_owned())
        .collect();
    kinds.sort();
    let expected = [
        "ConfigMap",
        "ConfigMap",
        "Deployment",
        "HorizontalPodAutoscaler",
        "Namespace",
        "NetworkPolicy",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Secret",
        "Service",
        "Service",
        "StatefulSet",
    ];
    assert_eq!(kinds, expected);
    accepted(&rendered, kinds.len());
}

#[test]
fn a_misspelt_field_is_refused() {
    for (file, right, wrong) in [
        (
            "coordinator.yaml",
            "readOnlyRootFilesystem",
            "readOnlyRootFileSystem",
        ),
        ("worker.yaml", "maxUnavailable", "maxUnavailible"),
        ("network-policy.yaml", "policyTypes", "policyType"),
    ] {
        let folder = copy();
        let folder = folder.path().join("kubernetes");
        let before = fs::read_to_string(folder.join(file)).unwrap();
        assert!(before.contains(right), "{file} has no {right}");
        fs::write(folder.join(file), before.replace(right, wrong)).unwrap();
        let rendered = kustomize(&folder);
        for version in VERSIONS {
            let ran = validate(&rendered, version);
            assert_eq!(ran.code, Some(1), "{wrong}, {version}: {ran:?}");
            let printed = format!("{}{}", ran.stdout, ran.stderr);
            assert!(printed.contains(wrong), "{wrong}, {version}: {printed}");
        }
    }
}

#[test]
fn the_table_on_a_volume_of_the_readme_is_accepted() {
    let folder = copy();
    let readme = fs::read_to_string(folder.path().join("kubernetes/README.md")).unwrap();
    let mine = folder.path().join("my-search");
    fs::create_dir(&mine).unwrap();
    let mut files = Vec::new();
    for block in readme.split("```yaml\n").skip(1) {
        let (block, _) = block.split_once("```").unwrap();
        let name = block.lines().next().unwrap().trim_start_matches("# ");
        let name = name.strip_prefix("my-search/").unwrap();
        // In the text the folder stands beside a checkout, here beside the copy.
        let block = block.replace("../rlbayes/deploy/kubernetes", "../kubernetes");
        fs::write(mine.join(name), block).unwrap();
        files.push(name);
    }
    assert_eq!(files, ["kustomization.yaml", "table.yaml"]);

    for kubectl in kubectls() {
        volume_is_accepted(&kustomize_by(&kubectl, &mine));
    }
}

fn volume_is_accepted(rendered: &str) {
    let documents = documents(rendered);
    accepted(rendered, documents.len());
    let coordinator = only(&documents, "StatefulSet", "coordinator");
    let volume = named(&pod(coordinator)["volumes"], "table");
    assert!(volume["persistentVolumeClaim"].is_object(), "{volume}");
    assert!(volume["configMap"].is_null(), "{volume}");
    let settings = settings(&documents, coordinator);
    assert_eq!(settings["RLBAYES_DATA"], "/data/big.csv.gz");
    assert_eq!(settings["RLBAYES_TIME"], "8h");
}

#[test]
fn every_container_is_confined_probed_and_limited() {
    let documents = documents(&rendered());
    for workload in workloads(&documents) {
        let pod = pod(workload);
        assert_eq!(pod["automountServiceAccountToken"], false);
        assert_eq!(
            pod["enableServiceLinks"], false,
            "variables of services would be taken for flags"
        );
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["securityContext"]["runAsUser"], 65532);
        assert_eq!(pod["securityContext"]["fsGroup"], 65532);
        assert_eq!(
            pod["securityContext"]["seccompProfile"]["type"],
            "RuntimeDefault"
        );
        for container in list(&pod["containers"]) {
            let confined = &container["securityContext"];
            assert_eq!(confined["allowPrivilegeEscalation"], false);
            assert_eq!(confined["readOnlyRootFilesystem"], true);
            assert_eq!(confined["capabilities"]["drop"], json!(["ALL"]));
            assert_eq!(container["image"], "rlbayes:latest");
            for probe in ["readinessProbe", "livenessProbe"] {
                assert!(container[probe].is_object(), "{probe}: {container}");
            }
            for kind in ["requests", "limits"] {
                for what in ["cpu", "memory"] {
                    let amount = &container["resources"][kind][what];
                    assert!(amount.is_string(), "{kind} of {what}: {container}");
                }
            }
            // The root is read-only: whatever is written to is a volume of the pod or a claim.
            for mount in list(&container["volumeMounts"]) {
                let name = text(&mount["name"]);
                let is_there = |volumes: &Value, at: &str| {
                    volumes.as_array().is_some_and(|volumes| {
                        volumes
                            .iter()
                            .any(|one| one.pointer(at) == Some(&mount["name"]))
                    })
                };
                assert!(
                    is_there(&pod["volumes"], "/name")
                        || is_there(&workload["spec"]["volumeClaimTemplates"], "/metadata/name"),
                    "nothing is called {name}"
                );
            }
        }
    }
    let coordinator = only(&documents, "StatefulSet", "coordinator");
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        assert_eq!(container(coordinator)[probe]["grpc"]["port"], 7400);
    }
}

#[test]
fn selectors_ports_and_names_agree() {
    let documents = documents(&rendered());
    let coordinator = only(&documents, "StatefulSet", "coordinator");
    let worker = only(&documents, "Deployment", "worker");
    for workload in [coordinator, worker] {
        let selector = &workload["spec"]["selector"]["matchLabels"];
        assert!(selects(selector, workload), "{selector}");
    }
    for document in &documents {
        let namespace = &document["metadata"]["namespace"];
        match text(&document["kind"]) {
            "Namespace" => assert_eq!(document["metadata"]["name"], "rlbayes"),
            _ => assert_eq!(namespace, "rlbayes", "{document}"),
        }
    }

    // The container listens on the ports that it declares, and services lead to them.
    let args = args(coordinator);
    let ports = list(&container(coordinator)["ports"]);
    for (name, flag) in [("grpc", "--listen"), ("http", "--http")] {
        let port = &ports.iter().find(|port| port["name"] == name).unwrap()["containerPort"];
        assert!(args.contains(&format!("{flag}=0.0.0.0:{port}")), "{args:?}");
    }
    for service in of_kind(&documents, "Service") {
        assert!(selects(&service["spec"]["selector"], coordinator));
        assert!(!selects(&service["spec"]["selector"], worker));
        for port in list(&service["spec"]["ports"]) {
            let target = ports.iter().find(|one| one["name"] == port["targetPort"]);
            assert_eq!(target.unwrap()["containerPort"], port["port"]);
        }
    }
    let headless = text(&coordinator["spec"]["serviceName"]);
    let headless = only(&documents, "Service", headless);
    assert_eq!(headless["spec"]["clusterIP"], "None");

    // What workers and their probe connect to is the plain service.
    let service = only(&documents, "Service", "coordinator");
    let port = &service["spec"]["ports"][0]["port"];
    let url = format!("http://coordinator:{port}");
    assert!(self::args(worker).contains(&format!("--coordinator={url}")));
    assert!(self::args(worker).contains(&"--when-done=wait".to_owned()));
    let probe = &container(worker)["readinessProbe"]["exec"]["command"];
    assert_eq!(*probe, json!(["/rlbayes", "health", url]));

    // A variable that belongs to no flag would be ignored silently.
    let help = PROGRAM.run(["coordinator", "--help"]).ok().stdout;
    for name in settings(&documents, coordinator)
        .as_object()
        .unwrap()
        .keys()
    {
        let flag = name.strip_prefix("RLBAYES_").unwrap().to_lowercase();
        let flag = format!("--{} ", flag.replace('_', "-"));
        assert!(help.contains(&flag), "no flag has the variable {name}");
    }

    // The autoscaler has the workers, and nobody else says how many there are.
    let autoscaler = only(&documents, "HorizontalPodAutoscaler", "worker");
    assert_eq!(autoscaler["spec"]["scaleTargetRef"]["kind"], "Deployment");
    assert_eq!(autoscaler["spec"]["scaleTargetRef"]["name"], "worker");
    assert!(worker["spec"]["replicas"].is_null());
    assert_eq!(coordinator["spec"]["replicas"], 1);
    assert_eq!(coordinator["spec"]["podManagementPolicy"], "Parallel");
    let budget = only(&documents, "PodDisruptionBudget", "worker");
    let budget = &budget["spec"]["selector"]["matchLabels"];
    assert!(selects(budget, worker) && !selects(budget, coordinator));
}

#[test]
fn only_workers_reach_the_coordinator_and_nobody_a_worker() {
    let documents = documents(&rendered());
    let coordinator = only(&documents, "StatefulSet", "coordinator");
    let worker = only(&documents, "Deployment", "worker");
    let policies = of_kind(&documents, "NetworkPolicy");
    let policies_of = |workload| {
        let selected =
            |policy: &&&Value| selects(&policy["spec"]["podSelector"]["matchLabels"], workload);
        let policies: Vec<&Value> = policies.iter().filter(selected).copied().collect();
        assert_eq!(policies.len(), 1, "one policy a workload");
        assert_eq!(
            policies[0]["spec"]["policyTypes"],
            json!(["Ingress", "Egress"])
        );
        policies[0]
    };

    let mut grpc = 0;
    let policy = policies_of(coordinator);
    for rule in list(&policy["spec"]["ingress"]) {
        let ports = list(&rule["ports"]);
        assert!(!ports.is_empty(), "a rule without ports opens all: {rule}");
        if ports.iter().any(|port| port["port"] == 7400) {
            let from = list(&rule["from"]);
            assert_eq!(from.len(), 1, "{rule}");
            assert!(from[0]["namespaceSelector"].is_null(), "{rule}");
            assert!(selects(&from[0]["podSelector"]["matchLabels"], worker));
            grpc += 1;
        }
    }
    assert_eq!(grpc, 1);
    assert!(policy["spec"]["egress"].is_null(), "it calls nobody");

    let policy = policies_of(worker);
    assert!(policy["spec"]["ingress"].is_null(), "nobody calls a worker");
    let mut ports: Vec<(u64, bool)> = Vec::new();
    for rule in list(&policy["spec"]["egress"]) {
        let to = &rule["to"][0]["podSelector"]["matchLabels"];
        let to_coordinator = to.is_object() && selects(to, coordinator);
        for port in list(&rule["ports"]) {
            ports.push((port["port"].as_u64().unwrap(), to_coordinator));
        }
    }
    assert_eq!(ports, [(7400, true), (53, false), (53, false)]);
}

#[test]
fn what_the_pods_run_finds_the_optimum() {
    let documents = documents(&rendered());
    let coordinator = only(&documents, "StatefulSet", "coordinator");
    let worker = only(&documents, "Deployment", "worker");
    let folder = TempDir::new().unwrap();
    for name in ["data", "secrets", "state", "out", "worker"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    // As the volumes have them.
    fs::write(folder.path().join("secrets/token"), TOKEN).unwrap();
    let table = named(&pod(coordinator)["volumes"], "table");
    let table = only(&documents, "ConfigMap", text(&table["configMap"]["name"]));
    let keys: Vec<&String> = table["binaryData"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["alarm.csv.gz"]);
    let bundled = fs::read(data("alarm_n1000_s1.csv.gz")).unwrap();
    let copied = fs::read(in_project("deploy/kubernetes/alarm.csv.gz")).unwrap();
    assert!(bundled == copied, "the copy is not the bundled table");
    fs::write(folder.path().join("data/alarm.csv.gz"), copied).unwrap();

    // The same words, with this machine's ports and folders.
    let (grpc, http) = (own_port(), own_port());
    let here = |word: &str, state: &str| {
        let at = folder.path().to_str().unwrap();
        word.replace("0.0.0.0:7400", &format!("127.0.0.1:{grpc}"))
            .replace("0.0.0.0:7401", &format!("127.0.0.1:{http}"))
            .replace("coordinator:7400", &format!("127.0.0.1:{grpc}"))
            .replace("=/state", &format!("={at}/{state}"))
            .replace("=/out", &format!("={at}/out"))
            .replace("=/secrets", &format!("={at}/secrets"))
            .replace("/data/", &format!("{at}/data/"))
    };
    let started = |workload: &Value, state: &str, variables: &[(String, String)]| {
        let mut command = PROGRAM.command();
        command
            .args(args(workload).iter().map(|word| here(word, state)))
            .stdin(Stdio::null());
        let variables: Vec<(&str, &str)> = variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        Running::with_settings(command, &variables)
    };
    let settings: Vec<(String, String)> = settings(&documents, coordinator)
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.clone(), here(text(value), "state")))
        .collect();
    let coordinator = started(coordinator, "state", &settings);
    let mut running = started(worker, "worker", &[]);

    for (what, kind) in [
        ("the worker lives", "livenessProbe"),
        ("the coordinator is healthy", "readinessProbe"),
    ] {
        let probe = list(&container(worker)[kind]["exec"]["command"]);
        assert_eq!(probe[0], "/rlbayes");
        let probe: Vec<String> = probe[1..]
            .iter()
            .map(|word| match text(word) {
                "/state" => folder.path().join("worker").display().to_string(),
                word => here(word, "worker"),
            })
            .collect();
        wait_until(what, SOON, || PROGRAM.run(&probe).code == Some(0));
    }
    let url = format!("http://127.0.0.1:{grpc}");
    let token = folder.path().join("secrets/token");
    let token = token.to_str().unwrap();
    let mut status = Value::Null;
    wait_until("the search is finished", SOON, || {
        status = PROGRAM
            .run(["status", &url, "--token-file", token, "--json"])
            .ok()
            .json();
        status["state"] == "finished"
    });
    let best = status["best_score"].as_f64().unwrap();
    assert!((best - OPTIMUM).abs() < 0.001, "{status}");
    wait_until("the network is written", SOON, || {
        folder.path().join("out/alarm.bif").exists()
    });

    // A Deployment would start again what exits: the worker waits, and leaves when the preStop hook drains it.
    wait_until("the worker knows", SOON, || {
        running.logged().contains("the search is over")
    });
    assert!(running.is_running());
    let hook = list(&container(worker)["lifecycle"]["preStop"]["exec"]["command"]);
    assert_eq!(hook[0], "/rlbayes");
    let words: Vec<String> = hook[1..]
        .iter()
        .map(|word| match text(word) {
            "/state" => folder.path().join("worker").display().to_string(),
            word => word.to_owned(),
        })
        .collect();
    let within = words
        .iter()
        .find_map(|word| word.strip_prefix("--within="))
        .and_then(|time| time.strip_suffix('s'))
        .expect("the hook says how long it may take");
    let within: u64 = within.parse().unwrap();
    let most = pod(worker)["terminationGracePeriodSeconds"].as_u64();
    assert!(Some(within) < most, "{within} s of {most:?}");
    PROGRAM.run(&words).ok();
    running.wait(SOON).ok();
    coordinator.signal("TERM");
    coordinator.wait(SOON).ok();
}

const TOKEN: &str = "a token of this test\n";

/// Copies the folder, and makes its token as the README says.
fn copy() -> TempDir {
    let folder = TempDir::new().unwrap();
    let to = folder.path().join("kubernetes");
    fs::create_dir(&to).unwrap();
    for file in fs::read_dir(in_project("deploy/kubernetes")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
    fs::write(to.join("token"), TOKEN).unwrap();
    folder
}

/// Returns what `kubectl apply --server-side -k` would apply.
fn rendered() -> String {
    let folder = copy();
    kustomize(&folder.path().join("kubernetes"))
}

fn kustomize(folder: &Path) -> String {
    kustomize_by(&installed("kubectl"), folder)
}

fn kustomize_by(kubectl: &Path, folder: &Path) -> String {
    let mut command = Command::new(kubectl);
    command.arg("kustomize").arg(folder);
    Running::of(command).wait(SOON).ok().stdout
}

/// Returns Debian's kubectl, and that of the host where it has one.
fn kubectls() -> Vec<PathBuf> {
    let of_host = Command::new("kubectl").arg("help").output();
    let of_host = of_host.is_ok().then(|| PathBuf::from("kubectl"));
    [installed("kubectl")].into_iter().chain(of_host).collect()
}

/// Shows the documents to the published schemas.
fn validate(rendered: &str, version: &str) -> Ran {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("rendered.yaml");
    fs::write(&file, rendered).unwrap();
    let mut command = Command::new(installed("venv/bin/kubernetes-validate"));
    command.args(["--strict", "-k", version]).arg(&file);
    Running::of(command).wait(SOON)
}

fn accepted(rendered: &str, documents: usize) {
    for version in VERSIONS {
        let ran = validate(rendered, version).ok();
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        let passed = printed.matches(" passed for resource ").count();
        assert_eq!(passed, documents, "{version}: {printed}");
    }
}

/// Reads YAML, by way of the Python that the schemas came with.
pub(crate) fn documents(rendered: &str) -> Vec<Value> {
    const TO_JSON: &str =
        "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("rendered.yaml");
    fs::write(&file, rendered).unwrap();
    let mut command = Command::new(installed("venv/bin/python"));
    command.args(["-c", TO_JSON]).arg(&file);
    let ran = Running::of(command).wait(SOON).ok();
    serde_json::from_str(&ran.stdout).unwrap()
}

fn workloads(documents: &[Value]) -> Vec<&Value> {
    let mut workloads = of_kind(documents, "StatefulSet");
    workloads.extend(of_kind(documents, "Deployment"));
    workloads
}

fn of_kind<'a>(documents: &'a [Value], kind: &str) -> Vec<&'a Value> {
    documents.iter().filter(|one| one["kind"] == kind).collect()
}

fn only<'a>(documents: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let is_called = |one: &&&Value| one["metadata"]["name"] == name;
    let found = of_kind(documents, kind);
    let mut found = found.iter().filter(is_called);
    let one = found.next();
    assert!(found.next().is_none(), "two {kind} {name}");
    one.unwrap_or_else(|| panic!("no {kind} is called {name}"))
}

fn pod(workload: &Value) -> &Value {
    &workload["spec"]["template"]["spec"]
}

fn container(workload: &Value) -> &Value {
    let containers = list(&pod(workload)["containers"]);
    assert_eq!(containers.len(), 1);
    &containers[0]
}

fn args(workload: &Value) -> Vec<String> {
    let args = list(&container(workload)["args"]);
    args.iter().map(|word| text(word).to_owned()).collect()
}

/// Returns the variables that a container gets from its ConfigMap.
fn settings<'a>(documents: &'a [Value], workload: &Value) -> &'a Value {
    let name = &container(workload)["envFrom"][0]["configMapRef"]["name"];
    &only(documents, "ConfigMap", text(name))["data"]
}

fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    self::list(list)
        .iter()
        .find(|one| one["name"] == name)
        .unwrap_or_else(|| panic!("nothing is called {name}"))
}

/// Returns whether labels select a workload's pods.
fn selects(labels: &Value, workload: &Value) -> bool {
    let pod = &workload["spec"]["template"]["metadata"]["labels"];
    let labels = labels.as_object().unwrap();
    !labels.is_empty() && labels.iter().all(|(name, value)| pod[name] == *value)
}

fn list(value: &Value) -> &[Value] {
    value
        .as_array()
        .unwrap_or_else(|| panic!("{value} is not a list"))
}

fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is not text"))
}
