//! Result files: whole or not at all, and packed where their ending asks for it.

use flate2::Compression;
use flate2::write::GzEncoder;
use rlbayes_common::files::write_whole;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file, gzipped if its name ends in .gz.
///
/// # Errors
/// If the disk refuses; then what was there before is still there.
#[doc(hidden)]
pub fn write_packed(path: &Path, bytes: Vec<u8>) -> io::Result<()> {
    let ending = path.extension().unwrap_or_default();
    if !ending.eq_ignore_ascii_case("gz") {
        return write_whole(path, &bytes);
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&bytes)?;
    write_whole(path, &packed.finish()?)
}
