//! Answers that are on their way: how many long ones there may be, what short ones may take, and how
//! long they may stay unread. Those to workers, to watchers and to readers of the result have room of
//! their own: none of them can keep the others out.

use crate::budget::{Budget, Hold, Payer};
use crate::connections::WeakPlace;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tonic::Status;
use tonic::body::Body;

/// Tables and states that are sent to workers at a time, half of them to one peer.
const MAX_FETCHES: usize = 256;
/// Watchers, and how many of them one peer may be.
const MAX_WATCHERS: usize = 128;
const WATCHERS_OF_PEER: usize = 32;
/// Results that are sent at a time, and how many of them to one peer.
const MAX_RESULTS: usize = 64;
const RESULTS_OF_PEER: usize = 16;
/// How long a table, a state or a result may take to be read. `watch` has a time limit for each status.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// An answer in many messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Long {
    /// The table, or the state of a chain.
    Fetch,
    Watch,
    Result,
}

/// What answers may take.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    fetches: Arc<Budget>,
    watchers: Arc<Budget>,
    results: Arc<Budget>,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            fetches: Budget::new(MAX_FETCHES),
            watchers: Budget::with_share(MAX_WATCHERS, WATCHERS_OF_PEER),
            results: Budget::with_share(MAX_RESULTS, RESULTS_OF_PEER),
        }
    }
}

impl Answers {
    /// Takes a place for a long answer.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn begin(&self, what: Long, to: Payer) -> Result<Hold, Status> {
        let mut hold = match what {
            Long::Fetch => self.fetches.hold(to),
            Long::Watch => self.watchers.hold(to),
            Long::Result => self.results.hold(to),
        };
        match hold.grow(1) {
            true => Ok(hold),
            false => Err(Status::resource_exhausted(
                "too many answers are being sent; try again",
            )),
        }
    }
}

/// A long answer, which has its place until it is dropped.
pub(crate) struct LongAnswer {
    body: Body,
    _hold: Arc<Hold>,
}

impl LongAnswer {
    /// Makes a body; one that takes too long ends its connection.
    pub(crate) fn new(what: Long, body: Body, hold: Hold, place: Option<WeakPlace>) -> Self {
        let hold = Arc::new(hold);
        if what != Long::Watch {
            close_late(&hold, LONG, place);
        }
        Self { body, _hold: hold }
    }
}

/// Ends a connection if something is still held after a time.
fn close_late(hold: &Arc<Hold>, after: Duration, place: Option<WeakPlace>) {
    let Some(place) = place else {
        return;
    };
    let hold = Arc::downgrade(hold);
    tokio::spawn(async move {
        tokio::time::sleep(after).await;
        if hold.strong_count() > 0 {
            place.close();
        }
    });
}

impl HttpBody for LongAnswer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
