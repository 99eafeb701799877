//! A recorded history of a search, as Jepsen keeps one: whatever anybody asked of a coordinator, and
//! what came of it, in the order in which questions were asked and answers came. [`check`] then
//! proves that nothing which was acknowledged or shown was ever taken back.
//!
//! The simulation and the tests with real processes record; the laws know neither.

mod figures;
mod laws;
#[cfg(test)]
mod tests;

pub use figures::Figures;
pub use laws::{Budgets, check};

use rlbayes_common::elite::{EliteRow, Found, Pool};
use rlbayes_common::exchange::{Answer, ChainCounters, ChainReport, Exchange, Pace, RunSequence};
use rlbayes_common::graph::StructureKey;
use rlbayes_common::ids::ChainId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A history under way; clones record the same one, from any thread.
#[derive(Clone, Debug, Default)]
pub struct History(Arc<Mutex<Recorded>>);

#[derive(Debug, Default)]
struct Recorded {
    operations: Vec<Operation>,
    /// How many questions and answers there were.
    moments: u64,
}

/// A question, and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    by: String,
    begun: u64,
    /// When the answer came, and what it was; none: nobody knows whether it was done.
    ended: Option<(u64, Outcome)>,
    /// What was sent, whether it was acknowledged or not.
    sent: Vec<Work>,
}

/// What came of a question.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Work was acknowledged.
    Acknowledged(Vec<Work>),
    /// The end of the search was acknowledged to whoever asked for it.
    Stopped,
    /// Figures were shown: by a status, a result, metrics, a page.
    Shown(Box<Figures>),
    /// What a coordinator holds, after a restart or at the end.
    Held(Box<Held>),
    /// It was refused, or it has no content.
    Nothing,
}

/// What a coordinator holds.
#[derive(Clone, Debug)]
pub struct Held {
    /// What it would show.
    pub figures: Figures,
    /// Its rows.
    pub pool: Pool,
    /// Its replicates.
    pub replicates: BTreeMap<u32, StructureKey>,
}

/// A report of work.
#[derive(Clone, Debug)]
pub struct Work {
    /// Who did it: its counters are a maximum of these.
    pub run: Run,
    /// What it has done so far; none: only the rows were taken.
    pub counters: Option<ChainCounters>,
    /// What it found.
    pub finds: Vec<(Found, EliteRow)>,
}

/// Whose work is counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Run {
    /// A chain in a worker process.
    OfProcess(ChainId, u64),
    /// A lockstep chain, whoever runs it.
    OfChain(ChainId),
    /// A replicate.
    Replicate(u32),
}

impl Run {
    /// Returns the search's chain, if it is one.
    fn chain(self) -> Option<ChainId> {
        match self {
            Self::OfProcess(chain, _) | Self::OfChain(chain) => Some(chain),
            Self::Replicate(_) => None,
        }
    }
}

impl Work {
    /// Returns the work that an exchange reports. `is_replicate` says what its chains are.
    #[must_use]
    pub fn of(exchange: &Exchange, pace: Pace, is_replicate: bool) -> Vec<Self> {
        let work = |report: &ChainReport| Self {
            run: match pace {
                _ if is_replicate => Run::Replicate(report.chain.0),
                Pace::Lockstep => Run::OfChain(report.chain),
                Pace::Free => {
                    let run = RunSequence::of(report.sequence).counted_as(exchange.incarnation);
                    Run::OfProcess(report.chain, run.0)
                }
            },
            counters: Some(match (pace, is_replicate) {
                (Pace::Free, false) => report.counters,
                // Two workers may have done this, and one of them counts: what they computed depends
                // on their caches.
                _ => ChainCounters {
                    computed: 0,
                    ..report.counters
                },
            }),
            finds: report.finds.clone(),
        };
        exchange.reports.iter().map(work).collect()
    }

    /// Returns the number of the chain or replicate.
    #[must_use]
    pub fn number(&self) -> ChainId {
        match self.run {
            Run::OfProcess(chain, _) | Run::OfChain(chain) => chain,
            Run::Replicate(number) => ChainId(number),
        }
    }

    /// Returns what of it an answer acknowledges: all, its rows, or nothing. A chain that is taken
    /// away may belong to another worker by now, and so may its counters; in lockstep the round is
    /// run again.
    #[must_use]
    pub fn acknowledged_by(mut self, answer: Option<&Answer>, pace: Pace) -> Option<Self> {
        match (answer, pace) {
            (Some(Answer::Continue { .. } | Answer::Stop), _) => {}
            (_, Pace::Lockstep) => return None,
            (Some(Answer::Revoke) | None, Pace::Free) => self.counters = None,
        }
        Some(self)
    }
}

/// A question whose answer has not come yet. One that is dropped stays without an answer.
#[derive(Debug)]
pub struct Asked {
    history: History,
    at: usize,
}

impl Asked {
    /// Records the answer.
    pub fn answered(self, outcome: Outcome) {
        self.history.with(|recorded| {
            recorded.moments += 1;
            let ended = (recorded.moments, outcome);
            recorded.operations[self.at].ended = Some(ended);
        });
    }
}

impl History {
    /// Records that somebody asks something.
    #[must_use]
    pub fn ask(&self, by: impl Into<String>) -> Asked {
        self.send(by, Vec::new())
    }

    /// Records that somebody reports work.
    #[must_use]
    pub fn send(&self, by: impl Into<String>, sent: Vec<Work>) -> Asked {
        let at = self.with(|recorded| {
            recorded.moments += 1;
            let begun = recorded.moments;
            recorded.operations.push(Operation {
                by: by.into(),
                begun,
                ended: None,
                sent,
            });
            recorded.operations.len() - 1
        });
        Asked {
            history: self.clone(),
            at,
        }
    }

    /// Records what is seen at once.
    pub fn note(&self, by: impl Into<String>, outcome: Outcome) {
        self.ask(by).answered(outcome);
    }

    /// Returns how many questions were asked, and how many were answered.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        self.with(|recorded| {
            let all = &recorded.operations;
            let answered = all.iter().filter(|asked| asked.ended.is_some()).count();
            (all.len(), answered)
        })
    }

    /// Forgets everything: from here on less may be shown, as after the loss of a disk.
    pub fn forget(&self) {
        self.with(|recorded| recorded.operations.clear());
    }

    pub(crate) fn operations(&self) -> Vec<Operation> {
        self.with(|recorded| recorded.operations.clone())
    }

    fn with<T>(&self, change: impl FnOnce(&mut Recorded) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
