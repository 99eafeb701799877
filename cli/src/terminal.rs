//! Messages for people on stderr and results to programs on stdout.

use crate::failure::Failure;
use crate::status_line;
use rlbayes_common::files::HALF_WRITTEN;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether messages for people go into the log, because a program reads it.
static INTO_THE_LOG: AtomicBool = AtomicBool::new(false);

/// From here on, messages for people are events of the log.
pub(crate) fn send_messages_to_the_log() {
    INTO_THE_LOG.store(true, Relaxed);
}

/// Prints messages for people, unless --quiet; warnings are always printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages {
    quiet: bool,
}

impl Messages {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Prints a line of a report.
    pub(crate) fn line(self, text: &str) {
        match (self.quiet, INTO_THE_LOG.load(Relaxed)) {
            (true, _) => {}
            (false, true) => tracing::info!("{text}"),
            (false, false) => to_stderr(text),
        }
    }

    /// Returns whether people want to see nothing but warnings.
    pub(crate) fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Prints something worth knowing.
    pub(crate) fn note(self, text: &str) {
        match (self.quiet, INTO_THE_LOG.load(Relaxed)) {
            (true, _) => {}
            (false, true) => tracing::info!("{text}"),
            (false, false) => to_stderr(&format!("note: {}", on_one_line(text))),
        }
    }

    /// Warns about a file.
    pub(crate) fn warn(self, path: &Path, text: String) {
        self.warning(&format!("{}: {text}", path.display()));
    }

    /// Warns, whether quiet or not.
    pub(crate) fn warning(self, text: &str) {
        let text = on_one_line(text);
        match INTO_THE_LOG.load(Relaxed) {
            true => tracing::warn!("{text}"),
            false => to_stderr(&format!("warning: {text}")),
        }
    }
}

/// Prints why the program ends.
pub(crate) fn print_failure(failure: &Failure) {
    if matches!(failure, Failure::Interrupted) {
        return;
    }
    let text = on_one_line(&failure.to_string());
    match INTO_THE_LOG.load(Relaxed) {
        true => tracing::error!("{text}"),
        false => to_stderr(&format!("error: {text}")),
    }
}

/// Makes a sentence of a text that may repeat names and cells of files: control characters become
/// escapes, of a very long text the middle is left out, and so are the system's numbers of errors and
/// the names of temporary files.
fn on_one_line(text: &str) -> String {
    const MOST: usize = 480;
    let mut characters = Vec::new();
    for character in without_error_numbers(text).chars() {
        if character.is_control() {
            characters.extend(character.escape_default());
        } else {
            characters.push(character);
        }
    }
    let half = MOST / 2;
    if characters.len() <= MOST {
        return characters.into_iter().collect();
    }
    let (start, end) = (&characters[..half], &characters[characters.len() - half..]);
    start.iter().chain(&[' ', '…', ' ']).chain(end).collect()
}

/// Leaves out what is put behind a system's sentence: ` (os error 2)` by the standard library, and
/// ` at path "..."` by the crate of temporary files.
fn without_error_numbers(text: &str) -> String {
    let is_number = |number: &str| number.parse::<u32>().is_ok();
    let text = without(text, " (os error ", ")", is_number);
    without(&text, " at path \"", "\"", |path| {
        path.contains(HALF_WRITTEN)
    })
}

/// Leaves out every part between two marks, and the marks, where the part is one of those meant.
fn without(text: &str, opening: &str, closing: &str, is_meant: fn(&str) -> bool) -> String {
    let mut parts = text.split(opening);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(closing) {
            Some((found, rest)) if is_meant(found) => plain.push_str(rest),
            _ => plain.extend([opening, part]),
        }
    }
    plain
}

fn to_stderr(text: &str) {
    // A closed terminal is not a reason to fail.
    let _ = writeln!(status_line::stderr(), "{text}");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_errors_are_left_out_and_nothing_else() {
        for (text, expected) in [
            ("x: gone (os error 2)", "x: gone"),
            ("a (os error 2), b (os error 13): c", "a, b: c"),
            ("column \"y (os error z)\"", "column \"y (os error z)\""),
            ("cut (os error ", "cut (os error "),
            (
                "st: full (os error 28) at path \"/st/.rlbayes-x1\"",
                "st: full",
            ),
            ("gone at path \"/st/mine\"", "gone at path \"/st/mine\""),
        ] {
            assert_eq!(on_one_line(text), expected);
        }
    }
}
