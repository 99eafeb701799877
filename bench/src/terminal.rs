//! Results on stdout; progress and remarks on stderr.

use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{ErrorKind, Write};
use std::time::Duration;

/// Prints text on stdout; a reader that went away is not a failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes());
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::input(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line on stderr.
pub(crate) fn remark(text: &str) {
    // A closed terminal is not a reason to fail.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Shows a bar over a number of runs on stderr, where that is a terminal.
pub(crate) fn bar_over(count: usize) -> ProgressBar {
    let bar = ProgressBar::new(count as u64);
    bar.set_style(
        ProgressStyle::with_template("{bar:24} {pos}/{len} · {elapsed} · {eta} left · {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
