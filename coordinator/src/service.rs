//! The gRPC handlers: decode, check, send a request to the event loop, await the reply, encode.
//! The one `match` from our errors to status codes is here.

use crate::blocking::Blocking;
use crate::event_loop::{AskError, Handle, Published};
use crate::metrics::Latency;
use crate::scoring_thread::ScoringThread;
use crate::status::{self, About};
use crate::uploads::Uploads;
use crate::validator::{Digest, RowRefused, Validator};
use bytes::Bytes;
use rlbayes::coordination::{Refusal, View};
use rlbayes_common::elite::EliteRow;
use rlbayes_common::exchange::{Exchange, Pace, Snapshot, Work};
use rlbayes_common::ids::{ChainId, Incarnation, SearchId};
use rlbayes_common::io::Format;
use rlbayes_common::search::StoppedBy;
use rlbayes_common::snapshot::decode_chain;
use rlbayes_proto::convert::{
    WireError, description_to_wire, exchange_from_wire, fitting, hello_from_wire, order_to_wire,
    reply_to_wire, row_digest,
};
use rlbayes_proto::v1::coordinator_server::Coordinator;
use rlbayes_proto::{MAX_CHUNK_BYTES, MAX_SNAPSHOT_BYTES, PROTOCOL_VERSION, v1};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming};

/// Shortest time between two messages to a watcher.
const WATCH_EVERY: Duration = Duration::from_millis(500);
/// How long a call may take: the time limit for uploading a chain's state.
pub(crate) const UPLOAD: Duration = Duration::from_secs(300);
/// How long a call may wait for the event loop.
const ANSWER: Duration = Duration::from_secs(30);

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchResult {
    /// As `learn --json` prints it.
    pub json: String,
    /// The encoded network.
    pub network: Bytes,
    /// Why the network has no probabilities, if it has none.
    pub not_fitted: Option<String>,
}

/// Makes results of what a status shows. They are made when somebody asks, so that none is older than
/// what was shown.
pub trait MakeResult: fmt::Debug + Send + Sync {
    /// Returns the result; none: there is no network yet.
    ///
    /// # Errors
    /// With a sentence, if it can't be made.
    fn result(&self, view: &View) -> Result<Option<SearchResult>, String>;

    /// Returns the result as a file of a format; none: there is no network yet.
    ///
    /// # Errors
    /// With a sentence, if it can't be made.
    fn file(&self, _view: &View, _format: Format) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }

    /// Returns the network as the viewer shows it; none: there is no network yet.
    ///
    /// # Errors
    /// With a sentence, if it is too large to draw.
    fn viewed(&self, _view: &View) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }
}

/// The service.
#[derive(Clone, Debug)]
pub struct Service {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    handle: Handle,
    published: watch::Receiver<Published>,
    results: Arc<dyn MakeResult>,
    /// Results are made one at a time: a large one takes memory.
    making: Arc<Mutex<()>>,
    about: About,
    data: Bytes,
    validator: Validator,
    scoring: ScoringThread,
    uploads: Uploads,
    latency: Latency,
}

/// The rows of an exchange as they were checked, by their digests; those of replicates by their
/// numbers as well.
type Checked = HashMap<(Option<ChainId>, Digest), Result<EliteRow, RowRefused>>;
type Chunks<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Service {
    /// Makes the service; `scoring` says where rows from outside are scored.
    #[must_use]
    pub fn new(
        handle: Handle,
        published: watch::Receiver<Published>,
        results: Arc<dyn MakeResult>,
        about: About,
        data: Bytes,
        validator: Validator,
        scoring: Blocking,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                handle,
                published,
                results,
                making: Arc::default(),
                about,
                data,
                validator,
                scoring: ScoringThread::start("scoring", scoring),
                uploads: Uploads::new(),
                latency: Latency::default(),
            }),
        }
    }

    /// Returns the status as a message.
    #[must_use]
    pub fn status_now(&self) -> v1::StatusReply {
        let shared = &self.shared;
        let published = shared.published.borrow().clone();
        status::to_wire(&shared.about, &published, shared.validator.refused_rows())
    }

    /// Returns what is told whenever the status changes.
    pub(crate) fn changes(&self) -> watch::Receiver<Published> {
        self.shared.published.clone()
    }

    /// Makes the result as a file; none: there is no network yet.
    ///
    /// # Errors
    /// With a sentence, if it can't be made, or not soon.
    pub(crate) async fn file(&self, format: Format) -> Result<Option<Vec<u8>>, String> {
        self.in_turn(move |results, view| results.file(view, format))
            .await
    }

    /// Makes what the viewer shows; none: there is no network yet.
    ///
    /// # Errors
    /// With a sentence, if it can't be made, or not soon.
    pub(crate) async fn viewed(&self) -> Result<Option<Vec<u8>>, String> {
        self.in_turn(|results, view| results.viewed(view)).await
    }

    /// Makes something of the result as it stands, one at a time.
    async fn in_turn(
        &self,
        make: impl FnOnce(&dyn MakeResult, &View) -> Result<Option<Vec<u8>>, String> + Send + 'static,
    ) -> Result<Option<Vec<u8>>, String> {
        let turn = Arc::clone(&self.shared.making).lock_owned();
        let Ok(turn) = tokio::time::timeout(ANSWER, turn).await else {
            return Err("too many results are being made; try again".to_owned());
        };
        let view = Arc::clone(&self.shared.published.borrow().view);
        let results = Arc::clone(&self.shared.results);
        let made = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            make(&*results, &view)
        });
        made.await.unwrap_or_else(|error| Err(error.to_string()))
    }

    fn note_counted(&self, states: &[(ChainId, [u8; 32])]) {
        for &(chain, digest) in states {
            self.shared.uploads.count(chain, digest);
        }
    }

    /// Returns how long exchanges took.
    #[must_use]
    pub fn latency(&self) -> &Latency {
        &self.shared.latency
    }

    /// Returns which work a message belongs to, by the search that it names.
    fn work_of(&self, id: &[u8]) -> Result<Work, Status> {
        let about = &self.shared.about;
        match &about.replicates {
            Some(replicates) if *id == replicates.description.id.0 => Ok(Work::Replicates),
            _ => self.check_search(id).map(|()| Work::Search),
        }
    }

    fn check_search(&self, id: &[u8]) -> Result<(), Status> {
        if *id == self.shared.about.search.id.0 {
            return Ok(());
        }
        let known = <[u8; 16]>::try_from(id).map(SearchId);
        Err(Status::aborted(match known {
            Ok(id) => format!("this coordinator has another search than {id}"),
            Err(_) => "the message does not name a search".to_owned(),
        }))
    }

    /// Checks the rows of an exchange, and hands it back. Known rows cost a look; the others are
    /// scored by the scoring thread.
    async fn check_rows(
        &self,
        request: v1::ExchangeRequest,
    ) -> Result<(v1::ExchangeRequest, Checked), Status> {
        let found = self.shared.validator.find(rows_of(&request));
        let all_known = found.iter().all(|(_, row)| row.is_some());
        let known = found
            .into_iter()
            .filter_map(|(digest, row)| Some(((None, digest), Ok(row?))));
        let mut checked: Checked = known.collect();
        if all_known {
            return Ok((request, checked));
        }
        let shared = Arc::clone(&self.shared);
        let scored = self.shared.scoring.run(move || {
            for row in rows_of(&request) {
                let digest = row_digest(row);
                checked
                    .entry((None, digest))
                    .or_insert_with(|| shared.validator.check(row, digest));
            }
            (request, checked)
        });
        waited(scored).await
    }

    /// Checks the networks of replicates, as [`check_rows`](Self::check_rows) does those of a search.
    async fn check_replicates(
        &self,
        request: v1::ExchangeRequest,
    ) -> Result<(v1::ExchangeRequest, Checked), Status> {
        let Some(work) = self.shared.about.replicates.clone() else {
            return Ok((request, Checked::new()));
        };
        if rows_of(&request).next().is_none() {
            return Ok((request, Checked::new()));
        }
        let view = Arc::clone(&self.shared.published.borrow().view);
        let scored = self.shared.scoring.run(move || {
            let mut checked = Checked::new();
            for report in &request.reports {
                let number = ChainId(report.chain);
                let done = view.replicates.as_ref().map(|it| &it.done);
                let known = done.and_then(|done| done.get(&report.chain));
                for row in report.finds.iter().filter_map(|find| find.row.as_ref()) {
                    checked
                        .entry((Some(number), row_digest(row)))
                        .or_insert_with(|| work.check(number, row, known.map(|it| &**it)));
                }
            }
            (request, checked)
        });
        waited(scored).await
    }

    /// Reads an exchange without the rows that are refused, and returns why they are.
    async fn read_exchange(
        &self,
        request: v1::ExchangeRequest,
    ) -> Result<(rlbayes_common::exchange::Exchange, Vec<String>), Status> {
        check_version(request.protocol_version)?;
        let work = self.work_of(&request.search_id)?;
        let sender = Incarnation(request.incarnation);
        let validator = &self.shared.validator;
        if validator.is_blocked(sender) {
            return Err(Status::permission_denied(
                "this worker has sent too many rows that were refused",
            ));
        }
        let (request, checked) = match work {
            Work::Search => self.check_rows(request).await?,
            Work::Replicates => self.check_replicates(request).await?,
        };
        let of = |chain| (work == Work::Replicates).then_some(chain);
        let mut refused = Vec::new();
        let mut exchange = exchange_from_wire(
            request,
            |chain, row| match checked.get(&(of(chain), row_digest(row))) {
                Some(Ok(row)) => Ok(Some(row.clone())),
                Some(Err(error)) => {
                    validator.count_refused(sender);
                    if refused.len() < 8 {
                        refused.push(error.to_string());
                    }
                    Ok(None)
                }
                None => Err(WireError::Missing("row")),
            },
            |chain, digest| self.shared.uploads.named(chain, digest),
        )
        .map_err(wire)?;
        exchange.work = work;
        for reason in &refused {
            tracing::warn!(worker = %exchange.worker, %reason, "a row was refused");
        }
        Ok((exchange, refused))
    }
}

/// Waits for the scoring thread, with a time limit.
async fn waited<T>(scored: impl Future<Output = Option<T>>) -> Result<T, Status> {
    match tokio::time::timeout(ANSWER, scored).await {
        Ok(Some(scored)) => Ok(scored),
        Ok(None) => Err(Status::unavailable("the coordinator is ending")),
        Err(_) => Err(Status::unavailable("too many rows wait to be scored")),
    }
}

/// Returns which states the reports of an exchange name.
fn states_of(exchange: &Exchange) -> Vec<(ChainId, [u8; 32])> {
    let reports = exchange.reports.iter();
    reports
        .filter_map(|report| Some((report.chain, report.snapshot.as_ref()?.digest())))
        .collect()
}

fn check_version(version: u32) -> Result<(), Status> {
    if version == PROTOCOL_VERSION {
        return Ok(());
    }
    Err(Status::failed_precondition(format!(
        "protocol version {version} was sent, this coordinator speaks {PROTOCOL_VERSION}"
    )))
}

fn wire(error: WireError) -> Status {
    Status::invalid_argument(error.to_string())
}

/// The only mapping from our errors to status codes.
fn to_status(error: AskError) -> Status {
    let message = error.to_string();
    match error {
        AskError::Refused(Refusal::TooManyWorkers) => Status::resource_exhausted(message),
        AskError::Refused(Refusal::UnknownWorker) => Status::not_found(message),
        AskError::Refused(Refusal::UnknownChain(_)) => Status::invalid_argument(message),
        AskError::NotStored(_) | AskError::Ending => Status::unavailable(message),
    }
}

/// Waits for the event loop, with a time limit.
async fn answered<T>(answer: impl Future<Output = Result<T, AskError>>) -> Result<T, Status> {
    match tokio::time::timeout(ANSWER, answer).await {
        Ok(answer) => answer.map_err(to_status),
        Err(_) => Err(Status::unavailable("the coordinator is too busy")),
    }
}

/// Returns the rows of an exchange.
fn rows_of(request: &v1::ExchangeRequest) -> impl Iterator<Item = &v1::Row> {
    let finds = request.reports.iter().flat_map(|report| &report.finds);
    finds.filter_map(|find| find.row.as_ref())
}

/// Sends bytes in chunks.
fn in_chunks(bytes: Bytes) -> Chunks<v1::Chunk> {
    let starts = (0..bytes.len()).step_by(MAX_CHUNK_BYTES);
    Box::pin(tokio_stream::iter(starts.map(move |at| {
        let end = bytes.len().min(at + MAX_CHUNK_BYTES);
        Ok(v1::Chunk {
            content: bytes.slice(at..end),
        })
    })))
}

/// Cuts a text into chunks between its characters.
fn json_chunks(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let mut end = text.len().min(MAX_CHUNK_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (chunk, rest) = text.split_at(end);
        text = rest;
        (!chunk.is_empty()).then_some(chunk)
    })
}

#[tonic::async_trait]
impl Coordinator for Service {
    async fn join(
        &self,
        request: Request<v1::JoinRequest>,
    ) -> Result<Response<v1::JoinReply>, Status> {
        let request = request.into_inner();
        check_version(request.protocol_version)?;
        let mut hello = hello_from_wire(request).map_err(wire)?;
        let about = &self.shared.about;
        let replicates = about.replicates.as_ref().map(|it| &it.description);
        if replicates.is_some_and(|it| hello.search == Some(it.id)) {
            hello.work = Work::Replicates;
        } else if hello.search != Some(about.search.id) {
            // The chains belong to another search.
            hello.chains.clear();
        }
        for shown in [&mut hello.host, &mut hello.program_version] {
            // They are shown on terminals.
            *shown = shown.replace(char::is_control, "?");
        }
        let welcome = answered(self.shared.handle.join(hello)).await?;
        let search = match (welcome.work, replicates) {
            (Work::Replicates, Some(replicates)) => replicates,
            _ => &about.search,
        };
        Ok(Response::new(v1::JoinReply {
            protocol_version: PROTOCOL_VERSION,
            search: Some(description_to_wire(search)),
            worker: welcome.worker.0,
            lease_millis: u64::try_from(welcome.lease.as_millis()).unwrap_or(u64::MAX),
            orders: fitting(welcome.orders.iter().map(order_to_wire)),
            chains: welcome.orders.iter().map(|order| order.chain.0).collect(),
            stopped_by: welcome.stopped_by.map_or("", StoppedBy::as_str).to_owned(),
            more_work: welcome.more_work,
        }))
    }

    type FetchDataStream = Chunks<v1::Chunk>;

    async fn fetch_data(
        &self,
        request: Request<v1::FetchDataRequest>,
    ) -> Result<Response<Self::FetchDataStream>, Status> {
        if *request.get_ref().data_hash != self.shared.about.search.data_hash {
            return Err(Status::aborted("this coordinator has other data"));
        }
        Ok(Response::new(in_chunks(self.shared.data.clone())))
    }

    async fn store_chain(
        &self,
        request: Request<Streaming<v1::StoreChainChunk>>,
    ) -> Result<Response<v1::StoreChainReply>, Status> {
        let mut stream = request.into_inner();
        let read = async {
            let first = stream.message().await?;
            let header = first
                .and_then(|chunk| chunk.header)
                .ok_or_else(|| wire(WireError::Missing("header")))?;
            self.check_search(&header.search_id)?;
            if self.shared.about.search.pace != Pace::Lockstep {
                return Err(Status::failed_precondition(
                    "only a deterministic search stores states of chains",
                ));
            }
            if header.bytes > MAX_SNAPSHOT_BYTES {
                return Err(wire(WireError::Range("bytes")));
            }
            let room = self.shared.uploads.room_for(header.bytes).await;
            let room = room.ok_or_else(|| wire(WireError::Range("bytes")))?;
            let mut bytes = Vec::new();
            while let Some(chunk) = stream.message().await? {
                bytes.extend_from_slice(&chunk.content);
                if bytes.len() as u64 > header.bytes {
                    return Err(wire(WireError::Range("content")));
                }
            }
            Ok((header, bytes, room))
        };
        let (header, bytes, _room) = tokio::time::timeout(UPLOAD, read)
            .await
            .map_err(|_| Status::deadline_exceeded("the upload of the state took too long"))??;
        let snapshot = Snapshot::new(bytes);
        if *header.snapshot != snapshot.digest() {
            return Err(Status::invalid_argument(
                "the state does not match its announced digest",
            ));
        }
        decode_chain(snapshot.bytes(), self.shared.about.search.nodes)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        let chain = ChainId(header.chain);
        let known = self.shared.published.borrow().view.chains;
        if header.chain as usize >= known {
            return Err(to_status(AskError::Refused(Refusal::UnknownChain(chain))));
        }
        if !self.shared.uploads.keep(chain, snapshot) {
            return Err(Status::resource_exhausted(
                "too many uploaded states are waiting",
            ));
        }
        Ok(Response::new(v1::StoreChainReply {}))
    }

    type FetchChainStream = Chunks<v1::Chunk>;

    async fn fetch_chain(
        &self,
        request: Request<v1::FetchChainRequest>,
    ) -> Result<Response<Self::FetchChainStream>, Status> {
        let request = request.into_inner();
        self.check_search(&request.search_id)?;
        let chain = ChainId(request.chain);
        let snapshot = answered(self.shared.handle.fetch_chain(chain)).await?;
        let snapshot = snapshot
            .filter(|snapshot| *request.snapshot == snapshot.digest())
            .ok_or_else(|| Status::out_of_range("this state is not stored (any more)"))?;
        Ok(Response::new(in_chunks(Bytes::from_owner(
            snapshot.bytes().clone(),
        ))))
    }

    async fn exchange(
        &self,
        request: Request<v1::ExchangeRequest>,
    ) -> Result<Response<v1::ExchangeReply>, Status> {
        let begun = Instant::now();
        let (exchange, refused) = self.read_exchange(request.into_inner()).await?;
        let states = states_of(&exchange);
        let reply = answered(self.shared.handle.exchange(exchange)).await?;
        self.note_counted(&states);
        self.shared.latency.record(begun.elapsed());
        Ok(Response::new(reply_to_wire(&reply, refused)))
    }

    async fn leave(
        &self,
        request: Request<v1::ExchangeRequest>,
    ) -> Result<Response<v1::LeaveReply>, Status> {
        let (exchange, _) = self.read_exchange(request.into_inner()).await?;
        let states = states_of(&exchange);
        answered(self.shared.handle.leave(exchange)).await?;
        self.note_counted(&states);
        Ok(Response::new(v1::LeaveReply {}))
    }

    async fn status(
        &self,
        _request: Request<v1::StatusRequest>,
    ) -> Result<Response<v1::StatusReply>, Status> {
        Ok(Response::new(self.status_now()))
    }

    type WatchStream = Chunks<v1::StatusReply>;

    async fn watch(
        &self,
        _request: Request<v1::StatusRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        // A watcher that reads too slowly gets fewer messages.
        let (sender, receiver) = mpsc::channel(1);
        let service = self.clone();
        tokio::spawn(async move {
            let mut published = service.shared.published.clone();
            loop {
                if sender.send(Ok(service.status_now())).await.is_err() {
                    return;
                }
                tokio::select! {
                    biased;
                    () = sender.closed() => return,
                    () = tokio::time::sleep(WATCH_EVERY) => {}
                }
                if published.changed().await.is_err() {
                    // The last status tells whether the search is over or the coordinator only ends.
                    let _ = sender.send(Ok(service.status_now())).await;
                    return;
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn stop(
        &self,
        _request: Request<v1::StopRequest>,
    ) -> Result<Response<v1::StatusReply>, Status> {
        answered(self.shared.handle.stop(StoppedBy::Stop)).await?;
        Ok(Response::new(self.status_now()))
    }

    type ResultStream = Chunks<v1::ResultChunk>;

    async fn result(
        &self,
        _request: Request<v1::ResultRequest>,
    ) -> Result<Response<Self::ResultStream>, Status> {
        let turn = Arc::clone(&self.shared.making).lock_owned().await;
        let view = Arc::clone(&self.shared.published.borrow().view);
        let results = Arc::clone(&self.shared.results);
        let made = tokio::task::spawn_blocking(move || {
            // Held here: a caller that goes away does not end the work.
            let _turn = turn;
            results.result(&view)
        });
        let made = made.await.unwrap_or_else(|error| Err(error.to_string()));
        let result = made
            .map_err(Status::internal)?
            .ok_or_else(|| Status::not_found("there is no network yet"))?;
        let json = json_chunks(&result.json).map(|json| v1::ResultChunk {
            json: json.to_owned(),
            ..Default::default()
        });
        let not_fitted = v1::ResultChunk {
            not_fitted: result.not_fitted.unwrap_or_default(),
            ..Default::default()
        };
        let first: Vec<_> = json.chain([not_fitted]).map(Ok).collect();
        let network = in_chunks(result.network).map(|chunk| {
            chunk.map(|chunk| v1::ResultChunk {
                network: chunk.content,
                ..Default::default()
            })
        });
        Ok(Response::new(Box::pin(
            tokio_stream::iter(first).chain(network),
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_its_characters() {
        let text = "a".to_owned() + &"\u{20ac}".repeat(MAX_CHUNK_BYTES);
        let chunks: Vec<&str> = json_chunks(&text).collect();
        assert_eq!(chunks.concat(), text);
        assert!(chunks.iter().all(|chunk| chunk.len() <= MAX_CHUNK_BYTES));
        assert_eq!(json_chunks("").count(), 0);
    }
}
