//! Opens a file or standard input as a bounded stream of bytes, unpacking gzip, zstd and xz on the
//! way.
//!
//! What comes from a file is untrusted: it may be a directory, a device without end or a small
//! archive that unpacks to terabytes. This file turns each of these into a [`SourceError`]; what
//! the bytes mean is left to their readers (tables: `read/content.rs`), except that whoever expects
//! text gets an error at once if they are plainly something else.

use super::read::Content;
use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;
use thiserror::Error;

/// Most bytes taken from a regular file, counted before and after unpacking: the table takes about
/// half of its text, and 2 GiB is what a machine for these searches can be expected to spare.
pub const MAX_FILE_BYTES: u64 = 4 << 30;

/// Most bytes taken from a pipe or a device: these may have no end, and a person who pipes more
/// than this is better served by a file.
pub const MAX_STREAM_BYTES: u64 = 256 << 20;

/// Size of the read buffer, before and after unpacking.
const BUFFER_BYTES: usize = 64 << 10;

/// How many of the first unpacked bytes are looked at to tell what they are.
const START_BYTES: u64 = 8 << 10;

/// Most memory that unpacking takes: a window of 128 MiB, as the `xz` and `zstd` programs use at
/// most unless told otherwise, and what is needed around it.
const MAX_WINDOW_LOG: u32 = 27;
const MAX_XZ_KIB: u32 = (160 << 20) >> 10;

/// How bytes may be packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// By `gzip`.
    Gzip,
    /// By `zstd`.
    Zstd,
    /// By `xz`.
    Xz,
}

impl Packing {
    /// How many bytes the beginnings have at most.
    const LONGEST_MAGIC: u64 = 6;

    /// Tells by the first bytes.
    fn of(start: &[u8]) -> Option<Self> {
        let magics: [(&[u8], Self); 3] = [
            (b"\x1f\x8b", Self::Gzip),
            (b"\x28\xb5\x2f\xfd", Self::Zstd),
            (b"\xfd7zXZ\x00", Self::Xz),
        ];
        let found = magics.iter().find(|(magic, _)| start.starts_with(magic));
        found.map(|&(_, packing)| packing)
    }
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
        })
    }
}

/// Why bytes cannot be had.
#[derive(Debug, Error)]
pub enum SourceError {
    /// Nothing has this path.
    #[error("cannot open the file: there is no such file")]
    NotFound,
    /// The path is a directory.
    #[error("cannot open the file: it is a directory")]
    IsDirectory,
    /// The file may not be read by this user.
    #[error("cannot open the file: no permission to read it")]
    NoPermission,
    /// The content is that of another format.
    #[error(
        "cannot read the file: it is {what}; expected UTF-8 text, plain or packed by gzip, zstd or xz"
    )]
    NoText {
        /// What the content looks like.
        what: &'static str,
    },
    /// The content does not end within the limit.
    #[error("cannot read the input: it is longer than {limit} bytes, the most that is taken")]
    TooLarge {
        /// How many bytes are taken.
        limit: u64,
    },
    /// A packed stream stops before its end.
    #[error("cannot unpack the {0} data: it ends too early; the file is truncated")]
    Truncated(Packing),
    /// A packed stream is broken.
    #[error("cannot unpack the {packing} data: {problem}; the file is damaged")]
    Damaged {
        /// How it is packed.
        packing: Packing,
        /// What the unpacker says.
        problem: String,
    },
    /// Any other failure of the operating system.
    #[error("cannot read the input: {0}")]
    Io(io::Error),
}

impl From<io::Error> for SourceError {
    /// Finds the cause again that [`Source`] had to pass through [`io::Error`].
    fn from(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(cause) => cause,
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound => Self::NotFound,
                io::ErrorKind::IsADirectory => Self::IsDirectory,
                io::ErrorKind::PermissionDenied => Self::NoPermission,
                _ => Self::Io(error),
            },
        }
    }
}

/// A stream of plain bytes that ends, whatever it was made from.
///
/// Its read errors turn back into a [`SourceError`] with `SourceError::from`.
///
/// ```
/// use rlbayes_common::data::Source;
/// use std::io::Read;
/// let mut text = String::new();
/// Source::from_reader(&b"a,b\n"[..], 100).unwrap().read_to_string(&mut text).unwrap();
/// assert_eq!(text, "a,b\n");
/// ```
pub struct Source {
    /// The first unpacked bytes, and how many of them have been read.
    start: Vec<u8>,
    position: usize,
    rest: Unpacked,
}

/// The ways bytes come.
enum Unpacked {
    Plain(PlainReader),
    Gzip(Box<Bounded<MultiGzDecoder<PlainReader>>>),
    Zstd(Box<Bounded<zstd::Decoder<'static, PlainReader>>>),
    Xz(Box<Bounded<XzReader<PlainReader>>>),
}

/// The bytes as they are stored: the first few, looked at already, then the rest.
type PlainReader = BufReader<io::Chain<io::Cursor<Vec<u8>>, Bounded<Box<dyn Read + Send>>>>;

impl Source {
    /// Opens a file, a pipe or a device that holds text.
    ///
    /// # Errors
    /// If it cannot be opened, is a directory, or holds something that is not text.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        Self::open_within(path, MAX_FILE_BYTES)
    }

    /// Opens a file, a pipe or a device that holds text, of which at most `limit` bytes are taken,
    /// fewer of what may have no end.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_within(path: &Path, limit: u64) -> Result<Self, SourceError> {
        Self::open_bytes(path, limit)?.expecting_text()
    }

    /// Opens a file, a pipe or a device that holds anything.
    ///
    /// # Errors
    /// If it cannot be opened or is a directory.
    pub(crate) fn open_any(path: &Path) -> Result<Self, SourceError> {
        Self::open_bytes(path, MAX_FILE_BYTES)
    }

    fn open_bytes(path: &Path, limit: u64) -> Result<Self, SourceError> {
        // Asked before opening, since opening a directory succeeds on some systems.
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(SourceError::IsDirectory);
        }
        let limit = if metadata.is_file() {
            limit
        } else {
            limit.min(MAX_STREAM_BYTES)
        };
        Self::any_from_reader(File::open(path)?, limit)
    }

    /// Opens standard input, whatever it holds.
    ///
    /// # Errors
    /// If its first bytes cannot be read.
    pub(crate) fn stdin() -> Result<Self, SourceError> {
        Self::any_from_reader(io::stdin(), MAX_STREAM_BYTES)
    }

    /// Wraps a stream of text of which at most `limit` bytes are taken, before and after unpacking.
    ///
    /// # Errors
    /// If its first bytes cannot be read or are those of a format that is not text.
    pub fn from_reader(
        reader: impl Read + Send + 'static,
        limit: u64,
    ) -> Result<Self, SourceError> {
        Self::any_from_reader(reader, limit)?.expecting_text()
    }

    /// Wraps a stream of anything of which at most `limit` bytes are taken, before and after
    /// unpacking.
    ///
    /// # Errors
    /// If its first bytes cannot be read.
    pub(crate) fn any_from_reader(
        reader: impl Read + Send + 'static,
        limit: u64,
    ) -> Result<Self, SourceError> {
        let mut stored = Bounded::new(Box::new(reader) as Box<dyn Read + Send>, limit);
        // A pipe may hand out single bytes: wait for as many as show the packing.
        let mut magic = Vec::new();
        stored
            .by_ref()
            .take(Packing::LONGEST_MAGIC)
            .read_to_end(&mut magic)?;
        let packing = Packing::of(&magic);
        let stored = BufReader::with_capacity(BUFFER_BYTES, io::Cursor::new(magic).chain(stored));
        let mut rest = match packing {
            None => Unpacked::Plain(stored),
            Some(Packing::Gzip) => {
                Unpacked::Gzip(Box::new(Bounded::new(MultiGzDecoder::new(stored), limit)))
            }
            Some(Packing::Zstd) => {
                let mut decoder = zstd::Decoder::with_buffer(stored)?;
                decoder.window_log_max(MAX_WINDOW_LOG)?;
                Unpacked::Zstd(Box::new(Bounded::new(decoder, limit)))
            }
            Some(Packing::Xz) => {
                let decoder = XzReader::new_mem_limit(stored, true, MAX_XZ_KIB);
                Unpacked::Xz(Box::new(Bounded::new(decoder, limit)))
            }
        };
        let mut start = Vec::new();
        rest.by_ref().take(START_BYTES).read_to_end(&mut start)?;
        Ok(Self {
            start,
            position: 0,
            rest,
        })
    }

    /// Returns what the bytes seem to be.
    pub(crate) fn content(&self) -> Content {
        Content::of(&self.start)
    }

    /// Reads everything that is left.
    ///
    /// # Errors
    /// If the stream fails or is too long.
    pub(crate) fn into_bytes(mut self) -> Result<Bytes, SourceError> {
        let mut bytes = Vec::new();
        self.read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }

    fn expecting_text(self) -> Result<Self, SourceError> {
        match self.content().not_utf8_text() {
            Some(what) => Err(SourceError::NoText { what }),
            None => Ok(self),
        }
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position < self.start.len() {
            let count = (&self.start[self.position..]).read(buffer)?;
            self.position += count;
            return Ok(count);
        }
        self.rest.read(buffer)
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(reader) => reader.read(buffer),
            Self::Gzip(reader) => reader
                .read(buffer)
                .map_err(|error| unpack_error(error, Packing::Gzip)),
            Self::Zstd(reader) => reader
                .read(buffer)
                .map_err(|error| unpack_error(error, Packing::Zstd)),
            Self::Xz(reader) => reader
                .read(buffer)
                .map_err(|error| unpack_error(error, Packing::Xz)),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packing = match self.rest {
            Unpacked::Plain(_) => None,
            Unpacked::Gzip(_) => Some(Packing::Gzip),
            Unpacked::Zstd(_) => Some(Packing::Zstd),
            Unpacked::Xz(_) => Some(Packing::Xz),
        };
        f.debug_struct("Source").field("packing", &packing).finish()
    }
}

/// Names what is wrong with a packed stream, keeping causes that are already named.
fn unpack_error(error: io::Error, packing: Packing) -> io::Error {
    if error
        .get_ref()
        .is_some_and(|cause| cause.is::<SourceError>())
    {
        return error;
    }
    let damaged = match error.kind() {
        io::ErrorKind::UnexpectedEof => SourceError::Truncated(packing),
        io::ErrorKind::InvalidData
        | io::ErrorKind::InvalidInput
        | io::ErrorKind::OutOfMemory
        | io::ErrorKind::Unsupported
        | io::ErrorKind::Other => SourceError::Damaged {
            packing,
            problem: error.to_string(),
        },
        _ => return error,
    };
    io::Error::other(damaged)
}

/// A reader that fails when its stream is longer than a number of bytes.
struct Bounded<R> {
    inner: R,
    limit: u64,
    left: u64,
}

impl<R: Read> Bounded<R> {
    fn new(inner: R, limit: u64) -> Self {
        Self {
            inner,
            limit,
            left: limit,
        }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            // Only a byte more tells a stream of exactly the limit from a longer one.
            return match self.inner.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::other(SourceError::TooLarge {
                    limit: self.limit,
                })),
            };
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(most);
        let count = self.inner.read(&mut buffer[..wanted])?;
        self.left = self.left.saturating_sub(count as u64);
        Ok(count)
    }
}

/// Packs bytes, for tests.
#[cfg(test)]
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    use io::Write;
    let level = flate2::Compression::fast();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: Vec<u8>, limit: u64) -> Result<Vec<u8>, SourceError> {
        let mut content = Vec::new();
        Source::from_reader(io::Cursor::new(bytes), limit)?.read_to_end(&mut content)?;
        Ok(content)
    }

    #[test]
    fn plain_and_gzipped_bytes_read_alike() {
        assert_eq!(read(b"a,b\n".to_vec(), 10).unwrap(), b"a,b\n");
        assert_eq!(read(gzip(b"a,b\n"), 100).unwrap(), b"a,b\n");
        let two_members = [gzip(b"a,b\n"), gzip(b"1,2\n")].concat();
        assert_eq!(read(two_members, 100).unwrap(), b"a,b\n1,2\n");
        assert_eq!(read(Vec::new(), 10).unwrap(), b"");
    }

    #[test]
    fn content_is_told_behind_the_packing_and_no_byte_is_lost() {
        let packed = gzip(b"PAR1 and so on");
        let source = Source::any_from_reader(io::Cursor::new(packed), 1000).unwrap();
        assert_eq!(source.content(), Content::Parquet);
        assert_eq!(source.into_bytes().unwrap(), b"PAR1 and so on"[..]);
        let long: Vec<u8> = (0..50_000u32).flat_map(u32::to_le_bytes).collect();
        let source = Source::any_from_reader(io::Cursor::new(long.clone()), 1 << 20).unwrap();
        assert_eq!(source.into_bytes().unwrap(), long);
    }

    #[test]
    fn gzip_is_told_even_byte_by_byte() {
        let bytes = gzip(b"a,b\n");
        let (first, rest) = bytes.split_at(1);
        let slow = io::Cursor::new(first.to_vec()).chain(io::Cursor::new(rest.to_vec()));
        let mut content = Vec::new();
        let mut source = Source::from_reader(slow, 100).unwrap();
        source.read_to_end(&mut content).unwrap();
        assert_eq!(content, b"a,b\n");
    }

    #[test]
    fn a_file_that_may_not_be_read_is_named() {
        let error = SourceError::from(io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(
            error.to_string(),
            "cannot open the file: no permission to read it"
        );
    }

    #[test]
    fn the_limit_itself_is_legal_and_one_byte_more_is_not() {
        assert_eq!(read(vec![b'x'; 10], 10).unwrap().len(), 10);
        let error = read(vec![b'x'; 11], 10).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot read the input: it is longer than 10 bytes, the most that is taken"
        );
    }

    #[test]
    fn a_gzip_bomb_ends_at_the_limit() {
        let bomb = gzip(&vec![b'x'; 1 << 20]);
        assert!(bomb.len() < 20_000);
        let error = read(bomb, 20_000).unwrap_err();
        assert!(matches!(error, SourceError::TooLarge { limit: 20_000 }));
    }

    #[test]
    fn truncated_and_damaged_gzip_are_named() {
        let whole = gzip(&(0..=255).cycle().take(5000).collect::<Vec<u8>>());
        for length in [2, 5, 12, whole.len() / 2, whole.len() - 1] {
            let error = read(whole[..length].to_vec(), 1 << 20).unwrap_err();
            assert!(
                matches!(error, SourceError::Truncated(Packing::Gzip)),
                "{length}: {error}"
            );
        }
        let mut damaged = whole;
        let last = damaged.len() - 5;
        damaged[last] ^= 0xff;
        let error = read(damaged, 1 << 20).unwrap_err();
        assert!(matches!(error, SourceError::Damaged { .. }), "{error}");
    }

    #[test]
    fn zstd_and_xz_are_unpacked_and_bounded_like_gzip() {
        let text = format!("a,b\n{}", "x,1\ny,2\n".repeat(50));
        let xz = include_bytes!("read/fixtures/text.csv.xz").to_vec();
        let zst = include_bytes!("read/fixtures/text.csv.zst").to_vec();
        for (packed, packing) in [(xz, Packing::Xz), (zst, Packing::Zstd)] {
            assert_eq!(read(packed.clone(), 1000).unwrap(), text.as_bytes());
            let error = read(packed.clone(), 403).unwrap_err();
            assert!(
                matches!(error, SourceError::TooLarge { limit: 403 }),
                "{error}"
            );
            let two = [packed.clone(), packed.clone()].concat();
            assert_eq!(read(two, 1000).unwrap().len(), 2 * text.len());
            for length in 6..packed.len() {
                let error = read(packed[..length].to_vec(), 1000).unwrap_err();
                assert!(
                    matches!(error, SourceError::Truncated(found) if found == packing),
                    "{packing} {length}: {error}"
                );
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn damaged_archives_never_panic(
            which in 0usize..3,
            bytes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut file = match which {
                0 => include_bytes!("read/fixtures/text.csv.xz").to_vec(),
                1 => include_bytes!("read/fixtures/text.csv.zst").to_vec(),
                _ => gzip(b"a,b\n1,2\n"),
            };
            for (at, byte) in bytes {
                let at = at.index(file.len());
                file[at] = byte;
            }
            let _ = read(file, 100_000);
        }
    }

    #[test]
    fn other_formats_are_named() {
        let error = read(b"PK\x03\x04 and so on".to_vec(), 100).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot read the file: it is a zip archive; expected UTF-8 text, plain or packed by \
             gzip, zstd or xz"
        );
    }

    #[test]
    fn paths_that_are_no_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = Source::open(folder.path()).unwrap_err();
        assert_eq!(error.to_string(), "cannot open the file: it is a directory");
        let error = Source::open(&folder.path().join("none.csv")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot open the file: there is no such file"
        );
    }
}
