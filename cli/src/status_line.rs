//! One line on a terminal's stderr that is renewed while something runs and leaves no trace: it is
//! wiped before anything else is said, and at the end.

use rustix::termios::tcgetwinsize;
use std::io::{self, IsTerminal, Stderr, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthChar;

/// Whether the line is there now.
static IS_SHOWN: Mutex<bool> = Mutex::new(false);

/// How often the line changes at most.
const EVERY: Duration = Duration::from_millis(100);
/// Columns that stay free: a terminal writes `^C` there, and the line is still one line.
const FREE: usize = 4;
/// Brings the cursor to the start of its line and empties it.
const WIPE: &str = "\r\x1b[2K";
/// What turns, so that people see it run.
const TURNS: [char; 8] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧'];

/// The line. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct StatusLine {
    is_wanted: bool,
    turns: usize,
    drawn: Option<Instant>,
}

impl StatusLine {
    /// Makes a line that is shown where stderr is a terminal that can renew it.
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal = std::env::var("TERM");
        let can_wipe = terminal.is_ok_and(|name| !name.is_empty() && name != "dumb");
        Self {
            is_wanted: !quiet && can_wipe && io::stderr().is_terminal(),
            turns: 0,
            drawn: None,
        }
    }

    /// Shows a text instead of the one before, unless that is very young.
    pub(crate) fn show(&mut self, text: &str) {
        let now = Instant::now();
        let is_young = |drawn| now.saturating_duration_since(drawn) < EVERY;
        if !self.is_wanted || self.drawn.is_some_and(is_young) {
            return;
        }
        self.drawn = Some(now);
        self.turns = (self.turns + 1) % TURNS.len();
        let columns = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
        let columns = if columns == 0 { 80 } else { columns };
        let text = fitting(&format!("{} {text}", TURNS[self.turns]), columns);
        let Ok(mut is_shown) = IS_SHOWN.lock() else {
            return;
        };
        // A closed terminal is not a reason to fail.
        let _ = write!(io::stderr(), "{WIPE}{text}");
        *is_shown = true;
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        if self.is_wanted {
            wipe();
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Returns stderr for other words: the line is wiped before them.
pub(crate) fn stderr() -> Stderr {
    wipe();
    io::stderr()
}

fn wipe() {
    if let Ok(mut is_shown) = IS_SHOWN.lock()
        && std::mem::take(&mut *is_shown)
    {
        let _ = write!(io::stderr(), "{WIPE}");
    }
}

/// Takes what fits into a terminal of a width.
fn fitting(text: &str, columns: usize) -> String {
    let mut room = columns.saturating_sub(FREE);
    let letters = text.chars().map_while(|letter| {
        room = room.checked_sub(letter.width().unwrap_or(0))?;
        Some(letter)
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_leaves_room_for_a_key_that_the_terminal_shows() {
        assert_eq!(fitting("0123456789", 10), "012345");
        assert_eq!(fitting("您您您您您", 10), "您您您");
        assert_eq!(fitting("short", 80), "short");
        assert_eq!(fitting("none", 3), "");
    }
}
