//! A chain whose every step follows from its number, its steps and the seeds that it got.

use rlbayes_common::elite::{EliteRow, Found, Structure};
use rlbayes_common::exchange::{
    Answer, ChainCounters, ChainOrder, ChainReport, ChainStatus, Pace, Snapshot, Work,
};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::{ChainId, NodeIdx, Seed};
use rlbayes_common::score::LogScore;
use rlbayes_common::search::{SavedChain, Seeds};
use rlbayes_common::snapshot::encode_chain;
use rlbayes_worker::state::Begin;

pub(crate) const NODES: usize = 6;

pub(crate) struct Chain {
    id: ChainId,
    pace: Pace,
    /// A replicate reports once, and is done.
    pub(crate) is_replicate: bool,
    /// The number of its next report.
    pub(crate) sequence: u64,
    state: u64,
    /// In lockstep all that were ever made, free-running those since it was taken over.
    pub(crate) evaluations: u64,
    pub(crate) best: Option<EliteRow>,
    /// Whether its report is out or it was told to stop.
    pub(crate) waits: bool,
    wants_snapshot: bool,
    tells_best: bool,
}

impl Chain {
    pub(crate) fn begin(pace: Pace, work: Work, order: &ChainOrder, begin: Begin) -> Self {
        let mut chain = Self {
            id: order.chain,
            pace,
            is_replicate: work == Work::Replicates,
            sequence: order.sequence,
            state: Seed(9).mix(u64::from(order.chain.0)).0,
            evaluations: 0,
            best: None,
            waits: false,
            wants_snapshot: pace == Pace::Lockstep,
            tells_best: false,
        };
        match begin {
            Begin::Start(seeds) => chain.give(seeds.as_ref()),
            Begin::Resume(saved, seeds) => {
                chain.state = saved.random[0];
                if pace == Pace::Lockstep {
                    chain.evaluations = saved.evaluations;
                }
                chain.give(seeds.as_ref());
            }
        }
        chain
    }

    fn give(&mut self, seeds: Option<&Seeds>) {
        for row in seeds.iter().flat_map(|seeds| seeds.rows()) {
            let key = row.structure.own_key().0;
            let part = u64::from_le_bytes(key[..8].try_into().unwrap());
            self.state = Seed(self.state).mix(part).0;
        }
    }

    /// Runs a slice and reports.
    pub(crate) fn work(&mut self, draw: u64) -> ChainReport {
        if self.is_replicate {
            self.waits = true;
            self.evaluations = REPLICATE_EVALUATIONS;
            let report = ChainReport {
                status: ChainStatus::Exhausted,
                ..self.report(vec![(Found::Best, replicate_row(self.id))], false, None)
            };
            self.sequence += 1;
            return report;
        }
        // A lockstep chain draws from its own state alone.
        let drawn = Seed(self.state).mix(match self.pace {
            Pace::Lockstep => 0,
            Pace::Free => draw,
        });
        self.state = drawn.0;
        self.evaluations += 10 + drawn.0 % 5;
        let mut finds = vec![
            (Found::Best, row(drawn.mix(1).0)),
            (Found::Stalled, row(drawn.mix(2).0)),
        ];
        let found = finds[0].1.clone();
        if self
            .best
            .as_ref()
            .is_none_or(|best| best.score < found.score)
        {
            self.best = Some(found);
        } else if std::mem::take(&mut self.tells_best) {
            finds.extend(self.best.clone().map(|best| (Found::Best, best)));
        }
        self.waits = self.pace == Pace::Lockstep;
        let snapshot = std::mem::take(&mut self.wants_snapshot).then(|| self.snapshot());
        let wants_seeds = drawn.0.is_multiple_of(3);
        let report = self.report(finds, wants_seeds, snapshot);
        self.sequence += 1;
        report
    }

    /// Makes the last report, with the chain's state and, free-running, a row of its last steps.
    pub(crate) fn last_report(&self) -> ChainReport {
        let finds = match self.pace {
            Pace::Lockstep => Vec::new(),
            Pace::Free => vec![(Found::Best, row(Seed(self.state).mix(4).0))],
        };
        self.report(finds, false, Some(self.snapshot()))
    }

    fn report(
        &self,
        finds: Vec<(Found, EliteRow)>,
        wants_seeds: bool,
        snapshot: Option<Snapshot>,
    ) -> ChainReport {
        ChainReport {
            chain: self.id,
            sequence: self.sequence,
            finds,
            counters: ChainCounters {
                evaluations: self.evaluations,
                iterations: self.evaluations / 10,
                ..ChainCounters::default()
            },
            wants_seeds,
            status: ChainStatus::Running,
            snapshot,
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::new(encode_chain(&SavedChain {
            random: [self.state, 0, 0, 0],
            evaluations: self.evaluations,
            ..SavedChain::default()
        }))
    }

    pub(crate) fn want_snapshot(&mut self) {
        self.wants_snapshot = true;
    }

    pub(crate) fn tell_best_again(&mut self) {
        self.tells_best = true;
    }

    /// Takes an answer; returns whether the chain is still this worker's.
    pub(crate) fn take(&mut self, answer: Answer) -> bool {
        match answer {
            Answer::Continue { seeds, snapshot } => {
                self.give(seeds.as_ref());
                self.wants_snapshot |= snapshot;
                self.waits = false;
                true
            }
            Answer::Stop => {
                self.waits = true;
                true
            }
            Answer::Revoke => false,
        }
    }
}

/// Evaluations of a replicate.
const REPLICATE_EVALUATIONS: u64 = 10;

/// What a replicate finds, whoever runs it.
pub(crate) fn replicate_row(number: ChainId) -> EliteRow {
    row(Seed(5).mix(u64::from(number.0)).0)
}

/// A row that a number stands for; the score is the structure's own.
fn row(number: u64) -> EliteRow {
    let pairs = (0..NODES).flat_map(|to| (0..to).map(move |from| (from, to)));
    let edges = pairs
        .enumerate()
        .filter(|(at, _)| number >> at & 1 == 1)
        .map(|(_, (from, to))| (NodeIdx::new(from), NodeIdx::new(to)));
    let dag = Dag::from_edges(NODES, edges).unwrap();
    let drawn = Seed(number & 0x7FFF).mix(3).0 % 1_000_000;
    #[expect(clippy::cast_precision_loss, reason = "below a million")]
    let score = LogScore::new(-(drawn as f64));
    EliteRow {
        structure: Structure::of(&dag),
        score,
    }
}
