//! Answers that are on their way: how many long ones there may be, how many bytes those may take that
//! are whole, and how long they may stay unread. Those to members, to other workers, to watchers and
//! to readers have room of their own: none of them can keep the others out.

use crate::budget::{Budget, Hold, Payer};
use crate::connections::WeakPlace;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::Response;

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
/// What answers in one message may take, to members, to other workers and to readers; one of these may
/// have half of it.
const WHOLE_BYTES: usize = 32 << 20;
/// Bytes of such an answer that do not count: whoever asks for little always gets it.
const FREE_BYTES: usize = 8 << 10;
/// How long one that counts may stay unread.
pub(crate) const WHOLE: Duration = Duration::from_secs(60);

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
    to_members: Arc<Budget>,
    to_workers: Arc<Budget>,
    to_readers: Arc<Budget>,
}

/// Whom an answer in one message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    Worker,
    Reader,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            fetches: Budget::new(MAX_FETCHES),
            watchers: Budget::with_share(MAX_WATCHERS, WATCHERS_OF_PEER),
            results: Budget::with_share(MAX_RESULTS, RESULTS_OF_PEER),
            to_members: Budget::new(WHOLE_BYTES),
            to_workers: Budget::new(WHOLE_BYTES),
            to_readers: Budget::new(WHOLE_BYTES),
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

impl Answers {
    /// Encodes an answer in one message, so that its bytes are known. They take room until they are
    /// written to the connection, which ends if that takes too long.
    pub(crate) async fn whole(
        &self,
        response: Response<Body>,
        to: To,
        payer: Payer,
        place: Option<WeakPlace>,
    ) -> Response<Body> {
        let (head, mut body) = response.into_parts();
        let mut parts = VecDeque::new();
        let mut bytes = 0;
        while let Some(part) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            match part {
                Ok(part) => {
                    bytes += part.data_ref().map_or(0, Bytes::len);
                    parts.push_back(part);
                }
                Err(status) => return status.into_http(),
            }
        }
        if bytes > FREE_BYTES {
            let budget = match (&payer, to) {
                (Payer::Member(_), _) => &self.to_members,
                (Payer::Peer(_), To::Worker) => &self.to_workers,
                (Payer::Peer(_), To::Reader) => &self.to_readers,
            };
            let mut hold = budget.hold(payer);
            if !hold.grow(bytes) {
                let full = "too many answers wait to be read; try again";
                return Status::resource_exhausted(full).into_http();
            }
            let hold = Arc::new(hold);
            close_late(&hold, WHOLE, place);
            for part in &mut parts {
                if let Some(bytes) = part.data_mut() {
                    let counted = Counted {
                        bytes: std::mem::take(bytes),
                        _hold: Arc::clone(&hold),
                    };
                    *bytes = Bytes::from_owner(counted);
                }
            }
        }
        Response::from_parts(head, Body::new(WholeAnswer(parts)))
    }
}

/// Bytes that take room wherever they wait, also in the queue of a connection.
struct Counted {
    bytes: Bytes,
    _hold: Arc<Hold>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// An answer that is encoded.
struct WholeAnswer(VecDeque<Frame<Bytes>>);

impl HttpBody for WholeAnswer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
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
