//! `rlbayes drain`: asks a worker on this machine to hand its chains over and end, by a file in its
//! state folder. Signals do the same; this is for hooks in containers, which have no shell to send
//! one with.

use super::heartbeat_file;
use crate::failure::Failure;
use crate::target::words;
use crate::terminal::print;
use crate::units::parse_time;
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The file that asks.
const NAME: &str = "drain";

/// How often a worker looks for it.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Asks a worker on this machine to hand its chains over and end, and waits until it has.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Example, the preStop hook of a container:\n  rlbayes drain /state --within 20s"
)]
pub(crate) struct DrainArgs {
    /// The worker's state folder
    folder: PathBuf,
    /// How long to wait until it has ended
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s")]
    within: Duration,
}

/// Runs the command.
pub(crate) fn drain(args: &DrainArgs) -> Result<(), Failure> {
    heartbeat_file::age(&args.folder)?;
    let file = args.folder.join(NAME);
    fs::write(&file, "").map_err(|error| Failure::file(&file, words(&error)))?;
    let begun = Instant::now();
    while heartbeat_file::age(&args.folder).is_ok() {
        if begun.elapsed() > args.within {
            return Err(Failure::OutOfReach(format!(
                "{}: the worker has not ended within {} s",
                args.folder.display(),
                args.within.as_secs()
            )));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    print("drained\n")
}

/// Waits until somebody asks the worker with this state folder to drain. A request to an earlier
/// one does not count.
pub(super) async fn requested(state: &Path) {
    let file = state.join(NAME);
    let _ = fs::remove_file(&file);
    while !file.exists() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    tracing::info!("asked to drain");
    let _ = fs::remove_file(&file);
}
