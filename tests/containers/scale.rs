//! Workers come and go by `--scale` while the search runs.

use crate::project::{Compose, Project};

#[test]
fn workers_scale_from_one_to_five_to_two_by_the_program() {
    workers_scale(Compose::Program);
}

#[test]
fn workers_scale_from_one_to_five_to_two_by_the_plugin() {
    workers_scale(Compose::Plugin);
}

fn workers_scale(compose: Compose) {
    let settings = [
        ("RLBAYES_STAGNATION", "1h"),
        ("RLBAYES_LEASE", "3s"),
        ("RLBAYES_WORKER_CPUS", "0.3"),
    ];
    let project = Project::new(compose, "scale", &settings);
    for workers in [1, 5, 2] {
        project.up(workers);
        project.wait_for_workers(workers);
    }
    project.stop_and_check();
}
