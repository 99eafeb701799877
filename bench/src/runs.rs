//! Many runs over a few threads, each the same whatever the threads.

use crate::failure::Failure;
use crate::learn::LearnArgs;
use clap::{Args, FromArgMatches};
use indicatif::ProgressBar;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Runs each item and returns the results in the items' order; what Ctrl-C left out is none.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    threads: u32,
    interrupt: &AtomicBool,
    bar: &ProgressBar,
    run: impl Fn(&T) -> Option<R> + Sync,
) -> Vec<Option<R>> {
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((item, place)) = {
            let at = next.fetch_add(1, Relaxed);
            items.get(at).zip(results.get(at))
        } {
            if interrupt.load(Relaxed) {
                return;
            }
            let result = run(item);
            if let Ok(mut place) = place.lock() {
                *place = result;
            }
            bar.inc(1);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    results
        .into_iter()
        .map(|result| result.into_inner().unwrap_or_default())
        .collect()
}

/// Reads a number of chains.
pub(crate) fn at_least_one() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

/// Returns what `rlbayes learn FILE FLAGS` would take for its arguments, its defaults included.
pub(crate) fn learn_args(file: &Path, flags: &[&str]) -> Result<LearnArgs, Failure> {
    let words = ["learn".into(), file.as_os_str().to_owned()]
        .into_iter()
        .chain(flags.iter().map(|&flag| flag.into()));
    let command = LearnArgs::augment_args(clap::Command::new("learn"));
    command
        .try_get_matches_from(words)
        .and_then(|matches| LearnArgs::from_arg_matches(&matches))
        .map_err(|error| Failure::Bug(format!("flags of learn: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<u64> = (0..50).collect();
        let bar = ProgressBar::hidden();
        let never = AtomicBool::new(false);
        let squares = in_parallel(&items, 4, &never, &bar, |&item| Some(item * item));
        assert!(
            squares
                .iter()
                .enumerate()
                .all(|(at, &square)| square == Some((at * at) as u64))
        );
        never.store(true, Relaxed);
        let none = in_parallel(&items, 2, &never, &bar, |&item| Some(item));
        assert!(none.iter().all(Option::is_none));
    }

    #[test]
    fn a_benchmark_has_the_defaults_of_learn() {
        let args = learn_args(Path::new("a.csv"), &["--seed", "3", "--threads", "1"]).unwrap();
        assert_eq!(args.search.seed, 3);
        assert_eq!(args.resources.threads, Some(1));
        assert_eq!(args.resources.chains, None);
        assert!(learn_args(Path::new("a.csv"), &["--nonsense"]).is_err());
    }
}
