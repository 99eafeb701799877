//! The gRPC handlers: decode, check, send a request to the event loop, await the reply, encode.
//! The one `match` from our errors to status codes is here.

use crate::admission::Caller;
use crate::blocking::Blocking;
use crate::event_loop::{AskError, Handle, Published};
use crate::metrics::Latency;
use crate::peer::Peer;
use crate::scoring_queue::{Lane, ScoringQueue, Sender};
use crate::standing::{Standing, Treatment};
use crate::status::{self, About};
use crate::uploads::Uploads;
use crate::validator::{Digest, RowRefused, Validator};
use bytes::Bytes;
use prost::Message;
use rlbayes::chains::ChainMaker;
use rlbayes::coordination::{Refusal, View};
use rlbayes_common::elite::EliteRow;
use rlbayes_common::exchange::{Exchange, Pace, Snapshot, Work};
use rlbayes_common::ids::{ChainId, Incarnation, SearchId, WorkerId};
use rlbayes_common::io::Format;
use rlbayes_common::search::StoppedBy;
use rlbayes_proto::convert::{
    KnownRows, WireError, description_to_wire, exchange_from_wire, fitting, heartbeat_from_wire,
    hello_from_wire, order_to_wire, reply_to_wire, row_digest, whole_bytes, whole_row,
};
use rlbayes_proto::v1::coordinator_server::Coordinator;
use rlbayes_proto::{
    MAX_CHUNK_BYTES, MAX_LIST_BYTES, MAX_MESSAGE_BYTES, MAX_SNAPSHOT_BYTES, PROTOCOL_VERSION, v1,
};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
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
/// How long the next part of an upload may take.
const PROGRESS: Duration = Duration::from_secs(10);
/// How long a watcher may leave a status unread.
const UNREAD: Duration = Duration::from_secs(60);
/// How often the lease of a worker is renewed whose rows wait to be scored.
const RENEW: Duration = Duration::from_secs(2);
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
    scoring: ScoringQueue,
    standing: Standing,
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
                scoring: ScoringQueue::start("scoring", scoring),
                standing: Standing::default(),
                uploads: Uploads::default(),
                latency: Latency::default(),
            }),
        }
    }

    /// Returns the status as a message.
    #[must_use]
    pub fn status_now(&self) -> v1::StatusReply {
        let shared = &self.shared;
        let published = shared.published.borrow().clone();
        status::to_wire(&shared.about, &published)
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

    /// Checks the rows of an exchange, and hands it back. Known rows cost a look; the others wait for
    /// their turn to be scored.
    async fn check_rows(
        &self,
        caller: &Caller,
        member: Option<WorkerId>,
        request: v1::ExchangeRequest,
    ) -> Result<(v1::ExchangeRequest, Checked), Status> {
        let found = self.shared.validator.find(rows_of(&request));
        let mut unknown = VecDeque::new();
        let mut checked = Checked::new();
        for (row, (digest, known)) in rows_of(&request).zip(found) {
            match known {
                Some(known) => drop(checked.insert((None, digest), Ok(known))),
                None => unknown.push_back((digest, row.clone())),
            }
        }
        if unknown.is_empty() {
            return Ok((request, checked));
        }
        let sender = Scored::of(caller, member, &request);
        self.shared.may_score(&sender)?;
        let shared = Arc::clone(&self.shared);
        let size = unknown.iter().map(|(_, row)| row.encoded_len()).sum();
        let heartbeat = heartbeat_from_wire(&request);
        let mut rest = Some((request, checked));
        let scored = self
            .shared
            .scoring
            .run(lane(caller, member), size, move || {
                if let (Some((digest, row)), Some((_, checked))) =
                    (unknown.pop_front(), rest.as_mut())
                {
                    let check = || shared.validator.check(&row, digest);
                    if let Err(refused) = shared.score(&sender, checked, (None, digest), check) {
                        return Some(Err(refused));
                    }
                }
                match unknown.is_empty() {
                    true => rest.take().map(Ok),
                    false => None,
                }
            });
        self.waited(scored, heartbeat).await?
    }

    /// Checks the networks of replicates, as [`check_rows`](Self::check_rows) does those of a search.
    async fn check_replicates(
        &self,
        caller: &Caller,
        member: Option<WorkerId>,
        mut request: v1::ExchangeRequest,
    ) -> Result<(v1::ExchangeRequest, Checked), Status> {
        let Some(work) = self.shared.about.replicates.clone() else {
            return Ok((request, Checked::new()));
        };
        let mut unknown = VecDeque::new();
        for report in &request.reports {
            for row in report.finds.iter().filter_map(|find| find.row.as_ref()) {
                unknown.push_back((report.chain, row.clone()));
            }
        }
        if unknown.is_empty() {
            return Ok((request, Checked::new()));
        }
        let sender = Scored::of(caller, member, &request);
        self.shared.may_score(&sender)?;
        let shared = Arc::clone(&self.shared);
        let view = Arc::clone(&self.shared.published.borrow().view);
        let size = unknown.iter().map(|(_, row)| row.encoded_len()).sum();
        let heartbeat = Exchange {
            work: Work::Replicates,
            ..heartbeat_from_wire(&request)
        };
        let mut checked = Checked::new();
        let scored = self
            .shared
            .scoring
            .run(lane(caller, member), size, move || {
                if let Some((number, row)) = unknown.pop_front() {
                    let done = view.replicates.as_ref().map(|it| &it.done);
                    let known = done.and_then(|done| done.get(&number));
                    let check = || work.check(ChainId(number), &row, known.map(|it| &**it));
                    let name = (Some(ChainId(number)), row_digest(&row));
                    if let Err(refused) = shared.score(&sender, &mut checked, name, check) {
                        return Some(Err(refused));
                    }
                }
                unknown
                    .is_empty()
                    .then(|| Ok((std::mem::take(&mut request), std::mem::take(&mut checked))))
            });
        self.waited(scored, heartbeat).await?
    }

    /// Checks that a chain's state is one that its next worker can resume.
    async fn check_state(&self, lane: Lane, chain: ChainId, state: Snapshot) -> Result<(), Status> {
        let search = &self.shared.about.search;
        let maker = ChainMaker {
            problem: Arc::clone(self.shared.validator.problem()),
            spec: search.spec,
            seed: search.seed,
            ladder: search.ladder,
        };
        let size = state.bytes().len();
        let check = move || Some(maker.fits(chain, state.bytes()));
        let checked = self.shared.scoring.run(lane, size, check);
        let Ok(Some(fits)) = tokio::time::timeout(ANSWER, checked).await else {
            return Err(Status::unavailable("too much waits to be checked"));
        };
        fits.map_err(|error| Status::invalid_argument(error.to_string()))
    }

    /// Returns which member sends a message, if it is one that runs chains: known to the coordinator,
    /// not claimed by the sender.
    fn member(&self, caller: &Caller, request: &v1::ExchangeRequest) -> Option<WorkerId> {
        let worker = WorkerId(request.worker);
        let incarnation = Incarnation(request.incarnation);
        let view = Arc::clone(&self.shared.published.borrow().view);
        let runs = view.runs_chains(worker, incarnation);
        // The view is a moment old: it may have joined since.
        let is_it = runs.unwrap_or_else(|| caller.member() == Some((worker, incarnation)));
        caller.serves(is_it.then_some((worker, incarnation)));
        is_it.then_some(worker)
    }

    /// Waits for the scoring thread, with a time limit. Meanwhile the worker keeps its lease: it is
    /// not its fault that others wait before it.
    async fn waited<T>(
        &self,
        scored: impl Future<Output = Option<T>>,
        heartbeat: Exchange,
    ) -> Result<T, Status> {
        let mut scored = pin!(scored);
        let begun = Instant::now();
        while begun.elapsed() < ANSWER {
            match tokio::time::timeout(RENEW, scored.as_mut()).await {
                Ok(Some(scored)) => return Ok(scored),
                Ok(None) => return Err(Status::unavailable("the coordinator is ending")),
                // What it answers comes with the answer to the reports.
                Err(_) => drop(answered(self.shared.handle.exchange(heartbeat.clone())).await),
            }
        }
        Err(Status::unavailable("too many rows wait to be scored"))
    }

    /// Returns the rows that the sender of an exchange knows, as far as they are known here.
    fn known_to(&self, request: &v1::ExchangeRequest) -> KnownRows {
        let digests = request.bases.iter();
        let digests = digests.filter_map(|digest| Digest::try_from(&**digest).ok());
        let rows = digests.filter_map(|digest| Some((digest, self.shared.validator.row(&digest)?)));
        KnownRows::of(rows)
    }

    /// Makes whole rows of those that are told as what differs from others. How large they become is
    /// known, and bounded, before.
    fn make_rows_whole(
        &self,
        caller: &Caller,
        member: Option<WorkerId>,
        request: &mut v1::ExchangeRequest,
    ) -> Result<(), Status> {
        let mut bases = HashMap::new();
        let mut bytes = 0;
        // As much as they may take where they are told whole.
        let most = match request.reports.len() {
            1 => MAX_MESSAGE_BYTES,
            _ => MAX_LIST_BYTES,
        };
        for row in rows_of(request).filter(|row| !row.base.is_empty()) {
            let digest =
                Digest::try_from(&*row.base).map_err(|_| wire(WireError::Range("base")))?;
            let base = match bases.entry(digest) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => match self.shared.validator.row(&digest) {
                    Some(base) => place.insert(base),
                    None => {
                        return Err(Status::out_of_range(
                            "this row's base is not known (any more)",
                        ));
                    }
                },
            };
            bytes += whole_bytes(row, base);
            if bytes > most {
                return Err(Status::resource_exhausted(format!(
                    "the rows take more than {most} bytes as a whole"
                )));
            }
        }
        caller.hold(bytes, member)?;
        let finds = request
            .reports
            .iter_mut()
            .flat_map(|report| &mut report.finds);
        for row in finds.filter_map(|find| find.row.as_mut()) {
            let base = Digest::try_from(&*row.base)
                .ok()
                .and_then(|it| bases.get(&it));
            if let Some(base) = base {
                *row = whole_row(row, &base.structure).map_err(wire)?;
            }
        }
        Ok(())
    }

    /// Reads an exchange without the rows that are refused, and returns why they are.
    async fn read_exchange(
        &self,
        request: Request<v1::ExchangeRequest>,
    ) -> Result<(Exchange, Vec<String>), Status> {
        let caller = Caller::of(&request)?;
        let mut request = request.into_inner();
        check_version(request.protocol_version)?;
        let work = self.work_of(&request.search_id)?;
        let member = self.member(&caller, &request);
        self.make_rows_whole(&caller, member, &mut request)?;
        caller.hold(decoded_bytes(&request), member)?;
        let sender = Incarnation(request.incarnation);
        let (request, checked) = match work {
            Work::Search => self.check_rows(&caller, member, request).await?,
            Work::Replicates => self.check_replicates(&caller, member, request).await?,
        };
        let of = |chain| (work == Work::Replicates).then_some(chain);
        let mut refused = Vec::new();
        let (mut accepted, mut wrong) = (0, 0_u32);
        let mut exchange = exchange_from_wire(
            request,
            |chain, row| match checked.get(&(of(chain), row_digest(row))) {
                Some(Ok(row)) => {
                    accepted += 1;
                    Ok(Some(row.clone()))
                }
                Some(Err(error)) => {
                    wrong += 1;
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
        // Those that were refused were noted at once, but for repetitions.
        let noted = checked.values().filter(|row| row.is_err()).count();
        let repeated = wrong.saturating_sub(u32::try_from(noted).unwrap_or(u32::MAX));
        self.shared.handle.count_refused(repeated);
        let standing = &self.shared.standing;
        standing.note(&caller.peer, sender, accepted, repeated);
        for reason in &refused {
            tracing::warn!(worker = %exchange.worker, %caller, %reason, "a row was refused");
        }
        Ok((exchange, refused))
    }
}

impl Shared {
    /// Refuses rows of peers that have brought too many wrong ones.
    fn may_score(&self, sender: &Scored) -> Result<(), Status> {
        let Scored {
            peer,
            worker,
            is_member,
        } = sender;
        match self.standing.treatment(peer, *worker, *is_member) {
            Treatment::Fair => Ok(()),
            Treatment::Later => Err(Status::resource_exhausted(format!(
                "too many rows from {peer} were refused; try again later"
            ))),
            Treatment::Never => Err(Status::permission_denied(
                "this worker has sent too many rows that were refused",
            )),
        }
    }

    /// Checks a row unless it was, or unless its sender has brought too many wrong ones meanwhile.
    fn score(
        &self,
        sender: &Scored,
        checked: &mut Checked,
        name: (Option<ChainId>, Digest),
        check: impl FnOnce() -> Result<EliteRow, RowRefused>,
    ) -> Result<(), Status> {
        let Entry::Vacant(entry) = checked.entry(name) else {
            return Ok(());
        };
        self.may_score(sender)?;
        if entry.insert(check()).is_err() {
            self.handle.count_refused(1);
            self.standing.note(&sender.peer, sender.worker, 0, 1);
        }
        Ok(())
    }
}

/// Whose rows are scored.
struct Scored {
    peer: Peer,
    worker: Incarnation,
    is_member: bool,
}

impl Scored {
    fn of(caller: &Caller, member: Option<WorkerId>, request: &v1::ExchangeRequest) -> Self {
        Self {
            peer: caller.peer.clone(),
            worker: Incarnation(request.incarnation),
            is_member: member.is_some(),
        }
    }
}

fn lane(caller: &Caller, member: Option<WorkerId>) -> Lane {
    let connection = Sender::Connection(caller.connection());
    Lane {
        peer: caller.peer.clone(),
        sender: member.map_or(connection, Sender::Member),
    }
}

/// Returns how much memory an exchange takes beyond the bytes that came.
fn decoded_bytes(request: &v1::ExchangeRequest) -> usize {
    let rows = rows_of(request).count();
    let edges: usize = rows_of(request).map(Message::encoded_len).sum();
    // A copy of the rows that have to be scored, and the rows as the engine has them.
    request.reports.len() * size_of::<v1::ChainReport>() + rows * 256 + 4 * edges
}

/// Returns which states the reports of an exchange name.
fn states_of(exchange: &Exchange) -> Vec<(ChainId, [u8; 32])> {
    let reports = exchange.reports.iter();
    reports
        .filter_map(|report| Some((report.chain, report.snapshot.as_ref()?.digest())))
        .collect()
}

/// Waits for a part of an upload, with a time limit.
async fn within<T>(limit: Duration, part: impl Future<Output = T>) -> Result<T, Status> {
    let part = tokio::time::timeout(limit, part).await;
    part.map_err(|_| Status::deadline_exceeded("the upload of the state took too long"))
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
        AskError::Refused(Refusal::NotItsChain(_)) => Status::aborted(message),
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
        let caller = Caller::of(&request)?;
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
        hello.peer = Some(caller.peer.number());
        let (host, incarnation) = (hello.host.clone(), hello.incarnation);
        let welcome = answered(self.shared.handle.join(hello)).await?;
        let is_given_chains = !welcome.orders.is_empty();
        caller.serves(is_given_chains.then_some((welcome.worker, incarnation)));
        tracing::info!(%caller, host, worker = %welcome.worker, "joins");
        let search = match (welcome.work, replicates) {
            (Work::Replicates, Some(replicates)) => replicates,
            _ => &about.search,
        };
        let orders = welcome.orders.iter();
        Ok(Response::new(v1::JoinReply {
            protocol_version: PROTOCOL_VERSION,
            search: Some(description_to_wire(search)),
            worker: welcome.worker.0,
            lease_millis: u64::try_from(welcome.lease.as_millis()).unwrap_or(u64::MAX),
            orders: fitting(orders.map(|order| order_to_wire(order, &KnownRows::default()))),
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
        let caller = Caller::of(&request)?;
        let mut stream = request.into_inner();
        let read = async {
            let first = within(PROGRESS, stream.message()).await??;
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
            let worker = (WorkerId(header.worker), Incarnation(header.incarnation));
            answered(
                self.shared
                    .handle
                    .check_holder(worker, ChainId(header.chain)),
            )
            .await?;
            let mut bytes = Vec::new();
            // Room is taken by what came, not by what was announced (`admission.rs`).
            while let Some(chunk) = within(PROGRESS, stream.message()).await?? {
                bytes.extend_from_slice(&chunk.content);
                if bytes.len() as u64 > header.bytes {
                    return Err(wire(WireError::Range("content")));
                }
            }
            Ok((header, bytes))
        };
        let (header, bytes) = within(UPLOAD, read).await??;
        let snapshot = Snapshot::new(bytes);
        if *header.snapshot != snapshot.digest() {
            return Err(Status::invalid_argument(
                "the state does not match its announced digest",
            ));
        }
        let chain = ChainId(header.chain);
        let lane = lane(&caller, Some(WorkerId(header.worker)));
        self.check_state(lane, chain, snapshot.clone()).await?;
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
        let known = self.known_to(request.get_ref());
        let (exchange, refused) = self.read_exchange(request).await?;
        let states = states_of(&exchange);
        let reply = answered(self.shared.handle.exchange(exchange)).await?;
        self.note_counted(&states);
        self.shared.latency.record(begun.elapsed());
        Ok(Response::new(reply_to_wire(&reply, refused, &known)))
    }

    async fn leave(
        &self,
        request: Request<v1::ExchangeRequest>,
    ) -> Result<Response<v1::LeaveReply>, Status> {
        let (exchange, _) = self.read_exchange(request).await?;
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
        request: Request<v1::StatusRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let place = Caller::of(&request)?.place.map(|place| place.downgrade());
        // A watcher that reads too slowly gets fewer messages.
        let (sender, receiver) = mpsc::channel(1);
        let service = self.clone();
        tokio::spawn(async move {
            let mut published = service.shared.published.clone();
            loop {
                match tokio::time::timeout(UNREAD, sender.reserve()).await {
                    Ok(Ok(free)) => free.send(Ok(service.status_now())),
                    Ok(Err(_)) => return,
                    Err(_) => {
                        // It does not read: its connection holds memory for nothing.
                        if let Some(place) = &place {
                            place.close();
                        }
                        return;
                    }
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
        request: Request<v1::StopRequest>,
    ) -> Result<Response<v1::StatusReply>, Status> {
        let caller = Caller::of(&request)?;
        answered(self.shared.handle.stop(StoppedBy::Stop)).await?;
        tracing::info!(%caller, "the search was ended");
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
