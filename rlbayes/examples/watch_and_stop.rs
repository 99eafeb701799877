//! Own progress, and a stop from another thread: `cargo run --release -p rlbayes --example watch_and_stop`

#![expect(clippy::print_stdout, reason = "an example prints what it finds")]

use rlbayes::{Search, StopHandle, Table};
use std::error::Error;
use std::thread;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let table = Table::read("data/alarm.csv")?;
    let stop = StopHandle::default();
    let timer = stop.clone();
    thread::spawn(move || {
        thread::sleep(Duration::from_secs(2));
        timer.stop();
    });
    let found = Search::on(&table)
        .stop_with(&stop)
        .on_progress(|progress| {
            if let (true, Some(score)) = (progress.improved, progress.best_score) {
                println!("{:6.2} s  {score:.3}", progress.elapsed.as_secs_f64());
            }
        })
        .run()?;
    println!("{:.3}, stopped by {}", found.score(), found.stopped_by());
    for point in found.trace() {
        println!("{:>12} local scores: {:.3}", point.evaluations, point.score);
    }
    Ok(())
}
