//! Which texts are numbers.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// What stands between the whole part of a number and its fraction.
///
/// ```
/// use rlbayes_common::data::DecimalMark;
/// assert_eq!(DecimalMark::Point.number(b"1.5"), Some(1.5));
/// assert_eq!(DecimalMark::Comma.number(b"1.234,5"), Some(1234.5));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DecimalMark {
    /// `1234.5`
    #[default]
    Point,
    /// `1234,5`, also `1.234,5`
    Comma,
}

/// Why text names no [`DecimalMark`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{}\" is not a decimal mark; expected . or ,", .0.escape_debug())]
pub struct DecimalMarkError(String);

/// Longest text that is looked at as a number.
const MAX_NUMBER_BYTES: usize = 64;

impl DecimalMark {
    /// Returns the number that a text stands for; `None` if it is not a finite number.
    #[must_use]
    pub fn number(self, text: &[u8]) -> Option<f64> {
        // Most texts are told by their first byte; `inf` and `nan` are no numbers here.
        if !matches!(text.first()?, b'0'..=b'9' | b'+' | b'-' | b'.' | b',')
            || text.len() > MAX_NUMBER_BYTES
        {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        let number: f64 = match self {
            Self::Point => text.parse().ok()?,
            Self::Comma => with_point(text)?.parse().ok()?,
        };
        number.is_finite().then_some(number)
    }
}

/// Rewrites a number with a decimal comma; points may stand between groups of three digits.
fn with_point(text: &str) -> Option<String> {
    let (whole, fraction) = match text.split_once(',') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let digits = whole.trim_start_matches(['+', '-']);
    let grouped = digits.contains('.');
    if grouped {
        let mut groups = digits.split('.');
        let first = groups.next()?;
        let plain = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
        if !(1..=3).contains(&first.len())
            || !plain(first)
            || !groups.all(|group| group.len() == 3 && plain(group))
        {
            return None;
        }
    }
    let mut number = whole.replace('.', "");
    if let Some(fraction) = fraction {
        if fraction.contains('.') {
            return None;
        }
        number.push('.');
        number.push_str(fraction);
    }
    Some(number)
}

impl FromStr for DecimalMark {
    type Err = DecimalMarkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "." | "point" => Ok(Self::Point),
            "," | "comma" => Ok(Self::Comma),
            _ => Err(DecimalMarkError(text.to_string())),
        }
    }
}

impl fmt::Display for DecimalMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Point => ".",
            Self::Comma => ",",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_a_point() {
        for (text, number) in [
            ("0", 0.0),
            ("-12", -12.0),
            ("+1.50", 1.5),
            (".5", 0.5),
            ("1e3", 1000.0),
        ] {
            assert_eq!(DecimalMark::Point.number(text.as_bytes()), Some(number));
        }
        for text in [
            "", "a", "1a", "1,5", "inf", "nan", "-inf", "1e999", "-", "+", ".", "1 2", "0x1f",
            "1_000",
        ] {
            assert_eq!(DecimalMark::Point.number(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn numbers_with_a_comma() {
        for (text, number) in [
            ("1,5", 1.5),
            ("-1.234,5", -1234.5),
            ("1.234.567", 1_234_567.0),
            ("12", 12.0),
            (",5", 0.5),
        ] {
            assert_eq!(DecimalMark::Comma.number(text.as_bytes()), Some(number));
        }
        for text in ["1.5", "1,5,5", "12.34,5", "1234.567", "1,234.5", ".,5"] {
            assert_eq!(DecimalMark::Comma.number(text.as_bytes()), None, "{text}");
        }
    }
}
