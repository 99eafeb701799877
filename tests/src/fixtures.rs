//! Where the bundled tables, networks and broken files are, and small changes to them.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns a file of the `data` folder.
#[must_use]
pub fn data(name: &str) -> PathBuf {
    root().join("data").join(name)
}

/// Returns a bundled network.
#[must_use]
pub fn network(name: &str) -> PathBuf {
    root().join("data/networks").join(format!("{name}.bif"))
}

/// Returns a file of the tests' fixtures.
#[must_use]
pub fn fixture(name: &str) -> PathBuf {
    root().join("tests/fixtures").join(name)
}

/// Returns the files of a folder of fixtures, by name.
#[must_use]
pub fn fixtures_in(folder: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(fixture(folder))
        .expect("the folder of fixtures is there")
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

/// Writes a file into a folder and returns where it is.
pub fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    path
}

/// Writes a plain table again with its columns in another order: every second one from the end,
/// then the others.
#[must_use]
pub fn shuffled_columns(table: &Path, folder: &Path) -> PathBuf {
    let text = fs::read_to_string(table).unwrap();
    assert!(!text.contains('"'), "the table has no quoted cells");
    let mut shuffled = String::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split(',').collect();
        let (odd, even): (Vec<usize>, Vec<usize>) =
            (0..cells.len()).rev().partition(|at| at % 2 == 1);
        let order: Vec<&str> = odd.into_iter().chain(even).map(|at| cells[at]).collect();
        shuffled.push_str(&order.join(","));
        shuffled.push('\n');
    }
    write(folder, "shuffled.csv", shuffled)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package is a folder of the workspace")
}
