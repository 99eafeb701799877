//! Server-sent events: the status of a search whenever it changes, for the live page.
//!
//! What is sent next is made only when the reader has taken the last, so a reader that is slow gets
//! fewer events, and one that never reads holds three at most. A stream ends after a while; a page
//! asks again.

use crate::budget::Hold;
use crate::service::Service;
use crate::status::to_json;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use rlbayes_proto::v1;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

/// Streams at a time, half of them for one address; further pages are told to wait.
pub(crate) const STREAMS: usize = 32;
/// How long a stream lasts.
const LIFE: Duration = Duration::from_secs(30);
/// Shortest and longest time between two events.
const EVERY: Duration = Duration::from_secs(1);
const AT_LEAST_EVERY: Duration = Duration::from_secs(5);
/// Workers that are sent to a page.
const MOST_WORKERS: usize = 500;

/// Sends the status until the stream's time is over; `place` counts the streams of a peer.
pub(crate) async fn stream(service: Service, mut place: Hold) -> Response {
    if !place.grow(1) {
        let why = "too many pages are open; this one tries again\n";
        return (StatusCode::SERVICE_UNAVAILABLE, why).into_response();
    };
    let (sender, receiver) = mpsc::channel::<Bytes>(1);
    tokio::spawn(async move {
        let _place = place;
        let end = Instant::now() + LIFE;
        let mut changes = service.changes();
        let mut curve = None;
        while Instant::now() < end {
            let status = service.status_now();
            let mut text = event("status", &facts(&status));
            let newest = status.curve.last().map(|point| point.score.to_bits());
            if curve != Some((status.curve.len(), newest)) {
                curve = Some((status.curve.len(), newest));
                text += &event("curve", &points(&status));
            }
            match timeout_at(end, sender.send(text.into())).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return,
            }
            sleep(EVERY).await;
            if let Ok(Err(_)) = timeout(AT_LEAST_EVERY, changes.changed()).await {
                // The coordinator ends: its last status tells whether the search is over.
                let last = event("status", &facts(&service.status_now()));
                let _ = timeout_at(end, sender.send(last.into())).await;
                return;
            }
        }
    });
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        // A proxy that collects answers before it passes them on would hold events back.
        ("x-accel-buffering", "no"),
    ];
    let body = ReceiverStream::new(receiver).map(Ok::<_, Infallible>);
    (headers, Body::from_stream(body)).into_response()
}

fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// The status as scripts get it, with the workers that take part first, and which process sends it.
fn facts(status: &v1::StatusReply) -> Value {
    static STARTED: OnceLock<u128> = OnceLock::new();
    let started = STARTED.get_or_init(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.unwrap_or_default().as_millis()
    });
    let mut facts = to_json(status);
    if let Some(workers) = facts["workers"].as_array_mut() {
        workers.sort_by_key(|worker| worker["alive"] != true);
        let all = workers.len();
        workers.truncate(MOST_WORKERS);
        facts["workers_left_out"] = json!(all.saturating_sub(MOST_WORKERS));
    }
    facts["process"] = json!(started.to_string());
    facts["version"] = json!(env!("CARGO_PKG_VERSION"));
    facts
}

/// The curve as pairs of seconds and scores.
fn points(status: &v1::StatusReply) -> Value {
    let points = status.curve.iter();
    points
        .map(|point| json!([point.seconds, point.score]))
        .collect()
}
