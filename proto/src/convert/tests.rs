use super::*;
use crate::v1;
use proptest::prelude::*;
use prost::Message;
use rlbayes_common::elite::{EliteRow, Found, Structure};
use rlbayes_common::exchange::{
    Answer, ChainCounters, ChainOrder, ChainReport, ChainStatus, Exchange, Hello, Origin, Pace,
    ReplicateDescription, Reply, SearchDescription, Snapshot, Work, WorkerStatistics,
};
use rlbayes_common::ids::{ChainId, Incarnation, NodeIdx, SearchId, Seed, WorkerId};
use rlbayes_common::score::{LogScore, ScoreName, ScoreSpec};
use rlbayes_common::search::{NamedConstraints, SearchSpec, SeedCounts, Seeds, StoppedBy};
use rlbayes_common::support::{Draw, Resampling};
use std::time::Duration;

const NODES: usize = 6;

fn row() -> impl Strategy<Value = EliteRow> {
    let pairs = prop::collection::btree_set((0..NODES, 0..NODES), 0..8);
    (pairs, -1e6..0.0f64).prop_map(|(pairs, score)| {
        let edges = pairs
            .into_iter()
            .filter(|(from, to)| from < to)
            .map(|(from, to)| (NodeIdx::new(from), NodeIdx::new(to)));
        EliteRow {
            structure: Structure::from_edges(NODES, edges).unwrap(),
            score: LogScore::new(score),
        }
    })
}

fn seeds() -> impl Strategy<Value = Seeds> {
    (prop::option::of(row()), row()).prop_map(|(best, mate)| Seeds { best, mate })
}

fn report() -> impl Strategy<Value = ChainReport> {
    let finds = prop::collection::vec(
        (prop_oneof![Just(Found::Best), Just(Found::Stalled)], row()),
        0..5,
    );
    let status = prop::sample::select(ChainStatus::ALL.to_vec());
    (
        any::<u32>(),
        any::<u64>(),
        finds,
        0..1u64 << 40,
        any::<bool>(),
        status,
        any::<Option<Vec<u8>>>(),
    )
        .prop_map(
            |(chain, sequence, finds, count, wants_seeds, status, state)| ChainReport {
                chain: ChainId(chain),
                sequence,
                finds,
                counters: ChainCounters {
                    iterations: count,
                    evaluations: count + 1,
                    computed: count / 2,
                    seeds: SeedCounts {
                        received: 3,
                        entered: 2,
                        made_current: 1,
                    },
                },
                wants_seeds,
                status,
                snapshot: state.map(Snapshot::new),
            },
        )
}

fn sent<M: Message + Default>(message: &M) -> M {
    M::decode(message.encode_to_vec().as_slice()).unwrap()
}

proptest! {
    #[test]
    fn exchanges_survive_the_wire(reports in prop::collection::vec(report(), 0..4)) {
        let exchange = Exchange {
            worker: WorkerId(7),
            incarnation: Incarnation(9),
            work: Work::Search,
            reports,
            statistics: WorkerStatistics { cache_hits: 1, cache_misses: 2, cache_bytes: 3, memory_bytes: 4 },
        };
        let states: Vec<Snapshot> =
            exchange.reports.iter().filter_map(|report| report.snapshot.clone()).collect();
        // The other side knows every second row.
        let told = exchange.reports.iter().flat_map(|report| &report.finds);
        let known = KnownRows::of(told.step_by(2).map(|(_, row)| (digest_of(row), row.clone())));
        let mut wire = sent(&exchange_to_wire(SearchId([5; 16]), &exchange, &known));
        let finds = wire.reports.iter_mut().flat_map(|report| &mut report.finds);
        make_whole(finds.filter_map(|find| find.row.as_mut()), &known).unwrap();
        let back = exchange_from_wire(
            wire,
            |_, row| row_from_wire(row, NODES).map(Some),
            |_, digest| states.iter().find(|state| state.digest() == digest).cloned(),
        );
        prop_assert_eq!(back.unwrap(), exchange);
    }

    #[test]
    fn replies_survive_the_wire(
        seeds in prop::option::of(seeds()),
        pool in seeds(),
        limit in prop::option::of(any::<u64>()),
        stopped in prop::option::of(prop::sample::select(StoppedBy::ALL.to_vec())),
    ) {
        let known = Some(pool.mate.clone());
        let origins = [
            Origin::Start,
            Origin::Pool(pool),
            Origin::Stored { digest: [8; 32], seeds: seeds.clone() },
        ];
        let reply = Reply {
            answers: vec![
                (ChainId(1), 2, Answer::Continue { seeds, snapshot: true }),
                (ChainId(2), u64::MAX, Answer::Stop),
                (ChainId(3), 0, Answer::Revoke),
            ],
            orders: origins
                .into_iter()
                .map(|origin| ChainOrder {
                    chain: ChainId(4),
                    sequence: 5,
                    evaluations: limit,
                    iterations: limit,
                    origin,
                })
                .collect(),
            lease: Duration::from_millis(1500),
            stopped_by: stopped,
            more_work: stopped.is_some(),
        };
        let known = KnownRows::of(known.map(|row| (digest_of(&row), row)));
        let wire = sent(&reply_to_wire(&reply, vec![], &known));
        prop_assert_eq!(reply_from_wire(wire, NODES, &known).unwrap(), reply);
    }

    #[test]
    fn any_bytes_as_edges_are_refused_or_a_network(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let row = v1::Row { edges: bytes.into(), score: -1.0, ..Default::default() };
        if let Ok(read) = row_from_wire(&row, NODES) {
            prop_assert!(read.structure.to_dag().is_ok());
            prop_assert_eq!(row_to_wire(&read), row);
        }
    }

    #[test]
    fn any_bytes_as_a_message_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(message) = v1::ExchangeRequest::decode(bytes.as_slice()) {
            let _ = exchange_from_wire(message, |_, row| row_from_wire(row, NODES).map(Some), |_, _| None);
        }
        if let Ok(message) = v1::JoinRequest::decode(bytes.as_slice()) {
            let _ = hello_from_wire(message);
        }
        if let Ok(message) = v1::Search::decode(bytes.as_slice()) {
            let _ = description_from_wire(message);
        }
        if let Ok(message) = v1::Network::decode(bytes.as_slice()) {
            let _ = network_from_wire(message);
        }
    }
}

fn wire_row(edges: &[(u16, u16)], score: f64) -> v1::Row {
    let bytes: Vec<u8> = edges
        .iter()
        .flat_map(|&(to, from)| [to.to_le_bytes(), from.to_le_bytes()])
        .flatten()
        .collect();
    v1::Row {
        edges: bytes.into(),
        score,
        ..Default::default()
    }
}

#[test]
fn rows_that_are_no_networks_are_refused_with_the_reason() {
    let refused = |row: v1::Row| row_from_wire(&row, NODES).unwrap_err();
    assert_eq!(refused(wire_row(&[(0, 1), (1, 0)], -1.0)), WireError::Cycle);
    assert_eq!(refused(wire_row(&[(0, 0)], -1.0)), WireError::Cycle);
    assert_eq!(refused(wire_row(&[(1, 0), (0, 2)], -1.0)), WireError::Order);
    assert_eq!(refused(wire_row(&[(1, 0), (1, 0)], -1.0)), WireError::Order);
    assert_eq!(refused(wire_row(&[], f64::NAN)), WireError::Score);
    assert!(matches!(
        refused(wire_row(&[(6, 0)], -1.0)),
        WireError::Node { found: 6, nodes: 6 }
    ));
    let cut = v1::Row {
        edges: vec![0; 6].into(),
        score: -1.0,
        ..Default::default()
    };
    assert!(matches!(refused(cut), WireError::Length { .. }));
    let many = v1::Row {
        edges: vec![0; 4 * 65_537].into(),
        score: -1.0,
        ..Default::default()
    };
    assert!(matches!(refused(many), WireError::TooMany { .. }));
}

#[test]
fn introductions_survive_the_wire_and_are_checked() {
    let hello = Hello {
        incarnation: Incarnation(u64::MAX),
        replaces: Some(Incarnation(3)),
        host: "host".into(),
        threads: 4,
        memory: None,
        program_version: "0.1.0".into(),
        chains: vec![ChainId(0), ChainId(9)],
        search: Some(SearchId([1; 16])),
        work: Work::Search,
        peer: None,
    };
    let wire = sent(&hello_to_wire(&hello));
    assert_eq!(hello_from_wire(wire.clone()).unwrap(), hello);
    let with = |change: &dyn Fn(&mut v1::JoinRequest)| {
        let mut changed = wire.clone();
        change(&mut changed);
        hello_from_wire(changed)
    };
    assert!(with(&|hello| hello.threads = 0).is_err());
    assert!(with(&|hello| hello.incarnation = 0).is_err());
    assert!(with(&|hello| hello.host = "x".repeat(256)).is_err());
    assert!(with(&|hello| hello.search_id = vec![1; 3].into()).is_err());
}

#[test]
fn searches_survive_the_wire() {
    for spec in SearchSpec::defaults() {
        let search = SearchDescription {
            id: SearchId([1; 16]),
            data_fingerprint: [2; 32],
            data_hash: [3; 32],
            data_bytes: 4,
            nodes: 6,
            score: ScoreSpec::new(ScoreName::Bdeu, 2.5, 1.0).unwrap(),
            constraints: NamedConstraints {
                required: vec![("a".into(), "b".into())],
                forbidden: vec![("b".into(), "c".into())],
                tiers: vec![vec!["a".into()], vec!["b".into(), "c".into()]],
                max_parents: Some(3),
            },
            start: vec![(NodeIdx::new(0), NodeIdx::new(1))],
            spec,
            seed: Seed(5),
            ladder: 8,
            pace: Pace::Lockstep,
            round_evaluations: 1000,
            target: Some(LogScore::new(-3.0)),
            exchange_every: Duration::from_secs(2),
            replicates: spec.takes_seeds().then_some(ReplicateDescription {
                resampling: Resampling {
                    rows: 7,
                    draw: Draw::WithoutReplacement,
                },
                evaluations: 8,
            }),
        };
        let wire = sent(&description_to_wire(&search));
        assert_eq!(description_from_wire(wire.clone()).unwrap(), search);
        let mut broken = wire;
        broken.score.as_mut().unwrap().ess = -1.0;
        assert!(description_from_wire(broken).is_err());
    }
}
