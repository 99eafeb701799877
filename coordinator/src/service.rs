//! The gRPC handlers: decode, check, send a request to the event loop, await the reply, encode.
//! The one `match` from our errors to status codes is here.

use crate::event_loop::{AskError, Handle, Published};
use crate::latency::Latency;
use crate::state::Refusal;
use crate::status::{self, About};
use crate::validator::Validator;
use bytes::Bytes;
use rlbayes_common::exchange::Snapshot;
use rlbayes_common::ids::{ChainId, Incarnation, SearchId};
use rlbayes_common::search::StoppedBy;
use rlbayes_common::snapshot::decode_chain;
use rlbayes_proto::convert::{
    WireError, description_to_wire, exchange_from_wire, hello_from_wire, order_to_wire,
    reply_to_wire,
};
use rlbayes_proto::v1::coordinator_server::Coordinator;
use rlbayes_proto::{MAX_CHUNK_BYTES, MAX_SNAPSHOT_BYTES, PROTOCOL_VERSION, v1};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming};

/// States that were uploaded and not yet reported, in all.
const MAX_UPLOAD_BYTES: u64 = 2 << 30;
/// How often a watcher hears at most.
const WATCH_EVERY: Duration = Duration::from_millis(500);
/// How long an upload may take.
const UPLOAD: Duration = Duration::from_secs(300);

/// What a finished file of the result looks like.
#[derive(Clone, Debug, Default)]
pub struct ResultFiles {
    /// As `learn --json` prints it.
    pub json: String,
    /// The network with its probabilities.
    pub bif: Bytes,
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
    results: watch::Receiver<Option<Arc<ResultFiles>>>,
    about: About,
    data: Bytes,
    validator: Validator,
    uploads: Mutex<BTreeMap<ChainId, Snapshot>>,
    latency: Latency,
}

type Chunks<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Service {
    /// Makes the service.
    #[must_use]
    pub fn new(
        handle: Handle,
        published: watch::Receiver<Published>,
        results: watch::Receiver<Option<Arc<ResultFiles>>>,
        about: About,
        data: Bytes,
        validator: Validator,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                handle,
                published,
                results,
                about,
                data,
                validator,
                uploads: Mutex::default(),
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

    /// Returns how long exchanges took.
    #[must_use]
    pub fn latency(&self) -> &Latency {
        &self.shared.latency
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

    /// Reads an exchange; refused rows are left out and told about.
    fn read_exchange(
        &self,
        request: v1::ExchangeRequest,
    ) -> Result<(rlbayes_common::exchange::Exchange, Vec<String>), Status> {
        check_version(request.protocol_version)?;
        self.check_search(&request.search_id)?;
        let sender = Incarnation(request.incarnation);
        let validator = &self.shared.validator;
        if validator.is_offender(sender) {
            return Err(Status::permission_denied(
                "this worker has sent too many rows that were refused",
            ));
        }
        let mut refused = Vec::new();
        let exchange = exchange_from_wire(
            request,
            |row| match validator.check(row) {
                Ok(row) => Ok(Some(row)),
                Err(error) => {
                    validator.offend(sender);
                    if refused.len() < 8 {
                        refused.push(error.to_string());
                    }
                    Ok(None)
                }
            },
            |chain, digest| {
                let uploads = self.shared.uploads.lock();
                let uploads = uploads.unwrap_or_else(PoisonError::into_inner);
                uploads
                    .get(&chain)
                    .filter(|snapshot| snapshot.digest() == digest)
                    .cloned()
            },
        )
        .map_err(wire)?;
        for reason in &refused {
            tracing::warn!(worker = %exchange.worker, %reason, "a row was refused");
        }
        Ok((exchange, refused))
    }
}

fn check_version(version: u32) -> Result<(), Status> {
    if version == PROTOCOL_VERSION {
        return Ok(());
    }
    Err(Status::failed_precondition(format!(
        "protocol version {version} is spoken, this coordinator speaks {PROTOCOL_VERSION}"
    )))
}

fn wire(error: WireError) -> Status {
    Status::invalid_argument(error.to_string())
}

/// The one table from our errors to status codes.
fn asked(error: AskError) -> Status {
    let said = error.to_string();
    match error {
        AskError::Refused(Refusal::TooManyWorkers) => Status::resource_exhausted(said),
        AskError::Refused(Refusal::UnknownWorker) => Status::not_found(said),
        AskError::Refused(Refusal::UnknownChain(_)) => Status::invalid_argument(said),
        AskError::NotStored(_) | AskError::Ending => Status::unavailable(said),
    }
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

#[tonic::async_trait]
impl Coordinator for Service {
    async fn join(
        &self,
        request: Request<v1::JoinRequest>,
    ) -> Result<Response<v1::JoinReply>, Status> {
        let request = request.into_inner();
        check_version(request.protocol_version)?;
        let mut hello = hello_from_wire(request).map_err(wire)?;
        let search = &self.shared.about.search;
        if hello.search != Some(search.id) {
            // Chains of another search are none of ours.
            hello.chains.clear();
        }
        let welcome = self.shared.handle.join(hello).await.map_err(asked)?;
        Ok(Response::new(v1::JoinReply {
            protocol_version: PROTOCOL_VERSION,
            search: Some(description_to_wire(search)),
            worker: welcome.worker.0,
            lease_millis: u64::try_from(welcome.lease.as_millis()).unwrap_or(u64::MAX),
            orders: welcome.orders.iter().map(order_to_wire).collect(),
            stopped_by: welcome.stopped_by.map_or("", StoppedBy::as_str).to_owned(),
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
            if header.bytes > MAX_SNAPSHOT_BYTES {
                return Err(wire(WireError::Range("bytes")));
            }
            let mut bytes = Vec::new();
            while let Some(chunk) = stream.message().await? {
                bytes.extend_from_slice(&chunk.content);
                if bytes.len() as u64 > header.bytes {
                    return Err(wire(WireError::Range("content")));
                }
            }
            Ok((header, bytes))
        };
        let (header, bytes) = tokio::time::timeout(UPLOAD, read)
            .await
            .map_err(|_| Status::deadline_exceeded("the state took too long"))??;
        let snapshot = Snapshot::new(bytes);
        if *header.snapshot != snapshot.digest() {
            return Err(Status::invalid_argument(
                "the state is not what was announced",
            ));
        }
        decode_chain(snapshot.bytes(), self.shared.about.search.nodes)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        let chain = ChainId(header.chain);
        let known = self.shared.published.borrow().view.chains;
        if header.chain as usize >= known {
            return Err(asked(AskError::Refused(Refusal::UnknownChain(chain))));
        }
        let uploads = self.shared.uploads.lock();
        let mut uploads = uploads.unwrap_or_else(PoisonError::into_inner);
        let held: u64 = uploads.values().map(|s| s.bytes().len() as u64).sum();
        if held + snapshot.bytes().len() as u64 > MAX_UPLOAD_BYTES {
            return Err(Status::resource_exhausted("there are too many states"));
        }
        uploads.insert(chain, snapshot);
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
        let snapshot = self.shared.handle.fetch_chain(chain).await.map_err(asked)?;
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
        let (exchange, refused) = self.read_exchange(request.into_inner())?;
        let reply = self.shared.handle.exchange(exchange).await.map_err(asked)?;
        self.shared.latency.record(begun.elapsed());
        Ok(Response::new(reply_to_wire(&reply, refused)))
    }

    async fn leave(
        &self,
        request: Request<v1::ExchangeRequest>,
    ) -> Result<Response<v1::LeaveReply>, Status> {
        let (exchange, _) = self.read_exchange(request.into_inner())?;
        self.shared.handle.leave(exchange).await.map_err(asked)?;
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
        // A watcher that does not read fast enough hears less often.
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
        self.shared
            .handle
            .stop(StoppedBy::Stop)
            .await
            .map_err(asked)?;
        Ok(Response::new(self.status_now()))
    }

    type ResultStream = Chunks<v1::ResultChunk>;

    async fn result(
        &self,
        _request: Request<v1::ResultRequest>,
    ) -> Result<Response<Self::ResultStream>, Status> {
        let files = self.shared.results.borrow().clone();
        let files = files.ok_or_else(|| Status::not_found("there is no network yet"))?;
        let first = v1::ResultChunk {
            json: files.json.clone(),
            bif: Bytes::new(),
        };
        let rest = in_chunks(files.bif.clone()).map(|chunk| {
            chunk.map(|chunk| v1::ResultChunk {
                json: String::new(),
                bif: chunk.content,
            })
        });
        Ok(Response::new(Box::pin(
            tokio_stream::once(Ok(first)).chain(rest),
        )))
    }
}
