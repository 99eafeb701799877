//! What each node adds to a network's score: `cargo run --release -p rlbayes --example score_by_node`

#![expect(clippy::print_stdout, reason = "an example prints what it finds")]

use rlbayes::{Network, Score, Table};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let table = Table::read("data/asia_n1000_s1.csv.gz")?;
    let network = Network::read("data/networks/asia.bif")?;
    let parts = network.score_by_node(&table, Score::Bic)?;
    for (node, score) in &parts {
        println!("{score:>12.3}  {node}");
    }
    let total: f64 = parts.iter().map(|(_, score)| score).sum();
    println!("{total:>12.3}  in all");
    Ok(())
}
