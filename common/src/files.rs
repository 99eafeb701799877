//! Files that are there whole or not at all, broken ones that are set aside, and what belongs to a
//! search's state, which is for its owner alone: it holds the table.

use crate::failpoint;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How the names of files begin that are not yet whole.
pub const HALF_WRITTEN: &str = ".rlbayes-";

/// Writes a file by write and rename, so that it is there whole or not at all.
///
/// # Errors
/// If the disk refuses; then what was there before is still there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, bytes, ANYBODY)
}

/// Writes a file as [`write_whole`] does, for its owner alone.
///
/// # Errors
/// As there.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, bytes, OWNER)
}

/// The rights of a file before the mask of the process: those of any new file, and the owner's.
const ANYBODY: u32 = 0o666;
const OWNER: u32 = 0o600;

/// Makes a folder and those above it, for their owner alone. Folders that are there stay as they are.
///
/// # Errors
/// If the disk refuses.
pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Opens a file for reading and writing, or makes it, for its owner alone.
///
/// # Errors
/// If the disk refuses.
pub fn open_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(OWNER);
    }
    options.open(path)
}

/// Removes what a kill left half-written in a folder that no other process writes to now. A file that
/// cannot be removed stays.
pub fn sweep(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with(HALF_WRITTEN)
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn write_with(path: &Path, bytes: &[u8], rights: u32) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut unfinished = builder(rights).prefix(HALF_WRITTEN).tempfile_in(folder)?;
    unfinished.write_all(bytes)?;
    failpoint::pass("whole-file-before-sync");
    unfinished.as_file().sync_all()?;
    failpoint::pass("whole-file-before-rename");
    unfinished.persist(path)?;
    // The rename itself is durable once the folder is.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Makes files with given rights, less what the mask of the process takes away.
fn builder(rights: u32) -> tempfile::Builder<'static, 'static> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "rights are set on unix"))]
    let mut builder = tempfile::Builder::new();
    #[cfg(not(unix))]
    let _ = rights;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(rights));
    }
    builder
}

/// How many broken files of one name are kept; the last one is replaced by further ones.
const MOST_ASIDE: usize = 100;

/// Returns a name that no earlier broken file has.
fn name_aside(path: &Path) -> PathBuf {
    let named = |ending: String| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let mut later = (2..=MOST_ASIDE).map(|number| named(format!(".broken-{number}")));
    let first = named(".broken".into());
    let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
    match is_free(&first) {
        true => first,
        false => later
            .find(is_free)
            .unwrap_or_else(|| named(format!(".broken-{MOST_ASIDE}"))),
    }
}

/// Renames a broken file and returns a sentence that says so. An earlier one of its name stays.
#[must_use]
pub fn set_aside(path: &Path, problem: &str) -> String {
    let aside = name_aside(path);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        for text in ["first", "second, longer"] {
            write_whole(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(folder.path()), ["result.json"]);
        fs::create_dir(folder.path().join("taken")).unwrap();
        assert!(write_whole(&folder.path().join("taken"), b"x").is_err());
        assert_eq!(names(folder.path()).len(), 2, "nothing half-written");
    }

    #[test]
    fn broken_files_of_one_name_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        for text in ["one", "two", "three"] {
            fs::write(&path, text).unwrap();
            assert!(set_aside(&path, "damaged").contains("set aside as"));
        }
        let kept = ["journal.broken", "journal.broken-2", "journal.broken-3"];
        let texts = kept.map(|name| fs::read_to_string(folder.path().join(name)).unwrap());
        assert_eq!(texts, ["one", "two", "three"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_has_the_rights_of_any_new_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (ours, usual) = (folder.path().join("ours"), folder.path().join("usual"));
        write_whole(&ours, b"x").unwrap();
        fs::write(&usual, b"x").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&usual));
    }

    #[cfg(unix)]
    #[test]
    fn what_belongs_to_a_state_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = place.path().join("state/chains");
        make_private_folder(&folder).unwrap();
        make_private_folder(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&place.path().join("state")), 0o700);
        write_private(&folder.join("written"), b"x").unwrap();
        drop(open_private(&folder.join("opened")).unwrap());
        assert_eq!(mode(&folder.join("written")), 0o600);
        assert_eq!(mode(&folder.join("opened")), 0o600);
    }

    #[test]
    fn only_what_is_half_written_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".rlbayes-x1", ".rlbayes-link-a.bif", "kept", ".hidden"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        fs::create_dir(folder.path().join(".rlbayes-folder")).unwrap();
        sweep(folder.path());
        sweep(&folder.path().join("nowhere"));
        let mut left = names(folder.path());
        left.sort();
        assert_eq!(left, [".hidden", ".rlbayes-folder", "kept"]);
    }
}
