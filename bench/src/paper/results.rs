//! All runs together, and the questions that tables and pictures ask about them.

use super::contender::Contender;
use super::dataset::Dataset;
use super::printed::{self, Printed};
use super::ranks::{Direction, Ranking, rank};
use super::trial::{Milestone, Trial, TrialKey};
use crate::statistics::{mean, median, quantile, spread};
use std::collections::BTreeMap;

/// What was run, on what, and what it gave.
#[derive(Debug)]
pub(super) struct Results {
    /// The tables, in the order of the columns of a report.
    pub(super) datasets: Vec<Dataset>,
    /// The searches, in the order of the rows of a report.
    pub(super) searches: Vec<Contender>,
    /// How many runs were wanted.
    pub(super) wanted: usize,
    /// The runs, those for the figure on parameters included.
    pub(super) trials: BTreeMap<TrialKey, Trial>,
}

/// Something that a run is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// F1 of directed edges: the paper's Table 2.
    F1,
    /// (TPR + TNR) / 2 of directed edges: the paper's Table 3.
    Auc,
    /// The score.
    Score,
    /// Nats below the best network known.
    Gap,
    /// Distance between the equivalence classes.
    Shd,
    /// F1 of edges without direction.
    SkeletonF1,
    /// Edges found.
    Edges,
    /// Local scores asked for.
    Evaluations,
    /// Time.
    Seconds,
}

/// The best network known of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reference {
    /// Its score.
    pub(super) score: f64,
    /// Whether no network scores higher.
    pub(super) proven: bool,
}

/// A mean and a standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Summary {
    /// The mean.
    pub(super) mean: f64,
    /// The standard deviation of the sample; 0 of a single value.
    pub(super) spread: f64,
}

/// The middle of several runs at one point of their trajectories.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Band {
    /// The place: evaluations or iterations.
    pub(super) at: f64,
    /// First quartile, median, third quartile.
    pub(super) quartiles: [f64; 3],
}

impl Measure {
    /// Returns which values are the good ones.
    pub(super) fn direction(self) -> Direction {
        match self {
            Self::F1 | Self::Auc | Self::Score | Self::SkeletonF1 => Direction::HigherIsBetter,
            Self::Gap | Self::Shd | Self::Edges | Self::Evaluations | Self::Seconds => {
                Direction::LowerIsBetter
            }
        }
    }
}

impl Results {
    /// Returns the best network known of a table: the proven optimum, else the best of all runs.
    pub(super) fn reference(&self, network: &str) -> Option<Reference> {
        let dataset = self.datasets.iter().find(|it| it.network == network)?;
        let best = self
            .trials
            .values()
            .filter(|trial| trial.key.network == network)
            .map(|trial| trial.score)
            .max_by(f64::total_cmp);
        match dataset.optimum {
            Some(score) => Some(Reference {
                score,
                proven: true,
            }),
            None => best.map(|score| Reference {
                score,
                proven: false,
            }),
        }
    }

    /// Returns the runs of a search on a network, by seed.
    pub(super) fn of<'a>(
        &'a self,
        search: Contender,
        network: &'a str,
    ) -> impl Iterator<Item = &'a Trial> {
        self.trials
            .values()
            .filter(move |trial| trial.key.search == search && trial.key.network == network)
    }

    /// Returns what a measure says about each run of a search on a network.
    pub(super) fn values(&self, measure: Measure, search: Contender, network: &str) -> Vec<f64> {
        let best = self.reference(network).map_or(f64::NAN, |it| it.score);
        self.of(search, network)
            .map(|trial| match measure {
                Measure::F1 => trial.metrics.f1_directed,
                Measure::Auc => trial.metrics.auc,
                Measure::Score => trial.score,
                // An optimum is known to three digits: what lies above it lies at it.
                Measure::Gap => (best - trial.score).max(0.0),
                Measure::Shd => trial.metrics.shd_cpdag as f64,
                Measure::SkeletonF1 => trial.metrics.f1_skeleton,
                Measure::Edges => trial.edges as f64,
                Measure::Evaluations => trial.evaluations as f64,
                Measure::Seconds => trial.seconds,
            })
            .collect()
    }

    /// Returns mean and spread of a measure; none where nothing ran.
    pub(super) fn summary(
        &self,
        measure: Measure,
        search: Contender,
        network: &str,
    ) -> Option<Summary> {
        let values = self.values(measure, search, network);
        Some(Summary {
            mean: mean(&values)?,
            spread: spread(&values).unwrap_or(0.0),
        })
    }

    /// Ranks the searches by the means of a measure over the networks on which all have run.
    pub(super) fn ranking(&self, measure: Measure) -> Option<Ranking> {
        let blocks: Vec<Vec<f64>> = self
            .datasets
            .iter()
            .filter_map(|dataset| {
                self.searches
                    .iter()
                    .map(|&search| Some(self.summary(measure, search, &dataset.network)?.mean))
                    .collect()
            })
            .collect();
        rank(&blocks, measure.direction())
    }

    /// Returns the quartiles of the runs' trajectories at given places; places where a run has found nothing
    /// yet are left out.
    pub(super) fn bands(
        &self,
        search: Contender,
        network: &str,
        places: &[f64],
        place_of: impl Fn(&Milestone) -> u64,
        value_of: impl Fn(&Milestone) -> f64,
    ) -> Vec<Band> {
        let runs: Vec<&Trial> = self.of(search, network).collect();
        let mut bands = Vec::new();
        for &at in places {
            let values: Vec<f64> = runs
                .iter()
                .filter_map(|run| {
                    let passed = run
                        .trajectory
                        .iter()
                        .take_while(|it| place_of(it) as f64 <= at);
                    passed.last().map(&value_of)
                })
                .collect();
            if values.len() < runs.len() {
                continue;
            }
            let quarter = |share| quantile(&values, share);
            if let (Some(low), Some(middle), Some(high)) =
                (quarter(0.25), median(values.iter().copied()), quarter(0.75))
            {
                bands.push(Band {
                    at,
                    quartiles: [low, middle, high],
                });
            }
        }
        bands
    }
}

/// Returns what the paper prints for a measure.
pub(super) fn printed(measure: Measure, search: Contender, network: &str) -> Option<Printed> {
    match measure {
        Measure::F1 => printed::f1(search, network),
        Measure::Auc => printed::auc(search, network),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::dataset::Origin;
    use super::*;
    use rlbayes_common::metrics::StructureMetrics;
    use rlbayes_common::search::StoppedBy;
    use std::path::Path;

    /// A run that took as many evaluations as its seed says, in hundreds.
    pub(in super::super) fn trial(
        network: &str,
        search: Contender,
        seed: u64,
        score: f64,
    ) -> Trial {
        let milestone = |share: u64, below: f64| Milestone {
            iterations: share * seed,
            evaluations: share * seed,
            score: score - below,
            auc: 0.5 + share as f64 / 1000.0,
        };
        Trial {
            key: TrialKey {
                network: network.to_owned(),
                search,
                seed,
            },
            iterations: 100 * seed,
            evaluations: 100 * seed,
            stopped_by: StoppedBy::Evaluations,
            score,
            edges: 5,
            metrics: StructureMetrics {
                f1_directed: 0.5,
                auc: 0.6,
                f1_skeleton: 0.7,
                shd_cpdag: 4,
            },
            seconds: 1.5,
            trajectory: vec![milestone(10, 20.0), milestone(100, 0.0)],
        }
    }

    pub(in super::super) fn results(trials: Vec<Trial>, optimum: Option<f64>) -> Results {
        let data = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../data"));
        let dataset = |name: &str| {
            let origin = Origin::Sampled { seed: 1, rows: 20 };
            let dataset = Dataset::new(name, data, origin).unwrap();
            Dataset { optimum, ..dataset }
        };
        let mut searches: Vec<Contender> = trials.iter().map(|it| it.key.search).collect();
        searches.sort();
        searches.dedup();
        Results {
            datasets: vec![dataset("asia"), dataset("sachs")],
            searches,
            wanted: trials.len(),
            trials: trials
                .into_iter()
                .map(|trial| (trial.key.clone(), trial))
                .collect(),
        }
    }

    #[test]
    fn gaps_are_measured_from_the_optimum_or_else_from_the_best_run() {
        let trials = || {
            vec![
                trial("asia", Contender::Ga, 1, -110.0),
                trial("asia", Contender::Ga, 2, -104.0),
                trial("asia", Contender::Hc, 1, -102.0),
            ]
        };
        let open = results(trials(), None);
        assert_eq!(open.values(Measure::Gap, Contender::Ga, "asia"), [8.0, 2.0]);
        assert!(!open.reference("asia").unwrap().proven);
        let known = results(trials(), Some(-101.0));
        assert_eq!(known.values(Measure::Gap, Contender::Hc, "asia"), [1.0]);
        let summary = known.summary(Measure::Gap, Contender::Ga, "asia").unwrap();
        assert!((summary.mean - 6.0).abs() < 1e-12);
        assert!((summary.spread - 18f64.sqrt()).abs() < 1e-12);
        assert_eq!(known.summary(Measure::Gap, Contender::Ga, "sachs"), None);
    }

    #[test]
    fn a_ranking_takes_networks_on_which_all_have_run() {
        let mut trials = vec![
            trial("asia", Contender::Ga, 1, -9.0),
            trial("asia", Contender::Hc, 1, -8.0),
            trial("sachs", Contender::Ga, 1, -7.0),
        ];
        assert_eq!(results(trials.clone(), None).ranking(Measure::Score), None);
        trials.push(trial("sachs", Contender::Hc, 1, -6.0));
        let ranking = results(trials, None).ranking(Measure::Score).unwrap();
        assert_eq!(ranking.mean_ranks, [2.0, 1.0]);
    }

    #[test]
    fn bands_wait_for_all_runs() {
        let trials = (1..=3).map(|seed| trial("asia", Contender::Ga, seed, -10.0));
        let results = results(trials.collect(), None);
        let bands = results.bands(
            Contender::Ga,
            "asia",
            &[5.0, 25.0, 35.0, 250.0, 400.0],
            |at| at.evaluations,
            |at| at.score,
        );
        // Ways begin at 10, 20 and 30 and reach -10 at 100, 200 and 300.
        let middles: Vec<(f64, f64)> = bands.iter().map(|it| (it.at, it.quartiles[1])).collect();
        assert_eq!(middles, [(35.0, -30.0), (250.0, -10.0), (400.0, -10.0)]);
    }
}
