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

    /// Returns the byte.
    #[must_use]
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// Returns what the file's ending means: tabs for `.tsv` and `.tab`, also before `.gz`.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let plain = name.strip_suffix(".gz").unwrap_or(&name);
        (plain.ends_with(".tsv") || plain.ends_with(".tab")).then_some(Self::TAB)
    }

    /// Guesses from the header line: the most frequent of comma, tab and semicolon outside quotes;
    /// in a tie the first of these, and a comma if there is none.
    pub(crate) fn guess(header_line: &[u8]) -> Self {
        let mut best = (Self::COMMA, 0);
        for candidate in [Self::COMMA, Self::TAB, Self::SEMICOLON] {
            let mut quoted = false;
            let mut count = 0usize;
            for &byte in header_line {
                quoted ^= byte == b'"';
                count += usize::from(!quoted && byte == candidate.0);
            }
            if count > best.1 {
                best = (candidate, count);
            }
        }
        best.0
    }
}

impl FromStr for Delimiter {
    type Err = DelimiterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "comma" => Ok(Self::COMMA),
            "tab" | "\t" | "\\t" => Ok(Self::TAB),
            "semicolon" => Ok(Self::SEMICOLON),
            "space" | " " => Ok(Self(b' ')),
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
        for name in ["a.tsv", "a.TSV.GZ", "dir/a.tab", "a.tab.gz"] {
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
