//! Work on the columns of a table on several threads, one column each at a time.

use super::arrow_arrays::ArrowColumn;
use super::decoder_guard::guarded;
use super::format_error::FormatError;
use std::sync::{Mutex, PoisonError};

/// Runs `work` on the wanted columns, with their numbers. Of several errors, the one of the first
/// column is returned, whatever the threads do: columns are taken in order, and a column that was
/// taken is finished.
pub(super) fn for_each_column(
    format: &'static str,
    columns: &mut [ArrowColumn],
    threads: usize,
    work: impl Fn(usize, &mut ArrowColumn) -> Result<(), FormatError> + Sync,
) -> Result<(), FormatError> {
    let wanted = columns.iter().filter(|column| column.is_wanted()).count();
    let waiting = Mutex::new(
        columns
            .iter_mut()
            .enumerate()
            .filter(|(_, column)| column.is_wanted()),
    );
    let first_error: Mutex<Option<(usize, FormatError)>> = Mutex::new(None);
    let run = || {
        loop {
            let failed = lock(&first_error).is_some();
            let Some((index, column)) = lock(&waiting).next().filter(|_| !failed) else {
                return;
            };
            if let Err(error) = guarded(format, || work(index, column)) {
                let mut first = lock(&first_error);
                if first.as_ref().is_none_or(|(other, _)| index < *other) {
                    *first = Some((index, error));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(wanted) {
            scope.spawn(run);
        }
        run();
    });
    match first_error
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
    {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{DataType, Field};
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn columns(count: usize) -> Vec<ArrowColumn> {
        let field = |index: usize| Field::new(format!("v{index}"), DataType::Null, true);
        let wanted = |name: &str| name != "v0";
        (0..count)
            .map(|index| ArrowColumn::new(&field(index), &wanted).unwrap())
            .collect()
    }

    #[test]
    fn every_wanted_column_is_worked_on_once() {
        for threads in [0, 1, 3, 100] {
            let sum = AtomicUsize::new(0);
            for_each_column("file", &mut columns(20), threads, |index, _| {
                sum.fetch_add(index, Ordering::Relaxed);
                Ok(())
            })
            .unwrap();
            assert_eq!(sum.into_inner(), (1..20).sum::<usize>());
        }
    }

    #[test]
    fn the_error_of_the_first_column_counts_whatever_the_threads_do() {
        for _ in 0..50 {
            let done = for_each_column("file", &mut columns(20), 4, |index, _| match index {
                7 | 8 | 12 => Err(FormatError::TooManyColumns(index)),
                9 => panic!("as a decoder does"),
                _ => Ok(()),
            });
            assert!(matches!(done, Err(FormatError::TooManyColumns(7))));
        }
    }
}
