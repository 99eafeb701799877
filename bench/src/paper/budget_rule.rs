//! How much each search may do: as much as the printed walk did, a number of local scores, or time.

use rlbayes::units::parse_time;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The rule that makes budgets equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BudgetRule {
    /// The printed walk makes this many iterations; each other search may ask for as many local
    /// scores as the walk did with the same seed on the same table.
    Walk(u64),
    /// Everybody may ask for this many local scores.
    Evaluations(u64),
    /// Everybody has this much processor time.
    Time(Duration),
}

/// What one run may do; what is none does not end it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    /// Steps.
    pub(super) iterations: Option<u64>,
    /// Local scores asked for.
    pub(super) evaluations: Option<u64>,
    /// Time.
    pub(super) time: Option<Duration>,
}

impl FromStr for BudgetRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "\"{text}\" is not a budget (expected for example walk:500000, \
                 evaluations:200000 or time:10s)"
            )
        };
        let (kind, amount) = text.split_once(':').ok_or_else(bad)?;
        let count = || match amount.parse() {
            Ok(count) if count > 0 => Ok(count),
            _ => Err(bad()),
        };
        match kind {
            "walk" => count().map(Self::Walk),
            "evaluations" => count().map(Self::Evaluations),
            "time" => match parse_time(amount) {
                Ok(time) if !time.is_zero() => Ok(Self::Time(time)),
                _ => Err(bad()),
            },
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for BudgetRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Walk(iterations) => write!(f, "walk:{iterations}"),
            Self::Evaluations(count) => write!(f, "evaluations:{count}"),
            Self::Time(time) => write!(f, "time:{}ms", time.as_millis()),
        }
    }
}

impl BudgetRule {
    /// Says what the rule means.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Walk(iterations) => format!(
                "the printed walk makes {iterations} iterations; each other search may ask for as \
                 many local scores as the walk did with the same seed on the same table"
            ),
            Self::Evaluations(count) => {
                format!("each search may ask for {count} local scores, cached or not")
            }
            Self::Time(time) => {
                format!("each search has {:.1} s of a processor", time.as_secs_f64())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_written_alike() {
        for text in ["walk:500000", "evaluations:2000", "time:1500ms"] {
            assert_eq!(text.parse::<BudgetRule>().unwrap().to_string(), text);
        }
        let ten = BudgetRule::Time(Duration::from_secs(10));
        assert_eq!("time:10s".parse(), Ok(ten));
        for bad in ["", "walk", "walk:0", "evaluations:-1", "time:0s", "steps:5"] {
            assert!(bad.parse::<BudgetRule>().is_err(), "{bad}");
        }
    }
}
