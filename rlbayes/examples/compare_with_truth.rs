//! How close a learned network is to the true one: `cargo run --release -p rlbayes --example compare_with_truth`

#![expect(clippy::print_stdout, reason = "an example prints what it finds")]

use rlbayes::{Network, Score, Search};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let truth = Network::read("data/networks/asia.bif")?;
    for rows in [200, 2_000, 20_000] {
        let table = truth.sample(rows, 7)?;
        let found = Search::on(&table)
            .score(Score::Bdeu { ess: 1.0 })
            .threads(1)
            .evaluations(200_000)
            .run()?;
        let compared = truth.compare(&found.structure());
        println!(
            "{rows:>6} rows: skeleton F1 {:.3}, differences between the classes {}",
            compared.f1_skeleton, compared.shd_cpdag
        );
    }
    Ok(())
}
