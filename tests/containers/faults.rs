//! What clusters do to programs, done to containers under a search: kills, pauses, cuts, restarts.

use crate::docker::{docker, inspect, kill_process, pause, wait_for_restart};
use crate::project::{Compose, Project, alive};
use std::thread::sleep;
use std::time::Duration;

/// A search that runs until somebody stops it.
const ENDLESS: [(&str, &str); 4] = [
    ("RLBAYES_STAGNATION", "1h"),
    ("RLBAYES_LEASE", "3s"),
    ("RLBAYES_EXCHANGE_EVERY", "500ms"),
    ("RLBAYES_WORKER_CPUS", "0.3"),
];

/// Does the same to a worker, the coordinator and both, and waits each time until all are back.
fn after_each(compose: Compose, name: &str, ends_and_comes_back: impl Fn(&[&str])) {
    let project = Project::new(compose, name, &ENDLESS);
    project.up(2);
    project.wait_for_workers(2);
    let worker = project.containers("worker").remove(0);
    let coordinator = project.coordinator();
    for victims in [
        vec![worker.as_str()],
        vec![&coordinator],
        vec![&worker, &coordinator],
    ] {
        let before = arrivals(&project, &victims);
        ends_and_comes_back(&victims);
        project.wait_for_arrivals(&before);
        project.wait_for_workers(2);
    }
    project.stop_and_check();
}

#[test]
fn killed_processes_are_brought_back_by_the_restart_policy() {
    after_each(Compose::Program, "kill-nine", |victims| {
        let times: Vec<i64> = victims.iter().map(|id| restarts(id)).collect();
        for victim in victims {
            kill_process(victim);
        }
        for (victim, times) in victims.iter().zip(times) {
            wait_for_restart(victim, times);
        }
    });
}

#[test]
fn killed_containers_go_on_where_they_were_when_they_are_started_again() {
    after_each(Compose::Plugin, "docker-kill", |victims| {
        docker(&[&["kill"], victims].concat());
        for victim in victims {
            // Killed by hand: no policy revives it.
            assert_eq!(inspect(victim)["State"]["Running"], false);
        }
        docker(&[&["start"], victims].concat());
    });
}

#[test]
fn a_paused_worker_and_one_without_network_come_back() {
    let project = Project::new(Compose::Program, "pause-cut", &ENDLESS);
    project.up(3);
    project.wait_for_workers(3);
    let workers = project.containers("worker");
    pause(&workers[0]);
    docker(&["network", "disconnect", &project.network(), &workers[1]]);
    // The fault is as long as this, whatever is seen meanwhile.
    sleep(Duration::from_secs(30));
    project.wait_for("one is alive", |status| alive(status) == 1);
    docker(&["unpause", &workers[0]]);
    docker(&["network", "connect", &project.network(), &workers[1]]);
    project.wait_for_workers(3);
    for worker in &workers {
        assert_eq!(restarts(worker), 0);
    }
    project.stop_and_check();
}

#[test]
fn workers_find_a_coordinator_that_was_paused() {
    let project = Project::new(Compose::Plugin, "pause", &ENDLESS);
    project.up(2);
    project.wait_for_workers(2);
    let coordinator = project.coordinator();
    pause(&coordinator);
    // The fault is as long as this, whatever is seen meanwhile.
    sleep(Duration::from_secs(30));
    docker(&["unpause", &coordinator]);
    project.wait_for_workers(2);
    for container in [project.containers("worker"), vec![coordinator]].concat() {
        assert_eq!(restarts(&container), 0);
    }
    project.stop_and_check();
}

#[test]
fn a_search_resumes_after_down_and_up() {
    let project = Project::new(Compose::Plugin, "down-up", &ENDLESS);
    project.up(2);
    project.wait_for_workers(2);
    let before = project.status().expect("the coordinator serves");
    project.down();
    assert!(project.containers("coordinator").is_empty());
    project.up(2);
    project.wait_for_workers(2);
    let after = project.status().expect("the coordinator serves");
    for counter in ["evaluations", "iterations"] {
        assert!(
            after[counter].as_u64() > before[counter].as_u64(),
            "{counter}: {after}"
        );
    }
    project.stop_and_check();
}

/// Returns how often each of them has come to take part.
fn arrivals<'a>(project: &Project, containers: &[&'a str]) -> Vec<(&'a str, usize)> {
    let times = |&id: &&'a str| (id, project.arrivals(id));
    containers.iter().map(times).collect()
}

fn restarts(container: &str) -> i64 {
    inspect(container)["RestartCount"].as_i64().unwrap()
}
