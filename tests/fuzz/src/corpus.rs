//! Inputs on disk: a folder for each target, a file for each input, named by its hash.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the corpus of the repository.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Reads the inputs of a target, by name.
#[must_use]
pub fn read(folder: &Path, target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder.join(target))
        .into_iter()
        .flatten()
        .flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .into_iter()
        .filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes)))
        .collect()
}

/// Writes an input of a target and returns where.
///
/// # Errors
/// If the disk refuses.
pub fn write(folder: &Path, target: &str, input: &[u8]) -> io::Result<PathBuf> {
    let folder = folder.join(target);
    fs::create_dir_all(&folder)?;
    let name = blake3::hash(input).to_hex();
    let path = folder.join(&name.as_str()[..16]);
    fs::write(&path, input)?;
    Ok(path)
}
