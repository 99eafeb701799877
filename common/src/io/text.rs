//! Text of any platform: decoding bytes and counting lines.

use super::error::ReadError;

/// Decodes UTF-8 and drops a byte order mark.
pub(super) fn decode(bytes: &[u8]) -> Result<&str, ReadError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| ReadError::NotUtf8 {
        line: line_of(bytes, error.valid_up_to()),
    })
}

/// Returns the line, counted from 1, that a position is in.
pub(super) fn line_of(bytes: &[u8], position: usize) -> usize {
    let before = &bytes[..position.min(bytes.len())];
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}

/// Returns the beginning of a text, quoted, for an error message.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    if text.chars().count() <= LONGEST {
        return format!("{text:?}");
    }
    let start: String = text.chars().take(LONGEST).collect();
    format!("{:?}", start + "…")
}
