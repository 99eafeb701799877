//! Where a result goes: into a file that is there whole or not at all, or to standard output.
//! Whether a file can be written is checked before the work, and said without names of temporary
//! files.

use crate::failure::Failure;
use crate::file_roles::STANDARD;
use rlbayes::write_packed;
use rlbayes_common::files::HALF_WRITTEN;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A place for a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Standard output: `-`.
    Stdout,
    /// A file.
    File(PathBuf),
}

impl Target {
    /// Checks that the place can be written.
    pub(crate) fn new(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == STANDARD {
            return Ok(Self::Stdout);
        }
        let target = Self::File(path.to_owned());
        match fs::metadata(path) {
            Ok(about) if about.is_dir() => {
                let what = "is a folder (expected a file to write)";
                return Err(Failure::file(path, what));
            }
            // A device or a pipe: nothing is renamed there.
            Ok(about) if !about.is_file() => return Ok(target),
            _ => {}
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let shown = folder.display();
        match fs::metadata(folder) {
            Ok(about) if about.is_dir() => {}
            Ok(_) => {
                let what = format!("{shown} is not a folder");
                return Err(Failure::file(path, what));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let what = format!("there is no folder {shown}");
                return Err(Failure::file(path, what));
            }
            Err(error) => return Err(Failure::file(path, words(&error))),
        }
        tempfile::Builder::new()
            .prefix(HALF_WRITTEN)
            .tempfile_in(folder)
            .map_err(|error| {
                let what = format!(
                    "no file can be written into the folder {shown}: {}",
                    words(&error)
                );
                Failure::file(path, what)
            })?;
        Ok(target)
    }

    /// Returns the file; none: standard output.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdout => None,
            Self::File(path) => Some(path),
        }
    }

    /// Writes the result, as a whole.
    pub(crate) fn write(&self, bytes: Vec<u8>) -> Result<(), Failure> {
        let path = match self {
            Self::Stdout => return print_bytes(&bytes),
            Self::File(path) => path,
        };
        let is_special = fs::metadata(path).is_ok_and(|about| !about.is_file());
        let written = match is_special {
            true => fs::OpenOptions::new()
                .write(true)
                .open(path)
                .and_then(|mut file| file.write_all(&bytes)),
            false => write_packed(path, bytes),
        };
        written
            .map_err(|error| Failure::file(path, format!("cannot be written: {}", words(&error))))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("standard output"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Prints bytes on stdout; a reader that went away ends the program quietly.
fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::input(format!(
            "standard output cannot be written: {}",
            words(&error)
        ))),
        _ => Ok(()),
    }
}

/// Says what the system says, without numbers and without names of temporary files.
pub(crate) fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "permission is denied".to_owned(),
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        io::ErrorKind::NotADirectory => "a part of the path is not a folder".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        kind => {
            // Behind the kind's own words there may be the path of a temporary file.
            let text = error.to_string();
            match text.split_once(" (os error ") {
                Some((words, _)) => words.to_owned(),
                None if text.contains(HALF_WRITTEN) => kind.to_string(),
                None => text,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_said_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "x").unwrap();
        fs::create_dir(at("x.bif")).unwrap();
        for (name, expected) in [
            ("none/x.bif", "there is no folder"),
            ("file/x.bif", "is not a folder"),
            ("x.bif", "is a folder"),
        ] {
            let message = Target::new(&at(name)).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
            assert!(!message.contains("os error"), "{message}");
            assert!(!message.contains(HALF_WRITTEN), "{message}");
        }
        assert_eq!(Target::new(Path::new("-")).unwrap(), Target::Stdout);
        let whole = Target::new(&at("y.txt")).unwrap();
        whole.write(b"all".to_vec()).unwrap();
        assert_eq!(fs::read(at("y.txt")).unwrap(), b"all");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_device_is_written_and_not_replaced() {
        let null = Target::new(Path::new("/dev/null")).unwrap();
        null.write(b"gone".to_vec()).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn a_systems_error_has_no_number() {
        let number = io::Error::from_raw_os_error(28);
        assert_eq!(words(&number), "the disk is full");
        let other = io::Error::from_raw_os_error(5);
        assert!(!words(&other).contains("os error"), "{}", words(&other));
    }
}
