//! A project of docker-compose: the files of `deploy/` under a name of its own, with settings as an
//! `.env` file would give them. The status is a law: the best score never goes down.

use crate::docker::{
    OPTIMUM, PROGRAM, SOON, docker, exit_code, in_project, installed, log, use_engine,
};
use rlbayes_tests::{BestShown, Ran, Running, own_port, wait_for_status, wait_until};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{OnceLock, RwLockReadGuard};
use std::time::Duration;
use tempfile::TempDir;

/// An implementation of Compose.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Compose {
    /// docker-compose 1.29, a program of its own.
    Program,
    /// Its successor, a plugin of docker.
    Plugin,
}

/// Containers, network and volumes under one name. All are removed at the end.
pub(crate) struct Project {
    compose: Compose,
    name: String,
    files: Vec<PathBuf>,
    settings: Vec<(String, String)>,
    folder: TempDir,
    port: u16,
    best: BestShown,
    // Dropped last, after the containers are gone.
    _engine: RwLockReadGuard<'static, ()>,
}

impl Project {
    /// Makes a project of `deploy/compose.yaml`; nothing runs yet.
    pub(crate) fn new(compose: Compose, name: &str, settings: &[(&str, &str)]) -> Self {
        let port = own_port();
        let by = format!("{compose:?}").to_lowercase();
        let project = Self {
            compose,
            name: format!("rlbayes-test-{name}-{by}-{}", std::process::id()),
            files: vec![in_project("deploy/compose.yaml")],
            settings: settings
                .iter()
                .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                .chain([("RLBAYES_HTTP_PORT".to_owned(), port.to_string())])
                .collect(),
            folder: tempfile::tempdir().unwrap(),
            port,
            best: BestShown::default(),
            _engine: use_engine(),
        };
        project.write_settings();
        project
    }

    /// Adds an overlay.
    pub(crate) fn with_file(mut self, path: &str) -> Self {
        self.files.push(in_project(path));
        self
    }

    /// Changes a setting; the next `up` has it.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.settings.retain(|(known, _)| known != name);
        self.settings.push((name.to_owned(), value.to_owned()));
        self.write_settings();
        self.best.forget();
    }

    fn write_settings(&self) {
        let lines = self.settings.iter();
        let text: String = lines
            .map(|(name, value)| format!("{name}={value}\n"))
            .collect();
        fs::write(self.settings_file(), text).unwrap();
    }

    fn settings_file(&self) -> PathBuf {
        self.folder.path().join("settings.env")
    }

    /// Returns a folder for files of this test.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a command of Compose on this project.
    pub(crate) fn compose(&self, args: &[&str]) -> Ran {
        let mut command = self.compose.command();
        command.args(["--project-name", &self.name]);
        command.arg("--env-file").arg(self.settings_file());
        for file in &self.files {
            command.arg("--file").arg(file);
        }
        command.args(args);
        Running::of(command).wait(SOON)
    }

    /// Starts the coordinator and some workers, or changes how many workers there are.
    pub(crate) fn up(&self, workers: usize) {
        let scale = format!("worker={workers}");
        let args = ["up", "--detach", "--no-recreate", "--scale", &scale];
        self.compose(&args).ok();
    }

    /// Removes containers and network; the volumes stay.
    pub(crate) fn down(&self) {
        self.compose(&["down"]).ok();
    }

    /// Returns the containers of a service, ended ones too, in the order of their numbers.
    pub(crate) fn containers(&self, service: &str) -> Vec<String> {
        let text = docker(&[
            "ps",
            "--all",
            "--no-trunc",
            "--filter",
            &format!("label=com.docker.compose.project={}", self.name),
            "--filter",
            &format!("label=com.docker.compose.service={service}"),
            "--format",
            "{{.Label \"com.docker.compose.container-number\"}} {{.ID}}",
        ]);
        let mut numbered: Vec<(u32, String)> = text
            .lines()
            .map(|line| line.split_once(' ').unwrap())
            .map(|(number, id)| (number.parse().unwrap(), id.to_owned()))
            .collect();
        numbered.sort();
        numbered.into_iter().map(|(_, id)| id).collect()
    }

    /// Returns the coordinator's container.
    pub(crate) fn coordinator(&self) -> String {
        let [coordinator] = &self.containers("coordinator")[..] else {
            panic!("there is one coordinator");
        };
        coordinator.clone()
    }

    /// Returns the network that the containers share.
    pub(crate) fn network(&self) -> String {
        format!("{}_default", self.name)
    }

    /// Asks the published port for the status; none while the coordinator is away.
    ///
    /// # Panics
    /// If the best score has gone down.
    pub(crate) fn status(&self) -> Option<Value> {
        let status: Value = serde_json::from_str(&http_get(self.port, "/status")?).ok()?;
        self.best.see(status["best_score"].as_f64());
        Some(status)
    }

    /// Waits for a status in which something holds.
    pub(crate) fn wait_for(&self, what: &str, holds: impl FnMut(&Value) -> bool) -> Value {
        let logs = || {
            let coordinators = self.containers("coordinator");
            coordinators.iter().map(|id| log(id)).collect()
        };
        wait_for_status(what, SOON, || self.status(), holds, logs)
    }

    /// Waits until so many workers are alive and search.
    pub(crate) fn wait_for_workers(&self, count: usize) {
        let before = self.wait_for("workers are there", |status| alive(status) == count);
        let done = before["evaluations"].as_u64();
        self.wait_for("they search", |status| {
            alive(status) == count && status["evaluations"].as_u64() > done
        });
    }

    /// Returns how often a container has come so far that it takes part: that a coordinator serves,
    /// that a worker has joined.
    pub(crate) fn arrivals(&self, container: &str) -> usize {
        let logged = log(container);
        let arrived = |line: &&str| line.starts_with("serving ") || line.contains(": joined ");
        logged.lines().filter(arrived).count()
    }

    /// Waits until containers that were killed take part again.
    pub(crate) fn wait_for_arrivals(&self, before: &[(&str, usize)]) {
        for &(container, times) in before {
            wait_until("what was killed takes part again", SOON, || {
                self.arrivals(container) > times
            });
        }
    }

    /// Ends the search as people do, and checks that it ended well: the optimum is the result, in
    /// the volume too; workers have left with exit code 0; the coordinator serves on.
    pub(crate) fn stop_and_check(&self) {
        let coordinator = self.coordinator();
        docker(&["exec", &coordinator, "/rlbayes", "stop"]);
        self.check_end();
    }

    /// Checks that the search has ended well, once it has ended.
    pub(crate) fn check_end(&self) {
        let status = self.wait_for("finished", |status| status["state"] == "finished");
        let best = status["best_score"].as_f64().unwrap();
        assert!((best - OPTIMUM).abs() < 0.001, "{best}");
        let workers = self.containers("worker");
        assert!(!workers.is_empty());
        for worker in workers {
            assert_eq!(exit_code(&worker), 0, "{}", log(&worker));
        }
        let coordinator = self.coordinator();
        let served = docker(&["exec", &coordinator, "/rlbayes", "result", "--json"]);
        let served: Value = serde_json::from_str(&served).unwrap();
        assert_eq!(served["score"].as_f64(), Some(best));
        let out = self.folder.path().join("out");
        docker(&["cp", &format!("{coordinator}:/out"), out.to_str().unwrap()]);
        let table = in_project("data/alarm.csv");
        let bif = out.join("alarm.bif");
        let args = ["score".as_ref(), table.as_os_str(), bif.as_os_str()];
        let scored = PROGRAM.run(args.into_iter().chain(["--json".as_ref()]));
        let scored = scored.ok().json()["score"].as_f64().unwrap();
        assert!((scored - best).abs() < 1e-6, "{scored} against {best}");
        fs::remove_dir_all(out).unwrap();
    }
}

impl Drop for Project {
    #[expect(clippy::print_stderr, reason = "what a test that failed leaves behind")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            for service in ["coordinator", "worker"] {
                for container in self.containers(service) {
                    eprintln!("the log of {service} {container}:\n{}", log(&container));
                }
            }
        }
        let ran = self.compose(&["down", "--volumes", "--timeout", "2"]);
        if ran.code != Some(0) {
            eprintln!("{} stays: {ran:?}", self.name);
        }
    }
}

/// Returns how many workers a status calls alive.
pub(crate) fn alive(status: &Value) -> usize {
    let workers = status["workers"].as_array().unwrap();
    workers
        .iter()
        .filter(|worker| worker["alive"] == true)
        .count()
}

impl Compose {
    fn command(self) -> Command {
        match self {
            Self::Program => program(),
            Self::Plugin => plugin(),
        }
    }
}

/// Returns docker-compose.
///
/// # Panics
/// If it is another than the one that the tests are about.
fn program() -> Command {
    static VERSION: OnceLock<String> = OnceLock::new();
    let version = VERSION.get_or_init(|| {
        let args = ["version", "--short"];
        let ran = Command::new("docker-compose").args(args).output();
        let ran = ran.unwrap_or_else(|error| {
            panic!("docker-compose: {error} (tests/containers/install installs it)")
        });
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    });
    assert!(
        version.starts_with("1."),
        "this test is about docker-compose 1.29, and the one on the path is {version}"
    );
    Command::new("docker-compose")
}

/// Returns the plugin: that of docker, else the one that the tests have unpacked.
fn plugin() -> Command {
    static IS_INSTALLED: OnceLock<bool> = OnceLock::new();
    let is_installed = *IS_INSTALLED.get_or_init(|| {
        let version = Command::new("docker").args(["compose", "version"]).output();
        version.is_ok_and(|version| version.status.success())
    });
    if !is_installed {
        return Command::new(installed("docker-compose-v2"));
    }
    let mut command = Command::new("docker");
    command.arg("compose");
    command
}

/// Asks a port of this host; none if it does not answer with 200.
fn http_get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.split_whitespace()
        .nth(1)?
        .eq("200")
        .then(|| body.to_owned())
}
