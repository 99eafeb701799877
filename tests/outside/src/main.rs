//! Learns alarm with two threads and writes a BIF file.

use rlbayes::{Fit, Score, Search, Table};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = Table::read(std::env::args().nth(1).unwrap_or("data/alarm.csv".into()))?;
    let found = Search::on(&table)
        .score(Score::Bic)
        .threads(2)
        .time(Duration::from_secs(3))
        .run()?;
    println!("{} {:?}", found.score(), found.edges());
    found.network(Fit::Smoothed(1.0))?.write("alarm.bif")?;
    Ok(())
}
