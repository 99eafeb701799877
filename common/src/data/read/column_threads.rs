//! Work on the columns of a table on several threads, one column each at a time.

use super::arrow_arrays::ArrowColumn;
use super::format_error::FormatError;
use std::sync::{Mutex, PoisonError};

/// Runs `work` on the wanted columns, with their numbers. Of several errors, the one of the first
/// column is returned, whatever the threads do: columns are taken in order, and a column that was
/// taken is finished.
pub(super) fn for_each_column(
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
            if let Err(error) = work(index, column) {
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
