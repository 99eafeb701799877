//! Words to people on stderr and results to programs on stdout.

use crate::failure::Failure;
use std::io::Write;
use std::path::Path;

/// Speaks to people, unless told to be quiet; warnings are always said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Say {
    quiet: bool,
}

impl Say {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Says a line of a report.
    pub(crate) fn line(self, text: &str) {
        if !self.quiet {
            to_stderr(text);
        }
    }

    /// Says something worth knowing.
    pub(crate) fn note(self, text: &str) {
        if !self.quiet {
            to_stderr(&format!("note: {text}"));
        }
    }

    /// Warns about a file.
    pub(crate) fn warn(self, path: &Path, text: String) {
        if !self.quiet {
            to_stderr(&format!("warning: {}: {text}", path.display()));
        }
    }
}

/// Says why the program ends.
pub(crate) fn say_failure(failure: &Failure) {
    match failure {
        Failure::Interrupted => {}
        _ => to_stderr(&format!("error: {failure}")),
    }
}

fn to_stderr(text: &str) {
    // A closed terminal is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints text on stdout; a reader that went away ends the program quietly.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::input(format!("cannot write to stdout: {error}"))),
    }
}

/// Prints one JSON object on stdout.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}
