//! Settings: every flag that makes sense in a container can be set by `.env` and by the shell, and
//! `.env.example` shows it.

use crate::docker::{PROGRAM, in_project};
use crate::kubernetes::documents;
use rlbayes_tests::Running;
use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

/// Flags of the coordinator that no setting of a cluster is for, and why.
const NOT_OF_COORDINATOR: [(&str, &str); 9] = [
    ("ADDRESS_FILE", "workers have the service's name"),
    ("COORDINATOR_FILE", "the help names this flag of workers"),
    ("WHEN_DONE", "the coordinator keeps serving the result"),
    ("THREADS", "it runs no chains"),
    ("MEMORY", "a quarter of the container's"),
    ("CPU_TIME", "workers do not report theirs"),
    ("TLS_CERT", "compose.tls.yaml"),
    ("TLS_KEY", "compose.tls.yaml"),
    ("TLS_CA", "compose.tls.yaml"),
];

/// The same of workers.
const NOT_OF_WORKER: [(&str, &str); 19] = [
    ("COORDINATOR_FILE", "they have the service's name"),
    ("WHEN_DONE", "it follows from the restart policy"),
    ("NAME", "it would be the same for all"),
    ("DATA", "they fetch the table"),
    ("SCHEMA", "they fetch the table"),
    ("DROP", "they fetch the table"),
    ("COLUMNS", "they fetch the table"),
    ("BINS", "they fetch the table"),
    ("SEPARATOR", "they fetch the table"),
    ("DECIMAL", "they fetch the table"),
    ("COMMENT", "they fetch the table"),
    ("ENCODING", "they fetch the table"),
    ("NO_HEADER", "they fetch the table"),
    ("MISSING", "they fetch the table"),
    ("MISSING_MARKER", "they fetch the table"),
    ("TLS_CERT", "compose.tls.yaml"),
    ("TLS_KEY", "compose.tls.yaml"),
    ("TLS_CA", "compose.tls.yaml"),
    ("TLS_NAME", "the certificates name the service"),
];

#[test]
fn every_flag_that_makes_sense_can_be_set() {
    for file in ["deploy/compose.yaml", "deploy/stack.yaml"] {
        for (service, exceptions) in [
            ("coordinator", &NOT_OF_COORDINATOR[..]),
            ("worker", &NOT_OF_WORKER[..]),
        ] {
            let settable = environment(file, service);
            let exceptions: BTreeSet<String> = exceptions
                .iter()
                .map(|(name, _)| format!("RLBAYES_{name}"))
                .collect();
            let variables = variables_of(service);
            let missing: Vec<_> = variables
                .difference(&settable)
                .filter(|&name| !exceptions.contains(name))
                .collect();
            assert!(missing.is_empty(), "{file}, {service}: {missing:?}");
            let stale: Vec<_> = exceptions.intersection(&settable).collect();
            assert!(stale.is_empty(), "{file}, {service}: {stale:?}");
            for name in settable.difference(&variables) {
                // The log is not a flag; people ask in the coordinator's container.
                let known = ["RLBAYES_LOG", "RLBAYES_COORDINATOR"];
                assert!(known.contains(&name.as_str()), "{file}, {service}: {name}");
            }
        }
    }
}

#[test]
fn the_example_shows_every_setting_with_a_value_that_is_accepted() {
    let examples = examples();
    let shown: BTreeSet<String> = examples.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(shown.len(), examples.len(), "nothing is shown twice");
    let text = ["deploy/compose.yaml", "deploy/compose.tls.yaml"]
        .map(|file| fs::read_to_string(in_project(file)).unwrap())
        .concat();
    // Those that the file gives no value of its own, and those that it puts into one.
    let mut used: BTreeSet<String> = text
        .split("${")
        .skip(1)
        .map(|rest| rest.split([':', '}']).next().unwrap().to_owned())
        .collect();
    for service in ["coordinator", "worker"] {
        used.extend(bare("deploy/compose.yaml", service));
    }
    assert_eq!(shown, used);

    // As the files give them, if the files were there.
    let coordinator = [
        "--data=no-such-table.csv",
        "--state=s",
        "--token-file=no-such-token",
        // What settings of the HTTP port go with.
        "--http=127.0.0.1:0",
        "--tls-cert=no-such-certificate",
        "--tls-key=no-such-key",
    ];
    let worker = [
        "--coordinator=http://127.0.0.1:1",
        "--token-file=no-such-token",
    ];
    for (service, needed) in [("coordinator", &coordinator[..]), ("worker", &worker)] {
        let bare = bare("deploy/compose.yaml", service);
        let given = examples.iter().filter(|(name, _)| bare.contains(name));
        let values: Vec<(&str, &str)> = given
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let nothing: Vec<(&str, &str)> = values.iter().map(|(name, _)| (*name, "")).collect();
        for settings in [values, nothing] {
            let folder = tempfile::tempdir().unwrap();
            let mut command = PROGRAM.command();
            command
                .arg(service)
                .args(needed)
                .current_dir(folder.path())
                .stdin(Stdio::null());
            let ran = Running::with_settings(command, &settings).wait(Duration::from_secs(20));
            // The flags are understood, and the first file is not there.
            assert_eq!(ran.code, Some(2), "{settings:?}: {ran:?}");
            assert!(!ran.stderr.contains("try --help"), "{settings:?}: {ran:?}");
            let printed = ran.stderr.to_lowercase();
            assert!(printed.contains("no such file"), "{settings:?}: {ran:?}");
        }
    }
}

/// Returns names and values of `.env.example`.
fn examples() -> Vec<(String, String)> {
    let text = fs::read_to_string(in_project("deploy/.env.example")).unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix("#RLBAYES_"))
        .map(|line| line.split_once('=').unwrap())
        .map(|(name, value)| (format!("RLBAYES_{name}"), value.to_owned()))
        .collect()
}

/// Returns the environment variables of a command's flags.
fn variables_of(command: &str) -> BTreeSet<String> {
    let help = PROGRAM.run([command, "--help"]).ok().stdout;
    let lines = help.lines().map(str::trim_start);
    let flags = lines.filter_map(|line| line.strip_prefix("--"));
    let flags = flags.map(|line| line.split([' ', ')']).next().unwrap());
    flags
        .map(|flag| format!("RLBAYES_{}", flag.to_uppercase().replace('-', "_")))
        .collect()
}

/// Returns the variables of a service.
fn environment(file: &str, service: &str) -> BTreeSet<String> {
    let entries = entries(file, service);
    let names = entries.iter().map(|entry| entry.split('=').next().unwrap());
    names.map(str::to_owned).collect()
}

/// Returns the variables that a service takes over from the settings as they are.
fn bare(file: &str, service: &str) -> BTreeSet<String> {
    let entries = entries(file, service);
    entries
        .into_iter()
        .filter(|entry| !entry.contains('='))
        .collect()
}

fn entries(file: &str, service: &str) -> Vec<String> {
    let text = fs::read_to_string(in_project(file)).unwrap();
    let document = documents(&text).remove(0);
    let list = document["services"][service]["environment"].as_array();
    let list = list.unwrap_or_else(|| panic!("{file}: {service} has no environment"));
    list.iter()
        .map(|entry| entry.as_str().unwrap().to_owned())
        .collect()
}
