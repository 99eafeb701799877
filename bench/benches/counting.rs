//! How many local scores per second each counting kernel makes, by arity, number of parents and rows:
//! `cargo bench -p rlbayes-bench`. Each choice of the cost model stands beside both kernels;
//! `Auto` should be near the better of the other two everywhere.
//!
//! `cargo bench -p rlbayes-bench -- 10000` shows the tables of 10000 rows only.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]
#![expect(clippy::unwrap_used, reason = "the tables are made here")]

use rlbayes_common::data::{Kernel, Schema, Table, Variable};
use rlbayes_common::ids::{NodeIdx, Seed};
use rlbayes_common::score::{LocalScore, ScoreName, ScoreSpec, Scorer, Scratch, Toggles};
use rlbayes_common::search::Random;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ARITIES: [usize; 4] = [2, 3, 4, 8];
const MOST_PARENTS: usize = 4;
const ROWS: [usize; 3] = [1_000, 10_000, 100_000];
const CANDIDATES: usize = 16;
const KERNELS: [Kernel; 3] = [Kernel::Auto, Kernel::Bits, Kernel::Increments];
/// A figure is that of the fastest of some short runs: other work of the machine only slows down.
const RUNS: usize = 8;
const LEAST: Duration = Duration::from_millis(4);
/// Groups times words of a mask beyond which the bit path is out of the question.
const MOST_WORDS: usize = 1 << 22;

fn main() {
    // Cargo hands over --bench; anything else is a number of rows.
    let wanted: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|argument| argument.parse().ok())
        .collect();
    for rows in ROWS {
        if !wanted.is_empty() && !wanted.contains(&rows) {
            continue;
        }
        println!("\nlocal scores per second, {rows} rows, {CANDIDATES} candidates a family");
        println!(
            "{:>5} {:>8} {:>12} {:>12} {:>12}  auto/best",
            "arity", "parents", "auto", "bits", "increments"
        );
        for arity in ARITIES {
            let scorer = scorer(arity, rows);
            for parents in 0..=MOST_PARENTS {
                print_line(&scorer, arity, parents, rows);
            }
        }
    }
}

fn print_line(scorer: &Scorer, arity: usize, parents: usize, rows: usize) {
    let groups = arity.pow(u32::try_from(parents).unwrap() + 1).min(rows);
    let rates = KERNELS.map(|kernel| {
        let hopeless = kernel == Kernel::Bits && groups * rows.div_ceil(64) > MOST_WORDS;
        (!hopeless).then(|| rate(scorer, parents, kernel))
    });
    let shown = rates.map(|rate| rate.map_or("-".to_owned(), |rate| format!("{rate:.0}")));
    let best = rates[1..].iter().flatten().fold(0.0, |a: f64, &b| a.max(b));
    let ratio = rates[0].unwrap_or(0.0) / best;
    println!(
        "{arity:>5} {parents:>8} {:>12} {:>12} {:>12}  {ratio:>9.2}",
        shown[0], shown[1], shown[2]
    );
}

/// Makes a table of a node, its parents and candidates, all of one arity and drawn evenly.
fn scorer(arity: usize, rows: usize) -> Scorer {
    let nodes = 1 + MOST_PARENTS + CANDIDATES;
    let mut random = Random::new(Seed(1));
    let states: Vec<String> = (0..arity).map(|state| state.to_string()).collect();
    let variables = (0..nodes)
        .map(|node| Variable::new(format!("v{node:02}"), states.clone()).unwrap())
        .collect();
    let columns = (0..nodes)
        .map(|_| {
            (0..rows)
                .map(|_| u8::try_from(random.below(arity)).unwrap())
                .collect()
        })
        .collect();
    let table = Table::new(Schema::new(variables).unwrap(), columns).unwrap();
    let spec = ScoreSpec::new(ScoreName::Bic, 1.0, 1.0).unwrap();
    Scorer::new(Arc::new(table), spec)
}

/// Returns local scores per second: those of the family and of each candidate.
fn rate(scorer: &Scorer, parents: usize, kernel: Kernel) -> f64 {
    let parents: Vec<NodeIdx> = (1..=parents).map(NodeIdx::new).collect();
    let candidates: Vec<NodeIdx> = (1 + MOST_PARENTS..1 + MOST_PARENTS + CANDIDATES)
        .map(NodeIdx::new)
        .collect();
    let request = Toggles {
        additions: &candidates,
        removals: &[],
        skip_hopeless: false,
        kernel,
    };
    let mut scratch = Scratch::default();
    let mut family = || {
        scorer.with_each(
            NodeIdx::new(0),
            black_box(&parents),
            request,
            &mut scratch,
            &mut |candidate, score| {
                black_box((candidate, score));
            },
        )
    };
    black_box(family());
    (0..RUNS)
        .map(|_| {
            let begun = Instant::now();
            let mut families = 0u32;
            while begun.elapsed() < LEAST {
                black_box(family());
                families += 1;
            }
            f64::from(families) * (1 + CANDIDATES) as f64 / begun.elapsed().as_secs_f64()
        })
        .fold(0.0, f64::max)
}
