use super::*;
use crate::test_values::{description, settings};
use prost::Message;
use rlbayes_common::data::{Schema, Table, Variable};
use rlbayes_common::elite::{EliteRow, Found, Structure};
use rlbayes_common::exchange::{ChainCounters, ChainStatus, Snapshot, WorkerStatistics};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::{NodeIdx, SearchId, Seed};
use rlbayes_common::score::{LogScore, ScoreSpec, Scorer};
use rlbayes_common::search::{
    Chain, Constraints, NamedConstraints, Problem, SavedChain, SearchSpec,
};
use rlbayes_proto::convert::exchange_to_wire;
use rlbayes_proto::{MAX_FINDS, MAX_LIST_BYTES, MAX_REPORTS};
use std::cell::RefCell;
use std::sync::Arc;

/// A coordinator that notes what it is told; it never gets to the end of a chain's state.
#[derive(Default)]
struct Noting {
    exchanges: RefCell<Vec<Exchange>>,
    leaves: RefCell<Vec<Exchange>>,
    /// Whether it was started again and knows nobody.
    knows_nobody: bool,
}

impl Link for Noting {
    async fn join(&self, _: &Hello) -> Result<Joined, LinkError> {
        std::future::pending().await
    }

    async fn fetch_data(&self, _: &SearchDescription) -> Result<Vec<u8>, LinkError> {
        std::future::pending().await
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
        std::future::pending().await
    }

    async fn exchange(&self, _: &SearchDescription, told: Exchange) -> Result<Reply, LinkError> {
        let reply = answer_all(&told, &go_on());
        self.exchanges.borrow_mut().push(told);
        match self.knows_nobody {
            true => Err(LinkError::JoinAgain("who is this?".into())),
            false => Ok(reply),
        }
    }

    async fn leave(&self, _: &SearchDescription, told: Exchange) -> Result<(), LinkError> {
        self.leaves.borrow_mut().push(told);
        Ok(())
    }

    async fn nudged(&self) {
        std::future::pending().await
    }

    fn least_pause(&self) -> Duration {
        Duration::ZERO
    }
}

/// Chains that say nothing.
struct Silent;

impl Chains for Silent {
    fn run(&mut self, _: Box<dyn Chain>, _: &ChainOrder) {}

    fn answer(&mut self, _: ChainId, _: Answer) {}

    fn want_snapshots(&mut self) {}

    fn tell_bests_again(&mut self) {}

    async fn next_report(&mut self) -> Option<ChainReport> {
        std::future::pending().await
    }

    async fn end(&mut self) -> Vec<ChainReport> {
        Vec::new()
    }

    fn statistics(&self) -> WorkerStatistics {
        WorkerStatistics::default()
    }
}

struct NoWorkshop;

impl WorkerHost for NoWorkshop {
    type Chains = Silent;

    async fn open(
        &mut self,
        _: &impl Link,
        _: &Joined,
        _: &mut RetryPolicy,
    ) -> Result<Option<(ChainMaker, Silent)>, SessionError> {
        Ok(None)
    }

    fn checkpointed(&mut self, _: ChainId) -> Option<SavedChain> {
        None
    }

    fn holds(&self) -> (Vec<ChainId>, Option<SearchId>) {
        (Vec::new(), None)
    }

    fn keep(&mut self, _: ChainId, _: &Snapshot) {}

    fn give_up(&mut self, _: ChainId) {}
}

fn maker() -> ChainMaker {
    let variable = |name: &str| Variable::new(name, vec!["0".into(), "1".into()]).unwrap();
    let schema = Schema::new(["a", "b"].map(variable).to_vec()).unwrap();
    let table = Arc::new(Table::new(schema, vec![vec![0, 1], vec![0, 1]]).unwrap());
    let constraints = Constraints::new(&table, &NamedConstraints::default()).unwrap();
    let scorer = Scorer::new(table, ScoreSpec::BIC);
    let problem = Problem::new(scorer, constraints, Dag::empty(2), 1 << 20);
    ChainMaker {
        problem: Arc::new(problem),
        spec: SearchSpec::defaults()[0],
        seed: Seed(1),
        ladder: 1,
    }
}

/// Runs a test with a session of a worker that runs a number of chains.
fn with_session<T>(
    link: &Noting,
    pace: Pace,
    chains: u32,
    test: impl FnOnce(&mut Session<'_, Noting, NoWorkshop>) -> T,
) -> T {
    let settings = settings();
    let mut tries = RetryPolicy::new(&settings);
    let run = |number: u32| {
        let run = Run {
            round: 0,
            stopped: false,
        };
        (ChainId(number), run)
    };
    let runtime = paused_runtime();
    let _entered = runtime.enter();
    let mut session = Session {
        settings: &settings,
        link,
        host: &mut NoWorkshop,
        search: SearchDescription {
            pace,
            ..description()
        },
        maker: maker(),
        chains: Silent,
        worker: WorkerId(1),
        lease: Duration::from_secs(15),
        running: (0..chains).map(run).collect(),
        outbox: Outbox::default(),
        tries: &mut tries,
        last_exchange: Instant::now(),
        last_checkpoint: Instant::now(),
        in_a_hurry: false,
        is_unknown: false,
        runs: BTreeMap::new(),
        chains_ended: false,
    };
    test(&mut session)
}

/// Runs a call of a session to its end; time passes at once.
fn block_on<T>(call: impl Future<Output = T>) -> T {
    paused_runtime().block_on(call)
}

fn paused_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
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

fn go_on() -> Answer {
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
        lease: Duration::from_secs(15),
        ..Reply::default()
    }
}

fn rows(exchange: &Exchange) -> usize {
    exchange
        .reports
        .iter()
        .map(|report| report.finds.len())
        .sum()
}

fn fits(exchange: &Exchange) {
    let bytes = exchange_to_wire(SearchId([0; 16]), exchange).encoded_len();
    assert!(bytes <= MAX_LIST_BYTES + 1024, "{bytes}");
}

const CHAINS: u32 = 40;
const ROWS: usize = 64;

/// After a cut every chain has as many rows to tell as are kept: eleven megabytes.
fn note_many(session: &mut Session<'_, Noting, NoWorkshop>) {
    let structure = large();
    for chain in 0..CHAINS {
        let best = if chain == 23 { 1.0 } else { 0.0 };
        let mut scores = vec![-1.0; ROWS - 1];
        scores.push(best);
        session.note(report(chain, 3, &scores, &structure));
    }
}

#[test]
fn an_exchange_is_filled_up_to_its_limit_with_the_best_row_first_and_the_rest_follows() {
    with_session(&Noting::default(), Pace::Free, CHAINS, |session| {
        note_many(session);
        let (mut told, mut exchanges) = (0, 0);
        while !session.outbox.is_empty() {
            let exchange = session.make_exchange();
            fits(&exchange);
            if exchanges == 0 {
                assert_eq!(exchange.reports[0].chain, ChainId(23));
            }
            told += rows(&exchange);
            exchanges += 1;
            session.take_reply(answer_all(&exchange, &go_on()));
        }
        assert_eq!(told, CHAINS as usize * ROWS);
        assert!((11..=14).contains(&exchanges), "{exchanges}");
    });
}

#[test]
fn lockstep_reports_that_are_not_answered_take_turns() {
    with_session(&Noting::default(), Pace::Lockstep, CHAINS, |session| {
        note_many(session);
        let mut told = std::collections::BTreeSet::new();
        for _ in 0..20 {
            let exchange = session.make_exchange();
            fits(&exchange);
            told.extend(exchange.reports.iter().map(|report| report.chain));
        }
        assert_eq!(told.len(), CHAINS as usize);
        assert_eq!(session.outbox.len(), CHAINS as usize);
    });
}

#[test]
fn more_reports_than_an_exchange_may_have_are_told_in_parts() {
    with_session(&Noting::default(), Pace::Free, 5000, |session| {
        let empty = Structure::from_edges(1, []).unwrap();
        for chain in 0..5000 {
            session.note(report(chain, 0, &[], &empty));
        }
        assert_eq!(session.make_exchange().reports.len(), MAX_REPORTS);
    });
}

#[test]
fn rows_that_are_too_large_for_a_report_leave_room_for_the_newest() {
    with_session(&Noting::default(), Pace::Free, 1, |session| {
        let structure = large();
        // 500 rows of 4.5 KB in reports that pile up.
        for sequence in 0..50u32 {
            let scores: Vec<f64> = (0..10).map(|at| f64::from(sequence * 10 + at)).collect();
            session.note(report(0, sequence.into(), &scores, &structure));
        }
        let exchange = session.make_exchange();
        fits(&exchange);
        let finds = &exchange.reports[0].finds;
        assert_eq!(finds.len(), MAX_FINDS);
        assert_eq!(finds[MAX_FINDS - 1].1.score, LogScore::new(499.0));
    });
}

/// A chain that left its best row for others stalls on many of them while nobody listens.
#[test]
fn the_best_row_is_told_however_many_come_after_it() {
    with_session(&Noting::default(), Pace::Free, 1, |session| {
        let empty = Structure::from_edges(1, []).unwrap();
        session.note(report(0, 0, &[-1.0], &empty));
        for sequence in 1..200 {
            session.note(report(0, sequence, &[-9.0], &empty));
        }
        let exchange = session.make_exchange();
        let finds = &exchange.reports[0].finds;
        assert_eq!(finds.len(), MAX_FINDS);
        assert!(
            finds
                .iter()
                .any(|(_, row)| row.score == LogScore::new(-1.0))
        );
    });
}

/// The reports and counters of a chain that comes back are not those of its first run here.
#[test]
fn a_chain_that_comes_back_has_another_run() {
    with_session(&Noting::default(), Pace::Free, 0, |session| {
        let empty = Structure::from_edges(1, []).unwrap();
        let order = ChainOrder {
            chain: ChainId(0),
            sequence: 0,
            evaluations: u64::MAX,
            iterations: u64::MAX,
            origin: Origin::Start,
        };
        block_on(session.take_orders(vec![order.clone()]));
        assert_eq!(session.running[&ChainId(0)].round, RunSequence::first(0));
        session.note(report(0, RunSequence::first(0), &[-9.0], &empty));
        let exchange = session.make_exchange();
        session.take_reply(answer_all(&exchange, &Answer::Revoke));
        // Rows that nobody has heard of survive the new run.
        session.note(report(0, RunSequence::first(0) + 1, &[-8.0], &empty));
        block_on(session.take_orders(vec![order]));
        let second = RunSequence::first(1);
        assert_eq!(session.running[&ChainId(0)].round, second);
        session.note(report(0, second, &[-7.0], &empty));
        let told = session.make_exchange();
        assert_eq!(told.reports[0].sequence, second);
        assert_eq!(rows(&told), 2);
    });
}

#[test]
fn who_leaves_tells_everything_in_parts() {
    for knows_nobody in [false, true] {
        let link = Noting {
            knows_nobody,
            ..Noting::default()
        };
        with_session(&link, Pace::Free, CHAINS, |session| {
            note_many(session);
            let search = session.search.clone();
            block_on(session.leave(&search));
        });
        let (exchanges, leaves) = (link.exchanges.take(), link.leaves.take());
        assert_eq!(leaves.len(), 1);
        let told: usize = exchanges.iter().chain(&leaves).map(rows).sum();
        assert_eq!(told, CHAINS as usize * ROWS);
        exchanges.iter().chain(&leaves).for_each(fits);
    }
}

#[test]
fn rows_that_a_chain_found_before_it_was_released_are_still_told() {
    with_session(&Noting::default(), Pace::Free, 1, |session| {
        let empty = Structure::from_edges(1, []).unwrap();
        session.note(report(0, 0, &[-9.0], &empty));
        let first = session.make_exchange();
        session.note(report(0, 1, &[-8.0], &empty));
        session.take_reply(answer_all(&first, &Answer::Revoke));
        assert!(session.running.is_empty());
        // The last words of its thread.
        session.note(report(0, 2, &[-7.0], &empty));
        let second = session.make_exchange();
        let scores: Vec<f64> = second.reports[0]
            .finds
            .iter()
            .map(|(_, row)| row.score.value())
            .collect();
        assert_eq!(scores, [-9.0, -8.0, -7.0]);
        session.take_reply(answer_all(&second, &Answer::Revoke));
        assert!(session.outbox.is_empty());
    });
}

#[test]
fn a_worker_that_fetches_a_state_drains_when_it_is_told_to() {
    let link = Noting::default();
    let order = ChainOrder {
        chain: ChainId(0),
        sequence: 4,
        evaluations: u64::MAX,
        iterations: u64::MAX,
        origin: Origin::Stored {
            digest: [1; 32],
            seeds: None,
        },
    };
    let end = with_session(&link, Pace::Lockstep, 0, |session| {
        block_on(async {
            let shutdown = pin!(sleep(Duration::from_secs(1)));
            timeout(Duration::from_secs(30), session.work(vec![order], shutdown)).await
        })
    });
    assert_eq!(end.unwrap(), Ok(Some(End::Drained)));
    assert_eq!(link.leaves.take().len(), 1);
}
