use super::*;
use crate::data::Kernel;
use crate::graph::Dag;
use crate::score::Toggles;
use crate::score::by_definition;
use crate::score::local::each_with_each;
use crate::search::test_tables::numbered_table;
use proptest::prelude::*;

const NAMES: [ScoreName; 5] = [
    ScoreName::LogLik,
    ScoreName::Bic,
    ScoreName::Aic,
    ScoreName::Bdeu,
    ScoreName::K2,
];

prop_compose! {
    fn any_table()(arities in prop::collection::vec(2usize..6, 5), rows in 1usize..200)(
        columns in arities
            .iter()
            .map(|&arity| {
                let top = u8::try_from(arity).unwrap();
                // Later states are rare, so that some configurations never occur.
                prop::collection::vec((0..top, 0..top).prop_map(|(a, b)| a.min(b)), rows)
            })
            .collect::<Vec<_>>(),
        arities in Just(arities),
    ) -> Arc<Table> {
        numbered_table(&arities, columns)
    }
}

fn nodes(indices: &[usize]) -> Vec<NodeIdx> {
    indices.iter().map(|&index| NodeIdx::new(index)).collect()
}

proptest! {
    #[test]
    fn fast_scores_equal_their_definition(table in any_table(), ess in 0.1f64..20.0) {
        let mut scratch = Scratch::default();
        for name in NAMES {
            let spec = ScoreSpec::new(name, ess, 1.5).unwrap();
            let scorer = Scorer::new(Arc::clone(&table), spec);
            for parents in [&[][..], &[1], &[3, 4], &[1, 2, 3, 4]] {
                let parents = nodes(parents);
                let fast = scorer.local(NodeIdx::new(0), &parents, &mut scratch).value();
                let slow = by_definition::local(&table, &spec, NodeIdx::new(0), &parents).value();
                prop_assert!((fast - slow).abs() <= 1e-9 * slow.abs().max(1.0), "{name}: {fast} {slow}");
            }
        }
    }

    #[test]
    fn pairs_have_the_scores_of_single_families(
        table in any_table(), skip_hopeless in any::<bool>(), lines in 1usize..5,
    ) {
        let mut scratch = Scratch::default();
        let all: Vec<NodeIdx> = NodeIdx::all(5).collect();
        let lines = &all[..lines];
        for name in NAMES {
            let scorer = Scorer::new(Arc::clone(&table), ScoreSpec::usual(name));
            let mut fast = Vec::new();
            let mut note = |node, parent, score: Option<f64>| {
                fast.push((node, parent, score.map(f64::to_bits)));
            };
            scorer.pairs(lines, &all, skip_hopeless, &mut scratch, &mut note);
            let mut slow = Vec::new();
            let mut note = |node, parent, score: Option<f64>| {
                slow.push((node, parent, score.map(f64::to_bits)));
            };
            each_with_each(&scorer, lines, &all, skip_hopeless, &mut scratch, &mut note);
            fast.sort();
            slow.sort();
            prop_assert_eq!(&fast, &slow, "{}", name);
            for (node, parent, score) in slow {
                let single = scorer.local(node, &[parent], &mut scratch).value();
                prop_assert!(score.is_none_or(|score| score == single.to_bits()));
            }
        }
    }

    #[test]
    fn every_counting_path_gives_the_same_bits(table in any_table()) {
        let mut scratch = Scratch::default();
        let all = nodes(&[1, 2, 3, 4]);
        for name in NAMES {
            let scorer = Scorer::new(Arc::clone(&table), ScoreSpec::usual(name));
            for left_out in 0..4 {
                let mut base = all.clone();
                let candidate = base.remove(left_out);
                let direct = scorer.local(NodeIdx::new(0), &all, &mut scratch);
                for kernel in [Kernel::Auto, Kernel::Bits, Kernel::Lanes, Kernel::Increments, Kernel::Sparse] {
                    let candidates = &[candidate];
                    let request = Toggles { additions: candidates, removals: &[], skip_hopeless: false, kernel };
                    let mut with = None;
                    scorer.with_each(NodeIdx::new(0), &base, request, &mut scratch, &mut |_, score| {
                        with = score;
                    });
                    prop_assert_eq!(with.unwrap().to_bits(), direct.value().to_bits());
                }
            }
        }
    }

    #[test]
    fn equivalent_networks_have_equal_bits(table in any_table()) {
        let mut scratch = Scratch::default();
        for name in NAMES.into_iter().filter(|name| name.is_score_equivalent()) {
            let scorer = Scorer::new(Arc::clone(&table), ScoreSpec::usual(name));
            let mut score = |edges: &[(usize, usize)]| {
                let edges = edges.iter().map(|&(a, b)| (NodeIdx::new(a), NodeIdx::new(b)));
                let dag = Dag::from_edges(5, edges).unwrap();
                scorer.structure(&dag, &mut scratch).value().to_bits()
            };
            let chain = score(&[(0, 1), (1, 2), (2, 3)]);
            prop_assert_eq!(chain, score(&[(1, 0), (1, 2), (2, 3)]));
            prop_assert_eq!(chain, score(&[(3, 2), (2, 1), (1, 0)]));
            let complete = score(&[(0, 1), (0, 2), (1, 2)]);
            prop_assert_eq!(complete, score(&[(2, 1), (2, 0), (1, 0)]));
        }
    }

    #[test]
    fn what_is_skipped_as_hopeless_would_have_lost(table in any_table()) {
        let mut scratch = Scratch::default();
        let scorer = Scorer::new(Arc::clone(&table), ScoreSpec::BIC);
        let candidates = nodes(&[3, 4]);
        let base_parents = nodes(&[1, 2]);
        let mut skipped = Vec::new();
        let request =
            Toggles { additions: &candidates, removals: &[], skip_hopeless: true, kernel: Kernel::Auto };
        let base = scorer.with_each(
            NodeIdx::new(0), &base_parents, request, &mut scratch,
            &mut |candidate, score| if score.is_none() { skipped.push(candidate) },
        );
        for candidate in skipped {
            let mut parents = base_parents.clone();
            parents.push(candidate);
            prop_assert!(scorer.local(NodeIdx::new(0), &parents, &mut scratch) < base);
        }
    }
}

#[test]
fn a_family_of_hundreds_of_parents_has_a_finite_score() {
    let n = 300;
    let columns: Vec<Vec<u8>> = (0..n)
        .map(|i| {
            (0..50usize)
                .map(|row| u8::from((row * 7 + i * 13) % 5 < 2))
                .collect()
        })
        .collect();
    let table = numbered_table(&vec![2; n], columns);
    let parents: Vec<NodeIdx> = (1..n).map(NodeIdx::new).collect();
    let mut scratch = Scratch::default();
    for name in NAMES {
        let spec = ScoreSpec::usual(name);
        let fast =
            Scorer::new(Arc::clone(&table), spec).local(NodeIdx::new(0), &parents, &mut scratch);
        let slow = by_definition::local(&table, &spec, NodeIdx::new(0), &parents);
        assert!(fast.value().is_finite());
        assert!((fast.value() - slow.value()).abs() <= 1e-9 * slow.value().abs().max(1.0));
    }
}
