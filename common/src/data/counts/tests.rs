use super::*;
use crate::search::test_tables::{dependent_table, numbered_table};
use proptest::prelude::*;

struct Squares;

impl Terms for Squares {
    fn cell(&self, count: u32) -> i64 {
        i64::from(count) * i64::from(count)
    }

    fn configuration(&self, count: u32) -> i64 {
        3 * i64::from(count) * i64::from(count)
    }
}

/// Sums the terms of a family by comparing all rows.
fn by_definition(table: &Table, node: NodeIdx, parents: &[NodeIdx]) -> TermSums {
    use std::collections::BTreeMap;
    let mut cells: BTreeMap<(Vec<u8>, u8), u32> = BTreeMap::new();
    let mut configurations: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
    for row in 0..table.rows() {
        let states: Vec<u8> = parents.iter().map(|&p| table.column(p)[row]).collect();
        *configurations.entry(states.clone()).or_default() += 1;
        *cells.entry((states, table.column(node)[row])).or_default() += 1;
    }
    TermSums {
        cells: cells.values().map(|&count| Squares.cell(count)).sum(),
        configurations: configurations
            .values()
            .map(|&count| Squares.configuration(count))
            .sum(),
    }
}

fn check(table: &Arc<Table>) {
    let nodes = table.nodes();
    for processor in Processor::possible() {
        let index = CountIndex::for_processor(Arc::clone(table), processor);
        let mut counter = Counter::default();
        for parents in 0..nodes - 1 {
            let family: Vec<NodeIdx> = (1..=parents).map(NodeIdx::new).collect();
            let node = NodeIdx::new(0);
            counter.group(&index, node, &family);
            assert_eq!(
                counter.family_sums(&Squares),
                by_definition(table, node, &family)
            );
            for &parent in &family {
                let others: Vec<NodeIdx> =
                    family.iter().copied().filter(|&p| p != parent).collect();
                assert_eq!(
                    counter.sums_without(&index, parent, &Squares),
                    by_definition(table, node, &others)
                );
            }
            let candidates: Vec<NodeIdx> = NodeIdx::all(nodes).skip(parents + 1).collect();
            for kernel in [
                Kernel::Auto,
                Kernel::Bits,
                Kernel::Lanes,
                Kernel::Increments,
                Kernel::Sparse,
            ] {
                let mut found = Vec::new();
                let mut left = candidates.clone();
                let mut note = |candidate, sums| found.push((candidate, sums));
                counter.sums_together(&index, &mut left, kernel, |_| Squares, &mut note);
                for candidate in left {
                    let sums = counter.sums_with(&index, candidate, kernel, &Squares);
                    note(candidate, sums);
                }
                assert_eq!(found.len(), candidates.len());
                for (candidate, sums) in found {
                    let mut with = family.clone();
                    with.push(candidate);
                    let expected = by_definition(table, node, &with);
                    assert_eq!(sums, expected, "{kernel:?} {processor:?} {parents}");
                }
            }
        }
    }
}

prop_compose! {
    /// Few and many states, of which later ones are rare.
    fn any_table()(
        arities in prop::collection::vec(prop_oneof![4 => 2usize..6, 1 => 16usize..70], 6),
        rows in 1usize..600,
    )(
        columns in arities
            .iter()
            .map(|&arity| {
                let top = u8::try_from(arity).unwrap();
                prop::collection::vec((0..top, 0..top).prop_map(|(a, b)| a.min(b)), rows)
            })
            .collect::<Vec<_>>(),
        arities in Just(arities),
    ) -> Arc<Table> {
        numbered_table(&arities, columns)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_kernel_on_every_processor_counts_what_there_is(table in any_table()) {
        check(&table);
    }
}

#[test]
fn groups_of_more_rows_than_a_byte_counts_and_tables_of_several_chunks_are_counted() {
    check(&dependent_table(5, 40_000, 3));
}

#[test]
fn a_counter_keeps_no_more_than_it_says_whatever_it_has_counted() {
    for (nodes, rows) in [(12, 40), (12, 9000)] {
        let table = dependent_table(nodes, rows, 3);
        let index = CountIndex::new(Arc::clone(&table));
        let mut counter = Counter::default();
        let mut fullest = 0;
        for parents in 0..nodes - 1 {
            let family: Vec<NodeIdx> = NodeIdx::all(parents).collect();
            for node in NodeIdx::all(nodes).skip(parents) {
                counter.group(&index, node, &family);
                let of_others = |&other: &NodeIdx| other != node;
                let mut others: Vec<NodeIdx> = NodeIdx::all(nodes)
                    .skip(parents)
                    .filter(of_others)
                    .collect();
                counter.sums_together(&index, &mut others, Kernel::Auto, |_| Squares, |_, _| {});
                for candidate in others {
                    for kernel in [Kernel::Auto, Kernel::Sparse] {
                        counter.sums_with(&index, candidate, kernel, &Squares);
                    }
                }
                fullest = fullest.max(counter.bytes());
                counter.group(&index, node, &[]);
                assert!(counter.bytes() <= Counter::bytes_for(&table));
            }
        }
        assert!(fullest > 16 * rows, "it was put to use");
    }
}
