//! The overlay with mutual TLS.

use crate::docker::{IMAGE, docker, exit_code, in_project, log, run, wait_for_health};
use crate::project::{Compose, Project};
use std::fs;

#[test]
fn clients_without_a_certificate_are_refused() {
    others_are_refused(Compose::Program);
}

#[test]
fn clients_without_a_certificate_are_refused_with_the_plugin() {
    others_are_refused(Compose::Plugin);
}

fn others_are_refused(compose: Compose) {
    // As people make them, in a copy of the folder.
    let folder = tempfile::tempdir().unwrap();
    for name in ["make-certs", "readable"] {
        let script = in_project("deploy").join(name);
        fs::copy(script, folder.path().join(name)).unwrap();
    }
    // By name: a file that was just written may still be open in a process that another test starts.
    run("sh", [folder.path().join("make-certs").to_str().unwrap()]).ok();
    let certs = folder.path().join("certs");
    let certs = certs.to_str().unwrap();
    let settings = [
        ("RLBAYES_CERTS", certs),
        ("RLBAYES_STAGNATION", "1h"),
        ("RLBAYES_WORKER_CPUS", "0.3"),
    ];
    let project = Project::new(compose, "tls", &settings).with_file("deploy/compose.tls.yaml");
    project.up(2);
    project.wait_for_workers(2);
    wait_for_health(&project.coordinator());

    let token = in_project("deploy/secrets/token");
    let token = format!("{}:/token:ro", token.to_str().unwrap());
    let ca = format!("{certs}/ca.pem:/ca.pem:ro");
    for (url, authority) in [
        ("https://coordinator:7400", Some("/ca.pem")),
        ("http://coordinator:7400", None),
    ] {
        let network = project.network();
        let mut args = vec![
            "run",
            "--detach",
            "--network",
            &network,
            "--volume",
            &token,
            "--volume",
            &ca,
            IMAGE,
            "worker",
            "--coordinator",
            url,
            "--token-file",
            "/token",
            "--give-up-after",
            "5s",
        ];
        args.extend(authority.into_iter().flat_map(|file| ["--tls-ca", file]));
        let stranger = docker(&args);
        let code = exit_code(&stranger);
        let logged = log(&stranger);
        docker(&["rm", "--force", &stranger]);
        // Plain HTTP meets a server that speaks otherwise: it can't know why, and gives up.
        let expected = if authority.is_some() { 2 } else { 3 };
        assert_eq!(code, expected, "{logged}");
    }
    let status = project.status().unwrap();
    assert_eq!(status["workers"].as_array().unwrap().len(), 2, "{status}");
    project.stop_and_check();
}
