//! Connections with limits. One that has made no call that was admitted has little time and little
//! room: whoever connects and sends nothing, single bytes or only keepalives is dropped soon. One
//! that was admitted may be idle for a minute; real peers send keepalives.

use crate::connections::{Connections, Limits, Place};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tokio_stream::Stream;
use tonic::transport::server::Connected;

/// Maximum number of connections at a time.
pub const MAX_CONNECTIONS: usize = 8192;
/// What a connection may make the coordinator keep of what it sends (`server.rs`: its window).
pub(crate) const CONNECTION_BYTES: u32 = 256 << 10;
/// Connections that are allowed however little memory there is.
const LEAST_CONNECTIONS: usize = 1024;
/// File descriptors reserved for everything but workers' connections: files and the HTTP port.
const OTHER_FILES: usize = 128;
/// How long a new connection has until a call of it is admitted.
pub(crate) const FIRST_CALL: Duration = Duration::from_secs(10);
/// How many bytes a new connection may send until then: a TLS handshake and the heads of some calls.
/// What comes after that waits.
const FIRST_BYTES: usize = 64 << 10;
/// How long a peer has to read our last bytes.
const LINGER: Duration = Duration::from_secs(1);
/// How long a connection may be idle once a call was admitted.
const IDLE: Duration = Duration::from_secs(60);

/// A connection with limits.
pub struct Guarded<S> {
    stream: S,
    place: Place,
    /// When it came, and when it last sent something.
    begun: Instant,
    heard: Instant,
    /// How many bytes came.
    bytes: usize,
    /// Rings when it has taken too long.
    alarm: Pin<Box<Sleep>>,
}

/// A connection that reads what the peer has sent before it closes. Otherwise the system resets it,
/// and the peer may never see our last bytes, such as why its certificate was refused.
pub struct Lingering {
    /// None once it is dropped.
    stream: Option<TcpStream>,
    place: Place,
}

impl Lingering {
    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        let closed = || io::Error::from(io::ErrorKind::NotConnected);
        self.stream.as_mut().map(Pin::new).ok_or_else(closed)
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let (Some(mut stream), Ok(runtime)) = (self.stream.take(), Handle::try_current()) else {
            return;
        };
        if self.place.is_closed() {
            // Its place is another's: it has no time left.
            return;
        }
        let place = self.place.clone();
        runtime.spawn(async move {
            let rest = async {
                stream.shutdown().await?;
                let mut buffer = [0; 1024];
                while stream.read(&mut buffer).await? > 0 {}
                io::Result::Ok(())
            };
            // Closed by the peer, broken, or too late: done in any case.
            let _ = timeout(LINGER, rest).await;
            drop(place);
        });
    }
}

impl AsyncRead for Lingering {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream()?.poll_read(context, buffer)
    }
}

impl AsyncWrite for Lingering {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream
            .as_ref()
            .is_some_and(AsyncWrite::is_write_vectored)
    }
}

impl<S> Guarded<S> {
    /// Guards a connection that has a place.
    #[must_use]
    pub fn new(stream: S, place: Place) -> Self {
        let now = Instant::now();
        Self {
            stream,
            place,
            begun: now,
            heard: now,
            bytes: 0,
            alarm: Box::pin(sleep(FIRST_CALL)),
        }
    }

    /// Returns the connection's place.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns an error once the connection is to end, and has the task woken when it is.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        self.place.wakes(context.waker());
        if self.place.is_closed() {
            // Its place was given to another.
            return Poll::Ready(io::ErrorKind::ConnectionAborted.into());
        }
        let end = if self.place.is_proven() {
            self.heard + IDLE
        } else {
            self.begun + FIRST_CALL
        };
        if self.alarm.deadline() != end {
            self.alarm.as_mut().reset(end);
        }
        self.alarm
            .as_mut()
            .poll(context)
            .map(|()| io::ErrorKind::TimedOut.into())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Poll::Ready(error) = self.poll_end(context) {
            return Poll::Ready(Err(error));
        }
        if self.bytes >= FIRST_BYTES && !self.place.is_proven() {
            // Woken when a call is admitted, or too late.
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let arrived = buffer.filled().len() - before;
        if arrived > 0 {
            self.bytes = self.bytes.saturating_add(arrived);
            self.heard = Instant::now();
        }
        read
    }
}

impl<S> Guarded<S> {
    /// Ends a connection also while it waits for its peer to read: who reads nothing may be so far
    /// behind that nothing is read from it either.
    fn unless_ended<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match written {
            Poll::Ready(written) => Poll::Ready(written),
            Poll::Pending => self.poll_end(context).map(Err),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_ended(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.unless_ended(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.unless_ended(context, shut)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.unless_ended(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

impl<S> Connected for Guarded<S> {
    type ConnectInfo = Place;

    fn connect_info(&self) -> Place {
        self.place.clone()
    }
}

/// Raises the limit of open files as far as the system allows, and returns how many connections
/// there is room for in some memory.
#[must_use]
pub fn places(memory: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!(%error, "cannot raise the limit of open files");
    }
    let files = getrlimit(Resource::Nofile).current;
    let files = files.map_or(usize::MAX, |files| {
        usize::try_from(files).unwrap_or(usize::MAX)
    });
    let places = files.saturating_sub(OTHER_FILES).max(files / 4);
    let wanted = (memory / CONNECTION_BYTES as usize).clamp(LEAST_CONNECTIONS, MAX_CONNECTIONS);
    if places < wanted {
        tracing::warn!(
            files,
            places,
            "the limit of open files leaves room for few workers"
        );
    }
    places.clamp(1, wanted)
}

/// Accepts connections and guards them. Every one gets a place, if need be that of another.
pub fn accept(
    listener: TcpListener,
    places: usize,
) -> impl Stream<Item = io::Result<Guarded<Lingering>>> {
    let connections = Connections::new(Limits::of(places));
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let accepted = tokio::select! {
                biased;
                () = sender.closed() => return,
                accepted = listener.accept() => accepted,
            };
            let guarded = match accepted {
                Ok((stream, address)) => {
                    // Without it answers wait for more bytes; the connection works either way.
                    let _ = stream.set_nodelay(true);
                    let place = connections.enter(Some(address.ip()));
                    let stream = Lingering {
                        stream: Some(stream),
                        place: place.clone(),
                    };
                    Guarded::new(stream, place)
                }
                Err(error) => {
                    // Out of descriptors, or the peer disconnected while it was accepted.
                    tracing::debug!(%error, "a connection could not be accepted");
                    sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            if sender.send(Ok(guarded)).await.is_err() {
                return;
            }
        }
    });
    tokio_stream::wrappers::ReceiverStream::new(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{DuplexStream, duplex};

    fn guarded() -> (Guarded<DuplexStream>, DuplexStream) {
        let (ours, theirs) = duplex(1 << 20);
        let place = Connections::new(Limits::of(8)).enter(None);
        (Guarded::new(ours, place), theirs)
    }

    /// Reads until the connection is dropped; returns when that was, why, and how many bytes came.
    async fn dropped(mut guarded: Guarded<DuplexStream>) -> (Duration, io::ErrorKind, usize) {
        let begun = Instant::now();
        let mut bytes = 0;
        let mut buffer = [0; 3000];
        loop {
            match guarded.read(&mut buffer).await {
                Ok(count) => {
                    assert!(count > 0, "the peer is still there");
                    bytes += count;
                }
                Err(error) => return (begun.elapsed(), error.kind(), bytes),
            }
        }
    }

    /// Sends bytes one by one, for ever.
    async fn drip(mut peer: DuplexStream, pause: Duration) {
        while peer.write_all(b"P").await.is_ok() {
            sleep(pause).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_without_a_call_that_was_admitted_is_dropped_whatever_it_sends() {
        let (silent, _peer) = guarded();
        let (after, why, _) = dropped(silent).await;
        assert_eq!((after, why), (FIRST_CALL, io::ErrorKind::TimedOut));
        for pause in [1, 9] {
            let (drips, peer) = guarded();
            let dripping = tokio::spawn(drip(peer, Duration::from_secs(pause)));
            assert_eq!(dropped(drips).await.0, FIRST_CALL);
            dripping.abort();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_stranger_sends_is_bounded_and_read_on_once_it_is_admitted() {
        let (floods, mut peer) = guarded();
        peer.write_all(&[1; 3 * FIRST_BYTES]).await.unwrap();
        let bytes = dropped(floods).await.2;
        assert!(
            (FIRST_BYTES..FIRST_BYTES + 3000).contains(&bytes),
            "{bytes}"
        );
        let (floods, mut peer) = guarded();
        peer.write_all(&[1; 3 * FIRST_BYTES]).await.unwrap();
        let place = floods.place().clone();
        let reading = tokio::spawn(dropped(floods));
        sleep(Duration::from_secs(5)).await;
        place.prove();
        let (after, _, bytes) = reading.await.unwrap();
        assert_eq!(bytes, 3 * FIRST_BYTES);
        assert_eq!(after, Duration::from_secs(5) + IDLE);
    }

    /// Writes until the connection is dropped; returns when that was, and why.
    async fn write_dropped(mut guarded: Guarded<DuplexStream>) -> (Duration, io::ErrorKind) {
        let begun = Instant::now();
        loop {
            if let Err(error) = guarded.write_all(&[1; 1 << 16]).await {
                return (begun.elapsed(), error.kind());
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_nothing_is_dropped_while_we_wait_to_write() {
        let (silent, _peer) = guarded();
        let (after, why) = write_dropped(silent).await;
        assert_eq!((after, why), (FIRST_CALL, io::ErrorKind::TimedOut));
        let (admitted, _peer) = guarded();
        admitted.place().prove();
        assert_eq!(write_dropped(admitted).await.0, IDLE);
        let (closed, _peer) = guarded();
        let place = closed.place().clone();
        let writing = tokio::spawn(write_dropped(closed));
        sleep(Duration::from_secs(1)).await;
        place.close();
        let (after, why) = writing.await.unwrap();
        assert_eq!(after, Duration::from_secs(1));
        assert_eq!(why, io::ErrorKind::ConnectionAborted);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_whose_place_is_given_away_ends_at_once() {
        let (ours, _peer) = duplex(64);
        let connections = Connections::new(Limits::of(4));
        let loses = Guarded::new(ours, connections.enter(None));
        let reading = tokio::spawn(dropped(loses));
        sleep(Duration::from_secs(1)).await;
        let _other = connections.enter(None);
        let (after, why, _) = reading.await.unwrap();
        assert_eq!(after, Duration::from_secs(1));
        assert_eq!(why, io::ErrorKind::ConnectionAborted);
    }
}
