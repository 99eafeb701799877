//! A worker's state folder: one process at a time, nothing half-written, nobody else's business; and a
//! `--memory` that is kept.

use crate::{rlbayes, start_cluster};
use rlbayes_tests::{SOON, killed, resident_bytes, wait_until};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const ASIA: &str = "asia_n1000_s1.csv.gz";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_second_worker_on_a_folder_is_refused_and_a_kill_leaves_no_lock() {
    let cluster = start_cluster(ASIA, &["--time", "1h"]);
    let first = cluster.worker("one");
    cluster.wait_for("it searches", |status| status.evaluations > 0);
    let ran = cluster.worker("one").wait(SOON);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("in use by another worker"), "{ran:?}");
    killed(first);

    let folder = cluster.path("one");
    let left = ["", "data", "chains"].map(|name| folder.join(name).join(".rlbayes-left"));
    for path in &left {
        fs::write(path, "half").unwrap();
    }
    let _again = cluster.worker("one");
    wait_until("what was left is swept", SOON, || {
        left.iter().all(|path| !path.exists())
    });
    let seen = cluster.status().unwrap().evaluations;
    cluster.wait_for("it searches again", |status| status.evaluations > seen);
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("data")), 0o700);
    let table = fs::read_dir(folder.join("data")).unwrap().next().unwrap();
    assert_eq!(mode(&table.unwrap().path()), 0o600);
    assert_eq!(mode(&cluster.journal()), 0o600);
}

#[test]
fn a_worker_keeps_within_its_memory_or_says_what_it_needs() {
    const MEMORY: u64 = 64 << 20;
    let cluster = start_cluster("link_n1000_s1.csv.gz", &["--time", "1h"]);
    let small = cluster.worker_with("small", &cluster.url(), &["--memory", "8MiB"], &[]);
    let ran = small.wait(SOON);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("bytes of memory; 8388608 were allowed"),
        "{ran:?}"
    );
    let fits = cluster.worker_with("fits", &cluster.url(), &["--memory", "64MiB"], &[]);
    for step in 1..=5 {
        cluster.wait_for("it searches", |status| status.evaluations > step * 200_000);
        let held = resident_bytes(&fits);
        assert!(held <= MEMORY, "{held}");
    }
    rlbayes(["stop", &cluster.url()]).ok();
}
