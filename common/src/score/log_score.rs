//! A log score: never NaN, totally ordered.

use std::cmp::Ordering;
use std::fmt;

/// A natural-log score; higher is better. Minus infinity is legal and means "impossible".
///
/// ```
/// use rlbayes_common::score::LogScore;
/// assert!(LogScore::new(-3.0) > LogScore::IMPOSSIBLE);
/// ```
///
/// A score is not a plain number and does not mix with one:
///
/// ```compile_fail
/// use rlbayes_common::score::LogScore;
/// let sum = LogScore::new(-3.0) + 1.0;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LogScore(f64);

impl LogScore {
    /// The score of what can't be.
    pub const IMPOSSIBLE: Self = Self(f64::NEG_INFINITY);

    /// Wraps a number.
    ///
    /// # Panics
    /// If `value` is NaN; see [`Self::checked`] for numbers from outside.
    #[must_use]
    pub fn new(value: f64) -> Self {
        assert!(!value.is_nan(), "a log score is never NaN");
        Self(value + 0.0) // no minus zero: equal scores have equal bits
    }

    /// Wraps a number from outside, unless it is NaN.
    #[must_use]
    pub fn checked(value: f64) -> Option<Self> {
        (!value.is_nan()).then(|| Self::new(value))
    }

    /// The least difference that counts: gains at or below it count as none.
    pub const MIN_GAIN: f64 = 1e-9;

    /// Returns whether this score is better than another by more than [`Self::MIN_GAIN`]. What is not
    /// better may still be larger: use the order to sort, and this to decide whether to change.
    #[must_use]
    #[inline]
    pub fn beats(self, other: Self) -> bool {
        self.0 > other.0 + Self::MIN_GAIN
    }

    /// Returns the number.
    #[must_use]
    #[inline]
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl PartialEq for LogScore {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for LogScore {}

impl PartialOrd for LogScore {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LogScore {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl fmt::Display for LogScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match f.precision() {
            Some(digits) => write!(f, "{:.digits$}", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}
