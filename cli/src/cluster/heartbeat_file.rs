//! A worker's heartbeat: a file in its state folder whose date shows that the program still runs.
//! Containers and probes check it by `rlbayes health --worker DIR`; a worker has no port to ask.

use crate::failure::Failure;
use crate::target::words;
use rlbayes_common::files::open_private;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

const NAME: &str = "alive";

/// How often the file is touched.
const EVERY: Duration = Duration::from_secs(5);

/// How old it may be. A machine that is busy or was paused gets some time.
const LIMIT: Duration = Duration::from_secs(30);

/// Touches the file for as long as the caller polls this. A disk that refuses is not a reason to end.
pub(super) async fn beat(state: &Path) {
    loop {
        if let Err(error) = touch(&state.join(NAME)) {
            tracing::debug!(%error, "cannot write the heartbeat file");
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Removes the file: the worker ends.
pub(super) fn end(state: &Path) {
    // If that fails, the file is too old in half a minute.
    let _ = std::fs::remove_file(state.join(NAME));
}

/// Changes the date and no content: this works on a full disk too.
fn touch(path: &Path) -> io::Result<()> {
    open_private(path)?.set_modified(SystemTime::now())
}

/// Returns the time since the last heartbeat of the worker with this state folder.
///
/// # Errors
/// If that is too long ago, or it never did.
pub(super) fn age(state: &Path) -> Result<Duration, Failure> {
    let path = state.join(NAME);
    let silent = |what: String| Failure::OutOfReach(format!("{}: {what}", state.display()));
    let given = std::fs::metadata(&path)
        .and_then(|about| about.modified())
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => silent("no worker runs here".to_owned()),
            _ => silent(format!("no worker runs here: {}", words(&error))),
        })?;
    // A date in the future means that the clock was set back since.
    let age = given.elapsed().unwrap_or_default();
    if age > LIMIT {
        let seconds = age.as_secs();
        return Err(silent(format!(
            "the worker's last heartbeat is {seconds} s old (expected at most {} s)",
            LIMIT.as_secs()
        )));
    }
    Ok(age)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_fresh_sign_is_life_and_an_old_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        assert!(age(folder.path()).is_err());
        let path = folder.path().join(NAME);
        touch(&path).unwrap();
        assert!(age(folder.path()).unwrap() < LIMIT);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "as all that is in the folder");
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - 2 * LIMIT).unwrap();
        let message = age(folder.path()).unwrap_err().to_string();
        assert!(message.contains("60 s old"), "{message}");
        touch(&path).unwrap();
        assert!(age(folder.path()).is_ok());
    }
}
