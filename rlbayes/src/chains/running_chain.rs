//! A chain at work: runs a slice, makes a report, takes an answer. It knows neither threads nor
//! clocks; who runs it hands the time in.

use rlbayes_common::elite::EliteRow;
use rlbayes_common::exchange::{
    Answer, ChainCounters, ChainOrder, ChainReport, ChainStatus, Pace, Snapshot,
};
use rlbayes_common::ids::ChainId;
use rlbayes_common::score::LogScore;
use rlbayes_common::search::{Chain, StepOutcome};
use rlbayes_common::snapshot::encode_chain;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How slices go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceSettings {
    /// Whether a chain waits for its answer.
    pub pace: Pace,
    /// How long a free-running chain may run without a report.
    pub exchange_every: Duration,
    /// How many evaluations a slice has; the step under way is finished.
    pub slice_evaluations: u64,
    /// A score at which a slice ends.
    pub target: Option<LogScore>,
}

/// How soon after a report a record may cause the next one: at most twice per second.
const LEAST_PAUSE: Duration = Duration::from_millis(500);

/// After how many evaluations a free-running slice looks whether it is late: a clock is not free.
const LOOK_EVERY: u64 = 256;

/// A chain at work.
pub struct RunningChain {
    id: ChainId,
    chain: Box<dyn Chain>,
    settings: SliceSettings,
    sequence: u64,
    /// What the chain had done when it was taken over.
    base: ChainCounters,
    most_iterations: Option<u64>,
    status: ChainStatus,
    snapshot_wanted: bool,
    last_report: Option<Duration>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Ready,
    /// Its report is out, and its answer decides.
    Waiting,
    Stopped,
}

/// The first chain finishes its first climb in one slice, if that takes no more than so many: others
/// take their turns when there is something worth having.
const CLIMB_SLICES: u64 = 32;

impl RunningChain {
    /// Takes a chain over, started or resumed, as ordered.
    #[must_use]
    pub fn new(mut chain: Box<dyn Chain>, order: &ChainOrder, settings: SliceSettings) -> Self {
        let base = counters(chain.as_ref());
        if let Some(more) = order.evaluations {
            let most = base.evaluations.saturating_add(more);
            chain.core_mut().evaluator.set_limit(most);
        }
        Self {
            id: order.chain,
            most_iterations: order
                .iterations
                .map(|more| base.iterations.saturating_add(more)),
            chain,
            settings,
            sequence: order.sequence,
            base,
            status: ChainStatus::Running,
            // The first round's state is stored too.
            snapshot_wanted: settings.pace == Pace::Lockstep,
            last_report: None,
            stage: Stage::Ready,
        }
    }

    /// Ends the step under way as soon as the flag is set: the chain is then in the middle of it.
    #[must_use]
    pub fn cut_by(mut self, halt: Arc<AtomicBool>) -> Self {
        self.chain.core_mut().evaluator.halt_by(halt);
        self
    }

    /// Returns which chain it is.
    #[must_use]
    pub fn id(&self) -> ChainId {
        self.id
    }

    /// Returns whether it can run a slice now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.stage == Stage::Ready && self.status == ChainStatus::Running
    }

    /// Returns how many local scores it has asked for, in all.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        self.chain.core().evaluator.evaluations()
    }

    /// Returns whether it has reached a local optimum once.
    #[must_use]
    pub fn has_climbed(&self) -> bool {
        self.chain.has_climbed()
    }

    /// Lets the chain finish its first climb without a limit, and returns the best that it has found.
    #[must_use]
    pub fn finish_climb(mut self) -> Option<EliteRow> {
        self.chain.core_mut().evaluator.set_limit(u64::MAX);
        while !self.chain.has_climbed() && self.chain.step() == StepOutcome::Ran {}
        self.chain.core().best().cloned()
    }

    /// Returns whether it will never run again here.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stage == Stage::Stopped
    }

    /// Steps until the slice's evaluations are made, the target or a limit is reached, a halt, or,
    /// free-running, until `is_late` says that the slice takes too long.
    pub fn run_slice(&mut self, halt: &AtomicBool, is_late: impl Fn() -> bool) {
        let chain = &mut self.chain;
        let begun = chain.core().evaluator.evaluations();
        let end = begun.saturating_add(self.settings.slice_evaluations);
        let mut next_look = begun.saturating_add(LOOK_EVERY);
        let end_of_climb = match self.id {
            ChainId(0) => begun.saturating_add(self.settings.slice_evaluations * CLIMB_SLICES),
            _ => end,
        };
        while !halt.load(Relaxed) {
            let made = chain.core().evaluator.evaluations();
            if made >= end && (chain.has_climbed() || made >= end_of_climb) {
                break;
            }
            if self.settings.pace != Pace::Lockstep
                && chain.core().evaluator.evaluations() >= next_look
            {
                next_look = chain
                    .core()
                    .evaluator
                    .evaluations()
                    .saturating_add(LOOK_EVERY);
                if is_late() {
                    break;
                }
            }
            if is_reached(chain.core().iterations, self.most_iterations) {
                self.status = ChainStatus::OutOfIterations;
                return;
            }
            match chain.step() {
                StepOutcome::Ran => {}
                StepOutcome::OutOfBudget if halt.load(Relaxed) => return,
                StepOutcome::OutOfBudget => {
                    self.status = ChainStatus::OutOfEvaluations;
                    return;
                }
                StepOutcome::Exhausted => {
                    self.status = ChainStatus::Exhausted;
                    return;
                }
            }
            if let (Some(target), Some(best)) = (self.settings.target, chain.core().best())
                && best.score >= target
            {
                return;
            }
        }
        if is_reached(chain.core().iterations, self.most_iterations) {
            self.status = ChainStatus::OutOfIterations;
        }
    }

    /// Returns whether a report should leave now.
    #[must_use]
    pub fn is_report_due(&self, now: Duration) -> bool {
        if self.stage != Stage::Ready {
            return false;
        }
        if self.settings.pace == Pace::Lockstep {
            return true;
        }
        let Some(last) = self.last_report else {
            return true;
        };
        let since = now.saturating_sub(last);
        let news = self.chain.core().has_record()
            || self.chain.wants_seeds()
            || self.status != ChainStatus::Running;
        since >= self.settings.exchange_every || (news && since >= LEAST_PAUSE)
    }

    /// Makes a report; in lockstep the chain then waits for its answer.
    pub fn report(&mut self, now: Duration) -> ChainReport {
        self.last_report = Some(now);
        if self.settings.pace == Pace::Lockstep {
            self.stage = Stage::Waiting;
        }
        let snapshot = std::mem::take(&mut self.snapshot_wanted).then(|| self.snapshot());
        let report = self.make_report(snapshot);
        self.sequence += 1;
        report
    }

    /// Makes the last report, with the chain's state.
    pub fn last_report(&mut self) -> ChainReport {
        let snapshot = Some(self.snapshot());
        self.make_report(snapshot)
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::new(encode_chain(&self.chain.save()))
    }

    fn make_report(&mut self, snapshot: Option<Snapshot>) -> ChainReport {
        let finds = self.chain.core_mut().take_finds();
        let counted = counters(self.chain.as_ref());
        ChainReport {
            chain: self.id,
            sequence: self.sequence,
            finds,
            counters: match self.settings.pace {
                Pace::Lockstep => counted,
                Pace::Free => counted.since(self.base),
            },
            wants_seeds: self.chain.wants_seeds(),
            status: self.status,
            snapshot,
        }
    }

    /// Takes back a report that could not be posted: its rows go with the next one.
    pub fn keep(&mut self, report: ChainReport) {
        self.snapshot_wanted |= report.snapshot.is_some();
        for (found, row) in report.finds {
            self.chain.core_mut().note_find(found, row);
        }
    }

    /// Has the next report tell the best row, though one did before.
    pub fn tell_best_again(&mut self) {
        self.chain.core_mut().tell_best_again();
    }

    /// Asks for the chain's state with the next report.
    pub fn want_snapshot(&mut self) {
        self.snapshot_wanted = true;
    }

    /// Takes an answer; returns whether the chain is still this worker's.
    pub fn take(&mut self, answer: Answer) -> bool {
        match answer {
            Answer::Continue { seeds, snapshot } => {
                self.snapshot_wanted |= snapshot;
                if let Some(seeds) = seeds {
                    self.chain.give_seeds(seeds);
                }
                if self.stage == Stage::Waiting {
                    self.stage = Stage::Ready;
                }
                true
            }
            Answer::Stop => {
                self.stage = Stage::Stopped;
                true
            }
            Answer::Revoke => false,
        }
    }
}

fn is_reached(iterations: u64, limit: Option<u64>) -> bool {
    limit.is_some_and(|limit| iterations >= limit)
}

fn counters(chain: &dyn Chain) -> ChainCounters {
    let core = chain.core();
    ChainCounters {
        iterations: core.iterations,
        evaluations: core.evaluator.evaluations(),
        computed: core.evaluator.computed(),
        seeds: core.seeds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlbayes_common::data::{Schema, Table, Variable};
    use rlbayes_common::exchange::Origin;
    use rlbayes_common::graph::Dag;
    use rlbayes_common::ids::Seed;
    use rlbayes_common::score::{ScoreSpec, Scorer};
    use rlbayes_common::search::{Constraints, NamedConstraints, Problem, SearchSpec};

    fn running(pace: Pace) -> RunningChain {
        let variable = |name: &str| Variable::new(name, vec!["0".into(), "1".into()]).unwrap();
        let schema = Schema::new(["a", "b", "c"].map(variable).to_vec()).unwrap();
        let columns = vec![vec![0, 1, 0, 1], vec![0, 1, 1, 1], vec![1, 1, 0, 0]];
        let table = Arc::new(Table::new(schema, columns).unwrap());
        let constraints = Constraints::new(&table, &NamedConstraints::default()).unwrap();
        let scorer = Scorer::new(table, ScoreSpec::BIC);
        let problem = Problem::new(scorer, constraints, Dag::empty(3), 1 << 20);
        let spec = SearchSpec::defaults()[0];
        let order = ChainOrder {
            chain: ChainId(0),
            sequence: 0,
            evaluations: None,
            iterations: None,
            origin: Origin::Start,
        };
        let settings = SliceSettings {
            pace,
            exchange_every: Duration::from_secs(2),
            slice_evaluations: 100_000,
            target: None,
        };
        let chain = spec.start(&Arc::new(problem), order.chain, 1, Seed(1));
        RunningChain::new(chain, &order, settings)
    }

    #[test]
    fn a_halt_ends_a_chain_in_the_middle_of_a_step_and_is_not_the_end_of_its_budget() {
        let halt = Arc::new(AtomicBool::new(false));
        let mut chain = running(Pace::Lockstep).cut_by(Arc::clone(&halt));
        chain.run_slice(&halt, || false);
        let before = chain.evaluations();
        halt.store(true, Relaxed);
        // A step that changes nothing asks for no score, and is made.
        let cut = (0..1000).any(|_| chain.chain.step() == StepOutcome::OutOfBudget);
        assert!(cut, "steps go on");
        chain.run_slice(&halt, || false);
        assert_eq!(chain.evaluations(), before);
        assert_eq!(chain.last_report().status, ChainStatus::Running);
    }

    #[test]
    fn a_free_slice_ends_when_it_is_late_and_a_lockstep_one_is_counted() {
        let halt = AtomicBool::new(false);
        for (pace, is_late, whole) in [
            (Pace::Free, true, false),
            (Pace::Free, false, true),
            (Pace::Lockstep, true, true),
        ] {
            let mut chain = running(pace);
            chain.run_slice(&halt, || is_late);
            assert_eq!(chain.evaluations() >= 100_000, whole, "{pace:?}");
        }
    }
}
