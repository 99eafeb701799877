//! Signals as a future: the first asks for a clean end, one that comes later ends at once.

use crate::failure::Failure;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Signals so close to the first are still the first: a batch system may send one to the program
/// and to the shell around it, which hands it on.
const TOGETHER: Duration = Duration::from_secs(2);

/// Asked to end.
#[derive(Clone, Debug)]
pub(super) struct Shutdown(watch::Receiver<bool>);

impl Shutdown {
    /// Listens to Ctrl-C, SIGTERM and SIGUSR1 (which batch systems send before they end a job).
    pub(super) fn on_signals() -> Result<Self, Failure> {
        Self::on_signals_or(std::future::pending())
    }

    /// Listens to signals, and to somebody who asks in another way.
    pub(super) fn on_signals_or(
        asked: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Self, Failure> {
        let (sender, receiver) = watch::channel(false);
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::Bug(format!("cannot listen to signals: {error}")))
        };
        let mut signals = Signals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            user: listen(SignalKind::user_defined1())?,
        };
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = signals.next() => {}
                () = asked => {
                    sender.send_replace(true);
                    signals.next().await;
                }
            }
            sender.send_replace(true);
            let first = Instant::now();
            while first.elapsed() < TOGETHER {
                signals.next().await;
            }
            std::process::exit(130);
        });
        Ok(Self(receiver))
    }

    /// Waits until somebody asks.
    pub(super) async fn requested(mut self) {
        if self.0.wait_for(|asked| *asked).await.is_err() {
            std::future::pending().await
        }
    }

    /// Returns whether somebody has asked.
    pub(super) fn is_requested(&self) -> bool {
        *self.0.borrow()
    }
}

/// Signals that ask for the end.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    user: Signal,
}

impl Signals {
    /// Waits for one of them.
    async fn next(&mut self) {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.user.recv() => {}
        }
    }
}
