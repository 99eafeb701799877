//! The first `up`: the bundled table, its proven optimum.

use crate::docker::{docker, exit_code, inspect, log, wait_for_health};
use crate::project::{Compose, Project};
use std::time::{Duration, Instant};

#[test]
fn the_optimum_of_the_bundled_table_is_found_by_the_program() {
    three_workers_find_the_optimum(Compose::Program);
}

#[test]
fn the_optimum_of_the_bundled_table_is_found_by_the_plugin() {
    three_workers_find_the_optimum(Compose::Plugin);
}

fn three_workers_find_the_optimum(compose: Compose) {
    // So long that the last worker comes before the end, however busy the machine is.
    let settings = [
        ("RLBAYES_STAGNATION", "30s"),
        ("RLBAYES_WORKER_CPUS", "0.5"),
    ];
    let project = Project::new(compose, "up", &settings);
    project.up(3);
    project.wait_for("three workers have taken part", |status| {
        status["workers"].as_array().unwrap().len() == 3
    });
    let containers = [
        project.containers("coordinator"),
        project.containers("worker"),
    ]
    .concat();
    assert_eq!(containers.len(), 4);
    for container in &containers {
        let settings = inspect(container);
        let host = &settings["HostConfig"];
        assert_eq!(host["ReadonlyRootfs"], true);
        assert_eq!(host["CapDrop"][0], "ALL");
        assert_eq!(host["SecurityOpt"][0], "no-new-privileges:true");
        assert_eq!(host["RestartPolicy"]["Name"], "on-failure");
        assert!(host["Memory"].as_u64().unwrap() > 0);
        assert!(host["NanoCpus"].as_u64().unwrap() > 0);
        assert_eq!(settings["Config"]["User"], "65532:65532");
    }
    // Workers may warn that nobody listens yet.
    let logged = log(&project.coordinator());
    assert!(!logged.contains("WARN"), "{logged}");
    let published = docker(&["port", &project.coordinator()]);
    assert!(
        published.lines().all(|line| line.contains("-> 127.0.0.1:")),
        "{published}"
    );
    wait_for_health(&project.coordinator());
    ends_by_stagnation(&project);
    // Again, with everything as it is: the search is over, and workers see that at once.
    project.down();
    project.up(1);
    project.check_end();
}

#[test]
fn without_settings_the_search_ends_by_itself() {
    // But for the published port.
    let project = Project::new(Compose::Program, "no-settings", &[]);
    project.up(1);
    ends_by_stagnation(&project);
}

/// Waits for the end, and asks why as people ask.
fn ends_by_stagnation(project: &Project) {
    project.check_end();
    let shown = docker(&["exec", &project.coordinator(), "/rlbayes", "status"]);
    assert!(
        shown.contains("finished (stopped by stagnation)"),
        "{shown}"
    );
}

#[test]
fn containers_become_healthy_and_stop_within_their_own_time() {
    for compose in [Compose::Program, Compose::Plugin] {
        let settings = [("RLBAYES_STAGNATION", "1h"), ("RLBAYES_WORKER_CPUS", "0.5")];
        let project = Project::new(compose, "stop", &settings);
        project.up(1);
        project.wait_for_workers(1);
        let worker = project.containers("worker").remove(0);
        // A worker that is stopped hands its chains over; a search that is stopped is not finished.
        for (container, grace, code) in [(worker, 60, 0), (project.coordinator(), 90, 130)] {
            wait_for_health(&container);
            assert_eq!(inspect(&container)["Config"]["StopTimeout"], grace);
            let begun = Instant::now();
            docker(&["stop", &container]);
            assert!(begun.elapsed() < Duration::from_secs(grace), "{compose:?}");
            assert_eq!(exit_code(&container), code, "{}", log(&container));
        }
    }
}
