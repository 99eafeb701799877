//! From a table to a picture: `cargo run --release -p rlbayes --example csv_to_picture -- data/alarm.csv alarm.svg`

#![expect(clippy::print_stdout, reason = "an example prints what it finds")]

use rlbayes::{Search, Table};
use std::env::args;
use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let table = args().nth(1).unwrap_or("data/alarm.csv".into());
    let picture = args().nth(2).unwrap_or("alarm.svg".into());
    let table = Table::read(table)?;
    let found = Search::on(&table).time(Duration::from_secs(3)).run()?;
    println!("score {:.3}, {} edges", found.score(), found.edges().len());
    found.structure().write(picture)?;
    Ok(())
}
