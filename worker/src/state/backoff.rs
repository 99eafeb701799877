//! How long to wait before the next try, as a pure function.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const MOST: Duration = Duration::from_secs(10);

/// Returns the delay before try number `attempt` (from 0): it doubles up to ten seconds, and
/// `draw` takes up to half of it away, so that workers do not come all at once.
#[must_use]
pub(super) fn delay(attempt: u32, draw: u64) -> Duration {
    let doubled = FIRST.saturating_mul(1 << attempt.min(16));
    let whole = doubled.min(MOST);
    let thousandths = u32::try_from(draw % 501).unwrap_or(0);
    whole - whole * thousandths / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_and_stay_within_their_limits() {
        for attempt in [0, 1, 5, 20, u32::MAX] {
            for draw in [0, 1, 499, 500, u64::MAX] {
                let whole = delay(attempt, 0);
                let drawn = delay(attempt, draw);
                assert!(drawn <= whole && drawn >= whole / 2 && whole <= MOST);
            }
        }
        assert_eq!(delay(0, 0), FIRST);
        assert_eq!(delay(3, 0), FIRST * 8);
        assert_eq!(delay(30, 0), MOST);
    }
}
