//! The stack on a Swarm of one node.

use crate::docker::{OPTIMUM, SOON, change_engine, docker, in_project, kill_process, run};
use rlbayes_tests::{Running, wait_until};
use serde_json::Value;
use std::process::Command;
use std::sync::RwLockWriteGuard;

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

    fn wait_for(&self, what: &str, mut holds: impl FnMut(&Value) -> bool) {
        let mut best = f64::NEG_INFINITY;
        wait_until(what, SOON, || {
            self.ask("status").is_some_and(|status| {
                let now = status["best_score"].as_f64().unwrap_or(f64::NEG_INFINITY);
                assert!(now >= best, "{now} after {best}");
                best = now;
                holds(&status)
            })
        });
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

#[test]
fn a_stack_survives_a_killed_task_and_reaches_the_optimum() {
    let _swarm = Swarm::new();
    let stack = Stack::deploy(&[("RLBAYES_STAGNATION", "1h"), ("RLBAYES_LEASE", "3s")]);
    let alive = |status: &Value| crate::project::alive(status);
    stack.wait_for("three workers search", |status| {
        alive(status) == 3 && status["evaluations"].as_u64() > Some(0)
    });
    let before = stack.containers("worker");
    kill_process(&before[0]);
    wait_until("another task takes its place", SOON, || {
        let now = stack.containers("worker");
        now.len() == 3 && !now.contains(&before[0])
    });
    stack.wait_for("three workers search again", |status| {
        let workers = status["workers"].as_array().unwrap();
        workers.len() > 3 && alive(status) == 3
    });
    stack.wait_for("the optimum", |status| {
        (status["best_score"].as_f64().unwrap() - OPTIMUM).abs() < 0.001
    });
    assert_eq!(stack.ask("stop").unwrap()["stopped_by"], "stop");
    wait_until("workers leave and are not replaced", SOON, || {
        stack.containers("worker").is_empty()
    });
    let result = stack.ask("result").expect("the coordinator serves on");
    assert!((result["score"].as_f64().unwrap() - OPTIMUM).abs() < 0.001);
}
