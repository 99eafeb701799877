//! `rlbayes watch`: how a search is going, live. A terminal gets a view of its own size; a pipe gets
//! plain lines or JSON.

mod curve;
mod follow;
mod keys;
mod layout;
mod screen;

use super::block_on;
use super::client::{AskArgs, for_people};
use crate::failure::Failure;
use crate::terminal::print;
use crate::units::parse_time;
use clap::Args;
use curve::{History, plain_curve};
use follow::{Update, follow};
use keys::{Key, Keys};
use layout::{Watched, frame};
use rlbayes_coordinator::status::to_json;
use screen::Screen;
use std::io::IsTerminal;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How often the view is drawn at least: ages and resized windows show without news.
const REDRAW: Duration = Duration::from_millis(500);

/// Shows live how a search is going
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
On a terminal: q, Esc or Ctrl-C quits, the arrow keys and Page Up and Down scroll the workers. When the
search is over, the last status is printed and the command ends. While the coordinator is away, it is
tried again. Into a pipe or a file: a status as text (or with --json as one line) whenever it changes.

Example:
  rlbayes watch http://localhost:7400")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    ask: AskArgs,
    /// Prints one JSON object per line
    #[arg(long)]
    json: bool,
    /// Ends after the coordinator was away for this long, with exit code 3 [default: never on a
    /// terminal, else at once]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    give_up_after: Option<Duration>,
}

/// Runs `rlbayes watch`: until the search is finished or somebody quits.
pub(crate) fn watch(args: &WatchArgs) -> Result<(), Failure> {
    let is_live = !args.json && std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    block_on(1, async {
        let client = args.ask.connect.connection(&args.ask.url)?.client()?;
        let give_up_after = match (args.give_up_after, is_live) {
            (None, true) => None,
            (given, _) => Some(given.unwrap_or_default()),
        };
        let (sender, updates) = mpsc::channel(1);
        tokio::spawn(follow(client, args.ask.url.clone(), give_up_after, sender));
        if is_live {
            live(&args.ask.url, updates).await
        } else {
            lines(args.json, updates).await
        }
    })
}

/// Prints every status that comes.
async fn lines(as_json: bool, mut updates: mpsc::Receiver<Update>) -> Result<(), Failure> {
    while let Some(update) = updates.recv().await {
        match update {
            Update::Status(status) if as_json => print(&format!("{}\n", to_json(&status)))?,
            Update::Status(status) => {
                let text = format!("{}{}\n", for_people(&status), plain_curve(&status));
                print(&text)?;
            }
            Update::Away { .. } => {}
            Update::Failed(failure) => return Err(failure),
        }
    }
    Ok(())
}

/// Draws until the search is finished or somebody quits.
async fn live(url: &str, mut updates: mpsc::Receiver<Update>) -> Result<(), Failure> {
    // Nothing is drawn before the coordinator has answered: an address that is wrong gets a sentence.
    let mut status = match updates.recv().await {
        Some(Update::Status(status)) => status,
        Some(Update::Failed(failure)) => return Err(failure),
        Some(Update::Away { .. }) | None => return Ok(()),
    };
    let told = |error: std::io::Error| Failure::input(format!("cannot use the terminal: {error}"));
    let mut curve = History::default();
    curve.take(&status);
    let mut screen = Screen::open().map_err(told)?;
    let mut keys = Keys::read().map_err(told)?;
    let mut resized = signal(SignalKind::window_change()).map_err(told)?;
    let mut terminated = signal(SignalKind::terminate()).map_err(told)?;
    let mut hung_up = signal(SignalKind::hangup()).map_err(told)?;
    let mut away: Option<Instant> = None;
    let mut received = Instant::now();
    let mut first_worker = 0;
    loop {
        let (width, height) = screen.size();
        let watched = Watched {
            status: &status,
            curve: &curve,
            url,
            away: away.map(|since| since.elapsed()),
            received: received.elapsed(),
            first_worker,
        };
        let drawn = frame(&watched, width, height);
        first_worker = drawn.first_worker;
        screen.draw(&drawn.lines).map_err(told)?;
        if status.state == "finished" {
            break;
        }
        let page = drawn.shown_workers.max(1);
        tokio::select! {
            update = updates.recv() => match update {
                Some(Update::Status(new)) => {
                    curve.take(&new);
                    (status, away, received) = (new, None, Instant::now());
                }
                Some(Update::Away { since }) => away = Some(since),
                Some(Update::Failed(failure)) => return Err(failure),
                None => return Ok(()),
            },
            key = keys.next() => match key {
                Some(Key::Quit) | None => return Ok(()),
                Some(Key::Up) => first_worker = first_worker.saturating_sub(1),
                Some(Key::Down) => first_worker += 1,
                Some(Key::PageUp) => first_worker = first_worker.saturating_sub(page),
                Some(Key::PageDown) => first_worker += page,
                Some(Key::Other) => {}
            },
            _ = resized.recv() => {}
            _ = terminated.recv() => return Err(Failure::Interrupted),
            _ = hung_up.recv() => return Err(Failure::Interrupted),
            () = tokio::time::sleep(REDRAW) => {}
        }
    }
    drop(screen);
    print(&for_people(&status))
}
