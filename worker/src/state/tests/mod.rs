//! The session's laws by hand: events in, actions out, and a clock that the test sets.

mod exchanging;
mod joining;
mod leaving;
mod running;

use super::*;
use crate::link::{Joined, LinkError};
use crate::test_values::{description, settings};
use prost::Message;
use rlbayes_common::elite::{EliteRow, Found, Structure};
use rlbayes_common::exchange::{
    Answer, ChainCounters, ChainOrder, ChainReport, ChainStatus, Exchange, Origin, Pace, Reply,
    SearchDescription, Snapshot, Welcome,
};
use rlbayes_common::ids::{ChainId, NodeIdx, SearchId, WorkerId};
use rlbayes_common::score::LogScore;
use rlbayes_common::search::SavedChain;
use rlbayes_common::snapshot::encode_chain;
use rlbayes_proto::MAX_LIST_BYTES;
use rlbayes_proto::convert::{KnownRows, exchange_to_wire};
use std::collections::BTreeMap;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(15);
const SECOND: Duration = Duration::from_secs(1);

/// A session and its clock.
struct Driven {
    state: SessionState,
    now: Duration,
}

impl Driven {
    fn new(settings: SessionSettings) -> Self {
        Self {
            state: SessionState::new(settings, Duration::ZERO, Held::default()),
            now: Duration::ZERO,
        }
    }

    /// A session that runs chains from the start.
    fn working(pace: Pace, chains: u32) -> Self {
        let mut driven = Self::new(settings());
        driven.tick();
        let orders = (0..chains).map(|chain| order(chain, Origin::Start));
        driven.apply(Event::Joined(Ok(joined(pace, orders.collect()))));
        let actions = driven.apply(Event::Opened(Ok(BTreeMap::new())));
        assert_eq!(runs(&actions).len(), chains as usize);
        driven
    }

    fn apply(&mut self, event: Event) -> Vec<Action> {
        self.state.apply(self.now, event)
    }

    /// Lets time pass until something is due.
    fn tick(&mut self) -> Vec<Action> {
        let due = self.state.next_due().expect("something is due");
        self.now = self.now.max(due);
        self.apply(Event::Tick)
    }

    fn report(&mut self, report: ChainReport) {
        let actions = self.apply(Event::Report(report));
        assert!(actions.is_empty(), "{actions:?}");
    }

    /// Lets the exchange that is due begin.
    fn exchange(&mut self) -> Exchange {
        exchanged(&self.tick())
    }

    fn reply(&mut self, reply: Reply) -> Vec<Action> {
        self.apply(Event::Replied(Ok(reply)))
    }
}

fn joined(pace: Pace, orders: Vec<ChainOrder>) -> Box<Joined> {
    Box::new(Joined {
        chains: orders.iter().map(|order| order.chain).collect(),
        welcome: Welcome {
            worker: WorkerId(1),
            lease: LEASE,
            orders,
            stopped_by: None,
            work: rlbayes_common::exchange::Work::Search,
            more_work: false,
        },
        search: SearchDescription {
            pace,
            ..description()
        },
    })
}

fn order(chain: u32, origin: Origin) -> ChainOrder {
    ChainOrder {
        chain: ChainId(chain),
        sequence: 0,
        evaluations: None,
        iterations: None,
        origin,
    }
}

fn report(chain: u32, sequence: u64, scores: &[f64], structure: &Structure) -> ChainReport {
    let find = |&score: &f64| {
        let row = EliteRow {
            structure: structure.clone(),
            score: LogScore::new(score),
        };
        (Found::Best, row)
    };
    ChainReport {
        chain: ChainId(chain),
        sequence,
        finds: scores.iter().map(find).collect(),
        counters: ChainCounters::default(),
        wants_seeds: false,
        status: ChainStatus::Running,
        snapshot: None,
    }
}

fn small() -> Structure {
    Structure::from_edges(1, []).unwrap()
}

/// A network as large as those of link: 4.5 KB.
fn large() -> Structure {
    let nodes = NodeIdx::all(724);
    let edges = nodes.flat_map(|node| {
        let parents = [1, 2].into_iter().filter(move |&back| node.index() >= back);
        parents.map(move |back| (NodeIdx::new(node.index() - back), node))
    });
    Structure::from_edges(724, edges.take(1125)).unwrap()
}

fn state_of(number: u64) -> Snapshot {
    let saved = SavedChain {
        iterations: number,
        ..SavedChain::default()
    };
    Snapshot::new(encode_chain(&saved))
}

fn next_slice() -> Answer {
    Answer::Continue {
        seeds: None,
        snapshot: false,
    }
}

fn answer_all(exchange: &Exchange, answer: &Answer) -> Reply {
    let answers = exchange.reports.iter();
    Reply {
        answers: answers
            .map(|report| (report.chain, report.sequence, answer.clone()))
            .collect(),
        lease: LEASE,
        ..Reply::default()
    }
}

fn away() -> LinkError {
    LinkError::Unreachable("away".into())
}

fn unknown() -> LinkError {
    LinkError::JoinAgain("who is this?".into())
}

/// Returns the exchange that is wanted, and is the only thing that is.
fn exchanged(actions: &[Action]) -> Exchange {
    match actions {
        [Action::Exchange(exchange)] => exchange.clone(),
        other => panic!("an exchange, not {other:?}"),
    }
}

fn runs(actions: &[Action]) -> Vec<(&ChainOrder, &Begin)> {
    let runs = actions.iter().filter_map(|action| match action {
        Action::Run(order, begin) => Some((order, begin)),
        _ => None,
    });
    runs.collect()
}

fn logged(actions: &[Action]) -> Vec<&LogEvent> {
    let logged = actions.iter().filter_map(|action| match action {
        Action::Log(event) => Some(event),
        _ => None,
    });
    logged.collect()
}

/// Returns how the session has ended, which is the last thing that is wanted.
fn finished(actions: &[Action]) -> Result<End, SessionError> {
    match actions.last() {
        Some(Action::Finish(end)) => end.clone(),
        _ => panic!("an end, not {actions:?}"),
    }
}

fn rows(exchange: &Exchange) -> usize {
    let finds = exchange.reports.iter().map(|report| report.finds.len());
    finds.sum()
}

fn scores(report: &ChainReport) -> Vec<f64> {
    let scores = report.finds.iter().map(|(_, row)| row.score.value());
    scores.collect()
}

fn assert_fits(exchange: &Exchange) {
    let bytes = exchange_to_wire(SearchId([0; 16]), exchange, &KnownRows::default()).encoded_len();
    assert!(bytes <= MAX_LIST_BYTES + 1024, "{bytes}");
}
