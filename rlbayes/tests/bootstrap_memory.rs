//! Replicates are bounded in memory: a thread holds one resampled table and one search at a time, and
//! nothing of them stays but the network. A process of its own, since it measures the process.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

use rlbayes::{Bootstrap, BootstrapSettings, Table, machine};

const ROWS: usize = 1 << 18;
const COLUMNS: usize = 8;
/// A resampled table, and the bits that counting lays out beside it.
const TABLE_BYTES: usize = ROWS * COLUMNS + ROWS * COLUMNS / 4;

fn table() -> Table {
    let names: Vec<String> = (0..COLUMNS).map(|column| format!("v{column}")).collect();
    let mut text = names.join(",");
    for row in 0..ROWS {
        let cells = (0..COLUMNS).map(|column| ["\nn", ",n", "\ny", ",y"][cell(row, column)]);
        text.extend(cells);
    }
    Table::parse("wide", text.as_bytes(), &Default::default()).unwrap()
}

/// A line break or a comma, and a state that hangs together with the column before.
fn cell(row: usize, column: usize) -> usize {
    let mixed = (row / 3).wrapping_mul(0x9E37_79B9) >> 7;
    let is_yes = (mixed >> (column / 2)) & 1 == usize::from(!(row + column).is_multiple_of(5));
    usize::from(column > 0) + 2 * usize::from(is_yes)
}

/// The most memory that a bootstrap takes, beyond what was there before.
fn peak(table: &Table, replicates: u32, threads: u32) -> usize {
    let mut settings = BootstrapSettings {
        replicates,
        evaluations: Some(100),
        ..BootstrapSettings::default()
    };
    settings.search.threads = Some(threads);
    settings.search.memory = Some(1 << 30);
    machine::reset_peak_memory();
    let before = machine::peak_memory().unwrap();
    let support = Bootstrap::with(table, settings).run().unwrap();
    assert_eq!(support.replicates(), replicates);
    machine::peak_memory().unwrap().saturating_sub(before)
}

#[test]
fn replicates_take_one_resampled_table_a_thread() {
    let table = table();
    if machine::peak_memory().is_none() {
        return;
    }
    // Whatever is made once is there after this.
    peak(&table, 2, 2);
    let few = peak(&table, 2, 1);
    let many = peak(&table, 24, 1);
    assert!(
        many < few + 4 * TABLE_BYTES,
        "{few} bytes for 2 replicates, {many} for 24"
    );
    let on_two = peak(&table, 24, 2);
    assert!(
        on_two < 2 * few.max(TABLE_BYTES) + 4 * TABLE_BYTES,
        "{few} bytes for one thread, {on_two} for two"
    );
}
