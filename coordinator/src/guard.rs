//! Connections with limits: how many there are, and how long one may say nothing. A peer that
//! connects and never speaks is dropped; real ones speak at least by keepalive.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};
use tokio_stream::Stream;
use tonic::transport::server::Connected;

/// The most connections at a time.
pub const MAX_CONNECTIONS: usize = 8192;
/// How long a new connection may say nothing, and one that has spoken.
const FIRST_WORD: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(60);

/// A connection with limits.
pub struct Guarded<S> {
    stream: S,
    silence: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl<S> Guarded<S> {
    /// Guards a connection that has a place.
    #[must_use]
    pub fn new(stream: S, place: OwnedSemaphorePermit) -> Self {
        Self {
            stream,
            silence: Box::pin(sleep(FIRST_WORD)),
            _place: place,
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
            if buffer.filled().len() > before {
                self.silence.as_mut().reset(Instant::now() + SILENCE);
            }
            return read;
        }
        if self.silence.as_mut().poll(context).is_ready() {
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

/// Accepts guarded connections. When all places are taken, further ones wait to be accepted.
pub fn accept(
    listener: TcpListener,
) -> impl Stream<Item = io::Result<Guarded<tokio::net::TcpStream>>> {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
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
                    // Without it answers wait for more bytes; a socket that refuses still works.
                    let _ = stream.set_nodelay(true);
                    Guarded::new(stream, place)
                }
                Err(error) => {
                    // Out of descriptors, or a peer that went away while it was accepted.
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
