//! The chains of a worker on OS threads, as its session sees them.

use crate::chains::Chains;
use crate::state::Begin;
use rlbayes::chains::{ChainMaker, ChainThreads, NotPosted, ReportSink, SliceSettings};
use rlbayes_common::exchange::{Answer, ChainOrder, ChainReport, Pace, WorkerStatistics};
use rlbayes_common::ids::ChainId;
use rlbayes_common::search::UnfitState;
use std::io;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// Reports that wait for the session at most.
const MAILBOX: usize = 256;

/// Chains on threads, and the mailbox that their reports wait in.
#[derive(Debug)]
pub struct ThreadChains {
    maker: ChainMaker,
    pace: Pace,
    threads: ChainThreads,
    reports: mpsc::Receiver<ChainReport>,
}

impl ThreadChains {
    /// Starts threads without chains.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn start(count: u32, maker: ChainMaker, settings: SliceSettings) -> io::Result<Self> {
        let (sender, reports) = mpsc::channel(MAILBOX);
        let mailbox = Mailbox(sender);
        let pace = settings.pace;
        let threads =
            ChainThreads::start(count, maker.clone(), settings, Default::default(), mailbox)?;
        Ok(Self {
            maker,
            pace,
            threads,
            reports,
        })
    }
}

#[derive(Clone)]
struct Mailbox(mpsc::Sender<ChainReport>);

impl ReportSink for Mailbox {
    fn post(&self, report: ChainReport) -> bool {
        self.0.blocking_send(report).is_ok()
    }

    fn try_post(&self, report: ChainReport) -> Result<(), NotPosted> {
        self.0.try_send(report).map_err(|error| match error {
            TrySendError::Full(report) => NotPosted::Full(report.into()),
            TrySendError::Closed(report) => NotPosted::Closed(report.into()),
        })
    }
}

impl Chains for ThreadChains {
    fn run(&mut self, order: &ChainOrder, begin: Begin) -> Result<(), UnfitState> {
        let chain = begin.chain(&self.maker, order.chain, self.pace)?;
        self.threads.run(chain, order);
        Ok(())
    }

    fn answer(&mut self, chain: ChainId, answer: Answer) {
        self.threads.answer(chain, answer);
    }

    fn want_snapshots(&mut self) {
        self.threads.want_snapshots();
    }

    fn tell_bests_again(&mut self) {
        self.threads.tell_bests_again();
    }

    async fn next_report(&mut self) -> Option<ChainReport> {
        self.reports.recv().await
    }

    async fn end(&mut self) -> Vec<ChainReport> {
        let ended = self.threads.end();
        // Threads that wait for room in the mailbox continue.
        self.reports.close();
        let mut waiting = Vec::new();
        while let Some(report) = self.reports.recv().await {
            waiting.push(report);
        }
        let joined = tokio::task::spawn_blocking(move || ended.last_reports());
        waiting.extend(joined.await.unwrap_or_default());
        waiting
    }

    fn statistics(&self) -> WorkerStatistics {
        self.threads.statistics()
    }
}
