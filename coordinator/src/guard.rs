//! Connections with limits on their number and on how long one may be idle. A peer that connects and
//! sends nothing, or single bytes now and then, is dropped; real peers at least send keepalives.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, timeout};
use tokio_stream::Stream;
use tonic::transport::server::Connected;

/// Maximum number of connections at a time.
pub const MAX_CONNECTIONS: usize = 8192;
/// File descriptors reserved for everything but workers' connections: files and the HTTP port.
const OTHER_FILES: usize = 128;
/// How long a new connection may take to send its first bytes, and how many these are: the length of
/// the HTTP/2 preface; TLS and requests of HTTP/1 begin with more.
pub(crate) const FIRST_BYTES_TIMEOUT: Duration = Duration::from_secs(10);
const FIRST_BYTES: usize = 24;
/// How long a peer has to read our last bytes.
const LINGER: Duration = Duration::from_secs(1);
/// How long a connection may be idle after its first bytes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// A connection with limits.
pub struct Guarded<S> {
    stream: S,
    idle: Pin<Box<Sleep>>,
    /// How many of its first bytes have not arrived.
    missing: usize,
    _place: Arc<OwnedSemaphorePermit>,
}

/// A connection that reads what the peer has sent before it closes. Otherwise the system resets it,
/// and the peer may never see our last bytes, such as why its certificate was refused.
pub struct Lingering {
    /// None once it is dropped.
    stream: Option<TcpStream>,
    place: Arc<OwnedSemaphorePermit>,
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
        let place = Arc::clone(&self.place);
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
    pub fn new(stream: S, place: impl Into<Arc<OwnedSemaphorePermit>>) -> Self {
        Self {
            stream,
            idle: Box::pin(sleep(FIRST_BYTES_TIMEOUT)),
            missing: FIRST_BYTES,
            _place: place.into(),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            let arrived = buffer.filled().len() - before;
            self.missing = self.missing.saturating_sub(arrived);
            if arrived > 0 && self.missing == 0 {
                self.idle.as_mut().reset(Instant::now() + IDLE_TIMEOUT);
            }
            return read;
        }
        if self.idle.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

impl<S> Connected for Guarded<S> {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

/// Raises the limit of open files as far as the system allows, and returns how many connections
/// there is room for.
#[must_use]
pub fn places() -> usize {
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
    if places < MAX_CONNECTIONS {
        tracing::warn!(
            files,
            places,
            "the limit of open files leaves room for few workers"
        );
    }
    places.clamp(1, MAX_CONNECTIONS)
}

/// Accepts guarded connections; while all places are taken, further ones wait.
pub fn accept(
    listener: TcpListener,
    places: usize,
) -> impl Stream<Item = io::Result<Guarded<Lingering>>> {
    let places = Arc::new(Semaphore::new(places));
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            let accepted = tokio::select! {
                biased;
                () = sender.closed() => return,
                accepted = listener.accept() => accepted,
            };
            let guarded = match accepted {
                Ok((stream, _)) => {
                    // Without it answers wait for more bytes; the connection works either way.
                    let _ = stream.set_nodelay(true);
                    let place = Arc::new(place);
                    let stream = Lingering {
                        stream: Some(stream),
                        place: Arc::clone(&place),
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
        let (ours, theirs) = duplex(64);
        let place = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        (Guarded::new(ours, place), theirs)
    }

    /// Reads until the connection is dropped and returns when that was.
    async fn dropped(mut guarded: Guarded<DuplexStream>) -> Duration {
        let begun = Instant::now();
        let mut buffer = [0; 64];
        loop {
            match guarded.read(&mut buffer).await {
                Ok(count) => assert!(count > 0, "the peer is still there"),
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
                    return begun.elapsed();
                }
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
    async fn a_peer_that_sends_nothing_or_single_bytes_is_dropped_soon() {
        let (silent, _peer) = guarded();
        assert_eq!(dropped(silent).await, FIRST_BYTES_TIMEOUT);
        for pause in [1, 9] {
            let (drips, peer) = guarded();
            let dripping = tokio::spawn(drip(peer, Duration::from_secs(pause)));
            assert_eq!(dropped(drips).await, FIRST_BYTES_TIMEOUT);
            dripping.abort();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_has_sent_its_first_bytes_may_be_idle_for_longer() {
        let (speaks, mut peer) = guarded();
        peer.write_all(&[1; FIRST_BYTES]).await.unwrap();
        assert_eq!(dropped(speaks).await, IDLE_TIMEOUT);
    }
}
