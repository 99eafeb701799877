//! The stack on a Swarm of one node.

use crate::docker::{OPTIMUM, SOON, change_engine, docker, in_project, kill_process, log, run};
use crate::project::alive;
use rlbayes_tests::{BestShown, Running, wait_for_status, wait_until};
use serde_json::Value;
use std::process::Command;
use std::sync::RwLockWriteGuard;
use std::thread::sleep;
use std::time::Duration;

/// A Swarm that was made for the test and is left at its end.
struct Swarm {
    // Dropped after the Swarm is left.
    _engine: RwLockWriteGuard<'static, ()>,
}

impl Swarm {
    fn new() -> Self {
        let engine = change_engine();
        docker(&[
            "swarm",
            "init",
            "--advertise-addr",
            "127.0.0.1",
            "--listen-addr",
            "127.0.0.1",
        ]);
        let swarm = Self { _engine: engine };
        // Where the coordinator and its volumes stay.
        let node = docker(&["info", "--format", "{{.Swarm.NodeID}}"]);
        docker(&[
            "node",
            "update",
            "--label-add",
            "rlbayes=coordinator",
            &node,
        ]);
        swarm
    }
}

impl Drop for Swarm {
    fn drop(&mut self) {
        run("docker", ["swarm", "leave", "--force"]);
    }
}

/// A stack. It is removed at the end.
struct Stack(String);

impl Stack {
    fn deploy(settings: &[(&str, &str)]) -> Self {
        let stack = Self(format!("rlbayes-test-{}", std::process::id()));
        let file = in_project("deploy/stack.yaml");
        let mut command = Command::new("docker");
        command
            .args([
                "stack",
                "deploy",
                "--resolve-image",
                "never",
                "--compose-file",
            ])
            .arg(file)
            .arg(&stack.0);
        Running::with_settings(command, settings).wait(SOON).ok();
        stack
    }

    /// Returns the running containers of a service.
    fn containers(&self, service: &str) -> Vec<String> {
        let service = format!("label=com.docker.swarm.service.name={}_{service}", self.0);
        let text = docker(&["ps", "--quiet", "--no-trunc", "--filter", &service]);
        text.lines().map(str::to_owned).collect()
    }

    /// Asks in the coordinator's container; none while there is none.
    fn ask(&self, question: &str) -> Option<Value> {
        let coordinator = self.containers("coordinator").pop()?;
        let ran = run(
            "docker",
            ["exec", &coordinator, "/rlbayes", question, "--json"],
        );
        serde_json::from_str(&ran.stdout).ok()
    }

    /// Waits until another task has taken the place of a worker's, and all search.
    fn wait_for_replacement(&self, worker: &str) {
        wait_until("another task takes its place", SOON, || {
            let now = self.containers("worker");
            now.len() == 3 && !now.iter().any(|one| one == worker)
        });
        let before = self.ask("status").map_or(0, |status| evaluations(&status));
        self.wait_for("three workers search again", |status| {
            alive(status) == 3 && evaluations(status) > before
        });
    }

    fn wait_for(&self, what: &str, holds: impl FnMut(&Value) -> bool) {
        let best = BestShown::default();
        let status = || {
            let status = self.ask("status")?;
            best.see(status["best_score"].as_f64());
            Some(status)
        };
        wait_for_status(what, SOON, status, holds, String::new);
    }
}

impl Drop for Stack {
    #[expect(clippy::print_stderr, reason = "what a test that failed leaves behind")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            for args in [&["stack", "ps", "--no-trunc"][..], &["stack", "services"]] {
                let ran = run("docker", args.iter().chain([&self.0.as_str()]));
                eprintln!("{}{}", ran.stdout, ran.stderr);
            }
        }
        run("docker", ["stack", "rm", &self.0]);
        let of_stack = format!("label=com.docker.stack.namespace={}", self.0);
        wait_until("the containers are gone", SOON, || {
            docker(&["ps", "--all", "--quiet", "--filter", &of_stack]).is_empty()
        });
        let volumes = docker(&["volume", "ls", "--quiet", "--filter", &of_stack]);
        run(
            "docker",
            ["volume", "rm"].into_iter().chain(volumes.lines()),
        );
    }
}

fn evaluations(status: &Value) -> u64 {
    status["evaluations"].as_u64().unwrap()
}

#[test]
fn a_stack_replaces_tasks_that_end_and_keeps_its_workers_after_the_search() {
    let _swarm = Swarm::new();
    let stack = Stack::deploy(&[("RLBAYES_STAGNATION", "1h"), ("RLBAYES_LEASE", "3s")]);
    stack.wait_for("three workers search", |status| {
        alive(status) == 3 && evaluations(status) > 0
    });
    let killed = stack.containers("worker").remove(0);
    kill_process(&killed);
    stack.wait_for_replacement(&killed);
    // This one hands its chains over and exits with 0.
    let stopped = stack.containers("worker").remove(0);
    docker(&["stop", &stopped]);
    stack.wait_for_replacement(&stopped);
    stack.wait_for("the optimum", |status| {
        (status["best_score"].as_f64().unwrap() - OPTIMUM).abs() < 0.001
    });
    let workers = stack.containers("worker");
    assert_eq!(stack.ask("stop").unwrap()["stopped_by"], "stop");
    for worker in &workers {
        wait_until("it knows", SOON, || {
            log(worker).contains("the search is over")
        });
    }
    // Long enough for one that exits to be replaced.
    sleep(Duration::from_secs(10));
    assert_eq!(stack.containers("worker"), workers, "all are still there");
    let result = stack.ask("result").expect("the coordinator serves on");
    assert!((result["score"].as_f64().unwrap() - OPTIMUM).abs() < 0.001);
}
