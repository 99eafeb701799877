//! The file by which workers find a coordinator whose address nobody can know before it starts. When
//! the search is over it holds a note of that instead, for workers that start when the coordinator is
//! gone.

use rlbayes_common::files::write_whole;
use std::io;
use std::path::Path;
use std::time::Duration;

/// What the file holds after the end.
const OVER: &str = "over";

/// How often somebody who waits for the file looks for it.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How often a worker that has an address looks for the end: the coordinator
/// sends it too, unless it is gone already.
const LOOK_FOR_END_EVERY: Duration = Duration::from_secs(2);

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// The coordinator is there.
    At(String),
    /// The search is over and the coordinator has ended.
    Over,
}

/// Writes where the coordinator is.
pub(super) fn open(path: &Path, url: &str) -> io::Result<()> {
    write_whole(path, format!("{url}\n").as_bytes())
}

/// Writes that the search is over.
pub(super) fn close(path: &Path) -> io::Result<()> {
    write_whole(path, format!("{OVER}\n").as_bytes())
}

/// Returns what the file holds; none while there is no file.
pub(super) fn read(path: &Path) -> Option<Address> {
    let text = std::fs::read_to_string(path).ok()?;
    match text.lines().next().map(str::trim)? {
        "" => None,
        OVER => Some(Address::Over),
        url => Some(Address::At(url.to_owned())),
    }
}

/// Waits until the search is over.
pub(super) async fn over(path: &Path) {
    while read(path) != Some(Address::Over) {
        tokio::time::sleep(LOOK_FOR_END_EVERY).await;
    }
}
