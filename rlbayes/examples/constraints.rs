//! What is known beforehand: `cargo run --release -p rlbayes --example constraints`

#![expect(clippy::print_stdout, reason = "an example prints what it finds")]

use rlbayes::{Search, Table};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let table = Table::read("data/asia_n1000_s1.csv.gz")?;
    let free = Search::on(&table).threads(1).evaluations(200_000).run()?;
    let known = Search::on(&table)
        .tier(["asia", "smoke"]) // nothing in the table comes before these
        .tier(["tub", "lung", "bronc", "either", "xray", "dysp"])
        .require("smoke", "lung")
        .forbid("bronc", "lung")
        .max_parents(3)
        .threads(1)
        .evaluations(200_000)
        .run()?;
    println!("free          {:.3} {:?}", free.score(), free.edges());
    println!("with knowledge {:.3} {:?}", known.score(), known.edges());
    Ok(())
}
