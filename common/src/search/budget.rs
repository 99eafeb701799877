//! When a search is over. Time is handed in; nothing here reads a clock.

use crate::score::LogScore;
use std::fmt;
use std::time::Duration;

/// Limits of a search; whichever is reached first ends it, and without any it runs until somebody
/// stops it: see [`Budget::or_default`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Time spent searching.
    pub time: Option<Duration>,
    /// Processor time spent searching, over all threads of the process.
    pub cpu_time: Option<Duration>,
    /// Steps over all chains.
    pub iterations: Option<u64>,
    /// Local scores asked for over all chains.
    pub evaluations: Option<u64>,
    /// A score that is good enough.
    pub target: Option<LogScore>,
    /// How long the best may stay the same.
    pub stagnation: Option<Stagnation>,
}

/// How long the best may stay the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stagnation {
    /// A time.
    Time(Duration),
    /// A number of evaluations over all chains.
    Evaluations(u64),
    /// For ever: a search without another limit runs until somebody stops it.
    Never,
    /// The time that it took to find the best, at least [`Stagnation::LEAST`].
    AsLongAsItTook,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    /// The time was up.
    Time,
    /// The iterations were used up.
    Iterations,
    /// The evaluations were used up.
    Evaluations,
    /// The target was reached.
    Target,
    /// The best had not improved for long.
    Stagnation,
    /// Somebody asked for it.
    Stop,
    /// A signal came.
    Interrupt,
    /// There was nothing left to try.
    Exhausted,
    /// It was proven that no network scores higher.
    Proven,
    /// The processor time was used up.
    CpuTime,
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Time spent searching.
    pub time: Duration,
    /// Processor time spent searching, as far as it was told.
    pub cpu_time: Option<Duration>,
    /// Steps over all chains.
    pub iterations: u64,
    /// Evaluations over all chains.
    pub evaluations: u64,
    /// The best score, when it was found, and after how many evaluations.
    pub best: Option<(LogScore, Duration, u64)>,
}

impl Stagnation {
    /// The least time that the best must have stayed the same where the limit is the time that it
    /// took to find it.
    pub const LEAST: Duration = Duration::from_secs(10);
}

impl Budget {
    /// Returns the budget of a person who gives these limits: without any, a search stops when the
    /// best has not improved for as long as it took to find it. Called where a search is asked for,
    /// nowhere else.
    #[must_use]
    pub fn or_default(self) -> Self {
        if self != Self::default() {
            return self;
        }
        Self {
            stagnation: Some(Stagnation::AsLongAsItTook),
            ..self
        }
    }

    /// Returns whether time alone may end the search, so that its end differs from run to run.
    #[must_use]
    pub fn ends_by_time(&self) -> bool {
        let by_stagnation = matches!(
            self.stagnation,
            Some(Stagnation::Time(_) | Stagnation::AsLongAsItTook)
        );
        let is_counted = self.iterations.is_some() || self.evaluations.is_some();
        (self.time.is_some() || self.cpu_time.is_some() || by_stagnation) && !is_counted
    }

    /// Returns whether nothing but a target ends the search: one out of reach would never end it.
    #[must_use]
    pub fn ends_by_target_alone(&self) -> bool {
        let target_alone = Self {
            target: self.target,
            ..Self::default()
        };
        self.target.is_some() && *self == target_alone
    }

    /// Returns why the search is over, if it is.
    #[must_use]
    pub fn reached(&self, spent: &Spent) -> Option<StoppedBy> {
        let best = spent.best;
        if let (Some(target), Some((score, _, _))) = (self.target, best)
            && score >= target
        {
            return Some(StoppedBy::Target);
        }
        if self
            .iterations
            .is_some_and(|limit| spent.iterations >= limit)
        {
            return Some(StoppedBy::Iterations);
        }
        if self
            .evaluations
            .is_some_and(|limit| spent.evaluations >= limit)
        {
            return Some(StoppedBy::Evaluations);
        }
        if self.time.is_some_and(|limit| spent.time >= limit) {
            return Some(StoppedBy::Time);
        }
        if let (Some(limit), Some(cpu_time)) = (self.cpu_time, spent.cpu_time)
            && cpu_time >= limit
        {
            return Some(StoppedBy::CpuTime);
        }
        let (_, found_at, found_after) = best?;
        let since = spent.time.saturating_sub(found_at);
        let stagnated = match self.stagnation? {
            Stagnation::Never => false,
            Stagnation::Time(limit) => since >= limit,
            Stagnation::Evaluations(limit) => {
                spent.evaluations.saturating_sub(found_after) >= limit
            }
            Stagnation::AsLongAsItTook => since >= Stagnation::LEAST.max(found_at),
        };
        stagnated.then_some(StoppedBy::Stagnation)
    }

    /// Returns how many evaluations are left, where they are limited.
    #[must_use]
    pub fn evaluations_left(&self, spent: &Spent) -> Option<u64> {
        let limit = self.evaluations?;
        Some(limit.saturating_sub(spent.evaluations))
    }

    /// Returns how many iterations are left, where they are limited.
    #[must_use]
    pub fn iterations_left(&self, spent: &Spent) -> Option<u64> {
        let limit = self.iterations?;
        Some(limit.saturating_sub(spent.iterations))
    }

    /// Returns how long the search may still take at most, as far as that is known.
    #[must_use]
    pub fn time_left(&self, spent: &Spent) -> Option<Duration> {
        let by_time = self.time.map(|limit| limit.saturating_sub(spent.time));
        let by_stagnation = spent.best.and_then(|(_, found_at, _)| {
            let since = spent.time.saturating_sub(found_at);
            match self.stagnation? {
                Stagnation::Time(limit) => Some(limit.saturating_sub(since)),
                Stagnation::AsLongAsItTook => {
                    Some(Stagnation::LEAST.max(found_at).saturating_sub(since))
                }
                Stagnation::Evaluations(_) | Stagnation::Never => None,
            }
        });
        by_time.into_iter().chain(by_stagnation).min()
    }
}

impl StoppedBy {
    /// All reasons. Journals hold their positions: new ones go to the end.
    pub const ALL: [Self; 10] = [
        Self::Time,
        Self::Iterations,
        Self::Evaluations,
        Self::Target,
        Self::Stagnation,
        Self::Stop,
        Self::Interrupt,
        Self::Exhausted,
        Self::Proven,
        Self::CpuTime,
    ];

    /// Returns the reason of a name, as JSON spells it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == name)
    }

    /// Returns the reason as JSON spells it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Iterations => "iterations",
            Self::Evaluations => "evaluations",
            Self::Target => "target",
            Self::Stagnation => "stagnation",
            Self::Stop => "stop",
            Self::Interrupt => "interrupt",
            Self::Exhausted => "exhausted",
            Self::Proven => "proven",
            Self::CpuTime => "cpu-time",
        }
    }
}

impl StoppedBy {
    /// Returns the reason for people.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Time => "stopped by time",
            Self::Iterations => "stopped by iterations",
            Self::Evaluations => "stopped by evaluations",
            Self::Target => "stopped by target",
            Self::Stagnation => "stopped by stagnation",
            Self::Stop => "stopped by a user",
            Self::Interrupt => "interrupted",
            Self::Exhausted => "no better neighbour was left",
            Self::Proven => "proven that none scores higher",
            Self::CpuTime => "stopped by processor time",
        }
    }
}

impl fmt::Display for StoppedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(seconds: u64, found_at: u64) -> Spent {
        let best = Some((LogScore::new(-10.0), Duration::from_secs(found_at), 50));
        Spent {
            time: Duration::from_secs(seconds),
            cpu_time: Some(Duration::from_secs(2 * seconds)),
            iterations: 7,
            evaluations: 90,
            best,
        }
    }

    #[test]
    fn each_limit_ends_the_search_when_it_is_reached() {
        let free = Budget {
            time: Some(Duration::from_secs(1000)),
            ..Budget::default()
        };
        assert_eq!(free.reached(&spent(999, 0)), None);
        assert_eq!(free.reached(&spent(1000, 0)), Some(StoppedBy::Time));
        let cases = [
            (
                Budget {
                    iterations: Some(7),
                    ..free
                },
                StoppedBy::Iterations,
            ),
            (
                Budget {
                    cpu_time: Some(Duration::from_secs(2)),
                    ..free
                },
                StoppedBy::CpuTime,
            ),
            (
                Budget {
                    evaluations: Some(90),
                    ..free
                },
                StoppedBy::Evaluations,
            ),
            (
                Budget {
                    target: Some(LogScore::new(-10.0)),
                    ..free
                },
                StoppedBy::Target,
            ),
            (
                Budget {
                    stagnation: Some(Stagnation::Evaluations(40)),
                    ..free
                },
                StoppedBy::Stagnation,
            ),
        ];
        for (budget, reason) in cases {
            assert_eq!(budget.reached(&spent(1, 0)), Some(reason));
        }
    }

    #[test]
    fn a_best_that_is_ahead_of_the_count_is_not_stagnation() {
        let budget = Budget {
            stagnation: Some(Stagnation::Evaluations(40)),
            ..Budget::default()
        };
        let ahead = Spent {
            best: Some((LogScore::new(-10.0), Duration::ZERO, 91)),
            ..spent(1, 0)
        };
        assert_eq!(budget.reached(&ahead), None);
    }

    #[test]
    fn without_a_budget_the_search_waits_as_long_as_the_best_took() {
        let open = Budget::default().or_default();
        assert_eq!(open.reached(&spent(9, 0)), None);
        assert_eq!(open.reached(&spent(10, 0)), Some(StoppedBy::Stagnation));
        assert_eq!(open.reached(&spent(59, 30)), None);
        assert_eq!(open.reached(&spent(60, 30)), Some(StoppedBy::Stagnation));
    }

    #[test]
    fn a_limit_of_ones_own_keeps_the_default_away_and_none_at_all_is_endless() {
        let limited = Budget {
            iterations: Some(8),
            ..Budget::default()
        };
        assert_eq!(limited.or_default(), limited);
        assert_eq!(Budget::default().reached(&spent(1 << 40, 0)), None);
        assert_eq!(Budget::default().time_left(&spent(1, 0)), None);
    }
}
