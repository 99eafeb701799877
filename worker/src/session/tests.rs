//! What needs the driver itself: futures that are dropped lose nothing, and a worker drains whatever
//! it waits for. The session's decisions are tested with its state machine.

use super::*;
use crate::link::LinkError;
use crate::state::{Held, OpenError};
use crate::test_values::{description, settings};
use rlbayes_common::elite::{EliteRow, Found, Structure};
use rlbayes_common::exchange::{
    Answer, ChainOrder, ChainStatus, Exchange, Hello, Origin, Pace, Reply, Snapshot, Welcome,
};
use rlbayes_common::ids::{ChainId, WorkerId};
use rlbayes_common::score::LogScore;
use rlbayes_common::search::UnfitState;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// A coordinator that notes what it is sent, and answers after a while.
struct Noting {
    order: ChainOrder,
    sent: RefCell<Vec<Exchange>>,
    left: RefCell<Vec<Exchange>>,
}

impl Link for Noting {
    async fn join(&self, _: &Hello) -> Result<Joined, LinkError> {
        Ok(Joined {
            chains: vec![self.order.chain],
            welcome: Welcome {
                worker: WorkerId(1),
                lease: Duration::from_secs(15),
                orders: vec![self.order.clone()],
                stopped_by: None,
                work: rlbayes_common::exchange::Work::Search,
                more_work: false,
            },
            search: SearchDescription {
                pace: match self.order.origin {
                    Origin::Stored { .. } => Pace::Lockstep,
                    Origin::Start | Origin::Pool(_) => Pace::Free,
                },
                ..description()
            },
        })
    }

    async fn fetch_data(&self, _: &SearchDescription) -> Result<Vec<u8>, LinkError> {
        pending().await
    }

    async fn store_chain(&self, _: &SearchDescription, _: &Exchange) -> Result<(), LinkError> {
        Ok(())
    }

    async fn fetch_chain(
        &self,
        _: &SearchDescription,
        _: ChainId,
        _: [u8; 32],
    ) -> Result<Snapshot, LinkError> {
        pending().await
    }

    async fn exchange(&self, _: &SearchDescription, sent: Exchange) -> Result<Reply, LinkError> {
        let answers = sent.reports.iter().map(|report| {
            let seeds = None;
            let snapshot = false;
            let answer = Answer::Continue { seeds, snapshot };
            (report.chain, report.sequence, answer)
        });
        let reply = Reply {
            answers: answers.collect(),
            lease: Duration::from_secs(15),
            ..Reply::default()
        };
        self.sent.borrow_mut().push(sent);
        sleep(Duration::from_millis(70)).await;
        Ok(reply)
    }

    async fn leave(&self, _: &SearchDescription, sent: Exchange) -> Result<(), LinkError> {
        self.left.borrow_mut().push(sent);
        Ok(())
    }

    async fn nudged(&self) {
        pending().await
    }

    fn least_pause(&self) -> Duration {
        Duration::from_millis(50)
    }
}

/// Chains of which one reports every now and then: a report that is waited for is made only once.
struct Counting {
    made: u64,
    score: f64,
    due: Instant,
}

impl Counting {
    const EVERY: Duration = Duration::from_millis(30);

    fn report(&mut self) -> ChainReport {
        self.made += 1;
        let row = EliteRow {
            structure: Structure::from_edges(2, []).unwrap(),
            score: LogScore::new(self.score),
        };
        self.score -= 1.0;
        ChainReport {
            chain: ChainId(0),
            sequence: self.made - 1,
            finds: vec![(Found::Best, row)],
            counters: Default::default(),
            wants_seeds: true,
            status: ChainStatus::Running,
            snapshot: None,
        }
    }
}

impl Chains for Counting {
    fn run(&mut self, _: &ChainOrder, _: crate::state::Begin) -> Result<(), UnfitState> {
        Ok(())
    }

    fn answer(&mut self, _: ChainId, _: Answer) {}

    fn want_snapshots(&mut self) {}

    fn tell_bests_again(&mut self) {}

    async fn next_report(&mut self) -> Option<ChainReport> {
        sleep_until(self.due).await;
        self.due += Self::EVERY;
        Some(self.report())
    }

    async fn end(&mut self) -> Vec<ChainReport> {
        vec![self.report()]
    }

    fn statistics(&self) -> WorkerStatistics {
        WorkerStatistics {
            cache_hits: self.made,
            ..WorkerStatistics::default()
        }
    }
}

/// A host that is ready at once, or never.
struct Host {
    is_ready: bool,
}

impl WorkerHost for Host {
    type Chains = Counting;

    async fn open(&mut self, _: &impl Link, _: &Joined) -> Result<Opened<Counting>, OpenError> {
        if !self.is_ready {
            pending::<()>().await;
        }
        Ok(Opened {
            chains: Counting {
                made: 0,
                score: 0.0,
                due: Instant::now(),
            },
            checkpoints: BTreeMap::new(),
        })
    }

    fn held(&self) -> Held {
        Held::default()
    }

    fn keep_checkpoint(&mut self, _: ChainId, _: &Snapshot) {}

    fn drop_checkpoint(&mut self, _: ChainId) {}
}

/// Runs a worker that is shut down after three seconds, which pass at once.
fn drained(origin: Origin, is_ready: bool) -> Noting {
    let link = Noting {
        order: ChainOrder {
            chain: ChainId(0),
            sequence: 0,
            evaluations: None,
            iterations: None,
            origin,
        },
        sent: RefCell::default(),
        left: RefCell::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let end = runtime.block_on(async {
        let shutdown = sleep(Duration::from_secs(3));
        let settings = settings();
        let mut host = Host { is_ready };
        let session = run(&settings, &link, &mut host, shutdown);
        timeout(Duration::from_secs(30), session).await
    });
    assert_eq!(end.unwrap(), Ok(End::Drained));
    link
}

#[test]
fn no_report_is_lost_while_calls_and_time_pass() {
    let link = drained(Origin::Start, true);
    let (sent, left) = (link.sent.take(), link.left.take());
    assert!(sent.len() > 20, "{} exchanges", sent.len());
    let made = left[0].statistics.cache_hits;
    assert_eq!(made, 101, "one every 30 ms of three seconds, and the last");
    let reports = sent.iter().chain(&left).flat_map(|sent| &sent.reports);
    let rows = reports.flat_map(|report| &report.finds);
    let scores: BTreeSet<LogScore> = rows.map(|(_, row)| row.score).collect();
    assert_eq!(
        scores.len() as u64,
        made,
        "each report has a row of its own"
    );
}

#[test]
fn a_worker_that_fetches_a_state_drains_when_it_is_told_to() {
    let stored = Origin::Stored {
        digest: [1; 32],
        seeds: None,
    };
    assert_eq!(drained(stored, true).left.take().len(), 1);
}

#[test]
fn a_worker_whose_host_is_not_ready_drains_when_it_is_told_to() {
    assert_eq!(drained(Origin::Start, false).left.take().len(), 1);
}
