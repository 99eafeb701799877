//! The laws of a history, and the checker: goes through questions and answers in their order, keeps
//! what is certain by then, and compares every answer with what was certain when it was asked for.

use super::figures::{
    BEST, COUNTERS, ELAPSED, EVALUATIONS, Figures, NAMES, REPLICATES, STOPPED, of_counters,
};
use super::{Held, History, Operation, Outcome, Run, Work};
use crate::acknowledged_rows::AcknowledgedRows;
use rlbayes_common::elite::{EliteRow, Found, Keying, Pool};
use rlbayes_common::exchange::ChainCounters;
use rlbayes_common::graph::StructureKey;
use std::collections::BTreeMap;
use std::time::Duration;

/// How much time a search may show beyond its limit before it shows its end: a turn of the event
/// loop on a busy machine.
const LATE_END: f64 = 0.5;
/// How many reports of a run may be on their way when the evaluations are used up: the one that is
/// being answered, and the last.
const ON_THEIR_WAY: usize = 2;

/// The limits of a search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budgets {
    /// Evaluations of all chains.
    pub evaluations: Option<u64>,
    /// Time spent searching.
    pub time: Option<Duration>,
}

/// Returns what a history has taken back, each with a sentence; none if it keeps all laws:
///
/// - figures that are shown are at least those that were shown, and those that follow from work
///   that was acknowledged, before the question was asked; this holds for a status, a result, metrics
///   and for what a coordinator has after a restart;
/// - a row that was acknowledged is in the pool, over all chains and in the list of its chain, unless
///   that is full of better ones;
/// - a replicate that was acknowledged is the one that is held;
/// - who stopped a search never sees it run again;
/// - budgets are kept: who sees no end sees some of the budget left, and the work that was ever
///   acknowledged exceeds it by no more than what was on its way.
#[must_use]
pub fn check(history: &History, budgets: Budgets) -> Vec<String> {
    let operations = history.operations();
    let mut moments: Vec<(u64, usize, bool)> = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        moments.push((operation.begun, at, false));
        if let Some((ended, _)) = operation.ended {
            moments.push((ended, at, true));
        }
    }
    moments.sort_unstable();
    let mut certain = Certain::new();
    let mut at_the_question: BTreeMap<usize, Floor> = BTreeMap::new();
    let mut broken = Vec::new();
    for (_, at, is_answer) in moments {
        let operation = &operations[at];
        if !is_answer {
            at_the_question.insert(at, certain.floor);
            continue;
        }
        let Some((_, outcome)) = &operation.ended else {
            continue;
        };
        let floor = at_the_question.remove(&at).unwrap_or_default();
        match outcome {
            Outcome::Acknowledged(work) => certain.acknowledge(at, work),
            Outcome::Stopped => certain.floor.raise(STOPPED, 1.0, at),
            Outcome::Shown(figures) => {
                compare(&operations, operation, figures, floor, &mut broken);
                keeps_budgets(operation, figures, budgets, &mut broken);
                certain.show(at, figures);
            }
            Outcome::Held(held) => {
                // It is seen at once: what was certain when it was asked for is certain now.
                compare(&operations, operation, &held.figures, floor, &mut broken);
                certain.holds(operation, held, &mut broken);
                certain.show(at, &held.figures);
            }
            Outcome::Nothing => {}
        }
    }
    if let Some(budget) = budgets.evaluations {
        overspent(&operations, budget, &mut broken);
    }
    broken
}

/// The least that each figure may show, and who made that certain.
#[derive(Clone, Copy, Debug)]
struct Floor([(f64, Option<usize>); NAMES.len()]);

impl Default for Floor {
    fn default() -> Self {
        Self([(f64::NEG_INFINITY, None); NAMES.len()])
    }
}

impl Floor {
    fn raise(&mut self, place: usize, to: f64, by: usize) {
        if to > self.0[place].0 {
            self.0[place] = (to, Some(by));
        }
    }
}

/// What is certain at a moment.
struct Certain {
    floor: Floor,
    /// The work of each run that was acknowledged, and the sum.
    runs: BTreeMap<Run, ChainCounters>,
    sum: ChainCounters,
    /// All rows that were acknowledged, those of chains as the pool keeps them, and replicates.
    rows: AcknowledgedRows,
    of_chains: Pool,
    replicates: BTreeMap<u32, StructureKey>,
}

impl Certain {
    fn new() -> Self {
        Self {
            floor: Floor::default(),
            runs: BTreeMap::new(),
            sum: ChainCounters::default(),
            rows: AcknowledgedRows::default(),
            of_chains: Pool::new(Keying::ByClass),
            replicates: BTreeMap::new(),
        }
    }

    fn show(&mut self, at: usize, figures: &Figures) {
        for (place, figure) in figures.0.iter().enumerate() {
            if let Some(figure) = figure {
                self.floor.raise(place, *figure, at);
            }
        }
    }

    fn acknowledge(&mut self, at: usize, work: &[Work]) {
        for work in work {
            if let Some(counters) = work.counters {
                let known = self.runs.entry(work.run).or_default();
                let added = match work.run {
                    // Who brings a replicate first has it counted; a second one may have asked for
                    // other scores.
                    Run::Replicate(_) if *known != ChainCounters::default() => {
                        ChainCounters::default()
                    }
                    _ => counters.since(*known),
                };
                *known = known.max(counters);
                self.sum = self.sum.plus(added);
            }
            for (found, row) in &work.finds {
                match work.run {
                    Run::Replicate(number) => {
                        self.replicates.insert(number, row.structure.own_key());
                    }
                    _ => {
                        self.rows.add(row);
                        self.floor.raise(BEST, row.score.value(), at);
                    }
                }
                if let (Some(chain), Some(_)) = (work.run.chain(), work.counters) {
                    self.of_chains.merge(chain, *found, row);
                }
            }
        }
        for (place, sum) in COUNTERS.zip(of_counters(self.sum)) {
            self.floor.raise(place, sum, at);
        }
        #[expect(clippy::cast_precision_loss, reason = "there are few")]
        let replicates = self.replicates.len() as f64;
        self.floor.raise(REPLICATES, replicates, at);
    }

    /// Compares what a coordinator holds with what it must.
    fn holds(&self, operation: &Operation, held: &Held, broken: &mut Vec<String>) {
        let by = &operation.by;
        let missing = self.rows.missing_from(&held.pool);
        if let Some(row) = missing.first() {
            let (many, score) = (missing.len(), row.score);
            broken.push(format!(
                "{by}: {many} acknowledged rows are missing, the first has {score}"
            ));
        }
        for (chain, found, row) in self.of_chains.rows_by_chain() {
            let kept = held.pool.rows_by_chain();
            let kept: Vec<&EliteRow> = kept
                .filter(|(of, why, _)| (*of, *why) == (chain, found))
                .map(|(_, _, row)| row)
                .collect();
            if !is_kept(row, found, &kept) {
                let score = row.score;
                broken.push(format!(
                    "{by}: chain {chain} has lost an acknowledged row ({found:?}, {score})"
                ));
            }
        }
        for (number, network) in &self.replicates {
            if held.replicates.get(number) != Some(network) {
                broken.push(format!("{by}: replicate {number} is missing or another"));
            }
        }
    }
}

/// Returns whether a chain's list has a row, or is full of better ones.
fn is_kept(row: &EliteRow, found: Found, kept: &[&EliteRow]) -> bool {
    let limit = match found {
        Found::Best => 1,
        Found::Stalled => Pool::STALLED,
    };
    let key = row.structure.class_key();
    kept.iter().any(|it| it.structure.class_key() == key)
        || (kept.len() >= limit && kept.iter().all(|it| it.score >= row.score))
}

fn compare(
    operations: &[Operation],
    operation: &Operation,
    figures: &Figures,
    floor: Floor,
    broken: &mut Vec<String>,
) {
    for (place, figure) in figures.0.iter().enumerate() {
        let (least, by) = floor.0[place];
        if let (Some(figure), Some(by)) = (figure, by)
            && *figure < least
        {
            let (who, name, before) = (&operation.by, NAMES[place], &operations[by].by);
            broken.push(format!(
                "{who} (at {}): {name} {figure} after {least} was certain by {before} (at {})",
                operation.begun, operations[by].begun
            ));
        }
    }
}

/// Who sees no end sees some of the budget left.
fn keeps_budgets(
    operation: &Operation,
    figures: &Figures,
    budgets: Budgets,
    broken: &mut Vec<String>,
) {
    if figures.0[STOPPED] != Some(0.0) {
        return;
    }
    #[expect(clippy::cast_precision_loss, reason = "budgets stay below 2^53")]
    let limits = [
        (EVALUATIONS, budgets.evaluations.map(|limit| limit as f64)),
        (
            ELAPSED,
            budgets.time.map(|limit| limit.as_secs_f64() + LATE_END),
        ),
    ];
    for (place, limit) in limits {
        if let (Some(figure), Some(limit)) = (figures.0[place], limit)
            && figure > limit
        {
            let (who, name) = (&operation.by, NAMES[place]);
            broken.push(format!(
                "{who}: the search continues with {name} {figure}, the limit is {limit}"
            ));
        }
    }
}

/// The work that was acknowledged exceeds its limit by no more than what was on its way when it was
/// reached: of each run the last reports.
fn overspent(operations: &[Operation], budget: u64, broken: &mut Vec<String>) {
    let mut sent: BTreeMap<Run, Vec<u64>> = BTreeMap::new();
    let mut done: BTreeMap<Run, u64> = BTreeMap::new();
    for operation in operations {
        for work in &operation.sent {
            let evaluations = work.counters.map_or(0, |counters| counters.evaluations);
            sent.entry(work.run).or_default().push(evaluations);
        }
        if let Some((_, Outcome::Acknowledged(work))) = &operation.ended {
            for work in work {
                let evaluations = work.counters.map_or(0, |counters| counters.evaluations);
                let known = done.entry(work.run).or_default();
                *known = evaluations.max(*known);
            }
        }
    }
    sent.retain(|run, _| run.chain().is_some());
    done.retain(|run, _| run.chain().is_some());
    let spent: u64 = done.values().sum();
    let on_their_way: u64 = sent.into_values().map(last_reports).sum();
    if spent > budget.saturating_add(on_their_way) {
        broken.push(format!(
            "{spent} evaluations were acknowledged, the limit is {budget}, and {on_their_way} can \
             have been on their way"
        ));
    }
}

/// Returns what the last reports of a run have brought.
fn last_reports(mut counted: Vec<u64>) -> u64 {
    counted.push(0);
    counted.sort_unstable();
    counted.dedup();
    let last = counted.last().copied().unwrap_or(0);
    let before = counted.iter().rev().nth(ON_THEIR_WAY).copied();
    last - before.unwrap_or(0)
}
