//! The format of the database's own file. A newer program may write one that this one cannot read: the
//! database takes that for damage.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The newest format that the database reads.
pub(super) const NEWEST: u8 = 3;
const MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";
/// Where the two commits begin that a file holds, each with the number of its format.
const COMMITS: [usize; 2] = [64, 192];
const HEADER: usize = 320;

/// Returns the format of a file, if it is a newer one: both commits say so, since the number of one may
/// be damaged.
pub(super) fn newer(path: &Path) -> Option<u8> {
    let mut header = [0; HEADER];
    File::open(path).ok()?.read_exact(&mut header).ok()?;
    let [first, second] = COMMITS.map(|at| header[at]);
    (header.starts_with(MAGIC) && first == second && first > NEWEST).then_some(first)
}
