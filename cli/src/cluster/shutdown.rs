//! Signals as a future: the first asks for a clean end, the second ends at once.

use crate::failure::Failure;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Asked to end.
#[derive(Clone, Debug)]
pub(super) struct Shutdown(watch::Receiver<bool>);

impl Shutdown {
    /// Listens to Ctrl-C, SIGTERM and SIGUSR1 (which batch systems send before they end a job).
    pub(super) fn on_signals() -> Result<Self, Failure> {
        let (sender, receiver) = watch::channel(false);
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::Bug(format!("cannot listen to signals: {error}")))
        };
        let mut interrupt = listen(SignalKind::interrupt())?;
        let mut terminate = listen(SignalKind::terminate())?;
        let mut user = listen(SignalKind::user_defined1())?;
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    biased;
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = user.recv() => {}
                }
                if *sender.borrow() {
                    std::process::exit(130);
                }
                sender.send_replace(true);
            }
        });
        Ok(Self(receiver))
    }

    /// Waits until somebody asks.
    pub(super) async fn asked(mut self) {
        if self.0.wait_for(|asked| *asked).await.is_err() {
            std::future::pending().await
        }
    }

    /// Tells whether somebody has asked.
    pub(super) fn is_asked(&self) -> bool {
        *self.0.borrow()
    }
}
