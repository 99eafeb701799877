//! Text in other encodings: bytes to UTF-8, on the way.
//!
//! Strict: what is no character of the encoding is an error that names the byte, never a
//! replacement character, which would make two different states one.

use super::content::ByteOrder;
use encoding_rs::{Decoder, DecoderResult};
use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;
use thiserror::Error;

/// Size of the buffer of bytes to be decoded.
const BUFFER_BYTES: usize = 64 << 10;

/// How characters are written as bytes.
///
/// ```
/// use rlbayes_common::data::Encoding;
/// let latin: Encoding = "latin-1".parse().unwrap();
/// assert_eq!(latin.to_string(), "windows-1252");
/// assert!("klingon".parse::<Encoding>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding(&'static encoding_rs::Encoding);

/// The text names no encoding.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "\"{}\" is no encoding; expected a name such as utf-8, utf-16, windows-1252, latin1 or shift_jis",
    .0.escape_debug()
)]
pub struct EncodingError(String);

/// Bytes that are no text in the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("byte {offset} is no text in the encoding {encoding}; expected another encoding")]
pub struct NoText {
    /// The encoding.
    pub encoding: Encoding,
    /// Where the first such byte stands, counted from 0.
    pub offset: u64,
}

impl Encoding {
    /// UTF-8.
    pub const UTF_8: Self = Self(encoding_rs::UTF_8);
    /// What Windows calls ANSI in the west of Europe and in America; Latin-1 is a part of it.
    pub const WINDOWS_1252: Self = Self(encoding_rs::WINDOWS_1252);

    /// Returns the encoding of text in UTF-16.
    pub(crate) fn utf_16(order: ByteOrder) -> Self {
        match order {
            ByteOrder::LittleEndian => Self(encoding_rs::UTF_16LE),
            ByteOrder::BigEndian => Self(encoding_rs::UTF_16BE),
        }
    }
}

impl FromStr for Encoding {
    type Err = EncodingError;

    /// Takes the names of the WHATWG's standard, in any case, and the way Python writes them.
    fn from_str(text: &str) -> Result<Self, EncodingError> {
        let lower = text.trim().to_ascii_lowercase();
        let joined = lower.replace(['-', '_', ' '], "");
        let known = match joined.as_str() {
            "utf8" | "utf8sig" => Some(encoding_rs::UTF_8),
            // A mark at the beginning decides; without one it is what Windows writes.
            "utf16" | "utf16le" => Some(encoding_rs::UTF_16LE),
            "utf16be" => Some(encoding_rs::UTF_16BE),
            "macroman" => Some(encoding_rs::MACINTOSH),
            _ => [&lower, &lower.replace('_', "-"), &joined]
                .into_iter()
                .find_map(|label| {
                    encoding_rs::Encoding::for_label_no_replacement(label.as_bytes())
                }),
        };
        known.map(Self).ok_or_else(|| EncodingError(text.into()))
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name().to_ascii_lowercase())
    }
}

/// A stream of UTF-8 made from a stream in another encoding. A mark of the byte order at the
/// beginning is left out, and decides between the two kinds of UTF-16.
///
/// Its read errors hold a [`NoText`] where the bytes are no text.
pub(crate) struct Decoded<R> {
    inner: R,
    encoding: Encoding,
    decoder: Decoder,
    /// Bytes to be decoded: those in `start..end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    /// Text that did not fit where it was wanted.
    text: Vec<u8>,
    text_start: usize,
    /// How many bytes have been decoded.
    offset: u64,
}

impl<R: Read> Decoded<R> {
    pub(crate) fn new(inner: R, encoding: Encoding) -> Self {
        let utf16 = [encoding_rs::UTF_16LE, encoding_rs::UTF_16BE].contains(&encoding.0);
        let decoder = if utf16 {
            encoding.0.new_decoder()
        } else {
            encoding.0.new_decoder_with_bom_removal()
        };
        Self {
            inner,
            encoding,
            decoder,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            ended: false,
            text: Vec::new(),
            text_start: 0,
            offset: 0,
        }
    }

    /// Decodes what has been read into `self.text`.
    fn decode(&mut self) -> io::Result<()> {
        let bytes = &self.buffer[self.start..self.end];
        let room = self
            .decoder
            .max_utf8_buffer_length_without_replacement(bytes.len())
            .unwrap_or(4 * BUFFER_BYTES);
        self.text.resize(room, 0);
        self.text_start = 0;
        let (result, read, written) =
            self.decoder
                .decode_to_utf8_without_replacement(bytes, &mut self.text, self.ended);
        self.text.truncate(written);
        self.start += read;
        self.offset += read as u64;
        match result {
            DecoderResult::InputEmpty | DecoderResult::OutputFull => Ok(()),
            DecoderResult::Malformed(length, behind) => {
                let back = u64::from(length) + u64::from(behind);
                Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    NoText {
                        encoding: self.encoding,
                        offset: self.offset.saturating_sub(back),
                    },
                ))
            }
        }
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.text_start == self.text.len() {
            if self.start == self.end {
                if self.ended {
                    return Ok(0);
                }
                self.start = 0;
                self.end = self.inner.read(&mut self.buffer)?;
                self.ended = self.end == 0;
            }
            self.decode()?;
        }
        let count = (&self.text[self.text_start..]).read(into)?;
        self.text_start += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A reader that hands out a few bytes at a time.
    struct Slow<'b>(&'b [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = into.len().min(self.1);
            self.0.read(&mut into[..most])
        }
    }

    fn decoded(bytes: &[u8], encoding: &str, at_once: usize) -> Result<String, NoText> {
        let mut text = String::new();
        let encoding = encoding.parse().unwrap();
        match Decoded::new(Slow(bytes, at_once), encoding).read_to_string(&mut text) {
            Ok(_) => Ok(text),
            Err(error) => Err(error.downcast().unwrap()),
        }
    }

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn names_that_people_use_are_known() {
        for (name, encoding) in [
            ("UTF-8", "utf-8"),
            ("utf8", "utf-8"),
            ("utf_8_sig", "utf-8"),
            ("utf-16", "utf-16le"),
            ("UTF-16-LE", "utf-16le"),
            ("utf_16_be", "utf-16be"),
            ("windows-1252", "windows-1252"),
            ("cp1252", "windows-1252"),
            ("Latin1", "windows-1252"),
            ("latin-1", "windows-1252"),
            ("iso-8859-1", "windows-1252"),
            ("ISO_8859_15", "iso-8859-15"),
            ("cp1250", "windows-1250"),
            ("mac_roman", "macintosh"),
            ("shift_jis", "shift_jis"),
            ("gbk", "gbk"),
            ("euc_kr", "euc-kr"),
            ("koi8-r", "koi8-r"),
        ] {
            let parsed: Encoding = name.parse().unwrap();
            assert_eq!(parsed.to_string(), encoding, "{name}");
        }
        let error = "ebcdic".parse::<Encoding>().unwrap_err();
        assert!(error.to_string().starts_with("\"ebcdic\" is no encoding;"));
    }

    #[test]
    fn text_becomes_utf8() {
        assert_eq!(decoded(b"caf\xe9 \x80", "cp1252", 1).unwrap(), "café €");
        assert_eq!(
            decoded(b"\xef\xbb\xbfna\xc3\xafve", "utf-8", 2).unwrap(),
            "naïve"
        );
        assert_eq!(decoded(b"\xff\xfea\0\xe9\0", "utf-16", 1).unwrap(), "aé");
        assert_eq!(decoded(b"\xfe\xff\0a\0\xe9", "utf-16", 3).unwrap(), "aé");
        assert_eq!(decoded(b"\0a", "utf-16be", 1).unwrap(), "a");
        assert_eq!(decoded(b"", "utf-16", 1).unwrap(), "");
    }

    #[test]
    fn the_first_byte_that_is_no_text_is_named() {
        let error = decoded(b"abc\xe9,d", "utf-8", 2).unwrap_err();
        assert_eq!(
            error.to_string(),
            "byte 3 is no text in the encoding utf-8; expected another encoding"
        );
        assert_eq!(decoded(b"ab\xc3", "utf-8", 9).unwrap_err().offset, 2);
        assert_eq!(decoded(b"a\0b", "utf-16", 9).unwrap_err().offset, 2);
        assert_eq!(decoded(b"a\0\0\xd8b\0", "utf-16", 9).unwrap_err().offset, 2);
    }

    proptest! {
        #[test]
        fn any_text_in_utf16_reads_back_whatever_the_pieces(
            text in "[a-z,\n€é\u{10000}-\u{10010}]{0,300}",
            at_once in 1usize..50,
        ) {
            prop_assert_eq!(decoded(&utf16(&text), "utf-16le", at_once).unwrap(), text.as_str());
            prop_assert_eq!(decoded(text.as_bytes(), "utf-8", at_once).unwrap(), text);
        }
    }
}
