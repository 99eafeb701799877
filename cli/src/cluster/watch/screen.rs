//! The terminal: its alternate screen, its size, and its settings before and after.

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Mutex;

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Bold,
    Dim,
    /// Something is wrong.
    Alarm,
    /// The bar at the top.
    Bar,
    /// The curve.
    Line,
}

impl Style {
    /// The terminal's command for it; none of them sets a background, whatever the theme is.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Bold => "0;1",
            Self::Dim => "0;2",
            Self::Alarm => "0;1;31",
            Self::Bar => "0;7",
            Self::Line => "0;36",
        }
    }
}

/// A line of the screen, no wider than it.
pub(super) type Line = Vec<(Style, String)>;

/// The terminal's settings as they were, until they are put back.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

/// The alternate screen. Dropped, it leaves the terminal as it was.
pub(super) struct Screen;

impl Screen {
    /// Opens it. A panic restores the terminal before it is told.
    pub(super) fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin)?;
        let mut raw = before.clone();
        raw.make_raw();
        if let Ok(mut kept) = BEFORE.lock() {
            *kept = Some(before);
        }
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |what| {
            restore();
            usual(what);
        }));
        let screen = Self;
        tcsetattr(&stdin, OptionalActions::Now, &raw)?;
        write_out(ENTER)?;
        Ok(screen)
    }

    /// Returns width and height in characters.
    pub(super) fn size(&self) -> (usize, usize) {
        match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                (usize::from(size.ws_col), usize::from(size.ws_row))
            }
            _ => (80, 24),
        }
    }

    /// Draws lines from the top; what was below them goes.
    pub(super) fn draw(&mut self, lines: &[Line]) -> io::Result<()> {
        // Terminals that know it show the picture once it is whole.
        let mut text = String::from("\x1b[?2026h\x1b[H");
        for (number, line) in lines.iter().enumerate() {
            if number > 0 {
                text.push_str("\r\n");
            }
            for (style, piece) in line {
                let _ = write!(text, "\x1b[{}m{piece}", style.code());
            }
            text.push_str("\x1b[0m\x1b[K");
        }
        text.push_str("\x1b[J\x1b[?2026l");
        write_out(&text)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Puts the terminal back, once.
fn restore() {
    let Some(before) = BEFORE.lock().ok().and_then(|mut kept| kept.take()) else {
        return;
    };
    // A terminal that is gone needs nothing.
    let _ = write_out(LEAVE);
    let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &before);
}

fn write_out(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
