use super::*;
use crate::elite::Structure;
use crate::graph::Dag;
use crate::ids::NodeIdx;
use crate::score::LogScore;
use proptest::prelude::*;

const NODES: usize = 5;

/// A row whose score is a function of its class, as it is with a score-equivalent score.
fn row(code: u64) -> EliteRow {
    let mut dag = Dag::empty(NODES);
    let mut rest = code;
    for a in 0..NODES {
        for b in a + 1..NODES {
            let _ = match rest % 3 {
                1 => dag.add_edge(NodeIdx::new(a), NodeIdx::new(b)),
                2 => dag.add_edge(NodeIdx::new(b), NodeIdx::new(a)),
                _ => Ok(()),
            };
            rest /= 3;
        }
    }
    let structure = Structure::of(&dag);
    let key = StructureKey::of_class(structure.families());
    let score = LogScore::new(-f64::from(u16::from(key.0[0])));
    EliteRow { structure, score }
}

prop_compose! {
    fn report()(chain in 0u32..5, stalled in any::<bool>(), code in 0u64..59049)
        -> (ChainId, Found, EliteRow) {
        (ChainId(chain), if stalled { Found::Stalled } else { Found::Best }, row(code))
    }
}

fn pool_of(reports: &[(ChainId, Found, EliteRow)]) -> Pool {
    let mut pool = Pool::new(Keying::ByClass);
    for (chain, found, row) in reports {
        pool.merge(*chain, *found, row);
    }
    pool
}

proptest! {
    #[test]
    fn merging_does_not_depend_on_order_or_repetition(
        reports in prop::collection::vec(report(), 1..150),
        shuffle in any::<u64>(),
        cut in 0usize..150,
    ) {
        let pool = pool_of(&reports);
        let mut shuffled = reports.clone();
        let mut random = crate::search::Random::new(crate::ids::Seed(shuffle));
        random.shuffle(&mut shuffled);
        shuffled.extend(reports.iter().take(20).cloned());
        prop_assert_eq!(&pool_of(&shuffled), &pool);
        // Union of two pools, either way round, and of a pool with itself.
        let cut = cut.min(reports.len());
        let (a, b) = (pool_of(&reports[..cut]), pool_of(&reports[cut..]));
        let (mut left, mut right) = (a.clone(), b.clone());
        left.merge_pool(&b);
        right.merge_pool(&a);
        prop_assert_eq!(&left, &pool);
        prop_assert_eq!(&right, &pool);
        left.merge_pool(&pool);
        prop_assert_eq!(&left, &pool);
    }

    #[test]
    fn the_best_row_ever_merged_is_the_best_of_the_pool(
        reports in prop::collection::vec(report(), 1..150)
    ) {
        let best = reports.iter().map(|(_, _, row)| row.score).max();
        prop_assert_eq!(pool_of(&reports).best().map(|row| row.score), best);
    }
}

#[test]
fn ten_thousand_members_of_one_class_do_not_push_other_chains_out() {
    // All complete graphs over 8 nodes are equivalent: one per order of the nodes.
    let n = 8;
    let mut pool = Pool::new(Keying::ByClass);
    for chain in 1..4 {
        let other = Dag::from_edges(n, [(NodeIdx::new(0), NodeIdx::new(chain))]).unwrap();
        let score = LogScore::new(-100.0);
        let row = EliteRow {
            structure: Structure::of(&other),
            score,
        };
        pool.merge(ChainId(u32::try_from(chain).unwrap()), Found::Stalled, &row);
    }
    let mut random = crate::search::Random::new(crate::ids::Seed(1));
    let mut order: Vec<NodeIdx> = NodeIdx::all(n).collect();
    for _ in 0..10_000 {
        random.shuffle(&mut order);
        let mut dag = Dag::empty(n);
        for (at, &a) in order.iter().enumerate() {
            for &b in &order[at + 1..] {
                dag.add_edge(a, b).unwrap();
            }
        }
        let row = EliteRow {
            structure: Structure::of(&dag),
            score: LogScore::new(-1.0),
        };
        pool.merge(ChainId(9), Found::Stalled, &row);
    }
    assert_eq!(pool.len(), 4);
    assert!((1..4).all(|chain| pool.best_of(ChainId(chain)).is_some()));
}

#[test]
fn the_pool_stays_within_its_limits() {
    let reports: Vec<_> = (0..59049)
        .step_by(7)
        .map(|code| (ChainId(0), Found::Stalled, row(code)))
        .collect();
    let pool = pool_of(&reports);
    assert_eq!(pool.overall().count(), Pool::OVERALL);
    assert!(pool.len() <= Pool::OVERALL + Pool::STALLED + 1);
}
