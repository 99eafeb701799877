//! A note in a folder about the search that the folder belongs to: `search.txt`, the search's
//! settings by name, one per line. People can read it.

use crate::identity::Settings;
use rlbayes_common::files::write_private;
use std::fs;
use std::io;
use std::path::Path;

/// The note's name.
const NAME: &str = "search.txt";

/// Writes the note.
pub(crate) fn write(folder: &Path, settings: &[(String, String)]) -> io::Result<()> {
    let lines: String = settings
        .iter()
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect();
    write_private(&folder.join(NAME), lines.as_bytes())
}

/// Reads the note; none if there is none, or it is none of ours.
pub(crate) fn read(folder: &Path) -> Option<Settings> {
    let text = fs::read_to_string(folder.join(NAME)).ok()?;
    let lines = text.lines().map(|line| line.split_once(": "));
    lines
        .map(|pair| pair.map(|(name, value)| (name.to_owned(), value.to_owned())))
        .collect()
}
