//! Files that are there whole or not at all, and broken ones that are set aside.

use crate::failpoint;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How the names of files begin that are not yet whole.
pub const HALF_WRITTEN: &str = ".rlbayes-";

/// Writes a file by write and rename, so that it is there whole or not at all.
///
/// # Errors
/// If the disk refuses; then what was there before is still there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let (unfinished, mut file) = unfinished_in(folder)?;
    let written = file
        .write_all(bytes)
        .inspect(|()| failpoint::pass("whole-file-before-sync"))
        .and_then(|()| file.sync_all())
        .inspect(|()| failpoint::pass("whole-file-before-rename"))
        .and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        // The reason is on its way to the caller.
        let _ = fs::remove_file(&unfinished);
        return written;
    }
    // The rename itself is durable once the folder is.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

fn unfinished_in(folder: &Path) -> io::Result<(PathBuf, File)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Relaxed);
        let name = format!("{HALF_WRITTEN}{}-{number}", std::process::id());
        let path = folder.join(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            // Left by a process that was killed and had the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1 << 16 => {}
            Err(error) => return Err(error),
        }
    }
}

/// Renames a broken file and returns a sentence that says so.
#[must_use]
pub fn set_aside(path: &Path, problem: &str) -> String {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".broken");
    let aside = PathBuf::from(aside);
    match fs::rename(path, &aside) {
        Ok(()) => format!(
            "{}: {problem}; set aside as {}",
            path.display(),
            aside.display()
        ),
        Err(error) => format!(
            "{}: {problem}; it cannot be set aside: {error}",
            path.display()
        ),
    }
}
