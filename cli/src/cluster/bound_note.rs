//! The bound that a prover has shown, in a file beside the search's journal: a gap that people were
//! shown is still there after a restart, and nothing is proven twice.

use rlbayes_common::files::write_whole;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where the bound of one search is kept.
#[derive(Clone, Debug)]
pub(super) struct BoundNote(PathBuf);

impl BoundNote {
    /// Names the note in the folder of a search.
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self(folder.join("bound"))
    }

    /// Reads the bound; none if there is none, or if the file is damaged: it is proven again then.
    pub(super) fn read(&self) -> Option<f64> {
        let text = fs::read_to_string(&self.0).ok()?;
        let mut words = text.split_whitespace();
        let mut number = || u64::from_str_radix(words.next()?, 16).ok();
        let (bits, complement) = (number()?, number()?);
        let bound = f64::from_bits(bits);
        (bits == !complement && bound.is_finite()).then_some(bound)
    }

    /// Stores the bound: the bits of the number, and their complement to know damage by.
    pub(super) fn write(&self, bound: f64) -> io::Result<()> {
        let bits = bound.to_bits();
        write_whole(&self.0, format!("{bits:016x} {:016x}\n", !bits).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_read_back_and_damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let note = BoundNote::in_folder(folder.path());
        assert_eq!(note.read(), None);
        note.write(-11657.046).unwrap();
        assert_eq!(note.read(), Some(-11657.046));
        let path = folder.path().join("bound");
        let mut bytes = fs::read(&path).unwrap();
        bytes[3] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert_eq!(note.read(), None);
        fs::write(&path, "").unwrap();
        assert_eq!(note.read(), None);
    }
}
