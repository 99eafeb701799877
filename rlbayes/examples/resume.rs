//! A search that is kept in a folder and resumes from it: `cargo run --release -p rlbayes --example resume`

#![expect(clippy::print_stdout, reason = "an example prints what it finds")]

use rlbayes::{Search, Table};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let table = Table::read("data/alarm.csv")?;
    let folder = std::env::temp_dir().join(format!("rlbayes-example-{}", std::process::id()));
    for evaluations in [2_000_000, 6_000_000] {
        // The same search with a larger budget continues; with another score it would be refused.
        let found = Search::on(&table)
            .threads(1)
            .evaluations(evaluations)
            .state(&folder)
            .run()?;
        println!(
            "{:.3} after {} local scores, stopped by {}",
            found.score(),
            found.evaluations(),
            found.stopped_by()
        );
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
