//! The stream of statuses, over restarts of the coordinator.

use crate::failure::Failure;
use rlbayes_client::{ClientError, failed};
use rlbayes_proto::v1;
use rlbayes_worker::grpc_link::Client;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};
use tonic::{Code, Status};

/// What a watcher hears.
pub(super) enum Update {
    /// The status, at most twice per second.
    Status(Box<v1::StatusReply>),
    /// The coordinator does not answer since then; it is tried again.
    Away {
        /// When it last did.
        since: Instant,
    },
    /// There is no use in trying again.
    Failed(Failure),
}

/// A coordinator sends a status several times in this time; one that does not is away.
const SILENCE: Duration = Duration::from_secs(15);
/// How long it may take to answer.
const ANSWER: Duration = Duration::from_secs(10);
/// The first and the longest pause between two tries.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How a stream ended.
enum Ended {
    /// The search is over, or nobody listens.
    Done,
    /// By the coordinator, in order.
    Closed,
    /// By an error.
    Broken(Status),
}

/// Sends every status to `updates` until the search is finished. A coordinator that answered once may
/// be away for `give_up_after`; none: for ever. With zero, one that ends in order is no failure.
pub(super) async fn follow(
    mut client: Client,
    url: String,
    give_up_after: Option<Duration>,
    updates: Sender<Update>,
) {
    let mut seen: Option<Instant> = None;
    let mut pause = FIRST_PAUSE;
    loop {
        let before = seen;
        let ended = listen(&mut client, &mut seen, &updates).await;
        if seen != before {
            pause = FIRST_PAUSE;
        }
        let status = match ended {
            Ended::Done => return,
            Ended::Closed if give_up_after == Some(Duration::ZERO) => return,
            Ended::Closed => Status::unavailable("the coordinator has ended"),
            Ended::Broken(status) => status,
        };
        let given_up = match (seen, give_up_after) {
            (None, _) => true,
            (Some(seen), Some(patience)) => seen.elapsed() >= patience,
            (Some(_), None) => false,
        };
        let Some(since) = seen.filter(|_| !given_up && may_pass(status.code())) else {
            let failure = match failed(&url, &status).await {
                // It answered before: however the connection broke, it is away.
                ClientError::Input(what) if seen.is_some() && may_pass(status.code()) => {
                    Failure::OutOfReach(what)
                }
                failure => failure.into(),
            };
            let _ = updates.send(Update::Failed(failure)).await;
            return;
        };
        if updates.send(Update::Away { since }).await.is_err() {
            return;
        }
        sleep(pause).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

/// Returns whether an error may pass with time: a restart looks like any of these.
fn may_pass(code: Code) -> bool {
    matches!(
        code,
        Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Cancelled
            | Code::Unknown
            | Code::Internal
            | Code::ResourceExhausted
    )
}

/// Passes a stream on until it ends; `seen` is when the last status came.
async fn listen(
    client: &mut Client,
    seen: &mut Option<Instant>,
    updates: &Sender<Update>,
) -> Ended {
    let late = |_| Status::unavailable("the coordinator does not answer");
    let called = timeout(ANSWER, client.watch(v1::StatusRequest {})).await;
    let mut stream = match called.map_err(late) {
        Ok(Ok(reply)) => reply.into_inner(),
        Ok(Err(status)) | Err(status) => return Ended::Broken(status),
    };
    loop {
        let message = match timeout(SILENCE, stream.message()).await.map_err(late) {
            Ok(Ok(message)) => message,
            Ok(Err(status)) | Err(status) => return Ended::Broken(status),
        };
        let Some(status) = message else {
            return Ended::Closed;
        };
        *seen = Some(Instant::now());
        let is_over = status.state == "finished";
        let sent = updates.send(Update::Status(Box::new(status))).await;
        if sent.is_err() || is_over {
            return Ended::Done;
        }
    }
}
