//! The link over gRPC: a connection that is made again when it breaks, a deadline on every call,
//! and the one table from status codes to what to do.

use crate::link::{Joined, Link, LinkError};
use bytes::Bytes;
use rlbayes_common::elite::EliteRow;
use rlbayes_common::exchange::{
    Answer, Exchange, Hello, Pace, Reply, SearchDescription, Snapshot, Welcome, Work,
};
use rlbayes_common::ids::{ChainId, WorkerId};
use rlbayes_common::search::Seeds;
use rlbayes_proto::convert::{
    KnownRows, WireError, description_from_wire, digest_of, exchange_to_wire, hello_to_wire,
    order_from_wire, reply_from_wire,
};
use rlbayes_proto::v1::coordinator_client::CoordinatorClient;
use rlbayes_proto::{MAX_CHUNK_BYTES, MAX_MESSAGE_BYTES, MAX_SNAPSHOT_BYTES, v1};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::timeout;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

/// How long a short call may take; a lockstep exchange waits for its round for two seconds of it.
const CALL: Duration = Duration::from_secs(10);
/// How long a chain's state may take to the coordinator, and until a stream to us begins.
const TRANSFER: Duration = Duration::from_secs(300);
/// How long each chunk of a stream to us may take; there are as many as were announced.
const CHUNK: Duration = Duration::from_secs(60);
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// A free-running worker exchanges at most twice per second.
const LEAST_PAUSE: Duration = Duration::from_millis(500);

/// The client of the service, with the token in every call.
pub type Client = CoordinatorClient<InterceptedService<Channel, WithToken>>;

/// Puts the token into every call.
#[derive(Clone, Debug, Default)]
pub struct WithToken(Option<MetadataValue<Ascii>>);

impl WithToken {
    /// Takes a token; none: calls go without.
    ///
    /// # Errors
    /// If the token holds characters that can't travel.
    pub fn new(token: Option<&str>) -> Result<Self, LinkError> {
        let header = token
            .map(|token| {
                let mut value: MetadataValue<Ascii> = format!("Bearer {token}")
                    .parse()
                    .map_err(|_| LinkError::Refused("the token is not plain text".into()))?;
                value.set_sensitive(true);
                Ok(value)
            })
            .transpose()?;
        Ok(Self(header))
    }
}

impl Interceptor for WithToken {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request
                .metadata_mut()
                .insert("authorization", value.clone());
        }
        Ok(request)
    }
}

/// Sets what every connection to a coordinator has: keepalive also while idle, and a limit on how
/// long it takes to come about.
#[must_use]
pub fn with_limits(endpoint: Endpoint) -> Endpoint {
    endpoint
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .tcp_keepalive(Some(Duration::from_secs(20)))
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_timeout(Duration::from_secs(10))
        .keep_alive_while_idle(true)
        .http2_max_header_list_size(16 << 10)
}

/// Makes a client of a channel.
#[must_use]
pub fn client(channel: Channel, token: WithToken) -> Client {
    CoordinatorClient::with_interceptor(channel, token)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
}

/// Rows of networks with so many nodes travel as what differs from rows that both sides know.
const LEAST_NODES_FOR_DIFFERENCES: usize = 256;

/// The link over gRPC.
#[derive(Debug)]
pub struct GrpcLink {
    client: Client,
    /// Rows that went to the coordinator, or came from it.
    known: Mutex<KnownRows>,
}

impl GrpcLink {
    /// Makes a link; the connection comes about with the first call.
    #[must_use]
    pub fn new(channel: Channel, token: WithToken) -> Self {
        Self {
            client: client(channel, token),
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, KnownRows> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an exchange once, its rows told as what differs from known ones.
    async fn send(
        &self,
        search: &SearchDescription,
        exchange: &Exchange,
        known: &KnownRows,
    ) -> Result<v1::ExchangeReply, Status> {
        let request = timed(exchange_to_wire(search.id, exchange, known), CALL);
        let reply = self.client.clone().exchange(request).await?;
        Ok(reply.into_inner())
    }

    async fn collect(
        mut stream: tonic::Streaming<v1::Chunk>,
        most: u64,
    ) -> Result<Vec<u8>, LinkError> {
        let mut bytes = Vec::new();
        let late = |_| LinkError::Unreachable("a chunk took too long".into());
        while let Some(chunk) = timeout(CHUNK, stream.message())
            .await
            .map_err(late)?
            .map_err(|status| classify(&status))?
        {
            bytes.extend_from_slice(&chunk.content);
            if bytes.len() as u64 > most {
                return Err(LinkError::Nonsense("more bytes than announced".into()));
            }
        }
        Ok(bytes)
    }
}

impl Link for GrpcLink {
    async fn join(&self, hello: &Hello) -> Result<Joined, LinkError> {
        let reply = self
            .client
            .clone()
            .join(timed(hello_to_wire(hello), CALL))
            .await
            .map_err(|status| classify(&status))?
            .into_inner();
        if reply.protocol_version != rlbayes_proto::PROTOCOL_VERSION {
            return Err(LinkError::Protocol(format!(
                "version {}, this worker speaks {}",
                reply.protocol_version,
                rlbayes_proto::PROTOCOL_VERSION
            )));
        }
        joined_from_wire(reply)
    }

    async fn fetch_data(&self, search: &SearchDescription) -> Result<Vec<u8>, LinkError> {
        let request = v1::FetchDataRequest {
            data_hash: search.data_hash.to_vec().into(),
        };
        let stream = self
            .client
            .clone()
            .fetch_data(timed(request, TRANSFER))
            .await
            .map_err(|status| classify(&status))?
            .into_inner();
        Self::collect(stream, search.data_bytes).await
    }

    async fn store_chain(
        &self,
        search: &SearchDescription,
        exchange: &Exchange,
    ) -> Result<(), LinkError> {
        for report in &exchange.reports {
            let Some(snapshot) = &report.snapshot else {
                continue;
            };
            let size = snapshot.bytes().len() as u64;
            if size > MAX_SNAPSHOT_BYTES {
                return Err(LinkError::Refused(format!(
                    "a chain's state takes {size} bytes (expected at most {MAX_SNAPSHOT_BYTES}): \
                     it is too large for a deterministic search on a cluster"
                )));
            }
            let header = v1::StoreChainHeader {
                search_id: search.id.0.to_vec().into(),
                worker: exchange.worker.0,
                incarnation: exchange.incarnation.0,
                chain: report.chain.0,
                sequence: report.sequence,
                snapshot: snapshot.digest().to_vec().into(),
                bytes: size,
            };
            let first = v1::StoreChainChunk {
                header: Some(header),
                content: Bytes::new(),
            };
            let bytes = Bytes::from_owner(snapshot.bytes().clone());
            let chunks: Vec<Bytes> = (0..bytes.len())
                .step_by(MAX_CHUNK_BYTES)
                .map(|at| bytes.slice(at..bytes.len().min(at + MAX_CHUNK_BYTES)))
                .collect();
            let rest = chunks.into_iter().map(|content| v1::StoreChainChunk {
                header: None,
                content,
            });
            let stream = tokio_stream::iter(std::iter::once(first).chain(rest));
            self.client
                .clone()
                .store_chain(timed(stream, TRANSFER))
                .await
                .map_err(|status| classify(&status))?;
        }
        Ok(())
    }

    async fn fetch_chain(
        &self,
        search: &SearchDescription,
        chain: ChainId,
        digest: [u8; 32],
    ) -> Result<Snapshot, LinkError> {
        let request = v1::FetchChainRequest {
            search_id: search.id.0.to_vec().into(),
            chain: chain.0,
            snapshot: digest.to_vec().into(),
        };
        let stream = self
            .client
            .clone()
            .fetch_chain(timed(request, TRANSFER))
            .await
            .map_err(|status| classify(&status))?
            .into_inner();
        let snapshot = Snapshot::new(Self::collect(stream, MAX_SNAPSHOT_BYTES).await?);
        if snapshot.digest() != digest {
            return Err(LinkError::Nonsense("another state than asked for".into()));
        }
        Ok(snapshot)
    }

    async fn exchange(
        &self,
        search: &SearchDescription,
        exchange: Exchange,
    ) -> Result<Reply, LinkError> {
        let differences =
            search.nodes >= LEAST_NODES_FOR_DIFFERENCES && search.replicates.is_none();
        let mut known = match differences {
            true => self.known().clone(),
            false => KnownRows::default(),
        };
        let mut sent = self.send(search, &exchange, &known).await;
        if matches!(&sent, Err(status) if status.code() == Code::OutOfRange) {
            // The coordinator does not know a row any more, perhaps after a restart.
            known.clear();
            self.known().clear();
            sent = self.send(search, &exchange, &known).await;
        }
        let reply = sent.map_err(|status| classify(&status))?;
        for reason in &reply.refused {
            tracing::warn!(%reason, "the coordinator refused a row");
        }
        let reply = reply_from_wire(reply, search.nodes, &known).map_err(nonsense)?;
        if differences {
            let rows = rows_of(&exchange, &reply).map(|row| (digest_of(row), row.clone()));
            let rows: Vec<_> = rows.collect();
            let mut known = self.known();
            for (digest, row) in rows {
                known.note(digest, row);
            }
        }
        Ok(reply)
    }

    async fn leave(
        &self,
        search: &SearchDescription,
        mut exchange: Exchange,
    ) -> Result<(), LinkError> {
        if search.pace == Pace::Lockstep {
            // Every round's reports and states are there already.
            exchange.reports.clear();
        }
        let whole = exchange_to_wire(search.id, &exchange, &KnownRows::default());
        self.client
            .clone()
            .leave(timed(whole, CALL))
            .await
            .map_err(|status| classify(&status))?;
        Ok(())
    }

    async fn nudged(&self) {
        std::future::pending().await
    }

    fn least_pause(&self) -> Duration {
        LEAST_PAUSE
    }
}

/// Returns the rows that an exchange has made known to both sides: of each chain the newest that it
/// told, and those that came back.
fn rows_of<'a>(exchange: &'a Exchange, reply: &'a Reply) -> impl Iterator<Item = &'a EliteRow> {
    let told = exchange
        .reports
        .iter()
        .filter_map(|report| report.finds.last());
    let came = reply
        .answers
        .iter()
        .filter_map(|(_, _, answer)| match answer {
            Answer::Continue { seeds, .. } => seeds.as_ref(),
            Answer::Stop | Answer::Revoke => None,
        });
    told.map(|(_, row)| row).chain(came.flat_map(Seeds::rows))
}

/// Reads what a worker gets when it joins.
///
/// # Errors
/// If the reply makes no sense.
pub fn joined_from_wire(reply: v1::JoinReply) -> Result<Joined, LinkError> {
    let search = reply
        .search
        .ok_or(WireError::Missing("search"))
        .and_then(description_from_wire)
        .map_err(nonsense)?;
    let nodes = search.nodes;
    let orders = reply
        .orders
        .iter()
        .map(|order| order_from_wire(order, nodes))
        .collect::<Result<_, _>>()
        .map_err(nonsense)?;
    Ok(Joined {
        chains: reply.chains.into_iter().map(ChainId).collect(),
        welcome: Welcome {
            worker: WorkerId(reply.worker),
            lease: Duration::from_millis(reply.lease_millis),
            orders,
            stopped_by: rlbayes_common::search::StoppedBy::from_name(&reply.stopped_by),
            work: match search.replicates {
                Some(_) => Work::Replicates,
                None => Work::Search,
            },
            more_work: reply.more_work,
        },
        search,
    })
}

fn timed<T>(message: T, limit: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(limit);
    request
}

fn nonsense(error: WireError) -> LinkError {
    LinkError::Nonsense(error.to_string())
}

/// The one table from status codes to what to do.
fn classify(status: &Status) -> LinkError {
    let message = describe(status);
    match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => LinkError::Refused(message),
        Code::FailedPrecondition => LinkError::Protocol(message),
        Code::NotFound | Code::Aborted => LinkError::JoinAgain(message),
        Code::InvalidArgument | Code::OutOfRange | Code::Unimplemented => {
            LinkError::Nonsense(message)
        }
        _ if is_certificate_problem(&message) => LinkError::Refused(message),
        _ => LinkError::Unreachable(message),
    }
}

/// Returns what a status says, with its cause: the transport hides it.
#[must_use]
pub fn describe(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut cause = std::error::Error::source(status);
    while let Some(error) = cause {
        let message = error.to_string();
        // What only says that there is a cause is left out.
        let says_nothing = message == "transport error" && error.source().is_some();
        if !says_nothing && !text.contains(&message) {
            text = if text.is_empty() {
                message
            } else {
                format!("{text}: {message}")
            };
        }
        cause = error.source();
    }
    if text.is_empty() {
        text = status.code().to_string();
    }
    text
}

/// Returns whether the handshake failed for good: another try meets the same certificate.
///
/// It has to read the text. With TLS 1.3 a coordinator refuses our certificate by an alert that comes
/// after our side of the handshake, through h2, which keeps the text of an IO error and drops the
/// `rustls::Error` inside it.
#[must_use]
pub fn is_certificate_problem(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    [
        "certificate",
        "unknownissuer",
        "unknownca",
        "handshakefailure",
        "decrypterror",
    ]
    .iter()
    .any(|word| message.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_decide_what_to_do() {
        let classified = |code| classify(&Status::new(code, "x"));
        assert!(matches!(
            classified(Code::Unavailable),
            LinkError::Unreachable(_)
        ));
        assert!(matches!(
            classified(Code::DeadlineExceeded),
            LinkError::Unreachable(_)
        ));
        assert!(matches!(
            classified(Code::ResourceExhausted),
            LinkError::Unreachable(_)
        ));
        assert!(matches!(
            classified(Code::NotFound),
            LinkError::JoinAgain(_)
        ));
        assert!(matches!(
            classified(Code::Unauthenticated),
            LinkError::Refused(_)
        ));
        assert!(matches!(
            classified(Code::FailedPrecondition),
            LinkError::Protocol(_)
        ));
        for tls in [
            "invalid peer certificate: UnknownIssuer",
            "received fatal alert: UnknownCA",
            "received fatal alert: CertificateRequired",
        ] {
            let tls = Status::unavailable(tls);
            assert!(matches!(classify(&tls), LinkError::Refused(_)), "{tls}");
        }
    }
}
