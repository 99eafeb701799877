//! What stands between the cells of a row: given, known from the file's ending, or guessed from the
//! header line.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use thiserror::Error;

/// The byte between two cells.
///
/// ```
/// use rlbayes_common::data::Delimiter;
/// assert_eq!("tab".parse(), Ok(Delimiter::TAB));
/// assert_eq!("|".parse::<Delimiter>().unwrap().byte(), b'|');
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delimiter(u8);

/// Why text does not name a delimiter.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "\"{}\" is not a delimiter; expected comma, tab, semicolon, space or one ASCII punctuation \
     character that is not a quote",
    .0.escape_debug()
)]
pub struct DelimiterError(String);

impl Delimiter {
    /// `,`
    pub const COMMA: Self = Self(b',');
    /// The tab character.
    pub const TAB: Self = Self(b'\t');
    /// `;`
    pub const SEMICOLON: Self = Self(b';');
    /// `|`
    pub const BAR: Self = Self(b'|');
    /// Any number of blanks.
    pub const BLANK: Self = Self(b' ');

    /// Returns the byte.
    #[must_use]
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// Returns whether it is the blank, of which any number counts as one.
    #[must_use]
    pub const fn is_blank(self) -> bool {
        self.0 == b' '
    }

    /// Returns what the file's ending means: tabs for `.tsv` and `.tab`, also in a packed file.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let plain = [".gz", ".zst", ".xz"]
            .iter()
            .find_map(|packed| name.strip_suffix(packed))
            .unwrap_or(&name);
        (plain.ends_with(".tsv") || plain.ends_with(".tab")).then_some(Self::TAB)
    }

    /// Guesses from the first lines of a text.
    ///
    /// The candidate that stands most often in the header line wins, outside quotes; one that
    /// stands as often in every other line goes before one that does not. Blanks are only taken if
    /// nothing else is there and all lines have as many cells. In a tie the first of comma, tab,
    /// semicolon and bar is taken, and a comma if there is none of them.
    pub(crate) fn guess(text: &[u8]) -> Self {
        let lines = first_lines(text);
        let Some((header, others)) = lines.split_first() else {
            return Self::COMMA;
        };
        let mut best = (Self::COMMA, (false, 0));
        for candidate in [Self::COMMA, Self::TAB, Self::SEMICOLON, Self::BAR] {
            let count = candidate.count_in(header);
            let even = others.iter().all(|line| {
                let cells = candidate.count_in(line);
                // R's write.table gives no name to the column of row names.
                cells == count || cells == count + 1
            });
            if count > 0 && (even, count) > best.1 {
                best = (candidate, (even, count));
            }
        }
        let blanks = Self::BLANK.count_in(header);
        let words = |line: &&[u8]| {
            let cells = Self::BLANK.count_in(line);
            cells == blanks || cells == blanks + 1
        };
        if best.1.1 == 0 && blanks > 0 && !others.is_empty() && others.iter().all(words) {
            return Self::BLANK;
        }
        best.0
    }

    /// Counts the places in a line where a cell ends and another begins.
    fn count_in(self, line: &[u8]) -> usize {
        let mut quoted = false;
        let mut count = 0;
        let mut last = self.0;
        for &byte in line.trim_ascii() {
            quoted ^= byte == b'"';
            if !quoted && byte == self.0 {
                count += usize::from(!self.is_blank() || last != self.0);
            }
            last = byte;
        }
        count
    }
}

/// How many lines are looked at to guess a delimiter.
const LINES_LOOKED_AT: usize = 20;

/// Returns the first lines that are not empty; line ends inside quotes do not end one. The last may
/// be cut off by the end of the text and is then left out, unless it is the only one.
fn first_lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut quoted = false;
    let mut start = 0;
    for (at, &byte) in text.iter().enumerate() {
        quoted ^= byte == b'"';
        if !quoted && matches!(byte, b'\n' | b'\r') {
            let line = &text[start..at];
            if !line.trim_ascii().is_empty() {
                lines.push(line);
            }
            start = at + 1;
            if lines.len() == LINES_LOOKED_AT {
                return lines;
            }
        }
    }
    if lines.is_empty() {
        lines.push(&text[start..]);
    }
    lines
}

impl FromStr for Delimiter {
    type Err = DelimiterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "comma" => Ok(Self::COMMA),
            "tab" | "\t" | "\\t" => Ok(Self::TAB),
            "semicolon" => Ok(Self::SEMICOLON),
            "space" | " " => Ok(Self::BLANK),
            "bar" | "pipe" => Ok(Self::BAR),
            _ => match text.as_bytes() {
                &[byte] if byte.is_ascii_punctuation() && !b"\"'".contains(&byte) => Ok(Self(byte)),
                _ => Err(DelimiterError(text.to_string())),
            },
        }
    }
}

impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b',' => f.write_str("comma"),
            b'\t' => f.write_str("tab"),
            b';' => f.write_str("semicolon"),
            b' ' => f.write_str("space"),
            byte => write!(f, "{}", char::from(byte)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_tells_tabs() {
        for name in ["a.tsv", "a.TSV.GZ", "dir/a.tab", "a.tab.zst"] {
            assert_eq!(Delimiter::of_path(Path::new(name)), Some(Delimiter::TAB));
        }
        for name in ["a.csv", "a.csv.gz", "tsv", "a.tsv.csv", "-"] {
            assert_eq!(Delimiter::of_path(Path::new(name)), None);
        }
    }

    #[test]
    fn the_header_line_is_guessed_outside_quotes() {
        assert_eq!(Delimiter::guess(b"a;b;c"), Delimiter::SEMICOLON);
        assert_eq!(Delimiter::guess(b"a\tb"), Delimiter::TAB);
        assert_eq!(Delimiter::guess(b"\"a;b;c\",d"), Delimiter::COMMA);
        assert_eq!(Delimiter::guess(b"alone"), Delimiter::COMMA);
        assert_eq!(Delimiter::guess(b"a,b;c"), Delimiter::COMMA);
        assert_eq!(Delimiter::guess(b"a|b|c\n1|2|3\n"), Delimiter::BAR);
    }

    #[test]
    fn other_lines_help_to_guess() {
        let text = b"age, years;sex\n31;f\n42;m\n";
        assert_eq!(Delimiter::guess(text), Delimiter::SEMICOLON);
        let row_names = b"a\tb\n1\tx\ty\n2\tx\tz\n";
        assert_eq!(Delimiter::guess(row_names), Delimiter::TAB);
        assert_eq!(
            Delimiter::guess(b"\"a\" \"b\"\n\"1\" x y\n\"2\" x z\n"),
            Delimiter::BLANK
        );
        assert_eq!(
            Delimiter::guess(b"a  b c\n1 2   3\n x y z \n"),
            Delimiter::BLANK
        );
        assert_eq!(
            Delimiter::guess(b"how are you\nfine\nnot so good\n"),
            Delimiter::COMMA
        );
    }

    #[test]
    fn names_and_characters_parse_and_print() {
        for text in ["comma", "tab", "semicolon", "space", "|", ":"] {
            assert_eq!(text.parse::<Delimiter>().unwrap().to_string(), text);
        }
        for text in ["", "\"", "a", "\n", "::", "é"] {
            assert!(text.parse::<Delimiter>().is_err(), "{text}");
        }
        assert!(
            "x".parse::<Delimiter>()
                .unwrap_err()
                .to_string()
                .starts_with("\"x\" is not a")
        );
    }
}
