//! A panic inside a decoder of another crate becomes an error.
//!
//! The readers of Parquet, Arrow and Excel files take some things for granted that a damaged file
//! can break. What is cheap to check is checked before; for the rest, the panic is caught. Nothing
//! of what they were working on is used afterwards.

use super::format_error::FormatError;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread runs a decoder whose panics become errors: a panic hook that ends
/// the process has to let these pass.
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Runs a decoder; a panic means that the file is damaged.
pub(super) fn guarded<T>(
    format: &'static str,
    decode: impl FnOnce() -> Result<T, FormatError>,
) -> Result<T, FormatError> {
    let before = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(decode));
    GUARDED.set(before);
    done.unwrap_or_else(|_| Err(FormatError::damaged(format, "it cannot be decoded")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_the_guard_ends_with_it() {
        let done: Result<(), _> = guarded("file", || {
            assert!(is_guarded());
            panic!("as a decoder does")
        });
        assert_eq!(
            done.unwrap_err().to_string(),
            "cannot read the file: it cannot be decoded; the file is damaged or of an unknown kind"
        );
        assert!(!is_guarded());
        assert_eq!(guarded("file", || Ok(1)).unwrap(), 1);
    }
}
